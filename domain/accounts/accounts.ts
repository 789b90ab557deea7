/** Accounts: each keeps value of one asset for an identity, and is owned by a user. @module */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import {
  type AccountRow,
  clearDefault,
  insertAccount,
  markEnabled,
  selectAccount,
} from "../../db/accounts/accounts.ts";
import { selectCurrencyByName } from "../../db/currencies/currencies.ts";
import type { Db, Tx } from "../../db/database.ts";
import {
  type IdentityRow,
  selectIdentity,
  selectIdentityOfUser,
} from "../../db/identity/identities.ts";
import { selectUser } from "../../db/identity/users.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { type Asset, findAsset } from "../assets.ts";
import { minorUnits } from "../codes.ts";
import {
  AliasCode,
  EntityFields,
  type EntityView,
  Flag,
  FreeForm,
  Id,
  idOf,
  text,
  viewEntity,
} from "../entity.ts";
import { DomainError, invalidField } from "../errors.ts";
import { emit } from "../events.ts";
import { AccountingCurrency } from "../identity/identities.ts";
import { isId, newId } from "../ids.ts";
import { jobOf } from "../jobs.ts";
import { add, compare, DecimalText, subtract, trim } from "../money.ts";
import { assertMay, assertMayAssign, isRealmAdmin, notFound } from "../permissions.ts";
import { chainNetworkFor } from "../chains/networks.ts";
import { assertMayHaveAddress } from "./address_limits.ts";
import { assertReceivable, registerRamp, resolveRamp } from "./ramps.ts";

/** The body of a request to create an account. */
export const NewAccount = z.strictObject({
  type: z.enum(["virtual", "ramp", "deposit"]),
  asset: text(40).meta({ description: "An asset code or a virtual currency.", example: "BTC" }),
  currency: AccountingCurrency.optional().meta({
    description:
      "Of ramp and deposit accounts, the holder's unless given; a virtual account takes its holder's.",
  }),
  default: Flag.default(false).meta({ description: "Only a virtual account can be the default." }),
  data: FreeForm.default({}),
  holder: Id.optional(),
  owner: Id.optional(),
  testnet: Flag.default(false),
  reference: text(200).optional(),
  alias: AliasCode.optional(),
  ramp: Id.optional().meta({ description: "The ramp account of a virtual or deposit account." }),
}).meta({ id: "NewAccount" });
/** The body of a request to create an account. */
export type NewAccount = z.infer<typeof NewAccount>;

/** An account as shown. */
export const AccountView = z.object({
  id: z.string(),
  type: z.enum(["virtual", "ramp", "deposit", "system"]),
  asset: z.string(),
  currency: z.string(),
  country: z.string(),
  holder: idOf("Identity").nullable(),
  testnet: z.boolean(),
  default: z.boolean(),
  reference: z.string().nullable(),
  ramp: z.union([idOf("Account"), z.object({ address: z.string().nullable() })]).nullable().meta({
    description: "Of a virtual or deposit account, its ramp; of a ramp, its address.",
  }),
  balance: z.object({
    total: DecimalText,
    available: DecimalText,
    linked: DecimalText.optional().meta({
      description: "The part that came to linked external addresses: never available; unless 0.",
    }),
    assets: DecimalText.optional(),
    gas: DecimalText.optional(),
  }),
  active: z.boolean(),
  frozen: z.boolean(),
  enabled: z.boolean(),
  alias: z.string().nullable().optional(),
  chain: z.string().optional().meta({ description: "With `populate=address`." }),
  address: z.null().optional().meta({
    populated: "Address",
    description: "With `populate=address`; null where it has none yet.",
  }),
  ...EntityFields,
  owner: idOf("User").nullable(),
}).meta({ id: "Account" });

/** An asset as the ledger knows it: one of the registry's, or a virtual currency. */
export interface LedgerAsset {
  code: string;
  decimals: number;
  /** Null for a virtual currency. */
  registered: Asset | null;
}

/**
 * Creates a virtual or a ramp account. A job enables it a moment later. Deposit accounts are
 * created with their addresses.
 *
 * @throws {DomainError} asset.unknown, asset.no_testnet, asset.suspended, identity.not_found,
 *   user.not_found, ramp.not_found, account.asset_mismatch, permission.role, permission.scope,
 *   chain.not_configured, rate.limited for a ramp
 */
