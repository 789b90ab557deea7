/**
 * Ledger postings of a sweep: its fee, and deposit account → ramp → the target
 * account. Only sweeps move value out of a deposit account, so its balance covers both, unless the
 * sweep took value that was not credited yet. That part is booked when it is credited.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { SweepableRow, SweepRow } from "../../db/deposits/sweeps.ts";
import type { Actor } from "../actor.ts";
import { type ChainId, findAsset, nativeAsset } from "../assets.ts";
import { counterparty, postMove } from "../ledger/posting.ts";
import { compare, fromUnits, subtract } from "../money.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { bookGas } from "../sending/network_fees.ts";

/** A finished sweep; amounts in whole units. */
export interface Carried {
  sweep: SweepRow;
  hash: string | null;
  /** The amount that left the deposit address. */
  sent: string;
  /** The amount that reached the ramp: less if the token keeps a part. */
  arrived: string;
}

/** The contract of the swept token; null for the chain's own coin. */
export function contractOf({ asset, token }: Pick<SweepableRow, "asset" | "token">): string | null {
  return token ?? findAsset(asset)!.contract;
}

/**
 * Books the chain's fee. A fee in the swept asset comes from the deposit account, and from the
 * account `fees` where less is credited than the sweep took. A fee in another coin was the ramp's
 * gas, which the ledger knows if the ramp is of that coin.
 *
 * @returns the fee in whole units of the coin that paid it, and the part that `fees` bore
 */
export async function bookFee(
  tx: LedgerTx,
  actor: Actor,
  sweepable: SweepableRow,
  order: OrderRow,
): Promise<{ fee: string | null; borne: string }> {
  if (order.fee === null || order.hash === null) return { fee: null, borne: "0" };
  const own = order.fee_contract === contractOf(sweepable);
  const { decimals } = own ? sweepable : nativeAsset(sweepable.chain as ChainId);
  const fee = fromUnits(BigInt(order.fee), decimals);
  if (!own) await bookGas(tx, actor, order);
  if (!own || order.state === "dropped" || order.state === "canceled") return { fee, borne: "0" };
  const charged = least(fee, sweepable.free);
  const borne = subtract(fee, charged);
  const world = await systemOf(tx, actor, sweepable, "world");
  const { chain, network } = sweepable;
  const book = bookFor(tx, actor, "fee", { chain, network, hash: order.hash });
  await book(sweepable.account, world, charged);
  if (compare(borne, "0") > 0) {
    await book(await systemOf(tx, actor, sweepable, "fees"), world, borne);
  }
  return { fee, borne };
}

/**
 * Books the value that a sweep carried, as far as it is credited. The account `fees` bears the part that a
 * token kept, as it bears a chain's fee.
 *
 * @returns the booked amount, and the amount that the sweep took before it was credited
 */
export async function bookCarried(
  tx: LedgerTx,
  actor: Actor,
  sweepable: SweepableRow,
  carried: Carried,
): Promise<{ amount: string; ahead: string }> {
  const { sweep, sent, arrived, hash } = carried;
  const amount = least(sent, sweepable.free);
  const seal = { chain: sweep.chain, network: sweep.network, hash, sweep: sweep.id };
  await bookOn(tx, actor, sweepable, { amount, seal });
  const lost = subtract(sent, arrived);
  if (compare(lost, "0") > 0) {
    const fees = await systemOf(tx, actor, sweepable, "fees");
    const world = await systemOf(tx, actor, sweepable, "world");
    await bookFor(tx, actor, "fee", seal)(fees, world, lost);
  }
  return { amount, ahead: subtract(sent, amount) };
}

/**
 * Books credited value that a sweep took earlier, after giving back the fee that `fees` bore for
 * it.
 *
 * @returns the booked amount, and the amounts that remain to be booked
 */
export async function bookAhead(
  tx: LedgerTx,
  actor: Actor,
  sweepable: SweepableRow,
  sweep: SweepRow,
): Promise<{ amount: string; ahead: string; borne: string }> {
  const { chain, network, hash } = sweep;
  const seal = { chain, network, hash, sweep: sweep.id };
  const back = least(sweep.borne, sweepable.free);
  if (compare(back, "0") > 0) {
    const fees = await systemOf(tx, actor, sweepable, "fees");
    await bookFor(tx, actor, "fee", seal)(sweepable.account, fees, back);
  }
  const amount = least(sweep.ahead, subtract(sweepable.free, back));
  await bookOn(tx, actor, sweepable, { amount, seal });
  return {
    amount,
    ahead: subtract(sweep.ahead, amount),
    borne: subtract(sweep.borne, back),
  };
}

async function bookOn(
  tx: LedgerTx,
  actor: Actor,
  sweepable: SweepableRow,
  of: { amount: string; seal: Record<string, unknown> },
): Promise<void> {
  const book = bookFor(tx, actor, "forward", of.seal);
  for (const [source, destination] of postingsOf(sweepable)) {
    await book(source, destination, of.amount);
  }
}

/**
 * The postings of a sweep. The ramp of a token of the realm's own is of another asset, and left
 * out.
 */
function postingsOf(
  { account, ramp, target_account: target, token }: SweepableRow,
): [string, string][] {
  if (token !== null) return [[account, target!]];
  return target === null ? [[account, ramp]] : [[account, ramp], [ramp, target]];
}

function bookFor(
  tx: LedgerTx,
  actor: Actor,
  type: "fee" | "forward",
  seal: Record<string, unknown>,
) {
  return async (source: string, destination: string, amount: string) => {
    if (compare(amount, "0") <= 0) return;
    await postMove(tx, actor, { type, source, destination, amount, seal }, { force: true });
  };
}

async function systemOf(
  tx: LedgerTx,
  actor: Actor,
  { asset: code, decimals, testnet }: SweepableRow,
  system: "world" | "fees",
): Promise<string> {
  return await counterparty(tx, actor, system, { code, decimals, testnet });
}

function least(one: string, other: string): string {
  return compare(one, other) < 0 ? one : other;
}
