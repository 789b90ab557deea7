/** Settles deposits: shows what waits to be mined, books what lies deep enough, gives up the lost. @module */
import {
  type DepositRow,
  selectDetached,
  selectRipe,
  updateConfirmations,
} from "../db/deposits.ts";
import { reading, writing } from "../db/transaction.ts";
import { findAsset } from "../domain/assets.ts";
import { creditDeposits, orphanDeposit, type Proof } from "../domain/deposits.ts";
import { toUnits } from "../domain/money.ts";
import type { ChainPlace } from "../domain/places.ts";
import { recordTransfers } from "../domain/sightings.ts";
import type { Bench } from "./bench.ts";
import type { Chain } from "./chains/chain.ts";
import { type Head, settledHeight, type Transfer, type Watch } from "./chains/sight.ts";

/** What a pass has found out. */
export interface PassFacts {
  place: ChainPlace;
  head: Head;
  /** Height of the cursor. */
  reached: number;
  depth: number;
  watch: Watch;
  caughtUp: boolean;
}

const BATCH = 100;
const RECHECKS_AT_ONCE = 8;

/** Settles what a pass has brought. */
export async function settleDeposits(bench: Bench, chain: Chain, facts: PassFacts): Promise<void> {
  const { place, head } = facts;
  if (facts.caughtUp) await showWaiting(bench, chain, facts);
  await writing(bench.pool, (db) => updateConfirmations(db, place, head.height));
  const settled = Math.min(facts.reached, settledHeight(head, facts.depth));
  for (let after: string | null = null;;) {
    const at = { settled, head: head.height, after, limit: BATCH };
    const ripe: DepositRow[] = await reading(bench.pool, (db) => selectRipe(db, place, at));
    if (ripe.length === 0) return;
    const proofs = await prove(chain, ripe);
    await bench.step((tx) => creditDeposits(tx, bench.actor, proofs), { gate: true });
    after = ripe[ripe.length - 1].id;
    if (ripe.length < BATCH || bench.signal.aborted) return;
  }
}

/** Reads transfers again before they count; those that moved or vanished wait for the next pass. */
async function prove(chain: Chain, ripe: readonly DepositRow[]): Promise<Proof[]> {
  const proofs: Proof[] = [];
  for (let i = 0; i < ripe.length; i += RECHECKS_AT_ONCE) {
    const some = ripe.slice(i, i + RECHECKS_AT_ONCE);
    const checks = await Promise.all(some.map((row) => chain.recheck(transferOf(row))));
    for (const [at, checked] of checks.entries()) {
      if (checked?.transfer.block?.hash !== some[at].block_hash) continue;
      proofs.push({ deposit: some[at], received: checked.received });
    }
  }
  return proofs;
}

/** Shows what waits to be mined, and gives up what neither a block nor the mempool has. */
async function showWaiting(bench: Bench, chain: Chain, facts: PassFacts): Promise<void> {
  const { place, watch } = facts;
  const waiting = await chain.mempool(watch);
  if (waiting.length > 0) {
    const seen = { transfers: waiting, coins: false };
    await bench.step((tx) => recordTransfers(tx, bench.actor, place, seen));
  }
  const there = new Set(waiting.map(keyOf));
  const detached = await reading(bench.pool, (db) => selectDetached(db, place, BATCH));
  for (const row of detached) {
    if (there.has(keyOf(row))) continue;
    const checked = await chain.recheck(transferOf(row));
    if (checked === null) await bench.step((tx) => orphanDeposit(tx, bench.actor, row));
  }
}

function keyOf(one: { hash: string; index: number }): string {
  return `${one.hash} ${one.index}`;
}

function transferOf(row: DepositRow): Transfer {
  const height = row.block;
  return {
    hash: row.hash,
    index: row.index,
    from: row.sender,
    to: row.address,
    contract: row.contract,
    amount: toUnits(row.amount, findAsset(row.asset)!.decimals),
    block: height === null ? null : { height, hash: row.block_hash!, parentHash: "", time: 0 },
    maturesAt: row.matures_at,
  };
}
