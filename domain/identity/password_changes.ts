/** Changes of a user's own password, which require the present one. @module */
import { z } from "zod";
import type { Pool, Tx } from "../../db/database.ts";
import { lockVerifier } from "../../db/security/sessions.ts";
import { reading } from "../../db/transaction.ts";
import type { UserRow } from "../../db/identity/users.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { beginAttempt, checkAttempt, endAttempt } from "../security/login_limits.ts";
import { checkPassword, Password } from "../security/passwords.ts";
import { type ChangeTerms, changeUser } from "./user_collection.ts";
import { findUser } from "./users.ts";

/** A user's request to change its own password. */
export const NewPassword = z.strictObject({
  password: z.string().min(1).max(200).meta({ description: "The present one." }),
  new_password: Password,
}).meta({ id: "NewPassword" });

/**
 * Checks the actor's present password; wrong ones count like wrong logins.
 *
 * @param rest waits a little, while others of the same user or network are being checked
 * @throws {DomainError} user.not_found, permission.owner, auth.credentials, rate.limited
 */
export async function provePassword(
  pool: Pool,
  actor: Actor,
  given: { user: string; password: string; network: string },
  rest: () => Promise<void>,
): Promise<UserRow> {
  const user = await reading(pool, (db) => findUser(db, actor, given.user));
  assertPersonal(actor, user.id);
  const attempt = await beginAttempt(pool, { ...given, name: user.username }, rest);
  const check = () => checkPassword(given.password, user.verifier, actor.realm.id);
  const right = await checkAttempt(pool, attempt, check);
  await endAttempt(pool, attempt, !right);
  if (!right) throw wrongPassword();
  return user;
}

/**
 * Replaces the password that was proven by a new one, and ends all user keys.
 *
 * @throws {DomainError} auth.credentials where it has been changed meanwhile
 */
export async function changePassword(
  tx: Tx,
  actor: Actor,
  id: string,
  { was, verifier }: { was: string; verifier: string },
  terms: Pick<ChangeTerms, "ttlS" | "onNewPassword">,
): Promise<UserRow> {
  assertPersonal(actor, id);
  const now = await lockVerifier(tx, id);
  if (now?.verifier !== was) throw wrongPassword();
  const assertFresh = () => {}; // the present password was given
  return await changeUser(tx, actor, id, { verifier }, { ...terms, assertFresh });
}

/** Refuses every actor but the user itself. */
export function assertPersonal(actor: Actor, id: string): void {
  if (actor.kind === "user" && id === actor.user) return;
  throw new DomainError("permission.owner", "this is for the user itself");
}

function wrongPassword(): DomainError {
  return new DomainError("auth.credentials", "the present password is not right");
}
