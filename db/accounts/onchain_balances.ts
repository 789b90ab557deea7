/** Statements on balances as last read from the chains, in base units. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";

/** An address, own or linked, whose balances are to be read. */
export interface BalanceTarget {
  address: string;
  asset: string;
  /** Height above which a linked address counts; null for an own one. */
  since: number | null;
}

/** A balance as last read, in base units. */
export interface OnchainBalanceRow {
  address: string;
  /** '' is the chain's own coin. */
  contract: string;
  amount: string;
  height: number;
  /** Transactions that the address had sent by then. */
  nonce: number | null;
}

/** A gain of a balance that the known transfers do not explain; base units. */
export interface GainRow {
  address: string;
  contract: string;
  above: number;
  height: number;
  gained: string;
  searched: number;
  found: string;
  /** Whether what came without a transaction may be part of it. */
  rewarded: boolean;
  tries: number;
  /** Whether the address is an own one. */
  own: boolean;
}

/**
 * Lists addresses whose balances are due: those of ramps, those with transfers since a height, and
 * of the rest those read least recently. Linked addresses are included if they are watched for the
 * chain's own coin, and with `linkedTokens` those that are watched for a token.
 */
export async function selectBalanceTargets(
  db: Db,
  place: NetworkKey,
  of: { since: number; stale: number; native: string; linkedTokens: boolean },
): Promise<BalanceTarget[]> {
  return await db<BalanceTarget[]>`
    with named as (
      select account, address, asset, derivation_key, null::bigint as since from addresses
      where chain = ${place.chain} and network = ${place.network}
      union all
      select e.account, e.address, e.currency, null, e.since from external_addresses e
      where e.chain = ${place.chain} and e.network = ${place.network} and e.deleted_at is null
        and e.paused_at is null and (e.currency = ${of.native} or ${of.linkedTokens})
        and not exists (select 1 from addresses o
          where o.chain = e.chain and o.network = e.network and o.address = e.address offset 0)
    ), mine as (
      select n.account, n.address, n.asset, n.derivation_key, n.since, h.height
      from named n left join lateral (select b.height from onchain_balances b
        where b.chain = ${place.chain} and b.network = ${place.network} and b.address = n.address
          and b.contract = '' offset 0) h on true
    ), hot as (
      select address from mine where derivation_key = 0
      union select d.address from deposits d where d.chain = ${place.chain}
        and d.network = ${place.network} and d.block > ${of.since}
      union select o.address from sweeps s,
          lateral (select a.address from addresses a where a.account = s.account offset 0) o
        where s.chain = ${place.chain} and s.network = ${place.network}
          and s.state not in ('done', 'failed')
      union select o.address from sweeps s,
          lateral (select a.address from addresses a where a.account = s.account offset 0) o
        where s.chain = ${place.chain} and s.network = ${place.network}
          and s.updated_at > now() - interval '10 minutes'
    ), stale as (
      select address from mine order by height nulls first, address limit ${of.stale}
    )
    select address, asset, since::float8 as since from mine
    where address in (select address from hot union select address from stale) order by address`;
}

/** Begins the balances of a new address at zero, at the height scanned so far. */
export async function insertEmptyBalance(
  tx: Tx,
  place: NetworkKey,
  of: { address: string; contract: string | null },
  at: number,
): Promise<void> {
  await tx`
    insert into onchain_balances (chain, network, address, contract, height, nonce, seen_at)
    select chain, network, ${of.address}, c.contract, height, 0, ${at}
    from chain_cursors, (select '' union select coalesce(${of.contract}, '')) c(contract)
    where chain = ${place.chain} and network = ${place.network}
    on conflict do nothing`;
}

/** Reads the last stored balances of addresses. */
export async function selectOnchainBalances(
  db: Db,
  place: NetworkKey,
  addresses: readonly string[],
): Promise<OnchainBalanceRow[]> {
  return await db<OnchainBalanceRow[]>`
    select b.address, b.contract, b.amount::text as amount, b.height::float8 as height,
      b.nonce::float8 as nonce
    from (select distinct jsonb_array_elements_text(${db.json([...addresses])}) as address) g,
      lateral (select address, contract, amount, height, nonce from onchain_balances
        where chain = ${place.chain} and network = ${place.network} and address = g.address
        offset 0) b`;
}

