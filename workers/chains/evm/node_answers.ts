/**
 * Readers of answers of EVM nodes. Every field is checked for its shape before it is used; a malformed
 * answer counts as none. Only raw JSON-RPC; hexadecimal is kept in lower case.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import { chainInfo } from "../../../domain/assets.ts";
import { malformedAnswer, readList, readRecord, readText } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { openIdentity } from "../identity.ts";
import { type NodeOptions, type Nodes, openNodes, type Peer, plainRefusals } from "../node_pool.ts";
import { isHex, RpcError } from "../rpc.ts";
import type { Block } from "../observations.ts";
import { type EvmChainId, MAIN_CHAIN_IDS } from "./networks.ts";

/** A transaction as a block lists it. */
export interface EvmTransaction {
  /** Transaction id. */
  readonly hash: string;
  /** The sender. */
  readonly from: string;
  /** Null where it creates a contract. */
  readonly to: string | null;
  /** Wei. */
  readonly value: bigint;
  /** The sender's count; -1 where the protocol made it. */
  readonly nonce: number;
  /** Whether its fee is paid in a token. */
  readonly feeInToken: boolean;
  /** The node's own fields, signature included. */
  readonly given: Record<string, unknown>;
}

/** A block with its transactions, or with none where they were not requested. */
export interface EvmBlock extends Block {
  /** False if its bloom filter rules out any log. */
  readonly hasLogs: boolean;
  /** The filter itself. */
  readonly bloom: string;
  /** In the order of the block. */
  readonly transactions: readonly EvmTransaction[];
}

/** A log of a successful transaction. */
export interface EvmLog {
  /** The contract that wrote it. */
  readonly address: string;
  /** Its indexed fields. */
  readonly topics: readonly string[];
  /** Its other fields. */
  readonly data: string;
  /** The block it is in. */
  readonly blockHash: string;
  /** The transaction that wrote it. */
  readonly hash: string;
  /** Its number in the block; null where a node does not tell it. */
  readonly index: number | null;
}

/** Result of a mined transaction. */
export interface EvmReceipt {
  /** Transaction id. */
  readonly hash: string;
  /** The block it is in. */
  readonly blockHash: string;
  /** That block's height. */
  readonly height: number;
  /** The sender. */
  readonly from: string;
  /** False if it was reverted. */
  readonly success: boolean;
  /** Wei, or base units of the fee token, in total. */
  readonly fee: bigint;
  /** The gas part of `fee`. */
  readonly gasFee: bigint;
  /** In the order of the transaction. */
  readonly logs: readonly EvmLog[];
}

/** The nodes of a chain and its chain id. */
export interface EvmNodes extends Nodes {
  /** Gives the chain id that every node must have; asks for it where it is not known yet. */
  chainId(): Promise<number>;
}

/** Opens the nodes of a chain; each must be of the right network before it is believed. */
export function openEvmNodes(
  chain: EvmChainId,
  network: Network,
  urls: readonly string[],
  { kept, ...how }: NodeOptions = {},
): EvmNodes {
  const { identify, known } = openIdentity({
    network: `${chain} ${network}`,
    ask: askChainId,
    only: network === "main" ? String(chainInfo(chain).evmChainId!.main) : null,
    fits: (id) => !MAIN_CHAIN_IDS.has(Number(id)),
    kept,
  });
  const nodes = plainRefusals(openNodes({ urls, ...how, identify, blamesNode }));
  return {
    ...nodes,
    async chainId() {
      const told = known() ?? await nodes.ask(askChainId);
      // Whoever answered has proven its network, and what was proven counts.
      return Number(known() ?? told);
    },
  };
}

async function askChainId(peer: Peer): Promise<string> {
  try {
    return String(number(await peer.call("eth_chainId", []), "a chain id"));
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new ChainError("unavailable", `${peer.name} does not tell its chain: ${error.message}`);
  }
}

const NODE_FAULTS = [
  /rate.?limit|too many requests|limit exceeded|exceeded.*(capacity|quota)|over capacity/i,
  /(header|block|resource) not found|unknown block|out ?of ?range/i,
  /missing trie node|state.*(not|un)\s?available|historical state|pruned/i,
  /indexing is in progress|not synced|syncing|timed? ?out|try again/i,
];

/** Whether a contract ended its own execution. The rest of the message may be its words, which say nothing of the node. */
export function isReverted({ code, message }: { code: number; message: string }): boolean {
  return code === 3 || /revert/i.test(message);
}

/** Tells whether an error is the node's fault; another node may then do better. */
function blamesNode(error: RpcError): boolean {
  const { code, message } = error;
  if (isReverted(error)) return false;
  return code === -32005 || isMissingMethod({ code, message }) ||
    NODE_FAULTS.some((fault) => fault.test(message));
}

/** Tells that a node cannot answer now, and may another time. */
export function isPassing(error: RpcError): boolean {
  const { code, message } = error;
  if (isReverted(error)) return false;
  return code === -32005 || NODE_FAULTS[0].test(message) || NODE_FAULTS[3].test(message);
}

/** Tells that a node does not offer a method at all. */
export function isMissingMethod({ code, message }: { code: number; message: string }): boolean {
  return code === -32601 || code === -32004 ||
    /method.*(not|un)\s?(found|supported|available|exist)|does not exist/i.test(message);
}

/** How the programs of nodes tell that code ended with a fault: geth and its kin, Nethermind, Besu, reth and anvil. */
const CODE_FAULTS = new RegExp(
  [
    "out ?of ?gas|gas required exceeds|gas uint64 overflow|evm ?(error|halt)|vm execution error",
    "invalid ?(\\w* ?opcode|\\w*opcode|jump|code)|opcode.* not defined|bad (instruction|jump)",
    "stack ?(under|over)flow|stack limit|write protection|return data out of bounds",
  ].join("|"),
  "i",
);

