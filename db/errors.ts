/**
 * What PostgreSQL's errors mean to those above: a lost race, a lost connection, a broken rule.
 * @module
 */

/** A transaction kept losing races; trying later may help. */
export class Contention extends Error {
  override readonly name = "Contention";
}

/** The SQLSTATE or driver code of an error, if it has one. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}

/** Whether a transaction failed only because others ran beside it. */
export function isContention(error: unknown): boolean {
  const code = codeOf(error);
  return code === "40001" || code === "40P01";
}

/** Whether the connection was lost or could not be made, so that the outcome may be unknown. */
export function isDisconnect(error: unknown): boolean {
  const code = codeOf(error);
  if (code === null) return false;
  return code.startsWith("CONN") || code.startsWith("08") || code.startsWith("57P") ||
    ["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND"].includes(code) ||
    code === "53300";
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
