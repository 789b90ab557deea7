import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { idBound, idTime, randomId } from "../../domain/ids.ts";
import { forgetEvents } from "../../db/events.ts";
import { locking, writing } from "../../db/transaction.ts";
import { publishWaiting } from "../../domain/event_publishing.ts";
import { emit } from "../../domain/events.ts";
import { createApp } from "../../routes/http/app.ts";
import { openEventStream } from "../../routes/http/event_stream.ts";
import { openEnding } from "../../routes/http/shutdown.ts";
import { notesOf, openStream } from "../support/event_stream.ts";
import { until } from "../support/eventually.ts";
import { PLATFORM_KEY, type TestRealm, testRealm, type TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { publishEvents } from "../../workers/webhooks/publishing.ts";

const DAY_MS = 24 * 3_600_000;

/** Emits an event about an entity of a user, and publishes it. */
async function tell(realm: TestRealm, owner: string | null, note: string): Promise<void> {
  await realm.command((tx) => {
    const id = randomId(Date.now());
    return emit(tx, { at: Date.now() }, "withdrawal.updated", { id, owner, view: { id, note } });
  });
  await publishEvents(realm.pool, Date.now);
}

const test = sharing("streams of one realm");

test("a stream sends what is new to those who may see it, and goes on after the last id", async (realm) => {
  const [mine, other] = [await realm.user(), await realm.user()];
  await using all = await openStream(realm, realm.admin);
  await using own = await openStream(realm, mine);
  deepEqual([own.status, own.type], [200, "text/event-stream; charset=utf-8"]);
  await until(() => all.blocks.length > 0 && own.blocks.length > 0);
  await tell(realm, mine.id, "a");
  await tell(realm, other.id, "b");
  await tell(realm, null, "c");
  await tell(realm, mine.id, "d");
  await until(() => notesOf(all).length === 4 && notesOf(own).length === 2);
  deepEqual([notesOf(all), notesOf(own)], [["a", "b", "c", "d"], ["a", "d"]]);
  const [first, second] = all.blocks.filter((one) => one.event !== undefined);
  equal(first.event, "withdrawal.updated");
  ok(first.id < second.id);
  await using again = await openStream(realm, realm.admin, "/v1/events", {
    "last-event-id": second.id,
  });
  await until(() => notesOf(again).length === 2);
  deepEqual(notesOf(again), ["c", "d"]);
  const { entity } = JSON.parse(second.data);
  await using one = await openStream(
    realm,
    realm.admin,
    `/v1/events?entity=${entity}&after=${first.id}`,
  );
  await using none = await openStream(
    realm,
    realm.admin,
    `/v1/events?type=stop.set&after=${first.id}`,
  );
  await until(() => notesOf(one).length === 1);
  deepEqual([notesOf(one), notesOf(none)], [["b"], []]);
  const page = async (user: TestUser, query = "") => {
    const answer = await user.send("GET", `/v1/events/all${query}`);
    equal(answer.status, 200, answer.text);
    return answer.body.map((each: { data: { note: string } }) => each.data.note);
  };
  deepEqual(await page(realm.admin, `?after=${first.id}&limit=2`), ["b", "c"]);
  deepEqual((await page(mine)).slice(-2), ["a", "d"]);
  equal((await page(other)).includes("a"), false);
  deepEqual(await page(realm.admin, `?after=${first.id}&entity=${entity}`), ["b"]);
  deepEqual(await page(realm.admin, `?after=${first.id}&type=stop.set`), []);
});

test("a stream ends when its key is revoked", async (realm) => {
  const user = await realm.user();
  await using stream = await openStream(realm, user);
  await until(() => stream.blocks.length > 0);
  equal((await user.send("POST", "/v1/auth/logout")).status, 200);
  await until(() => stream.ended);
});

test("a cursor behind what is kept is refused with a clear problem", async (realm) => {
  const old = randomId(Date.now() - 31 * DAY_MS);
  for (const path of [`/v1/events?after=${old}`, `/v1/events/all?after=${old}`]) {
    const refused = await realm.admin.send("GET", path);
    deepEqual([refused.status, refused.body.code], [410, "event.expired"]);
  }
  for (const path of ["/v1/events?after=x", "/v1/events/all?after=x", "/v1/events?type=nothing"]) {
    equal((await realm.admin.send("GET", path)).body.code, "query.invalid");
  }
});

test("a user's streams are limited", async (realm) => {
  const user = await realm.user();
  await using open = new AsyncDisposableStack();
  for (let i = 0; i < 20; i++) open.use(await openStream(realm, user));
  const refused = await user.send("GET", "/v1/events");
  deepEqual([refused.status, refused.body.code], [429, "rate.limited"]);
});

test("customers together leave streams to those who read the whole realm", async (realm) => {
  const ending = openEnding();
  const asks = (user: string, seesAll: boolean) =>
    openEventStream({
      ...{ pool: realm.pool, user, seesAll, asked: {}, after: randomId(Date.now()), ending },
      ...{ actorNow: () => Promise.resolve(null), note: () => Promise.resolve() },
    });
  const opened: ReadableStream[] = [];
  const fill = async (seesAll: boolean) => {
    for (let user = randomId(Date.now()), mine = 0;; mine++) {
      if (mine === 20) [user, mine] = [randomId(Date.now()), 0];
      opened.push(await asks(user, seesAll));
    }
  };
  await rejects(fill(false), { code: "service.overloaded" });
  equal(opened.length, 450);
  await rejects(fill(true), { code: "service.overloaded" });
  equal(opened.length, 500);
  for (const stream of opened) await stream.cancel();
  await (await asks(realm.admin.id, false)).cancel();
});

test("no id is followed later by a smaller one, whatever order transactions commit in", async (realm) => {
  await realm.admin.send("GET", "/v1/events/all");
  const seen: string[] = [];
  let going = true;
  const read = async () => {
    while (going) {
      const after = seen.length === 0 ? "" : `?after=${seen.at(-1)}`;
      const { body } = await realm.admin.send("GET", `/v1/events/all${after}`);
      seen.push(...body.map((one: { id: string }) => one.id));
    }
  };
  const publish = async (ahead: number) => {
    while (going) {
      await locking(realm.pool, (tx) => publishWaiting(tx, { at: Date.now() + ahead }, 3));
    }
  };
  const before = (await realm.admin.send("GET", "/v1/events/all?limit=1000")).body.length;
  const working = [read(), publish(0), publish(5000)];
  const write = async (n: number) => {
    for (let i = 0; i < 10; i++) {
      await realm.command(async (tx) => {
        const id = randomId(Date.now());
        await emit(tx, { at: Date.now() }, "stop.set", { id, owner: null, view: { id } });
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * n));
      });
    }
  };
  await Promise.all([1, 2, 3, 4].map(write));
  await until(() => seen.length === before + 40);
  going = false;
  await Promise.all(working);
  deepEqual(seen, [...new Set(seen)].sort());
});

