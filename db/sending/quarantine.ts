/** Statements on ramps in quarantine, and on deposits that are held for them. @module */
import { isCoin } from "../chains/coin_places.ts";
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";
import type { Quarantine } from "../accounts/ramps.ts";

/** Puts ramps into quarantine that are not in it; gives them. */
export async function quarantineRamps(
  tx: Tx,
  ramps: readonly string[] | null,
  why: Quarantine,
): Promise<string[]> {
  const rows = await tx<{ account: string }[]>`
    update ramps set quarantined = ${tx.json(why as never)}::jsonb
      || jsonb_build_object('height', (select c.height from chain_cursors c
        where c.chain = ramps.chain and c.network = ramps.network))
    where quarantined is null
      and (${ramps === null} or account = any (${`{${(ramps ?? []).join(",")}}`}::text::uuid[]))
    returning account`;
  return rows.map((row) => row.account);
}

/**
 * States that all ramps in quarantine are in it from now on: a backup may be of a time when they were in
 * another one. The time of its chain is noted anew, and what was told of lost payments in that one is told in this one.
 */
export async function renewQuarantines(tx: Tx, at: number): Promise<void> {
  await tx`
    update displaced_orders d set told_at = greatest(told_at, ${at})
    from ramps r where r.account = d.ramp and r.quarantined is not null
      and extract(epoch from d.told_at) * 1000 >= floor((r.quarantined ->> 'at')::float8) - 1`;
  await tx`
    update ramps set quarantined = (quarantined - 'block_time' - 'block_count')
      || jsonb_build_object('at', greatest((quarantined ->> 'at')::float8, ${at}::float8))
    where quarantined is not null`;
}

/**
 * Lists the ramps of a place in quarantine for which no block's time was noted since it began, nor its number where
 * blocks are counted.
 */
export async function selectUntimedQuarantines(
  db: Db,
  place: NetworkKey,
  isCounted: boolean,
): Promise<{ ramp: string; quarantined: Quarantine }[]> {
  return await db<{ ramp: string; quarantined: Quarantine }[]>`
    select account as ramp, quarantined from ramps
    where chain = ${place.chain} and network = ${place.network} and quarantined is not null
      and not (quarantined ? 'block_time' and (quarantined ? 'block_count' or not ${isCounted}))
    order by account`;
}

/**
 * Notes the time of the first block that was the newest after the quarantines of ramps had begun, and its number; not of
 * one that was ended, or began anew, meanwhile.
 *
 * @param block.time Unix seconds
 * @param block.count null where it is not to be noted
 */
export async function noteBlock(
  tx: Tx,
  ramps: readonly { ramp: string; quarantined: Quarantine }[],
  block: { time: number; count: number | null },
): Promise<void> {
  await tx`
    update ramps set quarantined = jsonb_build_object('block_time', ${block.time}::float8) || ramps.quarantined
      || jsonb_strip_nulls(jsonb_build_object('block_count', ${block.count}::float8))
    from jsonb_to_recordset(${tx.json(ramps as never)}) r(ramp uuid, quarantined jsonb)
    where account = r.ramp and ramps.quarantined = r.quarantined`;
}

/**
 * Marks the transfers with exchanges that have not begun: a newer database may have begun them. A ramp
 * that comes into quarantine marks those of its chain by itself; one that was in it when the backup was
 * made does not come into it.
 */
export async function doubtTransfers(tx: Tx): Promise<void> {
  await tx`
    update ramp_transfers t set doubtful = true
    where t.state = 'new' and not t.doubtful and exists (select from ramps r
      where (r.chain, r.network) = (t.chain, t.network) and r.quarantined is not null)`;
}

/** Reads why the ramp of an own address is in quarantine, and locks its row; null if it is not. */
export async function lockQuarantineAt(
  tx: Tx,
  { chain, network, address }: NetworkKey & { address: string },
): Promise<Quarantine | null> {
  const [row] = await tx<{ quarantined: Quarantine }[]>`
    select r.quarantined from addresses a join ramps r on r.account = a.ramp
    where a.chain = ${chain} and a.network = ${network} and a.address = ${address}
      and r.quarantined is not null
    limit 1 for share of r`;
  return row?.quarantined ?? null;
}

/** Reads why some ramps are in quarantine, and locks their rows: none begins or ends meanwhile. Those in none are left out. */
export async function lockQuarantines(
  tx: Tx,
  ramps: readonly string[],
): Promise<{ ramp: string; quarantined: Quarantine }[]> {
  return await tx<{ ramp: string; quarantined: Quarantine }[]>`
    select account as ramp, quarantined from (select account, quarantined from ramps
      where account = any (${`{${ramps.join(",")}}`}::text::uuid[]) order by account for update) r
    where quarantined is not null order by account`;
}

/** Ends the quarantine of a ramp. */
export async function liftQuarantine(tx: Tx, ramp: string): Promise<void> {
  await tx`update ramps set quarantined = null where account = ${ramp}`;
}

/** Reads why a ramp is in quarantine, and locks its row; null if it is not. */
export async function lockQuarantine(tx: Tx, ramp: string): Promise<Quarantine | null> {
  const [row] = await tx<{ quarantined: Quarantine | null }[]>`
    select quarantined from ramps where account = ${ramp} for share`;
  return row?.quarantined ?? null;
}

/** Reads why a ramp is in quarantine; null if it is not. */
export async function selectQuarantine(db: Db, ramp: string): Promise<Quarantine | null> {
  const [row] = await db<{ quarantined: Quarantine | null }[]>`
    select quarantined from ramps where account = ${ramp}`;
  return row?.quarantined ?? null;
}

