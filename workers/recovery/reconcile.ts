/**
 * Reconciles quarantined ramps of a realm with their chains: skips address indices that may have
 * been handed out, rescans blocks from below the database's cursor, recovers transactions that own
 * keys signed, and asks about withdrawals that may have been paid. It may stop at any moment and
 * start again.
 * @module
 */
import { passOverNumbers, setApart } from "../../db/realms/attestations.ts";
import { selectCursor } from "../../db/chains/cursors.ts";
import { selectQuarantinedPlaces } from "../../db/sending/quarantine.ts";
import {
  type QuarantinedRamp,
  raiseNonce,
  selectOpenWithdrawals,
  selectQuarantinedRamps,
  selectSignedOrders,
  selectUnknownSpends,
  selectUntouchedCoins,
} from "../../db/recovery/recoveries.ts";
import { selectDatabaseTime } from "../../db/health.ts";
import { reading } from "../../db/transaction.ts";
import type { Network } from "../../domain/chains/addresses.ts";
import type { ChainId } from "../../domain/assets.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { DomainError } from "../../domain/errors.ts";
import { passedTime } from "../../domain/recovery/passed_over.ts";
import { type DisplacedReport, reportDisplaced } from "../../domain/recovery/displaced_orders.ts";
import type { FoundTransaction } from "../../domain/recovery/found_transactions.ts";
import { takeIn, type Taken } from "../../domain/recovery/recoveries.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Head } from "../chains/observations.ts";
import { withCalls } from "../sending/found_outflows.ts";
import { readFound, takeForSent } from "../sending/found_transactions.ts";
import { scanNetwork } from "../scanning/scanner.ts";
import { readTimedHead } from "../scanning/timed_quarantines.ts";
import { advanceOrder } from "../sending/sender.ts";
import { forgetVanished, takeMinedLate } from "./late_attempts.ts";
import { LATE, lift } from "./lifting.ts";
import { findPassed, passOverIndices, usedOf } from "./lost_addresses.ts";
import { ask, type LateAnswer, type Question } from "./questions.ts";
import { usedNonces } from "./used_nonces.ts";
import { readStated, type Statements } from "./stated.ts";
import { findUnknownSignatures, waitForInFlight } from "./unknown_signatures.ts";

export { type LateAnswer, type Question } from "./questions.ts";

/** Options of a reconciliation. */
export interface ReconcileOptions {
  /** Address indices that are skipped. */
  gap: number;
  /** Blocks below the cursor that are rescanned. */
  back: number;
  /** Whether the whole database was restored, whatever the realm itself shows. */
  apart?: boolean;
  /** Whether a newest block of hours ago is taken for the chain's newest. */
  behind?: boolean;
  /** Whether to leave the ramps in quarantine even where nothing is open. */
  keep?: boolean;
  /** How transactions that cannot be read are to be booked; those that are booked so are taken out. */
  stated?: Statements;
  /** Whether a withdrawal was paid; null if nobody knows yet. */
  answer: (question: Question) => Promise<boolean | null>;
}

/** The findings on one network. */
export interface PlaceReport {
  chain: string;
  network: string;
  /** Used addresses that the database did not know. */
  addresses: { index: number; address: string }[];
  taken: Taken[];
  /** Orders that are done and whose transactions the chain has lost, or has again: as told in this quarantine, by any run. */
  displaced: DisplacedReport[];
  /** Withdrawals without an answer whether they were paid. */
  open: Question[];
  /** Answers without effect, as the withdrawal was sent or has ended since the question. */
  late: LateAnswer[];
  /** Obstacles other than open questions. */
  obstacles: string[];
  lifted: boolean;
}

/** Coins that one question to the nodes names. */
const COINS_AT_ONCE = 200;
const PASSES_MAX = 100_000;
/**
 * Most steps of each signed order. The first marks it as sent, the second reads its chain block; more
 * are needed where one order spends the change of another.
 */
