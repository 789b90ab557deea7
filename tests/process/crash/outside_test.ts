/**
 * A service that is killed between the answer of somebody outside and the record of it: a message, a
 * synchronisation of persons, a transfer with an exchange. A row that the record needs is locked
 * while the answer is given, so the kill comes exactly there.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { testDatabase } from "../../support/database.ts";
import { until } from "../../support/eventually.ts";
import { EXCHANGE_KEY } from "../../support/exchange_server.ts";
import { type Answer, openOutside, type OutsideFixture } from "./outside_fixture.ts";

/** Flows and their personal data and keys, none of which may be in a log. */
const PHONE = "385917654321";
const EMAIL = "zora.neale@persons.example";
const NAME = "Zoranealehurston";
const TEXT = "your-code-is-918273";

const steps: Readonly<Record<string, (fixture: OutsideFixture) => Promise<void>>> = {
  "a text that the provider took, when the service is killed before it is recorded, is sent once":
    killedMessage,
  "persons that the platform linked, when the service is killed before it is recorded, get one identity each":
    killedSync,
  "a payment that the exchange made, when the service is killed before it is recorded, is made once":
    killedTransfer,
  "no log of all that holds names, addresses, contents or keys, whatever succeeds or fails": logs,
};

Deno.test("a service killed between an answer from outside and its record", async (t) => {
  await using database = await testDatabase();
  await using fixture = await openOutside(database.url);
  for (const [name, work] of Object.entries(steps)) await t.step(name, () => work(fixture));
});

async function killedMessage({ send, killAfter, infobip, hurry }: OutsideFixture): Promise<void> {
  const killed = killAfter("POST /sms/3/messages", "messages");
  const sent = await send("POST", "/v1/apps/message/sms", {
    to: `+${PHONE}`,
    content: { text: TEXT },
  });
  const [{ messageId }] = sent.body.messages;
  await killed;
  equal(infobip.taken.length, 1);
  await hurry();
  await until(async () => {
    const { body } = await send("GET", `/v1/messages/${messageId}`);
    return body.status.name === "PENDING_ENROUTE";
  }, 200);
  const asked = infobip.paths.filter((path) => path === "/sms/3/messages").length;
  deepEqual([asked, infobip.taken.length], [2, 1], "asked twice under one id, sent once");
}

async function killedSync({ send, killAfter, platform, hurry, infobip }: OutsideFixture) {
  platform.persons.push(
    ...["One", "Two", "Three"].map((lastName, n) => ({
      id: 9_100 + n,
      ...{ firstName: NAME, lastName },
      contactInformation: { email: [{ address: `${n}.${EMAIL}` }] },
    })),
  );
  const killed = killAfter("PATCH /people/2/persons", "person_syncs");
  const started = await send("POST", "/v1/identities/persons/sync", {});
  equal(started.status, 202, started.text);
  await killed;
  await hurry();
  const reports = () => infobip.taken.filter(({ path }) => path === "/email/3/send").length;
  await until(() => reports() === 1, 200);
  const identities: string[] = [];
  for (const { id, externalId } of platform.persons) {
    const query = encodeURIComponent(JSON.stringify({ person: `${id}` }));
    const { body } = await send("GET", `/v1/identities/all?scope=all&query=${query}`);
    deepEqual(body.map((one: Answer["body"]) => one.id), [externalId], `${id}`);
    identities.push(body[0].id);
  }
  equal(new Set(identities).size, 3);
  equal(reports(), 1, "one report");
}

async function killedTransfer(fixture: OutsideFixture): Promise<void> {
  const { send, killAfter, exchange, hurry, account } = fixture;
  const { identity } = (await send("GET", "/v1/auth/me")).body;
  const record = { ramp: "binance", identity, authentication: EXCHANGE_KEY };
  let ramp = "";
  await until(async () => {
    const { status, body } = await send("POST", "/v1/ramps", record);
    ramp = body.id;
    return status === 201;
  }, 500);
  const path = `/v1/ramps/${ramp}`;
  await until(async () => (await send("GET", path)).body.status === "READY", 200);
  const killed = killAfter("POST /sapi/v1/capital/withdraw/apply", "ramp_transfers");
  const order = { account: await account(), asset: "ETH", value: "1.5" };
  const made = await send("POST", `${path}/deposit`, order);
  equal(made.status, 201, made.text);
  await killed;
  const one = `${path}/transfers/${made.body.id}`;
  const before = (await send("GET", one)).body;
  deepEqual([before.status, before.exchange.reference], ["PROCESSING", null]);
  await hurry();
  await until(async () => {
    await hurry();
    return (await send("GET", one)).body.exchange.reference !== null;
  }, 500);
  equal((await send("GET", one)).body.exchange.reference, exchange.withdrawals[0].id);
  const asked = exchange.requests.filter((request) => request.endsWith("/withdraw/apply"));
  deepEqual([asked.length, exchange.withdrawals.length], [1, 1], "asked once, and looked up");
}

