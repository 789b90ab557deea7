/**
 * Checks of archived parts, and what other checks put in the place of rows that are archived. Without an archive none of
 * this reads a row.
 * @module
 */

/** Condition: a named transaction is not one that left with its part. Asked only of rows in which it is missing. */
export function isThere(transaction: string): string {
  return `not is_archived(${transaction})`;
}

/** A value of an account where its entries begin; `account` and `column` are SQL. */
export function openingOf(account: string, column: "seq" | "balance" | "linked"): string {
  return `(select c.${column} from balance_checkpoints c where c.account = ${account}
    order by c.bound desc limit 1)`;
}

/** The time from which on transactions are there. */
export const BEGIN =
  "coalesce((select ms_time(id_ms(p.bound)) from archived_parts p order by p.bound desc limit 1), '-infinity')";

/** What differs between two records of a part that came back and left again. */
const WRITTEN_ANEW = "array['manifest', 'archived_at']";

/** The checks by name, each with the statement that finds its mismatches. */
export const ARCHIVE_CHECKS = {
  /** The record of an archived part agrees with the hash chain and with earlier records of it, and nothing of it is left. */
  "archive.part": `
    with parts as (select p.*, lag(p.bound) over w as low, lag(p.last_seq, 1, 0::bigint) over w as low_seq
      from archived_parts p window w as (order by p.bound))
    select p.bound as subject, concat_ws(' ', p.transactions, p.transactions, encode(p.last_hash, 'hex')) as expected,
      concat_ws(' ', l.linked, l.within, encode(l.hash, 'hex')) as found
    from parts p cross join lateral (
      select count(s.transaction) as linked,
        count(*) filter (where s.transaction < p.bound and (p.low is null or s.transaction >= p.low)) as within,
        coalesce((select x.hash from chain_links x where x.seq = p.last_seq), decode(repeat('00', 32), 'hex')) as hash
      from chain_links s where s.seq > p.low_seq and s.seq <= p.last_seq) l
    where (l.linked, l.within, l.hash) is distinct from (p.transactions, p.transactions, p.last_hash)
      or p.last_seq < p.low_seq or p.transactions > 0 and not exists
        (select from chain_links x where x.seq = p.last_seq and x.transaction is not null)
      or p.transactions = 0 and p.last_seq <> p.low_seq
    union all select l.transaction, 'archived by a record', l.seq::text
      from chain_links l, (select bound, last_seq from archived_parts order by bound desc limit 1) p
      where l.transaction < p.bound and l.seq > p.last_seq
    union all select p.bound, e.facts ->> 'checkpoints', p.checkpoints::text
      from archived_parts p join ledger_events e on e.kind = 'archived_parts' and e.subject = p.bound::text
      where e.facts - ${WRITTEN_ANEW} <> facts_of('archived_parts', to_jsonb(p)) - ${WRITTEN_ANEW}
    union all select t.id, 'archived', 'a transaction' from transactions t where t.id < archived_bound()
    union all select e.transaction, 'archived', 'an entry' from entries e where e.transaction < archived_bound()`,
  /** The notes of issues of an archived part are those of its record. */
  "archive.issues": `
    select p.bound as subject, encode(p.issues, 'hex') as expected, encode(p.found, 'hex') as found
    from (select a.bound, a.issues, issue_digest(lag(a.bound) over (order by a.bound), a.bound) as found
      from archived_parts a) p
    where p.found is distinct from p.issues`,
  /** The balance checkpoints of an archived part are those of its record, of all its entries, and sum to zero. */
  "archive.checkpoints": `
    select p.bound::text as subject, concat_ws(' ', p.accounts, p.entries, encode(p.checkpoints, 'hex')) as expected,
      concat_ws(' ', c.accounts, c.entries, encode(checkpoint_digest(p.bound), 'hex')) as found
    from archived_parts p cross join lateral (
      select count(*) as accounts, coalesce(sum(c.seq - coalesce((select b.seq from balance_checkpoints b
        where b.account = c.account and b.bound < c.bound order by b.bound desc limit 1), 0)), 0) as entries
      from balance_checkpoints c where c.bound = p.bound) c
    where (c.accounts, c.entries, checkpoint_digest(p.bound)) is distinct from (p.accounts, p.entries, p.checkpoints)
    union all select concat_ws(' ', c.account, c.bound), 'an archived part and an account', null
      from balance_checkpoints c where not exists (select from archived_parts p where p.bound = c.bound)
        or not exists (select from accounts a where a.id = c.account)
    union all select concat_ws(' ', a.asset, case when a.testnet then '(testnet)' end), '0', sum(o.balance)::text
      from opening_balances o join accounts a on a.id = o.account
      group by a.asset, a.testnet having sum(o.balance) <> 0`,
} as const;
