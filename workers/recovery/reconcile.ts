/**
 * Reconciles quarantined ramps of a realm with their chains: skips address indices that may have
 * been handed out, rescans blocks from below the database's cursor, recovers transactions that own
 * keys signed, and asks about withdrawals that may have been paid. It may stop at any moment and
 * start again.
 * @module
 */
import { passOverNumbers, setApart } from "../../db/realms/attestations.ts";
import { selectCursor } from "../../db/chains/cursors.ts";
import { liftQuarantine, selectQuarantinedPlaces } from "../../db/sending/quarantine.ts";
import {
  type KnownSender,
  type QuarantinedRamp,
  raiseNonce,
  releaseDeposits,
  selectHeldDeposits,
  selectKnownHashes,
  selectQuarantinedRamps,
  selectSenders,
  selectSignedOrders,
  selectUnknownSpends,
  selectUnsigned,
  selectUnsignedInputs,
  skipIndices,
} from "../../db/recovery/recoveries.ts";
import { reading } from "../../db/transaction.ts";
import type { Network } from "../../domain/chains/addresses.ts";
import type { ChainId } from "../../domain/assets.ts";
import { recoverAddress } from "../../domain/deposits/deposit_accounts.ts";
import { enqueue } from "../../domain/jobs.ts";
import { type OrderRow, scheduleOrder } from "../../domain/sending/chain_orders.ts";
import { reserveAddresses } from "../../domain/accounts/own_addresses.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { takeIn, type Taken } from "../../domain/recovery/recoveries.ts";
import { recordTransfers } from "../../domain/deposits/scan_results.ts";
import { settlePaid } from "../../domain/withdrawals/withdrawal_settlement.ts";
import { ownAddresses } from "../keys/own_addresses.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { NonceCounter } from "../chains/nonces.ts";
import type { Transfer } from "../chains/observations.ts";
import { readFound } from "../sending/found_transactions.ts";
import { loadWatch, scanNetwork } from "../scanning/scanner.ts";
import { advanceOrder } from "../sending/sender.ts";
import { findUnknownSignatures, waitForInFlight } from "./unknown_signatures.ts";

/** A withdrawal that may have been paid. */
export interface Question {
  withdrawal: string;
  chain: string;
  destination: string;
  amount: string | null;
  created_at: number;
}

/** Options of a reconciliation. */
export interface ReconcileOptions {
  /** Address indices that are skipped. */
  gap: number;
  /** Blocks below the cursor that are rescanned. */
  back: number;
  /** Whether the whole database was restored, whatever the realm itself shows. */
  apart?: boolean;
  /** Whether to leave the ramps in quarantine even where nothing is open. */
  keep?: boolean;
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
  /** Withdrawals without an answer whether they were paid. */
  open: Question[];
  /** Obstacles other than open questions. */
  obstacles: string[];
  lifted: boolean;
}

const AT_ONCE = 200;
const NONCES_AT_ONCE = 16;
const PASSES_MAX = 100_000;
/** Steps of each signed order: the first marks it as sent, the second reads its chain block. */
const STEPS_EACH = 2;

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
    await context.step((tx) => passOverNumbers(tx, options.gap));
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
        const nothing = { addresses: [], taken: [], open: [], lifted: false };
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
  const addresses = await passOverIndices(work);
  const obstacles: string[] = [];
  if (!await catchUp(work)) obstacles.push("the chain could not be read up to its head");
  await followSigned(work);
  const taken = await takeAll(work, obstacles);
  const inFlight = waitForInFlight(chain, ramps, await chain.head());
  if (inFlight !== null) obstacles.push(inFlight);
  const open = obstacles.length > 0 ? [] : await ask(work);
  const lifted = obstacles.length === 0 && open.length === 0 && options.keep !== true;
  if (lifted) await lift(work);
  return { chain: place.chain, network: place.network, addresses, taken, open, obstacles, lifted };
}

/**
 * Finds addresses that a newer database handed out, and skips those that it may have handed out.
 */
