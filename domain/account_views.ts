/** What accounts show of the chain: addresses, and balances there as workers last saw them. @module */
import { type AccountRow, selectAccount } from "../db/accounts.ts";
import type { Db } from "../db/database.ts";
import { type AddressRow, selectAddressesFor, selectHoldings } from "../db/ramps.ts";
import { type ChainPart, viewAccount } from "./accounts.ts";
import { findAsset, nativeAsset } from "./assets.ts";
import { fromUnits } from "./money.ts";

/** Shows accounts with what they hold on their chains; with `address`, their addresses too. */
export async function viewAccounts(
  db: Db,
  rows: readonly AccountRow[],
  populate: { address?: boolean } = {},
): Promise<Record<string, unknown>[]> {
  const onChain = rows.filter((row) => row.type === "ramp" || row.type === "deposit");
  const asked = populate.address ? rows.filter((row) => row.type !== "system") : onChain;
  if (asked.length === 0) return rows.map((row) => viewAccount(row));
  const addresses = await selectAddressesFor(db, asked.map((row) => row.id));
  const holdings = await selectHoldings(db, onChain.map((row) => row.id));
  const held = new Map(holdings.map((one) => [`${one.account} ${one.contract}`, one.amount]));
  return rows.map((row) => {
    const own = addresses.findLast((one) => one.account === row.id || one.serves === row.id);
    const part = onChain.includes(row) ? partOf(row, own?.address ?? null, held) : undefined;
    const view = viewAccount(row, part);
    if (!populate.address) return view;
    return { ...view, ...chainOf(own), address: own === undefined ? null : viewAddress(own) };
  });
}

/** Shows one account as {@link viewAccounts} does. */
export async function viewWholeAccount(
  db: Db,
  row: AccountRow,
  populate: { address?: boolean } = {},
): Promise<Record<string, unknown>> {
  return (await viewAccounts(db, [row], populate))[0];
}

/** Gives the view of an account once it is ready; null until then. */
export async function findWholeEnabled(db: Db, id: string): Promise<unknown | null> {
  const row = await selectAccount(db, id);
  return row?.enabled ? await viewWholeAccount(db, row) : null;
}

/** Shows an address. */
export function viewAddress(row: AddressRow): Record<string, unknown> {
  return {
    id: row.id,
    account: row.serves ?? row.account,
    asset: row.asset,
    address: row.address,
    derivation_key: `${row.derivation_key}`,
    xpub: row.xpub,
    destination_tag: null,
    memo: null,
    message: null,
    notification: null,
    owner: row.owner,
    data: row.data,
    created_at: row.created_at,
    error: null,
  };
}

function partOf(
  row: AccountRow,
  address: string | null,
  held: ReadonlyMap<string, string>,
): ChainPart {
  const asset = findAsset(row.asset)!;
  const assets = fromUnits(
    BigInt(held.get(`${row.id} ${asset.contract ?? ""}`) ?? 0),
    row.decimals,
  );
  if (asset.gasAsset === null || asset.contract === null) return { address, assets };
  const gas = BigInt(held.get(`${row.id} `) ?? 0);
  return { address, assets, gas: fromUnits(gas, nativeAsset(asset.chain).decimals) };
}

function chainOf(address: AddressRow | undefined): { chain?: string } {
  return address === undefined ? {} : { chain: address.chain };
}
