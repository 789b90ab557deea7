/**
 * Questions to Tron nodes, and readers of their answers. Nodes speak plain HTTP with JSON; they leave out fields
 * that are zero or empty, and write addresses as `41` and 40 hexadecimal digits, because `visible` is never asked
 * for. A node that answers HTTP 200 with `Error` has refused.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import { malformedAnswer, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { openIdentity } from "../identity.ts";
import { type NodeOptions, type Nodes, openNodes, type Peer, plainRefusals } from "../node_pool.ts";
import type { Block } from "../observations.ts";
import { plain, RpcError } from "../rpc.ts";
import { KEY_HEADER, MAIN_GENESIS } from "./networks.ts";

/** A block's place in the chain. */
export interface TronBlock extends Block {
  /** Milliseconds since 1970, as the block says. */
  readonly timeMs: number;
}

const NODE_FAULTS =
  /lack of computing resources|rate.?limit|too many requests|exceed.*(frequency|limit|quota)|timed? ?out|try again|not (yet )?(available|synced)|NullPointerException/i;

/** Opens the nodes; each must be of the right network before it is believed. */
export function openTronNodes(
  network: Network,
  urls: readonly string[],
  { limits, quorum, kept, genesisHash = null }: NodeOptions = {},
): Nodes {
  const main = genesisHash?.toLowerCase() ?? MAIN_GENESIS;
  const { identify } = openIdentity({
    network: `TRON ${network}`,
    ask: genesisOf,
    only: network === "main" && main !== "any" ? main : null,
    fits: (first) => network === "main" || first !== MAIN_GENESIS,
    kept,
  });
  const nodes = openNodes({
    urls,
    quorum,
    limits: { exactNumbers: true, ...limits },
    keyHeader: KEY_HEADER,
    identify,
    blamesNode: ({ message }) => NODE_FAULTS.test(message),
  });
  return plainRefusals(nodes);
}

async function genesisOf(peer: Peer): Promise<string> {
  try {
    const first = await askRecord(peer, "wallet/getblock", { id_or_num: "0", detail: false });
    return hash32(first.blockID, "its first block");
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new ChainError("unavailable", `${peer.name} does not tell its first block`);
  }
}

/**
 * Asks one question.
 *
 * @param path such as `wallet/getaccount`
 * @throws {RpcError} as the node refused it
 */
export async function ask(peer: Peer, path: string, body: unknown = {}): Promise<unknown> {
  const answer = await peer.request({ path, body });
  if (typeof answer === "object" && answer !== null && "Error" in answer) {
    throw new RpcError(200, plain(String(answer.Error)), answer);
  }
  return answer;
}

/** Asks one question whose answer is an object. */
export async function askRecord(
  peer: Peer,
  path: string,
  body: unknown = {},
): Promise<Record<string, unknown>> {
  return readRecord(await ask(peer, path, body), `an object to ${path}`);
}

/** Reads the newest block without its transactions; the newest final one with `final`. */
export async function newestBlock(peer: Peer, final = false): Promise<TronBlock> {
  const path = final ? "walletsolidity/getblock" : "wallet/getblock";
  const block = readBlock(await ask(peer, path, { detail: false }));
  if (block === null) throw new ChainError("unavailable", `${peer.name} has no newest block`);
  return block;
}

/** Reads the block at a height without its transactions; null if there is none there. */
export async function blockAt(peer: Peer, height: number): Promise<TronBlock | null> {
  const body = { id_or_num: `${height}`, detail: false };
  const block = readBlock(await ask(peer, "wallet/getblock", body));
  if (block !== null && block.height !== height) {
    throw new ChainError("unavailable", `${peer.name} gave another block than ${height}`);
  }
  return block;
}

/** Reads a block's place; null for the empty object, which means that there is none. */
export function readBlock(answer: unknown): TronBlock | null {
  const block = readRecord(answer, "a block");
  if (Object.keys(block).length === 0) return null;
  const header = readRecord(readRecord(block.block_header, "a header").raw_data, "a header");
  const height = count(header.number, "a height");
  const hash = hash32(block.blockID, "a block's id");
  if (parseInt(hash.slice(0, 16), 16) !== height) throw malformedAnswer("a block's id", hash);
  const timeMs = count(header.timestamp, "a time");
  const parentHash = hash32(header.parentHash, "a block's id");
  return { height, hash, parentHash, time: Math.floor(timeMs / 1000), timeMs };
}

/** Reads 32 bytes in hexadecimal. */
export function hash32(value: unknown, expected: string): string {
  if (typeof value === "string" && /^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase();
  throw malformedAnswer(expected, value);
}

/** Reads a whole number from 0 that a double holds; a field that is left out is 0. */
export function count(value: unknown, expected: string): number {
  if (value === undefined) return 0;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw malformedAnswer(expected, value);
}

/** Reads an amount from 0, of up to 64 bits; a field that is left out is 0. */
export function units(value: unknown, expected: string): bigint {
  if (value === undefined) return 0n;
  const text = String(value);
  if ((typeof value === "number" || typeof value === "string") && /^\d{1,19}$/.test(text)) {
    return BigInt(text);
  }
  throw malformedAnswer(expected, value);
}

/**
 * Reads a balance of anybody's. The account that burnt coins go to began with less than nothing, and holds nothing
 * that could be spent.
 */
export function balanceIn(value: unknown): bigint {
  if (/^-\d{1,19}$/.test(String(value))) return 0n;
  return units(value, "a balance");
}

/** Reads bytes as hexadecimal digits in lower case; a field that is left out is empty. */
export function hexOf(value: unknown, expected: string): string {
  if (value === undefined) return "";
  if (typeof value === "string" && value.length % 2 === 0 && /^[0-9a-f]*$/i.test(value)) {
    return value.toLowerCase();
  }
  throw malformedAnswer(expected, value);
}

/** Reads a node's message, which some nodes write as hexadecimal of its text. */
export function messageOf(value: unknown): string {
  if (typeof value !== "string") return "no message";
  if (value.length % 2 !== 0 || !/^[0-9a-f]+$/i.test(value)) return plain(value);
  const bytes = Uint8Array.from(value.slice(0, 2_000).match(/../g)!, (pair) => parseInt(pair, 16));
  return plain(new TextDecoder().decode(bytes));
}
