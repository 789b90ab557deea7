/**
 * Webhooks: addresses of receivers, to which the events that their owners may see are sent, signed
 * by the Standard Webhooks specification.
 * @module
 */
import { z } from "zod";
import type { Tx } from "../../db/database.ts";
import {
  countWebhooks,
  insertWebhook,
  isTestWaiting,
  resetQueue,
  rotateSecret,
  selectWebhooks,
  updateWebhook,
  type WebhookRow,
} from "../../db/webhooks/webhooks.ts";
import { selectUser } from "../../db/identity/users.ts";
import { type Actor, reachesRealm, type RequestActor } from "../actor.ts";
import {
  type Collection,
  MUTABLE_COLUMNS,
  rowFor,
  setDeleted,
  textColumn,
} from "../collections/collection.ts";
import { EntityFields, Flag, FreeForm, viewEntity } from "../entity.ts";
import { DomainError, invalidField } from "../errors.ts";
import { emit, EVENT_TYPES } from "../events.ts";
import { idTime, newId } from "../ids.ts";
import { assertNotAbove } from "../identity/user_collection.ts";
import type { Secrets } from "../security/serving_secrets.ts";
import { tellChange } from "./notices.ts";
import { targetFault } from "./targets.ts";

const Url = z.string().min(1).max(2000).meta({
  description: "https, and a host of the public internet.",
  example: "https://example.com/purser",
});
const EventList = z.array(z.enum([...EVENT_TYPES, "*"])).min(1).max(50)
  .transform((names) => names.includes("*") ? ["*" as const] : [...new Set(names)])
  .meta({
    description: "Types of events, or `*` for all, also those of later versions.",
    example: ["deposit.confirmed"],
  });

/** A request for a webhook. */
export const NewWebhook = z.strictObject({
  url: Url,
  events: EventList,
  data: FreeForm.default({}),
}).meta({ id: "NewWebhook" });
/** A request for a webhook. */
export type NewWebhook = z.infer<typeof NewWebhook>;

/** The body of a change of a webhook. */
export const WebhookChange = z.strictObject({
  url: Url.optional(),
  events: EventList.optional(),
  active: Flag.optional(),
  data: FreeForm.optional(),
}).meta({ id: "WebhookChange" });
/** The body of a change of a webhook. */
export type WebhookChange = z.infer<typeof WebhookChange>;

/** The body of a rotation of a secret. */
export const SecretRotation = z.strictObject({
  hours: z.number().int().min(0).max(168).default(24).meta({
    description: "How long deliveries carry a signature by the secret before, too.",
  }),
}).meta({ id: "SecretRotation" });

const fields = {
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  active: z.boolean(),
  disabled_reason: z.enum(["failing", "gone"]).nullable().meta({
    description: "Why the service deactivated it: it failed for three days, or answered 410.",
  }),
  failing_since: z.number().int().nullable().meta({
    description: "Since when every delivery has failed.",
  }),
  previous_secret_until: z.number().int().nullable().meta({
    description: "Until when deliveries carry a signature by the secret before, too.",
  }),
  ...EntityFields,
};

/** A webhook as shown. */
export const WebhookView = z.object(fields).meta({ id: "Webhook" });
/** A webhook as shown once, with its secret. */
export const WebhookWithSecretView = z.object({
  ...fields,
  secret: z.string().meta({ example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }),
}).meta({ id: "WebhookWithSecret" });
/** The answer to a test. */
export const WebhookTestView = z.object({
  webhook: z.string(),
  type: z.literal("webhook.test"),
  status: z.literal("PENDING"),
}).meta({ id: "WebhookTest" });

/** The collection of webhooks. */
export const WEBHOOKS: Collection<WebhookRow> = {
  name: "webhooks",
  table: "webhooks",
  deletable: true,
  counted: false,
  notFound: "webhook.not_found",
  fields: ["disabled_reason", "failing_since", "previous_secret_until", "error", "deleted"],
  columns: {
    ...MUTABLE_COLUMNS,
    url: textColumn("url"),
    events: { column: "events", type: "texts" },
    active: { column: "active", type: "boolean" },
  },
  read: selectWebhooks,
  show: (_db, _actor, rows) => Promise.resolve(rows.map(viewWebhook)),
};

/** Webhooks of one user, and of a realm; some are left to users who see the whole realm. */
const OWN_MAX = 20;
const REALM_MAX = 100;
const KEPT_FREE = 20;
const SECRET_BYTES = 32;
const PREFIX = "whsec_";
const HOUR_MS = 3_600_000;

/**
 * Creates a webhook; its secret is shown this once.
 *
 * @throws {DomainError} extension.disabled, request.invalid
 */
export async function createWebhook(
  tx: Tx,
  actor: RequestActor,
  input: NewWebhook,
  secrets: Secrets,
): Promise<Record<string, unknown>> {
  assertTarget(actor, input.url);
  await assertRoom(tx, actor, actor.user);
  const id = newId(actor.at);
  const { secret, encrypted } = newSecret(actor, id, secrets);
  await insertWebhook(tx, {
    ...{ id, secret: encrypted, owner: actor.user, created_at: idTime(id) },
    ...{ url: new URL(input.url).href, events: input.events, data: input.data },
  });
  const [row] = await selectWebhooks(tx, [id]);
  await tellChange(tx, actor, { row, what: "created", secrets });
  return { ...viewWebhook(row), secret };
}

/**
 * Changes a webhook. One that is activated again is asked at once.
 *
 * @throws {DomainError} webhook.not_found, permission.*, request.invalid
 */
