/**
 * Logins of realms: each of a realm's two roles connects by itself, with a password of its own,
 * which derives from an encrypted secret of the realm.
 * @module
 */
import { createHash, createHmac, pbkdf2Sync } from "node:crypto";
import type postgres from "postgres";

/** Secrets of realms' logins; each is stored encrypted, and the same in every process. */
export interface Logins {
  /** Draws a secret for a realm, and encrypts it. */
  draw(realm: string): Uint8Array;
  /** Decrypts the secret; null if it was encrypted under another key. */
  open(encrypted: Uint8Array, realm: string): string | null;
}

/**
 * Few iterations suffice: stretching slows guesses, of 256 random bits none succeeds, and realms
 * connect often.
 */
const ITERATIONS = 16;
const BYTES = 32;

/**
 * Computes the server's verifier of a password (RFC 5803, SCRAM-SHA-256), so that no statement and no
 * log of the server ever shows the password.
 */
function scramVerifier(password: string, salt: Uint8Array<ArrayBuffer> = newSalt()): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, BYTES, "sha256");
  const clientKey = createHmac("sha256", salted).update("Client Key").digest();
  const storedKey = createHash("sha256").update(clientKey).digest("base64");
  const serverKey = createHmac("sha256", salted).update("Server Key").digest("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toBase64()}$${storedKey}:${serverKey}`;
}

function newSalt(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(16));
}

/**
 * Gives the password of each role of a realm (HMAC-SHA-256); null where its roles do not log in.
 *
 * @throws {Error} if the secret was encrypted under another key
 */
export function passwordsOf(
  location: { id: string; role: string | null; login: Uint8Array | null },
  logins: Logins | undefined,
): ((role: string) => string) | null {
  if (location.role === null || location.login === null || logins === undefined) return null;
  const secret = logins.open(location.login, location.id);
  if (secret === null) {
    throw new Error(`the secret of realm ${location.id}'s logins was encrypted under another key`);
  }
  return (role) => createHmac("sha256", secret).update(role).digest("base64url");
}

/**
 * Lets a role log in to this database with its password, which replaces an earlier one.
 *
 * @throws {Error} where the database lets none of its roles connect
 */
export async function openLogin(
  tx: postgres.TransactionSql,
  role: string,
  password: string,
): Promise<void> {
  const verifier = scramVerifier(password);
  await tx.unsafe(`alter role "${role}" login password '${verifier}'`);
  const [{ name, open }] = await tx<{ name: string; open: boolean }[]>`
    select current_database() as name,
      has_database_privilege(${role}, current_database(), 'connect') as open`;
  if (open) return;
  const hint = "grant connect on it to public, or set REALM_LOGINS=off";
  throw new Error(`the roles of realms cannot connect to the database ${name}: ${hint}`);
}

/** Resets the settings of a role's connections, in all databases and in this one. */
export async function resetSettings(tx: postgres.TransactionSql, role: string): Promise<void> {
  const [{ name }] = await tx<{ name: string }[]>`select current_database() as name`;
  await tx`alter role ${tx(role)} reset all`;
  await tx`alter role ${tx(role)} in database ${tx(name)} reset all`;
}
