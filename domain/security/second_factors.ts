/** Second factors at logins: one-time passwords and recovery codes. @module */
import { hash } from "node:crypto";
import type { Tx } from "../../db/database.ts";
import {
  lockSecondFactor,
  markStep,
  noteWrongCode,
  type SecondFactorRow,
  takeRecoveryCode,
} from "../../db/security/second_factors.ts";
import { DomainError } from "../errors.ts";
import { base32, totpStep } from "./totp.ts";

const RECOVERY_BYTES = 10;

/** The credentials that a login was accepted by. */
export type LoginMethod = "password" | "totp" | "recovery_code";

/**
 * Wrong codes of a day after which a user's codes are not looked at any more: three of a million are right at a time, so
 * whoever has the password would find one by trying. Networks where the user was right lately have more, so that nobody
 * elsewhere uses theirs up. Recovery codes cannot be guessed, and are taken all the same. A right code takes no wrong one
 * back: whoever tries beside the user would have as many again after each login of the user.
 */
const WRONG_ELSEWHERE_MAX = 20;
const WRONG_MAX = 40;
/** Wrong codes of a day after which the user is told: more than one mistypes in general, and where codes are held. */
const TOLD_AT: readonly number[] = [5, WRONG_ELSEWHERE_MAX, WRONG_MAX];

/** Wrong codes of a day that came with the right password, when their user is to be told. */
export interface WrongCodes {
  count: number;
  /** Where codes are not looked at any more. */
  held: "nowhere" | "elsewhere" | "everywhere";
  /** When the day ends (milliseconds). */
  until: number;
}

/** A login with the right password that no code can make right before a time. */
export interface CodesHeld {
  retryAfterS: number;
}

/** The code of a login with the right password. */
export interface GivenCode {
  code: string | undefined;
  at: number;
  /** Whether the user was right lately from where the login comes. */
  isKnown: boolean;
  /** Decrypts the user's secret. */
  open: (ciphertext: Uint8Array) => string | null;
  /** Tells the user of wrong codes, in the transaction that counts them. */
  onWrongCodes: (wrong: WrongCodes) => Promise<void>;
}

/**
 * Gives the method by which a login with the right password is accepted; null: it is refused. A code
 * counts once.
 */
export async function passesSecondFactor(
  tx: Tx,
  user: string,
  given: GivenCode,
): Promise<LoginMethod | CodesHeld | null> {
  const factor = await lockSecondFactor(tx, user);
  if (factor === null || factor.confirmed_at === null) return "password";
  if (given.code === undefined) return null;
  const code = given.code.replaceAll(/\s/g, "");
  if (code.length > 6) {
    const taken = await takeRecoveryCode(tx, user, digestRecoveryCode(code));
    return taken ? "recovery_code" : null;
  }
  if (factor.wrong >= (given.isKnown ? WRONG_MAX : WRONG_ELSEWHERE_MAX)) {
    return { retryAfterS: factor.wrong_left_s };
  }
  const secret = given.open(factor.secret);
  if (secret === null) return null; // no code was tried: this process has another platform key
  const step = totpStep(secret, code, { at: given.at, after: factor.last_step });
  if (step === null) {
    // A login that is sent twice is no second try: who sends a code that was used has guessed nothing, and learns nothing.
    if (totpStep(secret, code, { at: given.at, after: 0 }) !== null) return null;
    const count = await noteWrongCode(tx, user);
    if (TOLD_AT.includes(count)) await given.onWrongCodes(wrongCodes(count, given.at, factor));
    return null;
  }
  await markStep(tx, user, step);
  return "totp";
}

function wrongCodes(
  count: number,
  at: number,
  { wrong_left_s }: Pick<SecondFactorRow, "wrong_left_s">,
): WrongCodes {
  const isHeld = count >= WRONG_ELSEWHERE_MAX;
  const held = count >= WRONG_MAX ? "everywhere" : isHeld ? "elsewhere" : "nowhere";
  return { count, held, until: at + wrong_left_s * 1000 };
}

/** Makes the refusal of a missing or wrong code, for a caller who has given the right password. */
export function wrongCode(): DomainError {
  const message = "a code of the authenticator, not used before, or a recovery code is expected";
  return new DomainError("auth.credentials", message, { errors: [{ path: "/code", message }] });
}

/** Makes the refusal of a login with the right password after too many wrong codes. */
export function tooManyCodes({ retryAfterS }: CodesHeld): DomainError {
  const message = "too many wrong codes of the authenticator: log in with a recovery code, or wait";
  return new DomainError("rate.limited", message, { retryAfterS });
}

/** Draws a recovery code: 80 bits in groups of four. */
export function newRecoveryCode(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RECOVERY_BYTES));
  return base32(bytes).match(/.{4}/g)!.join("-");
}

/** The digest under which a recovery code is stored. */
export function digestRecoveryCode(code: string): Uint8Array {
  return Uint8Array.fromHex(hash("sha256", code.toUpperCase().replaceAll("-", ""), "hex"));
}
