/**
 * Opens ramps: derives the xpub and addresses of a ramp account, and starts the scan. Where no xpub
 * exists, the addresses derived ahead are all that can be handed out.
 * @module
 */
import { selectAccount } from "../../db/accounts/accounts.ts";
import { insertCursor, selectCursor } from "../../db/chains/cursors.ts";
import { selectUnreserved, type UnprovenRow } from "../../db/accounts/own_addresses.ts";
import { type RampRow, selectRamp } from "../../db/accounts/ramps.ts";
import { reading } from "../../db/transaction.ts";
import type { Network } from "../../domain/chains/addresses.ts";
import { type ChainId, findAsset } from "../../domain/assets.ts";
import { openRampAccount } from "../../domain/deposits/deposit_accounts.ts";
import { needsReserve, RESERVED_AHEAD } from "../../domain/accounts/own_addresses.ts";
import { refuseRamp } from "../../domain/accounts/ramps.ts";
import { type DerivedFrom, ownAddresses } from "../keys/own_addresses.ts";
import type { WorkerContext } from "../worker_context.ts";
import { isOurs } from "./deposit_confirmations.ts";
import { refreshFees } from "../sending/fee_quotes.ts";
import { sleep } from "../timers.ts";
import { verifyToken } from "../tokens/token_verification.ts";
import { proveAddresses, reserveFurther } from "../../domain/deposits/address_handout.ts";

/**
 * Addresses derived without yielding to other work of the process: some milliseconds.
 */
const AT_ONCE = 20;
/**
 * Most addresses, handed out before they were reserved, that one step records.
 */
const UNRESERVED_MAX = 1_000;

/**
 * Opens a ramp. The scan begins at a block older than the address, so it misses no payment. Without
 * a node the ramp waits.
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
    context.log("error", "ramp refused: its asset differs from the registry", { account, fault });
    return await context.step((tx) => refuseRamp(tx, account, fault), { lockLedger: true });
  }
  const chain = ramp.chain as ChainId;
  const network = ramp.network as Network;
  const store = { realm: context.realm.id, pool: context.pool };
  const xpub = await context.signer.xpub(store, { chain, network, number: ramp.number });
  const addresses = await deriveRange(context, { ...ramp, xpub }, 0, 1 + RESERVED_AHEAD);
  // A withdrawal right after the opening finds a fee quote.
  await refreshFees(context, { chain, network });
  const derived = { xpub, addresses };
  await context.step((tx) => openRampAccount(tx, context.actor, ramp, derived), {
    lockLedger: true,
  });
}

/** Reserves further addresses of a ramp, up to the required number above the next index. */
export async function reserveJob(
  context: WorkerContext,
  { account }: { account: string },
): Promise<void> {
  const ramp = await reading(context.pool, (db) => selectRamp(db, account));
  if (ramp === null || ramp.next_index === 0 || !needsReserve(ramp)) return;
  const from = Math.max(ramp.next_index, ramp.reserved);
  const to = ramp.next_index + RESERVED_AHEAD;
  const addresses = await deriveRange(context, ramp, from, to);
  await proveUnreserved(context, account);
  await context.step(
    (tx) => reserveFurther(tx, context.actor, { ramp: account, from, addresses }),
    { lockLedger: true },
  );
}

/** Derives all addresses of a ramp that were handed out before they were reserved. */
export async function proveUnreserved(context: WorkerContext, ramp: string): Promise<void> {
  let from = 0;
  while (true) {
    const of = { ramp, from };
    const rows = await reading(context.pool, (db) => selectUnreserved(db, of, UNRESERVED_MAX));
    const ours: UnprovenRow[] = [];
    for (const row of rows) if (await isOurs(context, row)) ours.push(row);
    if (ours.length > 0) {
      await context.step((tx) => proveAddresses(tx, context.actor, ours), { lockLedger: true });
    }
    if (rows.length < UNRESERVED_MAX) return;
    from = rows.at(-1)!.derivation_key + 1;
  }
}

/** Derives the addresses from one index up to another, and yields to other work in between. */
async function deriveRange(
  context: WorkerContext,
  ramp: DerivedFrom,
  from: number,
  to: number,
): Promise<string[]> {
  const store = { realm: context.realm.id, pool: context.pool };
  const addresses: string[] = [];
  for (let at = from; at < to; at += AT_ONCE) {
    const part = { from: at, count: Math.min(AT_ONCE, to - at) };
    addresses.push(...await ownAddresses(context.signer, store, ramp, part));
    await sleep(0, context.signal);
  }
  return addresses;
}

/** The fault of a ramp's asset or token; null if there is none. */
async function faultOf(context: WorkerContext, ramp: RampRow): Promise<string | null> {
  const row = await reading(context.pool, (db) => selectAccount(db, ramp.account));
  const asset = findAsset(row!.asset);
  // The serving half wrote this row, and deposits below it are credited by it: it is checked here.
  const fits = asset !== null && asset.chain === ramp.chain && asset.decimals === row!.decimals &&
    row!.type === "ramp" && row!.testnet === (ramp.network !== "main");
  if (!fits) return `the account is none of an asset on ${ramp.chain}`;
  if (asset.contract === null) return null;
  const at = { chain: ramp.chain as ChainId, testnet: ramp.network !== "main" };
  return await verifyToken(context, await context.chains.open(at), asset);
}

/** Creates the cursor of a network at its newest block, unless it exists. */
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
