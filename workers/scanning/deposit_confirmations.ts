/**
 * Confirms deposits: shows transfers of the mempool, credits deposits that are deep enough, and
 * gives up those that the chain lost.
 * @module
 */
import {
  deferDeposits,
  type Deferred,
  type ReportedRow,
  sumReported,
} from "../../db/deposits/deposit_proofs.ts";
import {
  type Hold,
  holdDeposits,
  type PendingRow,
  selectDetached,
  selectPendingAssets,
  selectRipe,
  updateConfirmations,
} from "../../db/deposits/deposits.ts";
import { selectUnproven, type UnprovenRow } from "../../db/accounts/own_addresses.ts";
import { reading, writing } from "../../db/transaction.ts";
import { type ChainId, findAsset, takesDeposits } from "../../domain/assets.ts";
import { hasXpubs } from "../../domain/chains/derivation.ts";
import { creditDeposits, orphanDeposit, type Proof } from "../../domain/deposits/deposits.ts";
import { toUnits } from "../../domain/money.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { recordTransfers } from "../../domain/deposits/scan_results.ts";
import { ownAddresses } from "../keys/own_addresses.ts";
import { wakeWaiting } from "../sending/woken_orders.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError, SilentTokenError } from "../chains/chain.ts";
import {
  type Checked,
  type Evidence,
  type Head,
  settledHeight,
  type Transfer,
  type WatchList,
} from "../chains/observations.ts";
import { askAgain, DENIED, denied, recordAnew, transferOf, wasDenied } from "./denied_deposits.ts";
import { verifyToken } from "../tokens/token_verification.ts";
import { errorField } from "../../domain/errors.ts";
import { proveAddresses } from "../../domain/deposits/address_handout.ts";

/** The result of a scanning pass. */
export interface ScanResult {
  place: ChainNetwork;
  head: Head;
  /** Height of the cursor. */
  reached: number;
  depth: number;
  watch: WatchList;
  caughtUp: boolean;
}

const BATCH = 100;
/** Most deposits without a block: with this many, no further ones of the mempool are shown. */
const UNMINED_MAX = 1_000;
/** So many are proven at once: the usual questions of all of them fill one request to each node. */
const RECHECKS_AT_ONCE = 12;
const SUSPENDED = "asset.suspended";
/** The error code of a deposit that too few nodes confirm. */
export const UNCONFIRMED = "upstream.failed";

/** Settles the deposits of a network after a scanning pass. */
export async function settleDeposits(
  context: WorkerContext,
  chain: Chain,
  scan: ScanResult,
): Promise<void> {
  const { place, head } = scan;
  if (scan.caughtUp) await showUnmined(context, chain, scan);
  await writing(context.pool, (db) => updateConfirmations(db, place, head.height));
  await holdBack(context, chain, place);
  if (scan.caughtUp) await askAgain(context, chain, scan);
  const final = chain.traits.finalOnly ? head.finalized ?? -1 : Infinity;
  const settled = Math.min(scan.reached, settledHeight(head, scan.depth), final);
  for (let after: string | null = null;;) {
    const at = { settled, head: head.height, after, limit: BATCH };
    const ripe: PendingRow[] = await reading(context.pool, (db) => selectRipe(db, place, at));
    if (ripe.length === 0) return;
    const own = await derived(context, ripe);
    const { proofs, deferred } = await prove(context, chain, own.proven, scan);
    deferred.push(...own.deferred);
    if (deferred.length > 0) await context.step((tx) => deferDeposits(tx, deferred));
    await context.step((tx) => creditDeposits(tx, context.actor, proofs), { lockLedger: true });
    await wakeWaiting(context, place, proofs.map(({ deposit }) => deposit.address));
    after = ripe[ripe.length - 1].id;
    if (ripe.length < BATCH || context.signal.aborted) return;
  }
}

/**
 * Holds deposits that may not be credited: of suspended assets, of contracts that differ from the
 * registry, and of contracts that an asset no longer has. They stay pending with an error and are
 * credited once they may be.
 */
