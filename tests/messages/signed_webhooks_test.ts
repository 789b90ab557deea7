/** Webhooks of the provider that are signed. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { readConfig } from "../../config.ts";
import { EMAIL, SECRET } from "./fixture.ts";

const env = { INFOBIP_WEBHOOK_SECRET: SECRET, INFOBIP_WEBHOOK_AUTH: "hmac" };
const test = sharing("signed webhooks in one realm", { env });
const REPORTS = "/v1/messages/webhook/infobip";
const INBOUND = "/v1/messages/webhook/whatsapp";

/** The headers of a signed request. */
function signed(body: unknown, { key = SECRET, at = Date.now() } = {}): Record<string, string> {
  const hmac = createHmac("sha256", key).update(`${at}${JSON.stringify(body)}`).digest("hex");
  return { "x-ib-exchange-req-timestamp": `${at}`, "x-ib-exchange-req-signature": hmac };
}

/** A report that an e-mail was delivered. */
async function delivered(realm: TestRealm, to: string) {
  const sent = await realm.admin.send("POST", "/v1/apps/message/email", { to, content: EMAIL });
  const { messageId } = sent.body.messages[0];
  const status = { groupId: 3, groupName: "DELIVERED", id: 5, name: "DELIVERED_TO_HANDSET" };
  return {
    body: { results: [{ messageId, callbackData: `purser:${realm.id}:${messageId}`, status }] },
    state: async () => {
      const { body } = await realm.admin.send("GET", `/v1/messages/${messageId}`);
      return body.status.id as number;
    },
  };
}

test("a signed webhook is taken once; sent again, it changes nothing", async (realm) => {
  const { body, state } = await delivered(realm, "signed@example.com");
  const headers = signed(body);
  for (const taken of [1, 0, 0]) {
    const answer = await realm.nobody("POST", REPORTS, body, headers);
    deepEqual([answer.status, answer.body], [200, { taken }], answer.text);
  }
  equal(await state(), 5);
  const from = "385917777001";
  const written = (receivedAt: string) => ({ results: [{ from, to: "447860099299", receivedAt }] });
  const [first, later] = [
    written("2026-11-22T21:00:00.000+0000"),
    written("2026-11-22T22:00:00.000+0000"),
  ];
  await realm.nobody("POST", INBOUND, later, signed(later));
  for (const again of [first, later]) {
    const answer = await realm.nobody("POST", INBOUND, again, signed(again));
    deepEqual([answer.status, answer.body], [200, { taken: 0 }], answer.text);
  }
});

test("a forged, changed, old or unsigned webhook is refused, and changes nothing", async (realm) => {
  const { body, state } = await delivered(realm, "forged@example.com");
  const other = { results: [...body.results, ...body.results] };
  const hour = 3_600_000;
  const right = signed(body);
  const cases: Record<string, Record<string, string>> = {
    "another key": signed(body, { key: "another secret of the same length" }),
    "another body": signed(other),
    "another time": { ...right, "x-ib-exchange-req-timestamp": `${Date.now() - 1000}` },
    "an old one": signed(body, { at: Date.now() - hour - 1000 }),
    "one of the future": signed(body, { at: Date.now() + hour }),
    "a time that is none": signed(body, { at: NaN }),
    "half a signature": {
      ...right,
      "x-ib-exchange-req-signature": right["x-ib-exchange-req-signature"].slice(0, 32),
    },
    "no hexadecimal": { ...right, "x-ib-exchange-req-signature": "z".repeat(64) },
  };
  for (const [name, headers] of Object.entries(cases)) {
    const answer = await realm.nobody("POST", REPORTS, body, headers);
    deepEqual([answer.status, answer.body.code], [401, "auth.invalid"], name);
  }
  // The secret itself, or half of what is asked for, is no signature.
  const { "x-ib-exchange-req-signature": signature, "x-ib-exchange-req-timestamp": at } = right;
  for (
    const headers of [
      {},
      { authorization: `Bearer ${SECRET}` },
      { authorization: `Basic ${btoa(`infobip:${SECRET}`)}` },
      { "x-ib-exchange-req-signature": signature },
      { "x-ib-exchange-req-timestamp": at },
    ] as Record<string, string>[]
  ) {
    const answer = await realm.nobody("POST", REPORTS, body, headers);
    deepEqual([answer.status, answer.body.code], [401, "auth.missing"], JSON.stringify(headers));
  }
  equal(await state(), 26);
  await using unset = realm.another({ INFOBIP_WEBHOOK_AUTH: "hmac" });
  const unkeyed = await unset.send(null)("POST", REPORTS, body, signed(body, { key: "undefined" }));
  equal(unkeyed.body.code, "auth.invalid");
});

test("a network that guesses signatures is refused after 30 tries", async (realm) => {
  await using process = realm.another(env);
  const { body, state } = await delivered(realm, "guessed@example.com");
  const guess = () => process.send(null)("POST", REPORTS, body, signed(body, { key: "a guess" }));
  const answers = await Promise.all(Array.from({ length: 40 }, guess));
  ok(answers.every(({ status }) => status === 401 || status === 429));
  const { status, body: refused } = await guess();
  deepEqual([status, refused.code], [429, "rate.limited"]);
  equal(await state(), 26);
});

test("a webhook as large as no provider sends is refused, signed or not", async (realm) => {
  const results = [{ messageId: "x".repeat(2 ** 20) }];
  const answer = await realm.nobody("POST", REPORTS, { results }, signed({ results }));
  deepEqual([answer.status, answer.body.code], [413, "request.too_large"]);
  const many = { results: Array(1001).fill({}) };
  const refused = await realm.nobody("POST", REPORTS, many, signed(many));
  deepEqual([refused.status, refused.body.code], [400, "request.invalid"]);
});

Deno.test("a short secret of webhooks is refused at the start", () => {
  const of = (INFOBIP_WEBHOOK_SECRET: string) => () =>
    readConfig({ INFOBIP_WEBHOOK_SECRET }, false).infobipWebhookAuth;
  equal(of(SECRET)(), "secret");
  let faults = "";
  try {
    of("short")();
  } catch (error) {
    faults = (error as Error).message;
  }
  ok(/INFOBIP_WEBHOOK_SECRET is too short/.test(faults) && !faults.includes('"short"'), faults);
});
