/** The service deactivates webhooks whose receivers are gone, and tells of it. @module */
import type { Tx } from "../../db/database.ts";
import { selectAdminEmails } from "../../db/identity/users.ts";
import { selectWebhooks, updateWebhook, type WebhookRow } from "../../db/webhooks/webhooks.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { emit } from "../events.ts";
import { queueMessage } from "../messages/messages.ts";
import { checkAddress } from "../messages/recipients.ts";
import type { Secrets } from "../security/serving_secrets.ts";
import { viewWebhook } from "./webhooks.ts";

/** What is done to a webhook, and why. */
export interface Disabling {
  id: string;
  reason: NonNullable<WebhookRow["disabled_reason"]>;
  /** Encrypts the messages to the administrators at rest. */
  secrets: Secrets;
}

/** Administrators who are told. */
const TOLD_MAX = 20;
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
  const content = {
    subject: "A webhook was deactivated",
    text: `The webhook ${id} was deactivated, because ${WHY[reason]}. Waiting deliveries have ` +
      `failed; after PATCH /v1/webhooks/${id} {"active": true} they can be sent again.`,
  };
  for (const admin of await selectAdminEmails(tx, TOLD_MAX)) {
    await mail(tx, actor, { admin, content, secrets });
  }
  return true;
}

/** Mails an administrator; one who cannot be reached is left out. */
async function mail(
  tx: Tx,
  actor: Actor,
  { admin, content, secrets }: {
    admin: { id: string; email: string };
    content: { subject: string; text: string };
    secrets: Secrets;
  },
): Promise<void> {
  try {
    const to = { destination: await checkAddress("email", admin.email), user: admin.id };
    const message = { channel: "email", content } as const;
    await queueMessage(tx, actor, { message, to, secrets, owner: admin.id });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
  }
}
