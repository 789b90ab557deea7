/** Statements on linked addresses: addresses of third parties that are watched for an account. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";
import type { CustomersCount } from "./unused_addresses.ts";

/** A watched address as stored. */
export interface ExternalAddressRow extends NetworkKey {
  id: string;
  account: string;
  address: string;
  /** Code of the account's asset. */
  currency: string;
  owner: string | null;
  created_at: number;
}

/** A watched address of an account. */
export interface AssignedRow {
  address: string;
  currency: string;
  /** More deposits arrived there than a day records: it is watched no more. */
  paused_at: number | null;
}

/**
 * Assigns an address from the newest scanned block on. Fails if it is assigned already, or is our
 * own.
 */
export async function insertExternalAddress(tx: Tx, row: ExternalAddressRow): Promise<void> {
  await tx`
    insert into external_addresses
      (id, account, chain, network, address, currency, owner, since, created_at)
    select ${row.id}, ${row.account}, ${row.chain}, ${row.network}, ${row.address},
      ${row.currency}, ${row.owner}, coalesce((select max(greatest(head, height))
        from chain_cursors where chain = ${row.chain} and network = ${row.network}), -1),
      ${row.created_at}`;
}

/** Lists the addresses assigned to an account, oldest first. */
export async function selectExternalAddresses(
  db: Db,
  account: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<AssignedRow[]> {
  return await db<AssignedRow[]>`
    select address, currency, paused_at from (
      select id, address, currency, paused_at, deleted_at from external_addresses
      where account = ${account} order by id offset 0) e
    where deleted_at is null order by id limit ${limit} offset ${offset}`;
}

/** Ends the link of an address to an account; false if there was none. */
export async function deleteExternalAddress(
  tx: Tx,
  of: { account: string; address: string; at: number },
): Promise<boolean> {
  const rows = await tx`
    update external_addresses set deleted_at = ${of.at}
    where account = ${of.account} and address = ${of.address} and deleted_at is null
    returning id`;
  return rows.length > 0;
}

/** Lists linked addresses, from one on. */
export async function selectLinked(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await db<{ address: string }[]>`
    select distinct address from external_addresses
    where deleted_at is null and address > ${after} order by address limit ${limit}`;
  return rows.map(({ address }) => address);
}

/**
 * Reads the address up to which linked addresses were compared with the directory of own addresses;
 * '' at first.
 */
export async function selectCompared(db: Db): Promise<string> {
  const [row] = await db<{ after: string }[]>`select linked_after as after from attestations`;
  return row?.after ?? "";
}

/** Stores the address up to which linked addresses were compared; '': the next pass begins anew. */
export async function updateCompared(tx: Tx, after: string): Promise<void> {
  await tx`update attestations set linked_after = ${after} where linked_after <> ${after}`;
}

/** Ends the assignments of addresses, on every chain; gives the accounts that had them. */
export async function endAssignments(
  tx: Tx,
  addresses: readonly string[],
  at: number,
): Promise<{ account: string; address: string }[]> {
  return await tx<{ account: string; address: string }[]>`
    update external_addresses set deleted_at = ${at}
    where (deleted_at is null) is true and ctid = any (array(
      select e.ctid from unnest(${addresses as string[]}::text[]) g, lateral (
        select ctid from external_addresses where deleted_at is null and address = g order by address offset 0) e))
    returning account, address`;
}

/**
 * Finds the accounts that receive value sent to addresses. For an own address it is the account
 * served, or else the ramp, since a deposit account keeps nothing. Accounts with linked addresses
 * follow.
 */
export async function selectAssigned(
  db: Db,
  addresses: readonly string[],
): Promise<{ address: string; account: string }[]> {
  const given = JSON.stringify(addresses);
  return await db<{ address: string; account: string }[]>`
    select f.address, f.account
    from (select distinct jsonb_array_elements_text(${given}::text::jsonb) as address) g,
      lateral (
        select address, coalesce(target_account, ramp) as account, 0 as rank, id from addresses
        where address = g.address
        union all
        select address, account, 1, id from external_addresses
        where deleted_at is null and address = g.address offset 0) f
    order by f.rank, f.id`;
}

/** Counts the addresses that a customer has linked, and those of one of its users, up to a number. */
export async function countLinked(
  db: Db,
  { customer, user, most }: { customer: string; user: string; most: number },
): Promise<CustomersCount> {
  const [counts] = await db<CustomersCount[]>`
    select count(*)::integer as "all", (count(*) filter (where owner = ${user}))::integer as own
    from (select owner from external_addresses
      where root = ${customer} and deleted_at is null limit ${most}) linked`;
  return counts;
}
