/**
 * External ramps: authentication records of accounts at exchanges. The serving half encrypts what
 * it is given for a key that only workers hold, and never shows it again.
 * @module
 */
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import {
  countExternalRamps,
  type ExternalRampRow,
  insertExternalRamp,
  type OfferedAsset,
  selectExchangeKey,
  selectExternalRamps,
  type StoredCredentials,
  updateCredentials,
  updateExternalRampData,
} from "../../db/exchanges/external_ramps.ts";
import { type Actor, reachesRealm } from "../actor.ts";
import {
  type Collection,
  MUTABLE_COLUMNS,
  rowFor,
  setDeleted,
  textColumn,
} from "../collections/collection.ts";
import { EntityFields, type EntityView, FreeForm, Id, idOf, text, viewEntity } from "../entity.ts";
import { DomainError, type Fault, invalidField } from "../errors.ts";
import { IDENTITIES } from "../identity/identity_collection.ts";
import { newId } from "../ids.ts";
import { enqueue } from "../jobs.ts";
import { DecimalText } from "../money.ts";
import { encryptFor } from "../security/public_key_encryption.ts";
import { type CredentialName, findExchange, type ListedExchange } from "./exchange_list.ts";

const Credential = text(1000).regex(
  /^[\x21-\x7e][\x20-\x7e\n]*$/,
  "visible ASCII is expected",
);

/** Authentication data of an account at an exchange. It is never shown. */
export const Authentication = z.strictObject({
  api_key: Credential,
  secret: Credential,
  password: Credential.optional().meta({ description: "Where the exchange asks for one." }),
  uid: Credential.optional().meta({ description: "Where the exchange asks for one." }),
}).meta({ id: "ExternalRampAuthentication" });
/** Authentication data of an account at an exchange. It is never shown. */
export type Authentication = z.infer<typeof Authentication>;

/** A request for an external ramp. */
export const NewExternalRamp = z.strictObject({
  ramp: text(40).meta({ description: "Id of the exchange.", example: "binance" }),
  identity: Id,
  authentication: Authentication,
  data: FreeForm.default({}),
}).meta({ id: "NewExternalRamp" });
/** A request for an external ramp. */
export type NewExternalRamp = z.infer<typeof NewExternalRamp>;

/** A change of an external ramp. */
export const ExternalRampChange = z.strictObject({
  authentication: Authentication.optional(),
  data: FreeForm.optional(),
}).meta({ id: "ExternalRampChange" });

/** An external ramp as shown. */
export const ExternalRampView = z.object({
  id: z.string(),
  ramp: z.string(),
  identity: idOf("Identity"),
  authentication: z.object({ api_key: z.string() }).meta({
    description: "The end of the key; nothing else of it is ever shown.",
  }),
  status: z.enum(["PENDING", "READY", "REFUSED"]).meta({
    description: "Whether the exchange accepts the key, as a worker last saw.",
  }),
  checked_at: z.number().int().nullable().meta({
    description: "When the exchange accepted the key last, or refused it.",
  }),
  check_at: z.number().int().meta({
    description: "When it is asked again: ever later while it fails or refuses, within an hour.",
  }),
  failures: z.number().int().meta({
    description: "Checks in a row that failed, or that the exchange refused.",
  }),
  ...EntityFields,
}).meta({ id: "ExternalRamp" });

/** An exchange as shown. */
export const ExchangeView = z.object({
  id: z.string(),
  name: z.string(),
  countries: z.array(z.string()),
  requires: z.array(z.string()).meta({ description: "The parts of its authentication." }),
}).meta({ id: "Exchange" });

/** An asset at an exchange as shown. */
export const ExchangeAssetView = z.object({
  asset: z.string(),
  currency: z.string(),
  network: z.string(),
  deposit: z.boolean().meta({ description: "Whether the exchange pays it out to an account." }),
  withdraw: z.boolean().meta({ description: "Whether the exchange takes it." }),
  minimum: DecimalText.nullable().meta({ description: "The least that the exchange pays out." }),
  fee: DecimalText.nullable().meta({ description: "What it asks for that." }),
  withdraw_minimum: DecimalText.nullable().meta({
    description: "The least that the exchange credits of what is paid to it.",
  }),
  decimals: z.number().int(),
}).meta({ id: "ExchangeAsset" });

