/** The logins of a user: their list, their origin, and their end. @module */
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import { endLogins, type LoginRow, selectLogins } from "../../db/identity/logins.ts";
import { lockUser } from "../../db/security/sessions.ts";
import { type Actor, reachesRealm, roleOf } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { isId } from "../ids.ts";
import { assertRealmAdmin, notFound } from "../permissions.ts";
import { revokeLogins, revokeUser } from "../security/sessions.ts";
import type { Claims } from "../security/user_keys.ts";
import { findUser } from "./users.ts";

/** A login as shown: never the key that it gave. */
export const LoginView = z.object({
  id: z.string(),
  user: z.string(),
  method: z.enum(["password", "totp", "recovery_code"]).meta({
    description: "A password alone; or with it a one-time password, or a recovery code.",
  }),
  address: z.string().nullable().meta({ description: "Network address that it came from." }),
  agent: z.string().nullable().meta({
    description: "The kind of program that it came from.",
    example: "Firefox on Linux",
  }),
  current: z.boolean().meta({ description: "It gave the key in use." }),
  created_at: z.number().int(),
  last_used_at: z.number().int().nullable().meta({ description: "Exact to about a minute." }),
  expires_at: z.number().int(),
}).meta({ id: "Login" });

/** The number of ended logins. */
export const EndedView = z.object({ ended: z.number().int() }).meta({ id: "EndedLogins" });

/** The user whose logins are meant, and the key of the request. */
export interface LoginsOf {
  user: string;
  /** Of the key in use; null for a key of a machine. */
  claims: Claims | null;
  /** Lifetime of keys, in seconds. */
  ttlS: number;
}

/**
 * Lists a user's open logins: one's own, or any user's for an administrator of the realm.
 *
 * @throws {DomainError} auth.invalid, user.not_found, permission.*
 */
export async function listLogins(
  db: Db,
  actor: Actor,
  of: LoginsOf,
): Promise<z.infer<typeof LoginView>[]> {
  await assertMayEnd(db, actor, of);
  const rows = await selectLogins(db, of.user, actor.at);
  return rows.map((row) => viewLogin(row, of)).filter(({ expires_at }) => expires_at > actor.at);
}

/**
 * Ends one login: its key is refused within a second everywhere.
 *
 * @throws {DomainError} auth.invalid, login.not_found, user.not_found, permission.*
 */
export async function endLogin(
  tx: Tx,
  actor: Actor,
  of: LoginsOf & { id: string },
): Promise<{ id: string; ended: number }> {
  await assertMayEnd(tx, actor, of);
  const ended = isId(of.id) ? await endLogins(tx, of.user, { id: of.id }) : [];
  if (ended.length === 0) throw notFound("login.not_found");
  await revokeLogins(tx, actor, of.user, ended);
  return { id: of.id, ended: 1 };
}

/**
 * Ends all logins of the actor but the one in use.
 *
 * @throws {DomainError} auth.invalid
 */
export async function endOtherLogins(
  tx: Tx,
  actor: Actor,
  claims: Claims | null,
): Promise<z.infer<typeof EndedView>> {
  if (claims === null) throw needsLogin();
  // A concurrent login has its row before this query, or waits for it and counts as a later one.
  await lockUser(tx, actor.user);
  const ended = await endLogins(tx, actor.user, { except: claims.jti });
  await revokeLogins(tx, actor, actor.user, ended);
  return { ended: ended.length };
}

/**
 * Ends all logins of a user, with every key that the user holds.
 *
 * @throws {DomainError} auth.invalid, user.not_found, permission.*
 */
export async function endAllLogins(
  tx: Tx,
  actor: Actor,
  of: LoginsOf,
): Promise<{ id: string; ended: number }> {
  await assertMayEnd(tx, actor, of);
  const ended = await selectLogins(tx, of.user, actor.at);
  await revokeUser(tx, actor, of.user, of.ttlS);
  return { id: of.user, ended: ended.length };
}

async function assertMayEnd(db: Db, actor: Actor, { user, claims }: LoginsOf): Promise<void> {
  if (claims === null) throw needsLogin();
  const isAdmin = roleOf(actor) === "admin" && reachesRealm(actor);
  await findUser(db, actor, user);
  if (user !== actor.user && !isAdmin) assertRealmAdmin(actor);
}

function needsLogin(): DomainError {
  return new DomainError("auth.invalid", "this takes a login: a machine key is not enough");
}

function viewLogin(row: LoginRow, { claims, ttlS }: LoginsOf): z.infer<typeof LoginView> {
  return {
    id: row.id,
    user: row.user_id,
    method: row.method,
    address: row.address,
    agent: row.agent,
    current: row.id === claims?.jti,
    created_at: row.created_at,
    last_used_at: row.last_used_at,
    expires_at: Math.min(row.expires_at, row.created_at + ttlS * 1000), // it may have been shortened
  };
}

const PROGRAMS: readonly [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS|Chromium)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
  [/^curl\//i, "curl"],
  [/^(python|okhttp|go-http|java|node|deno|axios|postman)/i, "a program"],
];
const SYSTEMS: readonly [RegExp, string][] = [
  [/\bAndroid\b/, "Android"],
  [/\b(iPhone|iPad)\b/, "iOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMacintosh\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];

/**
 * Gives the kind of program that a user-agent header names; the header itself reveals more and is not
 * kept.
 */
export function agentOf(header: string | null): string | null {
  if (header === null) return null;
  const text = header.slice(0, 500);
  const program = PROGRAMS.find(([form]) => form.test(text))?.[1] ?? "another program";
  const system = SYSTEMS.find(([form]) => form.test(text))?.[1];
  return system === undefined ? program : `${program} on ${system}`;
}
