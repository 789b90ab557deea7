/**
 * Orders that are done, and whose transactions the chain has lost by a reorganisation beyond the depth of their end: to
 * another with their nonce or coins, or by themselves. What they booked did not happen. Nobody can tell by the rows alone
 * what is to become of it: their users and an operator are told, and no worker sends them again. So they are where a later
 * block has them again, and where one did something else in it than its order has booked (`other_outcomes.ts`).
 * @module
 */
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Db, Tx } from "../../db/database.ts";
import {
  type DisplacedNote,
  type DisplacedRow,
  type DisplacedTold,
  giveCoinsBack,
  lockDisplaced,
  markDisplacedSeen,
  markReturned,
  passCoinsOn,
  selectDoneWith,
  selectHeirs,
  selectIsTaken,
  selectIsToEnd,
  selectToldOf,
  type TakenCoins,
  takeUnannounced,
  upsertDisplaced,
} from "../../db/recovery/displaced_orders.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { type MinedNonce, selectDisplaced } from "../../db/sending/nonces.ts";
import { selectAttempts } from "../../db/sending/order_attempts.ts";
import { liftQuarantine } from "../../db/sending/quarantine.ts";
import { deleteUnmadeCoins } from "../../db/sending/utxos.ts";
import type { Actor } from "../actor.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { quarantine } from "../sending/quarantine.ts";
import {
  backAs,
  type FoundEntry,
  paidBy,
  type SeenPayer,
  showMined,
  tellPayer,
  tellUsers,
} from "./payers.ts";

/** An order whose transaction the chain has lost. */
export interface Displaced {
  order: string;
  purpose: OrderRow["purpose"];
  hash: string;
  /** The withdrawals that it paid, which are done, and that nothing pays now. */
  unpaid: string[];
}

/** Lists the orders that a mined one took the place of by its nonce, and that moved something. */
export async function displacedBy(db: Db, order: MinedNonce): Promise<Displaced[]> {
  const found: Displaced[] = [];
  for (const one of await selectDisplaced(db, order)) {
    const { id, purpose, hash } = one;
    if (purpose !== "fill") {
      found.push({ order: id, purpose, hash: hash!, unpaid: await paidBy(db, one) });
    }
  }
  return found;
}

/** What is told of an order: to the users of its withdrawals, and to the operator. */
export interface News extends Omit<DisplacedNote, "detail" | "announced"> {
  state: "displaced" | "succeeded" | "returned";
  withdrawals: readonly string[];
  /** What happened to its transaction. Users are shown it, and others may be another's. */
  what: string;
  /** What that means to the books. */
  so: string;
  entry: FoundEntry;
}

/**
 * Tells of the orders that a mined one, which has ended, took the place of by its nonce: their withdrawals say so, and the
 * ramp goes into quarantine.
 *
 * @returns the reason of the quarantine; null where there is no such order
 */
export async function tellDisplaced(tx: Tx, actor: Actor, order: OrderRow): Promise<string | null> {
  const { hash: by, height } = order;
  if (by === null || height === null) return null;
  const news: News[] = [];
  for (const one of await selectDisplaced(tx, order)) {
    if (one.purpose !== "fill") news.push(await lossNews(tx, one, { hash: one.hash!, by, height }));
  }
  return await tell(tx, actor, order, news);
}

/**
 * Tells of the order whose coins another transaction spent, as deep as a payment must be, and of those that are done with
 * what its transaction would have made.
 *
 * @returns the reason of the quarantine; null where nothing is lost by it
 */
export async function tellTaken(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  taken: TakenCoins,
): Promise<string | null> {
  const { hash, by, height } = taken;
  const done = await selectDoneWith(tx, hash);
  if (done === null || !await selectIsTaken(tx, place, taken)) return null;
  // Another transaction of the same order did the same; but for its change.
  if (!done.hashes.includes(by)) return await tellLost(tx, actor, place, { hash, by, height });
  const { id, ramp } = done.order;
  const news = await heirNews(tx, place, { hash, height });
  await upsertDisplaced(tx, place, [{
    ...{ hash, order: id, ramp, state: "replaced", by, since: height, lost_height: height },
    ...{ seen: null, detail: null, announced: false },
  }], actor.at);
  await markReturned(tx, { hash: by, seen: by, height });
  const { fee } = (await selectAttempts(tx, id)).find((one) => one.hash === by) ?? { fee: null };
  const cost = fee === null ? null : { fee, contract: null };
  await tellPayer(tx, actor, done.order, { hash, seen: by, height, cost });
  const detail = await tell(tx, actor, place, news);
  await freeCoins(tx, place, [hash, ...news.map((one) => one.hash)]);
  return detail;
}

