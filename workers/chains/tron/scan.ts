/**
 * Finds incoming transfers to our addresses in blocks of Tron: TRX that transactions and their inner calls carry,
 * TRC-20 by the logs of transactions that succeeded, and TRC-10, which nothing accepts and everybody can send.
 * @module
 */
import { ChainError } from "../chain.ts";
import { readTransferLog } from "../evm/erc20.ts";
import type { Peer } from "../node_pool.ts";
import type { Block, Consumed, Scanned, Transfer, WatchList } from "../observations.ts";
import { mergedPart, type Told } from "../scan_quorum.ts";
import { toBase58Address, toHexAddress } from "./address_forms.ts";
import { type FullBlock, fullBlockAt, type Move, remember, type TronTransaction } from "./block.ts";
import type { Ethers, Tron } from "./context.ts";
import { recheck } from "./recheck.ts";

/** Index of the value that a transaction carries itself. */
export const DIRECT = -1;
/** Index of the sum that inner calls of a transaction brought to an address. */
export const INSIDE = -2;

/** A watch list by the addresses that nodes write. */
export interface WatchIndex {
  /** From `41` and 40 hexadecimal digits to base58check. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Contracts that count, in the same form; null for all. */
  readonly contracts: ReadonlySet<string> | null;
}

/** Blocks of one part; a full block and its results are about a megabyte of JSON. */
const BLOCKS_AT_ONCE = 16;
/** Blocks that one node is asked for beside each other. */
const READ_AT_ONCE = 4;
/** Before the number of a TRC-10 asset. */
const ASSET = "TRC10:";
const ZERO = `0x${"0".repeat(40)}`;
const SIGNATURE_DIGITS = 130;

const INDEXES = new WeakMap<WatchList, WatchIndex>();

/** Tells whether a contract of a transfer is a TRC-10 asset, which has no address. */
export function isAsset(contract: string): boolean {
  return contract.startsWith(ASSET);
}

/** Indexes a watch list, once per list. */
export function indexOf({ ethers }: Tron, watch: WatchList): WatchIndex {
  const known = INDEXES.get(watch);
  if (known !== undefined) return known;
  const hexOf = (address: string) => toHexAddress(ethers, address);
  const contracts = watch.contracts &&
    new Set([...watch.contracts].filter((one) => !isAsset(one)).map(hexOf));
  const addresses = new Map([...watch.addresses].map((one) => [hexOf(one), one]));
  const index = { addresses, contracts };
  INDEXES.set(watch, index);
  return index;
}

/** Reads the blocks of a range, each with the transfers and signers of the watch list. */
export async function* scanRange(
  tron: Tron,
  from: number,
  to: number,
  watch: WatchList,
): AsyncGenerator<Scanned> {
  let last: Block | null = null;
  for (let at = from; at <= to; at += BLOCKS_AT_ONCE) {
    const end = Math.min(to, at + BLOCKS_AT_ONCE - 1);
    const readers = {
      part: (peer: Peer) => scanPart(tron, peer, at, end, watch),
      logs: () => Promise.resolve([]),
      recheck: (transfer: Transfer) => recheck(tron, transfer),
    };
    const part = await mergedPart(tron.nodes, watch, readers, `the blocks ${at} to ${end}`);
    for (const scanned of part) {
      if (last !== null && scanned.block.parentHash !== last.hash) {
        throw new ChainError("unavailable", `the chain changed below ${scanned.block.height}`);
      }
      last = scanned.block;
      yield scanned;
    }
  }
}

/** Reads the blocks of a short range from one node. */
async function scanPart(
  tron: Tron,
  peer: Peer,
  from: number,
  to: number,
  watch: WatchList,
): Promise<Told[]> {
  const index = indexOf(tron, watch);
  const blocks: FullBlock[] = [];
  while (blocks.length <= to - from) {
    const next = from + blocks.length;
    // The first alone, because a node that rests after a failure answers one question at a time.
    const last = blocks.length === 0 ? next : Math.min(to, next + READ_AT_ONCE - 1);
    const heights = Array.from({ length: last - next + 1 }, (_, step) => next + step);
    blocks.push(...await allRead(heights.map((height) => fullBlockAt(peer, height))));
  }
  return blocks.map((block, at) => {
    if (at > 0 && block.parentHash !== blocks[at - 1].hash) {
      throw new ChainError("unavailable", `${peer.name} is changing its chain`);
    }
    return reportOf(tron, remember(tron.nodes.peers, peer, block), index);
  });
}

