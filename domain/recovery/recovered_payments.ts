/**
 * Settlement of recovered payments: they end the withdrawals that they paid, and the account `fees` bears
 * the others.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import type { LedgerTx } from "../../db/transaction.ts";
import { selectAccount } from "../../db/accounts/accounts.ts";
import { releaseFound } from "../../db/recovery/found_payments.ts";
import { releaseLateAttempt } from "../../db/sending/late_attempts.ts";
import { selectKeptTokens } from "../../db/currencies/tokens.ts";
import { lockBatched, selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import { type HistoryEntry, updateWithdrawals } from "../../db/withdrawals/withdrawals.ts";
import type { Actor } from "../actor.ts";
import { type ChainId, findAsset, nativeAsset, tokenByContract } from "../assets.ts";
import { counterparty, type InternalMove, postMoves } from "../ledger/posting.ts";
import { fromUnits } from "../money.ts";
import { type DropProof, type OrderRow, renewOrder } from "../sending/chain_orders.ts";
import { bookGas } from "../sending/network_fees.ts";
import { endWithBatch } from "../sending/order_states.ts";
import { quarantine } from "../sending/quarantine.ts";
import { divideFee } from "../withdrawals/withdrawal_batches.ts";
import { tellDisplaced } from "./displaced_orders.ts";
import { announceAll, settleWithdrawals } from "../withdrawals/withdrawal_settlement.ts";

/** One payment of a recovered order, as its request keeps it. */
export interface Part {
  to: string;
  contract: string | null;
  /** What it cost us, in base units. */
  amount: string;
  /** What it paid in all, where others paid the rest of it. */
  whole?: string;
  /** The order of the withdrawal that it paid. */
  order: string | null;
  /** The withdrawal that an operator had declared paid before. */
  withdrawal: string | null;
}

/** Books the effects of a recovered transaction, in a transaction that holds the ledger lock. */
export async function settleRecovered(tx: LedgerTx, actor: Actor, order: OrderRow): Promise<void> {
  const parts = (order.request as unknown as { payments: Part[] }).payments;
  const carried = new Map((await lockBatched(tx, order.id)).map((one) => [one.id, one]));
  const paying = parts.filter((one) => one.order !== null);
  const whole = order.fee === null ? 0n : BigInt(order.fee);
  const shares = paying.length === 0 ? [] : divideFee(whole, paying.length);
  const { state, hash, height, confirmations } = order;
  const ending = paying.flatMap((part, at) => {
    const member = carried.get(part.order!);
    return member === undefined ? [] : [{ ...member, share: `${shares[at]}` }];
  });
  const spared = new Map(paying.map((part) => [part.order!, sparedOf(part)]));
  await settleWithdrawals(tx, actor, await endWithBatch(tx, ending, order), { spared });
  if (paying.length === 0) await bookGas(tx, actor, order);
  await tellDisplaced(tx, actor, order);
  if (state !== "done") {
    await disclaim(tx, actor, order, "failed");
    return;
  }
  const entry: HistoryEntry = { at: actor.at, event: "found", hash, block: height };
  const change = { hash, height, confirmations };
  const called = parts.flatMap(({ withdrawal }) => withdrawal ?? []);
  await updateWithdrawals(tx, called.map((id) => ({ id, change, entry })), actor.at);
  const unmatched = parts.filter((one) =>
    one.withdrawal === null && one.order === null && one.amount !== "0"
  );
  await bookUnmatched(tx, actor, order, unmatched);
}

/** Books the cost of a transaction that filled a nonce, and tells of what it took the place of. */
export async function settleFill(tx: LedgerTx, actor: Actor, order: OrderRow): Promise<void> {
  await bookGas(tx, actor, order);
  await tellDisplaced(tx, actor, order);
}

/**
 * Gives up a recovered order none of whose transactions can be mined. The withdrawals that it was to pay wait
 * again, and their ramp goes into quarantine: only an operator can tell whether the lost database paid them
 * by another transaction. What was mined late, and has lost its final block, is given back to the order that had given it
 * up, and puts the ramp into quarantine in any case: nodes lie, or the chain was reorganised beyond its final block.
 *
 * @returns the reason of the quarantine; null where no withdrawal is concerned
 */
