/**
 * The one error that the domain throws, and the closed list of its codes. Codes are promises to
 * clients; messages are for people. The routes know the HTTP status of each code.
 * @module
 */

/** Every code a problem can carry. Adding one here fails to compile until it has a status. */
export const ERROR_CODES = [
  "request.malformed",
  "request.invalid",
  "query.invalid",
  "auth.missing",
  "auth.invalid",
  "auth.expired",
  "auth.revoked",
  "auth.credentials",
  "credits.exhausted",
  "permission.role",
  "permission.scope",
  "permission.owner",
  "realm.not_found",
  "key.not_found",
  "user.not_found",
  "identity.not_found",
  "account.not_found",
  "address.not_found",
  "alias.not_found",
  "currency.not_found",
  "token.not_found",
  "withdrawal.not_found",
  "consolidation.not_found",
  "deposit.not_found",
  "transaction.not_found",
  "block.not_found",
  "ramp.not_found",
  "transfer.not_found",
  "message.not_found",
  "webhook.not_found",
  "delivery.not_found",
  "person.not_found",
  "company.not_found",
  "rate.not_found",
  "stop.not_found",
  "login.not_found",
  "job.not_found",
  "problem.not_found",
  "route.not_found",
  "method.not_allowed",
  "request.not_acceptable",
  "request.too_large",
  "request.media_type",
  "balance.insufficient",
  "account.frozen",
  "account.inactive",
  "account.not_enabled",
  "account.not_empty",
  "account.no_ramp",
  "account.asset_mismatch",
  "ramp.assets_insufficient",
  "ramp.gas_insufficient",
  "alias.taken",
  "username.taken",
  "person.taken",
  "company.taken",
  "sync.running",
  "currency.taken",
  "address.assigned",
  "rate.unavailable",
  "withdrawal.not_cancelable",
  "withdrawal.below_fee",
  "withdrawal.fee_exceeded",
  "user.last_admin",
  "transaction.reverted",
  "block.closed",
  "condition.failed",
  "reference.taken",
  "asset.suspended",
  "token.pending",
  "entity.deleted",
  "version.conflict",
  "stop.active",
  "chain.quarantined",
  "event.expired",
  "transaction.archived",
  "time.archived",
  "idempotency.key_reused",
  "address.invalid",
  "asset.unknown",
  "asset.no_testnet",
  "token.unsupported_chain",
  "token.invalid",
  "recipient.invalid",
  "recipient.missing",
  "recipient.no_interaction",
  "rate.limited",
  "internal",
  "extension.disabled",
  "upstream.failed",
  "chain.not_configured",
  "chain.stale",
  "service.overloaded",
  "upstream.timeout",
] as const;

/** A stable machine-readable code (contract, section 4). */
export type ErrorCode = typeof ERROR_CODES[number];

/** One fault in the input; `path` is a JSON pointer into the body, or to the parameter's name. */
export interface Fault {
  path: string;
  /** The part of the request that it points into, if not the body. */
  in?: "query" | "path" | "header";
  message: string;
}

/** The rest of a realm's limits. Null: without limit. */
export interface Allowance {
  /** Requests that a full bucket holds, those it holds now, and whole seconds until it is full. */
  limit: number | null;
  remaining: number;
  resetS: number;
  credits: number | null;
}

/** The details of an error beside its code and message. */
export interface ErrorExtra {
  /** The faults of an input, each with its place: what is invalid, or names what is not there. */
  errors?: Fault[];
  /** Whole seconds after which a repeat may succeed. */
  retryAfterS?: number;
  /** The rest of the realm's limits, if one was used up. */
  allowance?: Allowance;
  /** Position of the refused item in a batch, from 0. */
  index?: number;
}

/** A refusal with a stable code. Thrown by the domain, turned into a problem by the routes. */
export class DomainError extends Error {
  override readonly name = "DomainError";

  /** Makes a refusal; `message` is shown to the caller, so it never holds a secret. */
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly extra: ErrorExtra = {},
  ) {
    super(message);
  }
}

/**
 * Refuses one field of the input: `request.invalid` with the path of the field.
 *
 * @param path a JSON pointer into the body; "" for the body as a whole
 */
export function invalidField(path: string, message: string): DomainError {
  return new DomainError("request.invalid", message, { errors: [{ path, message }] });
}

/** The value of an entity's `error` field: a failure after its request was answered. */
export function errorField(code: string, detail: string): Record<string, unknown> {
  return { code, detail };
}
