/** Events of what the API shows to administrators of the realm alone, and the webhooks that hear them. */
import { deepEqual, equal } from "node:assert/strict";
import { concludeSolvency } from "../../domain/audit/solvency.ts";
import { ADMIN_EVENTS } from "../../domain/events.ts";
import { newId } from "../../domain/ids.ts";
import { openEventReaders } from "../support/event_readers.ts";
import { openStream } from "../support/event_stream.ts";
import { until } from "../support/eventually.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { openReceiver, openTestDeliverer, PRIVATE } from "../support/webhook_receiver.ts";

const AFTER = "00000000-0000-7000-8000-000000000000";
/** The routes that show what the events tell. */
const ROUTES = { "solvency.drift": "/v1/solvency", "job.dead": "/v1/jobs" };

/** Has a job die, and a comparison of chain and ledger find that coins are missing. */
async function cause(realm: TestRealm): Promise<void> {
  await rowsOf(
    realm,
    "insert into jobs (id, name, payload, attempts_max) values ($1, 'no.such.job', '{}', 1)",
    [newId(Date.now())],
  );
  await realm.drain();
  const ledger = { owed: "5", fees: "-3", position: null, pending: "0", leeway: "0" };
  const figures = { ...ledger, provisional: false };
  await realm.command((tx) =>
    concludeSolvency(tx, realm.admin.actor, {
      ...{ asset: "ETH", testnet: false, decimals: 18, height: 7, figures, lossMax: null },
      ...{ flights: [], statuses: new Map(), held: new Map(), owed: new Map() },
      kept: { pending: 0n, swept: 0n },
    })
  );
}

Deno.test("solvency and dead jobs, of which the API tells administrators of the realm, are told to nobody else by events", async () => {
  await using realm = await testRealm(PRIVATE);
  await using worker = openTestDeliverer(realm);
  await using receiver = openReceiver();
  const readers = await openEventReaders(realm, { url: receiver.url, events: ["*"] });
  const list = `/v1/events/all?after=${AFTER}`;
  equal((await readers.own.send("GET", list)).status, 200, "from now on they are written");
  await cause(realm);
  await worker.run();
  for (const [name, user] of Object.entries(readers)) {
    const isAdmin = name === "admin";
    for (const route of Object.values(ROUTES)) {
      equal((await user.send("GET", route)).status, isAdmin ? 200 : 403, `${name} ${route}`);
    }
    const expected = isAdmin ? [...ADMIN_EVENTS].sort() : [];
    const secret = ({ type }: { type: string }) => ADMIN_EVENTS.includes(type);
    const typesOf = (events: { type: string }[]) => events.filter(secret).map(({ type }) => type);
    for (const query of [list, ...ADMIN_EVENTS.map((type) => `${list}&type=${type}`)]) {
      const told = typesOf((await user.send("GET", query)).body);
      const asked = expected.filter((type) => !query.includes("type=") || query.endsWith(type));
      deepEqual(told.sort(), asked, `${name} ${query}`);
    }
    const heard = receiver.received.filter(({ path }) => path === `/${name}`);
    deepEqual(typesOf(heard.map(({ body }) => body)).sort(), expected, `webhook of ${name}`);
    // The heartbeat's cursor passes over what is not shown: the last event that all see is a stop.
    await using stream = await openStream(realm, user, `/v1/events?after=${AFTER}`);
    const reason = `seen by ${name}`;
    await realm.admin.send("POST", "/v1/stops", { what: "signing", asset: "BTC", reason });
    await worker.run();
    if (name === "own") continue; // sees no stop of others
    const types = () => stream.blocks.map(({ event }) => event);
    await until(() => types().includes("stop.set"));
    deepEqual(types().filter((type) => ADMIN_EVENTS.includes(type)).sort(), expected, name);
  }
});

Deno.test("who may see less than a webhook's owner neither leads it elsewhere, nor has it tell more, nor learns its secret", async () => {
  await using realm = await testRealm();
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const input = { url: "https://hooks.example.com/purser", events: ["*"] };
  const { id } = (await realm.admin.send("POST", "/v1/webhooks", input)).body;
  const path = `/v1/webhooks/${id}`;
  const refused: [string, string, unknown][] = [
    ["PATCH", path, { url: "https://elsewhere.example.com" }],
    ["POST", `${path}/rotate`, {}],
  ];
  for (const [method, where, body] of refused) {
    const { status, body: problem } = await manager.send(method, where, body);
    deepEqual([status, problem.code], [403, "permission.role"], `${method} ${where}`);
  }
  equal((await realm.admin.send("GET", path)).body.url, input.url);
  const few = ["deposit.confirmed", "job.dead"];
  equal((await manager.send("PATCH", path, { events: few })).status, 200, "to have it tell less");
  for (const events of [["*"], ["solvency.drift"], [...few, "stop.set"]]) {
    const { status, body: problem } = await manager.send("PATCH", path, { events });
    deepEqual([status, problem.code], [403, "permission.role"], `${events}`);
  }
  deepEqual((await realm.admin.send("GET", path)).body.events, few);
  equal((await manager.send("PATCH", path, { active: false })).status, 200, "to end it it may");
  const customer = await realm.user({ role: "manage", scope: "own" });
  const theirs = (await customer.send("POST", "/v1/webhooks", input)).body.id;
  const moved = await manager.send("PATCH", `/v1/webhooks/${theirs}`, refused[0][2]);
  equal(moved.status, 200, "a customer's it changes");
});