export async function giveUpRecovered(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  proof: DropProof,
): Promise<string | null> {
  const members = (await selectBatched(tx, order.id)).flatMap((one) => one.reference_id ?? []);
  const isLate = await releaseLateAttempt(tx, order.id);
  const reason = `${order.hash}, which was found on the chain, can never be mined`;
  await renewOrder(tx, actor, order, proof);
  const block = { hash: null, nonce: null, height: null, confirmations: 0 };
  const entry: HistoryEntry = { at: actor.at, event: "waiting", reason };
  const updates = members.map((id) => ({ id, change: block, entry }));
  await announceAll(tx, actor, await updateWithdrawals(tx, updates, actor.at));
  const unpaid = await disclaim(tx, actor, order, "can never be mined");
  if (members.length === 0 && (unpaid !== null || !isLate)) return unpaid;
  const detail = members.length === 0
    ? `${reason}: it was mined after it had been given up, and has lost its block`
    : `${reason}: it was the payment of ${members.join(", ")}`;
  await quarantine(tx, actor, [order.ramp], detail);
  return detail;
}

/**
 * States that the transaction of a recovered order was no payment of withdrawals that an operator had called
 * paid. They are done by that word alone, and their ramp goes into quarantine, so that it is heard of.
 *
 * @returns the reason of the quarantine; null where there is no such withdrawal
 */
async function disclaim(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  fault: string,
): Promise<string | null> {
  const called = await releaseFound(tx, order.id);
  if (called.length === 0) return null;
  const reason = `${order.hash}, which was found as the payment that an operator knew of, ${fault}`;
  const entry: HistoryEntry = { at: actor.at, event: "found", hash: order.hash, reason };
  const updates = called.map((id) => ({ id, change: {}, entry }));
  await announceAll(tx, actor, await updateWithdrawals(tx, updates, actor.at));
  const detail = `no transaction has paid ${called.join(", ")}, which is done: ${reason}`;
  await quarantine(tx, actor, [order.ramp], detail);
  return detail;
}

/** What others paid of a payment, in base units. */
function sparedOf({ amount, whole = amount }: Part): bigint {
  return BigInt(whole) - BigInt(amount);
}

/** Books unexplained payments: `fees` bears them until an operator assigns them. */
async function bookUnmatched(
  tx: LedgerTx,
  actor: Actor,
  order: OrderRow,
  parts: readonly Part[],
): Promise<void> {
  const ramp = parts.length === 0 ? null : await selectAccount(tx, order.ramp);
  if (ramp === null) return;
  const chain = order.chain as ChainId;
  const isToken = parts.some(({ contract }) => contract !== null);
  const tokens = isToken ? await selectKeptTokens(tx, order) : [];
  const accounts = new Map<string, { source: string; destination: string }>();
  const moves: InternalMove[] = [];
  for (const { contract, amount, to } of parts) {
    const kept = contract === null ? undefined : tokens.find((one) => one.contract === contract);
    const registered = contract === null ? nativeAsset(chain) : tokenByContract(chain, contract);
    const code = kept?.symbol ?? registered?.code;
    const decimals = kept?.decimals ?? registered?.decimals;
    if (code === undefined || decimals === undefined) continue;
    // Coins at the address of a token's ramp are its gas, which the ledger does not keep.
    if (contract === null && findAsset(ramp.asset)?.contract !== null) continue;
    const asset = { code, decimals, testnet: kept === undefined && order.network !== "main" };
    const key = `${code} ${asset.testnet}`;
    const between = accounts.get(key) ?? {
      source: await counterparty(tx, actor, "fees", asset),
      destination: await counterparty(tx, actor, "world", asset),
    };
    accounts.set(key, between);
    const data = { order: order.id, destination: to, hash: order.hash };
    moves.push({
      ...{ type: "withdrawal", ...between, amount: fromUnits(BigInt(amount), decimals), data },
    });
  }
  await postMoves(tx, actor, moves, { force: true });
}
