/** Logins: who may have a user key, and how one ends. @module */
import { z } from "zod";
import type { Pool, Tx } from "../db/database.ts";
import { deleteAttempt, insertAttempt, insertRevocation } from "../db/sessions.ts";
import { reading, serializable } from "../db/transaction.ts";
import { selectAdmin, selectUserByName, type UserRow } from "../db/users.ts";
import type { Actor, Role, Scope } from "./actor.ts";
import { text } from "./entity.ts";
import { DomainError } from "./errors.ts";
import { newId } from "./ids.ts";
import { checkPassword } from "./passwords.ts";
import type { Claims } from "./tokens.ts";

/** What a user logs in with. */
export const UserLogin = z.strictObject({
  realm_key: text(100),
  username: text(200),
  password: z.string().min(1).max(200),
}).meta({ id: "UserLogin" });

/** What an administrator of a realm logs in with. */
export const AdminLogin = z.strictObject({
  realm_key: text(100),
  email: text(254).optional(),
  username: text(200).optional(),
  password: z.string().min(1).max(200),
}).refine(
  (login) => login.email !== undefined || login.username !== undefined,
  "email or username is expected",
).meta({ id: "AdminLogin" });

/** The answer to a login. */
export const SessionView = z.object({
  "x-api-key": z.string(),
  expires_at: z.number().int(),
}).meta({ id: "Session" });

/** A login, whoever makes it. */
export interface Login {
  email?: string;
  username?: string;
  password: string;
  /** Only realm administrators are let in. */
  admin: boolean;
  at: number;
  /** Network address the login comes from. */
  address: string;
}

const WRONG_PER_USER = 5;
const WRONG_PER_ADDRESS = 30;

/**
 * Checks a login and gives the user it is of. An unknown user and a wrong password take the same
 * time and get the same answer.
 *
 * @throws {DomainError} auth.credentials, rate.limited
 */
export async function logIn(pool: Pool, login: Login): Promise<UserRow> {
  const name = (login.email?.toLowerCase() ?? login.username)!;
  const attempt = { id: newId(login.at), username: name, address: login.address };
  const recent = await serializable(
    pool,
    (tx) => insertAttempt(tx, { ...attempt, created_at: login.at }),
  );
  if (recent.byUser > WRONG_PER_USER || recent.byAddress > WRONG_PER_ADDRESS) {
    throw new DomainError("rate.limited", "too many wrong logins: wait a minute", {
      retryAfterS: 60,
    });
  }
  const user = await reading(pool, (db) =>
    login.admin
      ? selectAdmin(db, {
        email: login.email?.toLowerCase() ?? null,
        username: login.username ?? null,
      })
      : selectUserByName(db, name));
  const right = await checkPassword(login.password, user?.verifier ?? null);
  if (user === null || !right || !user.active) {
    throw new DomainError("auth.credentials", "the login is not right");
  }
  await serializable(pool, (tx) => deleteAttempt(tx, attempt.id));
  return user;
}

/** What a user's new key says. */
export function claimsOf(
  user: UserRow,
  realm: string,
  at: number,
  ttlS: number,
): Claims {
  const issuedAt = Math.floor(at / 1000);
  return {
    user: user.id,
    realm,
    roles: user.roles as Role[],
    scopes: user.scopes as Scope[],
    jti: newId(at),
    issuedAt,
    expiresAt: issuedAt + ttlS,
  };
}

/** Revokes one key. */
export async function revokeKey(tx: Tx, actor: Actor, claims: Claims): Promise<void> {
  await insertRevocation(tx, {
    id: newId(actor.at),
    user_id: claims.user,
    jti: claims.jti,
    issued_before: null,
    expires_at: claims.expiresAt * 1000,
    created_at: actor.at,
  });
}

/** Revokes every key that a user holds now. */
export async function revokeUser(
  tx: Tx,
  actor: Actor,
  user: string,
  ttlS: number,
): Promise<void> {
  await insertRevocation(tx, {
    id: newId(actor.at),
    user_id: user,
    jti: null,
    issued_before: actor.at,
    expires_at: actor.at + ttlS * 1000,
    created_at: actor.at,
  });
}
