/**
 * Rewards: lamports that a block gives to validators and stakers without a transaction. They are no payments, and are
 * told by the blocks alone.
 * @module
 */
import { malformedAnswer, readList, readRecord } from "../answers.ts";
import { allOf, type Peer } from "../node_pool.ts";
import type { Address } from "../observations.ts";
import { slotsWithBlocks, VERSIONS } from "./block.ts";
import { FINALIZED, readUnits } from "./node_answers.ts";

/** Asks for the rewards of a block, without its transactions. */
const REWARDS = { ...FINALIZED, ...VERSIONS, transactionDetails: "none", rewards: true } as const;

/** Adds up the rewards of an address in the blocks above a slot up to another: a question for each. */
export async function rewardsBetween(
  peer: Peer,
  address: Address,
  { above, upTo }: { readonly above: number; readonly upTo: number },
): Promise<bigint> {
  const slots = await slotsWithBlocks(peer, above + 1, upTo);
  const questions = slots.map((slot) => ({ method: "getBlock", params: [slot, REWARDS] }));
  return allOf(await peer.batch(questions)).flatMap((answer) => rewardsIn(answer, address))
    .reduce((sum, one) => sum + one, 0n);
}

function rewardsIn(answer: unknown, address: Address): bigint[] {
  return readList(readRecord(answer, "a block").rewards ?? []).flatMap((one) => {
    const { pubkey, lamports } = readRecord(one, "a reward");
    return pubkey === address ? [readSigned(lamports)] : [];
  });
}

/** Rent that was taken stands among the rewards, below 0. */
function readSigned(answer: unknown): bigint {
  if (typeof answer !== "number" || answer >= 0) return readUnits(answer);
  if (Number.isSafeInteger(answer)) return BigInt(answer);
  throw malformedAnswer("an amount", answer);
}
