/** Routes of webhooks and their deliveries. @module */
import { z } from "zod";
import {
  DELIVERIES_USUAL,
  DeliveryList,
  DeliveryView,
  listDeliveries,
  resendOne,
  ResendSpan,
  resendSpan,
  ResentView,
} from "../domain/webhooks/deliveries.ts";
import {
  changeWebhook,
  createWebhook,
  NewWebhook,
  removeWebhook,
  rotateWebhookSecret,
  SecretRotation,
  testWebhook,
  WebhookChange,
  WEBHOOKS,
  WebhookTestView,
  WebhookView,
  WebhookWithSecretView,
} from "../domain/webhooks/webhooks.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import type { Db } from "../domain/command.ts";
import { command, search } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const TAG = "Events";
const CHANGES = ["webhook.not_found", "permission.role", "permission.owner"] as const;

/** The routes of webhooks. */
export const webhookRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/webhooks",
    tag: TAG,
    summary: "Create a webhook",
    description: "It receives the events that its owner may see. `secret` is shown this once; " +
      "receivers check signatures with it (Standard Webhooks). This takes a login of the last 10 " +
      "minutes: a webhook outlives the key that makes it.",
    access: "user",
    freshLogin: true,
    body: NewWebhook,
    status: 201,
    makes: "/v1/webhooks/{made}",
    answer: WebhookWithSecretView,
    errors: ["extension.disabled"],
    handle: (call) => {
      const { actor, body, services } = call;
      const create = { secret: true };
      return command(call, (tx) => createWebhook(tx, actor, body, services.secrets), create);
    },
  }),
  ...collectionRoutes({
    collection: WEBHOOKS,
    tag: TAG,
    one: "a webhook",
    view: WebhookView,
    remove: (tx, actor, id) => removeWebhook(tx, actor, id, "delete"),
    restore: (tx, actor, id) => removeWebhook(tx, actor, id, "undelete"),
    restoreTakesLogin: true, // it hears everything again, at its old address
  }),
  route({
    method: "PATCH",
    path: "/v1/webhooks/{id}",
    tag: TAG,
    summary: "Change a webhook",
    description: "Another address, other events, or `active`: one that the service deactivated " +
      "is activated again so. All of these take a login of the last 10 minutes; to deactivate it " +
      "takes none.",
    access: "user",
    freshLogin: ({ url, events, active }) => {
      return url !== undefined || events !== undefined || active === true;
    },
    params: ById,
    body: WebhookChange,
    status: 200,
    answer: WebhookView,
    errors: [...CHANGES, "extension.disabled"],
    handle: (call) => {
      const { actor, params: { id }, body, services: { secrets } } = call;
      return command(call, (tx) => changeWebhook(tx, actor, { ...body, id }, secrets));
    },
  }),
  route({
    method: "POST",
    path: "/v1/webhooks/{id}/rotate",
    tag: TAG,
    operation: "rotateWebhookSecret",
    summary: "Give a webhook a new secret",
    description: "Shown this once. For some hours deliveries carry a signature by the secret " +
      "before, too. This takes a login of the last 10 minutes.",
    access: "user",
    freshLogin: true,
    params: ById,
    body: SecretRotation,
    status: 200,
    answer: WebhookWithSecretView,
    errors: CHANGES,
    handle: (call) => {
      const { actor, params: { id }, body: { hours }, services } = call;
      const rotate = { secret: true };
      return command(
        call,
        (tx) => rotateWebhookSecret(tx, actor, { id, hours }, services.secrets),
        rotate,
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/webhooks/{id}/test",
    tag: TAG,
    summary: "Send a test to a webhook",
    description:
      "An event `webhook.test`, whatever it listens to; its fate is in the deliveries. " +
      "While one waits there is no second one.",
    access: "user",
    params: ById,
    status: 200,
    answer: WebhookTestView,
    errors: [...CHANGES, "version.conflict"],
    handle: (call) => command(call, (tx) => testWebhook(tx, call.actor, call.params.id)),
  }),
  route({
    method: "GET",
    path: "/v1/webhooks/{id}/deliveries",
    tag: TAG,
    operation: "listDeliveries",
    summary: "List the deliveries of a webhook",
    description: "The newest first, with the latest attempt of each and its answer.",
    access: "user",
    params: ById,
    query: DeliveryList,
    status: 200,
    answer: z.array(DeliveryView),
    continues: { cursor: "id", usual: DELIVERIES_USUAL },
    errors: ["webhook.not_found", "delivery.not_found"],
    handle: (call) => {
      const list = { ...call.query, webhook: call.params.id };
      // There may be none of a status among very many.
      const searches = call.query.status !== undefined;
      const read = (db: Db) => listDeliveries(db, call.actor, list);
      return search(call, read, searches, DELIVERIES_USUAL);
    },
  }),
  route({
    method: "POST",
    path: "/v1/webhooks/{id}/deliveries/resend",
    tag: TAG,
    operation: "resendDeliveries",
    summary: "Send the failed deliveries of a span again",
    description: "Those of events from `from` to `to`, a thousand at most: the answer tells " +
      "how many, and it is asked again until there are none.",
    access: "user",
    params: ById,
    body: ResendSpan,
    status: 200,
    answer: ResentView,
    errors: [...CHANGES, "version.conflict"],
    handle: (call) => {
      const span = { ...call.body, webhook: call.params.id };
      return command(call, (tx) => resendSpan(tx, call.actor, span));
    },
  }),
  route({
    method: "POST",
    path: "/v1/webhooks/{id}/deliveries/{delivery}/resend",
    tag: TAG,
    summary: "Send a delivery again",
    description: "With the same `webhook-id`, from the first attempt on.",
    access: "user",
    params: z.strictObject({ id: z.string(), delivery: z.string() }),
    status: 200,
    answer: DeliveryView,
    errors: [...CHANGES, "delivery.not_found", "version.conflict"],
    handle: (call) => {
      const { id: webhook, delivery } = call.params;
      return command(call, (tx) => resendOne(tx, call.actor, { webhook, delivery }));
    },
  }),
];