/** Stores balances; one read at a lower height never replaces one read higher. */
export async function upsertOnchainBalances(
  tx: Tx,
  place: NetworkKey,
  seen: { height: number; at: number },
  holdings: readonly Omit<OnchainBalanceRow, "height">[],
): Promise<void> {
  await tx`
    insert into onchain_balances (chain, network, address, contract, amount, height, nonce, seen_at)
    select ${place.chain}, ${place.network}, h.address, h.contract, h.amount, ${seen.height},
      h.nonce, ${seen.at}
    from jsonb_to_recordset(${tx.json(holdings as never)})
      h(address text, contract text, amount numeric, nonce bigint)
    on conflict (chain, network, address, contract) do update
      set amount = excluded.amount, height = excluded.height, nonce = excluded.nonce,
        seen_at = excluded.seen_at
      where onchain_balances.height <= excluded.height`;
}

/**
 * Records an unexplained gain, or the result of the last search for it.
 *
 * @param goesOn whether the search has come further and goes on behind others: each that begins anew waits longer
 */
export async function upsertGain(
  tx: Tx,
  place: NetworkKey,
  gain: Omit<GainRow, "tries" | "own" | "rewarded"> & {
    error: string;
    at: number;
    rewarded?: boolean;
  },
  goesOn = false,
): Promise<void> {
  const again = goesOn ? 0 : 1;
  await tx`
    insert into unexplained_gains (chain, network, address, contract, above, height, gained,
      searched, found, rewarded, error, retry_at, created_at)
    values (${place.chain}, ${place.network}, ${gain.address}, ${gain.contract}, ${gain.above},
      ${gain.height}, ${gain.gained}, ${gain.searched}, ${gain.found}, ${gain.rewarded ?? false},
      ${gain.error}, now(), ${gain.at})
    on conflict (chain, network, address, contract, height) do update
      set gained = excluded.gained, above = excluded.above, searched = excluded.searched,
        found = excluded.found, rewarded = excluded.rewarded, error = excluded.error,
        tries = unexplained_gains.tries + ${again}, retry_at = now()
          + interval '5 seconds' * (2 ^ least(unexplained_gains.tries, 14) - 1) * ${again}`;
}

/**
 * Reads gains that are due to be searched again, those that waited longest: so many of own addresses, and as many of
 * linked ones behind them, of which anybody may link any number.
 */
export async function selectGains(db: Db, place: NetworkKey, limit: number): Promise<GainRow[]> {
  return await db<GainRow[]>`
    select address, contract, above::float8 as above, height::float8 as height,
      gained::text as gained, searched::float8 as searched, found::text as found, rewarded,
      tries, own
    from (
      select g.*, o.own, row_number() over (partition by o.own order by g.retry_at) as turn
      from unexplained_gains g, lateral (select exists (select from addresses a
        where a.chain = g.chain and a.network = g.network and a.address = g.address offset 0)) o(own)
      where g.chain = ${place.chain} and g.network = ${place.network} and g.retry_at <= now()) d
    where turn <= ${limit} order by own desc, turn`;
}

