/** Second factors at logins: one-time passwords and recovery codes. @module */
import { hash } from "node:crypto";
import type { Tx } from "../../db/database.ts";
import { lockSecondFactor, markStep, takeRecoveryCode } from "../../db/security/second_factors.ts";
import { DomainError } from "../errors.ts";
import { base32, totpStep } from "./totp.ts";

const RECOVERY_BYTES = 10;

/** The credentials that a login was accepted by. */
export type LoginMethod = "password" | "totp" | "recovery_code";

/**
 * Gives the method by which a login with the right password is accepted; null: it is refused. A code
 * counts once.
 */
export async function passesSecondFactor(
  tx: Tx,
  user: string,
  given: { code: string | undefined; at: number; open: (ciphertext: Uint8Array) => string | null },
): Promise<LoginMethod | null> {
  const factor = await lockSecondFactor(tx, user);
  if (factor === null || factor.confirmed_at === null) return "password";
  if (given.code === undefined) return null;
  const code = given.code.replaceAll(/\s/g, "");
  if (code.length > 6) {
    const taken = await takeRecoveryCode(tx, user, digestRecoveryCode(code));
    return taken ? "recovery_code" : null;
  }
  const secret = given.open(factor.secret);
  const after = factor.last_step;
  const step = secret === null ? null : totpStep(secret, code, { at: given.at, after });
  if (step === null) return null;
  await markStep(tx, user, step);
  return "totp";
}

/** Makes the refusal of a missing or wrong code, for a caller who has given the right password. */
export function wrongCode(): DomainError {
  const message = "a code of the authenticator, not used before, or a recovery code is expected";
  return new DomainError("auth.credentials", message, { errors: [{ path: "/code", message }] });
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
