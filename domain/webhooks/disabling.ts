/** The service deactivates webhooks whose receivers are gone, and tells of it. @module */
import type { Tx } from "../../db/database.ts";
import { selectWebhooks, updateWebhook, type WebhookRow } from "../../db/webhooks/webhooks.ts";
import type { Actor } from "../actor.ts";
import { emit } from "../events.ts";
import { viewWebhook } from "./webhooks.ts";

/** Deactivates a webhook and emits an event of it; false where it was deactivated before. */
export async function disableWebhook(
  tx: Tx,
  actor: Actor,
  { id, reason }: { id: string; reason: NonNullable<WebhookRow["disabled_reason"]> },
): Promise<boolean> {
  const [before] = await selectWebhooks(tx, [id]);
  if (before === undefined || !before.active) return false;
  await updateWebhook(tx, id, { active: false, disabled_reason: reason }, actor.at);
  const [row] = await selectWebhooks(tx, [id]);
  await emit(tx, actor, "webhook.disabled", { id, owner: row.owner, view: viewWebhook(row) });
  return true;
}