const STEPS_MAX = 20;
/** Nodes whose newest block is older are taken for not synchronized. */
const BEHIND_MS = 3 * 3_600_000;

const UNREAD =
  "the chain could not be read up to its head: see `error` of GET /v1/chains; where there is none a worker's" +
  " scan was in the way: end every worker, and run it again";

/** State of the reconciliation of one network. */
interface Work {
  context: WorkerContext;
  chain: Chain;
  place: ChainNetwork;
  ramps: readonly QuarantinedRamp[];
  options: ReconcileOptions;
  /** First block that is read. */
  from: number;
}

/** Reconciles every network of a realm with quarantined ramps; a network without a node waits. */
export async function reconcileRealm(
  context: WorkerContext,
  options: ReconcileOptions,
): Promise<PlaceReport[]> {
  const places = await reading(context.pool, selectQuarantinedPlaces);
  // A newer database may have opened ramps under the numbers of those that are not opened here.
  if (options.apart === true || places.length > 0) {
    await context.step((tx) => passOverNumbers(tx, options.gap, passedTime(context.actor.at)));
  }
  const all = await reading(context.pool, selectQuarantinedRamps);
  const names = [...new Set(all.map(({ chain, network }) => `${chain} ${network}`))];
  const reports: PlaceReport[] = [];
  for (const name of names) {
    const ramps = all.filter(({ chain, network }) => `${chain} ${network}` === name);
    const [chain, network] = name.split(" ") as [ChainId, Network];
    reports.push(
      await reconcilePlace(context, { chain, network }, ramps, options).catch((error) => {
        if (!(error instanceof ChainError)) throw error;
        const found = { addresses: [], taken: [], displaced: [] };
        const nothing = { ...found, open: [], late: [], lifted: false };
        return { chain, network, ...nothing, obstacles: [error.message] };
      }),
    );
  }
  if (options.keep !== true && reports.every(({ lifted }) => lifted)) {
    await context.step((tx) => setApart(tx, false));
  }
  return reports;
}

async function reconcilePlace(
  context: WorkerContext,
  place: ChainNetwork,
  ramps: readonly QuarantinedRamp[],
  options: ReconcileOptions,
): Promise<PlaceReport> {
  const chain = await context.chains.open({
    chain: place.chain,
    testnet: place.network !== "main",
  });
  const cursor = await reading(context.pool, (db) => selectCursor(db, place));
  const known = Math.min(
    cursor?.height ?? 0,
    ...ramps.map(({ quarantined }) => quarantined.height ?? cursor?.height ?? 0),
  );
  const from = Math.max(0, known - options.back);
  const work: Work = { context, chain, place, ramps, options, from };
  const search = { ...work, gap: options.gap };
  const passed = await passOverIndices(search);
  // Before blocks are searched: what is mined during the search is not found by it.
  const head = await readTimedHead(context, chain, place);
  const ids = ramps.map(({ account }) => account);
  const before = await reading(context.pool, (db) => selectOpenWithdrawals(db, place, ids));
  const obstacles: string[] = [];
  if (await catchUp(work)) {
    const tooFew = await findPassed(search, passed);
    if (tooFew !== null) obstacles.push(tooFew);
  } else obstacles.push(UNREAD);
  await followSigned(work);
  // What can never be mined, and was seen only in a block that nodes made up, is given up, or asked about.
  if (await forgetVanished(work, obstacles)) await followSigned(work);
  const taken = await takeAll(work, obstacles);
  // An order that can never be mined may have been ordered anew, and paid by one of these.
  const isOther = ({ unmatched, calls }: Taken) => unmatched.length > 0 || calls !== undefined;
  if (taken.some(isOther)) await followSigned(work);
  obstacles.push(...await waitsOf(work, head));
  const { open, late, asked, orphaned } = obstacles.length > 0
    ? { open: [], late: [], asked: new Set<string>(), orphaned: false }
    : await ask(work, obstacles);
  // What was sent on the change of a transaction that is never sent is new again, and is asked about then.
  if (orphaned) await followSigned(work);
  if (asked.size > 0) taken.push(...await takeLate(work, obstacles));
  const addresses = await usedOf(search, passed);
  const ready = obstacles.length === 0 && open.length === 0 && options.keep !== true;
  const displaced = await reading(context.pool, (db) => reportDisplaced(db, ids));
  const kept = ready ? await lift(work, new Set(before.filter((id) => !asked.has(id)))) : null;
  if (kept !== null) obstacles.push(kept);
  const lifted = ready && kept === null;
  if (lifted) await catchUp(work); // which credits what was held, and is not ours
  const { network } = place;
  return {
    chain: place.chain,
    network,
    addresses,
    taken,
    displaced,
    open,
    late,
    obstacles,
    lifted,
  };
}

