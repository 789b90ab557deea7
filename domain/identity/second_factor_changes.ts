/**
 * Second factors of users: time-based one-time passwords, required at logins once a first code has
 * confirmed them, and recovery codes, each of which replaces one of them once.
 * @module
 */
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import {
  confirmSecondFactor,
  deleteSecondFactor,
  lockSecondFactor,
  replaceSecondFactor,
  selectSecondFactor,
} from "../../db/security/second_factors.ts";
import type { UserRow } from "../../db/identity/users.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { assertPersonal } from "./password_changes.ts";
import { digestRecoveryCode, newRecoveryCode, wrongCode } from "../security/second_factors.ts";
import type { Secrets } from "../security/serving_secrets.ts";
import { newTotpSecret, totpStep, totpUri } from "../security/totp.ts";
import { assertMayChange } from "./user_collection.ts";
import { findUser } from "./users.ts";

/** The code that confirms a second factor. */
export const FirstCode = z.strictObject({ code: z.string().min(1).max(40) })
  .meta({ id: "FirstCode" });
/** A second factor as shown once, when it is created. */
export const NewTotpView = z.object({
  secret: z.string(),
  uri: z.string().meta({ description: "The URI that an authenticator reads, as a QR code." }),
}).meta({ id: "NewTotp" });
/** A second factor as shown later. */
export const TotpView = z.object({
  confirmed: z.boolean(),
  recovery_codes_left: z.number().int(),
}).meta({ id: "Totp" });
/** Recovery codes as shown once. */
export const RecoveryView = z.object({ recovery_codes: z.array(z.string()) })
  .meta({ id: "RecoveryCodes" });

const RECOVERY_CODES = 10;

/**
 * Creates a second factor of the actor's own; logins require it once it is confirmed.
 *
 * @throws {DomainError} user.not_found, permission.owner, version.conflict
 */
export async function beginTotp(
  tx: Tx,
  actor: Actor,
  user: string,
  secrets: Secrets,
): Promise<z.infer<typeof NewTotpView>> {
  const { username } = await findUser(tx, actor, user);
  assertPersonal(actor, user);
  const before = await lockSecondFactor(tx, user);
  if ((before?.confirmed_at ?? null) !== null) {
    throw new DomainError("version.conflict", "there is one: end it before another is begun");
  }
  const secret = newTotpSecret();
  const ciphertext = secrets.encrypt("totp", `${actor.realm.id} ${user}`, secret);
  await replaceSecondFactor(tx, { user_id: user, secret: ciphertext, created_at: actor.at });
  return { secret, uri: totpUri(secret, { issuer: "Purser", name: username }) };
}

/** Is told of a user whose second factor has changed. */
export type OnChange = (user: UserRow) => Promise<void>;

/**
 * Confirms the second factor by its first code, and gives the recovery codes.
 *
 * @throws {DomainError} permission.owner, auth.credentials, version.conflict
 */
export async function confirmTotp(
  tx: Tx,
  actor: Actor,
  given: { user: string; code: string },
  { secrets, onChange }: { secrets: Secrets; onChange: OnChange },
): Promise<z.infer<typeof RecoveryView>> {
  const user = await findUser(tx, actor, given.user);
  assertPersonal(actor, given.user);
  const factor = await lockSecondFactor(tx, given.user);
  if (factor === null || factor.confirmed_at !== null) {
    throw new DomainError("version.conflict", "there is none that waits for its first code");
  }
  const secret = secrets.decrypt("totp", `${actor.realm.id} ${given.user}`, factor.secret);
  const step = secret === null ? null : totpStep(secret, given.code, { at: actor.at, after: 0 });
  if (step === null) throw wrongCode();
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  await confirmSecondFactor(tx, given.user, {
    at: actor.at,
    step,
    recovery: codes.map(digestRecoveryCode),
  });
  await onChange(user);
  return { recovery_codes: codes };
}

/** Tells whether a user has a second factor. */
export async function readTotp(
  db: Db,
  actor: Actor,
  user: string,
): Promise<z.infer<typeof TotpView>> {
  const { id } = await findUser(db, actor, user);
  const factor = await selectSecondFactor(db, id);
  return {
    confirmed: (factor?.confirmed_at ?? null) !== null,
    recovery_codes_left: factor?.recovery_left ?? 0,
  };
}

/**
 * Ends a second factor: one's own, or that of a user whom the actor may change.
 *
 * @throws {DomainError} user.not_found, permission.*
 */
export async function endTotp(
  tx: Tx,
  actor: Actor,
  user: string,
  onChange: OnChange,
): Promise<z.infer<typeof TotpView>> {
  const row = await assertMayChange(tx, actor, user);
  const before = await lockSecondFactor(tx, user);
  await deleteSecondFactor(tx, user);
  if ((before?.confirmed_at ?? null) !== null) await onChange(row);
  return { confirmed: false, recovery_codes_left: 0 };
}
