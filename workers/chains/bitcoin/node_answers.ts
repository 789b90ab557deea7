/**
 * Readers of answers of Bitcoin-Core-compatible nodes. Every field is checked for its shape before it is
 * used; a malformed answer counts as none. Amounts are read from their text.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import { malformedAnswer, readList, readRecord, readText } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { openIdentity } from "../identity.ts";
import {
  allOf,
  type NodeOptions,
  type Nodes,
  openNodes,
  type Peer,
  plainRefusals,
} from "../node_pool.ts";
import type { CoinList, ListedCoin } from "../coins.ts";
import { isHex, plain, RpcError } from "../rpc.ts";
import type { Block } from "../observations.ts";
import { CASH_FORK, COIN_TABLES, type CoinChainId, GENESIS, NETWORK_NAMES } from "./networks.ts";

/** A block's id and height. */
export type BlockPlace = Pick<Block, "hash" | "height">;

/** An output that may be ours. */
export interface Output {
  /** Its number in the transaction. */
  readonly index: number;
  /** Base units. */
  readonly amount: bigint;
  /** Its locking script, in hexadecimal. */
  readonly script: string;
}

/** A transaction of a block or of the mempool. */
export interface CoinTransaction {
  /** Transaction id. */
  readonly hash: string;
  /** Whether it made new coins. */
  readonly coinbase: boolean;
  /** Whether it lets coins out of the extension block of its block. */
  readonly pegout: boolean;
  /** The coins it spends, as `txid:index`. */
  readonly spends: readonly string[];
  /** Its outputs, except those that carry tokens or lie in an extension block. */
  readonly outputs: readonly Output[];
}

/** An unspent output as `gettxout` describes it. */
export interface Unspent {
  /** Id of the answering node's newest block. */
  readonly bestHash: string;
  /** 0 in the mempool. */
  readonly confirmations: number;
  /** Base units. */
  readonly amount: bigint;
  /** Its locking script, in hexadecimal. */
  readonly script: string;
  /** Whether a block's own transaction made it. */
  readonly coinbase: boolean;
}

/** Opens the nodes of a chain; each must be of the right network before it is believed. */
export function openCoinNodes(
  id: CoinChainId,
  network: Network,
  urls: readonly string[],
  { limits, quorum, kept }: NodeOptions = {},
): Nodes {
  const public_ = GENESIS[`${id} ${network}`] ?? [];
  const { identify } = openIdentity({
    network: `${id} ${network}`,
    ask: (peer) => firstBlockOf(peer, id, network),
    only: public_.length === 1 ? public_[0] : null,
    fits: () => true, // others are refused as soon as they are asked
    kept,
  });
  const most = { bytesMax: COIN_TABLES[id].blockBytesMax, timeoutMs: 60_000, exactNumbers: true };
  return plainRefusals(openNodes({
    urls,
    quorum,
    limits: { ...most, ...limits },
    identify,
    blamesNode,
  }));
}

/**
 * Gives the first block of a node, whose network's name is that of the network.
 * @throws {ChainError} `wrong_chain` of a node that shows itself to be of another network
 */
async function firstBlockOf(peer: Peer, id: CoinChainId, network: Network): Promise<string> {
  const wrong = (why: string) =>
    new ChainError("wrong_chain", `${peer.name} is not of ${id} ${network}: ${why}`);
  const [info, genesis] = await Promise.all([
    told(peer, "getblockchaininfo", []),
    told(peer, "getblockhash", [0]),
  ]);
  const name = readText(readRecord(info, "a chain").chain, "a network's name");
  if (!NETWORK_NAMES[network].includes(name)) throw wrong(`it calls itself ${plain(name)}`);
  const first = hash(genesis);
  if (!firstBlockFits(first, id, network)) throw wrong(`its first block is ${first}`);
  if (network !== "main" || (id !== "BITCOIN" && id !== "BITCOIN_CASH")) return first;
  const fork = hash(await told(peer, "getblockhash", [CASH_FORK.height]));
  if ((fork === CASH_FORK.hash) !== (id === "BITCOIN_CASH")) {
    throw wrong(`its block ${CASH_FORK.height} is ${fork}`);
  }
  return first;
}

