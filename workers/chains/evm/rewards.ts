/**
 * Rewards: coins that a block pays out to addresses of validators without a transaction (EIP-4895). They are no payments,
 * and are told by the blocks alone.
 * @module
 */
import { malformedAnswer, readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { allOf, type Peer } from "../node_pool.ts";
import { address as readAddress, big, number, toHex } from "./node_answers.ts";

const WEI_OF_GWEI = 10n ** 9n;
/** Most blocks of one sum: a question for each. */
const BLOCKS_MAX = 1_000;

/** Adds up what the blocks above a height up to another paid out to an address. */
export async function rewardsBetween(
  peer: Peer,
  address: string,
  { above, upTo }: { readonly above: number; readonly upTo: number },
): Promise<bigint> {
  if (upTo - above > BLOCKS_MAX) throw new ChainError("unavailable", "rewards of too many blocks");
  const heights = Array.from({ length: Math.max(0, upTo - above) }, (_, step) => above + 1 + step);
  const asked = heights.map((height) => {
    return { method: "eth_getBlockByNumber", params: [toHex(height), false] };
  });
  const owner = address.toLowerCase();
  return allOf(await peer.batch(asked)).flatMap((answer, at) => rewardsIn(answer, heights[at]))
    .reduce((sum, { to, amount }) => to === owner ? sum + amount : sum, 0n);
}

function rewardsIn(answer: unknown, height: number): { to: string; amount: bigint }[] {
  const block = readRecord(answer, "a block");
  if (number(block.number, "a height") !== height) throw malformedAnswer("a block", block.number);
  return readList(block.withdrawals ?? []).map((one) => {
    const { address, amount } = readRecord(one, "a payout");
    return { to: readAddress(address), amount: big(amount, "an amount") * WEI_OF_GWEI };
  });
}
