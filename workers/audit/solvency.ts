/**
 * Compares the balances on the chains with the ledger's liabilities, asset by asset. The first
 * reading usually suffices. If the two differ, nodes are asked for the status of every order on its
 * way and for every token transfer that may have taken a fee, before a verdict is stored.
 * @module
 */
import { sumCoinsOfRamps } from "../../db/chains/coin_sums.ts";
import { selectCursor } from "../../db/chains/cursors.ts";
import { selectAttempts } from "../../db/sending/order_attempts.ts";
import {
  type Compared,
  type FlightRow,
  type RampedRow,
  selectFigures,
  selectFlights,
  selectHolders,
  selectRamped,
  selectUnbooked,
  selectUnproven,
  sumLiabilities,
} from "../../db/audit/solvency.ts";
import { reading, snapshot } from "../../db/transaction.ts";
import { type ChainId, findAsset } from "../../domain/assets.ts";
import { isNegative, toUnits } from "../../domain/money.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import {
  compareFigures,
  concludeSolvency,
  type FlightStatus,
  type Found,
} from "../../domain/audit/solvency.ts";
import { lossMaxOf } from "../../domain/withdrawal_settings.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Holding, Transfer } from "../chains/observations.ts";
import { verifyRound } from "../sending/utxos.ts";
import { signedOf } from "../sending/signing.ts";

/** Balances asked for at once. */
const AT_ONCE = 200;
/** Orders on their way that one comparison reads at most. */
const FLIGHTS_MAX = 20_000;
/** Orders, deposits and sweeps that nodes are asked for when chain and ledger differ. */
const ASKED_MAX = 1_000;
const ASKED_AT_ONCE = 8;
const UNMINED: FlightStatus = { hash: null, height: null, success: true, fee: null };

/** Of each realm, the assets whose chain could not be asked the last time. */
const silentAssets = new WeakMap<WorkerContext["pool"], Set<string>>();

/** An asset whose chain and ledger figures are compared. */
interface Subject {
  readonly context: WorkerContext;
  readonly chain: Chain;
  readonly of: Compared & { readonly decimals: number };
}

/**
 * Compares every asset that the realm has ramps for. An asset whose chain cannot be asked keeps its
 * last comparison.
 */
export async function checkSolvency(context: WorkerContext): Promise<void> {
  const verified = new Set<string>();
  const silent = silentAssets.get(context.pool) ?? new Set();
  silentAssets.set(context.pool, silent);
  for (const ramped of await reading(context.pool, selectRamped)) {
    try {
      const place = { chain: ramped.chain as ChainId, network: ramped.network } as ChainNetwork;
      const chain = await context.chains.open({
        chain: place.chain,
        testnet: place.network !== "main",
      });
      const name = `${place.chain} ${place.network}`;
      if (chain.traits.coins && !verified.has(name)) await verifyRound(context, chain, place);
      verified.add(name);
      await checkAsset(context, chain, ramped);
      if (silent.delete(keyOf(ramped))) {
        context.log("info", "solvency is compared again", { asset: ramped.asset });
      }
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      if (silent.has(keyOf(ramped))) continue; // it was told
      silent.add(keyOf(ramped));
      context.log("warn", "solvency not compared: the chain could not be asked", {
        asset: ramped.asset,
        error,
      });
    }
  }
}

function keyOf({ asset, network }: RampedRow): string {
  return `${asset} ${network}`;
}

async function checkAsset(context: WorkerContext, chain: Chain, ramped: RampedRow): Promise<void> {
  const { asset: code, testnet, network } = ramped;
  const asset = findAsset(code);
  const cursor = await reading(context.pool, (db) => selectCursor(db, ramped));
  const decimals = asset?.decimals ?? ramped.decimals;
  if (decimals === null || cursor === null) return;
  const { height } = cursor;
  const contract = asset?.contract ?? ramped.contract ?? "";
  const place = { chain: ramped.chain, network };
  const of = { asset: code, testnet, ...place, contract, height, decimals };
  const subject = { context, chain, of };
  const block = await chain.block(height);
  const balances = chain.traits.coins ? null : await heldBy(subject, toldBy(subject));
  let found = await foundBy(subject, balances);
  if (compareFigures(context.actor, found).drift !== "0") {
    found = await explain(subject, found);
    const differs = compareFigures(context.actor, found).drift !== "0";
    // One node alone would stop all withdrawals.
    if (differs && balances !== null) {
      found = {
        ...found,
        held: await heldBy(subject, (asked) => chain.agreedBalances(asked, height)),
      };
    }
    if (block === null || (await chain.block(height))?.hash !== block.hash) {
      throw new ChainError("unavailable", "the chain reorganised during the comparison");
    }
  }
  const { row, news } = await context.step((tx) => concludeSolvency(tx, context.actor, found));
  const what = { asset: row.asset, drift: row.drift, fees: row.fees, height };
  if (isNegative(row.drift)) {
    context.log(
      "error",
      "assets are missing: withdrawals wait until they are back or written off",
      what,
    );
  } else if (row.stopped) context.log("error", "losses of the house stop withdrawals", what);
  else if (news && row.drift !== "0") context.log("warn", "assets that nothing explains", what);
  else if (news && !row.solvent) context.log("warn", "losses of the house are not covered", what);
}

/**
 * Reads the ledger after the chain, in one snapshot, so the liabilities are never older than the
 * assets.
 */
