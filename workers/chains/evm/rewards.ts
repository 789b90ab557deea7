/**
 * Rewards: coins that a block pays out without a transaction, to addresses of validators (EIP-4895) and as tips to its fee
 * recipient. They are no payments, and are told by the blocks alone.
 * @module
 */
import { malformedAnswer, readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { allOf, type Peer } from "../node_pool.ts";
import { RpcError } from "../rpc.ts";
import { address as readAddress, big, number, toHex } from "./node_answers.ts";

const WEI_OF_GWEI = 10n ** 9n;
/** Most blocks of one sum: a question for each. */
const BLOCKS_MAX = 1_000;

/** A block as its rewards are read from it. */
interface PayingBlock {
  readonly height: number;
  readonly feeRecipient: string;
  /** Wei per gas. */
  readonly baseFee: bigint;
  readonly withdrawn: readonly { to: string; amount: bigint }[];
}

/**
 * Adds up what the blocks above a height up to another paid out to an address.
 *
 * @param tips whether the fee recipient of a block gets what its transactions pay beyond the base fee, as on Ethereum
 */
export async function rewardsBetween(
  peer: Peer,
  address: string,
  { above, upTo, tips }: { readonly above: number; readonly upTo: number; readonly tips: boolean },
): Promise<bigint> {
  if (upTo - above > BLOCKS_MAX) throw new ChainError("unavailable", "rewards of too many blocks");
  const heights = Array.from({ length: Math.max(0, upTo - above) }, (_, step) => above + 1 + step);
  const asked = heights.map((height) => {
    return { method: "eth_getBlockByNumber", params: [toHex(height), false] };
  });
  const owner = address.toLowerCase();
  const blocks = allOf(await peer.batch(asked)).map((one, at) => readPaying(one, heights[at]));
  const paidOut = blocks.flatMap(({ withdrawn }) => withdrawn)
    .reduce((sum, { to, amount }) => to === owner ? sum + amount : sum, 0n);
  const own = tips ? blocks.filter(({ feeRecipient }) => feeRecipient === owner) : [];
  return paidOut + await tipsOf(peer, own);
}

/** What transactions of some blocks paid beyond the base fee; nothing where the node lists no receipts of a block. */
async function tipsOf(peer: Peer, blocks: readonly PayingBlock[]): Promise<bigint> {
  if (blocks.length === 0) return 0n;
  const asked = blocks.map(({ height }) => {
    return { method: "eth_getBlockReceipts", params: [toHex(height)] };
  });
  return (await peer.batch(asked)).flatMap((answer, at) =>
    answer instanceof RpcError ? [] : readList(answer).map((one) => {
      const { gasUsed, effectiveGasPrice } = readRecord(one, "a receipt");
      const tip = big(effectiveGasPrice, "a gas price") - blocks[at].baseFee;
      return tip > 0n ? big(gasUsed, "gas") * tip : 0n;
    })
  ).reduce((sum, tip) => sum + tip, 0n);
}

function readPaying(answer: unknown, height: number): PayingBlock {
  const block = readRecord(answer, "a block");
  if (number(block.number, "a height") !== height) throw malformedAnswer("a block", block.number);
  return {
    height,
    feeRecipient: readAddress(block.miner),
    baseFee: big(block.baseFeePerGas ?? "0x0", "a gas price"),
    withdrawn: readList(block.withdrawals ?? []).map((one) => {
      const { address, amount } = readRecord(one, "a payout");
      return { to: readAddress(address), amount: big(amount, "an amount") * WEI_OF_GWEI };
    }),
  };
}