/** Waits for all, then throws the first failure: no promise stays unhandled. */
async function allRead(asked: readonly Promise<FullBlock>[]): Promise<FullBlock[]> {
  const settled = await Promise.allSettled(asked);
  return settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

function reportOf({ ethers }: Tron, block: FullBlock, index: WatchIndex): Told {
  const proven = new Set<string>();
  const consumed: Consumed[] = [];
  for (const one of block.transactions) {
    const signer = one.owner === null ? undefined : index.addresses.get(one.owner);
    if (signer === undefined) continue;
    const input = `${signer}:${one.hash}`;
    consumed.push({ input, hash: one.hash });
    if (isSignedBy(ethers, one)) proven.add(`${input} ${one.hash}`);
  }
  const transfers = block.transactions.flatMap((one) => transfersOf(ethers, block, one, index));
  return { block: bare(block), transfers, consumed, proven, doubtful: false };
}

/** Tells whether the owner's own key signed a transaction. */
function isSignedBy(ethers: Ethers, { hash, owner, signature }: TronTransaction): boolean {
  if (signature.length !== SIGNATURE_DIGITS) return false;
  const v = parseInt(signature.slice(128), 16);
  const last = (v < 27 ? v + 27 : v).toString(16).padStart(2, "0");
  try {
    const signer = ethers.recoverAddress(`0x${hash}`, `0x${signature.slice(0, 128)}${last}`);
    return `41${signer.slice(2).toLowerCase()}` === owner;
  } catch {
    return false;
  }
}

/** Lists the transfers of one transaction to watched addresses. */
export function transfersOf(
  ethers: Ethers,
  block: Block,
  transaction: TronTransaction,
  index: WatchIndex,
): Transfer[] {
  const { hash, value, asset, inner, success } = transaction;
  if (!success) return [];
  const base = { hash, block: bare(block), maturesAt: null };
  const found: Transfer[] = [];
  const add = (to: string, one: Pick<Transfer, "index" | "from" | "contract" | "amount">) =>
    void found.push({ ...base, to, ...one });
  const name = (hex: string) => toBase58Address(ethers, hex);
  const payee = value && value.from !== value.to ? index.addresses.get(value.to) : undefined;
  if (value && payee !== undefined) {
    const from = name(value.from);
    add(payee, { index: DIRECT, from, contract: null, amount: value.amount });
  }
  for (const one of insideOf(inner ?? [], index)) {
    const from = one.payers.size === 1 ? name([...one.payers][0]) : null;
    add(one.to, { index: INSIDE, from, contract: null, amount: one.amount });
  }
  const taker = asset && asset.from !== asset.to ? index.addresses.get(asset.to) : undefined;
  if (asset && taker !== undefined && asset.amount > 0n && index.contracts === null) {
    const contract = ASSET + asset.name;
    add(taker, { index: DIRECT, from: name(asset.from), contract, amount: asset.amount });
  }
  for (const [place, log] of transaction.logs.entries()) {
    const said = readTransferLog(log.topics, log.data);
    const owner = said && index.addresses.get(`41${said.to.slice(2)}`);
    if (!said || !owner || said.amount === 0n || said.from === said.to) continue;
    const contract = `41${log.address.slice(2)}`;
    if (index.contracts !== null && !index.contracts.has(contract)) continue;
    const from = said.from === null || said.from === ZERO ? null : name(`41${said.from.slice(2)}`);
    add(owner, { index: place, from, contract: name(contract), amount: said.amount });
  }
  return found;
}

/** Adds up the coins that inner calls moved to and from watched addresses. */
function insideOf(
  moves: readonly Move[],
  { addresses }: WatchIndex,
): { to: string; amount: bigint; payers: ReadonlySet<string> }[] {
  const gains = new Map<string, { amount: bigint; payers: Set<string> }>();
  function add(hex: string, amount: bigint, payer: string | null): void {
    const owner = addresses.get(hex);
    if (owner === undefined) return;
    const gain = gains.get(owner) ?? { amount: 0n, payers: new Set() };
    gain.amount += amount;
    if (payer !== null) gain.payers.add(payer);
    gains.set(owner, gain);
  }
  for (const { from, to, amount } of moves) {
    add(to, amount, from);
    add(from, -amount, null);
  }
  return [...gains].filter(([, { amount }]) => amount > 0n).map(([to, gain]) => ({ to, ...gain }));
}

/** Reduces a block to its identifying fields. */
export function bare({ height, hash, parentHash, time }: Block): Block {
  return { height, hash, parentHash, time };
}
