/** Decides the next step of a sweep by balances and prices. Chain orders do the sending. @module */
import { selectWorth } from "../../db/currencies/rates.ts";
import {
  selectResting,
  selectSweepable,
  selectSweptOrder,
  type SweepableRow,
} from "../../db/deposits/sweeps.ts";
import { COINS_MAX, selectFreeCoins } from "../../db/sending/utxos.ts";
import { reading } from "../../db/transaction.ts";
import { type ChainId, findAsset, nativeAsset } from "../../domain/assets.ts";
import { compare, fromUnits, toUnits } from "../../domain/money.ts";
import {
  settleAhead,
  settleSwept,
  stepSweep,
  stepTokenSweep,
  type SweepStep,
} from "../../domain/deposits/sweeps.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import { type Draft, feeOf, type Plan, type SendRequest } from "../chains/outgoing.ts";
import { coinOf } from "../sending/planning.ts";
import { verifyToken } from "../tokens/token_verification.ts";

/** Balances of an address, in base units. */
interface Held {
  asset: bigint;
  coin: bigint;
}

/**
 * A top-up of gas exceeds the likely cost by a quarter, because prices move until it has arrived.
 * Not more: most of the rest stays at the deposit address.
 */
const MARGIN = { over: 5n, of: 4n };
/** The highest cost of sweeping a token of the realm's own, as a multiple of the likely cost. */
const GAS_FACTOR = 2n;
/**
 * Rates that are older tell nothing of what a sweep brings: a deposit would wait that has become worth more, and one be
 * swept that is worth nothing any more.
 */
const RATE_AGE_MAX_S = 86_400;

/** Takes the next step of a deposit account's sweep. */
export async function sweepJob(
  context: WorkerContext,
  { account }: { account: string },
): Promise<void> {
  const read = () => reading(context.pool, (db) => selectSweepable(db, account));
  let sweepable = await read();
  if (sweepable?.owing && compare(sweepable.free, "0") > 0) {
    await context.step((tx) => settleAhead(tx, context.actor, account), { lockLedger: true });
    sweepable = await read();
  }
  if (sweepable === null || compare(sweepable.free, "0") <= 0) return;
  if (await reading(context.pool, (db) => selectResting(db, account))) return;
  const chain = await context.chains.open({
    chain: sweepable.chain as ChainId,
    testnet: sweepable.network !== "main",
  });
  const step = await decide(context, chain, sweepable).catch((error): SweepStep => {
    if (!(error instanceof ChainError)) throw error;
    if (error.fault === "held") return { do: "wait" }; // nodes disagree on it
    // The node simulated the transfer: it would fail and cost its fee.
    if (error.fault !== "refused") throw error;
    return { do: "give up", why: error.message.slice(0, 500) };
  });
  const turn = { sweepable, step };
  if (sweepable.token === null) await context.step((tx) => stepSweep(tx, context.actor, turn));
  else await context.step((tx) => stepTokenSweep(tx, context.actor, turn), { lockLedger: true });
}

/** Measures the amount that a token's sweep brought to its ramp, and books it. */
export async function settleSweepJob(
  context: WorkerContext,
  { sweep }: { sweep: string },
): Promise<void> {
  const swept = await reading(context.pool, (db) => selectSweptOrder(db, sweep));
  if (swept === null) return;
  const { hash, contract, from_address: from, to_address: to } = swept;
  const chain = await context.chains.open({
    chain: swept.chain as ChainId,
    testnet: swept.network !== "main",
  });
  const watch = {
    addresses: new Set([to]),
    inputs: new Set<string>(),
    contracts: new Set([contract]),
  };
  const transfers = (await chain.search({ hash }, watch)).filter((one) => one.from === from);
  const checks = await Promise.all(transfers.map((one) => chain.recheck(one)));
  if (checks.length === 0 || checks.includes(null)) {
    throw new ChainError("unavailable", `the node does not show the transfers of ${hash}`);
  }
  const arrived = checks.reduce((sum, one) => sum + one!.received, 0n);
  await context.step((tx) => settleSwept(tx, context.actor, { sweep, arrived }), {
    lockLedger: true,
  });
}