async function holdBack(context: WorkerContext, chain: Chain, place: ChainNetwork): Promise<void> {
  const codes = await reading(context.pool, (db) => selectPendingAssets(db, place));
  const holds: Hold[] = [];
  for (const code of codes) {
    const asset = findAsset(code);
    if (asset === null) continue;
    const fault = takesDeposits(asset) ? await verifyToken(context, chain, asset) : asset.reason!;
    const error = (why: string) => errorField(SUSPENDED, why);
    if (fault !== null) holds.push({ asset: code, except: null, error: error(fault) });
    else if (asset.contract !== null) {
      const why = "it came under a contract that is no longer this asset's";
      holds.push({ asset: code, except: asset.contract, error: error(why) });
    }
  }
  if (codes.length > 0) {
    await writing(context.pool, (db) => holdDeposits(db, place, holds, SUSPENDED));
  }
}

/** Deposits that the nodes proved, and deferred ones with the reason. */
interface Proven {
  proofs: Proof[];
  deferred: Deferred[];
}

/**
 * Derives the addresses of deposits that no worker has derived before: a row of an address does not
 * prove that its key belongs to the realm.
 */
async function derived(
  context: WorkerContext,
  ripe: readonly PendingRow[],
): Promise<{ proven: readonly PendingRow[]; deferred: Proven["deferred"] }> {
  const ids = ripe.map(({ id }) => id);
  const unproven = await reading(context.pool, (db) => selectUnproven(db, ids));
  if (unproven.length === 0) return { proven: ripe, deferred: [] };
  const ours: UnprovenRow[] = [];
  for (const row of unproven) if (await isOurs(context, row)) ours.push(row);
  await context.step((tx) => proveAddresses(tx, context.actor, ours), { lockLedger: true });
  const foreign = new Set(
    unproven.filter((row) => !ours.includes(row)).map(({ address }) => address),
  );
  const why = "the realm's seed has no key of this address";
  // Deposits that were just handed over are read again by the next pass.
  const derivedNow = new Set(unproven.map(({ address }) => address));
  return {
    proven: ripe.filter(({ address }) => !derivedNow.has(address)),
    deferred: ripe.filter(({ address }) => foreign.has(address)).map(({ id, address }) => {
      context.log(
        "error",
        "deposit not credited: its address is not derived from the realm's seed",
        {
          deposit: id,
          address,
        },
      );
      return { id, error: errorField("address.invalid", why) };
    }),
  };
}

/** Whether an address is derived from its ramp's xpub, or on Solana from the realm's seed. */
export async function isOurs(context: WorkerContext, row: UnprovenRow): Promise<boolean> {
  if (row.xpub === null && hasXpubs(row.chain as ChainId)) return false;
  const store = { realm: context.realm.id, pool: context.pool };
  const of = { from: row.derivation_key, count: 1 };
  const [address] = await ownAddresses(context.signer, store, row, of);
  return row.address === address;
}

/**
 * Reads transfers again before they are credited. One in another block moves there, and waits for the next pass. One
 * that too few nodes confirm is deferred with an error. Neither delays the others.
 */
