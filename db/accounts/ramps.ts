/** Statements on ramps and the addresses below them. @module */
import { rowsOfAddresses } from "./address_rows.ts";
import { linkedNetworks } from "../chains/linked_networks.ts";
import type { LedgerTx } from "../transaction.ts";
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";

/** A ramp: the derivation path and state of an account's keys and addresses. */
export interface RampRow {
  account: string;
  chain: string;
  network: string;
  /** The account step of the derivation path. */
  number: number;
  /** Null until derived, and always on Solana. */
  xpub: string | null;
  next_index: number;
  /** Addresses below this index are reserved. */
  reserved: number;
  /**
   * The reason for its quarantine: nothing is signed and no address handed out; null if there is
   * none.
   */
  quarantined: Quarantine | null;
  created_at: number;
}

/** Why a ramp waits for a reconciliation. */
export interface Quarantine {
  detail: string;
  at: number;
  /** Unix seconds of a block that was the newest after it had begun; absent until one was read. */
  block_time?: number;
  /** The number of the first block that was the newest since then and not older, where blocks are counted so. */
  block_count?: number;
  /** The height up to which the database knew the chain. */
  height?: number | null;
  /** The index from which its reconciliation has passed over addresses; absent until it has. */
  passed_from?: number;
}

/** An address of ours. It is handed out once and kept for ever. */
export interface AddressRow {
  id: string;
  /** The ramp account, or the deposit account that it was made for. */
  account: string;
  ramp: string;
  /** The virtual account that its deposits are forwarded to. */
  target_account: string | null;
  chain: string;
  network: string;
  address: string;
  derivation_key: number;
  xpub: string | null;
  asset: string;
  data: Record<string, unknown>;
  owner: string | null;
  created_at: number;
}

/** An address with the owner of the ramp that it lies below. */
export type OwnedAddressRow = AddressRow & { ramp_owner: string | null };

const RAMP = [
  "account",
  "chain",
  "network",
  "number",
  "xpub",
  "next_index",
  "reserved",
  "quarantined",
  "created_at",
] as const;
const ADDRESS = [
  "id",
  "account",
  "ramp",
  "target_account",
  "chain",
  "network",
  "address",
  "derivation_key",
  "xpub",
  "asset",
  "data",
  "owner",
  "created_at",
] as const;

/**
 * Adds a ramp under the next free number of its chain and network; false while no worker has recently
 * attested this database, which may be older than the one that assigned the number.
 */
export async function insertRamp(
  tx: Tx,
  ramp: Pick<RampRow, "account" | "chain" | "network" | "created_at">,
): Promise<boolean> {
  const rows = await tx`
    insert into ramps (account, chain, network, number, created_at)
    select ${ramp.account}, ${ramp.chain}, ${ramp.network},
      greatest(coalesce(max(number) + 1, 0), coalesce((select numbers_from from attestations), 0)),
      ${ramp.created_at}
    from ramps where chain = ${ramp.chain} and network = ${ramp.network} having is_attested()
    returning account`;
  return rows.length > 0;
}

/** Reads a ramp. */
export async function selectRamp(db: Db, account: string): Promise<RampRow | null> {
  const [row] = await db<RampRow[]>`select ${db(RAMP)} from ramps where account = ${account}`;
  return row ?? null;
}

/** Lists the chains and networks that the realm has ramps or watched addresses on. */
export async function selectPlaces(db: Db): Promise<{ chain: string; network: string }[]> {
  return await db<{ chain: string; network: string }[]>`
    with recursive ${linkedNetworks(db)}
    select chain, network from ramps union select chain, network from linked order by chain, network`;
}

/** A ramp with an index that was taken, and the address that a worker derived for it, if any. */
export type TakenRow = RampRow & { taken: number; reserved_address: string | null };

/**
 * Takes the next index of a ramp; it is never given again. Null while the ramp is not open or in
 * quarantine, the realm has no seed, or no worker has recently attested this database.
 */
export async function takeIndex(tx: Tx, account: string): Promise<TakenRow | null> {
  const [row] = await tx<TakenRow[]>`
    update ramps set next_index = next_index + 1
    where account = ${account} and next_index > 0 and quarantined is null
      and exists (select 1 from secrets where kind = 'seed') and is_attested()
    returning ${tx(RAMP)}, next_index - 1 as taken, (select r.address from reserved_addresses r
      where r.ramp = ramps.account and r.derivation_key = ramps.next_index - 1) as reserved_address`;
  return row ?? null;
}

