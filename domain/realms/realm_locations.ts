/** Locations of realms: schema, role and database. @module */
import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { RealmLocation } from "../../db/database.ts";
import type { Logins } from "../../db/realm_logins.ts";
import type { RealmRow } from "../../db/realms/realms.ts";
import type { RealmTargets } from "../zones.ts";
import type { Secrets } from "../security/serving_secrets.ts";

/**
 * Address of a realm's own database. One on another machine, the operator's own too, must state its sslmode, so that passwords
 * and money never cross a network in plain text by mistake.
 */
export const DatabaseUrl = z.url({ protocol: /^postgres(ql)?$/ }).max(2000).refine((text) => {
  const url = URL.parse(text);
  return url === null || /^(localhost|127(\.\d+){3}|\[::1\]|)$/.test(url.hostname) ||
    url.searchParams.has("sslmode") || url.searchParams.has("ssl");
}, "another machine is named and no sslmode (verify-full, require, or disable)").meta({
  description:
    "A PostgreSQL 15 or newer of the realm's own, on a server that the operator lets the " +
    "service reach. On another machine sslmode must be said. Without it the realm is made in the " +
    "database that the operator has set for its zone, else in the platform's.",
});

/** Where a new realm will live. */
export function newLocation(
  id: string,
  { roles, logins }: { roles: boolean; logins?: Logins },
  encryptedUrl: Uint8Array | null = null,
): RealmLocation {
  const schema = `realm_${id.replaceAll("-", "")}`;
  const login = roles ? logins?.draw(id) ?? null : null;
  return {
    id,
    schema,
    role: roles ? schema : null,
    encryptedUrl,
    login,
    schemaVersion: 0,
    place: 0,
  };
}

/** Where a realm's data lives. */
export function locationOf(row: RealmRow): RealmLocation {
  return {
    id: row.id,
    schema: row.schema_name,
    role: row.role_name,
    encryptedUrl: row.database_url_encrypted,
    login: row.login,
    schemaVersion: row.schema_version,
    place: row.place,
  };
}

/**
 * Gives the present address of a database whose address was stored with a realm: where a setting names the same login
 * in the same database, that one counts, so that a new password reaches the realms that were made before it.
 */
export function presentAddress(stored: string | null, targets: RealmTargets): string | null {
  if (stored === null) return null;
  const same = Object.values(targets).find((target) =>
    target !== null && loginOf(target.url) === loginOf(stored)
  );
  return same?.url ?? stored;
}

/**
 * Whether an address names the login of a setting, in its database, without its password. In a realm such an address would give
 * way to the setting, and be used with its password.
 */
export function borrowsLogin(address: string, targets: RealmTargets): boolean {
  const given = passwordOf(address);
  return Object.values(targets).some((target) =>
    target !== null && loginOf(target.url) === loginOf(address) &&
    !isSame(given, passwordOf(target.url))
  );
}

function passwordOf(address: string): string {
  const { password } = new URL(address);
  try {
    return decodeURIComponent(password);
  } catch {
    return password; // no server is asked with it
  }
}

/** Compares secrets in a time that says nothing of them. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Server, database and login of an address. */
function loginOf(address: string): string {
  const { username, hostname, port, pathname } = new URL(address);
  return `${username}@${hostname.toLowerCase()}:${port || "5432"}${pathname}`;
}

/** Host, port and database of an address; never its login. */
export function serverOf(address: string): string {
  const url = URL.parse(address);
  if (url === null) return "unknown: no address";
  return `${url.hostname || "localhost"}:${url.port || "5432"}${url.pathname}`;
}

/** Host, port and database of a realm that has a database of its own; never its login. */
export function nameServer(
  secrets: Secrets,
  realm: string,
  encrypted: Uint8Array | null,
): string {
  if (encrypted === null) return "the platform's database";
  const address = secrets.decrypt("database_url", realm, encrypted);
  return address === null ? "unknown: encrypted under another key" : serverOf(address);
}
