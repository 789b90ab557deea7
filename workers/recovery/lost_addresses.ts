/**
 * Addresses that a lost database may have handed out: those that are used become deposit accounts, and
 * all are passed over and watched.
 * @module
 */
import { insertPassed } from "../../db/accounts/own_addresses.ts";
import { markConsumed } from "../../db/chains/scan_results.ts";
import { selectCursor } from "../../db/chains/cursors.ts";
import { notePassed, selectLastIndex, selectUsed } from "../../db/recovery/passed_over.ts";
import type { QuarantinedRamp } from "../../db/recovery/recoveries.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { reserveAddresses } from "../../domain/accounts/own_addresses.ts";
import { recoverAddress } from "../../domain/deposits/deposit_accounts.ts";
import { recordTransfers } from "../../domain/deposits/scan_results.ts";
import { enqueue } from "../../domain/jobs.ts";
import { ownAddresses } from "../keys/own_addresses.ts";
import { proveUnreserved } from "../scanning/ramp_opening.ts";
import { loadWatch } from "../scanning/scanner.ts";
import type { WorkerContext } from "../worker_context.ts";
import type { Chain } from "../chains/chain.ts";
import type { Transfer } from "../chains/observations.ts";

/** Derived, asked for and recorded at once. */
const AT_ONCE = 200;

/** Where addresses are searched. */
export interface AddressSearch {
  readonly context: WorkerContext;
  readonly chain: Chain;
  readonly place: ChainNetwork;
  readonly ramps: readonly QuarantinedRamp[];
  /** Indices that are passed over for each ramp. */
  readonly gap: number;
  /** First block that is read. */
  readonly from: number;
}

/** The indices of a ramp that a run passes over. */
export interface Passing {
  readonly ramp: QuarantinedRamp;
  /** The first of this quarantine; earlier runs may have passed over some. */
  readonly begun: number;
  /** One after the last. */
  readonly end: number;
}

/** Addresses of some ramps that were passed over, and those of them that this run derived. */
export interface PassedOver {
  readonly passing: readonly Passing[];
  readonly derived: ReadonlyMap<string, { ramp: string; index: number }>;
}

/**
 * Skips addresses that a newer database may have handed out, and watches them: once in a quarantine, however
 * often it is reconciled, because none is handed out in it. Where one of the last is used, the next run skips
 * more. The caller scans to the newest block after it, so that no pass of a worker goes on that does not watch
 * them.
 */
export async function passOverIndices(work: AddressSearch): Promise<PassedOver> {
  const { ramps, gap } = work;
  const derived = new Map<string, { ramp: string; index: number }>();
  const passing: Passing[] = [];
  for (const ramp of ramps) {
    const begun = ramp.quarantined.passed_from ?? ramp.next_index;
    const end = Math.max(begun + gap, beyond(await lastUsed(work, ramp.account, begun), gap));
    const of = { ramp, begun, end };
    passing.push(of);
    // Those that the backup has as handed out and no worker had derived lie below what is reserved now.
    await proveUnreserved(work.context, ramp.account);
    await reservePassed(work, of, derived);
  }
  return { passing, derived };
}

/**
 * Makes deposit accounts of passed addresses that blocks up to the cursor show, and records what came there.
 * Later blocks are the scanner's, which takes back what a reorganisation removes.
 *
 * @returns why there may be more of them; null where there are enough
 */
export async function findPassed(
  work: AddressSearch,
  { passing, derived }: PassedOver,
): Promise<string | null> {
  const { context, gap } = work;
  const found = await findUsed(work, [...derived.keys()]);
  const used = [...found.used].map((address) => ({ address, ...derived.get(address)! }))
    .toSorted((a, b) => a.index - b.index);
  for (const { ramp, index, address } of used) {
    await context.step((tx) => recoverAddress(tx, context.actor, { ramp, index, address }), {
      lockLedger: true,
    });
  }
  await recordFound(work, found);
  const tooFew: string[] = [];
  for (const { ramp: { account }, begun, end } of passing) {
    await context.step(async (tx) => {
      await notePassed(tx, account, { from: begun, next: end });
      await enqueue(tx, context.actor, "ramp.reserve", { account }, { dedupe: account });
    });
    const last = await lastUsed(work, account, begun);
    if (beyond(last, gap) > end) {
      tooFew.push(
        `address ${last} of ramp ${account} is used, and there may be more beyond it: run it again`,
      );
    }
  }
  return tooFew.length === 0 ? null : tooFew.join("; ");
}