async function foundBy(
  { context, of }: Subject,
  balances: ReadonlyMap<string, bigint> | null,
): Promise<Found> {
  return await snapshot(context.pool, async (tx) => {
    const cursor = await selectCursor(tx, of);
    // The scanner went back; its data of the chain blocks below is gone.
    if (cursor === null || cursor.height < of.height) {
      throw new ChainError("unavailable", "the chain reorganised during the comparison");
    }
    const coins = balances === null ? await sumCoinsOfRamps(tx, of) : [];
    const owed = await sumLiabilities(tx, of);
    return {
      ...of,
      figures: await selectFigures(tx, of),
      flights: await selectFlights(tx, { ...of, limit: FLIGHTS_MAX }),
      statuses: new Map(),
      kept: { pending: 0n, swept: 0n },
      held: balances ?? new Map(coins.map(({ ramp, units }) => [ramp, BigInt(units)])),
      owed: new Map(owed.map(({ ramp, total }) => [ramp, total])),
      lossMax: lossMaxOf(context.actor.realm.withdrawals, of),
    };
  });
}

/** Reads some balances at the height of a comparison. */
type Told = (asked: readonly Holding[]) => Promise<readonly bigint[]>;

/** Reads balances from one node, and each time from another: one that hides a loss is found out by the next. */
function toldBy({ chain, of }: Subject): Told {
  const reader = chain.through(of.height);
  return async (asked) => {
    const { amounts, height } = await reader.balances(asked, of.height);
    if (height === of.height) return amounts;
    throw new ChainError("unavailable", `the balances at block ${of.height} are gone`);
  };
}

/** Adds up the balances of each ramp's addresses. */
async function heldBy({ context, of }: Subject, told: Told): Promise<Map<string, bigint>> {
  const held = new Map<string, bigint>();
  const holders = await reading(context.pool, (db) => selectHolders(db, of));
  for (let from = 0; from < holders.length; from += AT_ONCE) {
    const some = holders.slice(from, from + AT_ONCE);
    const amounts = await told(
      some.map(({ address }) => ({ address, contract: of.contract || null })),
    );
    for (const [at, { ramp }] of some.entries()) {
      held.set(ramp, (held.get(ramp) ?? 0n) + amounts[at]);
    }
  }
  return held;
}

/** Asks the nodes for every possible cause of a difference. */
async function explain(subject: Subject, found: Found): Promise<Found> {
  const { chain, of } = subject;
  // The status of coins is stored with the scanned chain blocks.
  if (chain.traits.coins) return found;
  const statuses = await statusesOf(subject, found.flights);
  if (of.contract === "") return { ...found, statuses };
  const kept = {
    pending: await keptOfPending(subject),
    swept: await keptOfSwept(subject, statuses),
  };
  return { ...found, statuses, kept };
}

async function statusesOf(
  { context, chain, of }: Subject,
  flights: readonly FlightRow[],
): Promise<Map<string, FlightStatus>> {
  const depth = context.chains.depth({
    chain: of.chain as ChainId,
    testnet: of.network !== "main",
  });
  const open = flights.filter(({ state }) => state === "sent" || state === "mined");
  const statuses = new Map<string, FlightStatus>();
  await eachOf(open.slice(0, ASKED_MAX), async ({ id, since }) => {
    const rows = await reading(context.pool, (db) => selectAttempts(db, id));
    const attempts = rows.filter((one) => !one.dropped && one.raw !== null).map(signedOf);
    const status = await chain.status({ attempts, since: since ?? 0, depth });
    if (status.state !== "mined") return void statuses.set(id, UNMINED);
    const own = (status.feeContract ?? "") === of.contract;
    const fee = own ? status.fee - (of.contract === "" ? status.refund ?? 0n : 0n) : null;
    const { hash, block: { height }, success } = status;
    statuses.set(id, { hash, height, success, fee });
  });
  return statuses;
}

/** Measures a token's transfer fees on deposits that are not credited yet. */
async function keptOfPending({ context, chain, of }: Subject): Promise<bigint> {
  const rows = await reading(context.pool, (db) => selectUnproven(db, of, ASKED_MAX));
  let kept = 0n;
  await eachOf(rows, async (row) => {
    const amount = toUnits(row.amount, of.decimals);
    const checked = await chain.recheck({
      hash: row.hash,
      index: row.index,
      from: row.sender,
      to: row.address,
      contract: of.contract,
      amount,
      block: { height: row.block, hash: row.block_hash, parentHash: "", time: 0 },
      maturesAt: null,
    });
    if (checked !== null) kept += amount - checked.received;
  });
  return kept;
}

/** Measures a token's transfer fees on sweeps that are not booked yet. */
async function keptOfSwept(
  { context, chain, of }: Subject,
  statuses: ReadonlyMap<string, FlightStatus>,
): Promise<bigint> {
  const sweeps = await reading(context.pool, (db) => selectUnbooked(db, of, ASKED_MAX));
  let kept = 0n;
  await eachOf(sweeps, async (sweep) => {
    const { from, to, amount } = sweep;
    const status = statuses.get(sweep.order);
    const { hash, height } = status ?? sweep;
    if (status?.success === false || hash === null || height === null || height > of.height) return;
    const watch = {
      addresses: new Set([to]),
      inputs: new Set<string>(),
      contracts: new Set([of.contract]),
    };
    const moved = (await chain.search({ hash }, watch)).filter((one) => one.from === from);
    const checks = await Promise.all(moved.map((one: Transfer) => chain.recheck(one)));
    const arrived = checks.reduce((sum, one) => sum + (one?.received ?? 0n), 0n);
    if (arrived < BigInt(amount)) kept += BigInt(amount) - arrived;
  });
  return kept;
}

async function eachOf<T>(rows: readonly T[], work: (row: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < rows.length; from += ASKED_AT_ONCE) {
    await Promise.all(rows.slice(from, from + ASKED_AT_ONCE).map(work));
  }
}