async function decide(
  context: WorkerContext,
  chain: Chain,
  sweepable: SweepableRow,
): Promise<SweepStep> {
  const registered = findAsset(sweepable.asset);
  const contract = sweepable.token ?? registered!.contract;
  const fault = registered === null
    ? null
    : registered.state === "suspended"
    ? registered.reason
    : await verifyToken(context, chain, registered);
  if (fault !== null) {
    context.log("warn", "a sweep waits", { account: sweepable.account, fault });
    return { do: "wait" };
  }
  if (chain.traits.coins) return await decideCoins(context, chain, sweepable);
  const held = await holdingOf(chain, sweepable, contract);
  const booked = toUnits(sweepable.free, sweepable.decimals);
  // Value that is not credited yet stays at the address until its depth.
  const free = smaller(held.asset, booked);
  if (free === 0n) return { do: "wait" };
  const whole = free === held.asset;
  const priced = await priceOf(chain, sweepable, contract, whole ? "all" : free);
  if (priced === null) return { do: "wait" };
  const { draft } = priced;
  const amount = priced.part ?? free;
  const fee = feeOf(draft.fee, 1, 1);
  if (draft.fee.contract === contract) {
    const kept = whole ? restOf(chain, sweepable, fee) : 0n;
    if (amount <= fee + kept || amount - fee - kept < draft.fee.least) return { do: "wait" };
    return { do: "sweep", amount: whole && kept === 0n ? "all" : amount - fee - kept };
  }
  if (await isDust(context, sweepable, amount, fee)) return { do: "wait" };
  const moved = { do: "sweep" as const, amount: whole ? "all" as const : amount };
  const likely = draft.likely ?? fee;
  if (chain.traits.feePayer) {
    if (draft.lacking > 0n) return { do: "wait" };
    // The ramp's own account pays for a token of the realm's own, and blocks the most that it may cost.
    const blocked = sweepable.token === null ? {} : { gas: likely * GAS_FACTOR };
    return { ...moved, feePayer: sweepable.to_address, ...blocked, ...closingOf(sweepable) };
  }
  // The coins may be deposits of others: the sweep of an own token takes no more than its likely
  // cost.
  const coin = held.coin >= likely ? held.coin : await agreedCoin(context, chain, sweepable);
  if (coin === null) return { do: "wait" };
  const most = sweepable.token === null ? coin : smaller(coin, likely * GAS_FACTOR);
  if (coin >= likely) return { ...moved, gas: most };
  return { do: "top up", amount: likely * MARGIN.over / MARGIN.of - coin };
}

/**
 * Decides by the very transaction that would be made: strangers send as many coins, and as small ones, as they like,
 * so that some are not worth spending, or do not fit. What it takes beyond the credited value stays at the address.
 */
async function decideCoins(
  context: WorkerContext,
  chain: Chain,
  sweepable: SweepableRow,
): Promise<SweepStep> {
  const draft = await price(chain, orderOf(chain, sweepable, null, "all"));
  const plan = draft === null ? null : await planAll(context, chain, sweepable, draft);
  if (draft === null || plan === null) return { do: "wait" };
  const booked = toUnits(sweepable.free, sweepable.decimals);
  const [arriving] = plan.amounts;
  if (arriving + plan.fee <= booked) return { do: "sweep", amount: "all" };
  const amount = booked - plan.fee;
  return amount < draft.fee.least ? { do: "wait" } : { do: "sweep", amount };
}

/** Plans a sweep of all that is at its depth; null where that is not worth the fee, or not at present prices. */
async function planAll(
  context: WorkerContext,
  chain: Chain,
  { network, from_address: address }: SweepableRow,
  draft: Draft,
): Promise<Plan | null> {
  const { height: head } = await chain.head();
  const settled = head - context.chains.depth({ chain: chain.id, testnet: network !== "main" }) + 1;
  const of = { chain: chain.id, network, address, head, settled };
  const coins = await reading(context.pool, (db) => selectFreeCoins(db, of, COINS_MAX));
  try {
    return chain.plan(draft, { coins: coins.map(coinOf) });
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    if (error.fault === "insufficient" || error.fault === "refused") return null;
    throw error;
  }
}

/**
 * The coins at an address before gas is sent there: a node that denies what was sent ahead would have it sent again and
 * again. Null while nodes contradict each other.
 */
async function agreedCoin(
  context: WorkerContext,
  chain: Chain,
  { account, from_address: address }: SweepableRow,
): Promise<bigint | null> {
  const { height } = await chain.head();
  try {
    return await chain.balance({ address, contract: null }, height);
  } catch (error) {
    if (!(error instanceof ChainError) || error.fault !== "refused") throw error;
    context.log("warn", "a sweep waits: nodes contradict each other", { account, error });
    return null;
  }
}

