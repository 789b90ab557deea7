/**
 * Readers of answers of Solana nodes. Every field is checked for its shape before it is used; a malformed
 * answer counts as none. Only raw JSON-RPC, and only the commitment `finalized` counts as a block.
 * @module
 */
import { base58 } from "@scure/base";
import type { Network } from "../../../domain/chains/addresses.ts";
import { malformedAnswer, readRecord, readText } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { openIdentity } from "../identity.ts";
import { type NodeOptions, type Nodes, openNodes, type Peer, plainRefusals } from "../node_pool.ts";
import { RpcError } from "../rpc.ts";
import type { Block } from "../observations.ts";
import { GENESIS_HASHES } from "./networks.ts";

/** Commitment of every question about what the chain holds. */
export const FINALIZED = { commitment: "finalized" } as const;

/** Text of 32 bytes in base58: a key, or the hash of a block. */
const KEY = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
const KEY_BYTES = 32;
/** Text of 64 bytes in base58: a signature, which is a transaction's id. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/** A block as its node names it. */
export interface SolanaBlock extends Block {
  /** Slot of the block below; the slots between were skipped. */
  readonly parentSlot: number;
}

/** Opens the nodes of a network; each must be of the right network before it is believed. */
export function openSolanaNodes(
  network: Network,
  urls: readonly string[],
  { genesisHash = null, limits, kept, ...how }: NodeOptions = {},
): Nodes {
  const main = genesisHash ?? GENESIS_HASHES.main;
  const { identify } = openIdentity({
    network: `SOLANA ${network}`,
    ask: askGenesis,
    only: network === "main" && main !== "any" ? main : null,
    fits: (genesis) => network === "main" || genesis !== GENESIS_HASHES.main,
    kept,
  });
  const exact = { exactNumbers: "integers" as const, ...limits };
  return plainRefusals(openNodes({ urls, ...how, limits: exact, identify, blamesNode }));
}

async function askGenesis(peer: Peer): Promise<string> {
  try {
    return readKey(await peer.call("getGenesisHash", []));
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new ChainError("unavailable", `${peer.name} does not tell its chain: ${error.message}`);
  }
}

/** The slot holds no block: it was skipped. A node that began later says the same of older slots. */
const SKIPPED: readonly number[] = [-32007, -32009];
/** The slot is above the node's newest final block, or the node does not have it any more. */
const NOT_THERE: readonly number[] = [-32001, -32004, -32014, -32011, -32016];

/** Tells that a node says that a slot holds no block. */
export function isSkipped({ code }: RpcError): boolean {
  return SKIPPED.includes(code);
}

/** Tells that a block is above the newest final one. */
export function isAbove({ code }: RpcError): boolean {
  return code === -32004 || code === -32014;
}

/** Tells that a node does not offer a method at all, or not for this key. */
function isMissingMethod({ code }: RpcError): boolean {
  return code === -32601 || code === -32010;
}

/** Tells whether an error is the node's fault; another node may then do better. */
function blamesNode(error: RpcError): boolean {
  return error.code === -32005 || error.code === 429 || NOT_THERE.includes(error.code) ||
    isSkipped(error) || isMissingMethod(error) ||
    /rate.?limit|too many requests|over capacity|behind|timed? ?out/i.test(error.message);
}

/**
 * Tells whether a transaction failed, by its result. One without the field is no result: to read it as a failure
 * would hide a deposit, and give back a payment that was made.
 */
export function hasFailed({ err }: Readonly<Record<string, unknown>>): boolean {
  if (err === undefined) throw malformedAnswer("the result of a transaction", err);
  return err !== null;
}

/** Reads a block without its transactions; null where the node has none. */
export function readBlock(answer: unknown, slot: number): SolanaBlock | null {
  if (answer === null) return null;
  const fields = readRecord(answer, "a block");
  const parentSlot = readNumber(fields.parentSlot, "a slot");
  if (parentSlot >= slot && slot !== 0) throw malformedAnswer("a slot of a parent", parentSlot);
  return {
    height: slot,
    hash: readKey(fields.blockhash),
    parentHash: readKey(fields.previousBlockhash),
    parentSlot,
    // A node that did not hear the votes of a block does not know its time.
    time: fields.blockTime === null ? 0 : readNumber(fields.blockTime, "a time"),
  };
}

/** Reads a whole number small enough to count with. */
export function readNumber(answer: unknown, expected: string): number {
  if (typeof answer === "number" && Number.isSafeInteger(answer) && answer >= 0) return answer;
  throw malformedAnswer(expected, answer);
}

/**
 * Reads a JSON number of up to 64 bits, such as lamports or a bid. Anybody may be the owner of an account with
 * more than 2^53 lamports, which is nine million SOL, or bid as much: beyond 2^53 the number comes as its own
 * text, with all its digits.
 */
export function readUnits(answer: unknown): bigint {
  if (typeof answer === "number") return BigInt(readNumber(answer, "an amount"));
  return readAmount(answer);
}

/** Reads an amount of 64 bits that stands as text. */
export function readAmount(answer: unknown): bigint {
  const text = readText(answer, "an amount");
  if (!/^\d{1,20}$/.test(text) || BigInt(text) >= 2n ** 64n) {
    throw malformedAnswer("an amount", answer);
  }
  return BigInt(text);
}

/** Reads a key that goes into a transaction: other than 32 bytes fit none. */
export function readAddress(answer: unknown): string {
  const key = readKey(answer);
  if (base58.decode(key).length === KEY_BYTES) return key;
  throw malformedAnswer("a key", answer);
}

/** Reads about 32 bytes in base58: text that is compared, and needs no decoding. */
export function readKey(answer: unknown): string {
  if (typeof answer === "string" && KEY.test(answer)) return answer;
  throw malformedAnswer("a key", answer);
}

/** Reads a signature in base58. */
export function readSignature(answer: unknown): string {
  if (typeof answer === "string" && SIGNATURE.test(answer)) return answer;
  throw malformedAnswer("a signature", answer);
}
