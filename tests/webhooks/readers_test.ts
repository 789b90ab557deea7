/** Who reads which events, also when rights change while a stream is open. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { emit } from "../../domain/events.ts";
import { randomId } from "../../domain/ids.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { publishEvents } from "../../workers/webhooks/publishing.ts";
import { notesOf, openStream } from "../support/event_stream.ts";
import { until } from "../support/eventually.ts";
import type { TestRealm, TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("readers of events in one realm");

/** Tells of an entity of a user, or of nobody, and publishes that. */
async function tell(
  realm: TestRealm,
  owner: string | null,
  note: string,
  id = randomId(Date.now()),
) {
  await realm.command((tx) => {
    const told = { id, owner, view: { id, note } };
    return emit(tx, { at: Date.now() }, "withdrawal.updated", told);
  });
  await publishEvents(realm.pool, Date.now);
  return id;
}

test("a customer reads its own events alone, whatever it filters by and from wherever it begins", async (realm) => {
  const [mine, other] = [await realm.user(), await realm.user()];
  equal((await realm.admin.send("GET", "/v1/events/all")).status, 200);
  const first = randomId(Date.now() - 60_000);
  const theirs = await tell(realm, other.id, "theirs");
  await tell(realm, null, "the realm's");
  const own = await tell(realm, mine.id, "own");
  const [{ id: known }] = (await realm.admin.send("GET", `/v1/events/all?entity=${theirs}`)).body;
  for (
    const [query, expected] of [
      [`after=${first}`, ["own"]],
      [`after=${known}`, ["own"]],
      [`after=${theirs}`, ["own"]],
      [`after=${first}&entity=${theirs}`, []],
      [`after=${first}&entity=${own}`, ["own"]],
      [`after=${first}&entity=${other.id}`, []],
      [`after=${first}&type=withdrawal.updated&type=stop.set`, ["own"]],
      [`after=${first}&type=stop.set`, []],
      [`after=00000000-0000-7000-8000-000000000000`, ["own"]],
    ] as const
  ) {
    const { body, text } = await mine.send("GET", `/v1/events/all?${query}`);
    deepEqual(body.map((one: { data: { note: string } }) => one.data.note), expected, query);
    ok(!text.includes(other.id), query);
    await using stream = await openStream(realm, mine, `/v1/events?${query}`);
    equal(stream.status, 200);
    await until(() => notesOf(stream).length === expected.length && stream.blocks.length > 0);
    deepEqual(notesOf(stream), expected, query);
  }
  for (
    const query of ["owner=x", "scope=all", `viewer=${other.id}`, "entity=a&entity=b", "limit=1001"]
  ) {
    equal((await mine.send("GET", `/v1/events/all?${query}`)).status, 400, query);
  }
});

test("neither the application's key nor the operator's, nor none, reads events", async (realm) => {
  for (const path of ["/v1/events", "/v1/events/all"]) {
    for (const send of [realm.operator, realm.nobody]) {
      const { status } = await send("GET", path);
      ok(status === 401 || status === 403, `${status} ${path}`);
    }
  }
});

test("a machine key with the scope own reads its user's own events alone, until it is revoked", async (realm) => {
  const made = await realm.admin.send("POST", "/v1/keys", { name: "narrow", scopes: "own" });
  equal(made.status, 201, made.text);
  const { key, id } = made.body;
  await using stream = await openStream(realm, { key });
  await until(() => stream.blocks.length > 0);
  await tell(realm, null, "the realm's");
  await tell(realm, realm.admin.id, "own");
  await until(() => notesOf(stream).length === 1);
  deepEqual(notesOf(stream), ["own"]);
  equal((await realm.admin.send("DELETE", `/v1/keys/${id}`)).status, 200);
  await until(() => stream.ended);
  equal((await openStream(realm, { key })).status, 401);
});

test("a stream ends with the login that opened it: expired, its user's rights changed, or the user deactivated", async (realm) => {
  const { services } = realm;
  const change = async (user: TestUser, body: unknown) => {
    const changed = await realm.admin.send("PATCH", `/v1/users/${user.id}`, body);
    equal(changed.status, 200, changed.text);
  };
  const ways: ((user: TestUser) => Promise<void>)[] = [
    (user) => change(user, { active: false }),
    (user) => change(user, { roles: "user", scopes: "own" }),
    async (user) => void await realm.admin.send("DELETE", `/v1/users/${user.id}`),
  ];
  for (const [n, end] of ways.entries()) {
    const user = await realm.user({ role: "manage", scope: "realm" });
    await using stream = await openStream(realm, user);
    await until(() => stream.blocks.length > 0);
    await tell(realm, null, "before");
    await until(() => notesOf(stream).length === 1);
    await end(user);
    await tell(realm, null, "after");
    await until(() => stream.ended);
    deepEqual(notesOf(stream).filter((note) => note === "after"), [], `${n}`);
  }
  const key = await services.signingKeys.sign(
    claimsOf(realm.made.admin, realm.made.realm, Date.now(), 300),
  );
  const { now } = services;
  let aheadMs = 0;
  services.now = () => now() + aheadMs;
  await using stream = await openStream(realm, { key });
  services.now = now;
  equal(stream.status, 200);
  await until(() => stream.blocks.length > 0);
  aheadMs = 301_000;
  await until(() => stream.ended);
});
