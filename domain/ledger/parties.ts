/**
 * Endpoints of a transfer: source and destination, named by account, alias or assigned address.
 * Endpoints that are named by the ids of cached accounts cost no statement.
 * @module
 */
import { z } from "zod";
import type { Db } from "../../db/database.ts";
import { selectAssigned } from "../../db/accounts/external_addresses.ts";
import {
  type AccountSummary,
  type AliasTarget,
  selectAccountSummaries,
  selectAliasTarget,
  selectAliasTargets,
  selectDefaultAccount,
} from "../../db/accounts/account_lookup.ts";
import type { Actor } from "../actor.ts";
import { addressSpellings } from "../chains/text_forms.ts";
import { Id, text } from "../entity.ts";
import { DomainError, invalidField } from "../errors.ts";
import { isId } from "../ids.ts";
import { mayReadAccount } from "../permissions.ts";
import { breatheIfDue } from "../slices.ts";

function oneOf(...names: string[]): { required: string[] }[] {
  return names.map((name) => ({ required: [name] }));
}

/** The source of a transfer. */
export const SourceParty = z.strictObject({
  account: Id.optional(),
  alias: text(200).optional(),
}).refine(
  (party) => (party.account === undefined) !== (party.alias === undefined),
  "exactly one of account and alias is expected",
).meta({ id: "SourceParty", oneOf: oneOf("account", "alias") });

/** The destination of a transfer. */
export const DestinationParty = z.strictObject({
  account: Id.optional(),
  alias: text(200).optional(),
  address: text(200).optional(),
}).refine(
  (party) => Object.values(party).filter((name) => name !== undefined).length === 1,
  "exactly one of account, alias and address is expected",
).meta({ id: "DestinationParty", oneOf: oneOf("account", "alias", "address") });

/** Cache of the unchanging fields of a realm's accounts. */
export interface AccountCache {
  get(id: string): AccountSummary | undefined;
  set(id: string, accounts: AccountSummary): void;
}

/** The endpoints of a transfer as the caller names them. */
export interface EndpointNames {
  source: { account?: string; alias?: string };
  destination: { account?: string; alias?: string; address?: string };
  asset?: string;
}

/** The accounts that value moves between. */
export interface TransferEndpoints {
  source: AccountSummary;
  destination: AccountSummary;
}

/** The database and cache in which endpoints are found, and for whom. */
export interface EndpointLookup {
  db: Db;
  cache: AccountCache;
  actor: Actor;
}

/** Returns the endpoints from the cache; null if the database must be read. */
export function cachedEndpoints(
  cache: Pick<AccountCache, "get">,
  named: EndpointNames,
): TransferEndpoints | null {
  if (named.source.account === undefined || named.destination.account === undefined) return null;
  const source = cache.get(named.source.account);
  const destination = cache.get(named.destination.account);
  return source === undefined || destination === undefined ? null : { source, destination };
}

/** Finds the endpoints of several transfers with few statements; for each its accounts, or the refusal. */
export async function findEndpoints(
  lookup: EndpointLookup,
  moves: readonly EndpointNames[],
): Promise<(TransferEndpoints | DomainError)[]> {
  const names = await lookUp(lookup.db, moves);
  const accounts = await readAccounts(lookup, moves, names);
  const found: (TransferEndpoints | DomainError)[] = [];
  for (const named of moves) {
    try {
      found.push(cachedEndpoints(accounts, named) ?? await pair(lookup, accounts, named, names));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      found.push(error);
    }
  }
  return found;
}

interface Names {
  aliases: Map<string, AliasTarget>;
  /** The accounts of each address: those of our own addresses first. */
  addresses: Map<string, string[]>;
}

async function lookUp(db: Db, moves: readonly EndpointNames[]): Promise<Names> {
  const aliases = new Set<string>();
  const addresses = new Set<string>();
  for (const { source, destination } of moves) {
    if (source.alias !== undefined) aliases.add(source.alias);
    if (destination.alias !== undefined) aliases.add(destination.alias);
    if (destination.address !== undefined) addresses.add(destination.address);
  }
  const targets = aliases.size === 0 ? [] : await selectAliasTargets(db, [...aliases]);
  return {
    aliases: new Map(targets.map((target) => [target.alias, target])),
    addresses: await assignedTo(db, addresses),
  };
}

/** The accounts of addresses, each named in any spelling. */
async function assignedTo(
  db: Db,
  named: ReadonlySet<string>,
): Promise<Map<string, string[]>> {
  const groups = new Map<string, string[]>();
  if (named.size === 0) return groups;
  const spelt = new Map<string, string[]>();
  for (const address of named) {
    for (const spelling of await addressSpellings(address)) {
      const names = spelt.get(spelling);
      if (names === undefined) spelt.set(spelling, [address]);
      else names.push(address);
    }
    await breatheIfDue();
  }
  for (const { address, account } of await selectAssigned(db, [...spelt.keys()])) {
    for (const name of spelt.get(address)!) {
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [account]);
      else group.push(account);
    }
  }
  return groups;
}

/** Reads all accounts that the transfers name, and caches those that were not cached. */
async function readAccounts(
  { db, cache }: EndpointLookup,
  moves: readonly EndpointNames[],
  names: Names,
): Promise<Map<string, AccountSummary>> {
  const accounts = new Map<string, AccountSummary>();
  const unknown = new Set<string>();
  const want = (id: string | null | undefined) => {
    if (id === undefined || id === null || accounts.has(id)) return;
    const remembered = cache.get(id);
    if (remembered !== undefined) accounts.set(id, remembered);
    else if (isId(id)) unknown.add(id);
  };
  for (const ids of names.addresses.values()) ids.forEach(want);
  for (const target of names.aliases.values()) want(target.account);
  for (const { source, destination } of moves) {
    want(source.account);
    want(destination.account);
  }
  if (unknown.size > 0) {
    for (const found of await selectAccountSummaries(db, [...unknown])) {
      accounts.set(found.id, found);
      cache.set(found.id, found);
    }
  }
  return accounts;
}

