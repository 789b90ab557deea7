/**
 * Idempotency keys: the header that names a request, and what tells the request apart. They are read here and
 * nowhere else.
 * @module
 */
import { hash } from "node:crypto";
import { type Actor, reachesRealm, roleOf, ROLES } from "../../domain/actor.ts";
import type { IdempotencyClaim } from "../../domain/command.ts";
import { DomainError } from "../../domain/errors.ts";

const KEY = /^[\x21-\x7e]{1,255}$/;

/** The caller of a request with an idempotency key, and what tells the request apart. */
export interface KeyedRequest {
  actor: Pick<Actor, "user" | "kind" | "roles" | "scopes">;
  method: string;
  /** With its query. */
  path: string;
  body: string;
}

/**
 * Reads the idempotency key of a request: scope is realm, user and key; the request is told apart by
 * its method, path and body, and carries the rights that it is made with: an answer that was given to a
 * login is none for a machine key of the same user that may do and see less.
 *
 * @throws {DomainError} request.invalid
 */
export function claimOf(
  header: string | null,
  { actor, method, path, body }: KeyedRequest,
): IdempotencyClaim | null {
  if (header === null) return null;
  if (!KEY.test(header)) {
    const message = "1 to 255 visible ASCII characters are expected";
    throw new DomainError("request.invalid", `idempotency-key: ${message}`, {
      errors: [{ path: "/idempotency-key", message, in: "header" }],
    });
  }
  const rights = ROLES.indexOf(roleOf(actor)) * 2 + (reachesRealm(actor) ? 1 : 0);
  return {
    key: digestId(`${actor.user || actor.kind}\0${header}`),
    fingerprint: digestId(`${method}\0${path}\0${body}`).slice(0, -1) + rights,
  };
}

/** The first 128 bits of a SHA-256, as a UUID without hyphens: PostgreSQL takes that, and each would make a copy. */
function digestId(text: string): string {
  return hash("sha256", text, "hex").slice(0, 32);
}
