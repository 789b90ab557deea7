/**
 * Nodes of a coin chain that lie about what a block holds: a real node behind a proxy, and its blocks
 * taken apart and put together again.
 * @module
 */
import { Block, Transaction } from "bitcoinjs-lib";
import type { CoinNode } from "./nodes/litecoind.ts";
import { type FaultyNode, NodeError, startFaultyNode, type Trick } from "./nodes/faulty_node.ts";

/** Starts a proxy that passes questions on, unless a lie answers them. */
export function throughNode(node: CoinNode, lie: Trick = () => undefined): FaultyNode {
  return startFaultyNode(null, async (question) => {
    const told = await lie(question);
    if (told !== undefined) return told;
    try {
      return await node.rpc(question.method, ...question.params);
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      throw new NodeError(said.includes("out of range") ? -8 : -5, said);
    }
  });
}

/** Has a proxy lie from now on. */
export function lies(lying: FaultyNode, lie: Trick): void {
  const honest = lying.trick;
  lying.trick = async (question) => {
    const told = await lie(question);
    return told === undefined ? await honest(question) : told;
  };
}

/** Changes the transactions of a block. */
export type Edit = (transactions: Transaction[]) => Transaction[];

/** Changes what a block holds under its own header. */
export function altered(hex: string, edit: Edit): string {
  const block = Block.fromHex(hex);
  block.transactions = edit(block.transactions!);
  return block.toHex(false);
}

/** Changes what a block holds, and its header to fit. */
export function forged(hex: string, edit: Edit): { readonly hash: string; readonly hex: string } {
  const block = Block.fromHex(altered(hex, edit));
  block.merkleRoot = Block.calculateMerkleRoot(block.transactions!);
  return { hash: block.getId(), hex: block.toHex(false) };
}

/** Makes a block that holds nothing but its own transaction. */
export function emptyBlock(
  parentHash: string,
  height: number,
): { readonly hash: string; readonly hex: string } {
  const block = new Block();
  block.version = 0x20000000;
  block.prevHash = Uint8Array.fromHex(parentHash).reverse();
  block.timestamp = 1;
  const coinbase = new Transaction();
  coinbase.addInput(new Uint8Array(32), 0xffffffff, 0xffffffff, Uint8Array.of(4, height, 0, 0, 0));
  coinbase.addOutput(Uint8Array.of(0x51), 50n);
  block.transactions = [coinbase];
  block.merkleRoot = Block.calculateMerkleRoot(block.transactions);
  return { hash: block.getId(), hex: block.toHex(false) };
}
