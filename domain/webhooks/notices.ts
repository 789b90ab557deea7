/** E-mails about webhooks, to administrators and owners. @module */
import type { Tx } from "../../db/database.ts";
import { selectAdminEmails, selectUsers } from "../../db/identity/users.ts";
import { markTold, type WebhookRow } from "../../db/webhooks/webhooks.ts";
import type { Actor } from "../actor.ts";
import { hasEnough, inRequest, mailAll, type Notice } from "../messages/notices.ts";
import type { Secrets } from "../security/serving_secrets.ts";

/** Administrators who are told. */
const TOLD_MAX = 20;
/** After one e-mail about an owner's webhooks there is none for so long: changes come in series. */
const QUIET_MS = 10 * 60_000;

/** Mails the realm's administrators. */
export async function mailAdmins(tx: Tx, actor: Actor, notice: Notice): Promise<void> {
  await mailAll(tx, actor, await selectAdminEmails(tx, TOLD_MAX), notice);
}

/**
 * Mails the owner of a webhook that it was created or changed, and the realm's administrators where it
 * hears of the whole realm: whoever has taken over a login makes such a change, and it lasts.
 */
export async function tellChange(
  tx: Tx,
  actor: Actor,
  { row, what, secrets }: { row: WebhookRow; what: string; secrets: Secrets },
): Promise<void> {
  const { id, owner } = row;
  if (!await markTold(tx, { id, owner, at: actor.at, since: actor.at - QUIET_MS })) return;
  const [user] = await selectUsers(tx, [owner]);
  const notice = {
    kind: "webhook" as const,
    subject: "A webhook was created or changed",
    text: `The webhook ${id} of the user ${owner} was ${what}${inRequest(actor)}. It ` +
      `is sent events until it is deleted, whatever becomes of the login or key that did this. If ` +
      `you do not know of it: DELETE /v1/webhooks/${id}, then end the user's logins. ` +
      `Changes of the next ten minutes are not told of: see GET /v1/audit?entity=${id}.`,
    secrets,
  };
  const admins = user?.scopes.includes("realm") ? await selectAdminEmails(tx, TOLD_MAX) : [];
  const told = new Map(admins.map((one) => [one.id, one.email]));
  const own = user?.email ? { id: owner, email: user.email } : null;
  if (own !== null && !await hasEnough(tx, actor, own, "webhook")) told.set(owner, own.email);
  const people = [...told].map(([person, address]) => ({ id: person, email: address }));
  await mailAll(tx, actor, people, notice);
}
