/** Statistics of deposits: how many by status, and how long their steps take. @module */
import { z } from "zod";
import type { Db } from "../../db/database.ts";
import { selectDepositStatistics } from "../../db/deposits/deposit_statistics.ts";
import type { SweepRow } from "../../db/deposits/sweeps.ts";
import type { Actor } from "../actor.ts";
import {
  RANGE_VIEW,
  type StatisticsOf,
  statisticsRange,
  StepsView,
  viewStatistics,
} from "../collections/statistics.ts";
import { assertRealmAdmin } from "../permissions.ts";
import { FORWARD } from "./deposit_views.ts";

/** Statistics of deposits as shown. */
export const DepositStatisticsView = z.object({
  ...RANGE_VIEW,
  statuses: z.object({
    PENDING: z.number().int(),
    CONFIRMED: z.number().int(),
    ORPHANED: z.number().int(),
  }),
  forwards: z.record(z.string(), z.number().int()).meta({
    description: "Of those that are forwarded or wait for it, by the status of `forward`.",
    example: { DONE: 3, WAITING: 1 },
  }),
  steps: StepsView.meta({
    description:
      "`confirmed`: from when it was first seen until it was credited; `forwarded`: from " +
      "then until it was forwarded; `total`: both. A step that none took is left out.",
  }),
}).meta({ id: "DepositStatistics" });

/**
 * Counts the deposits that were first seen in a range.
 *
 * @throws {DomainError} permission.role, permission.scope, query.invalid
 */
export async function depositStatistics(
  db: Db,
  actor: Actor,
  input: StatisticsOf,
): Promise<z.infer<typeof DepositStatisticsView>> {
  assertRealmAdmin(actor);
  const range = statisticsRange(actor.at, input);
  const row = await selectDepositStatistics(db, range.part);
  const { steps, ...shown } = viewStatistics(range, row, ["confirmed", "forwarded", "total"]);
  const { PENDING = 0, CONFIRMED = 0, ORPHANED = 0 } = row.groups.status;
  const forwards: Record<string, number> = {};
  for (const [state, count] of Object.entries(row.groups.sweep)) {
    const status = FORWARD[state as SweepRow["state"]];
    forwards[status] = (forwards[status] ?? 0) + count;
  }
  return { ...shown, statuses: { PENDING, CONFIRMED, ORPHANED }, forwards, steps };
}
