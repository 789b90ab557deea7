/** The collection of deposits, and rescans for deposits that a scan missed. @module */
import { z } from "zod";
import type { Tx } from "../../db/database.ts";
import { type DepositRow, selectDeposits } from "../../db/deposits/deposits.ts";
import { selectSweeps } from "../../db/deposits/sweeps.ts";
import type { RequestActor } from "../actor.ts";
import { type ChainId, CHAINS } from "../assets.ts";
import { type Collection, ENTITY_COLUMNS, textColumn } from "../collections/collection.ts";
import { progressOf } from "./deposit_progress.ts";
import { viewDeposit } from "./deposit_views.ts";
import { Flag } from "../entity.ts";
import { enqueue } from "../jobs.ts";
import { assertRealmAdmin } from "../permissions.ts";
import { chainNetworkFor } from "../chains/networks.ts";

/** The collection of deposits: records that no request changes. */
export const DEPOSITS: Collection<DepositRow> = {
  name: "deposits",
  table: "deposits",
  listed: "deposit_list",
  deletable: false,
  counted: true,
  notFound: "deposit.not_found",
  exported: [
    "id",
    "created_at",
    "account",
    "beneficiary",
    "address",
    "asset",
    "amount",
    "status",
    "confirmations",
    "hash",
    "index",
    "block",
    "transaction",
    "forward.status",
    "forward.hash",
    "forward.fee",
    "owner",
    "updated_at",
  ],
  fields: ["forward", "needs", "eta_s"],
  columns: {
    ...ENTITY_COLUMNS,
    account: { column: "account", type: "id" },
    beneficiary: { column: "beneficiary", type: "id", nullable: true },
    address: textColumn("address"),
    asset: textColumn("asset"),
    hash: textColumn("hash"),
    index: { column: "index", type: "integer" },
    block: { column: "block", type: "integer", nullable: true },
    amount: { column: "amount", type: "decimal" },
    confirmations: { column: "confirmations", type: "integer" },
    status: textColumn("status"),
    transaction: { column: "transaction", type: "id", nullable: true },
    address_data: { column: "address_data", type: "json", nullable: true },
    updated_at: { column: "updated_at", type: "time", nullable: true },
    error: { column: "error", type: "json", nullable: true },
  },
  read: selectDeposits,
  async show(db, actor, rows) {
    const progress = await progressOf(db, actor, rows);
    const ids = rows.flatMap((row) => row.sweep ?? []);
    const sweeps = new Map(
      (ids.length === 0 ? [] : await selectSweeps(db, [...new Set(ids)]))
        .map((sweep) => [sweep.id, sweep]),
    );
    return rows.map((row) => ({
      ...viewDeposit(row, sweeps.get(row.sweep ?? "") ?? null),
      ...progress.get(row.id),
    }));
  },
};

/** Most blocks that one rescan searches. */
const RANGE_MAX = 1000;
const Height = z.number().int().min(0).max(2 ** 31 - 1);

/** A request for a rescan. */
export const Rescan = z.strictObject({
  chain: z.enum(CHAINS.map((chain) => chain.id) as [ChainId, ...ChainId[]]),
  testnet: Flag.default(false),
  hash: z.string().min(1).max(128).optional(),
  from: Height.optional(),
  to: Height.optional(),
}).refine(
  ({ hash, from, to }) =>
    hash === undefined
      ? from !== undefined && to !== undefined && from <= to && to - from < RANGE_MAX
      : from === undefined && to === undefined,
  `either hash, or from and to at most ${RANGE_MAX} blocks apart, are expected`,
).meta({ id: "Rescan", oneOf: [{ required: ["hash"] }, { required: ["from", "to"] }] });

/** The answer to a rescan that was queued. */
export const RescanView = z.object({ queued: z.literal(true), ...Rescan.shape })
  .meta({ id: "RescanQueued" });

/**
 * Queues a rescan of a transaction or of a range of blocks, which searches deeper than the scanner.
 *
 * @throws {DomainError} permission.role, permission.scope, chain.not_configured
 */
export async function requestRescan(
  tx: Tx,
  actor: RequestActor,
  wanted: z.infer<typeof Rescan>,
): Promise<z.infer<typeof RescanView>> {
  assertRealmAdmin(actor);
  chainNetworkFor(actor.settings.chains, wanted.chain, wanted.testnet);
  await enqueue(tx, actor, "deposit.rescan", wanted);
  return { queued: true, ...wanted };
}
