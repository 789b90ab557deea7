/** Reasons for which the chain would not carry out a transaction, in words for callers. @module */
import { ChainError } from "../chain.ts";
import { shownBriefly } from "../rpc.ts";

/** Errors of the token programs by their numbers. */
const TOKEN_FAULTS: Readonly<Record<number, string>> = {
  1: "the sender holds too little",
  17: "the issuer has frozen an account of this payment",
  36: "the receiver takes only payments with a memo, and withdrawals carry none",
  37: "the token cannot be moved",
  67: "the issuer has paused the token",
};
const SHORT_OF_COINS = /InsufficientFundsFor(Fee|Rent)|AccountNotFound/;
const PASSING = /BlockhashNotFound|AccountInUse|WouldExceed|TooManyAccountLocks/;

/** Makes the error of a dry run: a lack of coins waits, and a state of the node passes. */
export function whyRefused(err: unknown, logs: readonly unknown[], ofToken: boolean): ChainError {
  const text = typeof err === "string" ? err : JSON.stringify(err);
  if (PASSING.test(text)) return new ChainError("unavailable", `a node could not run it: ${text}`);
  if (SHORT_OF_COINS.test(text)) {
    return new ChainError("insufficient", `the payer of the fee holds too little: ${text}`);
  }
  const custom = /"Custom":(\d+)/.exec(text)?.[1];
  const known = ofToken && custom !== undefined ? TOKEN_FAULTS[Number(custom)] : undefined;
  if (custom === "1") return new ChainError("insufficient", known ?? "the sender holds too little");
  const said = logs.filter((line) => typeof line === "string").at(-1) ?? "";
  return new ChainError("refused", known ?? `it would fail: ${text} ${shownBriefly(said)}`.trim());
}