/** Lists the addresses of some ramps that were passed over in this quarantine and are used. */
export async function usedOf(
  { context }: AddressSearch,
  { passing }: PassedOver,
): Promise<{ index: number; address: string }[]> {
  const used = [];
  for (const { ramp: { account }, begun } of passing) {
    used.push(...await reading(context.pool, (db) => selectUsed(db, account, begun)));
  }
  return used;
}

/** The largest index that is used of those that a quarantine passes over; -1 where none is. */
async function lastUsed(
  { context }: AddressSearch,
  ramp: string,
  begun: number,
): Promise<number> {
  return await reading(context.pool, (db) => selectLastIndex(db, ramp, begun)) ?? -1;
}

/** The index up to which indices are passed over because of the last that is used. */
function beyond(last: number, gap: number): number {
  return last < 0 ? 0 : last + 1 + Math.ceil(gap / 2);
}

/** Derives and reserves the addresses that no earlier run has passed over, and watches them. */
async function reservePassed(
  { context }: AddressSearch,
  { ramp, end }: Passing,
  derived: Map<string, { ramp: string; index: number }>,
): Promise<void> {
  const store = { realm: context.realm.id, pool: context.pool };
  for (let at = ramp.next_index; at < end; at += AT_ONCE) {
    const part = { from: at, count: Math.min(AT_ONCE, end - at) };
    const addresses = await ownAddresses(context.signer, store, ramp, part);
    for (const [step, address] of addresses.entries()) {
      derived.set(address, { ramp: ramp.account, index: at + step });
    }
    const passed = { ramp: ramp.account, from: at, addresses, at: context.actor.at };
    await context.step(async (tx) => {
      // They are own addresses, also if they were handed out, so nobody may link them.
      await reserveAddresses(tx, context.actor, passed);
      await insertPassed(tx, passed);
    });
  }
}

/** What blocks show of addresses that the database did not know. */
interface Found {
  used: Set<string>;
  transfers: Transfer[];
  /** Spends of the coins that came there. */
  consumed: { input: string; hash: string; height: number }[];
}

async function findUsed(work: AddressSearch, addresses: readonly string[]): Promise<Found> {
  const { context, chain, place, from } = work;
  const found: Found = { used: new Set(), transfers: [], consumed: [] };
  if (addresses.length === 0) return found;
  if (!chain.traits.coins) {
    for (let at = 0; at < addresses.length; at += AT_ONCE) {
      const some = addresses.slice(at, at + AT_ONCE);
      const asked = some.map((address) => ({ address, contract: null }));
      const { amounts } = await chain.balances(asked, null);
      for (const [step, amount] of amounts.entries()) if (amount > 0n) found.used.add(some[step]);
    }
  }
  const { contracts } = await loadWatch(context, place);
  const watch = { addresses: new Set(addresses), inputs: new Set<string>(), contracts };
  const cursor = await reading(context.pool, (db) => selectCursor(db, place));
  for await (
    const { block, transfers, consumed } of chain.scan(from, cursor?.height ?? -1, watch)
  ) {
    for (const { to } of transfers) found.used.add(to);
    found.transfers.push(...transfers);
    found.consumed.push(...consumed.map((one) => ({ ...one, height: block.height })));
  }
  return found;
}

/** Records what the scanner passed without knowing the addresses. */
async function recordFound({ context, chain, place }: AddressSearch, found: Found): Promise<void> {
  const { transfers, consumed } = found;
  const { coins } = chain.traits;
  for (let at = 0; at < transfers.length; at += AT_ONCE) {
    const seen = { transfers: transfers.slice(at, at + AT_ONCE), coins };
    await context.step((tx) => recordTransfers(tx, context.actor, place, seen));
  }
  // Coins that were swept already would be spent again, and their sweep would stay unknown.
  if (coins && consumed.length > 0) {
    await context.step((tx) => markConsumed(tx, place, consumed));
  }
}
