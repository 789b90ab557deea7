/**
 * Balances of addresses. A node tells only the newest ones; one of an older block is read from the last
 * transaction that touched the account up to that block.
 * @module
 */
import { malformedAnswer, readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { allOf, type Peer } from "../node_pool.ts";
import type { Address, Balances, Holding } from "../observations.ts";
import { tokenAddress } from "./accounts.ts";
import type { Solana } from "./context.ts";
import { type Movement, sumOf } from "./movements.ts";
import { TOKEN_PROGRAMS } from "./networks.ts";
import { FINALIZED, readNumber, readSignature, readUnits } from "./node_answers.ts";
import { transactionQuestion, wholeFound } from "./recheck.ts";
import { accountsQuestion, readTokenAccounts } from "./token_accounts.ts";

/** Accounts of one question. */
const ACCOUNTS_AT_ONCE = 100;
/** Signatures of one page. */
export const PAGE = 1000;
/** Most pages of one account that are read. */
const PAGES_MAX = 20;
/** Transactions of one account that are read for one answer. */
const READ_MAX = 2_000;

/** A transaction that touched an account. */
export interface Touch {
  readonly hash: string;
  readonly slot: number;
  readonly success: boolean;
}

/** Reads balances through one node. */
export async function balancesOf(
  { web3 }: Pick<Solana, "web3">,
  peer: Peer,
  holdings: readonly Holding[],
  height: number | null,
): Promise<Balances> {
  const coins = await coinsOf(peer, holdings.filter(({ contract }) => contract === null));
  const tokens = await tokensOf({ web3 }, peer, holdings.filter(isToken));
  const slot = Math.min(...[...coins, ...tokens].map((one) => one.slot));
  if (height !== null && slot < height) {
    throw new ChainError("unavailable", `${peer.name} is only at block ${slot}`);
  }
  const amounts: bigint[] = [];
  for (const one of holdings) {
    const now = (isToken(one) ? tokens : coins).shift()!;
    amounts.push(
      height === null ? now.amount : await amountAt({ web3 }, peer, one, { now, height }),
    );
  }
  return { height: height ?? slot, amounts };
}

function isToken({ contract }: Holding): boolean {
  return contract !== null;
}

/** The newest amount of a holding, and the slot that it is of. */
interface Newest {
  readonly slot: number;
  readonly amount: bigint;
}

async function coinsOf(peer: Peer, holdings: readonly Holding[]): Promise<Newest[]> {
  const config = { ...FINALIZED, encoding: "base64", dataSlice: { offset: 0, length: 0 } };
  const calls = [];
  for (let at = 0; at < holdings.length; at += ACCOUNTS_AT_ONCE) {
    const addresses = holdings.slice(at, at + ACCOUNTS_AT_ONCE).map(({ address }) => address);
    calls.push({ method: "getMultipleAccounts", params: [addresses, config] });
  }
  const found = allOf(await peer.batch(calls)).flatMap((answer) => {
    const { context, value } = readRecord(answer, "accounts");
    const slot = readNumber(readRecord(context, "a slot").slot, "a slot");
    return readList(value).map((account) => ({ slot, amount: coinsIn(account) }));
  });
  if (found.length !== holdings.length) throw malformedAnswer("each account", found.length);
  return found;
}

function coinsIn(account: unknown): bigint {
  return account === null ? 0n : readUnits(readRecord(account, "an account").lamports);
}

async function tokensOf(
  { web3 }: Pick<Solana, "web3">,
  peer: Peer,
  holdings: readonly Holding[],
): Promise<Newest[]> {
  const answers = await peer.batch(
    holdings.map(({ address, contract }) => accountsQuestion(address, { mint: contract! })),
  );
  return answers.map((answer, at) => {
    const { address, contract } = holdings[at];
    const { slot, accounts } = readTokenAccounts(web3, answer, {
      owner: address,
      mint: contract!,
    });
    return { slot, amount: accounts.reduce((sum, { amount }) => sum + amount, 0n) };
  });
}

/** Takes back from the newest amount what the transactions above a height changed. */
async function amountAt(
  solana: Pick<Solana, "web3">,
  peer: Peer,
  holding: Holding,
  { now, height }: { now: Newest; height: number },
): Promise<bigint> {
  const later = await movementsOf(solana, peer, holding, { above: height, upTo: now.slot });
  return later.reduce((amount, movement) => amount - gainOf(movement, holding), now.amount);
}

/** Adds up what left an address in the blocks above `from` up to `to`, by each transaction's sum. */
export async function spentBetween(
  solana: Pick<Solana, "web3">,
  peer: Peer,
  holding: Holding,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<bigint> {
  const movements = await movementsOf(solana, peer, holding, { above: from, upTo: to });
  return movements.map((one) => gainOf(one, holding))
    .reduce((sum, gain) => gain < 0n ? sum - gain : sum, 0n);
}

function gainOf({ keys, before, after, tokens }: Movement, { address, contract }: Holding): bigint {
  if (contract !== null) {
    return sumOf(tokens.filter(({ owner, mint }) => owner === address && mint === contract));
  }
  const at = keys.indexOf(address);
  return at < 0 ? 0n : after[at] - before[at];
}

/** Slots above one, up to another. */
interface Slots {
  readonly above: number;
  readonly upTo: number;
}

/** Reads the transactions that touched a holding in a range of slots. */
async function movementsOf(
  { web3 }: Pick<Solana, "web3">,
  peer: Peer,
  holding: Holding,
  range: Slots,
): Promise<Movement[]> {
  const read = new Map<string, Found>();
  for (const account of await accountsOf({ web3 }, peer, holding, { range, read })) {
    const hashes = (await touchesOf(peer, account, range)).map(({ hash }) => hash);
    await readInto(read, peer, holding, hashes);
  }
  return [...read.values()].filter(({ slot }) => slot > range.above && slot <= range.upTo)
    .map(({ movement }) => movement);
}

/** A transaction and its slot. */
interface Found {
  readonly slot: number;
  readonly movement: Movement;
}

/** Reads the transactions that were not read yet. */
async function readInto(
  read: Map<string, Found>,
  peer: Peer,
  { address }: Holding,
  hashes: readonly string[],
): Promise<void> {
  const more = hashes.filter((hash) => !read.has(hash));
  if (read.size + more.length > READ_MAX) {
    throw new ChainError("unavailable", `${address} has too many transactions`);
  }
  const answers = allOf(await peer.batch(more.map(transactionQuestion)));
  for (const [at, hash] of more.entries()) {
    const found = await wholeFound(peer, answers[at], hash);
    if (found === null) throw new ChainError("unavailable", `${peer.name} does not have ${hash}`);
    read.set(hash, found);
  }
}

/**
 * Lists the accounts that hold something; of tokens the associated ones too, which may be closed by now, and those that
 * transactions of the owner name, who signs when another is emptied, closed or given away.
 */
async function accountsOf(
  { web3 }: Pick<Solana, "web3">,
  peer: Peer,
  holding: Holding,
  { range: { above, upTo }, read }: { range: Slots; read: Map<string, Found> },
): Promise<Address[]> {
  const { address: owner, contract: mint } = holding;
  if (mint === null) return [owner];
  const [answer] = await peer.batch([accountsQuestion(owner, { mint })]);
  const { accounts } = readTokenAccounts(web3, answer, { owner, mint });
  const associated = TOKEN_PROGRAMS.map((program) =>
    tokenAddress(web3, { wallet: owner, mint, program })
  );
  // One that was closed after the range held tokens within it.
  const own = await touchesOf(peer, owner, { above, upTo: Infinity, reached: upTo });
  await readInto(read, peer, holding, own.map(({ hash }) => hash));
  const named = [...read.values()].flatMap(({ movement: { tokens, keys } }) =>
    tokens.filter((one) => one.owner === owner && one.mint === mint).map(({ place }) => keys[place])
  );
  return [...new Set([...associated, ...accounts.map(({ address }) => address), ...named])];
}

/**
 * Lists the transactions that touched an account in a range of slots, newest first.
 *
 * @param reached the slot that the node must have reached: another server behind the same address may be behind
 */
export async function touchesOf(
  peer: Peer,
  account: Address,
  { above, upTo, reached = upTo }: { above: number; upTo: number; reached?: number },
): Promise<Touch[]> {
  const found: Touch[] = [];
  let before: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const config = {
      ...{ ...FINALIZED, limit: PAGE, minContextSlot: reached },
      ...before === undefined ? {} : { before },
    };
    const touches = readTouches(await peer.call("getSignaturesForAddress", [account, config]));
    found.push(
      ...touches.filter(({ slot }) => slot > above && slot <= upTo),
    );
    const last = touches[touches.length - 1];
    if (touches.length < PAGE || last.slot <= above) return found;
    before = last.hash;
  }
  throw new ChainError("unavailable", `${account} has too many transactions`);
}

/** Reads a page of transactions of an account. */
export function readTouches(answer: unknown): Touch[] {
  const touches = readList(answer).map((one) => {
    const { signature, slot, err } = readRecord(one, "a signature");
    const success = err === null;
    return { hash: readSignature(signature), slot: readNumber(slot, "a slot"), success };
  });
  if (touches.every(({ slot }, at) => at === 0 || slot <= touches[at - 1].slot)) return touches;
  throw malformedAnswer("signatures in their order", "others");
}