/** Stores a ramp's xpub and its first index; returns whether it had none before. */
export async function markOpened(
  tx: Tx,
  { account, number }: Pick<RampRow, "account" | "number">,
  xpub: string | null,
): Promise<boolean> {
  const rows = await tx`
    update ramps set xpub = ${xpub}, next_index = 1
    where account = ${account} and number = ${number} and next_index = 0 returning account`;
  return rows.length > 0;
}

/** Records the reason why an account cannot become ready. */
export async function markAccountError(
  tx: LedgerTx,
  account: string,
  error: unknown,
): Promise<void> {
  await tx`
    update accounts set error = ${tx.json(error as never)}, updated_at = now()
    where id = ${account} and not enabled`;
}

/** Adds an address. */
export async function insertAddress(tx: Tx, address: AddressRow): Promise<void> {
  await tx`insert into addresses ${tx({ ...address, data: tx.json(address.data as never) })}`;
}

/** Reads the address of a ramp or deposit account. */
export async function selectAddressOf(db: Db, account: string): Promise<AddressRow | null> {
  const [row] = await db<AddressRow[]>`
    select ${db(ADDRESS)} from addresses where account = ${account}`;
  return row ?? null;
}

function rampOwner(db: Db) {
  return db`(select r.owner from accounts r where r.id = addresses.ramp) as ramp_owner`;
}

/**
 * Reads the oldest address of each account: its own, or those whose deposits are forwarded to it,
 * which may be many.
 */
export async function selectAddressesFor(
  db: Db,
  accounts: readonly string[],
): Promise<OwnedAddressRow[]> {
  return await db<OwnedAddressRow[]>`
    select ${db(ADDRESS)}, ${rampOwner(db)}
    from unnest(${`{${accounts.join(",")}}`}::text::uuid[]) as wanted(asked) cross join lateral (
      select * from (
        select * from addresses where account = asked
        union all
        (select * from addresses where target_account = asked order by id limit 1)) found
      order by id limit 1) addresses
    order by id`;
}

/** A page of a list of addresses: `limit` of them after one. */
export interface AddressesAfter {
  after: string | null;
  limit: number;
}

/** Reads addresses that deposits for an account can be sent to, oldest first. */
export async function selectAddresses(
  db: Db,
  account: string,
  { after, limit }: AddressesAfter,
): Promise<OwnedAddressRow[]> {
  const behind = after === null ? db`true` : db`id > ${after}`;
  return await db<OwnedAddressRow[]>`
    select ${db(ADDRESS)}, ${rampOwner(db)} from (
      select * from addresses where account = ${account} and ${behind}
      union all
      (select * from addresses where target_account = ${account} and ${behind} order by id limit ${limit})
      union all
      (select * from addresses where ramp = ${account} and target_account is null
        and account <> ${account} and ${behind} order by id limit ${limit})) addresses
    order by id limit ${limit}`;
}

/** A balance as last read from the chain, in base units. */
export interface RampBalanceRow {
  account: string;
  contract: string;
  amount: string;
}

/** Reads the last stored balances at the addresses of ramp and deposit accounts. */
export async function selectRampBalances(
  db: Db,
  accounts: readonly string[],
): Promise<RampBalanceRow[]> {
  return await db<RampBalanceRow[]>`
    select a.account, h.contract, h.amount
    from addresses a join onchain_balances h
      on h.chain = a.chain and h.network = a.network and h.address = a.address
    where a.account = any (${`{${accounts.join(",")}}`}::text::uuid[])`;
}

/** Freezes the ramps of some addresses; linked addresses have none. */
export async function freezeRamps(
  tx: LedgerTx,
  place: NetworkKey,
  addresses: readonly string[],
): Promise<void> {
  await tx`
    update accounts set frozen = true, frozen_by = null, frozen_by_realm = true, updated_at = now()
    where not frozen_by_realm and type = 'ramp' and id in (
      select a.ramp from (${rowsOfAddresses(tx, place, addresses)}) a)`;
}

/** Position of an address in the tree of keys. */
export interface KeyPositionRow {
  number: number;
  index: number;
  address: string;
}

/** Finds the key positions of some own addresses. */
export async function selectKeyPositions(
  db: Db,
  place: { chain: string; network: string },
  addresses: readonly string[],
): Promise<KeyPositionRow[]> {
  return await db<KeyPositionRow[]>`
    select r.number, a.derivation_key as index, a.address
    from (${rowsOfAddresses(db, place, addresses)}) a join ramps r on r.account = a.ramp`;
}