function firstBlockFits(first: string, id: CoinChainId, network: Network): boolean {
  return network === "regtest"
    ? !Object.values(GENESIS).flat().includes(first)
    : GENESIS[`${id} ${network}`]?.includes(first) ?? false;
}

/** Asks a question that every node must answer; a refusal is a fault of the node. */
async function told(peer: Peer, method: string, params: readonly unknown[]): Promise<unknown> {
  try {
    return await peer.call(method, params);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new ChainError("unavailable", `${peer.name} refuses ${method}: ${error.message}`);
  }
}

const NODE_FAULTS =
  /warm.?up|loading|verifying|rewinding|pruned|not (yet )?(available|synced|downloaded)|still.*download|initial.*(sync|download)|work queue|rate.?limit|too many requests|timed? ?out|try again/i;

/** Tells whether an error is the node's fault; another node may then do better. */
function blamesNode({ code, message }: RpcError): boolean {
  return isMissingMethod({ code }) || code === -28 || code === -9 || code === -10 ||
    NODE_FAULTS.test(message);
}

/** Tells that a node does not offer a method at all. */
export function isMissingMethod({ code }: { code: number }): boolean {
  return code === -32601;
}

/** Reads a block's place from its header. */
export async function headerOf(peer: Peer, blockHash: string): Promise<Block> {
  return readHeader(await peer.call("getblockheader", [blockHash, true]), blockHash);
}

/** Reads the hash at a height; null above the head. */
export async function hashAt(peer: Peer, height: number): Promise<string | null> {
  try {
    return hash(await peer.call("getblockhash", [height]));
  } catch (error) {
    if (error instanceof RpcError && /out of range/i.test(error.message)) return null;
    throw error;
  }
}

/** Asks whether outputs are unspent, in blocks alone or in the mempool too. */
export async function unspentOf(
  peer: Peer,
  inputs: readonly string[],
  pool: boolean,
): Promise<(Unspent | null)[]> {
  const calls = inputs.map((input) => {
    const { hash, index } = coinOf(input);
    return { method: "gettxout", params: [hash, index, pool] };
  });
  return allOf(await peer.batch(calls)).map(readUnspent);
}

/** Unspent outputs at some scripts, from a node's own set. */
export interface OutputList extends CoinList {
  readonly coins: readonly (ListedCoin & { readonly script: string; readonly amount: bigint })[];
}

/** Lists the unspent outputs of some scripts, from a node's own set. */
export async function unspentAt(peer: Peer, scripts: readonly string[]): Promise<OutputList> {
  const wanted = new Set(scripts);
  const asked = ["start", [...wanted].map((hex) => `raw(${hex})`)];
  const answer = readRecord(await peer.call("scantxoutset", asked), "a list of outputs");
  if (answer.success !== true) throw malformedAnswer("a whole list of outputs", answer.success);
  const coins = readList(answer.unspents).map((one) => readRecord(one, "an output")).filter((one) =>
    typeof one.scriptPubKey === "string" && wanted.has(one.scriptPubKey) &&
    one.tokenData === undefined &&
    satoshi(one.amount) > 0n
  );
  return {
    height: count(answer.height, "a height"),
    hash: hash(answer.bestblock),
    coins: coins.map(({ txid, vout, height, scriptPubKey, amount }) => ({
      input: `${hash(txid)}:${place(vout)}`,
      height: count(height, "a height"),
      script: String(scriptPubKey),
      amount: satoshi(amount),
    })),
  };
}

/**
 * Finds the block of an output that `gettxout` has just shown.
 *
 * @throws {ChainError} `unavailable` if the chain changed meanwhile
 */
export async function blockOf(peer: Peer, unspent: Unspent): Promise<Block> {
  const best = await headerOf(peer, unspent.bestHash);
  const height = best.height - unspent.confirmations + 1;
  const again = allOf(
    await peer.batch([best.height, height].map((at) => ({ method: "getblockhash", params: [at] }))),
  );
  const block = await headerOf(peer, hash(again[1]));
  if (hash(again[0]) !== best.hash || block.height !== height) {
    throw new ChainError("unavailable", `${peer.name} is changing its chain`);
  }
  return block;
}