/** The collection of external ramps. */
export const EXTERNAL_RAMPS: Collection<ExternalRampRow> = {
  name: "ramps",
  table: "external_ramps",
  deletable: true,
  counted: false,
  notFound: "ramp.not_found",
  relations: { identity: { of: "identities", id: (row) => row.identity } },
  fields: ["authentication", "error", "deleted"],
  columns: {
    ...MUTABLE_COLUMNS,
    ramp: textColumn("ramp"),
    status: textColumn("status"),
    identity: { column: "identity", type: "id" },
    checked_at: { column: "checked_at", type: "time", nullable: true },
    check_at: { column: "check_at", type: "time" },
    failures: { column: "failures", type: "integer" },
  },
  read: selectExternalRamps,
  show: (_db, _actor, rows) => Promise.resolve(rows.map(viewExternalRamp)),
};

/**
 * Stores the authentication data of an identity at an exchange; a worker asks the exchange whether
 * it accepts them.
 *
 * @throws {DomainError} identity.not_found, permission.*, request.invalid, also where the user has
 *   too many, service.overloaded before a worker has made the realm's key
 */
export async function createExternalRamp(
  tx: Tx,
  actor: Actor,
  input: NewExternalRamp,
): Promise<ExternalRampRow> {
  const exchange = exchangeOf(input.ramp);
  const identity = await rowFor(tx, actor, IDENTITIES, input.identity, "write", "/identity");
  await assertRoom(tx, actor, actor.user);
  const id = newId(actor.at);
  const row = await insertExternalRamp(tx, {
    id,
    ramp: exchange.id,
    identity: identity.id,
    ...await encrypted(tx, actor, { id, exchange, authentication: input.authentication }),
    data: input.data,
    owner: actor.user,
    created_at: actor.at,
  });
  const share = shareOf(actor.user, id);
  await enqueue(tx, actor, "exchange.check", { ramp: id }, { dedupe: id, share });
  return row;
}

/** Whose share of the workers' slots a job for exchanges takes. */
export function shareOf(owner: string, ramp: string): string {
  return `${owner}/${ramp}`;
}

/** Records that a user of the scope own may have: workers ask the exchange of each every hour. */
const OWN_MAX = 20;

async function assertRoom(tx: Tx, actor: Actor, owner: string): Promise<void> {
  if (reachesRealm(actor) || await countExternalRamps(tx, owner) < OWN_MAX) return;
  throw invalidField("", `a user has at most ${OWN_MAX} external ramps: delete one first`);
}

function exchangeOf(id: string): ListedExchange {
  const exchange = findExchange(id);
  if (exchange !== null) return exchange;
  const message = "not one of GET /v1/ramps/supported";
  throw new DomainError("request.invalid", message, { errors: [{ path: "/ramp", message }] });
}

async function encrypted(
  tx: Tx,
  actor: Actor,
  of: { id: string; exchange: ListedExchange; authentication: Authentication },
): Promise<StoredCredentials> {
  const { id, exchange, authentication } = of;
  const errors: Fault[] = exchange.requires
    .filter((name) => authentication[name as CredentialName] === undefined)
    .map((name) => ({ path: `/authentication/${name}`, message: `${exchange.name} asks for it` }));
  if (errors.length > 0) {
    throw new DomainError("request.invalid", errors[0].message, { errors });
  }
  const key = await selectExchangeKey(tx);
  if (key === null) {
    const why = "no worker has made the realm's key for credentials yet";
    throw new DomainError("service.overloaded", why, { retryAfterS: 5 });
  }
  const plain = JSON.stringify(authentication);
  const credentials = await encryptFor(key.public_key, credentialsOf(actor.realm.id, id), plain);
  const shown = authentication.api_key.length >= 12 ? authentication.api_key.slice(-4) : "";
  return { key: key.id, credentials, hint: `…${shown}` };
}

