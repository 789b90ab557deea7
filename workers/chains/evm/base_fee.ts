/**
 * The base fee of the newest block, proven by its header: the hash on which the quorum agrees is the hash of all its
 * fields. It decides between nodes whose prices lie far apart, of which one alone could bid too little for ever.
 * @module
 */
import { readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { agreedHead, presentBlock } from "../head.ts";
import type { Peer } from "../node_pool.ts";
import type { Ethers, Evm } from "./context.ts";
import { big, readBlock, toHex } from "./node_answers.ts";

/** Fields of a header in their order; numbers without leading zeros. Later ones are absent before their forks. */
const FIELDS: readonly { readonly name: string; readonly isNumber?: true }[] = [
  { name: "parentHash" },
  { name: "sha3Uncles" },
  { name: "miner" },
  { name: "stateRoot" },
  { name: "transactionsRoot" },
  { name: "receiptsRoot" },
  { name: "logsBloom" },
  { name: "difficulty", isNumber: true },
  { name: "number", isNumber: true },
  { name: "gasLimit", isNumber: true },
  { name: "gasUsed", isNumber: true },
  { name: "timestamp", isNumber: true },
  { name: "extraData" },
  { name: "mixHash" },
  { name: "nonce" },
  { name: "baseFeePerGas", isNumber: true },
  { name: "withdrawalsRoot" },
  { name: "blobGasUsed", isNumber: true },
  { name: "excessBlobGas", isNumber: true },
  { name: "parentBeaconBlockRoot" },
  { name: "requestsHash" },
];

/** Reads it from any node; null where none shows a header of that hash, as after a fork that adds fields. */
export async function provenBaseFee(evm: Evm): Promise<bigint | null> {
  try {
    const head = await agreedHead(evm.nodes, newest, presentBlock(placeAt));
    return await evm.nodes.ask(async (peer) => {
      const told = readRecord(await peer.call("eth_getBlockByHash", [head.hash, false]), "a block");
      if (hashOf(evm.ethers, told) === head.hash) return big(told.baseFeePerGas, "a base fee");
      throw new ChainError("unavailable", `${peer.name} does not prove the header of ${head.hash}`);
    });
  } catch (error) {
    if (error instanceof ChainError) return null;
    throw error;
  }
}

async function newest(peer: Peer) {
  const block = readBlock(await peer.call("eth_getBlockByNumber", ["latest", false]));
  if (block === null) throw new ChainError("unavailable", `${peer.name} has no head`);
  return { ...block, finalized: null };
}

async function placeAt(peer: Peer, height: number) {
  return readBlock(await peer.call("eth_getBlockByNumber", [toHex(height), false]));
}

/** The hash of a header by its fields; null where they are none. */
function hashOf({ encodeRlp, keccak256, toBeArray }: Ethers, told: Record<string, unknown>) {
  try {
    return keccak256(encodeRlp(
      FIELDS.filter(({ name }) => told[name] !== undefined && told[name] !== null)
        .map(({ name, isNumber }) => {
          const given = String(told[name]);
          return isNumber ? toBeArray(BigInt(given)) : given;
        }),
    ));
  } catch {
    return null;
  }
}
