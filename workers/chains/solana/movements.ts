/**
 * Movements: the balances that a transaction found and left, as its block records them. What arrived is the
 * difference, whatever instructions and programs moved it, and after the fee that a token keeps.
 * @module
 */
import { malformedAnswer, readList, readRecord, readText } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Address, Block, Consumed, Transfer, WatchList } from "../observations.ts";
import {
  hasFailed,
  readAmount,
  readKey,
  readNumber,
  readSignature,
  readUnits,
} from "./node_answers.ts";

/** Tokens of one account, before and after a transaction; 0 where it did not exist. */
export interface TokenMovement {
  /** Number of the token account in the transaction. */
  readonly place: number;
  readonly mint: string;
  /** The wallet or program that owns the token account. */
  readonly owner: Address;
  readonly before: bigint;
  readonly after: bigint;
}

/** Balances before and after one transaction. */
export interface Movement {
  /** Its first signature. */
  readonly hash: string;
  /** False if it failed: then only its fee moved. */
  readonly success: boolean;
  /** Lamports, taken from the first account. */
  readonly fee: bigint;
  /** Its accounts, those of address tables included. */
  readonly keys: readonly Address[];
  /** The accounts that signed it. */
  readonly signers: readonly Address[];
  /** Lamports of each account. */
  readonly before: readonly bigint[];
  readonly after: readonly bigint[];
  readonly tokens: readonly TokenMovement[];
}

/** Tells whether a transaction of a block may concern a watch list; cheaper than to read all of it. */
export function mayConcern(answer: unknown, { addresses }: WatchList): boolean {
  const { transaction, meta } = readRecord(answer, "a transaction");
  for (const one of readList(readRecord(transaction, "a transaction").accountKeys)) {
    if (addresses.has(readText(readRecord(one, "an account").pubkey, "a key"))) return true;
  }
  const result = readRecord(meta, "a transaction's result");
  if (hasFailed(result)) return false;
  return readList(result.postTokenBalances ?? []).some((one) => {
    const { owner } = readRecord(one, "a balance");
    return owner !== undefined && addresses.has(readText(owner, "a key"));
  });
}

/** Reads the balances that a transaction found and left. */
export function readMovement(answer: unknown): Movement {
  const { transaction, meta } = readRecord(answer, "a transaction");
  const result = readRecord(meta, "a transaction's result");
  const signatures = readList(readRecord(transaction, "a transaction").signatures);
  const { keys, signers } = keysOf(transaction, meta);
  const [before, after] = [result.preBalances, result.postBalances]
    .map((list) => readList(list).map(readUnits));
  if (before.length !== keys.length || after.length !== keys.length) {
    throw malformedAnswer("a balance for each account", `${keys.length} accounts`);
  }
  return {
    hash: readSignature(signatures[0]),
    success: !hasFailed(result),
    fee: readUnits(result.fee),
    ...{ keys, signers, before, after },
    tokens: tokensOf(result, keys.length),
  };
}

/** Lists the transfers of a transaction to watched addresses: one for each address and asset. */
export function transfersOf(movement: Movement, block: Block, watch: WatchList): Transfer[] {
  if (!movement.success) return [];
  const base = { hash: movement.hash, block, maturesAt: null };
  return [
    ...coinsOf(movement, watch).map((one) => ({ ...base, ...one })),
    ...tokensTo(movement, watch).map((one) => ({ ...base, ...one })),
  ];
}

type Gain = Pick<Transfer, "index" | "from" | "to" | "contract" | "amount">;

function coinsOf(movement: Movement, { addresses }: WatchList): Gain[] {
  const { keys, before, after, fee } = movement;
  return keys.flatMap((to, index) => {
    if (!addresses.has(to)) return [];
    const amount = after[index] - before[index];
    if (amount <= 0n) return [];
    // The first account pays the fee; a loss of no more than that paid nothing to us.
    const payers = keys.filter((_, at) => after[at] - before[at] < (at === 0 ? -fee : 0n));
    return [{ index, from: payers.length === 1 ? payers[0] : null, to, contract: null, amount }];
  });
}

/** Names the watched addresses that signed a transaction; a failed one was signed too. */
export function signedBy({ signers, hash }: Movement, { addresses }: WatchList): Consumed[] {
  return signers.filter((one) => addresses.has(one))
    .map((one) => ({ input: `${one}:${hash}`, hash }));
}

/** Sums what came to all token accounts of an owner: between two of them nothing arrives. */
function tokensTo({ tokens }: Movement, { addresses, contracts }: WatchList): Gain[] {
  const counted = tokens.filter(({ mint, owner }) =>
    addresses.has(owner) && (contracts === null || contracts.has(mint))
  );
  const found = new Map<string, TokenMovement[]>();
  for (const one of counted) {
    const key = `${one.owner} ${one.mint}`;
    found.set(key, [...found.get(key) ?? [], one]);
  }
  return [...found.values()].flatMap((mine) => {
    const amount = sumOf(mine);
    if (amount <= 0n) return [];
    const { owner, mint } = mine[0];
    // The first by its number: in what order a node lists balances must not make two deposits of one.
    const index = Math.min(
      ...mine.filter(({ before, after }) => after > before).map((one) => one.place),
    );
    const payers = payersOf(tokens, mint);
    return [{
      ...{ index, to: owner, contract: mint, amount },
      from: payers.length === 1 ? payers[0] : null,
    }];
  });
}