/** The reasons to wait: what may still be mined, and nodes that do not know the newest blocks. */
async function waitsOf(work: Work, head: Head): Promise<string[]> {
  const { context, chain, options } = work;
  const own = new Set(work.ramps.map(({ account }) => account));
  const ramps = (await reading(context.pool, selectQuarantinedRamps))
    .filter(({ account }) => own.has(account));
  // The clock of one of the two may be behind.
  const now = Math.max(context.actor.at, await reading(context.pool, selectDatabaseTime));
  const waits = [waitForInFlight(chain, ramps, head, now), await waitForPool(work)];
  if (head.time * 1000 < now - BEHIND_MS && options.behind !== true) {
    const when = new Date(head.time * 1000).toISOString();
    waits.push(
      `the newest block is of ${when}: run it again when the nodes are synchronized,` +
        " or with --behind where the chain stands still",
    );
  }
  return waits.filter((why) => why !== null);
}

/**
 * Recovers what was mined while questions were answered, which may take an operator any time. Where there is
 * something, an answer may be wrong, and the quarantine stays.
 */
async function takeLate(work: Work, obstacles: string[]): Promise<Taken[]> {
  if (!await catchUp(work)) obstacles.push(UNREAD);
  const late = await takeAll(work, obstacles);
  if (late.length > 0) obstacles.push(LATE);
  const pooled = await waitForPool(work);
  if (pooled !== null) obstacles.push(pooled);
  return late;
}

/** Scans to the newest block, which credits every deposit that is deep enough. */
async function catchUp({ context, place }: Work): Promise<boolean> {
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const ended = await scanNetwork(context, place);
    if (ended !== "more") return ended === "caught up";
  }
  return false;
}

/**
 * Asks nodes for the status of everything signed, as a worker would, until that changes nothing more.
 * Transactions that were mined, or that nodes have, count as sent and are followed: no operator is
 * asked about them, and their fees are booked. An order of which none can be mined is new again before
 * payments are recovered, so that the payment which a newer database made instead is found to be its.
 */
async function followSigned({ context, place, ramps }: Work): Promise<void> {
  const ids = ramps.map(({ account }) => account);
  let before = "";
  for (let step = 0; step < STEPS_MAX; step++) {
    const turns = await reading(context.pool, (db) => selectSignedOrders(db, place, ids));
    const now = turns.map(({ order, state }) => `${order} ${state}`).join();
    if (step > 1 && now === before) return;
    before = now;
    // An order that was marked as sent is advanced again, to read its chain block.
    for (const { state, ...turn } of turns) {
      if (step === 0 || state === "sent") await advanceOrder(context, turn);
    }
  }
}

