/**
 * Meanings of PostgreSQL's errors for the layers above: contention, a lost connection, a broken
 * constraint.
 * @module
 */

/** A transaction lost too many races, or the database stayed away; a later try may succeed. */
export class Contention extends Error {
  override readonly name = "Contention";
  /** Whether what was asked may have been done. */
  readonly mayBeDone: boolean;

  constructor(message: string, options: ErrorOptions & { mayBeDone?: boolean } = {}) {
    super(message, options);
    this.mayBeDone = options.mayBeDone ?? false;
  }
}

/** The SQLSTATE or driver code of an error, if it has one. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}

/**
 * Whether a transaction failed only because of concurrent ones, or of a prepared statement that the server has
 * lost or outgrown: the same may pass at the next try.
 */
export function isContention(error: unknown): boolean {
  const code = codeOf(error);
  return code === "40001" || code === "40P01" || isCatalogRace(error) || isStatementLost(error);
}

/** Routines by which PostgreSQL writes its catalogs. They wait for another writer of a row, and then give up. */
const CATALOG_WRITERS: ReadonlySet<unknown> = new Set(["simple_heap_update", "simple_heap_delete"]);

/** Whether two sessions altered one object, as where rights are restated beside the exchange of a part. */
function isCatalogRace(error: unknown): boolean {
  return codeOf(error) === "XX000" &&
    CATALOG_WRITERS.has((error as { routine?: unknown }).routine);
}

/** Whether a prepared statement must be prepared anew: nothing of it was done. */
export function isStatementLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code === "26000") return true;
  return code === "0A000" && (error as { routine?: unknown }).routine === "RevalidateCachedQuery";
}

/** Codes of the system and of PostgreSQL after which a connection is gone. */
const DISCONNECTS: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND"],
  "25P03", // the server ended a transaction that sent nothing for too long
  "25P04", // … or that was open for too long
  "53300", // no connection is free on the server
]);

/** What the system is asked for a socket before anything is sent over it, and afterwards. */
const CONNECTING: ReadonlySet<unknown> = new Set(["connect", "getaddrinfo"]);
const CONNECTED: ReadonlySet<unknown> = new Set(["read", "write", "shutdown"]);

/** Failures of a statement that was never sent. */
const unsent = new WeakSet<object>();

/** Notes that an error is of a statement that was never sent: no connection could be made for it. */
export function noteUnsent(error: unknown): void {
  if (typeof error === "object" && error !== null) unsent.add(error);
}

/** The pools that failures come from. */
const origins = new WeakMap<object, object>();

/** Notes which pool a failure comes from, unless that is known: it may pass through a transaction of another one. */
export function noteOrigin(error: unknown, pool: object): void {
  if (typeof error === "object" && error !== null && !origins.has(error)) origins.set(error, pool);
}

/** Whether a failure comes from another pool than this one: it says nothing of the connections here. */
export function isOfOther(error: unknown, pool: object): boolean {
  const origin = typeof error === "object" && error !== null ? origins.get(error) : undefined;
  return origin !== undefined && origin !== pool;
}

/** Whether the connection was lost or could not be made, so that the outcome may be unknown. */
export function isDisconnect(error: unknown): boolean {
  if (isOutOfReach(error)) return false;
  if (isUnsent(error) && !isOfServer(error)) return true;
  const code = codeOf(error);
  if (code === null) return false;
  return code.startsWith("CONN") || code.startsWith("08") || code.startsWith("57P") ||
    /^ERR_(STREAM|SOCKET|SSL|TLS)_/.test(code) || DISCONNECTS.has(code) ||
    CONNECTING.has(callOf(error)) || CONNECTED.has(callOf(error));
}

/** Whether the server has answered with this error. */
export function isOfServer(error: unknown): boolean {
  return typeof error === "object" && error !== null && "severity_local" in error;
}

/** The system's function that failed, if one did. */
function callOf(error: unknown): unknown {
  return (error as { syscall?: unknown }).syscall;
}

function isUnsent(error: unknown): boolean {
  return typeof error === "object" && error !== null && unsent.has(error);
}