Deno.test("with nobody listening no event is written, and with somebody each is", async () => {
  await using realm = await testRealm();
  const count = async () => {
    const [{ n }] = await realm.pool.sql<
      { n: number }[]
    >`select count(*)::integer as n from events`;
    return n;
  };
  await tell(realm, null, "a");
  equal(await count(), 0);
  equal((await realm.admin.send("GET", "/v1/events/all")).text, "[]");
  await tell(realm, null, "b");
  equal(await count(), 1);
});

Deno.test("a realm says how long events are kept, and older ones are deleted", async () => {
  await using realm = await testRealm();
  const path = `/v1/realms/${realm.id}`;
  for (const days of [0, 366, 1.5, "30"]) {
    const refused = await realm.admin.send("PATCH", path, { webhooks: { retention_days: days } });
    equal(refused.body.code, "request.invalid", `${days}`);
    equal(refused.body.errors[0].path, "/webhooks/retention_days");
  }
  const changed = await realm.admin.send("PATCH", path, { webhooks: { retention_days: 2 } });
  equal(changed.body.webhooks.retention_days, 2);
  await realm.admin.send("GET", "/v1/events/all");
  await tell(realm, null, "a");
  const { body } = await realm.admin.send("GET", "/v1/events/all");
  equal(body.length, 1);
  const input = { url: "https://hooks.example.com", events: ["*"] };
  const { id: webhook } = (await realm.admin.send("POST", "/v1/webhooks", input)).body;
  for (const status of ["DELIVERED", "PENDING"]) {
    const id = randomId(Date.now() - 9 * DAY_MS);
    await realm.pool.sql`insert into events (id, type, entity, payload, created_at)
      values (${id}, 'stop.set', ${id}, '{}', now() - interval '9 days')`;
    await realm.pool.sql`
      insert into webhook_deliveries (webhook, event, type, entity, status, next_at, created_at)
      values (${webhook}, ${id}, 'stop.set', ${id}, ${status},
        ${status === "PENDING" ? Date.now() : null}, now() - interval '9 days')`;
  }
  const forget = (at: number) => writing(realm.pool, (db) => forgetEvents(db, idBound(at), 10));
  equal(await forget(Date.now() - 10 * DAY_MS), 0);
  equal(await forget(Date.now() + DAY_MS), 2, "an event and its delivery, which has ended");
  equal(await forget(Date.now() + DAY_MS), 0, "what is younger than a day stays");
  equal((await realm.admin.send("GET", "/v1/events/all")).body.length, 2);
});