export async function createAccount(
  tx: LedgerTx,
  actor: RequestActor,
  input: NewAccount,
): Promise<AccountRow> {
  const asset = await resolveAsset(tx, input.asset, input.testnet);
  if (input.type === "ramp") {
    assertReceivable(asset.registered);
    await assertMayHaveAddress(tx, actor);
    const place = chainNetworkFor(actor.settings.chains, asset.registered.chain, input.testnet);
    const row = await openAccount(tx, actor, { ...input, ramp: undefined, asset, enabled: false });
    await registerRamp(tx, actor, row, place);
    return row;
  }
  const of = { asset: asset.code, testnet: input.testnet };
  if (input.ramp !== undefined) await resolveRamp(tx, actor, input.ramp, of);
  return await openAccount(tx, actor, { ...input, asset, enabled: false, enabledByJob: true });
}

/** Inserts a new account with the defaults of its holder. */
export async function openAccount(
  tx: LedgerTx,
  actor: Actor,
  input: Omit<NewAccount, "asset"> & {
    asset: LedgerAsset;
    enabled: boolean;
    /** Whether the job that enables it is added with it. */
    enabledByJob?: boolean;
    /** An account whose holder and owner it takes, unless the actor chose others. */
    belongsTo?: AccountRow;
  },
): Promise<AccountRow> {
  const { belongsTo } = input;
  const holder = belongsTo !== undefined && input.holder === undefined
    ? (await selectIdentity(tx, belongsTo.holder!))!
    : await resolveHolder(tx, actor, input.holder);
  const owner = belongsTo !== undefined && input.owner === undefined
    ? belongsTo.owner!
    : await resolveOwner(tx, actor, input.owner);
  if (input.default) {
    assertVirtual(input.type);
    const of = { holder: holder.id, asset: input.asset.code, testnet: input.testnet };
    await clearDefault(tx, of);
  }
  const chosen = input.type === "virtual" ? undefined : input.currency;
  const currency = chosen ?? holder.currency;
  const id = newId(actor.at);
  const job = input.enabledByJob ? jobOf(actor, "account.enable", { account: id }) : null;
  return await insertAccount(tx, {
    id,
    type: input.type,
    asset: input.asset.code,
    testnet: input.testnet,
    decimals: input.asset.decimals,
    active: input.enabled,
    enabled: input.enabled,
    is_default: input.default,
    currency,
    currency_places: minorUnits(currency),
    country: holder.country,
    holder: holder.id,
    owner,
    ramp: input.ramp ?? null,
    reference: input.reference ?? null,
    data: input.data,
    created_at: actor.at,
  }, job);
}

/**
 * Finds an asset by its code, or a virtual currency of the realm by its name.
 *
 * @throws {DomainError} asset.unknown, asset.no_testnet
 */
async function resolveAsset(
  tx: Tx,
  code: string,
  testnet: boolean,
): Promise<LedgerAsset> {
  const registered = findAsset(code);
  if (registered !== null) {
    if (testnet && !registered.testnet) {
      throw new DomainError("asset.no_testnet", `${code} has no test network`);
    }
    return { code, decimals: registered.decimals, registered };
  }
  const currency = await selectCurrencyByName(tx, code);
  if (currency === null) throw new DomainError("asset.unknown", "there is no such asset");
  if (testnet) throw new DomainError("asset.no_testnet", "a virtual currency has no test network");
  return { code, decimals: currency.decimals, registered: null };
}

/**
 * Refuses the default mark on an account that is not virtual: a payment to an identity must reach
 * an account that it can use.
 *
 * @throws {DomainError} request.invalid
 */
export function assertVirtual(type: AccountRow["type"]): void {
  if (type === "virtual") return;
  throw invalidField("/default", "only a virtual account can be the default");
}

async function resolveHolder(tx: Tx, actor: Actor, id?: string): Promise<IdentityRow> {
  const own = await selectIdentityOfUser(tx, actor.user);
  if (id === undefined || id === own?.id) {
    if (own === null || own.deleted_at !== null) {
      throw notFound("identity.not_found", id === undefined ? undefined : "/holder");
    }
    return own;
  }
  assertMayAssign(actor);
  const row = isId(id) ? await selectIdentity(tx, id) : null;
  if (row === null || row.deleted_at !== null) throw notFound("identity.not_found", "/holder");
  return row;
}

