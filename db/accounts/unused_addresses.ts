/** Statements on own addresses without a credited deposit. @module */
import type { Db } from "../database.ts";

/** Counts the ramp and deposit accounts of a customer that never had a deposit, up to a number. */
export async function countUnusedAddresses(
  db: Db,
  { customer, most }: { customer: string; most: number },
): Promise<number> {
  const [{ count }] = await db<{ count: number }[]>`
    select count(*)::integer as count
    from (select from unused_addresses where root = ${customer} limit ${most}) unused`;
  return count;
}
