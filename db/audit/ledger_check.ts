/**
 * Statements of the audit: each recomputes from the entries a fact that the ledger stores twice,
 * and returns the rows that differ. Each is one pass and takes no lock.
 * @module
 */
import type { Tx } from "../database.ts";
import { ARCHIVE_CHECKS, isThere, openingOf } from "./archive_checks.ts";
import { ONCE_CHECKS } from "./once_checks.ts";
import { TIME_CHECKS } from "./time_checks.ts";
import { PROOF_CHECKS } from "./proof_checks.ts";
import { SENDING_CHECKS } from "./sending_checks.ts";

/** A mismatch that a check found. */
export interface CheckRow {
  /** Id or name of the wrong row. */
  subject: string;
  expected: string | null;
  found: string | null;
  /** Number of mismatches of this kind, including those not listed. */
  count: string;
}

/** The checks by name, each with the statement that finds its mismatches. */
export const CHECKS = {
  /** A transaction has exactly its two entries, which sum to zero, in the accounts it names. */
  "transaction.entries": `
    select t.id as subject, concat_ws(' ', t.id, t.id, -t.amount, t.amount) as expected,
      concat_ws(' ', s.transaction, d.transaction, s.amount, d.amount) as found
    from transactions t
    left join entries s on s.account = t.source and s.seq = t.source_seq
    left join entries d on d.account = t.destination and d.seq = t.destination_seq
    where (s.transaction, d.transaction, s.amount, d.amount)
      is distinct from (t.id, t.id, -t.amount, t.amount)`,
  /** An entry belongs to a transaction that names it. */
  "entry.transaction": `
    select e.account || ' ' || e.seq as subject, e.transaction as expected, t.id as found
    from entries e left join transactions t on t.id = e.transaction
      and ((t.source = e.account and t.source_seq = e.seq)
        or (t.destination = e.account and t.destination_seq = e.seq))
    where t.id is null`,
  /** Entries of an account are numbered without gaps, from 1 or behind those that are archived. */
  "entry.seq": `
    select account || ' ' || seq as subject, before + 1 as expected, seq as found
    from (select e.account, e.seq, coalesce(lag(e.seq) over (partition by e.account order by e.seq),
      ${openingOf("e.account", "seq")}, 0) as before from entries e) q where seq <> before + 1`,
  /** The balance after an entry is the one before it and its amount. */
  "entry.balance": `
    select account || ' ' || seq as subject, before + amount as expected, balance as found
    from (select e.account, e.seq, e.amount, e.balance,
      coalesce(lag(e.balance) over (partition by e.account order by e.seq),
        ${openingOf("e.account", "balance")}, 0) as before from entries e) q
    where balance <> before + amount`,
  /** An account's total is the sum of its entries. */
  "account.total": `
    select a.id as subject, (coalesce(o.balance, 0) + coalesce(e.sum, 0))::text as expected, a.total::text as found
    from accounts a left join (select account, sum(amount) from entries group by account) e
      on e.account = a.id left join opening_balances o on o.account = a.id
    where a.total <> coalesce(o.balance, 0) + coalesce(e.sum, 0)
    union all select e.account, 'an account', null from (select distinct account from entries) e
      where not exists (select 1 from accounts a where a.id = e.account)`,
  /** An account's number is that of its last entry. */
  "account.seq": `
    select a.id as subject, coalesce(e.max, o.seq, 0) as expected, a.seq as found
    from accounts a left join (select account, max(seq) from entries group by account) e
      on e.account = a.id left join opening_balances o on o.account = a.id
    where a.seq <> coalesce(e.max, o.seq, 0)`,
  /** The blocked amount is the sum of the open blocks. */
  "account.blocked": `
    select a.id as subject, coalesce(b.sum, 0) as expected, a.blocked as found
    from accounts a left join (select account, sum(amount) from blocks where status = 'OPEN'
      group by account) b on b.account = a.id
    where a.blocked <> coalesce(b.sum, 0)`,
  /** Only a system account is below its blocked value, or below zero. */
  "account.covered": `
    select id as subject, blocked + linked as expected, total as found from accounts
    where (total < blocked + linked and type <> 'system') or blocked < 0 or linked < 0`,
  /**
   * The linked amount is the sum of deposits at watched addresses; an account that watches none has
   * none.
   */
  "account.linked": `
    select a.id as subject, coalesce(d.sum, 0) as expected, a.linked as found
    from accounts a left join (select account, sum(credited) from deposits
      where status = 'CONFIRMED' group by account) d on d.account = a.id and watches_addresses(a.id)
    where a.linked <> coalesce(d.sum, 0)`,
  /** The history of blocks and freezing ends with the present state of the account. */
  "account.state": `
    select a.id as subject, concat_ws(' ', a.blocked, a.frozen) as expected,
      concat_ws(' ', s.blocked, s.frozen) as found
    from accounts a left join (select distinct on (account) account, blocked, frozen
      from account_states order by account, at desc, id desc) s on s.account = a.id
    where (coalesce(s.blocked, 0), coalesce(s.frozen, false)) <> (a.blocked, a.frozen)`,
  /** Each step of that history opened or closed a block, or froze or unfroze; each block is in it. */
  "account.history": `
    with steps as (
      select account, id, blocked - lag(blocked, 1, 0) over of_account as change,
        frozen <> lag(frozen, 1, false) over of_account as switched
      from account_states window of_account as (partition by account order by id)),
    closed as (
      select account, amount as change from blocks
      union all select account, -amount from blocks where status <> 'OPEN')
    select account || ' ' || id as subject, 'one change' as expected,
      concat_ws(' ', change, switched) as found
    from steps where (change <> 0) = switched
    union all
    select coalesce(b.account, s.account) || ' ' || coalesce(b.change, s.change),
      coalesce(b.count, 0)::text, coalesce(s.count, 0)::text
    from (select account, change, count(*) from closed group by account, change) b
    full join (select account, change, count(*) from steps where change <> 0
      group by account, change) s on s.account = b.account and s.change = b.change
    where b.count is distinct from s.count`,
  /** The blocked amount in an entry agrees with that history, in its order. */
  "entry.blocked": `
    with recursive walk as (
      select a.account, e.seq, e.blocked, s.at, s.id
      from (select distinct s.account from account_states s join accounts x
        on x.id = s.account and x.type <> 'deposit') a
      cross join lateral (select x.seq, x.blocked from entries x
        where x.account = a.account order by x.seq limit 1) e
      left join lateral (
        (select '-infinity'::timestamptz as at, 0::bigint as id where e.blocked = 0)
        union all (select h.at, h.id from account_states h where h.account = a.account
          and case when not h.frozen then h.blocked end is not distinct from e.blocked
          order by h.at, h.id limit 1)
        order by at, id limit 1) s on true
      union all
      select w.account, e.seq, e.blocked, s.at, s.id
      from walk w
      cross join lateral (select x.seq, x.blocked from entries x where x.account = w.account
        and x.seq > w.seq and x.blocked is distinct from w.blocked order by x.seq limit 1) e
      left join lateral (select h.at, h.id from account_states h where h.account = w.account
        and (h.at, h.id) > (w.at, w.id)
        and case when not h.frozen then h.blocked end is not distinct from e.blocked
        order by h.at, h.id limit 1) s on true
      where w.id is not null)
    select account || ' ' || seq as subject, null as expected, coalesce(blocked::text, 'frozen')
      as found from walk where id is null
    union all select e.account || ' ' || e.seq, '0', coalesce(e.blocked::text, 'frozen')
      from entries e join accounts x on x.id = e.account and x.type <> 'deposit'
      where e.blocked is distinct from 0
        and not exists (select 1 from account_states s where s.account = e.account)
    union all select e.account || ' ' || e.seq, 'nothing available', e.blocked::text
      from entries e join accounts x on x.id = e.account
      where x.type = 'deposit' and e.blocked is not null`,
  /** Only the service moves value through a deposit account: in by a deposit, out by a sweep. */
  "transaction.deposit_account": `
    select t.id as subject, case when s.type = 'deposit' then 'forward or fee' else 'deposit' end
      as expected, t.type as found
    from transactions t join accounts s on s.id = t.source join accounts d on d.id = t.destination
    where (s.type = 'deposit' and t.type not in ('forward', 'fee'))
      or (d.type = 'deposit' and t.type <> 'deposit')`,
  /**
   * The linked amount in an entry is the sum of the deposits up to it, less those taken back. One that is archived
   * and goes back to `world` was a deposit, or else an issue: of a currency, whose accounts have no linked amount.
   */
  "entry.linked": `
    select account || ' ' || seq as subject, expected, linked as found
    from (select e.account, e.seq, e.linked, nullif(coalesce(${openingOf("e.account", "linked")}, 0)
        + sum(case when t.type = 'deposit' and t.destination = e.account then t.amount
          when r.type = 'deposit' or r.id is null and t.reverts is not null and t.source = e.account
            and exists (select from accounts w where w.id = t.destination and w.system = 'world') then -t.amount
          else 0 end) over (partition by e.account order by e.seq), 0) as expected
      from entries e join transactions t on t.id = e.transaction
      left join transactions r on r.id = t.reverts
      where e.account in (select id from accounts where linked <> 0
        union select account from external_addresses)) q
    where expected is distinct from linked
    union all select e.account || ' ' || e.seq, null, e.linked
      from entries e join accounts a on a.id = e.account
      where e.linked is not null and a.linked = 0
        and not exists (select from external_addresses x where x.account = a.id)`,
  /**
   * A deposit at an address of ours is its account's, or that of the currency whose token came there, and is not linked
   * value; each other one is that of an account which the address was linked to. So is one that was given up when the
   * address became ours, for another asset, and one at an address that was given out and that no worker has derived yet.
   */
  "deposit.address": `
    select d.id as subject, o.account::text as expected, d.account::text as found
    from deposits d join addresses o using (chain, network, address)
    where case when watches_addresses(d.account) then
        not ((d.status = 'ORPHANED' and d.asset <> o.asset or not is_derived(o.address, o.derivation_key, o.ramp))
          and exists (select from external_addresses e
            where (e.chain, e.network, e.address, e.account) = (d.chain, d.network, d.address, d.account)))
      else o.account <> d.account and not exists (select from fungible_tokens t join currencies c on c.id = t.currency
        where (t.account, t.contract, c.account) = (o.ramp, d.contract, d.account) and t.status = 'registered') end
    union all select d.id, 'an address of its account', d.account::text
      from deposits d where not exists (select from addresses o
          where (o.chain, o.network, o.address) = (d.chain, d.network, d.address))
        and not exists (select from external_addresses e
          where (e.chain, e.network, e.address, e.account) = (d.chain, d.network, d.address, d.account))`,
  /** Balances of all accounts of an asset sum to zero. */
  "asset.sum": `
    select asset || case when testnet then ' (testnet)' else '' end as subject, 0 as expected,
      sum(total) as found
    from accounts group by asset, testnet having sum(total) <> 0`,
  /** Both accounts of a transaction are of its asset, and can divide it so finely. */
  "transaction.asset": `
    select t.id as subject, concat_ws(' ', t.asset, t.testnet) as expected,
      concat_ws(' ', s.asset, s.testnet, d.asset, d.testnet) as found
    from transactions t left join accounts s on s.id = t.source
    left join accounts d on d.id = t.destination
    where (s.asset, s.testnet, d.asset, d.testnet)
      is distinct from (t.asset, t.testnet, t.asset, t.testnet)
      or scale(trim_scale(t.amount)) > s.decimals`,
  ...TIME_CHECKS,
  ...ONCE_CHECKS,
  /** Fiat value is the amount times the rate, rounded half-even. */
  "transaction.fiat": `
    select t.id as subject, round_half_even(t.amount * t.fiat_rate, a.currency_places) as expected,
      t.fiat_value as found
    from transactions t join accounts a on a.id = t.source
    where t.fiat_value is not null and t.fiat_currency = a.currency
      and t.fiat_value <> round_half_even(t.amount * t.fiat_rate, a.currency_places)`,
  /** A revert moves the amount of another transaction back. */
  "transaction.revert": `
    select t.id as subject, concat_ws(' ', t.destination, t.source, t.amount) as expected,
      concat_ws(' ', o.source, o.destination, o.amount) as found
    from transactions t left join transactions o on o.id = t.reverts and o.type <> 'revert'
    where (t.type = 'revert') <> (t.reverts is not null) or (t.reverts is not null and
      (o.source, o.destination, o.amount) is distinct from (t.destination, t.source, t.amount)
      and ${isThere("t.reverts")})`,
  /** Data stored beside a transaction has its transaction. */
  "transaction.data": `
    select d.transaction as subject, 'a transaction' as expected, null as found
    from transaction_data d
    where not exists (select 1 from transactions t where t.id = d.transaction)
      and ${isThere("d.transaction")}`,
  /** A captured block names its capture, of the captured amount. */
  "block.capture": `
    select b.id as subject, concat_ws(' ', b.account, b.captured) as expected,
      concat_ws(' ', t.source, t.amount) as found
    from blocks b left join transactions t on t.id = b.transaction
    where b.status = 'CAPTURED' and (t.source, t.amount) is distinct from (b.account, b.captured)
      and ${isThere("b.transaction")}
    union all select t.id, 'a block', null from transactions t
      where t.type = 'capture' and not exists (select 1 from blocks b where b.transaction = t.id)`,
  /**
   * The supply of a currency is the amount issued less the amount destroyed; where no token brings value from a chain it is
   * what `world` lacks, whatever notes of issues there are.
   */
  "currency.supply": `
    select c.name as subject, coalesce(i.sum, 0) as expected, c.supply as found
    from currencies c left join (select currency, sum(case operation when 'issue' then amount
      else -amount end) from currency_issues group by currency) i on i.currency = c.id
    where c.supply <> coalesce(i.sum, 0)
    union all select c.name, -coalesce(w.total, 0), c.supply
      from currencies c left join accounts w on w.asset = c.name and w.system = 'world' and not w.testnet
      where c.supply <> -coalesce(w.total, 0) and not exists (select from fungible_tokens t where t.currency = c.id)`,
  /** The supply of a token's currency is never above the supply of the token. */
  "token.supply": `
    select t.symbol as subject, t.supply as expected, c.supply as found
    from fungible_tokens t join currencies c on c.id = t.currency
    where t.status = 'registered' and c.supply > t.supply`,
  /** Each issue and each destruction stands beside the transaction that made it. */
  "currency.issue": `
    select coalesce(i.transaction, t.id) as subject,
      concat_ws(' ', t.asset, t.amount, t.direction, t.account) as expected,
      concat_ws(' ', c.name, i.amount, i.operation, i.account) as found
    from (currency_issues i join currencies c on c.id = i.currency)
    full join (select x.id, x.asset, x.amount,
        case when s.system = 'world' then 'issue' else 'destroy' end as direction,
        case when s.system = 'world' then x.destination else x.source end as account
      from transactions x join accounts s on s.id = x.source
      left join transactions o on o.id = x.reverts
      where x.type in ('issue', 'destroy') or o.type in ('issue', 'destroy')
        or (o.id is null and x.reverts is not null
          and exists (select from asset_kinds n where n.asset = x.asset and n.kind = 'currency')
          and exists (select from accounts w where w.id in (x.source, x.destination) and w.system = 'world'))) t
      on t.id = i.transaction
    where (c.name, i.amount, i.operation, i.account)
      is distinct from (t.asset, t.amount, t.direction, t.account)
      and (t.id is not null or ${isThere("i.transaction")})`,
  /**
   * A confirmed deposit names the transaction that credited it, whose seal tells which payment it was, and no other
   * deposit names that one.
   */
  "deposit.transaction": `
    select d.id as subject, concat_ws(' ', 'deposit', d.account, d.credited, d.chain, d.network, d.hash, d.index) as expected,
      concat_ws(' ', t.type, t.destination, t.amount, t.seal) as found
    from deposits d left join transactions t on t.id = d.transaction
    where d.status = 'CONFIRMED' and (t.type, t.destination, t.amount, t.seal) is distinct from ('deposit', d.account, d.credited,
      jsonb_build_object('chain', d.chain, 'network', d.network, 'hash', d.hash, 'index', d.index)) and ${
    isThere("d.transaction")
  }
    union all select t.id, 'one deposit, or its revert', count(d.id)::text
      from transactions t left join deposits d on d.transaction = t.id
      where t.type = 'deposit' group by t.id having count(d.id)
        <> case when watches_addresses(t.destination)
          and exists (select from transaction_reverts r where r.reverts = t.id) then 0 else 1 end`,
  /** What was written off and the transaction that booked it name each other, and the comparison in its seal. */
  "write_off.transaction": `
    select coalesce(w.transaction, t.id) as subject,
      concat_ws(' ', t.asset, t.testnet, t.amount, t.created_at, t.said) as expected,
      concat_ws(' ', w.asset, w.testnet, w.amount, w.created_at, w.said) as found
    from (select x.*, write_off_seal(x) as said from write_offs x) w
    full join (select x.id, x.asset, x.testnet, x.amount, x.created_at, x.seal - 'reason' as said
      from transactions x join accounts s on s.id = x.source and s.system = 'fees'
      join accounts d on d.id = x.destination and d.system = 'world'
      where x.type = 'fee' and x.seal ? 'writes_off') t on t.id = w.transaction
    where (w.asset, w.testnet, w.amount, w.created_at, w.said)
      is distinct from (t.asset, t.testnet, t.amount, t.created_at, t.said)
      and (t.id is not null or ${isThere("w.transaction")})`,
  ...SENDING_CHECKS,
  ...PROOF_CHECKS,
  ...ARCHIVE_CHECKS,
} as const;

/** The name of a check. */
export type CheckCode = keyof typeof CHECKS;

/** Lets the statements of this transaction take as long as they need. */
export async function allowTime(tx: Tx): Promise<void> {
  await tx.unsafe(
    "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; " +
      // No part is archived between the moment that is read and the first look at its rows.
      "set local timezone = 'UTC'; lock table transactions, entries in access share mode",
  );
}

/** Runs one check; returns at most `limit` mismatches. */
export async function selectMismatches(
  tx: Tx,
  code: CheckCode,
  limit: number,
): Promise<CheckRow[]> {
  return await tx.unsafe<CheckRow[]>(
    `select subject::text as subject, expected::text as expected, found::text as found,
      count(*) over () as count from (${CHECKS[code]}) q limit ${limit}`,
  );
}