/** Whether an order may be canceled: as far as this database can tell, no newer one has sent it. */
export async function selectMayCancel(db: Db, order: string): Promise<boolean> {
  const [row] = await db<{ may: boolean }[]>`
    select is_attested() and not in_quarantine(ramp) as may from chain_orders where id = ${order}`;
  return row?.may ?? true;
}

/** Lists the places of ramps in quarantine, each with the reason of one ramp. */
export async function selectQuarantinedPlaces(
  db: Db,
): Promise<(NetworkKey & { ramps: number; detail: string })[]> {
  return await db<(NetworkKey & { ramps: number; detail: string })[]>`
    select chain, network, count(*)::integer as ramps, min(quarantined->>'detail') as detail
    from ramps where quarantined is not null group by chain, network order by chain, network`;
}

/** Selects the own coins that a transaction of no order of ours spent; with their ramps. */
export async function selectStolenCoins(
  tx: Tx,
  place: NetworkKey,
  consumed: readonly { input: string; hash: string }[],
): Promise<{ input: string; hash: string; ramp: string }[]> {
  return await tx<{ input: string; hash: string; ramp: string }[]>`
    select g.k as input, g.spender as hash, c.ramp
    from (select input as k, hash as spender
        from jsonb_to_recordset(${tx.json(consumed as never)}) r(input text, hash text)) g
      cross join lateral (select chain, network, ramp from coins where ${isCoin(tx)} offset 0) c
    where c.chain = ${place.chain} and c.network = ${place.network} and case when c.ramp is not null
      then (select k.order_id from order_attempts k where k.hash = g.spender) is null end
    order by input`;
}

/**
 * Selects the own nonces that a transaction of no order of ours used, and our signatures under such
 * transactions where there are no nonces (`address:hash`); with their ramps.
 */
export async function selectStolenNonces(
  tx: Tx,
  place: NetworkKey,
  consumed: readonly { input: string; hash: string }[],
): Promise<{ input: string; hash: string; ramp: string }[]> {
  return await tx<{ input: string; hash: string; ramp: string }[]>`
    select g.input, g.hash, a.ramp
    from jsonb_to_recordset(${tx.json(consumed as never)}) g(input text, hash text)
      cross join lateral (select o.chain, o.network, o.ramp from addresses o
        where o.address = split_part(g.input, ':', 1) offset 0) a
    where a.chain = ${place.chain} and a.network = ${place.network} and case when a.ramp is not null
      then (select k.order_id from order_attempts k where k.hash = g.hash) is null end
    order by g.input`;
}

/** Selects the senders that are own addresses; with their ramps. */
export async function selectOwnSenders(
  tx: Tx,
  place: NetworkKey,
  senders: readonly string[],
): Promise<{ address: string; ramp: string }[]> {
  return await tx<{ address: string; ramp: string }[]>`
    select a.address, a.ramp
    from (select distinct jsonb_array_elements_text(${tx.json([...senders])}) as address) g,
      lateral (select o.chain, o.network, o.address, o.ramp from addresses o
        where o.address = g.address offset 0) a
    where a.chain = ${place.chain} and a.network = ${place.network}`;
}

/** Holds pending deposits of some transactions. */
export async function holdTransactions(
  tx: Tx,
  place: NetworkKey,
  hashes: readonly string[],
  why: string,
): Promise<void> {
  await tx`
    update deposits set held = ${why}, updated_at = now()
    where chain = ${place.chain} and network = ${place.network} and status = 'PENDING'
      and held is null and hash in (select jsonb_array_elements_text(${tx.json([...hashes])}))`;
}

const RECEIPT =
  "the ramp is in quarantine, and this may be its own change, or a sweep: it waits for `reconcile`";

/**
 * Holds incoming transfers to the own addresses of ramps in quarantine, in transactions that the database does not know:
 * they may be change, or sweeps, of a newer one. Nothing shows that of a sweep from an address which only that one knows,
 * nor of a token of a realm's own, whose log proves no signature.
 */
export async function holdOwnReceipts(
  tx: Tx,
  place: NetworkKey,
  hashes: readonly string[],
): Promise<void> {
  await tx`
    update deposits d set held = ${RECEIPT}, updated_at = now()
    where d.chain = ${place.chain} and d.network = ${place.network} and d.status = 'PENDING'
      and d.held is null
      and (select a.derivation_key = 0 and r.quarantined is not null
        from addresses a join ramps r on r.account = a.ramp
        where a.chain = d.chain and a.network = d.network and a.address = d.address)
      and d.hash in (select jsonb_array_elements_text(${tx.json([...hashes])}))
      and not exists (select from order_attempts k where k.hash = d.hash)`;
}

/** Holds those that came before the quarantine of their ramp, and are not credited yet. */
export async function holdEarlierReceipts(tx: Tx): Promise<void> {
  await tx`
    update deposits d set held = ${RECEIPT}, updated_at = now()
    from (select o.chain, o.network, o.address from ramps r, lateral (
        select a.chain, a.network, a.address from addresses a
        where a.ramp = r.account and a.derivation_key = 0 offset 0) o
      where r.quarantined is not null order by 3 offset 0) own
    where d.address = own.address and d.chain = own.chain and d.network = own.network
      and d.status = 'PENDING' and d.held is null
      and not exists (select from order_attempts k where k.hash = d.hash)`;
}
