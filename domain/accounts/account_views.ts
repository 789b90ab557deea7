/**
 * Views of accounts with their addresses, and their balances on chains as workers last read them.
 * @module
 */
import type { AccountRow } from "../../db/accounts/accounts.ts";
import type { Db } from "../../db/database.ts";
import {
  type OwnedAddressRow,
  selectAddressesFor,
  selectRampBalances,
} from "../../db/accounts/ramps.ts";
import { type ChainPart, viewAccount } from "./accounts.ts";
import { type Actor, reachesRealm, roleOf } from "../actor.ts";
import { findAsset } from "../assets.ts";
import { type ChainAsset, resolveChainAssets } from "../chains/onchain_assets.ts";
import { fromUnits } from "../money.ts";

/**
 * Shows accounts with their balances on chains, and with their addresses where the actor may see
 * those.
 */
export async function viewAccounts(
  db: Db,
  rows: readonly AccountRow[],
  populate: { addressFor?: Actor } = {},
): Promise<Record<string, unknown>[]> {
  const onChain = rows.filter((row) => row.type === "ramp" || row.type === "deposit");
  const asked = populate.addressFor ? rows.filter((row) => row.type !== "system") : onChain;
  if (asked.length === 0) return rows.map((row) => viewAccount(row));
  const addresses = byAccount(await selectAddressesFor(db, asked.map((row) => row.id)));
  const holdings = await selectRampBalances(db, onChain.map((row) => row.id));
  const held = new Map(holdings.map((one) => [`${one.account} ${one.contract}`, one.amount]));
  const assets = await resolveChainAssets(db, onChain.map((row) => row.asset));
  return rows.map((row) => {
    const own = addresses.get(row.id);
    const isOnChain = row.type === "ramp" || row.type === "deposit";
    const asset = isOnChain ? assets.get(row.asset) : undefined;
    const part = asset && partOf(row, { asset, address: own?.address ?? null, held });
    const view = viewAccount(row, part);
    if (populate.addressFor === undefined) return view;
    const address = own === undefined ? null : viewAddress(own, populate.addressFor);
    return { ...view, ...chainOf(own), address };
  });
}

/** The oldest address of each account: its own, or the first whose deposits are forwarded to it. */
function byAccount(rows: readonly OwnedAddressRow[]): ReadonlyMap<string, OwnedAddressRow> {
  const found = new Map<string, OwnedAddressRow>();
  for (const row of rows) {
    for (const account of [row.account, row.target_account]) {
      if (account !== null && !found.has(account)) found.set(account, row);
    }
  }
  return found;
}

/** Shows one account as {@link viewAccounts} does. */
export async function viewWholeAccount(
  db: Db,
  row: AccountRow,
  populate: { addressFor?: Actor } = {},
): Promise<Record<string, unknown>> {
  return (await viewAccounts(db, [row], populate))[0];
}

/** Shows an address; the xpub of its ramp only to actors who may know all addresses below it. */
export function viewAddress(row: OwnedAddressRow, actor: Actor): Record<string, unknown> {
  return {
    id: row.id,
    account: row.target_account ?? row.account,
    asset: row.asset,
    address: row.address,
    derivation_key: `${row.derivation_key}`,
    xpub: seesXpub(actor, row.ramp_owner) ? row.xpub : null,
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

function seesXpub(actor: Actor, rampOwner: string | null): boolean {
  if (reachesRealm(actor) && roleOf(actor) !== "user") return true;
  return rampOwner !== null && rampOwner === actor.user;
}

function partOf(
  row: AccountRow,
  of: { asset: ChainAsset; address: string | null; held: ReadonlyMap<string, string> },
): ChainPart {
  const { asset: { contract, gas: coin }, address, held } = of;
  const units = held.get(`${row.id} ${contract ?? ""}`) ?? 0;
  const assets = fromUnits(BigInt(units), row.decimals);
  const paysItself = contract === null || findAsset(row.asset)?.gasAsset === null;
  if (paysItself) return { address, assets };
  return { address, assets, gas: fromUnits(BigInt(held.get(`${row.id} `) ?? 0), coin.decimals) };
}

function chainOf(address: OwnedAddressRow | undefined): { chain?: string } {
  return address === undefined ? {} : { chain: address.chain };
}
