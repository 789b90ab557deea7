/**
 * Checks of the hash chain, its events, the audit trail, stored answers, and the row counts of
 * lists.
 * @module
 */
import { BEGIN } from "./archive_checks.ts";
import { RECOMPUTED_FLOWS } from "./hourly_flows.ts";

/** The owner that stands for all owners in `row_counts`. */
const EVERYONE = "'00000000-0000-0000-0000-000000000000'::uuid";
const COUNTED_COLLECTIONS = ["users", "identities", "accounts", "aliases", "currencies"].map((
  table,
) => `
  select '${table}' as collection, coalesce(owner, ${EVERYONE}) as owner,
    count(*) filter (where deleted_at is null) as living,
    count(*) filter (where deleted_at is not null) as dead
  from ${table} where owner is not null group by grouping sets ((owner), ())`);
/** Records, which lists show without an owner too, and which are not deleted. */
const COUNTED_RECORDS = ["deposits", "withdrawals"].map((table) => `
  select '${table}', coalesce(owner, ${EVERYONE}), count(*), 0
  from ${table} group by grouping sets ((owner), ()) having owner is not null or grouping(owner) = 1`);

/** Stored answers, of both generations. */
const KEPT = "(select * from idempotency union all select * from idempotency_earlier)";
const KEPT_BATCHES = "(select * from batches union all select * from batches_earlier)";

