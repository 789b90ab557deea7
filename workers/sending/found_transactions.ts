/** Reads transactions that our own keys signed and the database does not know. @module */
import { type NetworkKey, selectCursor } from "../../db/chains/cursors.ts";
import {
  insertFoundAttempt,
  type OwnPlace,
  selectKnownHashes,
  selectMinedCoins,
  selectNextNonce,
  selectOwnPlaces,
  selectSpending,
  selectUnsigned,
  sumInputs,
} from "../../db/recovery/recoveries.ts";
import { lockOrder, selectOrder } from "../../db/sending/chain_orders.ts";
import {
  markAttemptOutcome,
  markAttemptSent,
  selectAttempts,
} from "../../db/sending/order_attempts.ts";
import type { Tx } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import {
  type AttemptRow,
  type OrderRow,
  type PaymentRequest,
  scheduleOrder,
} from "../../domain/sending/chain_orders.ts";
import { isOpen, markSent, noteFoundReplacement } from "../../domain/sending/order_states.ts";
import { quarantine, QUARANTINED } from "../../domain/sending/quarantine.ts";
import type {
  FoundPayment,
  FoundToken,
  FoundTransaction,
} from "../../domain/recovery/found_transactions.ts";
import { settleReplacement } from "../../domain/recovery/own_receipts.ts";
import { isTokenOf, takeIn } from "../../domain/recovery/recoveries.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { TransactionStatus } from "../chains/outgoing.ts";
import { withCalls } from "./found_outflows.ts";
import type { OrderWork } from "./order_work.ts";
import { withAmounts } from "./signing.ts";
import { PURPOSE_RULES } from "../../domain/sending/order_purposes.ts";

/**
 * Reads the effects of a mined transaction; null if none of our addresses signed it.
 *
 * @param stated how an operator says that it is to be booked, where it pays what is no address
 * @throws {ChainError} `refused` for one that cannot be read, `held` while a coin that it spends may be one of ours
 */
export async function readFound(
  context: WorkerContext,
  chain: Chain,
  place: NetworkKey,
  mined: { hash: string; height: number; deep: boolean },
  stated?: FoundTransaction["stated"],
): Promise<FoundTransaction | null> {
  const raw = await chain.raw(mined);
  const seen = await chain.inspect(raw).catch((error) => {
    if (!(error instanceof ChainError)) throw error;
    throw new ChainError(error.fault, `${mined.hash}: ${error.message}`);
  });
  if (seen.unknown !== undefined && stated === undefined) {
    throw new ChainError("refused", `${mined.hash}: the transaction pays to an unknown script`);
  }
  const own = await reading(context.pool, (db) => selectOwnPlaces(db, place, seen.from));
  if (own.length === 0) return null;
  const spent = chain.traits.coins
    ? await reading(context.pool, (db) => sumInputs(db, place, seen.inputs))
    : null;
  if (spent !== null && !spent.whole) await assertScanned(context, place, mined);
  const paid = seen.payments.reduce((sum, one) => sum + one.amount, 0n);
  const signers = seen.from.filter((one) => own.some(({ address }) => address === one));
  const from = await payerOf(context, place, { signers, own, seen });
  const bytes = { hash: mined.hash, raw, inputs: seen.inputs, expires: null };
  const signed = await withAmounts(context, chain, { ...place, address: from }, bytes);
  return {
    ...{ ...mined, raw, inputs: seen.inputs, from, signers, payments: seen.payments },
    unreadable: await chain.planOf(signed, { all: false }) === null,
    ...(spent === null ? { fee: null, brought: null } : costOf(spent, paid)),
    calls: seen.calls ?? null,
    ...(seen.unknown === undefined || stated === undefined ? {} : { stated }),
    deployed: seen.creates === null ? null : await readDeployed(chain, seen.creates),
  };
}

/**
 * Which of our addresses that signed a transaction made its payments: one whose withdrawal is among them; else the
 * first, whose value moved: another may only have paid the fee.
 */
