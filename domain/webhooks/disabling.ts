/** The service deactivates webhooks whose receivers are gone, and tells of it. @module */
import type { Tx } from "../../db/database.ts";
import { selectWebhooks, updateWebhook, type WebhookRow } from "../../db/webhooks/webhooks.ts";
import type { Actor } from "../actor.ts";
import { emit } from "../events.ts";
import type { Secrets } from "../security/serving_secrets.ts";
import { mailAdmins } from "./notices.ts";
import { viewWebhook } from "./webhooks.ts";

/** What is done to a webhook, and why. */
export interface Disabling {
  id: string;
  reason: NonNullable<WebhookRow["disabled_reason"]>;
  /** Encrypts the messages to the administrators at rest. */
  secrets: Secrets;
}

const WHY = {
  gone: "its receiver answered 410: it is gone",
  failing: "every delivery to its receiver has failed for three days",
};

/**
 * Deactivates a webhook, emits an event of it and mails the realm's administrators; false where it
 * was deactivated before.
 */
export async function disableWebhook(
  tx: Tx,
  actor: Actor,
  { id, reason, secrets }: Disabling,
): Promise<boolean> {
  const [before] = await selectWebhooks(tx, [id]);
  if (before === undefined || !before.active) return false;
  await updateWebhook(tx, id, { active: false, disabled_reason: reason }, actor.at);
  const [row] = await selectWebhooks(tx, [id]);
  await emit(tx, actor, "webhook.disabled", { id, owner: row.owner, view: viewWebhook(row) });
  // The address itself may hold a secret of the receiver.
  await mailAdmins(tx, actor, {
    kind: "disabled",
    subject: "A webhook was deactivated",
    text: `The webhook ${id} was deactivated, because ${WHY[reason]}. Waiting deliveries have ` +
      `failed; after PATCH /v1/webhooks/${id} {"active": true} they can be sent again.`,
    secrets,
  });
  return true;
}