/** Splits an input into a coin's transaction and number. */
export function coinOf(input: string): { readonly hash: string; readonly index: number } {
  const match = /^([0-9a-f]{64}):(\d{1,9})$/.exec(input);
  if (!match) throw new TypeError(`no input of a coin: ${input.slice(0, 80)}`);
  return { hash: match[1], index: Number(match[2]) };
}

/** Reads a transaction. */
export function readTransaction(answer: unknown): CoinTransaction {
  const fields = readRecord(answer, "a transaction");
  const inputs = readList(fields.vin).map((one) => readRecord(one, "an input"));
  const outputs = readList(fields.vout).flatMap(readOutput);
  if (new Set(outputs.map(({ index }) => index)).size < outputs.length) {
    throw malformedAnswer("outputs, each once", fields.vout);
  }
  return {
    hash: hash(fields.txid),
    coinbase: inputs.some((input) => input.coinbase !== undefined),
    pegout: false, // blocks alone show it, by their bytes
    spends: inputs.filter((input) => input.txid !== undefined).map(({ txid, vout }) =>
      `${hash(txid)}:${place(vout)}`
    ),
    outputs,
  };
}

/** Base units; none of these coins has a supply as large. */
const MONEY_MAX = 10n ** 20n;

/** Reads an amount of whole coins with at most 8 places, as text or small number, into satoshi. */
export function satoshi(answer: unknown): bigint {
  const units = unitsOf(answer);
  if (units > MONEY_MAX) throw malformedAnswer("an amount", answer);
  return units;
}

function unitsOf(answer: unknown): bigint {
  const match = /^(\d{1,12})(?:\.(\d{1,20}))?(?:e([+-]?\d{1,2}))?$/i.exec(
    typeof answer === "number" || typeof answer === "string" ? `${answer}` : "",
  );
  if (!match) throw malformedAnswer("an amount", answer);
  const [, whole, places = "", exponent = "0"] = match;
  const shift = 8 + Number(exponent) - places.length;
  const digits = BigInt(whole + places);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  if (digits % divisor !== 0n) throw malformedAnswer("an amount", answer);
  return digits / divisor;
}

/** Reads a whole number that counts something. */
export function count(answer: unknown, what: string): number {
  if (typeof answer !== "number" || !Number.isSafeInteger(answer) || answer < 0) {
    throw malformedAnswer(what, answer);
  }
  return answer;
}

/** More outputs than any transaction has. */
const OUTPUTS_MAX = 1_000_000;

/** Reads an output's number. */
function place(answer: unknown): number {
  const number = count(answer, "an output's number");
  if (number < OUTPUTS_MAX) return number;
  throw malformedAnswer("an output's number", answer);
}

/** Reads a block's or transaction's id. */
export function hash(answer: unknown): string {
  if (typeof answer !== "string" || !/^[0-9a-f]{64}$/.test(answer)) {
    throw malformedAnswer("a hash", answer);
  }
  return answer;
}

function readHeader(answer: unknown, wanted: string): Block {
  const fields = readRecord(answer, "a block");
  if (hash(fields.hash) !== wanted) throw malformedAnswer(`a block ${wanted}`, fields.hash);
  const height = count(fields.height, "a height");
  return {
    height,
    hash: wanted,
    parentHash: height === 0 ? "0".repeat(64) : hash(fields.previousblockhash),
    time: count(fields.time, "a time"),
  };
}

function readOutput(answer: unknown): Output[] {
  const fields = readRecord(answer, "an output");
  // Outputs in Litecoin's extension block are not visible to us; coins with tokens are not ours to spend.
  if (fields.ismweb === true || fields.output_id !== undefined) return [];
  if (fields.tokenData !== undefined) return [];
  return [{
    index: place(fields.n),
    amount: satoshi(fields.value),
    script: script(fields.scriptPubKey),
  }];
}

function readUnspent(answer: unknown): Unspent | null {
  if (answer === null) return null;
  const fields = readRecord(answer, "an output");
  return {
    bestHash: hash(fields.bestblock),
    confirmations: count(fields.confirmations, "confirmations"),
    amount: satoshi(fields.value),
    script: script(fields.scriptPubKey),
    coinbase: fields.coinbase === true,
  };
}

function script(answer: unknown): string {
  const { hex } = readRecord(answer, "a script");
  if (typeof hex !== "string" || !isHex(hex)) throw malformedAnswer("a script", hex);
  return hex;
}
