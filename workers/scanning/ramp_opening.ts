/** Opens ramps: derives what a ramp account needs before anybody may pay to it. @module */
import { selectAccount } from "../../db/accounts/accounts.ts";
import { insertCursor, selectCursor } from "../../db/chains/cursors.ts";
import { selectUnreserved, type UnprovenRow } from "../../db/accounts/own_addresses.ts";
import { type RampRow, selectRamp } from "../../db/accounts/ramps.ts";
import { reading } from "../../db/transaction.ts";
import type { Network } from "../../domain/chains/addresses.ts";
import { type ChainId, findAsset } from "../../domain/assets.ts";
import { openRampAccount } from "../../domain/deposits/deposit_accounts.ts";
import { deriveAddresses } from "../../domain/chains/derivation.ts";
import {
  needsReserve,
  reserveAddresses,
  RESERVED_AHEAD,
} from "../../domain/accounts/own_addresses.ts";
import { refuseRamp } from "../../domain/accounts/ramps.ts";
import type { WorkerContext } from "../worker_context.ts";
import { isOurs } from "./deposit_confirmations.ts";
import { refreshFees } from "../sending/fee_quotes.ts";
import { sleep } from "../timers.ts";
import { verifyToken } from "../tokens/token_verification.ts";
import { proveAddresses } from "../../domain/deposits/address_handout.ts";

/**
 * Addresses that are derived in one go, while nothing else of the process runs: some milliseconds.
 */
const AT_ONCE = 20;
/**
 * Addresses that were handed out before they were reserved, of which so many are derived at a time.
 */
const UNRESERVED_MAX = 1_000;

/**
 * Opens a ramp. Its place is scanned from a block on that was there before the address was known to
 * anybody, so no payment can be missed; without a node, the ramp waits.
 */
export async function openRampJob(
  context: WorkerContext,
  { account }: { account: string },
): Promise<void> {
  const ramp = await reading(context.pool, (db) => selectRamp(db, account));
  if (ramp === null || ramp.next_index > 0) return;
  await beginCursor(context, ramp);
  const fault = await faultOf(context, ramp);
  if (fault !== null) {
    context.log("error", "an asset is not what the registry says", { account, fault });
    return await context.step((tx) => refuseRamp(tx, account, fault), { lockLedger: true });
  }
  const chain = ramp.chain as ChainId;
  const network = ramp.network as Network;
  const store = { realm: context.realm.id, pool: context.pool };
  const xpub = await context.signer.xpub(store, { chain, network, number: ramp.number });
  if (xpub === null) throw new TypeError(`${chain} has no xpubs`);
  const addresses = await deriveRange(context, { chain, network, xpub }, 0, 1 + RESERVED_AHEAD);
  // Whoever withdraws as soon as the ramp is ready finds a price.
  await refreshFees(context, { chain, network });
  const derived = { xpub, addresses };
  await context.step((tx) => openRampAccount(tx, context.actor, ramp, derived), {
    lockLedger: true,
  });
}

/** Reserves addresses of a ramp, so that as many as there should be lie beyond the next one. */
export async function reserveJob(
  context: WorkerContext,
  { account }: { account: string },
): Promise<void> {
  const ramp = await reading(context.pool, (db) => selectRamp(db, account));
  if (ramp === null || ramp.xpub === null || !needsReserve(ramp)) return;
  const from = Math.max(ramp.next_index, ramp.reserved);
  const place = {
    chain: ramp.chain as ChainId,
    network: ramp.network as Network,
    xpub: ramp.xpub,
  };
  const to = ramp.next_index + RESERVED_AHEAD;
  const addresses = await deriveRange(context, place, from, to);
  await proveUnreserved(context, account);
  await context.step((tx) =>
    reserveAddresses(tx, context.actor, { ramp: account, from, addresses })
  );
}

/** Derives what was handed out before it was reserved. */
async function proveUnreserved(context: WorkerContext, ramp: string): Promise<void> {
  const rows = await reading(context.pool, (db) => selectUnreserved(db, ramp, UNRESERVED_MAX));
  const ours: UnprovenRow[] = [];
  for (const row of rows) if (await isOurs(row)) ours.push(row);
  if (ours.length === 0) return;
  await context.step((tx) => proveAddresses(tx, context.actor, ours), { lockLedger: true });
}

/** Derives the addresses from one index up to another, and lets others work in between. */
async function deriveRange(
  context: WorkerContext,
  of: { chain: ChainId; network: Network; xpub: string },
  from: number,
  to: number,
): Promise<string[]> {
  const addresses: string[] = [];
  for (let at = from; at < to; at += AT_ONCE) {
    const part = { from: at, count: Math.min(AT_ONCE, to - at) };
    addresses.push(...await deriveAddresses(of.chain, of.network, of.xpub, part));
    await sleep(0, context.signal);
  }
  return addresses;
}

/** What is wrong with the token that a ramp is of; null if nothing is. */
async function faultOf(context: WorkerContext, ramp: RampRow): Promise<string | null> {
  const row = await reading(context.pool, (db) => selectAccount(db, ramp.account));
  const asset = findAsset(row!.asset);
  // The row was written by the serving half; what lies below it is credited by it.
  const fits = asset !== null && asset.chain === ramp.chain && asset.decimals === row!.decimals &&
    row!.type === "ramp" && row!.testnet === (ramp.network !== "main");
  if (!fits) return `the account is none of an asset on ${ramp.chain}`;
  if (asset.contract === null) return null;
  const at = { chain: ramp.chain as ChainId, testnet: ramp.network !== "main" };
  return await verifyToken(context, await context.chains.open(at), asset);
}

/** Begins the cursor of a place at its head, unless it has begun. */
export async function beginCursor(
  context: WorkerContext,
  place: Pick<RampRow, "chain" | "network">,
): Promise<void> {
  if (await reading(context.pool, (db) => selectCursor(db, place)) !== null) return;
  const at = { chain: place.chain as ChainId, testnet: place.network !== "main" };
  const head = await (await context.chains.open(at)).head();
  const { chain, network } = place;
  const cursor = { chain, network, height: head.height, hash: head.hash, at: context.actor.at };
  await context.step((tx) => insertCursor(tx, cursor));
}
