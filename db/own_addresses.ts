/** Statements on which addresses are our own: handed out, or reserved to be. @module */
import type { PlaceKey } from "./chains.ts";
import type { Db, Tx } from "./database.ts";

/** What an address of ours is for. */
export interface OwnAddressRow extends PlaceKey {
  asset: string;
  /** Whether it is the address of a ramp itself. */
  ramp: boolean;
}

/** Reads what an address of ours is for, on every chain where it is one. */
export async function selectOwnAddress(db: Db, address: string): Promise<OwnAddressRow[]> {
  return await db<OwnAddressRow[]>`
    select chain, network, asset, derivation_key = 0 as ramp from addresses
    where address = ${address} order by id`;
}

/** Whether an address is one that will be handed out. */
export async function isReserved(db: Db, address: string): Promise<boolean> {
  const rows = await db`select address from reserved_addresses where address = ${address}`;
  return rows.length > 0;
}

/** Reserves addresses of a ramp, and says how far its addresses are reserved. */
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

/** A deposit that came to an address while somebody watched it. */
export interface WatchedDepositRow {
  id: string;
  hash: string;
  index: number;
  asset: string;
  contract: string | null;
  /** Whole units of the asset. */
  amount: string;
  block: number | null;
  matures_at: number | null;
}

/** Reads what came to an address for accounts that watched it, and is not booked. */
export async function lockWatchedDeposits(
  tx: Tx,
  place: PlaceKey,
  address: string,
): Promise<WatchedDepositRow[]> {
  return await tx<WatchedDepositRow[]>`
    select d.id, d.hash, d.index, d.asset, d.contract, d.amount, d.block::float8 as block,
      d.matures_at::float8 as matures_at
    from deposits d
    where d.chain = ${place.chain} and d.network = ${place.network} and d.address = ${address}
      and d.status <> 'CONFIRMED' and watches_addresses(d.account)
    order by d.id for update`;
}

/** Makes deposits those of the account whose address they came to. */
export async function moveDeposits(
  tx: Tx,
  ids: readonly string[],
  to: { account: string; owner: string | null; data: Record<string, unknown>; at: number },
): Promise<void> {
  const data = Object.keys(to.data).length === 0 ? null : tx.json(to.data as never);
  await tx`
    update deposits set account = ${to.account}, owner = ${to.owner}, address_data = ${data},
      updated_at = ${to.at}
    where id = any (${`{${ids.join(",")}}`}::text::uuid[]) and status <> 'CONFIRMED'`;
}