/** The checks by name, each with the statement that finds its mismatches. */
export const PROOF_CHECKS = {
  /** Every transaction has one link, or waits for it, and never both. */
  "seal.missing": `
    select t.id as subject, 1 as expected, count(q.id) as found
    from transactions t left join (select transaction as id from chain_links
      union all select unnest(transactions) from ledger_commits) q on q.id = t.id
    group by t.id having count(q.id) <> 1
    union all select q.id, 1, null from (select unnest(transactions) as id from ledger_commits) q
      where not exists (select 1 from transactions t where t.id = q.id)`,
  /** Every event has one link, or waits for it, and never both. */
  "seal.event": `
    select e.id as subject, 1 as expected, count(q.id) as found
    from ledger_events e left join (select event as id from chain_links where event is not null
      union all select unnest(events) from ledger_commits) q on q.id = e.id
    group by e.id having count(q.id) <> 1
    union all select q.id, 1, null from (select unnest(events) as id from ledger_commits) q
      where not exists (select 1 from ledger_events e where e.id = q.id)`,
  /** Each sum of transactions by the hour is that of the transactions in the chain, and there is no other; archived hours stay. */
  "flow.sum": `
    select concat_ws(' ', coalesce(c.hour, f.hour), coalesce(c.asset, f.asset),
        case when coalesce(c.testnet, f.testnet) then '(testnet)' end, coalesce(c.type, f.type),
        coalesce(c.direction, f.direction), coalesce(c.currency, f.currency)) as subject,
      concat_ws(' ', c.count, c.amount, c.value) as expected,
      concat_ws(' ', f.count, f.amount, f.value) as found
    from (${RECOMPUTED_FLOWS}) c full join hourly_flows f
      on (f.testnet, f.hour, f.asset, f.type, f.direction, f.currency)
        = (c.testnet, c.hour, c.asset, c.type, c.direction, c.currency)
    where (c.count, c.amount, c.value) is distinct from (f.count, f.amount, f.value)
      and coalesce(c.hour, f.hour) >= ${BEGIN}`,
  /** The head of the chain is its last link. */
  "seal.head": `
    select 'head' as subject, concat_ws(' ', s.seq, s.transactions) as expected,
      concat_ws(' ', h.seq, h.transactions) as found
    from (select coalesce(max(seq), 0) as seq, count(transaction) as transactions from chain_links) s
    left join chain_head h on true
    where (h.seq, h.transactions) is distinct from (s.seq, s.transactions)`,
  /** Each row that decides whose money it is agrees with its last event. */
  "event.facts": `
    select concat_ws(' ', coalesce(e.kind, f.kind), coalesce(e.subject, f.subject)) as subject,
      e.facts as expected, f.facts as found
    from (select distinct on (kind, subject) kind, subject, facts from ledger_events
      where kind not in ('realm', 'audit') order by kind, subject, id desc) e
    full join ledger_facts f on f.kind = e.kind and f.subject = e.subject
    where e.facts is distinct from f.facts`,
  /** The ledger's hash chain names lines of the audit trail, the last chained one among them. */
  "audit.head": `
    select e.id::text as subject, e.facts ->> 'hash' as expected, encode(a.hash, 'hex') as found
    from ledger_events e left join audit a on a.seq = (e.facts ->> 'lines')::bigint
    where e.kind = 'audit' and encode(a.hash, 'hex') is distinct from e.facts ->> 'hash'
    union all select 'last', l.lines::text, a.lines::text
      from (select coalesce(max((facts ->> 'lines')::bigint), 0) as lines from ledger_events
        where kind = 'audit') l, (select coalesce(max(seq), 0) as lines from audit) a
      where l.lines <> a.lines`,
  /** Accounts of a virtual currency divide it as the currency says. */
  "account.decimals": `
    select a.id as subject, c.decimals as expected, a.decimals as found
    from accounts a join currencies c on c.name = a.asset where a.decimals <> c.decimals`,
  /** An alias leads to an account or to an identity. */
  "alias.target": `
    select s.id as subject, s.type as expected, null as found from aliases s
    where not exists (select from accounts a where a.id = s.account)
      and not exists (select from identities i where i.id = s.identity)`,
  /** A block expires when its time is over, and its times are in their order. */
  "block.time": `
    select id as subject, concat_ws(' ', created_at, expires_at) as expected,
      concat_ws(' ', status, closed_at) as found
    from blocks where closed_at < created_at
      or (status = 'EXPIRED' and (expires_at is null or closed_at < expires_at))`,
  /** A step of the history of blocks has the time of the block, or that of the step before. */
  "account.moment": `
    select account || ' ' || id as subject, before as expected, at as found
    from (select account, id, at, lag(at) over w as before, blocked - lag(blocked, 1, 0) over w
      as change from account_states window w as (partition by account order by id)) s
    where at < before or (change <> 0 and at is distinct from before and not exists
      (select from blocks b where b.account = s.account and b.amount = abs(change)
        and at = case when change > 0 then b.created_at else b.closed_at end))`,
  /** An issue has the time of its transaction. */
  "issue.time": `
    select i.transaction as subject, t.created_at as expected, i.created_at as found
    from currency_issues i join transactions t on t.id = i.transaction
    where i.created_at not between t.created_at - interval '1 hour'
      and t.created_at + interval '1 hour'`,
  /** No rate has a time in the future. */
  "rate.time": `
    select base || ' ' || currency as subject, 'a past time' as expected, updated_at as found
    from rates where updated_at > clock_timestamp() + interval '1 day'`,
  /** Within an account the chain follows the order of the entries. */
  "seal.order": `
    select account || ' ' || seq as subject, before as expected, link as found
    from (select e.account, e.seq, s.seq as link,
        lag(s.seq) over (partition by e.account order by e.seq) as before
      from entries e join chain_links s on s.transaction = e.transaction) q
    where link <= before`,
  /** A stored answer that names a transaction finds it, and no two name the same one. */
  "idempotency.transaction": `
    select i.key as subject, i.transaction as expected, t.id as found
    from ${KEPT} i left join transactions t on t.id = i.transaction
    where i.transaction is not null and t.id is null
    union all select b.key, u.id, null from ${KEPT_BATCHES} b
      cross join unnest(b.transactions) with ordinality u(id, ord)
      where b.refusals[u.ord] is null and not exists
        (select 1 from transactions t where t.id = u.id)`,
  /**
   * The row of an idempotency key has the time of its transaction and no stored answer besides it.
   */
  "idempotency.answer": `
    select i.key as subject, t.created_at::text as expected,
      concat_ws(' ', i.created_at, i.status, i.body) as found
    from ${KEPT} i join transactions t on t.id = i.transaction
    where i.status is not null or i.body is not null
      or i.created_at not between t.created_at - interval '1 hour'
        and t.created_at + interval '1 hour'
    union all select b.key, i.created_at::text, concat_ws(' ', b.created_at, cardinality(b.refusals))
      from ${KEPT_BATCHES} b left join ${KEPT} i on i.key = b.key
      where b.created_at not between i.created_at - interval '1 hour'
          and i.created_at + interval '1 hour'
        or cardinality(b.refusals) <> cardinality(b.transactions)`,
  /** Lists count as many rows of each owner as there are. */
  "tally.count": `
    select concat_ws(' ', coalesce(c.collection, t.collection), coalesce(c.owner, t.owner)) as subject,
      concat_ws(' ', coalesce(c.living, 0), coalesce(c.dead, 0)) as expected,
      concat_ws(' ', coalesce(t.living, 0), coalesce(t.dead, 0)) as found
    from (${[...COUNTED_COLLECTIONS, ...COUNTED_RECORDS].join(" union all ")} union all
      select 'transactions', x.owner, count(*), 0 from chain_links s join transactions x
        on x.id = s.transaction where x.owner is not null group by x.owner) c
    full join (select collection, owner, sum(living) as living, sum(dead) as dead
      from row_counts group by collection, owner) t
      on t.collection = c.collection and t.owner = c.owner
    where (coalesce(c.living, 0), coalesce(c.dead, 0))
      <> (coalesce(t.living, 0), coalesce(t.dead, 0))`,
  /** No transaction was applied under two keys. */
  "idempotency.twice": `
    select transaction as subject, 1 as expected, count(*) as found from (
      select transaction from ${KEPT} i where transaction is not null
      union all select u.id from ${KEPT_BATCHES} b cross join unnest(b.transactions) u(id)) q
    group by transaction having count(*) > 1`,
  /** No key was claimed in both generations. */
  "idempotency.generations": `
    select key as subject, 'one row' as expected, 'two' as found
    from idempotency join idempotency_earlier using (key)
    union all select key, 'one row', 'two' from batches join batches_earlier using (key)`,
} as const;