async function payerOf(
  { pool }: WorkerContext,
  place: NetworkKey,
  { signers, own, seen }: {
    signers: readonly string[];
    own: readonly OwnPlace[];
    seen: { payments: readonly FoundPayment[] };
  },
): Promise<string> {
  if (signers.length === 1) return signers[0];
  const ramps = own.map(({ ramp }) => ramp);
  const waiting = (await reading(pool, (db) => selectUnsigned(db, place, ramps)))
    .filter(({ purpose }) => purpose === "withdrawal");
  const isMade = (order: OrderRow) => {
    const [{ to, amount }] =
      (order.request as unknown as PaymentRequest & { kind: "pay" }).payments;
    const due = { to, contract: order.contract === "" ? null : order.contract };
    return seen.payments.some((one) => isSame(one, { ...due, amount: BigInt(amount) }));
  };
  return signers.find((one) => waiting.some((order) => order.sender === one && isMade(order))) ??
    signers[0];
}

/**
 * What a transaction cost us, by what our coins are worth that it spends and what it pays in all, in base units. Where
 * others' coins are spent beside ours, nobody tells what these were worth: the fee is what ours are worth more than
 * all payments, and what others brought in is not ours to bear.
 */
function costOf(
  { sum, whole }: { sum: string; whole: boolean },
  paid: bigint,
): Pick<FoundTransaction, "fee" | "brought"> {
  const brought = BigInt(sum);
  if (whole) return { fee: brought - paid, brought: null };
  return { fee: brought > paid ? brought - paid : 0n, brought };
}

/**
 * Makes sure that all coins of ours which a transaction spends are known: the block of one may not be scanned yet, and it
 * would count as a stranger's.
 *
 * @throws {ChainError} `held`
 */
async function assertScanned(
  { pool }: WorkerContext,
  place: NetworkKey,
  { hash, height }: { hash: string; height: number },
): Promise<void> {
  const cursor = await reading(pool, (db) => selectCursor(db, place));
  if (cursor !== null && cursor.height >= height) return;
  throw new ChainError(
    "held",
    `${hash} spends a coin that is not known: its block is not scanned yet`,
  );
}

/** Reads a token as its contract tells; null where there is none, because its transaction failed. */
async function readDeployed(chain: Chain, contract: string): Promise<FoundToken | null> {
  const told = await chain.token(contract);
  if (told === null) return null;
  const { name, symbol, decimals, supply } = told;
  if (name === null || symbol === null || decimals === null || supply === null) return null;
  return { contract, name, symbol, decimals, supply: `${supply}` };
}

/**
 * Handles a transaction of our own key that took an order's place. It may be a replacement that a
 * newer database signed: if it makes the same payment, it is stored as an attempt of the order, and
 * nothing goes back. If it pays something else, it is recovered by itself, while the ramp is in
 * quarantine.
 *
 * @returns whether the order continues with it
 * @throws {ChainError} `held` where it makes a part of the order's payments, or cannot be recovered yet
 */
export async function takeReplacement(
  { context, chain }: OrderWork,
  order: OrderRow,
  of: { status: TransactionStatus & { state: "dropped" }; living: readonly AttemptRow[] },
): Promise<boolean> {
  const { by, height } = of.status;
  // What it is to pay, also where a replacement that moves nothing was tried since.
  const last = of.living.findLast((one) => one.raw !== null && !one.cancels);
  if (by === null || last === undefined) return false;
  const known = await reading(context.pool, (db) => selectKnownHashes(db, [by]));
  if (known.length > 0) return false;
  const found = await readFound(context, chain, order, { hash: by, height, deep: true });
  if (found === null) return false;
  const deploys = found.deployed !== null && isTokenOf(order, found.deployed);
  if (deploys) return await takeAttempt(context, order, found);
  const { meant, same, others } = await compareWith(chain, order, last, found);
  if (same.length === 0) {
    // On UTXO chains the scanner reports it, and the reconciliation recovers the spender.
    return chain.nonces !== null && await takeOther({ context, chain }, order, found);
  }
  if (same.length < meant.length || others > 0) {
    throw new ChainError(
      "held",
      `${by} took its place and paid something else: reconcile the ramp`,
    );
  }
  return await takeAttempt(context, order, found);
}

/**
 * The payments of an order's bytes, change not counted, those of them that a found transaction makes as well,
 * each of its payments for one, and the number of those that it makes beside them.
 */
