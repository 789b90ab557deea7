/** Compares what is on the chains with what the ledger owes, asset by asset. @module */
import { selectCursor } from "../db/chains.ts";
import {
  type AssetName,
  type RampedRow,
  selectFigures,
  selectHolders,
  selectRamped,
  sumCoins,
  sumLiabilities,
} from "../db/solvency.ts";
import { reading, snapshot } from "../db/transaction.ts";
import { type ChainId, findAsset } from "../domain/assets.ts";
import { concludeSolvency } from "../domain/solvency.ts";
import type { Bench } from "./bench.ts";
import { type Chain, ChainError } from "./chains/chain.ts";

/** Balances asked for at once. */
const AT_ONCE = 200;

/** Compares every asset that the realm has ramps of. What cannot be asked keeps its last. */
export async function checkSolvency(bench: Bench): Promise<void> {
  for (const ramped of await reading(bench.pool, selectRamped)) {
    try {
      await checkAsset(bench, ramped);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      bench.log("warn", "not compared", { asset: ramped.asset, error });
    }
  }
}

async function checkAsset(bench: Bench, ramped: RampedRow): Promise<void> {
  const { asset: code, testnet, network } = ramped;
  const asset = findAsset(code);
  const cursor = await reading(bench.pool, (db) => selectCursor(db, ramped));
  const decimals = asset?.decimals ?? ramped.decimals;
  if (decimals === null || cursor === null) return;
  const place = { chain: ramped.chain as ChainId, testnet: network !== "main" };
  const chain = await bench.chains.open(place);
  const { height } = cursor;
  const contract = asset?.contract ?? ramped.contract ?? "";
  const of = { asset: code, testnet, chain: ramped.chain, network };
  const held = await heldBy(bench, chain, { ...of, contract, height });
  // Read after the chain, so that nothing owed is newer than what was looked at is old.
  const { figures, owed } = await snapshot(bench.pool, async (tx) => ({
    figures: await selectFigures(tx, { ...of, contract, height }),
    owed: await sumLiabilities(tx, of),
  }));
  const found = {
    asset: code,
    testnet,
    decimals,
    height,
    figures,
    held,
    owed: new Map(owed.map(({ ramp, total }) => [ramp, total])),
  };
  const row = await bench.step((tx) => concludeSolvency(tx, bench.actor, found));
  if (row.stopped) {
    bench.log("error", "assets are missing", { asset: row.asset, drift: row.drift, height });
  }
}

async function heldBy(
  bench: Bench,
  chain: Chain,
  of: AssetName & { contract: string; height: number },
): Promise<Map<string, bigint>> {
  const held = new Map<string, bigint>();
  if (chain.traits.coins) {
    const sums = await reading(bench.pool, (db) => sumCoins(db, of));
    for (const { ramp, units } of sums) held.set(ramp, BigInt(units));
    return held;
  }
  const holders = await reading(bench.pool, (db) => selectHolders(db, of));
  for (let from = 0; from < holders.length; from += AT_ONCE) {
    const some = holders.slice(from, from + AT_ONCE);
    const asked = some.map(({ address }) => ({ address, contract: of.contract || null }));
    const { amounts } = await chain.balances(asked, of.height);
    for (const [at, { ramp }] of some.entries()) {
      held.set(ramp, (held.get(ramp) ?? 0n) + amounts[at]);
    }
  }
  return held;
}