/** Recovers all transactions that own keys signed and the database does not know; raises nonces. */
async function takeAll(work: Work, obstacles: string[]): Promise<Taken[]> {
  const { context, chain, place, ramps } = work;
  const ids = ramps.map(({ account }) => account);
  const refused = new Set<string>();
  const used = chain.nonces === null
    ? null
    : await usedNonces(work, chain.nonces, { ramps: ids, obstacles });
  const unknown = chain.traits.validity === null
    ? null
    : await findUnknownSignatures(context, chain, { place, ramps: ids, from: work.from });
  const mined = used?.found ?? unknown ??
    await reading(context.pool, (db) => selectUnknownSpends(db, place, ids));
  // First: of payments that are alike, each withdrawal's own is its.
  const taken = await takeMinedLate(work, obstacles);
  const { height, finalized } = await chain.head();
  const depth = context.chains.depth({ chain: chain.id, testnet: place.network !== "main" });
  const top = chain.traits.finalOnly ? finalized ?? -1 : height + 1 - depth;
  let isUnread = false;
  for (const one of mined) {
    const found = await readOne(work, { ...one, deep: one.height <= top }, obstacles);
    if (found === undefined) {
      isUnread = true;
      continue;
    }
    if (found === null) obstacles.push(`${one.hash} is not signed by an address of ours`);
    // Where its block is lost it may expire unmined, which nobody could prove: its expiry is not stored.
    else if (chain.traits.finalOnly && !found.deep) {
      obstacles.push(`the block of ${one.hash} is not final: run it again when it is`);
    } else if (found.stated !== undefined || !await takeForSent(context, chain, place, found)) {
      try {
        const result = await context.step((tx) => takeIn(tx, context.actor, place, found), {
          lockLedger: true,
        });
        if (result !== null) taken.push(result);
        if (found.stated !== undefined) work.options.stated?.delete(found.hash);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        obstacles.push(error.message);
        refused.add(found.from);
      }
    }
  }
  if (isUnread) return taken; // whose nonce it used up is not known
  // Only now: a later run searches the transactions of the nonces that are not known yet.
  for (const { address, next } of used?.raises ?? []) {
    if (refused.has(address)) continue;
    await context.step((tx) => raiseNonce(tx, { ...place, address, next }));
  }
  return taken;
}

/**
 * Reads a transaction of our own keys; undefined, and an obstacle, for one that cannot be read and of which no operator
 * has said how it is to be booked, or not what nodes agree on.
 */
async function readOne(
  { context, chain, place, ramps, options }: Work,
  mined: { hash: string; height: number; deep: boolean },
  obstacles: string[],
): Promise<FoundTransaction | null | undefined> {
  const { hash } = mined;
  const search = { context, chain, place, ramps: ramps.map(({ account }) => account) };
  const found = await readFound(context, chain, place, mined).catch((error) => {
    if (!(error instanceof ChainError) || error.fault !== "refused") throw error;
    return error;
  });
  if (found instanceof ChainError && options.stated?.has(hash) !== true) {
    const how = chain.nonces === null
      ? `; look at it, and say what it was: --loss ${hash}, or --payment ${hash}=<withdrawal> for each that it paid`
      : "";
    obstacles.push(`${found.message}${how}`);
    return undefined;
  }
  try {
    return found instanceof ChainError
      ? await readStated(search, mined, { withdrawals: options.stated!.get(hash)! })
      : found && await withCalls(search, found);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    obstacles.push(error.message);
    return undefined;
  }
}

/**
 * Gives the reason why ramps stay in quarantine while transactions that the database does not know wait
 * in the nodes' pools and spend coins of theirs; null where there is none.
 */
async function waitForPool({ context, chain, place, ramps }: Work): Promise<string | null> {
  if (chain.coins === null) return null;
  const of = { ramps: ramps.map(({ account }) => account), limit: COINS_AT_ONCE };
  let count = 0;
  let after = ":-1";
  for (;;) {
    const some = await reading(
      context.pool,
      (db) => selectUntouchedCoins(db, place, { ...of, after }),
    );
    if (some.length > 0) count += (await chain.coins.pooled(some)).length;
    if (some.length < COINS_AT_ONCE) break;
    after = some[some.length - 1];
  }
  if (count === 0) return null;
  return `transactions that wait to be mined spend ${count} coin(s) of ours: run it again then`;
}