test("a process whose clock is a year ahead gives ids and times of the database's clock", async (realm) => {
  await realm.admin.send("GET", "/v1/events/all");
  const input = { url: "https://hooks.example.com", events: ["stop.set"] };
  const { id: webhook } = (await realm.admin.send("POST", "/v1/webhooks", input)).body;
  await realm.command((tx) => {
    const id = randomId(Date.now());
    return emit(tx, { at: Date.now() }, "stop.set", { id, owner: null, view: { id } });
  });
  await publishEvents(realm.pool, () => Date.now() + 365 * DAY_MS);
  const [delivery] = (await realm.admin.send("GET", `/v1/webhooks/${webhook}/deliveries`)).body;
  ok(idTime(delivery.id) < Date.now() + DAY_MS, "later events would follow it by a year");
  ok(delivery.next_attempt_at < Date.now() + DAY_MS, "a year is not waited for");
  await realm.admin.send("DELETE", `/v1/webhooks/${webhook}`);
});

test("a cursor that no event has reached is refused, and one that was lost in a restore is taken", async (realm) => {
  const future = randomId(Date.now() + DAY_MS);
  for (const path of [`/v1/events?after=${future}`, `/v1/events/all?after=${future}`]) {
    const refused = await realm.admin.send("GET", path);
    deepEqual([refused.status, refused.body.code], [400, "query.invalid"], path);
  }
  const lost = randomId(Date.now());
  equal((await realm.admin.send("GET", `/v1/events/all?after=${lost}`)).text, "[]");
  await new Promise((resolve) => setTimeout(resolve, 5)); // the next millisecond
  await tell(realm, null, "after the restore");
  const { body } = await realm.admin.send("GET", `/v1/events/all?after=${lost}`);
  deepEqual(body.map((one: { data: { note: string } }) => one.data.note), ["after the restore"]);
});

test("a caller that does not read has little held for it", async (realm) => {
  await realm.admin.send("GET", "/v1/events/all");
  const first = randomId(Date.now());
  for (let i = 0; i < 30; i++) await tell(realm, null, `${i} ${"x".repeat(19_000)}`);
  const app = createApp(realm.services, PLATFORM_KEY);
  const request = new Request(`http://purser.test/v1/events?after=${first}`, {
    headers: { "x-api-key": realm.admin.key },
  });
  const reader = (await app(request, "127.0.0.1")).body!.getReader();
  let [seen, chunks] = ["", 0];
  while (!seen.includes('"note":"29 ')) {
    const { value } = await reader.read();
    ok(value!.length < 100_000, `${value!.length} bytes are held at once`);
    seen = seen.slice(-200) + new TextDecoder().decode(value);
    chunks++;
  }
  ok(chunks > 6, `${chunks}`);
  await reader.cancel();
});
