/** Logins: the issue of user keys, and their revocation. @module */
import { z } from "zod";
import type { Pool, Tx } from "../../db/database.ts";
import { endLogins, insertLogin } from "../../db/identity/logins.ts";
import { insertAudit } from "../../db/records.ts";
import type { RealmRow } from "../../db/realms/realms.ts";
import {
  insertRevocations,
  insertUserRevocation,
  lockVerifier,
} from "../../db/security/sessions.ts";
import { reading, serializable } from "../../db/transaction.ts";
import { selectAdmin, selectUserByName, type UserRow } from "../../db/identity/users.ts";
import type { Actor, Role, Scope } from "../actor.ts";
import { text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { idTime, newId, randomId } from "../ids.ts";
import { checkPassword } from "./passwords.ts";
import { beginAttempt, checkAttempt, endAttempt } from "./login_limits.ts";
import {
  type CodesHeld,
  type LoginMethod,
  passesSecondFactor,
  tooManyCodes,
  wrongCode,
  type WrongCodes,
} from "./second_factors.ts";
import type { Claims } from "./user_keys.ts";

const Code = z.string().min(1).max(40).optional().meta({
  description: "Of the authenticator, or a recovery code; for users with one-time passwords.",
});

/** Credentials of a user's login. */
export const UserLogin = z.strictObject({
  realm_key: text(100),
  username: text(200),
  password: z.string().min(1).max(200),
  code: Code,
}).meta({ id: "UserLogin" });

/** Credentials of a realm administrator's login. */
export const AdminLogin = z.strictObject({
  realm_key: text(100),
  email: text(254).optional(),
  username: text(200).optional(),
  password: z.string().min(1).max(200),
  code: Code,
}).refine(
  (login) => login.email !== undefined || login.username !== undefined,
  "email or username is expected",
).meta({ id: "AdminLogin", anyOf: [{ required: ["email"] }, { required: ["username"] }] });

/** The answer to a login. */
export const SessionView = z.object({
  "x-api-key": z.string(),
  expires_at: z.number().int(),
}).meta({ id: "Session" });

/** Credentials of a login, of a user or an administrator. */
export interface Login {
  email?: string;
  username?: string;
  password: string;
  /** Of the user's second factor. */
  code?: string;
  /** Decrypts a user's second factor. */
  openFactor: (user: string, ciphertext: Uint8Array) => string | null;
  /** Tells a user that somebody who has its password tries codes, in the transaction that counts them. */
  onWrongCodes: (tx: Tx, user: UserRow, wrong: WrongCodes) => Promise<void>;
  /** Id of the realm. */
  realm: string;
  /** Whether only realm administrators may log in. */
  admin: boolean;
  /** The action in the audit trail. */
  action: string;
  requestId: string;
  at: number;
  /** Network address of the client. */
  address: string;
  /** The network that counts the address's attempts. */
  network: string;
  /** The kind of program of the client. */
  agent: string | null;
  /** Lifetime of the key, in seconds. */
  ttlS: number;
  /**
   * Counts a login that is right, of one who works for the realm or not; where it throws, nothing of it is used up. It may
   * be called again.
   */
  admitted: (isHouse: boolean) => Promise<unknown>;
}

/**
 * A user with an accepted login, and its time by the database (milliseconds), which its key must
 * carry.
 */
export interface Entrant {
  user: UserRow;
  at: number;
  jti: string;
}

/** Clocks differ: a revocation outlives the keys it ends. */
const SLACK_S = 300;
/** Logins of a user that hold at once; one more ends the oldest. */
const LOGINS_MAX = 100;
/** Stands for an unknown user, so that it costs the same statements. */
const NOBODY = "00000000-0000-7000-8000-000000000000";

/**
 * Checks a login and gives its user. An unknown user and a wrong password take the same
 * work and get the same answer.
 *
 * @param rest waits a little, while other attempts of the same user or address are being checked
 * @throws {DomainError} auth.credentials, rate.limited, service.overloaded
 */
export async function logIn(
  pool: Pool,
  login: Login,
  rest: () => Promise<void>,
): Promise<Entrant> {
  const name = (login.username ?? login.email?.toLowerCase())!; // of both one counts, however the other is written
  const user = await reading(pool, (db) =>
    login.admin
      ? selectAdmin(db, {
        email: login.email?.toLowerCase() ?? null,
        username: login.username ?? null,
      })
      : selectUserByName(db, name));
  const attempt = await beginAttempt(pool, { name, network: login.network }, rest);
  const check = () => checkPassword(login.password, user?.verifier ?? null, login.realm);
  const right = await checkAttempt(pool, attempt, check);
  const outcome = await checkAttempt(
    pool,
    attempt,
    () => serializable(pool, (tx) => admit(tx, login, { user, right, isKnown: attempt.isKnown })),
  );
  const welcome = typeof outcome === "object" && "user" in outcome;
  const ended = endAttempt(pool, attempt, !welcome);
  // The login is stored and its code used: an attempt that stays open counts for half a minute, and refuses nothing here.
  if (welcome) return await ended.then(() => outcome, () => outcome);
  await ended;
  if (outcome === "code") throw wrongCode();
  if (typeof outcome === "object") throw tooManyCodes(outcome);
  throw new DomainError("auth.credentials", "the login is not right");
}

/** A login whose password was looked at. */
interface Checked {
  user: UserRow | null;
  right: boolean;
  /** Whether the user was right lately from where it comes. */
  isKnown: boolean;
}

/** Stores the login, and gives its time if the user may still log in; else the wrong credential, or for how long none is taken. */
async function admit(
  tx: Tx,
  login: Login,
  { user, right, isKnown }: Checked,
): Promise<Entrant | CodesHeld | "password" | "code"> {
  const now = await lockVerifier(tx, user?.id ?? NOBODY);
  const known = right && user !== null && now?.verifier === user.verifier &&
    (!login.admin || (now.roles.includes("admin") && now.scopes.includes("realm")));
  const method = known
    ? await passesSecondFactor(tx, user.id, {
      ...{ code: login.code, at: now.at, isKnown },
      open: (ciphertext) => login.openFactor(user.id, ciphertext),
      onWrongCodes: (wrong) => login.onWrongCodes(tx, user, wrong),
    })
    : null;
  const welcome = known && typeof method === "string";
  const id = newId(login.at);
  await insertAudit(tx, {
    id,
    actor: welcome ? user.id : null,
    action: welcome ? login.action : `${login.action} refused`,
    entity: user?.id ?? null,
    fields: null,
    request_id: login.requestId,
    address: login.address,
    created_at: idTime(id),
  });
  if (!known) return "password";
  if (method === null) return "code";
  if (typeof method === "object") return method;
  const { at, roles, scopes, keysUntil } = now; // rights may be fewer than when the password was looked at
  await login.admitted(scopes.includes("realm")); // the last that may refuse it
  return {
    user: { ...user, roles, scopes },
    at,
    jti: await keepLogin(tx, login, { user, at, method, keysUntil }),
  };
}

/** Stores a login, and ends the oldest of too many. */
async function keepLogin(
  tx: Tx,
  login: Login,
  { user, at, method, keysUntil }: {
    user: UserRow;
    at: number;
    method: LoginMethod;
    keysUntil: number;
  },
): Promise<string> {
  // The clock may have been ahead when the user's keys were ended: this one is none of those.
  const jti = randomId(Math.max(at, keysUntil + 1));
  await insertLogin(tx, {
    id: jti,
    user_id: user.id,
    method,
    address: login.address,
    agent: login.agent,
    expires_at: expiryOf(at, login.ttlS) * 1000,
    created_at: at,
  });
  await revokeLogins(tx, { at }, user.id, await endLogins(tx, user.id, { beyond: LOGINS_MAX }));
  return jti;
}

/** The realm of a user key. */
export type KeyRealm = Pick<RealmRow, "id" | "login_epoch">;

/** Makes the claims of a user's new key. */
export function claimsOf(
  user: UserRow,
  realm: KeyRealm,
  at: number,
  ttlS: number,
  jti: string = randomId(at),
): Claims {
  const issuedAt = Math.floor(at / 1000);
  return {
    user: user.id,
    realm: realm.id,
    epoch: realm.login_epoch,
    roles: user.roles as Role[],
    scopes: user.scopes as Scope[],
    jti,
    issuedAt,
    expiresAt: expiryOf(at, ttlS),
    authTime: issuedAt,
  };
}

/** When a key expires, in seconds since the epoch. */
function expiryOf(at: number, ttlS: number): number {
  return Math.floor(at / 1000) + ttlS;
}

/** Revokes one key. */
export async function revokeKey(
  tx: Tx,
  actor: Pick<Actor, "at">,
  claims: Pick<Claims, "user" | "jti" | "expiresAt">,
): Promise<void> {
  const ended = [{ id: claims.jti, expires_at: claims.expiresAt * 1000 }];
  await revokeLogins(tx, actor, claims.user, ended);
}

/** Revokes the keys of a user's logins; `expires_at` in milliseconds since the epoch. */
export async function revokeLogins(
  tx: Tx,
  { at }: Pick<Actor, "at">,
  user: string,
  logins: readonly { id: string; expires_at: number }[],
): Promise<void> {
  if (logins.length === 0) return;
  const keys = logins.map(({ id, expires_at }) => ({
    id: newId(at),
    jti: id,
    expires_at: Math.ceil(expires_at / 1000) * 1000,
  }));
  await insertRevocations(tx, { user, at }, keys);
}

/**
 * Revokes every key that a user holds now.
 *
 * @param ttlS lifetime of keys in seconds: how long the revocation must be remembered
 */
export async function revokeUser(
  tx: Tx,
  actor: Actor,
  user: string,
  ttlS: number,
): Promise<void> {
  const ahead = await insertUserRevocation(tx, {
    id: newId(actor.at),
    user_id: user,
    expires_at: actor.at + (ttlS + SLACK_S) * 1000,
    created_at: actor.at,
  });
  await revokeLogins(tx, actor, user, ahead);
}