async function compareWith(
  chain: Chain,
  order: OrderRow,
  last: AttemptRow,
  found: FoundTransaction,
): Promise<{ meant: FoundPayment[]; same: FoundPayment[]; others: number }> {
  const meant = (await chain.inspect(last.raw!)).payments.filter(({ to }) => to !== order.sender);
  const made = found.payments.filter(({ to }) => to !== order.sender);
  const same = meant.filter((one) => {
    const at = made.findIndex((other) => isSame(one, other));
    return at >= 0 && made.splice(at, 1).length > 0;
  });
  return { meant, same, others: made.length + (found.calls === null ? 0 : 1) };
}

/**
 * Stores a found transaction as an attempt of the order whose coins or nonce it uses up, if it makes just the same payments:
 * it replaced the order's, however few blocks lie above it. Otherwise the order would be restarted once they
 * are enough, beside a payment that nobody is known to have ordered. Bytes that were only signed count as
 * sent, because the newer database may have sent them: they are mined after all where the found transaction
 * loses its block to them.
 *
 * @returns whether there is such an order
 */
export async function takeForSent(
  context: WorkerContext,
  chain: Chain,
  place: NetworkKey,
  found: FoundTransaction,
): Promise<boolean> {
  if (!chain.traits.coins && chain.nonces === null) return false;
  const orders = await reading(context.pool, (db) => selectSpending(db, place, found.inputs));
  for (const order of orders) {
    const all = await reading(context.pool, (db) => selectAttempts(db, order.id));
    const living = all.filter(({ dropped }) => !dropped);
    const last = living.findLast(({ raw }) => raw !== null);
    const replaced = living.every(({ inputs }) => inputs.some((one) => found.inputs.includes(one)));
    if (last === undefined || !replaced) continue;
    const { meant, same, others } = await compareWith(chain, order, last, found);
    if (meant.length > 0 && same.length === meant.length && others === 0) {
      return await takeAttempt(context, order, found);
    }
  }
  return false;
}

/** Stores a replacement that a newer database signed as an attempt of its order. */
async function takeAttempt(
  context: WorkerContext,
  order: OrderRow,
  found: FoundTransaction,
): Promise<true> {
  await context.step(async (tx) => {
    const current = await lockOrder(tx, order.id);
    if (current === null || !isOpen(current)) return;
    if ((await selectKnownHashes(tx, [found.hash])).length > 0) return; // another run was first
    if (current.state === "signed") await leave(tx, current, context.actor.at);
    await insertFoundAttempt(tx, {
      order: order.id,
      hash: found.hash,
      raw: found.raw,
      inputs: [...found.inputs],
      fee: found.fee === null ? null : `${found.fee}`,
      unreadable: found.unreadable,
      at: context.actor.at,
    });
    await noteFoundReplacement(tx, order.id);
    await settleReplacement(tx, context.actor, current, found);
    await scheduleOrder(tx, context.actor, order.id);
  });
  context.log("warn", "a replacement that nothing here knew of was found", {
    order: order.id,
    by: found.hash,
  });
  return true;
}

/** Marks the bytes of a signed order as sent. */
async function leave(tx: Tx, order: OrderRow, at: number): Promise<void> {
  const signed = (await selectAttempts(tx, order.id))
    .findLast(({ raw, dropped }) => raw !== null && !dropped)!;
  const name = { order: order.id, attempt: signed.attempt };
  await markAttemptSent(tx, name, at);
  await markAttemptOutcome(tx, name, "known");
  await markSent(tx, order, signed.hash!);
}

/**
 * Recovers a transaction of our own key that took an order's place for a purpose that only a newer
 * database knows, once its block was scanned. A ramp outside of quarantine goes into quarantine.
 *
 * @returns whether it has paid the order all the same, as a call can
 * @throws {ChainError} `held`; `unavailable` where nodes do not tell what it moved
 */
async function takeOther(
  { context, chain }: Pick<OrderWork, "context" | "chain">,
  order: OrderRow,
  found: FoundTransaction,
): Promise<boolean> {
  const detail = `${found.hash} took the place of order ${order.id}, and nothing here knows of it`;
  const ramps = await context.step((tx) => quarantine(tx, context.actor, [order.ramp], detail));
  if (ramps.length > 0) context.log("error", "a ramp is in quarantine", { ramps, detail });
  const cursor = await reading(context.pool, (db) => selectCursor(db, order));
  if (ramps.length > 0 || cursor === null || cursor.height < found.height) {
    throw new ChainError("held", `${QUARANTINED}: ${detail}`);
  }
  const told = await withCalls({ context, chain, place: order, ramps: [order.ramp] }, found);
  return await context.step(async (tx) => {
    await takeIn(tx, context.actor, order, told);
    return (await selectOrder(tx, order.id))?.state === "batched";
  }, { lockLedger: true });
}

