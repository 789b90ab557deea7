/** Statements on own addresses without a credited deposit. @module */
import type { Db } from "../database.ts";

/** How many addresses a customer has, up to a number. */
export interface CustomersCount {
  /** Of the customer, with all users that it made. */
  all: number;
  /** Of one of these users. */
  own: number;
}

/** Counts the ramp and deposit accounts of a customer that never had a deposit, and those of one of its users, up to a number. */
export async function countUnusedAddresses(
  db: Db,
  { customer, user, most }: { customer: string; user: string; most: number },
): Promise<CustomersCount> {
  const [counts] = await db<CustomersCount[]>`
    select count(*)::integer as "all", (count(*) filter (where owner = ${user}))::integer as own
    from (select owner from unused_addresses where root = ${customer} limit ${most}) unused`;
  return counts;
}
