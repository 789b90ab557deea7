/** Every event of the contract is emitted by what it tells of: here, or in the test that is named. */
import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { halt } from "../../domain/deposits/scan_results.ts";
import { EVENT_TYPES } from "../../domain/events.ts";
import { newId } from "../../domain/ids.ts";
import { quarantine } from "../../domain/sending/quarantine.ts";
import { disableWebhook } from "../../domain/webhooks/disabling.ts";
import { tellLagging, tellStuck } from "../../domain/webhooks/incidents.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { publishEvents } from "../../workers/webhooks/publishing.ts";
import { ELSEWHERE } from "../support/emitting_tests.ts";
import { faultOf, faultsOfEvents } from "../support/described_events.ts";
import { type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const HOUR_MS = 3_600_000;
const PLACE = { chain: "ETHEREUM", network: "main" };

/** Brings an event about; gives the entity's id, where the event is about one. */
type Cause = (funded: FundedRamp) => Promise<string | null>;

const HERE: Readonly<Record<string, Cause>> = {
  "account.enabled": async ({ realm }) => {
    const made = await realm.admin.send("POST", "/v1/accounts", { type: "virtual", asset: "ETH" });
    await realm.drain();
    return made.body.id;
  },
  "stop.set": async ({ realm }) => {
    const stop = { what: "signing", reason: "an exercise" };
    return (await realm.admin.send("POST", "/v1/stops", stop)).body.id;
  },
  "stop.lifted": async ({ realm }) => {
    const [{ id }] = (await realm.admin.send("GET", "/v1/stops/all")).body;
    await realm.admin.send("DELETE", `/v1/stops/${id}`);
    return id;
  },
  "withdrawal.updated": async (funded) => (await funded.withdraw("1")).body.id,
  "withdrawal.stuck": async (funded) => {
    const { actor, step } = funded.context;
    const later = { ...actor, at: Date.now() + 3 * HOUR_MS };
    const [id] = await step((tx) => tellStuck(tx, later));
    deepEqual(await step((tx) => tellStuck(tx, later)), [], "once");
    return id;
  },
  "transaction.created": async ({ realm }) => {
    const { name, account } = await realm.currency("100");
    const other = await realm.account({ asset: name });
    const move = { source: { account }, destination: { account: other }, value: "1" };
    return (await realm.admin.send("POST", "/v1/transactions", move)).body.id;
  },
  "chain.lagging": async ({ context, realm }) => {
    await realm.command((tx) =>
      tx`insert into chain_cursors (chain, network, height, hash, head, scanned_at, created_at)
        values (${PLACE.chain}, ${PLACE.network}, 1, '0x', 1, now(), now()) on conflict do nothing`
    );
    const at = (ms: number) => ({ ...context.actor, at: Date.now() + ms });
    const named = `${PLACE.chain} ${PLACE.network}`;
    deepEqual(await context.step((tx) => tellLagging(tx, at(HOUR_MS))), [named]);
    deepEqual(await context.step((tx) => tellLagging(tx, at(HOUR_MS))), [], "once");
    deepEqual(await context.step((tx) => tellLagging(tx, at(0))), [], "over");
    deepEqual(await context.step((tx) => tellLagging(tx, at(HOUR_MS))), [named], "again");
    return realm.id;
  },
  "chain.halted": async ({ context, realm }) => {
    await context.step((tx) => halt(tx, context.actor, PLACE, "no common ancestor"));
    return realm.id;
  },
  "chain.quarantined": async ({ context, ramp }) => {
    await context.step((tx) => quarantine(tx, context.actor, [ramp], "an unknown nonce"));
    return ramp;
  },
  "persons.sync.finished": async ({ realm }) => {
    const { body } = await realm.admin.send("POST", "/v1/identities/persons/sync", {});
    await realm.drain();
    return body.data.id;
  },
  "job.dead": async ({ realm }) => {
    const id = newId(Date.now());
    await rowsOf(
      realm,
      "insert into jobs (id, name, payload, attempts_max) values ($1, 'no.such.job', '{}', 1)",
      [id],
    );
    await realm.drain();
    return id;
  },
  "webhook.disabled": async ({ context, realm }) => {
    const input = { url: "https://hooks.example.com", events: ["*"] };
    const { id } = (await realm.admin.send("POST", "/v1/webhooks", input)).body;
    const gone = { id, reason: "gone" as const, secrets: realm.services.secrets };
    equal(await context.step((tx) => disableWebhook(tx, context.actor, gone)), true);
    equal(await context.step((tx) => disableWebhook(tx, context.actor, gone)), false);
    return id;
  },
};

Deno.test("every event is emitted with the entity as its schema shows it", async (t) => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  let last = "";
  const publish = async () => {
    await extendHashChain(realm.pool, Date.now);
    await publishEvents(realm.pool, Date.now);
    const after = last === "" ? "" : `&after=${last}`;
    const { body } = await realm.admin.send("GET", `/v1/events/all?limit=1000${after}`);
    last = body.at(-1)?.id ?? last;
    return body;
  };
  await publish();
  for (const [type, cause] of Object.entries(HERE)) {
    await t.step(type, async () => {
      const entity = await cause(funded);
      const told = (await publish()).filter((one: { type: string }) => one.type === type);
      ok(told.length > 0, "it is told of");
      equal(told.at(-1).entity, entity);
      deepEqual(await faultsOfEvents(realm.pool), [], "a receiver is sent what is described");
    });
  }
});

Deno.test("a body that is not as described is found: a field more, one less, another type", () => {
  const data = { id: "a", code: "chain.quarantined", detail: "d", at: 1 };
  const body = { type: "chain.quarantined", timestamp: "2026-01-01T00:00:00.000Z", data };
  equal(faultOf(body.type, body), null);
  equal(faultOf(body.type, { ...body, data: { id: "a" } }), null, "the id alone");
  for (
    const wrong of [
      { ...body, data: { ...data, more: 1 } },
      { ...body, data: { ...data, at: "1" } },
      { ...body, data: { id: "a", code: "c" } },
      { ...body, timestamp: "yesterday" },
      { ...body, type: "chain.halted" },
      { ...body, more: 1 },
    ]
  ) notEqual(faultOf(body.type, wrong), null, JSON.stringify(wrong));
});

Deno.test("every event of the contract has a test", async () => {
  const listed = [...Object.keys(HERE), ...Object.keys(ELSEWHERE)];
  deepEqual(listed.sort(), [...EVENT_TYPES].sort());
  for (const [type, file] of Object.entries(ELSEWHERE)) {
    const text = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
    ok(text.includes(type), `${file} has ${type}`);
  }
});
