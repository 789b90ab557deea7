/**
 * Reads the transactions of single addresses and of their token accounts. A transfer of a token names the
 * token account and not its owner, so both are asked for.
 * @module
 */
import { ChainError } from "../chain.ts";
import { allOf, type Peer } from "../node_pool.ts";
import { RpcError } from "../rpc.ts";
import type { Address, Block, WatchList } from "../observations.ts";
import type { Told } from "../scan_quorum.ts";
import { PAGE, readTouches, type Touch, touchesOf } from "./balances.ts";
import { blocksAt } from "./block.ts";
import type { Solana } from "./context.ts";
import { type Movement, signedBy, transfersOf } from "./movements.ts";
import { TOKEN_PROGRAMS } from "./networks.ts";
import { FINALIZED } from "./node_answers.ts";
import { transactionQuestion, wholeFound } from "./recheck.ts";
import { accountsQuestion, readTokenAccounts } from "./token_accounts.ts";

/** With more transactions or token accounts than these, whole blocks are read: anybody can make some. */
const LIMITS: Limits = { touches: 2_000, accounts: 10_000 };
/** For a block that cannot be read whole. */
export const UNLIMITED: Limits = { touches: Infinity, accounts: Infinity };

/** Most transactions, and most token accounts, that are read. */
export interface Limits {
  readonly touches: number;
  readonly accounts: number;
}

/** Slots of which the transactions are read, both included. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** A transaction and its slot. */
interface Found {
  readonly slot: number;
  readonly movement: Movement;
}

/**
 * Reads the transactions of watched addresses in some slots; null where they are too many, or the node
 * does not list them.
 */
export async function bySignaturesOf(
  solana: Solana,
  peer: Peer,
  slots: readonly number[],
  watch: WatchList,
  most: Limits = LIMITS,
): Promise<Told[] | null> {
  // The blocks first: a node has a block only once it has listed its transactions by their accounts.
  const blocks = await blocksAt(peer, slots);
  if (slots.length === 0) return [];
  const range = { from: slots[0], to: slots[slots.length - 1] };
  let found: Found[] | null;
  try {
    found = await foundIn(solana, peer, { range, most }, watch);
  } catch (error) {
    // Strangers decide how much there is to list of an address: what a node cannot list must not end the scan.
    if (!(error instanceof RpcError || error instanceof ChainError)) throw error;
    return null;
  }
  if (found === null) return null;
  const bySlot = Map.groupBy(found, ({ slot }) => slot);
  const unlisted = [...bySlot.keys()].find((slot) => !slots.includes(slot));
  if (unlisted !== undefined) {
    throw new ChainError("unavailable", `${peer.name} has transactions in no block: ${unlisted}`);
  }
  return blocks.map((block) => {
    const movements = (bySlot.get(block.height) ?? []).map(({ movement }) => movement);
    return toldOf(block, movements.toSorted((a, b) => a.hash < b.hash ? -1 : 1), watch);
  });
}

/** Makes one node's report on a block, of the transactions in it that may concern us. */
export function toldOf(block: Block, movements: readonly Movement[], watch: WatchList): Told {
  return {
    block,
    transfers: movements.flatMap((one) => transfersOf(one, block, watch)),
    consumed: movements.flatMap((one) => signedBy(one, watch)),
    proven: new Set(),
    doubtful: false,
  };
}

async function foundIn(
  { web3 }: Solana,
  peer: Peer,
  { range, most }: { readonly range: Range; readonly most: Limits },
  { addresses }: WatchList,
): Promise<Found[] | null> {
  const owners = [...addresses];
  const accounts = new Set<Address>();
  const listed = await peer.batch(
    owners.flatMap((owner) =>
      TOKEN_PROGRAMS.map((programId) => accountsQuestion(owner, { programId }))
    ),
  );
  for (const [at, answer] of listed.entries()) {
    const owner = owners[Math.floor(at / TOKEN_PROGRAMS.length)];
    const told = readTokenAccounts(web3, answer, { owner });
    // Another server behind the same address may lack an account that was made meanwhile.
    if (told.slot < range.to) {
      throw new ChainError("unavailable", `${peer.name} has token accounts of slot ${told.slot}`);
    }
    for (const one of told.accounts) accounts.add(one.address);
  }
  // Later ones too: an account that was closed since then is listed no more, but its owner signed that.
  const own = await touchesIn(peer, owners, { ...range, to: Infinity }, range.to);
  if (own.length > most.touches) return null;
  const first = await readAll(peer, own);
  for (const { movement: { tokens, keys } } of first) {
    for (const { owner, place } of tokens) if (addresses.has(owner)) accounts.add(keys[place]);
  }
  if (accounts.size > most.accounts) return null;
  const others = await touchesIn(peer, [...accounts], range, range.to);
  const known = new Set(own.map(({ hash }) => hash));
  const more = others.filter(({ hash }) => !known.has(hash));
  if (more.length > most.touches) return null;
  const all = [...first, ...await readAll(peer, more)];
  return all.filter(({ slot }) => slot >= range.from && slot <= range.to);
}

/**
 * Lists the transactions that touched accounts, each once.
 *
 * @param reached the slot that the node must have reached: the last one of its list of blocks
 */
async function touchesIn(
  peer: Peer,
  accounts: readonly Address[],
  { from, to }: Range,
  reached: number,
): Promise<Touch[]> {
  const range = { above: from - 1, upTo: to, reached };
  const config = { ...FINALIZED, limit: PAGE, minContextSlot: reached };
  const pages = allOf(
    await peer.batch(accounts.map((account) => ({
      method: "getSignaturesForAddress",
      params: [account, config],
    }))),
  ).map(readTouches);
  const found = new Map<string, Touch>();
  for (const [at, page] of pages.entries()) {
    const isWhole = page.length < PAGE || page[page.length - 1].slot < from;
    const touches = isWhole
      ? page.filter(({ slot }) => slot >= from && slot <= to)
      : await touchesOf(peer, accounts[at], range);
    for (const one of touches) found.set(one.hash, one);
  }
  return [...found.values()];
}

async function readAll(peer: Peer, touches: readonly Touch[]): Promise<Found[]> {
  const answers = allOf(await peer.batch(touches.map(({ hash }) => transactionQuestion(hash))));
  const all: Found[] = [];
  for (const [at, answer] of answers.entries()) {
    const { hash, slot } = touches[at];
    const found = await wholeFound(peer, answer, hash);
    if (found === null || found.slot !== slot) {
      throw new ChainError("unavailable", `${peer.name} does not have ${hash} in block ${slot}`);
    }
    all.push(found);
  }
  return all;
}
