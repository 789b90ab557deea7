/**
 * What own orders brought to an own address. They are known, so that what they brought is read from their transactions,
 * where a search would read whole blocks.
 * @module
 */
import { selectOwnHashes } from "../../db/sending/own_moves.ts";
import { reading } from "../../db/transaction.ts";
import { INWARD } from "../../domain/deposits/incoming_transfers.ts";
import { ChainError } from "../chains/chain.ts";
import type { Gain, GainWork } from "./gain_searches.ts";

/** Own transactions that are read for one gain; what more brought is searched in blocks. */
const READ_MAX = 64;
const AT_ONCE = 8;

/** Adds up what own orders brought in the blocks of a gain and is no deposit; base units. */
export async function broughtByOrders(
  work: GainWork,
  gain: Omit<Gain, "gained" | "decimals">,
): Promise<bigint> {
  if (!work.derivedBalances) return 0n;
  const { address, above, height } = gain;
  const range = { address, from: above + 1, to: height };
  const of = { ...range, purposes: [...INWARD], limit: READ_MAX };
  const hashes = await reading(work.context.pool, (db) => selectOwnHashes(db, work.place, of));
  let sum = 0n;
  for (let at = 0; at < hashes.length; at += AT_ONCE) {
    const some = hashes.slice(at, at + AT_ONCE);
    const brought = await Promise.all(some.map((hash) => broughtBy(work, gain, hash)));
    sum = brought.reduce((all, one) => all + one, sum);
  }
  return sum;
}

async function broughtBy(
  { reader, recheck }: GainWork,
  { address, contract, above, height }: Omit<Gain, "gained" | "decimals">,
  hash: string,
): Promise<bigint> {
  const contracts = new Set(contract === null ? [] : [contract]);
  const watch = { addresses: new Set([address]), inputs: new Set<string>(), contracts };
  try {
    let sum = 0n;
    for (const one of await reader.search({ hash }, watch)) {
      const at = one.block?.height ?? -1;
      if (one.to !== address || one.contract !== contract || at <= above || at > height) continue;
      // One on which nodes do not agree is told without its sender.
      sum += one.from !== null ? one.amount : (await recheck(one))?.received ?? 0n;
    }
    return sum;
  } catch (error) {
    if (error instanceof ChainError) return 0n;
    throw error;
  }
}
