/**
 * A receiver of webhooks: it verifies signatures, drops what it has had, and answers before it works.
 *
 *     deno run -A --config tests/deno.json examples/webhooks.ts
 *
 * It starts an installation in a temporary folder, whose webhooks may reach this machine, and removes it at the
 * end. Its output is checked in beside it as webhooks.txt. An installation that PURSER_URL names needs
 * WEBHOOKS_ALLOW_PRIVATE=true.
 * @module
 */
import { verifyWebhook, type WebhookEvent } from "../client/webhooks.ts";
import { say, show, startInstallation, until } from "./installation.ts";

/** Receives events, each once; `work` is called after the answer. */
export function receive(
  secret: () => string,
  work: (event: WebhookEvent) => void,
): Deno.HttpServer<Deno.NetAddr> {
  // In a service of yours: a table whose key is the id, written in the transaction of the work.
  const known = new Set<string>();
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const text = await request.text();
    let event: WebhookEvent;
    try {
      // Checks the signature over id, time and body, and that the time is of these minutes.
      event = verifyWebhook(secret(), text, request.headers);
    } catch {
      return new Response("the signature is wrong", { status: 401 });
    }
    if (known.has(event.id)) return new Response("it is known");
    known.add(event.id);
    queueMicrotask(() => work(event));
    return new Response();
  });
}

if (import.meta.main) {
  const events: WebhookEvent[] = [];
  let secret = "";
  await using receiver = receive(() => secret, (event) => events.push(event));
  await using installation = await startInstallation({ WEBHOOKS_ALLOW_PRIVATE: "true" });
  const { purser } = await installation.logIn();

  say("1. A webhook; its secret is shown this once");
  const url = `http://127.0.0.1:${receiver.addr.port}/purser`;
  const webhook = await purser.post("/v1/webhooks", {
    body: { url, events: ["transaction.created"] },
  });
  secret = webhook.secret;
  show({ events: webhook.events, active: webhook.active, secret: `${secret.slice(0, 6)}…` });

  say("2. A currency with a supply, which one transaction issues; the receiver is told");
  await purser.post("/v1/currencies", { body: { name: "POINTS", supply: "1000" } });
  await until(() => Promise.resolve(events.length), (count) => count >= 1);
  const [{ type, data }] = events;
  if (type !== "transaction.created" || !("amount" in data)) throw new Error(`another: ${type}`);
  show({ type, data: { type: data.type, asset: data.asset, amount: data.amount } });

  say("3. The delivery, as the service has it");
  const path = { id: webhook.id };
  const list = () => purser.get("/v1/webhooks/{id}/deliveries", { path });
  const [delivery] = await until(list, ([one]) => one?.status === "DELIVERED");
  show({ status: delivery.status, attempts: delivery.attempts, response: delivery.response });

  say("4. Sent again, it has the same id: the receiver drops it");
  await purser.post("/v1/webhooks/{id}/deliveries/{delivery}/resend", {
    path: { ...path, delivery: delivery.id },
  });
  const [again] = await until(list, ([one]) => one.response?.body === "it is known");
  show({ response: again.response, events: events.length });

  say("5. Somebody else's request is refused");
  const headers = {
    "webhook-id": "forged",
    "webhook-timestamp": `${Math.floor(Date.now() / 1000)}`,
    "webhook-signature": "v1,Zm9yZ2Vk",
  };
  const forged = await fetch(url, { method: "POST", headers, body: "{}" });
  show({ status: forged.status, answer: await forged.text() });
}