async function passOverIndices(work: Work): Promise<{ index: number; address: string }[]> {
  const { context, ramps, options } = work;
  const derived = new Map<string, { ramp: string; index: number }>();
  const store = { realm: context.realm.id, pool: context.pool };
  for (const ramp of ramps) {
    const { account, next_index } = ramp;
    for (let at = next_index; at < next_index + options.gap; at += AT_ONCE) {
      const part = { from: at, count: Math.min(AT_ONCE, next_index + options.gap - at) };
      const some = await ownAddresses(context.signer, store, ramp, part);
      for (const [step, address] of some.entries()) {
        derived.set(address, { ramp: account, index: at + step });
      }
      // They are own addresses, also if they were handed out, so nobody may link them.
      const passed = { ramp: account, from: at, addresses: some };
      await context.step((tx) => reserveAddresses(tx, context.actor, passed));
    }
  }
  const { used, transfers } = await findUsed(work, [...derived.keys()]);
  const found = [...used].map((address) => ({ address, ...derived.get(address)! }))
    .toSorted((a, b) => a.index - b.index);
  for (const { ramp, index, address } of found) {
    await context.step((tx) => recoverAddress(tx, context.actor, { ramp, index, address }), {
      lockLedger: true,
    });
  }
  // The scanner passed these blocks without knowing the addresses.
  for (let at = 0; at < transfers.length; at += AT_ONCE) {
    const seen = { transfers: transfers.slice(at, at + AT_ONCE), coins: work.chain.traits.coins };
    await context.step((tx) => recordTransfers(tx, context.actor, work.place, seen));
  }
  for (const { account, next_index } of ramps) {
    await context.step(async (tx) => {
      await skipIndices(tx, account, next_index + options.gap);
      await enqueue(tx, context.actor, "ramp.reserve", { account }, { dedupe: account });
    });
  }
  return found.map(({ index, address }) => ({ index, address }));
}

