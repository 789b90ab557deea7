/**
 * The check of what is there once in the whole ledger. An index of a part says nothing about the others, so each reference
 * and each revert has a row of its own besides, in a table that is unique.
 * @module
 */

import { isThere } from "./archive_checks.ts";

function mirrored(table: string, column: string): string {
  return `
    select coalesce(t.id, r.transaction) as subject, t.${column}::text as expected, r.${column}::text as found
    from (select id, ${column} from transactions where ${column} is not null) t
    full join ${table} r on r.transaction = t.id and r.${column} = t.${column}
    where r.transaction is null or (t.id is null and ${isThere("r.transaction")})`;
}

/** The check by its name, with the statement that finds its mismatches. */
export const ONCE_CHECKS = {
  /** Each reference leads to its transaction, each reverted transaction to its revert, and to one. */
  "transaction.once": `${mirrored("transaction_references", "reference")}
    union all ${mirrored("transaction_reverts", "reverts")}`,
};
