/** Messages of tests. @module */
import { equal } from "node:assert/strict";
import type { TestRealm } from "../support/realm.ts";

/** What webhooks of the provider show. */
export const SECRET = "a secret that the provider was given";
/** The content of an e-mail. */
export const EMAIL = { subject: "Welcome", text: "Your account is open." };
/** The content of a WhatsApp message. */
export const WHATSAPP = {
  templateName: "welcome",
  templateData: { body: { placeholders: ["Ada"] } },
  language: "en",
};
/** The state of a message that is stored. */
export const PENDING = {
  groupId: 1,
  groupName: "PENDING",
  id: 26,
  name: "PENDING_ACCEPTED",
  description: "Message accepted, and not sent yet",
};

let numbers = 0;
/** A number that no other test sends to. */
export function number(): string {
  return `+38591${1_000_000 + numbers++}`;
}

/** Tells the service that somebody wrote to its WhatsApp number. */
export async function writeTo(realm: TestRealm, from: string): Promise<void> {
  const message = {
    from: from.slice(1),
    to: "447860099299",
    integrationType: "WHATSAPP",
  };
  const body = {
    results: [{ ...message, receivedAt: "2026-11-22T23:00:00.000+0000" }],
  };
  const headers = { authorization: `Bearer ${SECRET}` };
  const path = "/v1/messages/webhook/whatsapp";
  const { status, text } = await realm.nobody("POST", path, body, headers);
  equal(status, 200, text);
}
