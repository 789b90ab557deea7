/**
 * Blocks of Tron with what their transactions moved. A node tells a block and the results of its transactions in two
 * answers; both must name the same transactions. A transaction moved something only where `contractRet` and the
 * receipt say so alike.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { TooLarge } from "../rpc.ts";
import { readLogs, type TronLog } from "./calls.ts";
import type { Tron } from "./context.ts";
import {
  ask,
  askRecord,
  count,
  hash32,
  hexOf,
  readBlock,
  type TronBlock,
  units,
} from "./node_answers.ts";

/** Coins that moved. Addresses are `41` and 40 hexadecimal digits. */
export interface Move {
  /** Who had them. */
  readonly from: string;
  /** Who got them. */
  readonly to: string;
  /** Sun. */
  readonly amount: bigint;
}

/** A transaction of a block, as far as value and its signer are concerned. */
export interface TronTransaction {
  /** Its id. */
  readonly hash: string;
  /** The account that it acts for; null in a form that is not known. */
  readonly owner: string | null;
  /** Its first signature, as hexadecimal digits. */
  readonly signature: string;
  /** True where it did what it says; its fee is taken in any case. */
  readonly success: boolean;
  /** Sun that its owner paid. */
  readonly fee: bigint;
  /** The value that it carries itself; null for none, and for one that failed. */
  readonly value: Move | null;
  /** TRC-10 that it carries. */
  readonly asset: Move & { readonly name: string } | null;
  /** Coins that calls inside it moved; null where the node does not keep calls. */
  readonly inner: readonly Move[] | null;
  /** Its logs. */
  readonly logs: readonly TronLog[];
}

/** A block and its transactions, in their order. */
export interface FullBlock extends TronBlock {
  /** All of them. */
  readonly transactions: readonly TronTransaction[];
}

/** Parts of a node that show all blocks, or final ones only. */
export type Space = "wallet" | "walletsolidity";

/** Kinds of inner calls that move coins, in hexadecimal: call, create, suicide. Others name stakes. */
const MOVING: ReadonlySet<unknown> = new Set(["63616c6c", "637265617465", "73756963696465"]);
/** Contracts that the virtual machine runs. */
const RUN: ReadonlySet<unknown> = new Set(["TriggerSmartContract", "CreateSmartContract"]);
/** Blocks of a node that are remembered: those between the final and the newest block, and some more. */
const KEPT_BLOCKS = 48;

const KEPT = new WeakMap<readonly Peer[], Map<string, Map<string, FullBlock>>>();

/** Reads a block that a node must have, with all that its transactions moved. */
export async function fullBlockAt(peer: Peer, height: number): Promise<FullBlock> {
  const told = await askRecord(peer, "wallet/getblockbynum", { num: height });
  const block = readBlock(told);
  if (block?.height !== height) {
    throw new ChainError("unavailable", `${peer.name} does not have block ${height}`);
  }
  const listed = readList(told.transactions ?? []).map((one) => readRecord(one, "a transaction"));
  // The transactions of the first block have no results: nothing moved there but what began there.
  if (listed.length === 0 || height === 0) return { ...block, transactions: [] };
  try {
    return { ...block, transactions: await readTogether(peer, block, listed) };
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    return { ...block, transactions: await readSingly(peer, block, listed) };
  }
}

type Listed = readonly Readonly<Record<string, unknown>>[];

/** Reads the results of all transactions of a block in one answer. */
async function readTogether(
  peer: Peer,
  { height }: TronBlock,
  listed: Listed,
): Promise<TronTransaction[]> {
  const results = await ask(peer, "wallet/gettransactioninfobyblocknum", { num: height });
  const infos = readList(results).map((one) => readRecord(one, "a result"));
  const byId = new Map(infos.map((info) => [hash32(info.id, "a transaction id"), info]));
  const found = listed.map(({ txID }) => byId.get(hash32(txID, "a transaction id")));
  if (infos.length !== listed.length || byId.size !== listed.length || found.includes(undefined)) {
    throw new ChainError("unavailable", `${peer.name} gave results of another block ${height}`);
  }
  return listed.map((one, at) => readTransaction(one, found[at]!));
}

/**
 * Reads the results of the transactions of a block one after the other. Calls inside a transaction cost next to
 * nothing, and each is told: those of one transaction are limited by its time, those of a block by no size.
 */
async function readSingly(
  peer: Peer,
  { height, timeMs }: TronBlock,
  listed: Listed,
): Promise<TronTransaction[]> {
  const found: TronTransaction[] = [];
  for (const one of listed) {
    const hash = hash32(one.txID, "a transaction id");
    const info = await askRecord(peer, "wallet/gettransactioninfobyid", { value: hash });
    const isOfBlock = info.id === one.txID && count(info.blockNumber, "a height") === height &&
      count(info.blockTimeStamp, "a time") === timeMs;
    if (!isOfBlock) {
      throw new ChainError("unavailable", `${peer.name} gave results of another block ${height}`);
    }
    found.push(readTransaction(one, info));
  }
  return found;
}

/** Reads a block that a node has shown by its id before, from memory where it is kept. */
export async function knownBlock(
  { nodes }: Tron,
  peer: Peer,
  { height, hash }: { readonly height: number; readonly hash: string },
): Promise<FullBlock> {
  const known = keptOf(nodes.peers, peer).get(hash);
  // A block that names itself or a later one as its parent would be read down for ever.
  if (known?.height === height) return known;
  const block = await fullBlockAt(peer, height);
  if (block.hash === hash) return remember(nodes.peers, peer, block);
  throw new ChainError("unavailable", `${peer.name} is changing its chain`);
}