/** Tells that a transaction's own code would end it, as any node would say. */
export function isCodeFault(error: RpcError): boolean {
  return isReverted(error) || CODE_FAULTS.test(error.message);
}

/** Tells that a contract would not answer a call, as any node would say. */
export function isRefusal(error: RpcError): boolean {
  return isCodeFault(error) || /invalid|stack/i.test(error.message);
}

/** Tells that a node no longer has the state of an old block; a contract that says so in its own words is none. */
export function isMissingState(error: RpcError): boolean {
  if (isReverted(error)) return false;
  return NODE_FAULTS[1].test(error.message) || NODE_FAULTS[2].test(error.message);
}

/** Writes a number as nodes want it. */
export function toHex(value: number | bigint): string {
  return `0x${value.toString(16)}`;
}

/** Reads a block; null where the node has none. */
export function readBlock(answer: unknown): EvmBlock | null {
  if (answer === null) return null;
  const fields = readRecord(answer, "a block");
  const listed = Array.isArray(fields.transactions) ? fields.transactions : [];
  return {
    height: number(fields.number, "a height"),
    hash: hash(fields.hash),
    parentHash: hash(fields.parentHash),
    time: number(fields.timestamp, "a time"),
    bloom: readText(fields.logsBloom ?? "0x1"),
    hasLogs: !/^0x0*$/.test(readText(fields.logsBloom ?? "0x1")),
    transactions: listed.filter((one) => typeof one === "object").map(readTransaction),
  };
}

/** Reads a transaction. */
export function readTransaction(answer: unknown): EvmTransaction {
  const fields = readRecord(answer, "a transaction");
  return {
    hash: hash(fields.hash),
    from: address(fields.from),
    to: fields.to === null || fields.to === undefined ? null : address(fields.to),
    value: big(fields.value, "a value"),
    // Transactions that a second layer itself makes have none.
    nonce: fields.nonce === undefined ? -1 : number(fields.nonce, "a nonce"),
    feeInToken: fields.feeCurrency !== undefined && fields.feeCurrency !== null,
    given: fields,
  };
}

/** Reads a receipt; null where the transaction is in no block. */
export function readReceipt(answer: unknown): EvmReceipt | null {
  if (answer === null) return null;
  const fields = readRecord(answer, "a receipt");
  const gas = big(fields.gasUsed, "gas");
  const price = big(fields.effectiveGasPrice ?? "0x0", "a gas price");
  const onOtherLayer = big(fields.l1Fee ?? "0x0", "a fee");
  const blobs = big(fields.blobGasUsed ?? "0x0", "gas") *
    big(fields.blobGasPrice ?? "0x0", "a gas price");
  // Any other value is no answer: to read it as 0 would fail a payment that was made.
  const status = number(fields.status, "a status");
  if (status > 1) throw malformedAnswer("a status", fields.status);
  return {
    hash: hash(fields.transactionHash),
    blockHash: hash(fields.blockHash),
    height: number(fields.blockNumber, "a height"),
    from: address(fields.from),
    success: status === 1,
    fee: gas * price + onOtherLayer + blobs,
    gasFee: gas * price,
    logs: readLogs(fields.logs),
  };
}

/** Reads logs in the order in which they were written, each once: a node may repeat some, or list them otherwise. */
export function readLogs(answer: unknown): EvmLog[] {
  const distinct = new Map(
    readList(answer).map(readLog).map((log, at) => [
      JSON.stringify([log.hash, log.index ?? `at ${at}`, log.address, log.topics, log.data]),
      log,
    ]),
  );
  return [...distinct.values()].toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0));
}

function readLog(answer: unknown): EvmLog {
  const fields = readRecord(answer, "a log");
  return {
    address: address(fields.address),
    topics: readList(fields.topics).map(hash),
    data: bytes(fields.data),
    blockHash: hash(fields.blockHash),
    hash: hash(fields.transactionHash),
    index: fields.logIndex === undefined || fields.logIndex === null
      ? null
      : number(fields.logIndex, "the number of a log"),
  };
}

/** Reads a whole number small enough to count with. */
export function number(answer: unknown, what: string): number {
  const count = big(answer, what);
  if (count > BigInt(Number.MAX_SAFE_INTEGER)) throw malformedAnswer(what, answer);
  return Number(count);
}

/** Reads an amount. */
export function big(answer: unknown, what: string): bigint {
  if (typeof answer !== "string" || !/^0x[0-9a-f]{1,64}$/i.test(answer)) {
    throw malformedAnswer(what, answer);
  }
  return BigInt(answer);
}

/** Reads bytes of any length, as lower-case hexadecimal. */
export function bytes(answer: unknown): string {
  if (typeof answer !== "string" || !answer.startsWith("0x") || !isHex(answer.slice(2))) {
    throw malformedAnswer("bytes", answer);
  }
  return answer.toLowerCase();
}

/** Reads 32 bytes. */
export function hash(answer: unknown): string {
  if (typeof answer !== "string" || !/^0x[0-9a-f]{64}$/i.test(answer)) {
    throw malformedAnswer("a hash", answer);
  }
  return answer.toLowerCase();
}

/** Tells whether something is an address. */
export function isAddress(answer: unknown): answer is string {
  return typeof answer === "string" && /^0x[0-9a-f]{40}$/i.test(answer);
}

/** Reads an address, in lower case. */
export function address(answer: unknown): string {
  if (!isAddress(answer)) throw malformedAnswer("an address", answer);
  return answer.toLowerCase();
}