/** Counts the unexplained gains of an address that is no own one; 0 for an own one. */
export async function countLinkedGains(
  db: Db,
  place: NetworkKey,
  { address, contract }: Pick<GainRow, "address" | "contract">,
): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)::integer as count from unexplained_gains g where g.chain = ${place.chain}
      and g.network = ${place.network} and g.address = ${address} and g.contract = ${contract}
      and not exists (select from addresses a where a.chain = ${place.chain}
        and a.network = ${place.network} and a.address = ${address})`;
  return row.count;
}

/** Deletes a gain that was explained. */
export async function deleteGain(
  tx: Tx,
  place: NetworkKey,
  gain: Pick<GainRow, "address" | "contract" | "height">,
): Promise<void> {
  await tx`
    delete from unexplained_gains where chain = ${place.chain} and network = ${place.network}
      and address = ${gain.address} and contract = ${gain.contract} and height = ${gain.height}`;
}

/** Reads the balances of addresses that were stored above a height. */
export async function selectBalancesAbove(
  db: Db,
  place: NetworkKey,
  height: number,
): Promise<Pick<OnchainBalanceRow, "address" | "contract">[]> {
  return await db<Pick<OnchainBalanceRow, "address" | "contract">[]>`
    select address, contract from onchain_balances
    where chain = ${place.chain} and network = ${place.network} and height > ${height}
    order by contract, address`;
}

/** Stores balances as of a lower height in place of those above it, whose blocks a reorganisation removed. */
export async function lowerOnchainBalances(
  tx: Tx,
  place: NetworkKey,
  seen: { height: number; at: number },
  rows: readonly Omit<OnchainBalanceRow, "height">[],
): Promise<void> {
  await tx`
    update onchain_balances b set amount = h.amount, nonce = h.nonce, height = ${seen.height},
      seen_at = ${seen.at}
    from jsonb_to_recordset(${tx.json(rows as never)})
      h(address text, contract text, amount numeric, nonce bigint)
    where b.address = h.address and b.contract = h.contract and b.ctid = any (array(
      select f.ctid from unnest(${rows.map(({ address }) => address)}::text[]) k,
        lateral (select ctid from onchain_balances where chain = ${place.chain}
          and network = ${place.network} and address = k and height > ${seen.height} offset 0) f))`;
}

/**
 * Cuts the gains that reach above a height to it: a reorganisation removed the blocks above. What rose below is still
 * searched, from the beginning: of several gains of a balance that end there, in the blocks of all of them.
 */
export async function cutGainsAbove(tx: Tx, place: NetworkKey, height: number): Promise<void> {
  const cut = await tx`
    delete from unexplained_gains
    where chain = ${place.chain} and network = ${place.network} and height > ${height}
    returning address, contract, above::float8 as above, gained::text as gained, rewarded, tries,
      error, created_at::text as created_at`;
  const below = cut.filter(({ above }) => above < height);
  if (below.length === 0) return;
  await tx`
    insert into unexplained_gains (chain, network, address, contract, above, height, gained, searched,
      rewarded, tries, error, retry_at, created_at)
    select ${place.chain}, ${place.network}, g.address, g.contract, min(g.above), ${height},
      max(g.gained), min(g.above), bool_and(g.rewarded), min(g.tries), min(g.error), now(), min(g.created_at)
    from jsonb_to_recordset(${tx.json(below as never)}) g(address text, contract text, above bigint,
      gained numeric, rewarded boolean, tries integer, error text, created_at timestamptz)
    group by g.address, g.contract
    on conflict (chain, network, address, contract, height) do update
      set above = least(unexplained_gains.above, excluded.above),
        gained = greatest(unexplained_gains.gained, excluded.gained),
        searched = least(unexplained_gains.above, excluded.above), found = 0, retry_at = now(),
        rewarded = unexplained_gains.rewarded and excluded.rewarded`;
}

/** Counts the unexplained gains by chain and network. */
export async function countGains(db: Db): Promise<(NetworkKey & { count: number })[]> {
  return await db<(NetworkKey & { count: number })[]>`
    select chain, network, count(*)::integer as count from unexplained_gains
    group by chain, network`;
}

/** Reads the balance of an address as last stored, in base units; "0" where none is stored. */
export async function selectHeld(
  db: Db,
  of: NetworkKey & { address: string; contract: string },
): Promise<string> {
  const [row] = await db<{ amount: string }[]>`
    select amount::text as amount from onchain_balances
    where chain = ${of.chain} and network = ${of.network} and address = ${of.address}
      and contract = ${of.contract}`;
  return row?.amount ?? "0";
}
