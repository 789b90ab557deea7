/**
 * Writes off what is missing on a chain: books it as a loss of the house, from the account `fees` to
 * `world`. The books say then what the chain says, so the drift ends; what the house has lost is
 * covered as any loss of its. Accounts of customers take no part.
 *
 * The amount is bounded by comparisons of workers alone, which nobody who asks can make. A node that
 * is wrong for a moment makes nothing missing for an hour; one that lies for longer costs nobody
 * anything: `fees` is lower then, and the coins are there.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import { selectLoss } from "../../db/audit/solvency.ts";
import { type MissingRow, selectMissing } from "../../db/audit/write_offs.ts";
import type { Actor } from "../actor.ts";
import { Flag, Id, text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { counterparty, postMove } from "../ledger/posting.ts";
import { Amount, assertScale, compare, DecimalText, isNegative, subtract, trim } from "../money.ts";
import { assertRealmAdmin } from "../permissions.ts";

/** The body of a request to write off what is missing. */
export const WriteOff = z.strictObject({
  asset: z.string().min(1).max(40),
  testnet: Flag.default(false),
  amount: Amount.optional().meta({ description: "All that is missing, unless given." }),
  reason: text(500),
  realm: Id.optional().meta({ description: "With the platform key: the realm." }),
}).meta({ id: "WriteOff" });
/** The body of a request to write off what is missing. */
export type WriteOff = z.infer<typeof WriteOff>;

/** What was written off, as shown. */
export const WriteOffView = z.object({
  transaction: z.string(),
  asset: z.string(),
  testnet: z.boolean(),
  amount: DecimalText,
  missing: DecimalText.meta({ description: "The rest that may be written off." }),
  loss: DecimalText.meta({ description: "What the house has lost in the asset, to be covered." }),
  reason: z.string(),
  created_at: z.number().int(),
}).meta({ id: "WrittenOff" });

/**
 * Books what is missing as a loss of the house, at most what was missing in every comparison of the
 * last hour. Runs under the ledger lock.
 *
 * @throws {DomainError} permission.role, permission.scope, condition.failed where less is missing,
 *   chain.stale, chain.quarantined, stop.active, request.invalid
 */
export async function writeOffMissing(
  tx: LedgerTx,
  actor: Actor,
  input: WriteOff,
): Promise<Record<string, unknown>> {
  assertRealmAdmin(actor);
  const { asset, testnet, reason } = input;
  const found = await selectMissing(tx, { asset, testnet });
  const { drift, height, position, decimals } = assertMissing(asset, found);
  const amount = input.amount ?? found.amount;
  assertScale(amount, decimals, "/amount");
  if (compare(found.amount, "0") <= 0 || compare(amount, found.amount) > 0) {
    const figure = compare(found.amount, "0") <= 0 ? "nothing" : trim(found.amount);
    const why = `${figure} of ${asset} was missing for an hour and is not written off`;
    throw new DomainError("condition.failed", why);
  }
  const of = { code: asset, decimals, testnet };
  const { id, at } = await postMove(tx, actor, {
    type: "fee",
    source: await counterparty(tx, actor, "fees", of),
    destination: await counterparty(tx, actor, "world", of),
    amount,
    seal: { writes_off: "missing", drift: trim(drift), height, position, reason },
  });
  const loss = await selectLoss(tx, { asset, testnet });
  return {
    transaction: id,
    asset,
    testnet,
    amount: trim(amount),
    missing: subtract(found.amount, amount),
    loss: isNegative(loss) ? "0" : trim(loss),
    reason,
    created_at: at,
  };
}

/** Refuses where the last comparison shows nothing missing, or cannot be relied on. */
function assertMissing(
  asset: string,
  found: MissingRow,
): MissingRow & { drift: string; decimals: number } {
  const { drift, decimals } = found;
  if (drift === null || decimals === null || !isNegative(drift)) {
    throw new DomainError("condition.failed", `nothing of ${asset} is missing`);
  }
  if (found.provisional) {
    const why =
      `a ramp of ${asset} is in quarantine or its chain halted, or was at the last comparison: ` +
      "what is missing may be found at the end of that";
    throw new DomainError("chain.quarantined", why);
  }
  if (!found.fresh) {
    const why = `${asset} was not compared with its chain in the last five minutes`;
    throw new DomainError("chain.stale", why);
  }
  return { ...found, drift, decimals };
}
