/** Checks of the times and the order of transactions. @module */

/** The checks by name, each with the statement that finds its mismatches. */
export const TIME_CHECKS = {
  /** A transaction's time is that of its id. */
  "transaction.time": `
    select id as subject, ms as expected, (extract(epoch from created_at) * 1000)::bigint as found
    from (select id, created_at, id_ms(id) as ms from transactions) q
    where ms <> (extract(epoch from created_at) * 1000)::bigint`,
  /** The ids of an account's transactions ascend with the numbers of its entries. */
  "entry.time": `
    select account || ' ' || seq as subject, before as expected, transaction as found
    from (select account, seq, transaction,
      lag(transaction) over (partition by account order by seq) as before from entries) q
    where transaction <= before`,
} as const;