/**
 * Tells of an order whose transaction no block has had for long, unless one has it again.
 *
 * @returns the reason of the quarantine; null where one has
 */
export async function tellUnseen(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  { hash, lost_height: height }: Pick<DisplacedRow, "hash" | "lost_height">,
): Promise<string | null> {
  const row = await lockDisplaced(tx, hash);
  if (row?.state !== "lost" || row.seen_height !== null) return null;
  return await tellLost(tx, actor, place, { hash, by: null, height });
}

/**
 * Tells of an order whose transaction the chain has lost, and whose nonce another has used, final and as deep as a payment
 * must be: nodes prove that, and nothing here may know it. One of ours that is to end tells of it itself. Where it is another
 * transaction of the order, a block has it, which is asked about next.
 *
 * @returns the reason of the quarantine; null where nothing was told
 */
export async function tellUsed(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  { hash, by, height }: { hash: string; by: string; height: number },
): Promise<string | null> {
  const row = await lockDisplaced(tx, hash);
  if (row?.state !== "lost" || row.seen_height !== null) return null;
  if (await selectIsToEnd(tx, by)) return null;
  const paying = (await selectAttempts(tx, row.order)).filter(({ cancels }) => !cancels);
  if (!paying.some((one) => one.hash === by)) {
    return await tellLost(tx, actor, place, { hash, by, height });
  }
  await markDisplacedSeen(tx, place, [{ hash: by, height }]);
  return null;
}

/**
 * Tells of an order whose transaction the chain has lost, and of those that are done with what it would have made. Coins
 * that nothing else has spent are free.
 *
 * @param by what took its place; null where nothing is known to have
 * @returns the reason of the quarantine
 */
async function tellLost(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  { hash, by, height }: { hash: string; by: string | null; height: number },
): Promise<string | null> {
  const done = await selectDoneWith(tx, hash);
  if (done === null) return null;
  const row = await lockDisplaced(tx, hash);
  const isTold = row?.state === "displaced";
  const news = isTold ? [] : [await lossNews(tx, done.order, { hash, by, height })];
  news.push(...await heirNews(tx, place, { hash, height }));
  const detail = await tell(tx, actor, place, news);
  await freeCoins(tx, place, [hash, ...news.map((one) => one.hash)]);
  return detail;
}

/**
 * Tells that a block has a transaction of an order again that was told to be lost. Where nobody was told yet, nothing is
 * told now either, but to users by which transaction they are paid where it is another.
 *
 * @returns the reason of the quarantine; null where nothing was told
 */
export async function tellReturned(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  { hash, seen, height, cost }: SeenPayer,
): Promise<string | null> {
  const row = await lockDisplaced(tx, hash);
  if (row === null || !isUnsettled(row, height)) return null;
  const order = (await selectOrder(tx, row.order))!;
  if (row.state !== "displaced") {
    await markReturned(tx, { hash, seen, height });
    await tellPayer(tx, actor, order, { hash, seen, height, cost });
    return null;
  }
  await showMined(tx, actor, order, { seen, height });
  const news = [await returnNews(tx, order, row, { seen, height })];
  for (const one of await selectDisplaced(tx, { ...order, hash: seen })) {
    const isOther = one.id !== order.id && one.purpose !== "fill";
    if (isOther) news.push(await lossNews(tx, one, { hash: one.hash!, by: seen, height }));
  }
  const detail = await tell(tx, actor, place, news);
  await giveCoinsBack(tx, place, seen);
  return detail;
}

/**
 * Begins the quarantine of some ramps anew with what was told in it, and was no reason of one: none ends before an operator
 * was told so.
 *
 * @returns the reasons; none where all was told
 */
export async function announceDisplaced(
  tx: Tx,
  actor: Actor,
  ramps: readonly string[],
): Promise<string[]> {
  const untold = await takeUnannounced(tx, ramps, actor.at);
  const reasons: string[] = [];
  for (const [ramp, told] of Map.groupBy(untold, (one) => one.ramp)) {
    const detail = told.map((one) => one.detail).join("; ");
    await liftQuarantine(tx, ramp);
    await quarantine(tx, actor, [ramp], detail);
    reasons.push(detail);
  }
  return reasons;
}

/** What a reconciliation reports of such an order. */
export interface DisplacedReport extends Displaced {
  /**
   * Displaced: its withdrawals are unpaid. Succeeded: it had failed, and has paid them after all, beside what was given back.
   * Returned: what it has booked holds after all.
   */
  state: DisplacedTold["state"];
  /** What took its place; null where nothing is known to have. */
  by: string | null;
  /** Where it has succeeded, the withdrawals that it paid, which have failed. */
  paid?: string[];
}

