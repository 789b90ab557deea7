/**
 * Problems: the answer of each error code. One table gives every code its status, its title and the
 * line that its page shows; a code without a row does not compile.
 * @module
 */
import { DomainError, type ErrorCode, type ErrorExtra } from "../../domain/errors.ts";

/** The answer of a code. */
interface ProblemKind {
  status: number;
  title: string;
  /** Its meaning, and the client's remedy. */
  help: string;
}

function kind(status: number, title: string, help: string): ProblemKind {
  return { status, title, help };
}

/** Every code's status, title and explanation. */
export const PROBLEMS = {
  "request.malformed": kind(400, "Malformed request", "The body is not JSON. Send UTF-8 JSON."),
  "request.invalid": kind(
    400,
    "Invalid request",
    "Fields are missing, unknown or wrong; errors names each by its JSON pointer.",
  ),
  "query.invalid": kind(
    400,
    "Invalid query",
    "A filter, sort, field, page or other parameter is not understood; errors names it.",
  ),
  "auth.missing": kind(401, "Key missing", "Send the key in x-api-key or Authorization."),
  "auth.invalid": kind(
    401,
    "Key invalid",
    "The key is not one that this service gave, or not one for this route.",
  ),
  "auth.expired": kind(401, "Key expired", "Log in again for a new key."),
  "auth.revoked": kind(
    401,
    "Key revoked",
    "The key was revoked: by logout, or because its user was changed. Log in again.",
  ),
  "auth.credentials": kind(
    401,
    "Wrong login",
    "The login data do not match. Unknown users and wrong passwords get the same answer.",
  ),
  "credits.exhausted": kind(
    402,
    "Credits exhausted",
    "The realm has used its credits for this month. A higher tier has more.",
  ),
  "permission.role": kind(403, "Role not sufficient", "The user's role does not permit this."),
  "permission.scope": kind(403, "Scope not sufficient", "The user's scope does not reach this."),
  "permission.owner": kind(
    403,
    "Not the owner",
    "It belongs to another user, and the role changes only the user's own entities.",
  ),
  "realm.not_found": kind(
    404,
    "Realm not found",
    "There is no such realm, or the key does not reach it.",
  ),
  "key.not_found": kind(404, "Key not found", "The realm has no such application key."),
  "user.not_found": kind(404, "User not found", "There is no such user, or you may not see it."),
  "identity.not_found": kind(
    404,
    "Identity not found",
    "There is no such identity, or you may not see it.",
  ),
  "account.not_found": kind(
    404,
    "Account not found",
    "There is no such account, or you may not see it.",
  ),
  "address.not_found": kind(404, "Address not found", "There is no such address on the account."),
  "alias.not_found": kind(404, "Alias not found", "There is no such alias, or you may not see it."),
  "currency.not_found": kind(
    404,
    "Currency not found",
    "There is no such virtual currency, or you may not see it.",
  ),
  "token.not_found": kind(404, "Token not found", "There is no such token, or you may not see it."),
  "withdrawal.not_found": kind(
    404,
    "Withdrawal not found",
    "There is no such withdrawal, or you may not see it.",
  ),
  "consolidation.not_found": kind(
    404,
    "Consolidation not found",
    "The ramp has no such consolidation.",
  ),
  "deposit.not_found": kind(
    404,
    "Deposit not found",
    "There is no such deposit, or you may not see it.",
  ),
  "transaction.not_found": kind(
    404,
    "Transaction not found",
    "There is no such transaction, or you may not see it.",
  ),
  "block.not_found": kind(404, "Block not found", "The account has no such block."),
  "ramp.not_found": kind(404, "Ramp not found", "There is no such ramp, or you may not see it."),
  "transfer.not_found": kind(
    404,
    "Transfer not found",
    "The external ramp has no such transfer.",
  ),
  "message.not_found": kind(
    404,
    "Message not found",
    "There is no such message, or you may not see it.",
  ),
  "webhook.not_found": kind(
    404,
    "Webhook not found",
    "There is no such webhook, or you may not see it.",
  ),
  "delivery.not_found": kind(404, "Delivery not found", "The webhook has no such delivery."),
  "person.not_found": kind(404, "Person not found", "There is no such person."),
  "company.not_found": kind(404, "Company not found", "There is no such company."),
  "rate.not_found": kind(404, "Rate not found", "No such rate is known."),
  "login.not_found": kind(404, "Login not found", "There is no such login, or it has ended."),
  "job.not_found": kind(404, "Job not found", "There is no such job, or it is not kept any more."),
  "stop.not_found": kind(404, "Stop not found", "There is no such stop."),
  "problem.not_found": kind(404, "Problem not found", "There is no problem of this code."),
  "route.not_found": kind(404, "Route not found", "No route has this path. See /docs."),
  "method.not_allowed": kind(
    405,
    "Method not allowed",
    "The path takes other methods; the allow header names them.",
  ),
  "request.not_acceptable": kind(
    406,
    "Not acceptable",
    "Answers are JSON; the accept header excludes it.",
  ),
  "request.too_large": kind(
    413,
    "Request too large",
    "A body is at most 1 MiB, a batch at most 8 MiB.",
  ),
  "request.media_type": kind(
    415,
    "Unsupported media type",
    "Send the body with content-type: application/json.",
  ),
  "balance.insufficient": kind(
    409,
    "Insufficient balance",
    "The available balance does not cover the amount.",
  ),
  "account.frozen": kind(
    409,
    "Account frozen",
    "A frozen account receives and does not send. Unfreeze it first.",
  ),
  "account.inactive": kind(
    409,
    "Account inactive",
    "An inactive account neither sends nor receives. Activate it first.",
  ),
  "account.not_enabled": kind(
    409,
    "Account not ready",
    "The account is still being made ready; wait until enabled is true.",
  ),
  "account.not_empty": kind(
    409,
    "Account not empty",
    "Its total and available balance must both be 0.",
  ),
  "account.no_ramp": kind(
    409,
    "Account without ramp",
    "A virtual account needs a ramp account for deposits and withdrawals.",
  ),
  "account.asset_mismatch": kind(
    409,
    "Assets differ",
    "Value moves only between accounts of the same asset and network.",
  ),
  "ramp.assets_insufficient": kind(
    409,
    "Ramp assets insufficient",
    "The ramp's address does not hold enough of the asset on the chain.",
  ),
  "ramp.gas_insufficient": kind(
    409,
    "Ramp gas insufficient",
    "The ramp's address does not hold enough native coin to pay the fee.",
  ),
  "alias.taken": kind(
    409,
    "Alias taken",
    "Accounts and identities share one directory of aliases; this one is assigned.",
  ),
  "username.taken": kind(
    409,
    "Username taken",
    "Another user of the realm has this name or administrator's address.",
  ),
  "person.taken": kind(
    409,
    "Person taken",
    "Another person has this telephone number or e-mail address, or the identity has a person " +
      "already. Persons are never merged: change one of them, or assign the other.",
  ),
  "company.taken": kind(
    409,
    "Domain taken",
    "Another company has one of these domains. Companies are never merged.",
  ),
  "sync.running": kind(
    409,
    "Synchronization runs",
    "One synchronization of persons runs at a time. Wait for persons.sync.finished.",
  ),
  "currency.taken": kind(
    409,
    "Currency name taken",
    "The name belongs to another currency, an asset or an accounting currency.",
  ),
  "address.assigned": kind(
    409,
    "Address assigned",
    "The address is assigned to an account already.",
  ),
  "rate.unavailable": kind(409, "Rate unavailable", "No rate is known for this conversion."),
  "withdrawal.not_cancelable": kind(
    409,
    "Not cancelable",
    "The withdrawal has been broadcast, or has ended.",
  ),
  "withdrawal.below_fee": kind(
    409,
    "Value below fee",
    "The receiver pays the fee, and the value does not exceed it; or it is below the least amount.",
  ),
  "withdrawal.fee_exceeded": kind(
    409,
    "Fee exceeded",
    "Its network fee would be more than the permitted multiple of its charge.",
  ),
  "user.last_admin": kind(
    409,
    "Last administrator",
    "A realm keeps at least one active administrator.",
  ),
  "transaction.reverted": kind(
    409,
    "Already reverted",
    "A transaction is reverted once, and a revert not at all.",
  ),
  "block.closed": kind(409, "Block closed", "The block was captured, released, or has expired."),
  "condition.failed": kind(409, "Condition failed", "A condition of the request does not hold."),
  "reference.taken": kind(
    409,
    "Reference taken",
    "Another transaction of the realm carries this reference.",
  ),
  "asset.suspended": kind(
    409,
    "Asset suspended",
    "The asset does not cross between chain and ledger at present.",
  ),
  "token.pending": kind(
    409,
    "Token pending",
    "The token's deployment does not have the chain's confirmations yet.",
  ),
  "entity.deleted": kind(409, "Deleted", "It was deleted; undelete it first."),
  "version.conflict": kind(409, "Version conflict", "It was changed meanwhile; read it again."),
  "stop.active": kind(
    409,
    "Stopped",
    "An emergency stop is in force for this. It passes when a realm administrator lifts it.",
  ),
  "chain.quarantined": kind(
    503,
    "Chain quarantined",
    "The database is older than the chain, or a copy: an operator must reconcile it first.",
  ),
  "event.expired": kind(
    410,
    "Event not kept",
    "Events after this one may have been deleted. Read what changed, and go on with the newest.",
  ),
  "transaction.archived": kind(410, "Transaction archived", "It is in the operator's archive."),
  "time.archived": kind(410, "Time archived", "Its entries are in the operator's archive."),
  "idempotency.key_reused": kind(
    422,
    "Idempotency key reused",
    "The key came with another method, path or body before.",
  ),
  "address.invalid": kind(
    422,
    "Invalid address",
    "It is not an address of this chain and network.",
  ),
  "asset.unknown": kind(
    422,
    "Unknown asset",
    "It is neither an asset code nor a virtual currency of the realm.",
  ),
  "asset.no_testnet": kind(422, "No test network", "Test networks exist for native coins only."),
  "token.unsupported_chain": kind(
    422,
    "Unsupported chain",
    "Tokens cannot be deployed on this chain.",
  ),
  "token.invalid": kind(
    422,
    "Invalid token",
    "The contract is missing or does not answer as declared.",
  ),
  "chain.not_configured": kind(
    422,
    "Chain not configured",
    "No node is configured for this chain and network.",
  ),
  "recipient.invalid": kind(
    422,
    "Invalid recipient",
    "It is neither an e-mail address nor a number (E.164), as the channel takes it.",
  ),
  "recipient.missing": kind(
    422,
    "Recipient missing",
    "The user or person has no address for this channel.",
  ),
  "recipient.no_interaction": kind(
    422,
    "No interaction",
    "WhatsApp needs the recipient to have written first.",
  ),
  "rate.limited": kind(429, "Too many requests", "Wait as long as retry-after says."),
  "internal": kind(
    500,
    "Internal error",
    "Something went wrong here. The request id helps to find it.",
  ),
  "extension.disabled": kind(
    501,
    "Extension disabled",
    "The installation runs without this extension.",
  ),
  "upstream.failed": kind(502, "Upstream failed", "A service behind this one failed."),
  "chain.stale": kind(
    503,
    "Chain data stale",
    "The stored data of the chain is too old to act on.",
  ),
  "service.overloaded": kind(
    503,
    "Overloaded",
    "Too much is waiting. Try again as retry-after says.",
  ),
  "upstream.timeout": kind(
    504,
    "Upstream timeout",
    "A service behind this one did not answer in time.",
  ),
} satisfies Record<ErrorCode, ProblemKind>;

/** A problem as it is sent (RFC 9457). */
export interface Problem extends Pick<ErrorExtra, "errors" | "index"> {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  instance: string;
}

/** Describes a refusal to the caller. */
export function problemOf(error: DomainError, baseUrl: string, requestId: string): Problem {
  const { status, title } = PROBLEMS[error.code];
  const { index } = error.extra;
  const errors = error.code !== "query.invalid"
    ? error.extra.errors
    : error.extra.errors?.map((fault) => ({ ...fault, in: fault.in ?? "query" }));
  return {
    type: `${baseUrl}/problems/${error.code}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    instance: requestId,
    ...(errors === undefined ? {} : { errors }),
    ...(index === undefined ? {} : { index }),
  };
}
