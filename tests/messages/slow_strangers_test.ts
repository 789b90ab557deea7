/** Strangers whose bodies come slowly, or never end, and the webhooks of the provider of messages. */
import { deepEqual, throws } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { openBodyHold, openWebhookHold } from "../../routes/http/body_memory.ts";
import { until } from "../support/eventually.ts";
import { testRealm } from "../support/realm.ts";
import { SECRET } from "./fixture.ts";

const REPORTS = "/v1/messages/webhook/infobip";
/** Reports of half a thousand messages that nobody knows: 20 KB. */
const MANY = JSON.stringify({
  results: Array.from({ length: 500 }, (_, i) => ({ messageId: `${i}` })),
});
const LARGE = 900_000;

type App = (request: Request, address: string) => Promise<Response> | Response;

/** Opens requests whose bodies are announced and do not come; gives how many were refused, and ends them. */
function openSlow(app: App, path: string, headers: () => Record<string, string>) {
  const bodies: ReadableStreamDefaultController<Uint8Array>[] = [];
  let refused = 0;
  const ask = async (address: string) => {
    const body = new ReadableStream<Uint8Array>({ start: (one) => void bodies.push(one) });
    const request = new Request(`http://purser.test${path}`, {
      ...{ method: "POST", body, duplex: "half" } as RequestInit,
      headers: { "content-type": "application/json", "content-length": `${LARGE}`, ...headers() },
    });
    const answer = await app(request, address);
    if (answer.status === 503) refused++;
    await answer.body?.cancel();
  };
  return {
    ask,
    refused: () => refused,
    end: () =>
      bodies.forEach((one) => {
        try {
          one.error(new Error("left"));
        } catch { /* it was refused */ }
      }),
  };
}

const signed = (body: string, at = Date.now()) => ({
  "x-ib-exchange-req-timestamp": `${at}`,
  "x-ib-exchange-req-signature": createHmac("sha256", SECRET).update(`${at}${body}`).digest("hex"),
});

async function report(app: App, body: string, headers: Record<string, string>): Promise<number> {
  const request = new Request(`http://purser.test${REPORTS}`, {
    ...{ method: "POST", body },
    headers: { "content-type": "application/json", "content-length": `${body.length}`, ...headers },
  });
  const answer = await app(request, "192.0.2.1");
  await answer.body?.cancel();
  return answer.status;
}

Deno.test("the bodies of webhooks have memory of their own, of which networks that are not known leave half", () => {
  const [platform, mib] = [{}, 1024 * 1024];
  const held = Array.from({ length: 10 }, () => { // realms whose users take all there is
    const pool = {};
    const all: { leave(): void }[] = [];
    for (let size = mib; size > 4096;) {
      const one = openBodyHold(pool, { user: "one", scopes: ["realm"], address: null });
      try {
        one.grow(size);
        all.push(one);
      } catch {
        size /= 2;
      }
    }
    return all;
  }).flat();
  const hold = (address: string, isKnown: boolean) => {
    const one = openWebhookHold(platform, { address, isKnown });
    one.grow(mib / 2);
    return one;
  };
  const refusal = { code: "service.overloaded" };
  held.push(hold("192.0.2.1", false), hold("192.0.2.1", false));
  throws(() => hold("192.0.2.1", false), refusal, "of a network as much as is free");
  held.push(hold("192.0.2.2", false), hold("192.0.2.3", false));
  throws(() => hold("192.0.2.4", false), refusal);
  held.push(...[1, 2, 3, 4].map(() => hold("198.51.100.1", true)));
  throws(() => hold("198.51.100.1", true), refusal);
  for (const one of held) one.leave();
  for (let i = 0; i < 10; i++) hold("192.0.2.1", false).leave();
});

Deno.test("strangers whose signed bodies come slowly keep out no webhook from a network whose last were right", async () => {
  await using realm = await testRealm();
  await using process = realm.another({
    INFOBIP_WEBHOOK_SECRET: SECRET,
    INFOBIP_WEBHOOK_AUTH: "hmac",
  });
  const { app } = process;
  const slow = openSlow(app, REPORTS, () => ({ ...signed("another body") }));
  const all = Array.from({ length: 50 }, (_, i) => slow.ask(`198.51.100.${i}`));
  await until(() => slow.refused() > 0);
  const small = JSON.stringify({ results: [] });
  const told = [await report(app, small, signed(small))]; // small ones need no memory: it is known from now on
  for (let i = 0; i < 3; i++) told.push(await report(app, MANY, signed(MANY)));
  deepEqual(told, [200, 200, 200, 200]);
  slow.end();
  await Promise.all(all);
});