function isSame(one: FoundPayment, other: FoundPayment): boolean {
  return one.to === other.to && one.contract === other.contract && one.amount === other.amount;
}

/** Most blocks that are searched for the transaction that used a nonce of ours. */
const SEARCHED = 5_000;
/** No transaction has this hash. */
const NONE = `0x${"0".repeat(64)}`;

/** Coins checked before a plan, largest first: the coins that a lost plan would have spent. */
const COINS_ASKED = 100;

/**
 * Refuses to plan where the chain shows an unknown transaction that only our key can have signed: a
 * mined nonce beyond ours, or a spent coin of ours. A block that shows it puts the ramp into
 * quarantine; without such a block, the node may be wrong, or the scanner is about to find it. Where
 * transactions have neither, only the scanner shows it, and planning waits for it.
 *
 * @throws {ChainError} `held`
 */
export async function assertKnown(
  work: OrderWork,
  order: OrderRow,
  quote: { mined: number | null; head: number },
): Promise<void> {
  if (work.chain.traits.coins) return await assertCoins(work, order);
  if (work.chain.traits.validity !== null) return await assertCaughtUp(work, order);
  await assertNonces(work, order, quote);
}

/**
 * Refuses to plan or to end an order while the scanner is not close to the newest block: the payment of a newer database
 * may be in the blocks that it lacks. By the blocks alone: the clock of a process may be wrong.
 *
 * @throws {ChainError} `held`
 */
export async function assertCaughtUp(
  { context, chain }: Pick<OrderWork, "context" | "chain">,
  order: OrderRow,
): Promise<void> {
  const { height } = await chain.head();
  const cursor = await reading(context.pool, (db) => selectCursor(db, order));
  const reached = cursor === null || cursor.halted !== null ? -Infinity : cursor.height;
  if (height - reached <= chain.traits.validity!.scannedWithin) return;
  throw new ChainError("held", "the newest blocks are not scanned yet: it waits for the scanner");
}

async function assertCoins({ context, chain }: OrderWork, order: OrderRow): Promise<void> {
  const coins = await reading(context.pool, (db) => selectMinedCoins(db, order, COINS_ASKED));
  if (coins.length === 0) return;
  const inputs = coins.map(({ input }) => input);
  const asked = [{ address: order.sender, contract: null, coins: inputs }];
  const { amounts: [there] } = await chain.funds(asked);
  if (there >= coins.reduce((sum, { amount }) => sum + BigInt(amount), 0n)) return;
  throw new ChainError("held", `a coin of ${order.sender} is gone, and nothing here spent it`);
}

async function assertNonces(
  { context, chain }: OrderWork,
  order: OrderRow,
  { mined, head }: { mined: number | null; head: number },
): Promise<void> {
  if (mined === null || PURPOSE_RULES[order.purpose].fillsNonce) return;
  const next = await reading(context.pool, (db) => selectNextNonce(db, order));
  if (mined <= next) return;
  const input = `${order.sender}:${next}`;
  const status = await chain.status({
    attempts: [{ hash: NONE, raw: "0x", inputs: [input], expires: null }],
    since: Math.max(0, head - SEARCHED),
    depth: 1,
    final: false,
  });
  const by = status.state === "dropped" ? status.by : null;
  if (by === null) {
    throw new ChainError("held", `a node says that ${input} is mined; no block shows it`);
  }
  const known = await reading(context.pool, (db) => selectKnownHashes(db, [by]));
  const detail = `${by} used our nonce ${input}, and nothing here knows of it`;
  if (known.length === 0) {
    const ramps = await context.step((tx) => quarantine(tx, context.actor, [order.ramp], detail));
    if (ramps.length > 0) context.log("error", "a ramp is in quarantine", { ramps, detail });
  }
  throw new ChainError("held", `chain.quarantined: ${detail}`);
}