/** Remembers a block of a node: balances are compared with its newest blocks. */
export function remember(peers: readonly Peer[], peer: Peer, block: FullBlock): FullBlock {
  const kept = keptOf(peers, peer);
  kept.delete(block.hash);
  kept.set(block.hash, block);
  for (const hash of kept.keys()) {
    if (kept.size <= KEPT_BLOCKS) break;
    kept.delete(hash);
  }
  return block;
}

function keptOf(peers: readonly Peer[], { name }: Peer): Map<string, FullBlock> {
  const byPeer = KEPT.get(peers) ?? new Map<string, Map<string, FullBlock>>();
  KEPT.set(peers, byPeer);
  const kept = byPeer.get(name) ?? new Map<string, FullBlock>();
  byPeer.set(name, kept);
  return kept;
}

/**
 * Reads a transaction and its result.
 *
 * @throws {ChainError} `unavailable` where `contractRet` and the receipt contradict each other
 */
export function readTransaction(
  told: Readonly<Record<string, unknown>>,
  info: Readonly<Record<string, unknown>>,
): TronTransaction {
  const hash = hash32(told.txID, "a transaction id");
  const raw = readRecord(told.raw_data, "a transaction");
  const [contract] = readList(raw.contract).map((one) => readRecord(one, "a contract"));
  const { type, parameter } = contract ?? {};
  const value = readRecord(readRecord(parameter ?? {}, "a parameter").value ?? {}, "a parameter");
  const [signature] = readList(told.signature ?? []);
  const success = succeeded(told, info, RUN.has(type));
  const owner = addressOf(value.owner_address);
  const moves = success && owner !== null ? movesOf(type, owner, value, info) : NOTHING;
  return {
    ...{ hash, owner, success, ...moves },
    signature: hexOf(signature, "a signature"),
    fee: units(info.fee, "a fee"),
    inner: innerOf(info, success),
    logs: success ? readLogs(info.log ?? []) : [],
  };
}

function succeeded(
  told: Readonly<Record<string, unknown>>,
  info: Readonly<Record<string, unknown>>,
  isRun: boolean,
): boolean {
  const [ret] = readList(told.ret ?? []).map((one) => readRecord(one, "a result"));
  const receipt = readRecord(info.receipt ?? {}, "a receipt");
  const said = ret?.contractRet === "SUCCESS";
  // A transfer of coins has a receipt without a result.
  const confirmed = info.result !== "FAILED" &&
    (receipt.result === "SUCCESS" || (!isRun && receipt.result === undefined));
  if (said === confirmed) return said;
  throw new ChainError("unavailable", `a node says two things about ${String(told.txID)}`);
}

const NOTHING: Pick<TronTransaction, "value" | "asset"> = { value: null, asset: null };

function movesOf(
  type: unknown,
  from: string,
  value: Readonly<Record<string, unknown>>,
  info: Readonly<Record<string, unknown>>,
): Pick<TronTransaction, "value" | "asset"> {
  const moved = (to: string | null, amount: bigint): Pick<TronTransaction, "value" | "asset"> =>
    to === null || amount === 0n ? NOTHING : { value: { from, to, amount }, asset: null };
  if (type === "TransferContract") {
    return moved(addressOf(value.to_address), units(value.amount, "an amount"));
  }
  if (type === "TriggerSmartContract") {
    return moved(addressOf(value.contract_address), units(value.call_value, "an amount"));
  }
  if (type === "CreateSmartContract") {
    const made = readRecord(value.new_contract ?? {}, "a contract");
    return moved(addressOf(info.contract_address), units(made.call_value, "an amount"));
  }
  const to = addressOf(value.to_address);
  if (type !== "TransferAssetContract" || to === null) return NOTHING;
  const hex = hexOf(value.asset_name, "an asset").slice(0, 64);
  const name = new TextDecoder().decode(Uint8Array.fromHex(hex)).replace(/[^\w-]/g, "_");
  return { value: null, asset: { from, to, name, amount: units(value.amount, "an amount") } };
}

/** Reads the coins that inner calls moved; TRC-10 that they move has the number of its asset. */
function innerOf(info: Readonly<Record<string, unknown>>, success: boolean): Move[] | null {
  if (info.internal_transactions === undefined) return null;
  if (!success) return [];
  const calls = readList(info.internal_transactions).map((one) => readRecord(one, "a call"));
  return calls.flatMap((call) => {
    const [from, to] = [addressOf(call.caller_address), addressOf(call.transferTo_address)];
    if (call.rejected === true || !MOVING.has(call.note) || from === null || to === null) return [];
    const values = readList(call.callValueInfo ?? []).map((one) => readRecord(one, "a value"));
    const amount = values.filter(({ tokenId }) => tokenId === undefined || tokenId === "")
      .reduce((sum, { callValue }) => sum + units(callValue, "an amount"), 0n);
    return amount === 0n ? [] : [{ from, to, amount }];
  });
}

/** Reads an address; null for anything else, which strangers may have written. */
function addressOf(value: unknown): string | null {
  return typeof value === "string" && /^41[0-9a-f]{40}$/i.test(value) ? value.toLowerCase() : null;
}
