/** Texts of statements, where tests count them. @module */

/**
 * Statements that a process sends now and then, whatever is asked of it, such as its notes of reads, and the ends of
 * transactions.
 */
export const BESIDE: RegExp =
  /^(begin|commit|set|lock|savepoint)\b|^insert into audit .*jsonb_to_recordset|\b(revocations|tiers|leases|realm_steps|rate_limits|signing_keys)\b/;
