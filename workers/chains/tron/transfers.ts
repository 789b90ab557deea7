/**
 * Transfers of a transaction of Tron to watched addresses: the value that it carries, its inner calls, its logs and
 * TRC-10.
 * @module
 */
import { ChainError } from "../chain.ts";
import { readTransferLog } from "../evm/erc20.ts";
import type { Peer } from "../node_pool.ts";
import type { Block, Transfer, WatchList } from "../observations.ts";
import { toBase58Address, toHexAddress } from "./address_forms.ts";
import { type Move, readTransaction, type Space, type TronTransaction } from "./block.ts";
import type { Ethers, Tron } from "./context.ts";
import { askRecord, blockAt, count, hash32 } from "./node_answers.ts";

/** Index of the value that a transaction carries itself. */
const DIRECT: number = -1;
/** Index of the sum that inner calls of a transaction brought to an address. */
export const INSIDE: number = -2;

/** A watch list by the addresses that nodes write. */
export interface WatchIndex {
  /** From `41` and 40 hexadecimal digits to base58check. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Contracts that count, in the same form; null for all. */
  readonly contracts: ReadonlySet<string> | null;
}

/** One node's report on a transaction. */
export interface Found {
  /** The block it is in. */
  readonly block: Block;
  /** Its transfers to watched addresses. */
  readonly transfers: readonly Transfer[];
  /** Whether the node keeps inner calls. */
  readonly hasInner: boolean;
}

/** Before the number of a TRC-10 asset. */
const ASSET = "TRC10:";
const ZERO = `0x${"0".repeat(40)}`;

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

/** Reads a transaction through one node; null where it is in no block, or failed. */
export async function findTransaction(
  tron: Tron,
  peer: Peer,
  { hash, watch, space }: {
    readonly hash: string;
    readonly watch: WatchList;
    readonly space: Space;
  },
): Promise<Found | null> {
  const info = await askRecord(peer, `${space}/gettransactioninfobyid`, { value: hash });
  if (Object.keys(info).length === 0) return null;
  const told = await askRecord(peer, `${space}/gettransactionbyid`, { value: hash });
  const changing = () => new ChainError("unavailable", `the chain is changing around ${hash}`);
  if (Object.keys(told).length === 0) throw changing();
  const ids = [info.id, told.txID].map((one) => hash32(one, "a transaction id"));
  const block = await blockAt(peer, count(info.blockNumber, "a height"));
  const isThere = block !== null && block.timeMs === count(info.blockTimeStamp, "a time");
  if (!isThere || ids.some((id) => id !== hash)) throw changing();
  const transaction = readTransaction(told, info);
  if (!transaction.success) return null;
  const transfers = transfersOf(tron.ethers, block, transaction, indexOf(tron, watch));
  return { block: bare(block), transfers, hasInner: transaction.inner !== null };
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