/** Codes of a connection that was never made: nothing was sent over it. */
const NEVER_MADE: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ENOTFOUND", "CONNECT_TIMEOUT", "53300", "57P03"],
]);

/** Whether what was asked may have been done although it failed: its answer was lost. */
export function mayBeDone(error: unknown): boolean {
  if (error instanceof Contention) return error.mayBeDone;
  return isDisconnect(error) && !isUnsent(error) && !CONNECTING.has(callOf(error)) &&
    !NEVER_MADE.has(codeOf(error)!);
}

/**
 * Whether a connection still had the failed transaction of an earlier caller, whose commit was canceled before it
 * began: nothing was done.
 */
export function isLeftOpen(error: unknown): boolean {
  return codeOf(error) === "25P02";
}

/** Whether the server takes no writes: a standby after a failover, or set so by its operator. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === "25006";
}

/** Codes of a database that lacks an object or a right that this version needs. */
const BROKEN: ReadonlySet<string> = new Set([
  "PMV01", // the realm lives elsewhere
  "3D000", // no such database
  "3F000", // no such schema
  "42501", // no right
  "42883", // no such function
  "42P01", // no such table
]);

/** SQLSTATE of a write to the copy of a realm that was left behind when the realm moved. */
export const MOVED = "PMV01";

/** Whether a realm's place refuses its role, as it does once the realm lives elsewhere. */
export function isRefusedThere(error: unknown): boolean {
  const code = codeOf(error);
  return code !== null && BROKEN.has(code);
}

/** Codes of a server that nobody heard: its address takes no connection, or there is none of its name. */
const UNANSWERED: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "CONNECT_TIMEOUT"],
  "EAI_AGAIN",
]);

/** Whether no server answered at all; one that refuses a login, or starts up, has answered. */
export function isUnanswered(error: unknown): boolean {
  return UNANSWERED.has(codeOf(error) ?? "");
}

/** Whether a server has answered that it has no such database. */
export function isDatabaseMissing(error: unknown): boolean {
  return codeOf(error) === "3D000";
}

/** Whether this process has no permission to reach the database's server: it is not among the hosts. */
export function isOutOfReach(error: unknown): boolean {
  return error instanceof Deno.errors.NotCapable || codeOf(error) === "EPERM";
}

/**
 * Whether the database can serve no request now: it takes no writes, it has no
 * disk, memory or files left (classes 53 and 58), it takes no connections, it refuses the service's login (class 28) or role,
 * its schema is missing, or its server is out of reach.
 */
export function isUnavailable(error: unknown): boolean {
  if (isOutOfReach(error)) return true;
  const code = codeOf(error);
  if (code === null) return false;
  if (isReadOnly(error) || /^(53|58|28)/.test(code) || BROKEN.has(code)) return true;
  if (code === "55000") return isFatal(error); // the database takes no connections
  return (code === "22023" || code === "42704") && (isFatal(error) || isOfSetting(error));
}

/**
 * Whether a setting was refused, for example by `set role` to a missing role: no caller's input is a
 * setting.
 */
export function isOfSetting(error: unknown): boolean {
  return (error as { routine?: unknown }).routine === "call_string_check_hook";
}

/** Whether a pooler does not pass on a setting that a connection begins with. */
export function isSettingUnknown(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === "08P01" &&
    error.message.includes("startup parameter");
}

/** Whether the server ended the connection with this error, as after a refused login. */
function isFatal(error: unknown): boolean {
  const severity = (error as { severity?: unknown; severity_local?: unknown }).severity;
  return severity === "FATAL" || severity === "PANIC";
}

/** Whether a statement ran longer than it may. */
export function isTimeout(error: unknown): boolean {
  return codeOf(error) === "57014" || codeOf(error) === "55P03";
}

/** The name of the constraint that a statement broke, or null. */
export function brokenConstraint(error: unknown): string | null {
  if (!codeOf(error)?.startsWith("23")) return null;
  const name = (error as { constraint_name?: unknown }).constraint_name;
  return typeof name === "string" ? name : null;
}
