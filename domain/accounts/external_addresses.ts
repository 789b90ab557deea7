/**
 * Linked addresses: addresses of third parties that are watched for a virtual account. Later
 * deposits there count in the account's total and are never available, because the realm cannot
 * spend them. Spends from there are ignored. No proof of ownership is asked for.
 * @module
 */
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import { selectAccount } from "../../db/accounts/accounts.ts";
import { brokenConstraint } from "../../db/errors.ts";
import {
  type AssignedRow,
  deleteExternalAddress,
  insertExternalAddress,
  selectExternalAddresses,
} from "../../db/accounts/external_addresses.ts";
import { assertAccount, findAccount } from "./accounts.ts";
import { assertMayLink } from "./address_limits.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { checkAddress, parseAddress } from "../chains/addresses.ts";
import { type Asset, findAsset } from "../assets.ts";
import { DomainError } from "../errors.ts";
import { isId, newId } from "../ids.ts";
import { LIMIT_MAX, OFFSET_MAX } from "../collections/list_parameters.ts";
import { assertNotOurs, ours } from "./own_addresses.ts";
import { notFound } from "../permissions.ts";
import { networkOf } from "../chains/networks.ts";

/** A watched address as shown. */
export const ExternalAddressView = z.object({
  address: z.string(),
  currency: z.string(),
  paused_at: z.number().int().optional().meta({
    description:
      "Since when it is watched no more, because more deposits arrived than a day records.",
  }),
}).meta({ id: "ExternalAddress" });
/** A watched address as shown. */
export type ExternalAddressView = z.infer<typeof ExternalAddressView>;

/** Names an account and an address. */
export interface Assignment {
  account: string;
  address: string;
}

/**
 * Assigns an address to a virtual account.
 *
 * @param input.elsewhere those of the address's spellings that are other realms' own
 * @throws {DomainError} account.not_found, address.invalid, address.assigned, asset.unknown,
 *   permission.role, permission.owner, rate.limited
 */
export async function assignAddress(
  tx: Tx,
  actor: RequestActor,
  input: Assignment & { elsewhere: readonly string[] },
): Promise<ExternalAddressView> {
  const { account, asset, network } = await target(tx, actor, input);
  const address = await checkAddress(asset.chain, network, input.address);
  await assertMayLink(tx, actor); // before it is looked for: nothing is learnt of addresses beyond the bound
  if (input.elsewhere.includes(address)) throw ours();
  await assertNotOurs(tx, address);
  try {
    await tx.savepoint((sp) =>
      insertExternalAddress(sp, {
        id: newId(actor.at),
        account: account.id,
        chain: asset.chain,
        network,
        address,
        currency: asset.code,
        owner: actor.user,
        created_at: actor.at,
      })
    );
  } catch (error) {
    const broken = brokenConstraint(error);
    if (broken === "external_addresses_address") throw ours();
    if (broken === "external_addresses_watching") throw unwatching();
    throw broken === "external_addresses_own" ? ours() : error;
  }
  return { address, currency: asset.code };
}

/**
 * Takes an address from an account; its balance stays as it is.
 *
 * @returns the addresses that remain
 * @throws {DomainError} account.not_found, address.not_found, permission.role, permission.owner
 */
export async function unassignAddress(
  tx: Tx,
  actor: RequestActor,
  input: Assignment,
): Promise<ExternalAddressView[]> {
  const { account, asset, network } = await target(tx, actor, input);
  const parsed = await parseAddress(asset.chain, network, input.address);
  if (!parsed.ok) throw notFound("address.not_found");
  const of = { account: account.id, address: parsed.address, at: actor.at };
  if (!await deleteExternalAddress(tx, of)) throw notFound("address.not_found");
  return (await selectExternalAddresses(tx, account.id, { limit: LIMIT_MAX, offset: 0 })).map(view);
}

/** The page of an account's linked addresses that is listed. */
export const AssignedList = z.strictObject({
  limit: z.coerce.number().int().min(1).max(LIMIT_MAX).default(LIMIT_MAX),
  offset: z.coerce.number().int().min(0).max(OFFSET_MAX).default(0),
});

/**
 * Lists addresses that are assigned to an account, oldest first.
 *
 * @throws {DomainError} account.not_found
 */
export async function listAssigned(
  db: Db,
  actor: Actor,
  { account, ...part }: z.infer<typeof AssignedList> & { account: string },
): Promise<ExternalAddressView[]> {
  const { id } = await findAccount(db, actor, account);
  return (await selectExternalAddresses(db, id, part)).map(view);
}

function view({ paused_at, ...shown }: AssignedRow): ExternalAddressView {
  return paused_at === null ? shown : { ...shown, paused_at };
}

async function target(tx: Tx, actor: RequestActor, input: Assignment) {
  const account = isId(input.account) ? await selectAccount(tx, input.account) : null;
  assertAccount(actor, "write", account);
  const asset: Asset | null = account.type === "virtual" ? findAsset(account.asset) : null;
  if (asset === null) {
    throw unwatching();
  }
  return {
    account,
    asset,
    network: networkOf(actor.settings.chains, asset.chain, account.testnet),
  };
}

function unwatching(): DomainError {
  return new DomainError("asset.unknown", "only virtual accounts of an asset on a chain watch");
}