/** Lists the owners who lost tokens of a mint. */
function payersOf(tokens: readonly TokenMovement[], mint: string): Address[] {
  const of = tokens.filter((one) => one.mint === mint);
  return [...new Set(of.map(({ owner }) => owner))]
    .filter((owner) => sumOf(of.filter((one) => one.owner === owner)) < 0n);
}

/** Adds up what token accounts gained. */
export function sumOf(tokens: readonly TokenMovement[]): bigint {
  return tokens.reduce((sum, { before, after }) => sum + after - before, 0n);
}

function keysOf(transaction: unknown, meta: unknown): Pick<Movement, "keys" | "signers"> {
  const fields = readRecord(transaction, "a transaction");
  // Where accounts alone are asked for, those of address tables are among them.
  if (fields.accountKeys !== undefined) {
    const accounts = readList(fields.accountKeys).map((one) => {
      const { pubkey, signer } = readRecord(one, "an account");
      return { key: readKey(pubkey), signs: signer === true };
    });
    const signers = accounts.flatMap(({ key, signs }) => signs ? [key] : []);
    return { keys: accounts.map(({ key }) => key), signers };
  }
  const { accountKeys, addressTableLookups } = readRecord(fields.message, "a message");
  const listed = readList(accountKeys);
  // In the parsed form the accounts of address tables are listed with the others.
  if (typeof listed[0] === "object") return keysOf({ accountKeys: listed }, meta);
  const loaded = readRecord(meta, "a transaction's result").loadedAddresses;
  const { writable, readonly } = readRecord(loaded ?? { writable: [], readonly: [] }, "addresses");
  assertLoaded(addressTableLookups, [writable, readonly]);
  const keys = [listed, writable, readonly].flatMap((list) => readList(list).map(readKey));
  // The first accounts signed, in the order of the signatures; that is so in messages of every version.
  return { keys, signers: keys.slice(0, readList(fields.signatures).length) };
}

/**
 * Refuses accounts of address tables that are not as many as the message names: balances are told by the number of
 * the account, and would be read as those of others.
 */
function assertLoaded(lookups: unknown, loaded: readonly unknown[]): void {
  const named = lookupsIn(lookups);
  const told = loaded.map((list) => readList(list).length);
  if (named.writable === told[0] && named.readonly === told[1]) return;
  throw malformedAnswer("the accounts of its address tables", told);
}

function lookupsIn(lookups: unknown): { writable: number; readonly: number } {
  const sum = { writable: 0, readonly: 0 };
  for (const one of readList(lookups ?? [])) {
    const { writableIndexes, readonlyIndexes } = readRecord(one, "an address table");
    sum.writable += readList(writableIndexes).length;
    sum.readonly += readList(readonlyIndexes).length;
  }
  return sum;
}

/**
 * Tells whether a node names accounts by address tables and does not tell which: some versions leave that out, and
 * tell it where the parsed form is asked for.
 */
export function lacksAccounts(answer: unknown): boolean {
  if (answer === null) return false;
  const { transaction, meta } = readRecord(answer, "a transaction");
  const { loadedAddresses } = readRecord(meta, "a transaction's result");
  if (loadedAddresses !== undefined && loadedAddresses !== null) return false;
  const { message } = readRecord(transaction, "a transaction");
  const { writable, readonly } = lookupsIn(readRecord(message, "a message").addressTableLookups);
  return writable + readonly > 0;
}

function tokensOf(
  { preTokenBalances, postTokenBalances }: Record<string, unknown>,
  accounts: number,
): TokenMovement[] {
  const before = readTokens(preTokenBalances, accounts);
  const after = readTokens(postTokenBalances, accounts);
  const found: TokenMovement[] = [];
  for (const one of after) {
    const earlier = before.find((other) => isSame(one, other));
    found.push({ ...one, before: earlier?.amount ?? 0n, after: one.amount });
  }
  for (const one of before) {
    // Closed, or given to another owner.
    if (after.some((other) => isSame(one, other))) continue;
    found.push({ ...one, before: one.amount, after: 0n });
  }
  return found.map(({ place, mint, owner, before, after }) => ({
    ...{ place, mint, owner, before, after },
  }));
}

interface TokenBalance {
  readonly place: number;
  readonly mint: string;
  readonly owner: string;
  readonly amount: bigint;
}

function isSame(one: TokenBalance, other: TokenBalance): boolean {
  return one.place === other.place && one.mint === other.mint && one.owner === other.owner;
}

function readTokens(list: unknown, accounts: number): TokenBalance[] {
  return readList(list ?? []).flatMap((answer) => {
    const { accountIndex, mint, owner, uiTokenAmount } = readRecord(answer, "a balance");
    // Old transactions do not tell it.
    if (owner === undefined) return [];
    const place = readNumber(accountIndex, "an account's number");
    if (place >= accounts) throw malformedAnswer("an account's number", accountIndex);
    const { amount } = readRecord(uiTokenAmount, "an amount");
    return [{ place, mint: readKey(mint), owner: readKey(owner), amount: readAmount(amount) }];
  });
}

/** Reads a transaction that is in a final block; null where the node has none. */
export function readFound(
  answer: unknown,
  hash: string,
): { slot: number; movement: Movement } | null {
  if (answer === null) return null;
  const slot = readNumber(readRecord(answer, "a transaction").slot, "a slot");
  const movement = readMovement(answer);
  if (movement.hash === hash) return { slot, movement };
  throw new ChainError("unavailable", `the node gave another transaction than ${hash}`);
}
