/**
 * Ends of transfers at exchanges: what an exchange tells of a payment, and whether it is a transfer's.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import {
  type RampTransferChange,
  type RampTransferRow,
  selectAlikeAsked,
  selectTaken,
} from "../../db/exchanges/ramp_transfers.ts";
import { type ChainId, chainInfo } from "../assets.ts";
import { add, compare, subtract } from "../money.ts";
import { amountOf, isNetworkOf } from "./exchange_assets.ts";

/** One end of a transfer as an exchange tells it. Nothing of it is believed by itself. */
export interface ExchangeEnd {
  reference: string | null;
  hash: string | null;
  address: string | null;
  amount: string | null;
  fee: string | null;
  status: string | null;
  network: string | null;
  /** Milliseconds since the epoch. */
  at: number | null;
  /** Whether it carries the id that we gave it. */
  marked: boolean;
  /** Whether it carries an id that somebody else gave it. */
  foreign: boolean;
}

/** How much earlier than ours an exchange's clock may be. */
const CLOCK_MS = 60_000;
const HASH = /^(0x)?[0-9A-Za-z]{32,128}$/;
const HEX_HASH = /^(?:0x)?([0-9a-f]{64})$/i;

/**
 * Finds which of the exchange's ends is a deposit's: under the id that we gave it; else to our address,
 * of its amount with or without the fee, not older, and no other transfer's. `several` where that
 * cannot be told, because more than one fits or what would tell is missing; `later` while another
 * transfer may claim it.
 */
export async function matchEnd(
  tx: Tx,
  row: RampTransferRow,
  ends: readonly ExchangeEnd[],
): Promise<ExchangeEnd | "several" | "later" | null> {
  const named = ends.filter((end) => end.reference !== null);
  const taken = await selectTaken(tx, row, named.map((end) => end.reference!));
  const free = named.filter((end) => !taken.has(end.reference!));
  const marked = free.filter((end) => end.marked);
  if (marked.length === 1) return marked[0];
  const fitting = free.filter((end) => fits(row, end));
  if (fitting.length === 0) return null;
  const isClear = fitting.length === 1 && isWhole(fitting[0]);
  if (!isClear) return "several";
  // Before it was asked for, it is more likely that of a like transfer, whose answer is lost.
  const isAlike = row.asked_at === null && await selectAlikeAsked(tx, row);
  return isAlike ? "later" : fitting[0];
}

/** Whether an end may be the transfer's: nothing that the exchange tells of it contradicts. */
function fits(row: RampTransferRow, end: ExchangeEnd): boolean {
  return contradictionOf(row, end) === null && isAgreed(row, end);
}

/** What the exchange tells of an end that cannot be the transfer's, aside from its amount; null where nothing. */
export function contradictionOf(row: RampTransferRow, end: ExchangeEnd): string | null {
  if (end.foreign) return "carries an id that somebody else gave it";
  if (end.address !== null && !sameAddress(end.address, row.address)) {
    return "goes to another address";
  }
  if (end.network !== null && !isNetworkOf(row.chain as ChainId, end.network)) {
    return "is on another network";
  }
  const isOlder = end.at !== null && end.at < row.created_at - CLOCK_MS;
  return isOlder ? "is older than the transfer" : null;
}

/** Whether an end's amount is that of the transfer, with or without the fee; one that is not told may be. */
export function isAgreed(row: RampTransferRow, end: ExchangeEnd): boolean {
  const amount = amountOf(end.amount);
  if (amount === null) return true;
  const fee = amountOf(end.fee) ?? "0";
  return [amount, add(amount, fee), subtract(amount, fee)]
    .some((one) => compare(one, row.value) === 0);
}

/** Whether an exchange tells enough of an end to attribute it. */
function isWhole(end: ExchangeEnd): boolean {
  return end.address !== null && end.at !== null && amountOf(end.amount) !== null;
}

/** Whether two texts are one address: those of EVM chains differ in case, those of Bitcoin Cash in their prefix. */
export function sameAddress(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return false;
  return plainAddress(a) === plainAddress(b);
}

function plainAddress(text: string): string {
  if (/^0x/i.test(text)) return text.toLowerCase();
  const [, cash] = /^bitcoincash:(.+)$/i.exec(text) ?? [];
  return cash === undefined ? text : cash.toLowerCase();
}

/** The transaction that an exchange names, as its chain writes it: some leave out the prefix, or add one. */
export function hashOf({ chain }: RampTransferRow, { hash }: ExchangeEnd): string | null {
  if (hash === null || !HASH.test(hash)) return null;
  const digits = HEX_HASH.exec(hash)?.[1];
  if (digits === undefined) return hash;
  return chainInfo(chain as ChainId).family === "evm" ? `0x${digits}` : digits;
}

/** The change of a transfer that follows from what an exchange tells of its end. */
export function toldOf(row: RampTransferRow, end: ExchangeEnd): RampTransferChange {
  const hash = hashOf(row, end) ?? row.hash;
  return {
    reference: end.reference,
    exchange_status: end.status ?? row.exchange_status,
    exchange_amount: amountOf(end.amount) ?? row.exchange_amount,
    exchange_fee: amountOf(end.fee) ?? row.exchange_fee,
    hash,
  };
}

/** Whether an amount is what was asked for: the exchange may take its fee from it, or beside it. */
export function isExpected(row: RampTransferRow, credited: string): boolean {
  return [row.value, subtract(row.value, row.exchange_fee ?? "0")]
    .some((one) => compare(one, credited) === 0);
}

/** Whether an exchange credited an amount; it may take its fee from it. */
export function isCredited(end: ExchangeEnd, paid: string): boolean {
  const amount = amountOf(end.amount);
  if (amount === null) return false;
  return [amount, add(amount, amountOf(end.fee) ?? "0")].some((one) => compare(one, paid) === 0);
}