/**
 * Prices a sweep. A part of a token that one transaction cannot take, because it lies in too many accounts, is carried
 * by several, one after the other: `part` is what the first one takes.
 */
async function priceOf(
  chain: Chain,
  sweepable: SweepableRow,
  contract: string | null,
  amount: bigint | "all",
): Promise<{ draft: Draft; part: bigint | null } | null> {
  const draft = await price(chain, orderOf(chain, sweepable, contract, amount));
  if (draft !== null) return { draft, part: null };
  if (contract === null || amount === "all") return null;
  const most = (await price(chain, orderOf(chain, sweepable, contract, "all")))?.held ?? 0n;
  if (most === 0n || most >= amount) return null;
  const again = await price(chain, orderOf(chain, sweepable, contract, most));
  return again === null ? null : { draft: again, part: most };
}

function orderOf(
  chain: Chain,
  sweepable: SweepableRow,
  contract: string | null,
  amount: bigint | "all",
): SendRequest {
  // A part is priced by a payment that surely works.
  const part = amount === "all" || contract !== null ? amount : amount / 2n + 1n;
  return {
    kind: "pay",
    from: sweepable.from_address,
    contract,
    payments: [{ to: sweepable.to_address, amount: part }],
    ...(chain.traits.feePayer ? { feePayer: sweepable.to_address } : {}),
    ...closingOf(sweepable),
  };
}

/**
 * Whether a sweep leaves emptied token accounts open. Anybody can keep one from being closed, with dust that arrives
 * after the signature, and the ramp pays for the failure: for each account only once.
 */
function closingOf({ struck, failed_last: failed }: SweepableRow): { closesNothing?: true } {
  return struck || failed ? { closesNothing: true } : {};
}

/**
 * The coins that a sweep of everything leaves at the address after one failed on the chain. Where an address
 * keeps a least amount or nothing, dust that arrives after the signature makes the transaction fail, for its fee.
 */
function restOf({ traits }: Chain, { failed_last: failed }: SweepableRow, fee: bigint): bigint {
  // Once more the fee, because it may be higher when the transaction is signed.
  return failed && traits.leastKept > 0n ? traits.leastKept + fee : 0n;
}

async function price(chain: Chain, order: SendRequest): Promise<Draft | null> {
  try {
    return await chain.draft(order, "medium");
  } catch (error) {
    // The balance is below the fee of its own sweep.
    if (error instanceof ChainError && error.fault === "insufficient") return null;
    throw error;
  }
}

async function holdingOf(
  chain: Chain,
  { from_address: address }: SweepableRow,
  contract: string | null,
): Promise<Held> {
  const holdings = [{ address, contract }, { address, contract: null }];
  // As the quorum confirms at least: one node that tells too much would have a sweep signed that nobody can pay for.
  const [asset, coin] = (await chain.funds(holdings)).amounts;
  return { asset, coin };
}

/**
 * Whether an amount is worth less than the coins that its sweep costs. Without rates of the last day, an amount
 * below the realm's `sweep_min` of the asset, or below one whole unit, waits for more.
 */
async function isDust(
  context: WorkerContext,
  sweepable: SweepableRow,
  amount: bigint,
  fee: bigint,
): Promise<boolean> {
  const native = nativeAsset(sweepable.chain as ChainId);
  const currency = context.actor.realm.accountingCurrency;
  const of = { asset: sweepable.asset, in: native.code, currency, withinS: RATE_AGE_MAX_S };
  const worth = await reading(context.pool, (db) => selectWorth(db, of));
  if (worth === null) {
    const least = context.actor.realm.withdrawals?.[sweepable.asset]?.sweep_min ?? "1";
    return compare(fromUnits(amount, sweepable.decimals), least) < 0;
  }
  const places = 18;
  const rate = toUnits(cut(worth, places), places);
  const scale = 10n ** BigInt(places + sweepable.decimals);
  return amount * rate * 10n ** BigInt(native.decimals) < fee * scale;
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

/** Cuts a decimal to so many digits after the point. */
function cut(text: string, places: number): string {
  const point = text.indexOf(".");
  return point < 0 ? text : text.slice(0, point + 1 + places);
}
