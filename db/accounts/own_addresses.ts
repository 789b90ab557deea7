/** Statements on our own addresses: handed-out and reserved ones. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";

/** The use of an own address. */
export interface OwnAddressRow extends NetworkKey {
  asset: string;
  /** Whether it is the address of a ramp itself. */
  ramp: boolean;
}

/** Reads the uses of an own address, on every chain where it is one, and whether it is reserved. */
export async function selectOwnAddress(
  db: Db,
  address: string,
): Promise<{ uses: OwnAddressRow[]; reserved: boolean }> {
  const rows = await db<(OwnAddressRow & { reserved: boolean })[]>`
    select a.chain, a.network, a.asset, a.ramp,
      (select 1 from reserved_addresses where address = ${address} limit 1) is not null as reserved
    from (values (1)) one
      left join lateral (select id, chain, network, asset, derivation_key = 0 as ramp
        from addresses where address = ${address} offset 0) a on true
    order by a.id`;
  return { uses: rows.filter(({ chain }) => chain !== null), reserved: rows[0].reserved };
}

/** Finds the accounts that coins at own addresses go to: the one that an address serves, or its own. */
export async function selectReceivers(
  db: Db,
  payments: readonly (NetworkKey & { destination: string })[],
): Promise<(NetworkKey & { address: string; account: string })[]> {
  const addresses = [...new Set(payments.map(({ destination }) => destination))];
  return await db<(NetworkKey & { address: string; account: string })[]>`
    select a.chain, a.network, a.address, coalesce(a.target_account, a.account) as account
    from unnest(${addresses}::text[]) g(address),
      lateral (select chain, network, address, account, target_account from addresses
        where address = g.address offset 0) a`;
}

/** Reserves addresses of a ramp, and stores up to which index they are reserved. */
export async function insertReserved(
  tx: Tx,
  of: { ramp: string; from: number; addresses: readonly string[]; at: number },
): Promise<void> {
  const rows = of.addresses.map((address, at) => ({ address, derivation_key: of.from + at }));
  await tx`
    insert into reserved_addresses (address, ramp, derivation_key, created_at)
    select g.address, ${of.ramp}, g.derivation_key, ${of.at}
    from jsonb_to_recordset(${tx.json(rows)}) g(address text, derivation_key integer)
    on conflict (address) do nothing`;
  await tx`
    update ramps set reserved = greatest(reserved, ${of.from + of.addresses.length})
    where account = ${of.ramp}`;
}

/** Keeps addresses of a ramp that a newer database may have handed out. */
export async function insertPassed(
  tx: Tx,
  of: { ramp: string; from: number; addresses: readonly string[]; at: number },
): Promise<void> {
  const rows = of.addresses.map((address, at) => ({ address, derivation_key: of.from + at }));
  await tx`
    insert into passed_addresses (chain, network, address, ramp, derivation_key, created_at)
    select r.chain, r.network, g.address, r.account, g.derivation_key, ${of.at}
    from jsonb_to_recordset(${tx.json(rows)}) g(address text, derivation_key integer)
      join ramps r on r.account = ${of.ramp}
    on conflict do nothing`;
}

/** Selects those of some addresses that were passed over and have no account yet, with their indices. */
export async function selectPassed(
  db: Db,
  place: NetworkKey,
  addresses: readonly string[],
): Promise<{ ramp: string; index: number; address: string }[]> {
  return await db<{ ramp: string; index: number; address: string }[]>`
    select p.ramp, p.derivation_key as index, p.address from passed_addresses p
    where p.chain = ${place.chain} and p.network = ${place.network}
      and p.address in (select jsonb_array_elements_text(${db.json([...addresses])}))
      and (select true from addresses a where a.chain = p.chain and a.network = p.network
        and a.address = p.address limit 1) is null
    order by p.ramp, p.derivation_key`;
}

/** Lists addresses of the realm's own that the directory of the installation does not have. */
export async function selectUnshared(db: Db, limit: number): Promise<string[]> {
  const rows = await db<{ address: string }[]>`
    select address from reserved_addresses where not shared order by address limit ${limit}`;
  return rows.map(({ address }) => address);
}