/** What the ciphertext of credentials is bound to. */
export function credentialsOf(realm: string, id: string): string {
  return `${realm}|${id}`;
}

/**
 * Changes the data of an external ramp, or replaces its authentication data as a whole.
 *
 * @throws {DomainError} ramp.not_found, permission.*, request.invalid, service.overloaded
 */
export async function changeExternalRamp(
  tx: Tx,
  actor: Actor,
  input: z.infer<typeof ExternalRampChange> & { id: string },
): Promise<ExternalRampRow> {
  const row = await rowFor(tx, actor, EXTERNAL_RAMPS, input.id, "write");
  const { authentication, data } = input;
  if (data !== undefined) {
    await updateExternalRampData(tx, row.id, data, actor.at);
  }
  if (authentication !== undefined) {
    const of = { id: row.id, exchange: exchangeOf(row.ramp), authentication };
    await updateCredentials(tx, row.id, await encrypted(tx, actor, of), actor.at);
    // One that runs is followed by another, because the record counts as not checked.
    const share = shareOf(row.owner, row.id);
    await enqueue(tx, actor, "exchange.check", { ramp: row.id }, { dedupe: row.id, share });
  }
  return (await selectExternalRamps(tx, [row.id]))[0];
}

/** Deletes or restores an external ramp. Its transfers that have begun go on; the others fail. */
export async function removeExternalRamp(
  tx: Tx,
  actor: Actor,
  id: string,
  act: "delete" | "undelete",
): Promise<Record<string, unknown>> {
  const row = await rowFor(tx, actor, EXTERNAL_RAMPS, id, act);
  if (act === "undelete" && row.deleted_at !== null) await assertRoom(tx, actor, row.owner);
  return await setDeleted(tx, actor, EXTERNAL_RAMPS, id, act === "delete");
}

/**
 * Lists the countries of an exchange, by its own id or by that of an external ramp.
 *
 * @throws {DomainError} ramp.not_found
 */
export async function countriesOf(db: Db, actor: Actor, id: string): Promise<readonly string[]> {
  const listed = findExchange(id);
  if (listed !== null) return listed.countries;
  const row = await rowFor(db, actor, EXTERNAL_RAMPS, id, "read");
  return findExchange(row.ramp)?.countries ?? [];
}

/**
 * Lists the assets that an exchange moves for an external ramp.
 *
 * @throws {DomainError} ramp.not_found, upstream.failed where the exchange refuses the key,
 *   upstream.timeout, chain.stale before it was asked
 */
export async function listExchangeAssets(
  db: Db,
  actor: Actor,
  id: string,
): Promise<OfferedAsset[]> {
  const row = await rowFor(db, actor, EXTERNAL_RAMPS, id, "read");
  assertReady(row);
  return row.assets;
}

/**
 * Refuses an external ramp whose exchange does not accept the key, or was not asked yet.
 *
 * @throws {DomainError} upstream.failed, upstream.timeout, chain.stale
 */
export function assertReady(row: ExternalRampRow): void {
  if (row.status === "READY") return;
  if (row.error !== null) {
    const code = row.error.code === "upstream.timeout" ? "upstream.timeout" : "upstream.failed";
    throw new DomainError(code, row.error.detail ?? "the exchange failed");
  }
  throw new DomainError("chain.stale", "the exchange was not asked yet", { retryAfterS: 2 });
}

/** Shows an external ramp. */
export function viewExternalRamp(row: ExternalRampRow): EntityView & Record<string, unknown> {
  const { id, ramp, identity, hint, status, checked_at, check_at, failures } = row;
  return {
    id,
    ramp,
    identity,
    authentication: { api_key: hint },
    status,
    checked_at,
    check_at,
    failures,
    ...viewEntity(row),
  };
}

/** Shows an exchange. */
export function viewExchange(
  { id, name, countries, requires }: ListedExchange,
): Pick<ListedExchange, "id" | "name" | "countries" | "requires"> {
  return { id, name, countries, requires };
}
