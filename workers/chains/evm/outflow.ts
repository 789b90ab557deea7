/**
 * Outflow: value that left an address by its own transactions, summed from blocks and receipts. With it
 * a balance shows the income of a block in which the address also spent.
 * @module
 */
import { ChainError } from "../chain.ts";
import { allOf, type Peer } from "../node_pool.ts";
import type { Holding } from "../observations.ts";
import type { Evm } from "./context.ts";
import { readTransferLog } from "./erc20.ts";
import { type EvmReceipt, type EvmTransaction, number, toHex } from "./node_answers.ts";
import { blocksOf, receiptsOf } from "./scan.ts";

/** Most blocks that are read for one sum; a node may report spending in any number of blocks. */
const BLOCKS_MAX = 5_000;

/** Counts the transactions that addresses had sent by a height. */
export async function countsAt(
  peer: Peer,
  addresses: readonly string[],
  height: number,
): Promise<number[]> {
  const asked = addresses.map((address) => ({
    method: "eth_getTransactionCount",
    params: [address, toHex(height)],
  }));
  return allOf(await peer.batch(asked)).map((answer) => number(answer, "a nonce"));
}

/** Adds up the value that left an address in the blocks above `from` up to `to`. */
export async function spentBetween(
  evm: Evm,
  peer: Peer,
  holding: Holding,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<bigint> {
  let read = 0;
  async function countAt(height: number): Promise<number> {
    return (await countsAt(peer, [holding.address], height))[0];
  }
  async function between(
    low: number,
    before: number,
    high: number,
    after: number,
  ): Promise<bigint> {
    if (after < before) throw new ChainError("unavailable", `${peer.name} counts backwards`);
    if (low >= high || before === after) return 0n;
    if (high - low === 1) {
      if (++read <= BLOCKS_MAX) return await spentIn(evm, peer, holding, high);
      throw new ChainError("unavailable", `${peer.name} counts something sent in every block`);
    }
    const middle = Math.floor((low + high) / 2);
    const half = await countAt(middle);
    const first = await between(low, before, middle, half);
    return first + await between(middle, half, high, after);
  }
  return await between(from, await countAt(from), to, await countAt(to));
}

/** Adds up the value that left an address in one block. */
export async function spentIn(
  evm: Evm,
  peer: Peer,
  { address, contract }: Holding,
  height: number,
): Promise<bigint> {
  const owner = address.toLowerCase();
  const [block] = await blocksOf(peer, height, height);
  const own = block.transactions.filter((one) => one.from === owner);
  const receipts = await receiptsOf(peer, block, own.map(({ hash }) => hash));
  return own.reduce((sum, one, at) => {
    const receipt = receipts[at];
    return sum +
      (contract === null
        ? coinsOf(evm, one, receipt)
        : tokensOf(receipt, owner, contract.toLowerCase()));
  }, 0n);
}

function coinsOf(evm: Evm, transaction: EvmTransaction, receipt: EvmReceipt): bigint {
  const { from, to, value, feeInToken } = transaction;
  const fee = feeInToken ? 0n : receipt.fee;
  if (!receipt.success) return fee;
  const { nativeToken } = evm.table;
  // Where the coin is a token too, a transfer ordered through its contract shows as a log.
  const told = nativeToken !== null && nativeToken === to
    ? tokensOf(receipt, from, nativeToken)
    : 0n;
  return fee + (to === from ? 0n : value) + told;
}

function tokensOf(receipt: EvmReceipt, owner: string, contract: string): bigint {
  const said = receipt.logs.filter((log) => log.address === contract)
    .map((log) => readTransferLog(log.topics, log.data));
  return said.reduce((sum, one) => {
    if (one === null || one.from !== owner || one.to === owner) return sum;
    return sum + one.amount;
  }, 0n);
}