async function logs(fixture: OutsideFixture): Promise<void> {
  const { send, nobody, infobip, platform, exchange, hurry, lines, secrets } = fixture;
  const person = {
    firstName: NAME,
    contactInformation: { phone: [{ number: PHONE }], email: [{ address: EMAIL }] },
  };
  const made = await send("POST", "/v1/identities/person", { person });
  equal(made.status, 201, made.text);
  const path = `/v1/identities/${made.body.id}/person`;
  const mail = { content: { subject: TEXT, html: `<p>${TEXT}</p>` } };
  const said = { requestError: { serviceException: { messageId: "BAD", text: TEXT + EMAIL } } };
  await send("GET", `/v1/identities/persons?firstName=${NAME}`);
  await send("GET", `${path}/export`);
  equal((await send("POST", `${path}/message/email`, mail)).status, 201);
  for (const fault of [{ status: 400, body: said }, { status: 500, body: said }, "lost"] as const) {
    infobip.faults.push(fault);
    await send("POST", `${path}/message/sms`, { content: { text: TEXT } });
    await until(() => infobip.faults.length === 0);
    await hurry();
  }
  // Bad input, with what should not be told in the wrong places.
  for (
    const [method, to, body] of [
      ["POST", "/v1/apps/message/sms", { to: `${NAME} <${EMAIL}>`, content: { text: TEXT } }],
      ["POST", "/v1/apps/message/email", { to: EMAIL, content: { subject: `${TEXT}\n` } }],
      ["POST", "/v1/identities/person", { person: { ...person, [EMAIL]: NAME } }],
      ["POST", "/v1/identities/person", { person }],
      ["GET", `/v1/identities/persons?nothing=${EMAIL}`, undefined],
      ["POST", `${path}/event/bought`, { data: { properties: { of: EMAIL } } }],
      ["PATCH", path, { lastName: NAME }],
      ["POST", "/v1/ramps", { ramp: "binance", authentication: EXCHANGE_KEY, more: 1 }],
    ] as const
  ) await send(method, to, body);
  const text = `wrong key, you sent ${secrets.join(" ")} for ${EMAIL}`;
  platform.always = () =>
    Response.json({ requestError: { serviceException: { messageId: "X", text } } }, {
      status: 401,
    });
  await send("GET", path);
  await send("PATCH", path, { city: NAME });
  platform.always = null;
  exchange.instead = () => Response.json({ code: -2008, msg: text }, { status: 401 });
  const [ramp] = (await send("GET", "/v1/ramps/all")).body;
  await send("PATCH", `/v1/ramps/${ramp.id}`, { authentication: EXCHANGE_KEY });
  await until(async () => {
    await hurry();
    return (await send("GET", `/v1/ramps/${ramp.id}`)).body.status === "REFUSED";
  }, 200);
  const shown = await send("GET", `/v1/ramps/${ramp.id}/assets`);
  equal(shown.body.code, "upstream.failed");
  const told = Object.values(EXCHANGE_KEY).filter((secret) => shown.text.includes(secret));
  deepEqual(told, [], "nor does an answer");
  const report = { results: [{ messageId: EMAIL, callbackData: `purser:${PHONE}:${NAME}` }] };
  equal((await nobody("POST", "/v1/messages/webhook/infobip", report)).status, 401);
  await send("DELETE", path);
  await until(() => lines.some((line) => line.includes("message not sent")));
  for (const secret of [PHONE, EMAIL, NAME, TEXT, ...secrets]) {
    deepEqual(lines.filter((line) => line.includes(secret)), [], secret);
  }
}
