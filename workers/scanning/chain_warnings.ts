/** Texts of the problems of a chain for operators: what its nodes say that others deny, and what waits for them. @module */
import type { SentAgain } from "../../db/recovery/displaced_orders.ts";

/** What there is to warn of. */
export interface ChainProblems {
  /** Transactions that were given up, and that too few nodes say are mined all the same; the lowest blocks first. */
  readonly told: readonly { height: number; hash: string }[];
  /** Payments that are done, that no block has, and that are sent again as they are, unless quarantine holds them. */
  readonly again: SentAgain;
  /** Coins that are gone, and whose spenders no block shows. */
  readonly gone: number;
  /** Deposits that too few nodes confirm. */
  readonly unconfirmed: number;
  /** Reports of nodes that contradict each other, the newest first. */
  readonly reports: readonly string[];
}

/** Longest text that is stored as a chain's warning. */
const WARNING_MAX = 700;

/**
 * Writes problems, the gravest first. Each kind that concerns money is one short line, however many there are of it, so
 * that none pushes another out; reports of nodes fill the rest. Null where there are no problems.
 */
export function warningOf(
  { told, again, gone, unconfirmed, reports }: ChainProblems,
): string | null {
  const [first, ...others] = told;
  const warnings = [
    ...(first === undefined ? [] : [
      `too few nodes say that block ${first.height} has ${first.hash}, which was given up` +
      (others.length === 0 ? "" : `, and so of ${others.length} more`),
    ]),
    ...(again.count === 0 ? [] : [
      `the chain has lost ${again.first}, which is done and is sent again at its old price` +
      (again.count === 1 ? "" : `, and so ${again.count - 1} more`),
    ]),
    ...(again.held === 0 ? [] : [
      `the chain has lost ${again.first_held}, which is done and is not sent again in quarantine` +
      (again.held === 1 ? "" : `, and so ${again.held - 1} more`),
    ]),
    ...(gone === 0 ? [] : [`${gone} coins are gone, and no block shows their spenders`]),
    ...(unconfirmed === 0 ? [] : [`${unconfirmed} deposits wait until enough nodes confirm them`]),
    ...reports,
  ];
  return warnings.length === 0 ? null : warnings.join("; ").slice(0, WARNING_MAX);
}