async function findUsed(
  work: Work,
  addresses: readonly string[],
): Promise<{ used: Set<string>; transfers: Transfer[] }> {
  const { context, chain, place, from } = work;
  const used = new Set<string>();
  const found: Transfer[] = [];
  if (addresses.length === 0) return { used, transfers: found };
  if (!chain.traits.coins) {
    for (let at = 0; at < addresses.length; at += AT_ONCE) {
      const some = addresses.slice(at, at + AT_ONCE);
      const asked = some.map((address) => ({ address, contract: null }));
      const { amounts } = await chain.balances(asked, null);
      for (const [step, amount] of amounts.entries()) if (amount > 0n) used.add(some[step]);
    }
  }
  const { contracts } = await loadWatch(context, place);
  const watch = { addresses: new Set(addresses), inputs: new Set<string>(), contracts };
  const head = await chain.head();
  for await (const { transfers } of chain.scan(from, head.height, watch)) {
    for (const { to } of transfers) used.add(to);
    found.push(...transfers);
  }
  return { used, transfers: found };
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
 * Asks nodes for the status of everything signed, as a worker would. Transactions that were mined,
 * or that nodes have, count as sent and are followed: no operator is asked about them, and their
 * fees are booked.
 */
async function followSigned({ context, place, ramps }: Work): Promise<void> {
  const ids = ramps.map(({ account }) => account);
  for (let step = 0; step < STEPS_EACH; step++) {
    const turns = await reading(context.pool, (db) => selectSignedOrders(db, place, ids));
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
  const taken: Taken[] = [];
  const mined = chain.nonces !== null
    ? await usedNonces(work, chain.nonces, ids, obstacles)
    : chain.traits.coins
    ? await reading(context.pool, (db) => selectUnknownSpends(db, place, ids))
    : await findUnknownSignatures(context, chain, { place, ramps: ids, from: work.from });
  for (const one of mined) {
    const found = await readFound(context, chain, place, one);
    if (found === null) obstacles.push(`${one.hash} is not signed by an address of ours`);
    else {
      const result = await context.step((tx) => takeIn(tx, context.actor, place, found), {
        lockLedger: true,
      });
      if (result !== null) taken.push(result);
    }
  }
  return taken;
}

/** Finds the transactions of used nonces that the database does not know, oldest first. */
async function usedNonces(
  work: Work,
  nonces: NonceCounter,
  ramps: readonly string[],
  obstacles: string[],
): Promise<{ hash: string; height: number }[]> {
  const { context, chain, place, from } = work;
  const senders = await reading(context.pool, (db) => selectSenders(db, place, ramps));
  const inputs = new Set(
    await reading(context.pool, (db) => selectUnsignedInputs(db, place, ramps)),
  );
  const missing = new Set<string>();
  for (let at = 0; at < senders.length; at += NONCES_AT_ONCE) {
    const some = senders.slice(at, at + NONCES_AT_ONCE);
    const told = await Promise.all(some.map(({ address }) => nonces.count(address)));
    for (const [step, sender] of some.entries()) {
      await noteNonces(work, sender, told[step], { inputs, missing, obstacles });
    }
  }
  if (inputs.size === 0) return [];
  const head = await chain.head();
  const found: { hash: string; height: number }[] = [];
  const watch = { addresses: new Set<string>(), inputs, contracts: new Set<string>() };
  for await (const { block, consumed } of chain.scan(from, head.height, watch)) {
    for (const { input, hash } of consumed) {
      missing.delete(input);
      found.push({ hash, height: block.height });
    }
  }
  for (const input of missing) {
    obstacles.push(
      `no block from ${from} on shows the transaction that used ${input}: read more with --back`,
    );
  }
  const hashes = found.map(({ hash }) => hash);
  const known = new Set(await reading(context.pool, (db) => selectKnownHashes(db, hashes)));
  return found.filter(({ hash }) => !known.has(hash));
}

async function noteNonces(
  { context, place }: Work,
  { address, next }: KnownSender,
  told: { mined: number; pooled: number },
  of: { inputs: Set<string>; missing: Set<string>; obstacles: string[] },
): Promise<void> {
  for (let nonce = next; nonce < told.mined; nonce++) {
    of.inputs.add(`${address}:${nonce}`);
    of.missing.add(`${address}:${nonce}`);
  }
  const waiting = told.pooled - Math.max(told.mined, next);
  if (waiting > 0) {
    of.obstacles.push(
      `${waiting} transaction(s) of ${address} wait to be mined: run it again then`,
    );
    return;
  }
  if (told.mined <= next) return;
  const { chain, network } = place;
  await context.step((tx) => raiseNonce(tx, { chain, network, address, next: told.mined }));
}

/**
 * Asks about every withdrawal that this database did not broadcast, members of an unsigned batch
 * included: a newer database may have dissolved the batch and paid each alone.
 */
async function ask({ context, place, ramps, options }: Work): Promise<Question[]> {
  const ids = ramps.map(({ account }) => account);
  const orders = (await reading(context.pool, (db) => selectUnsigned(db, place, ids)))
    .filter((one) => one.purpose === "withdrawal");
  const open: Question[] = [];
  for (const order of orders) {
    const question = questionOf(order);
    const paid = await options.answer(question);
    if (paid === null) open.push(question);
    else if (paid) {
      await context.step((tx) => settlePaid(tx, context.actor, order), { lockLedger: true });
    }
  }
  return open;
}

function questionOf(order: OrderRow): Question {
  const [payment] = (order.request as { payments: { to: string; amount: string }[] }).payments;
  return {
    withdrawal: order.reference_id!,
    chain: order.chain,
    destination: payment.to,
    amount: payment.amount,
    created_at: order.created_at,
  };
}

/** Ends the quarantine: held deposits are released, and waiting orders are scheduled. */
async function lift({ context, place, ramps }: Work): Promise<void> {
  const ids = ramps.map(({ account }) => account);
  await context.step(async (tx) => {
    const held = await selectHeldDeposits(tx, place, { ramps: ids });
    await releaseDeposits(tx, held.map(({ id }) => id));
    for (const id of ids) await liftQuarantine(tx, id);
    for (const order of await selectUnsigned(tx, place, ids)) {
      if (order.state !== "batched") await scheduleOrder(tx, context.actor, order.id);
    }
  });
}