export async function changeWebhook(
  tx: Tx,
  actor: RequestActor,
  { id, ...input }: WebhookChange & { id: string },
  secrets: Secrets,
): Promise<Record<string, unknown>> {
  const before = await rowFor(tx, actor, WEBHOOKS, id, "write");
  const { url, active, ...plain } = input;
  if (url !== undefined || active === true) assertTarget(actor, url ?? before.url);
  if (url !== undefined || hearsMore(before, input)) await assertMayRedirect(tx, actor, before);
  await updateWebhook(tx, id, {
    ...plain,
    ...(url === undefined ? {} : { url: new URL(url).href }),
    ...(active === undefined ? {} : { active, disabled_reason: null }),
  }, actor.at);
  // An active queue that fares well is left alone: what is under way would be sent twice.
  const isOther = url !== undefined && new URL(url).href !== before.url;
  const isBack = active === true && (!before.active || before.failing_since !== null);
  if (isOther || isBack) await resetQueue(tx, id);
  const [row] = await selectWebhooks(tx, [id]);
  if (url !== undefined || plain.events !== undefined) {
    await tellChange(tx, actor, { row, what: "changed", secrets });
  }
  return viewWebhook(row);
}

/**
 * Deletes or restores a webhook.
 *
 * @throws {DomainError} webhook.not_found, permission.*, request.invalid
 */
export async function removeWebhook(
  tx: Tx,
  actor: Actor,
  id: string,
  act: "delete" | "undelete",
): Promise<Record<string, unknown>> {
  const row = await rowFor(tx, actor, WEBHOOKS, id, act);
  if (act === "undelete" && row.deleted_at !== null) await assertRoom(tx, actor, row.owner);
  return await setDeleted(tx, actor, WEBHOOKS, id, act === "delete");
}

/**
 * Gives a webhook a new secret. Deliveries carry two signatures for a while.
 *
 * @throws {DomainError} webhook.not_found, permission.*
 */
export async function rotateWebhookSecret(
  tx: Tx,
  actor: Actor,
  { id, hours }: { id: string; hours: number },
  secrets: Secrets,
): Promise<Record<string, unknown>> {
  await assertMayRedirect(tx, actor, await rowFor(tx, actor, WEBHOOKS, id, "write"));
  const { secret, encrypted } = newSecret(actor, id, secrets);
  const until = actor.at + hours * HOUR_MS;
  await rotateSecret(tx, id, { secret: encrypted, until, at: actor.at });
  const [row] = await selectWebhooks(tx, [id]);
  await tellChange(tx, actor, { row, what: "given a new secret", secrets });
  return { ...viewWebhook(row), secret };
}

/**
 * Sends a test to a webhook, whatever it listens to; none beside one that waits, so that nobody has
 * the service send at will.
 *
 * @throws {DomainError} webhook.not_found, permission.*, version.conflict
 */
export async function testWebhook(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<z.infer<typeof WebhookTestView>> {
  const row = await rowFor(tx, actor, WEBHOOKS, id, "write");
  assertActive(row);
  if (!await isTestWaiting(tx, id)) {
    await emit(tx, actor, "webhook.test", { id, owner: row.owner, view: viewWebhook(row) });
  }
  return { webhook: id, type: "webhook.test", status: "PENDING" };
}

/**
 * Refuses a webhook to which nothing is sent.
 *
 * @throws {DomainError} version.conflict
 */
export function assertActive(row: WebhookRow): void {
  if (row.active) return;
  throw new DomainError("version.conflict", "the webhook is deactivated: activate it first");
}

/** Shows a webhook, without its secrets. */
export function viewWebhook(row: WebhookRow): Record<string, unknown> {
  return {
    id: row.id,
    url: row.url,
    events: row.events,
    active: row.active,
    disabled_reason: row.disabled_reason,
    failing_since: row.failing_since,
    previous_secret_until: row.previous_until,
    ...viewEntity(row),
  };
}

/** The subject under which the secrets of a webhook are encrypted. */
export function secretSubject(realm: string, webhook: string): string {
  return `${realm} ${webhook}`;
}

function newSecret({ realm }: Actor, webhook: string, secrets: Secrets) {
  const secret = PREFIX + crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toBase64();
  return {
    secret,
    encrypted: secrets.encrypt("webhook", secretSubject(realm.id, webhook), secret),
  };
}

/** Refuses a webhook beyond what its owner and the realm may have. */
async function assertRoom(tx: Tx, actor: Actor, owner: string): Promise<void> {
  const { own, all } = await countWebhooks(tx, owner);
  const most = REALM_MAX - (reachesRealm(actor) ? 0 : KEPT_FREE);
  if (own < OWN_MAX && all < most) return;
  throw invalidField(
    "",
    `there are ${own} webhooks of this user, and ${all} of the realm: no more`,
  );
}

/** Whether a webhook hears types of events after a change that it did not hear before. */
function hearsMore(before: WebhookRow, { events = [] }: WebhookChange): boolean {
  return !before.events.includes("*") && events.some((type) => !before.events.includes(type));
}

/** Refuses to direct elsewhere, to have tell more, or to sign for, what an owner with more rights than the actor may see. */
async function assertMayRedirect(tx: Tx, actor: Actor, { owner }: WebhookRow): Promise<void> {
  if (owner === actor.user) return;
  assertNotAbove(actor, (await selectUser(tx, owner))!);
}

function assertTarget({ settings }: RequestActor, url: string): void {
  const { enabled, allowPrivate } = settings.webhooks;
  if (!enabled) throw new DomainError("extension.disabled", "this installation sends no webhooks");
  const fault = targetFault(url, { allowPrivate });
  if (fault !== null) throw invalidField("/url", fault);
}