/** Records that the directory of the installation has addresses. */
export async function markShared(tx: Tx, addresses: readonly string[]): Promise<void> {
  await tx`
    update reserved_addresses set shared = true
    where ctid = any (array(
      select f.ctid from jsonb_array_elements_text(${tx.json([...addresses])}) g,
        lateral (select ctid from reserved_addresses where address = g offset 0) f))`;
}

/** Forgets of some addresses that the directory of the installation has them; gives their number. */
export async function unmarkShared(tx: Tx, limit: number): Promise<number> {
  const rows = await tx`
    update reserved_addresses set shared = false
    where address in (select address from reserved_addresses where shared limit ${limit})
    returning 1`;
  return rows.length;
}

/** A deposit that was booked as linked value; amount in whole units of the asset. */
export interface LinkedDeposit {
  account: string;
  transaction: string;
  amount: string;
  asset: string;
  decimals: number;
  testnet: boolean;
}

/**
 * Assigns the deposits and coins at handed-out addresses that were linked before to their accounts;
 * none before a worker has derived the address.
 *
 * @param addresses with the error that is stored with deposits of another asset, which are not credited
 * @returns the deposits that were booked as linked value and must be taken back
 */
export async function handOverDeposits(
  tx: Tx,
  addresses: readonly { id: string; error: unknown }[],
  at: number,
): Promise<LinkedDeposit[]> {
  return await tx<LinkedDeposit[]>`
    select d.account, d.transaction, d.amount::text as amount, d.asset, d.decimals, d.testnet
    from jsonb_to_recordset(${tx.json(addresses as never)}) g(id uuid, error jsonb),
      lateral hand_over_deposits(g.id, g.error, ${at}::timestamptz) d`;
}

/** An address that no worker has derived yet. */
export interface UnprovenRow {
  id: string;
  ramp: string;
  asset: string;
  address: string;
  derivation_key: number;
  chain: string;
  network: string;
  xpub: string | null;
  /** The ramp's number. */
  number: number;
}

/** Reads the addresses of some deposits that no worker has derived. */
export async function selectUnproven(db: Db, deposits: readonly string[]): Promise<UnprovenRow[]> {
  return await db<UnprovenRow[]>`
    select distinct a.id, a.ramp, a.asset, a.address, a.derivation_key, a.chain, a.network, r.xpub,
      r.number
    from deposits d
      join addresses a on a.chain = d.chain and a.network = d.network and a.address = d.address
      join ramps r on r.account = a.ramp
    where d.id = any (${`{${deposits.join(",")}}`}::text::uuid[])
      and not is_derived(a.address, a.derivation_key, a.ramp)`;
}

/**
 * Reads addresses of a ramp that were handed out beyond the reserved ones, from an index on, and that no worker
 * has derived.
 */
export async function selectUnreserved(
  db: Db,
  { ramp, from }: { ramp: string; from: number },
  limit: number,
): Promise<UnprovenRow[]> {
  return await db<UnprovenRow[]>`
    select a.id, a.ramp, a.asset, a.address, a.derivation_key, a.chain, a.network, r.xpub,
      r.number
    from ramps r join addresses a on a.ramp = r.account and a.derivation_key >= r.reserved
    where r.account = ${ramp} and a.derivation_key >= ${from}
      and not is_derived(a.address, a.derivation_key, a.ramp)
    order by a.derivation_key limit ${limit}`;
}

/** Selects the addresses of a ramp that were handed out from an index on, and that a worker has derived. */
export async function selectHandedOut(
  db: Db,
  of: { ramp: string; from: number },
): Promise<Pick<UnprovenRow, "id" | "asset">[]> {
  return await db<Pick<UnprovenRow, "id" | "asset">[]>`
    select a.id, a.asset from addresses a
    where a.ramp = ${of.ramp} and a.derivation_key >= ${of.from}
      and is_derived(a.address, a.derivation_key, a.ramp)
    order by a.derivation_key`;
}

/** Records addresses that a worker has derived, although they were not reserved. */
export async function insertDerived(
  tx: Tx,
  rows: readonly UnprovenRow[],
  at: number,
): Promise<void> {
  await tx`
    insert into reserved_addresses (address, ramp, derivation_key, created_at)
    select g.address, g.ramp, g.derivation_key, ${at}
    from jsonb_to_recordset(${tx.json(rows as never)})
      g(address text, ramp uuid, derivation_key integer)
    on conflict (address) do nothing`;
}