/** Lists what was told of orders of some ramps since their quarantines began, or has been no reason of one. */
export async function reportDisplaced(
  db: Db,
  ramps: readonly string[],
): Promise<DisplacedReport[]> {
  const reports: DisplacedReport[] = [];
  for (const { order, hash, state, by } of await selectToldOf(db, ramps)) {
    const row = (await selectOrder(db, order))!;
    const of = state === "returned" ? [] : await paidBy(db, row);
    const what = state === "succeeded" ? { unpaid: [], paid: of } : { unpaid: of };
    reports.push({ order, purpose: row.purpose, hash, state, by, ...what });
  }
  return reports;
}

async function lossNews(
  tx: Tx,
  order: OrderRow,
  { hash, by, height, root = null }: {
    hash: string;
    by: string | null;
    height: number;
    root?: string | null;
  },
): Promise<News> {
  const { id, ramp, purpose } = order;
  const withdrawals = await paidBy(tx, order);
  const what = root !== null
    ? `${hash} spends what ${root} made, which the chain has lost`
    : by === null
    ? `the chain has lost ${hash}`
    : `${by} took the place of ${hash}, which the chain has lost`;
  const unpaid = `no transaction pays ${withdrawals.join(", ")}, which is done`;
  const booked = `what order ${id} (${purpose}) has booked`;
  // A sweep that took its place carried the same value, which is not booked again.
  const undone = purpose === "sweep" && by !== null
    ? `of ${booked} only that happened which ${by} did`
    : `${booked} did not happen`;
  return {
    ...{ hash, order: id, ramp, state: "displaced", by, since: height },
    ...{ lost_height: order.height ?? height, seen: null, withdrawals, what },
    so: withdrawals.length > 0 ? unpaid : undone,
    entry: { hash, paid: false, reason: `${what}: no transaction pays it` },
  };
}

async function heirNews(
  tx: Tx,
  place: NetworkKey,
  { hash, height }: { hash: string; height: number },
): Promise<News[]> {
  const news: News[] = [];
  for (const { id, spender } of await selectHeirs(tx, place, hash)) {
    const order = (await selectOrder(tx, id))!;
    news.push(await lossNews(tx, order, { hash: spender, by: null, height, root: hash }));
  }
  return news;
}

async function returnNews(
  tx: Tx,
  order: OrderRow,
  { hash, since, lost_height }: DisplacedRow,
  { seen, height }: { seen: string; height: number },
): Promise<News> {
  const { id, ramp, purpose } = order;
  const withdrawals = await paidBy(tx, order);
  const what = backAs(hash, { seen, height });
  return {
    ...{
      hash,
      order: id,
      ramp,
      state: "returned",
      by: null,
      since,
      lost_height,
      withdrawals,
      what,
    },
    seen: { hash: seen, height },
    so: withdrawals.length > 0
      ? `it pays ${withdrawals.join(", ")}, beside whatever was done about that`
      : `what order ${id} (${purpose}) has booked did happen, beside whatever was done about that`,
    entry: { hash: seen, paid: true, block: height, reason: `${what}: it is paid by it` },
  };
}

/** Whether nothing was told yet of what a block has, and no other block was seen to have it since. */
export function isUnsettled({ state, seen_height }: DisplacedRow, height: number): boolean {
  const isSettled = state === "returned" || state === "succeeded";
  return !isSettled && (seen_height === null || seen_height === height);
}

/** Tells news to the users of withdrawals and to the operator, and records them. */
export async function tell(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  news: readonly News[],
): Promise<string | null> {
  if (news.length === 0) return null;
  const { at } = actor;
  for (const { withdrawals, entry } of news) await tellUsers(tx, actor, withdrawals, entry);
  for (const [ramp, told] of Map.groupBy(news, (one) => one.ramp)) {
    const details = told.map(({ what, so }) => `${what}: ${so}`);
    const begun = await quarantine(tx, actor, [ramp], details.join("; "));
    const notes = told.map((one, index) => ({
      ...one,
      ...{ detail: details[index], announced: begun.length > 0 },
    }));
    await upsertDisplaced(tx, place, notes, at);
  }
  return news.map(({ what, so }) => `${what}: ${so}`).join("; ");
}

/** Frees the coins that lost transactions spend, and forgets those that they would have made. */
async function freeCoins(tx: Tx, place: NetworkKey, hashes: readonly string[]): Promise<void> {
  for (const hash of hashes) await passCoinsOn(tx, place, hash);
  await deleteUnmadeCoins(tx, place, hashes);
}
