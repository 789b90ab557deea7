/** Statistics of withdrawals: how many by status, and how long their steps take. @module */
import { z } from "zod";
import type { Db } from "../../db/database.ts";
import { selectWithdrawalStatistics } from "../../db/withdrawals/withdrawal_statistics.ts";
import type { Actor } from "../actor.ts";
import {
  RANGE_VIEW,
  type StatisticsOf,
  statisticsRange,
  StepsView,
  viewStatistics,
} from "../collections/statistics.ts";
import { assertRealmAdmin } from "../permissions.ts";

/** Statistics of withdrawals as shown. */
export const WithdrawalStatisticsView = z.object({
  ...RANGE_VIEW,
  statuses: z.object({
    PROCESSING: z.number().int(),
    DONE: z.number().int(),
    FAILED: z.number().int(),
    CANCELED: z.number().int(),
  }),
  steps: StepsView.meta({
    description:
      "`sent`: from its creation until it was sent to the chain; `mined`: from then until it " +
      "was in a block; `done`: from then until it was deep enough; `total`: all of these. A step " +
      "that none took is left out.",
  }),
}).meta({ id: "WithdrawalStatistics" });

/**
 * Counts the withdrawals that were created in a range.
 *
 * @throws {DomainError} permission.role, permission.scope, query.invalid
 */
export async function withdrawalStatistics(
  db: Db,
  actor: Actor,
  input: StatisticsOf,
): Promise<z.infer<typeof WithdrawalStatisticsView>> {
  assertRealmAdmin(actor);
  const range = statisticsRange(actor.at, input);
  const row = await selectWithdrawalStatistics(db, range.part);
  const { steps, ...shown } = viewStatistics(range, row, ["sent", "mined", "done", "total"]);
  const { PROCESSING = 0, DONE = 0, FAILED = 0, CANCELED = 0 } = row.groups.status;
  return { ...shown, statuses: { PROCESSING, DONE, FAILED, CANCELED }, steps };
}
