/** Webhooks of the provider of messages: delivery reports, and messages that people write to us. @module */
import { z } from "zod";
import type { Actor } from "../domain/actor.ts";
import {
  applyReports,
  type DeliveryReport,
  DeliveryReports,
  readReports,
} from "../domain/messages/delivery_reports.ts";
import { InboundMessages, recordInteractions } from "../domain/messages/interactions.ts";
import { command } from "./http/execution.ts";
import { type AnyRoute, type Call, type Reply, route } from "./http/route.ts";

const Taken = z.object({
  taken: z.number().int().meta({ description: "How many of the results changed something." }),
}).meta({ id: "WebhookTaken" });

const webhook = {
  method: "POST",
  tag: "Messages",
  access: "provider",
  cost: "none",
  status: 200,
  answer: Taken,
  errors: [],
} as const;

/** The routes of the provider's webhooks. */
export const messageWebhookRoutes: readonly AnyRoute[] = [
  route({
    ...webhook,
    path: "/v1/messages/webhook/infobip",
    operation: "recordDeliveryReports",
    summary: "Take delivery reports of the provider",
    description: "A report that comes twice, late or out of order changes nothing.",
    body: DeliveryReports,
    handle: takeReports,
  }),
  route({
    ...webhook,
    path: "/v1/messages/webhook/whatsapp",
    operation: "recordWhatsAppMessages",
    summary: "Take notice of WhatsApp messages that people wrote to the sending number",
    description: "They may be written to from then on. Nothing but the two numbers and the time " +
      "is kept.",
    body: InboundMessages,
    handle: (call) =>
      command(call, async (tx) => ({ taken: await recordInteractions(tx, call.at, call.body) })),
  }),
];

/**
 * Applies reports realm by realm: no transaction reaches two. A realm that cannot take its reports
 * does not keep others from theirs; the provider then sends all of them again.
 */
async function takeReports(
  call: Call<unknown, unknown, z.infer<typeof DeliveryReports>>,
): Promise<Reply> {
  const byRealm = Map.groupBy(readReports(call.body), (report) => report.realm);
  let taken = 0;
  const failures: unknown[] = [];
  for (const [id, reports] of byRealm) {
    try {
      taken += await takeReportsOf(call, id, reports);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return { status: 200, body: JSON.stringify({ taken }) };
}

async function takeReportsOf(
  call: Call<unknown, unknown, z.infer<typeof DeliveryReports>>,
  id: string,
  reports: readonly DeliveryReport[],
): Promise<number> {
  const realm = await call.services.realms.find(id);
  if (realm === null) return 0;
  const at = realm.time(call.at);
  const actor: Actor = { ...call.actor, realm: realm.defaults(), at };
  const within = { ...call, actor: { ...call.actor, ...actor }, realm, at, idempotency: null };
  let taken = 0; // the transaction may run again
  await command(within, async (tx) => ({ taken: taken = await applyReports(tx, actor, reports) }));
  return taken;
}
