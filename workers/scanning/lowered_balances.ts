/**
 * Balances as of the block at which a reorganisation began. Those that were read above it count what came in blocks that
 * are gone: the same payment in another block would rise above nothing, and be no gain.
 * @module
 */
import { type OnchainBalanceRow, selectBalancesAbove } from "../../db/accounts/onchain_balances.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { type Chain, ChainError, type Reader } from "../chains/chain.ts";
import type { WorkerContext } from "../worker_context.ts";

/** Balances asked for at once. */
const AT_ONCE = 200;

/**
 * Reads the balances again, as of a height, that were read above it: the lowest that as many nodes as the quorum tell,
 * because a higher one would hide what comes after. Those that no node tells any more are left out; on chains that tell
 * final balances only, none are read above a final block.
 */
export async function balancesBelow(
  context: WorkerContext,
  chain: Chain,
  place: ChainNetwork,
  height: number,
): Promise<Lowered[]> {
  if (chain.traits.coins || chain.traits.finalOnly) return [];
  const rows = await reading(context.pool, (db) => selectBalancesAbove(db, place, height));
  const found: Lowered[] = [];
  for (const some of Map.groupBy(rows, ({ contract }) => contract).values()) {
    for (let at = 0; at < some.length; at += AT_ONCE) {
      try {
        const part = some.slice(at, at + AT_ONCE);
        found.push(...await lowestTold(chain, part, height));
      } catch (error) {
        if (!(error instanceof ChainError)) throw error;
        context.log("warn", "balances below a reorganisation are not told", { ...place, error });
      }
    }
  }
  return found;
}

/** Takes the lowest of what different nodes tell; where one fails, another is asked in its place. */
async function lowestTold(
  chain: Chain,
  part: readonly Pick<OnchainBalanceRow, "address" | "contract">[],
  height: number,
): Promise<Lowered[]> {
  for (let again = false;; again = true) {
    const asked = chain.apart(height).map((reader) => readSome(reader, part, height));
    const answers = await Promise.allSettled(asked);
    const told = answers.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
    const failed = answers.find((one) => one.status === "rejected");
    if (failed !== undefined && !(failed.reason instanceof ChainError)) throw failed.reason;
    if (told.length > 0 && (again || failed === undefined)) return told.reduce(lowestOf);
    if (again) throw failed!.reason;
  }
}

/** A balance as of the lower block. */
export type Lowered = Omit<OnchainBalanceRow, "height">;

function lowestOf(some: readonly Lowered[], others: readonly Lowered[]): Lowered[] {
  if (some.length !== others.length) return []; // one node tells those of another block
  return some.map((one, at) => {
    const other = others[at];
    const least = BigInt(other.amount) < BigInt(one.amount) ? other.amount : one.amount;
    const nonce = one.nonce === null || other.nonce === null
      ? null
      : Math.min(one.nonce, other.nonce);
    return { ...one, amount: least, nonce };
  });
}

async function readSome(
  reader: Reader,
  rows: readonly Pick<OnchainBalanceRow, "address" | "contract">[],
  height: number,
): Promise<Lowered[]> {
  const holdings = rows.map(({ address, contract }) => ({ address, contract: contract || null }));
  const told = await reader.balances(holdings, height);
  if (told.height !== height) return [];
  const nonces = await reader.nonces?.countAt(rows.map(({ address }) => address), height);
  return rows.map(({ address, contract }, at) => ({
    ...{ address, contract, amount: `${told.amounts[at]}`, nonce: nonces?.[at] ?? null },
  }));
}
