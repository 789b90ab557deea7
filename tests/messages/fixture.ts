/** Messages of tests. @module */
import { equal } from "node:assert/strict";
import { openMessaging } from "../../workers/gateways/messages.ts";
import { workerContext } from "../../workers/worker_context.ts";
import { rowsOf, testConfig, type TestRealm } from "../support/realm.ts";

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

/** A process that works in a realm, with settings and a clock of its own. */
export function processOf(
  realm: TestRealm,
  env: Record<string, string>,
  now: number | (() => number) = Date.now,
) {
  const clock = typeof now === "number" ? () => now : now;
  const messaging = openMessaging(testConfig(env), realm.services.secrets, clock);
  const { signal } = new AbortController();
  const lines: string[] = [];
  const log = (...line: unknown[]) => void lines.push(JSON.stringify(line));
  const target = { realm: realm.made.realm, pool: realm.pool, signal };
  const make = () =>
    workerContext({ log, messaging, now: clock, chains: null!, signer: null! }, target);
  return {
    context: make(),
    /** A context of this moment. */
    at: make,
    /** What it has logged. */
    lines,
    close: () => messaging.close(),
  };
}

/** What is stored of a message: whether it waits, whether its content is kept, how many jobs it has. */
export async function stored(realm: TestRealm, id: string) {
  const [row] = await rowsOf<{ waiting: boolean; kept: boolean; jobs: number }>(
    realm,
    `select waiting, content is not null as kept, (select count(*)::int from jobs
      where name = 'message.send' and payload ->> 'message' = $1::text
        and state in ('ready', 'running')) as jobs
      from messages where id = $1::uuid`,
    [id],
  );
  return [row.waiting, row.kept, row.jobs];
}