async function prove(
  context: WorkerContext,
  chain: Chain,
  ripe: readonly PendingRow[],
  scan: ScanResult,
): Promise<Proven> {
  const { place, depth } = scan;
  const ids = ripe.map(({ id }) => id);
  const reported = chain.traits.coins
    ? []
    : await reading(context.pool, (db) => sumReported(db, place, ids));
  const found: Proven = { proofs: [], deferred: [] };
  for (let i = 0; i < ripe.length; i += RECHECKS_AT_ONCE) {
    const some = ripe.slice(i, i + RECHECKS_AT_ONCE);
    const checks = await Promise.allSettled(
      some.map((row) => {
        const sums = reported.find(({ id }) => id === row.id);
        return chain.recheck(transferOf(row), evidenceOf(row, depth, sums));
      }),
    );
    for (const [at, check] of checks.entries()) {
      const { id, asset, block_hash } = some[at];
      const fault = faultOf(check);
      if (check.status === "fulfilled" && check.value === null) {
        if (await denied(context, chain, scan, some[at])) continue;
      }
      if (fault !== null) {
        // A stranger may have written the token: the log and the chain's warning are not theirs to fill.
        const isSilent = fault instanceof SilentTokenError;
        const level = isSilent ? "debug" : "warn";
        context.log(level, "deposit deferred", { deposit: id, asset, error: fault });
        const code = isSilent ? "token.invalid" : UNCONFIRMED;
        const error = errorField(code, fault.message.slice(0, 500));
        // A try for which nodes were unreachable or disagreed is no denial.
        const anew = fault.message === DENIED && !wasDenied(some[at]);
        found.deferred.push({ id, error, anew });
      } else if (check.status === "fulfilled") {
        const { transfer, received } = check.value!;
        const seen = transferOf(some[at]);
        if (transfer.amount !== seen.amount || transfer.from !== seen.from) {
          await recordAnew(context, place, some[at], transfer);
        } else if (transfer.block?.hash === block_hash) {
          const sums = reported.find((one) => one.id === id);
          found.proofs.push({ deposit: some[at], received, called: sums?.called ?? null });
        } else await attach(context, chain, scan, transfer);
      }
    }
  }
  return found;
}

/** The reason why a deposit is not proven; errors that are no node's answer are thrown. */
function faultOf(check: PromiseSettledResult<Checked | null>): Error | null {
  if (check.status === "rejected") {
    if (check.reason instanceof ChainError) return check.reason;
    throw check.reason;
  }
  return check.value === null ? new ChainError("refused", DENIED) : null;
}

function evidenceOf(row: PendingRow, depth: number, sums: ReportedRow | undefined): Evidence {
  if (sums === undefined) return { depth };
  const { in_block, called, ever } = sums;
  return {
    depth,
    inBlock: toUnits(in_block, row.decimals),
    called: toUnits(called, row.decimals),
    ...(ever === null ? {} : { ever: toUnits(ever, row.decimals) }),
  };
}

/**
 * Shows transfers of the mempool. A failure of nodes here stops no credit.
 */
async function showUnmined(context: WorkerContext, chain: Chain, scan: ScanResult): Promise<void> {
  try {
    await showWaiting(context, chain, scan);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    context.log("warn", "the mempool was not read", { ...scan.place, error });
  }
}

/**
 * Shows transfers of the mempool, and gives up deposits that are in neither a block nor the
 * mempool.
 */
async function showWaiting(context: WorkerContext, chain: Chain, scan: ScanResult): Promise<void> {
  const { place, watch } = scan;
  const waiting = await chain.mempool(watch);
  const detached = await reading(context.pool, (db) => selectDetached(db, place, UNMINED_MAX));
  if (waiting.length > 0 && detached.length < UNMINED_MAX) {
    const seen = { transfers: waiting, coins: false };
    await context.step((tx) => recordTransfers(tx, context.actor, place, seen));
  }
  const there = new Set(waiting.map(keyOf));
  const lost = detached.filter((row) => !there.has(keyOf(row))).slice(0, BATCH);
  for (const row of lost) {
    const checked = await chain.recheck(transferOf(row)).catch((error) => {
      // Where nodes disagree the deposit stays, and the others are checked.
      if (error instanceof ChainError) return error;
      throw error;
    });
    if (checked === null) await context.step((tx) => orphanDeposit(tx, context.actor, row));
    else if (!(checked instanceof ChainError)) await attach(context, chain, scan, checked.transfer);
  }
}

/**
 * Records a deposit in the block that has it now: the scan does not see what calls inside a transaction pay, and does not
 * go back where nodes told of another block for a moment.
 */
async function attach(
  context: WorkerContext,
  chain: Chain,
  { place, reached }: ScanResult,
  transfer: Transfer,
): Promise<void> {
  if (transfer.block === null || transfer.block.height > reached) return;
  const seen = { transfers: [transfer], coins: chain.traits.coins };
  await context.step((tx) => recordTransfers(tx, context.actor, place, seen));
}

function keyOf(one: { hash: string; index: number }): string {
  return `${one.hash} ${one.index}`;
}
