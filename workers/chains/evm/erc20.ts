/**
 * Encoding and decoding of the few ERC-20 calls and the one log that we need, by hand: planning
 * then needs no library. All hexadecimal is lower case; amounts are base units of the token.
 * @module
 */
import type { TokenDetails } from "../observations.ts";

/** First topic of `Transfer(address,address,uint256)`. */
export const TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** The largest value of `decimals` that ERC-20 can state; more is nonsense. */
const DECIMALS_MAX = 255n;

/** The calls without arguments that describe a token. */
export const DETAIL_CALLS = {
  decimals: "0x313ce567",
  symbol: "0x95d89b41",
  name: "0x06fdde03",
  totalSupply: "0x18160ddd",
} as const;

const TRANSFER = "0xa9059cbb";
const BALANCE_OF = "0x70a08231";
const WORD = 64;

/** Fields of a `Transfer` log or call. */
export interface Erc20Transfer {
  /** Null in a call, where it is the caller. */
  readonly from: string | null;
  /** The receiver. */
  readonly to: string;
  /** Base units. */
  readonly amount: bigint;
}

/** Encodes `transfer(to, amount)`. */
export function transferCall(to: string, amount: bigint): string {
  return TRANSFER + padded(to.slice(2)) + padded(amount.toString(16));
}

/** Encodes `balanceOf(owner)`. */
export function balanceCall(owner: string): string {
  return BALANCE_OF + padded(owner.slice(2));
}

/** Writes an address as a log topic. */
export function topicOf(address: string): string {
  return "0x" + padded(address.slice(2));
}

/** Reads an address out of a topic; null if the topic is no address. */
function addressIn(topic: string): string | null {
  return /^0x0{24}[0-9a-f]{40}$/.test(topic) ? `0x${topic.slice(26)}` : null;
}

/** Reads a `Transfer` log; null for any other, those of ERC-721 included. */
export function readTransferLog(topics: readonly string[], data: string): Erc20Transfer | null {
  if (topics.length !== 3 || topics[0] !== TRANSFER_TOPIC || data.length !== 2 + WORD) return null;
  const [from, to] = [addressIn(topics[1]), addressIn(topics[2])];
  return from === null || to === null ? null : { from, to, amount: BigInt(data) };
}

/** Reads call data of exactly `transfer(to, amount)`; null for anything else. */
export function readTransferCall(data: string): Erc20Transfer | null {
  if (!data.startsWith(TRANSFER) || data.length !== TRANSFER.length + 2 * WORD) return null;
  const words = data.slice(TRANSFER.length);
  const to = addressIn("0x" + words.slice(0, WORD));
  return to === null ? null : { from: null, to, amount: BigInt("0x" + words.slice(WORD)) };
}

/** Tells whether a call that should answer true did, or answered nothing as older tokens do. */
export function saidYes(answer: string): boolean {
  if (answer === "0x") return true;
  return answer.length >= 2 + WORD && BigInt(answer.slice(0, 2 + WORD)) === 1n;
}

/** Reads a number; null if there is none. */
export function readNumber(answer: string): bigint | null {
  return answer.length >= 2 + WORD ? BigInt(answer.slice(0, 2 + WORD)) : null;
}

/** Hexadecimal digits of an answer that are read for a name: two words, and text of 256 bytes. */
const TEXT_DIGITS = 2 * (64 + 256);
/** Addresses of a list that are read. */
const ADDRESSES_MAX = 1_000;

/**
 * Reads a name or symbol, as text or in the older form of 32 bytes. Control characters and marks
 * that reverse the direction of writing are removed, because strangers write this text.
 */
function readText(answer: string): string | null {
  const digits = answer.slice(2, 2 + TEXT_DIGITS).match(/../g) ?? [];
  const raw = Uint8Array.from(digits, (pair) => parseInt(pair, 16));
  const body = raw.length === 32 ? raw.slice(0, endOf(raw)) : dynamic(raw);
  if (body === null) return null;
  const said = new TextDecoder().decode(body);
  return said.replace(/[\p{Cc}\p{Cf}\p{Co}\ufffd]/gu, "").trim().slice(0, 64) || null;
}

/** Reads the answers to `decimals`, `symbol`, `name` and `totalSupply`; null is one that was refused. */
export function readDetails(contract: string, answers: readonly (string | null)[]): TokenDetails {
  const [places, sign, title, supply] = answers;
  const count = places === null ? null : readNumber(places);
  return {
    contract,
    symbol: sign === null ? null : readText(sign),
    name: title === null ? null : readText(title),
    decimals: count === null || count > DECIMALS_MAX ? null : parseInt(`${count}`, 10),
    supply: supply === null ? null : readNumber(supply),
  };
}

/** What nodes must agree on of a token's description; of its supply only where it is read at one height. */
export function keyOfDetails(told: TokenDetails | null, withSupply: boolean): string {
  if (told === null) return "none";
  const supply = withSupply ? `${told.supply}` : "";
  return JSON.stringify([told.decimals, told.symbol, told.name, supply]);
}

/** Reads an array of addresses. */
export function readAddresses(answer: string): string[] {
  const words = answer.slice(2, 2 + (ADDRESSES_MAX + 2) * WORD).match(/.{64}/g) ?? [];
  return words.slice(2).flatMap((word) => addressIn("0x" + word) ?? []);
}

function dynamic(raw: Uint8Array): Uint8Array | null {
  if (raw.length < 64) return null;
  const length = new DataView(raw.buffer).getUint32(60);
  return raw.slice(64, 64 + Math.min(length, 256));
}

function endOf(raw: Uint8Array): number {
  const end = raw.indexOf(0);
  return end < 0 ? raw.length : end;
}

function padded(digits: string): string {
  return digits.toLowerCase().padStart(WORD, "0");
}