async function resolveOwner(tx: Tx, actor: Actor, id?: string): Promise<string> {
  if (id === undefined || id === actor.user) return actor.user;
  assertMayAssign(actor);
  const row = isId(id) ? await selectUser(tx, id) : null;
  if (row === null || row.deleted_at !== null) throw notFound("user.not_found", "/owner");
  return row.id;
}

/**
 * Refuses an account that the actor may not touch in this way.
 *
 * @param path a JSON pointer to the field of the body that names it; none where the URL does
 * @throws {DomainError} account.not_found, permission.role, permission.owner
 */
export function assertAccount(
  actor: Actor,
  act: "read" | "write" | "delete" | "undelete",
  row: AccountRow | null,
  path?: string,
): asserts row is AccountRow {
  if (row === null || row.deleted_at !== null) throw notFound("account.not_found", path);
  if (row.type === "system" && !isRealmAdmin(actor)) throw notFound("account.not_found", path);
  assertMay(actor, act, { owner: row.owner, what: "account.not_found", path });
}

/**
 * Refuses an account that is not ready, deactivated or frozen, because no value can leave it.
 *
 * @param named the account in the words of the message
 * @throws {DomainError} account.not_enabled, account.inactive, account.frozen
 */
export function assertUsable(
  account: Pick<AccountRow, "enabled" | "active" | "frozen">,
  named: "account" | "ramp",
): void {
  if (!account.enabled) {
    throw new DomainError("account.not_enabled", `the ${named} is not ready yet`);
  }
  if (!account.active) throw new DomainError("account.inactive", `the ${named} is deactivated`);
  if (account.frozen) throw new DomainError("account.frozen", `the ${named} is frozen`);
}

/**
 * The amount that users may move out of an account: nothing while it is frozen, never linked value,
 * and nothing of a deposit account, which only the service empties.
 */
export function availableOf(
  account: Pick<AccountRow, "type" | "total" | "blocked" | "linked" | "frozen">,
): string {
  if (account.frozen || account.type === "deposit") return "0";
  const { total, blocked, linked } = account;
  return blocked === "0" && linked === "0" ? trim(total) : subtract(total, add(blocked, linked));
}

/** Shows linked value where there is some. */
export function viewLinked({ linked }: Pick<AccountRow, "linked">): { linked?: string } {
  return compare(linked, "0") === 0 ? {} : { linked: trim(linked) };
}

/** The chain part of an account's view: its address, and its balance there in whole units. */
export interface ChainPart {
  address: string | null;
  assets: string;
  /** Only where another coin pays the fees. */
  gas?: string;
}

/** Shows an account; `chain` for ramp and deposit accounts. */
export function viewAccount(
  row: AccountRow,
  chain?: ChainPart,
): EntityView & Record<string, unknown> {
  return {
    id: row.id,
    type: row.type,
    asset: row.asset,
    currency: row.currency,
    country: row.country,
    holder: row.holder,
    testnet: row.testnet,
    default: row.is_default,
    reference: row.reference,
    ramp: row.type === "ramp" ? { address: chain?.address ?? null } : row.ramp,
    balance: {
      total: trim(row.total),
      available: availableOf(row),
      ...viewLinked(row),
      ...(chain === undefined ? {} : { assets: chain.assets }),
      ...(chain?.gas === undefined ? {} : { gas: chain.gas }),
    },
    active: row.active,
    frozen: row.frozen,
    enabled: row.enabled,
    ...viewEntity(row),
  };
}

/**
 * Finds an account that the actor may see.
 *
 * @throws {DomainError} account.not_found
 */
export async function findAccount(db: Db, actor: Actor, id: string): Promise<AccountRow> {
  const row = isId(id) ? await selectAccount(db, id) : null;
  assertAccount(actor, "read", row);
  return row;
}

/** Enables an account and emits its event; a second call does nothing. */
export async function enableAccount(tx: LedgerTx, actor: Actor, id: string): Promise<void> {
  const row = await markEnabled(tx, id);
  if (row === null) return;
  await emit(tx, actor, "account.enabled", { id, owner: row.owner, view: viewAccount(row) });
}
