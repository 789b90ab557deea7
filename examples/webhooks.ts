/**
 * A receiver of webhooks: it verifies signatures, drops what it has had, and answers before it works.
 *
 *     deno run -A --config tests/deno.json examples/webhooks.ts
 *
 * It starts an installation in a temporary folder, whose webhooks may reach this machine, and removes it at the
 * end. Its output is checked in beside it as webhooks.txt.
 * @module
 */
import { Webhook } from "standardwebhooks";
import { type Answer, say, show, startInstallation, until } from "./installation.ts";

/** Receives events, each once; `work` is called after the answer. */
export function receive(secret: () => string, work: (event: Answer) => void): Deno.HttpServer {
  // In a service of yours: a table whose key is the id, written in the transaction of the work.
  const known = new Set<string>();
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const text = await request.text();
    const id = request.headers.get("webhook-id") ?? "";
    let event: Answer;
    try {
      // Checks the signature over id, time and body, and that the time is of these minutes.
      event = new Webhook(secret()).verify(text, Object.fromEntries(request.headers));
    } catch {
      return new Response("the signature is wrong", { status: 401 });
    }
    if (known.has(id)) return new Response("it is known");
    known.add(id);
    queueMicrotask(() => work(event));
    return new Response();
  });
}

if (import.meta.main) {
  const events: Answer[] = [];
  let secret = "";
  await using receiver = receive(() => secret, (event) => events.push(event));
  await using installation = await startInstallation({ WEBHOOKS_ALLOW_PRIVATE: "true" });
  const { send } = await installation.logIn();
  const { port } = receiver.addr as Deno.NetAddr;
  const arrived = (count: number) => until(() => Promise.resolve(events.length), (n) => n >= count);

  say("1. A webhook; its secret is shown this once");
  const url = `http://127.0.0.1:${port}/purser`;
  const webhook = await send("POST", "/v1/webhooks", { url, events: ["transaction.created"] });
  secret = webhook.secret;
  show({ events: webhook.events, active: webhook.active, secret: `${secret.slice(0, 6)}…` });

  say("2. A currency with a supply, which one transaction issues; the receiver is told");
  await send("POST", "/v1/currencies", { name: "POINTS", supply: "1000" });
  await arrived(1);
  const [{ type, data }] = events;
  show({ type, data: { type: data.type, asset: data.asset, amount: data.amount } });

  say("3. The delivery, as the service has it");
  const path = `/v1/webhooks/${webhook.id}/deliveries`;
  const list = () => send("GET", path);
  const [delivery] = await until(list, ([one]) => one?.status === "DELIVERED");
  show({ status: delivery.status, attempts: delivery.attempts, response: delivery.response });

  say("4. Sent again, it has the same id: the receiver drops it");
  await send("POST", `${path}/${delivery.id}/resend`);
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