async function pair(
  { db, actor }: EndpointLookup,
  accounts: Map<string, AccountSummary>,
  named: EndpointNames,
  names: Names,
): Promise<TransferEndpoints> {
  const source = side(accounts, named, "source", names);
  // Before the destination is looked at, which would else tell that there is an account.
  if (typeof source !== "string" && !mayReadAccount(actor, source.owner)) {
    throw noEndpoint(named, "source");
  }
  const wanted = named.asset === undefined ? undefined : { asset: named.asset, testnet: null };
  const like = typeof source === "string" ? wanted : source;
  const destination = side(accounts, named, "destination", names, like);
  if (typeof source !== "string" && typeof destination !== "string") return { source, destination };
  // Only the other endpoint, or the given asset, determines which account of an identity is meant.
  const other = typeof source === "string" ? destination : source;
  const asset = typeof other === "string" ? wanted : { asset: other.asset, testnet: other.testnet };
  return {
    source: typeof source === "string"
      ? await ofIdentity(db, source, asset, fieldOf(named, "source"))
      : source,
    destination: typeof destination === "string"
      ? await ofIdentity(db, destination, asset, fieldOf(named, "destination"))
      : destination,
  };
}

/** Which of the accounts of an identity, or of an address, is meant; `testnet: null`: on the main network, if there is one. */
interface AssetOfAccount {
  asset: string;
  testnet: boolean | null;
}

/**
 * Finds one endpoint: an account, or the identity that an alias stands for. Chains of one family share
 * addresses: of the accounts of an address, the one of the other endpoint's asset is meant, or of the asset that an
 * identity pays.
 *
 * @throws {DomainError} account.not_found, address.not_found, alias.not_found, request.invalid where nothing says which
 *   of the assets of an address is meant: a unit of one is not worth one of another
 */
function side(
  accounts: Map<string, AccountSummary>,
  named: EndpointNames,
  which: "source" | "destination",
  names: Names,
  like?: AssetOfAccount,
): AccountSummary | string {
  const party: EndpointNames["destination"] = named[which];
  const target = party.alias === undefined ? undefined : names.aliases.get(party.alias);
  if (party.alias !== undefined && target === undefined) throw noEndpoint(named, which, "alias");
  if (target?.identity) return target.identity;
  const assigned = party.address === undefined ? undefined : names.addresses.get(party.address);
  if (party.address !== undefined && assigned === undefined) {
    throw noEndpoint(named, which, "address");
  }
  const receivers = (assigned ?? []).map((id) => accounts.get(id)).filter((one) =>
    one !== undefined
  );
  const alike = receivers.filter(({ asset }) => asset === like?.asset);
  const same = alike.find(({ testnet }) => testnet === (like?.testnet ?? false)) ??
    (like?.testnet === null ? alike[0] : undefined);
  const assets = new Set(receivers.map(({ asset, testnet }) => `${asset} ${testnet}`));
  if (like === undefined && assets.size > 1) {
    throw invalidField("/asset", "an address of several assets needs the asset to be named");
  }
  const found = accounts.get(target?.account ?? same?.id ?? assigned?.[0] ?? party.account!);
  if (found !== undefined) return found;
  throw noEndpoint(named, which);
}

/** The field of the body that names an endpoint, as a JSON pointer. */
export function fieldOf(
  named: Partial<Pick<EndpointNames, "source" | "destination">>,
  which: "source" | "destination",
): string {
  const party: EndpointNames["destination"] = named[which] ?? {};
  const name = (["alias", "address"] as const).find((one) => party[one] !== undefined);
  return `/${which}/${name ?? "account"}`;
}

/** Makes the refusal of an endpoint that does not exist, or that the actor may not see. */
export function noEndpoint(
  named: Partial<Pick<EndpointNames, "source" | "destination">>,
  which: "source" | "destination",
  what: "account" | "alias" | "address" = "account",
): DomainError {
  const message = `there is no such ${which} ${what}`;
  const errors = [{ path: fieldOf(named, which), message }];
  return new DomainError(`${what}.not_found`, message, { errors });
}

/**
 * Finds the source account of a transfer whose destination is no account; null if there is none.
 *
 * @throws {DomainError} alias.not_found, request.invalid for an identity's alias without an asset
 */
export async function resolveSource(
  db: Db,
  { source, asset }: Pick<EndpointNames, "source" | "asset">,
): Promise<string | null> {
  if (source.account !== undefined) return isId(source.account) ? source.account : null;
  const target = await selectAliasTarget(db, source.alias!);
  if (target === null) throw noEndpoint({ source }, "source", "alias");
  if (target.account !== null) return target.account;
  if (asset === undefined) {
    throw invalidField("/asset", "an identity's alias needs the asset to be named");
  }
  return await selectDefaultAccount(db, { holder: target.identity!, asset, testnet: false });
}

async function ofIdentity(
  db: Db,
  holder: string,
  of: AssetOfAccount | undefined,
  path: string,
): Promise<AccountSummary> {
  if (of === undefined) throw invalidField("/asset", "two identities need the asset to be named");
  const { asset, testnet } = of;
  const id = await selectDefaultAccount(db, { holder, asset, testnet: testnet ?? false });
  const [accounts] = id === null ? [] : await selectAccountSummaries(db, [id]);
  if (accounts !== undefined) return accounts;
  const message = "the identity has no default account of this asset";
  throw new DomainError("account.not_found", message, { errors: [{ path, message }] });
}
