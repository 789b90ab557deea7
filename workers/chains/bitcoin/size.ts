/**
 * Sizes of transactions before they are signed, in weight units (4 to a virtual byte). A
 * signature counts at its longest, so the rate paid is never below the intended one.
 * @module
 */
import type { CoinTable } from "./networks.ts";

/** Bytes of a signature (DER, low S, sighash byte) and of a public key, each with its length. */
const UNLOCKING = 1 + 72 + 1 + 33;
/** Outpoint, length of the script, sequence. */
const INPUT = 36 + 1 + 4;

/** Gives the weight of one input that spends a coin of our kind. */
export function inputWeight(table: CoinTable): number {
  // A witness counts a quarter, and holds the number of its items.
  return table.witness ? 4 * INPUT + 1 + UNLOCKING : 4 * (INPUT + UNLOCKING);
}

/** Gives the weight of an output by its script, in hexadecimal. */
export function outputWeight(script: string): number {
  const bytes = script.length / 2;
  return 4 * (8 + countLength(bytes) + bytes);
}

/** Gives the weight of a transaction without its inputs and outputs. */
export function frameWeight(table: CoinTable, inputs: number, outputs: number): number {
  const frame = 4 * (4 + countLength(inputs) + countLength(outputs) + 4);
  return table.witness ? frame + 2 : frame;
}

/** Gives the virtual size of a transaction of ours. */
export function vsizeOf(table: CoinTable, inputs: number, outputs: readonly string[]): number {
  const weight = frameWeight(table, inputs, outputs.length) + inputs * inputWeight(table) +
    outputs.reduce((sum, script) => sum + outputWeight(script), 0);
  return Math.ceil(weight / 4);
}

/** Prices a weight; rounds up. @param rate base units per 1000 virtual bytes */
export function priceOf(rate: bigint, weight: number): bigint {
  return (rate * BigInt(weight) + 3999n) / 4000n;
}

function countLength(count: number): number {
  if (count < 253) return 1;
  return count < 65_536 ? 3 : 5;
}
