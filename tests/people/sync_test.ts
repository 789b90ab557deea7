import { deepEqual, equal, match, ok } from "node:assert/strict";
import { listenUntil } from "../../db/events.ts";
import type { People } from "../../domain/people/people.ts";
import type { PeopleProvider } from "../../domain/people/provider.ts";
import { endLost, syncPersons } from "../../workers/people/sync.ts";
import { type Answer, rowsOf, type TestRealm } from "../support/realm.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { sharing } from "../support/sharing.ts";

const codeOf = ({ status, body }: Answer) => [status, body.code];
const SYNC = "/v1/identities/persons/sync";

interface Counts {
  state: string;
  read: string;
  linked: string;
  completed: string;
  created: string;
}

async function lastSync(realm: TestRealm): Promise<Counts> {
  const [row] = await rowsOf<Counts>(
    realm,
    "select state, read, linked, completed, created from person_syncs order by id desc limit 1",
  );
  return row;
}

/** A person that no identity has. */
async function orphan(realm: TestRealm, lastName: string): Promise<string> {
  const made = await realm.admin.send("POST", "/v1/identities/person", { person: { lastName } });
  const path = `/v1/identities/${made.body.id}/person/unassign`;
  equal((await realm.admin.send("PATCH", path)).status, 200);
  return made.body.person.id;
}

const test = sharing("synchronisations in one realm");

test("a synchronisation gives each person an identity, and runs once at a time", async (realm) => {
  await realm.command((tx) => listenUntil(tx, Date.now() + 3_600_000));
  const persons = [await orphan(realm, "One"), await orphan(realm, "Two")];
  const started = await realm.admin.send("POST", SYNC, { country: "HR", currency: "EUR" });
  equal(started.status, 202, started.text);
  const { id, ...data } = started.body.data;
  match(id, /^[0-9a-f-]{36}$/);
  deepEqual(
    { ...started.body, data },
    {
      name: "EventStarted",
      message: started.body.message,
      code: 200,
      type: "persons.sync.started",
      data: {
        ...{ country: "HR", currency: "EUR", limit: null, page: null },
        owner: realm.admin.id,
      },
    },
  );
  deepEqual(codeOf(await realm.admin.send("POST", SYNC, {})), [409, "sync.running"]);
  await realm.drain();
  deepEqual(await lastSync(realm), {
    ...{ state: "done", linked: "0", completed: "0", created: "2" },
    read: `${3 * persons.length}`,
  });
  for (const person of persons) {
    const query = JSON.stringify({ person });
    const [identity] = (await realm.admin.send("GET", `/v1/identities/all?query=${query}`)).body;
    deepEqual([identity.country, identity.currency, identity.type], ["HR", "EUR", "person"]);
    const shown = await realm.admin.send("GET", `/v1/identities/${identity.id}/person`);
    equal(shown.body.person.externalId, identity.id);
  }
  const [event] = await rowsOf<{ payload: Record<string, unknown> }>(
    realm,
    "select payload from events where type = 'persons.sync.finished'",
  );
  deepEqual([event.payload.id, event.payload.created], [id, 2]);
  const mails = (await realm.admin.send("GET", "/v1/messages/all")).body;
  deepEqual(
    mails.map((mail: Record<string, unknown>) => [mail.channel, mail.destination, mail.user]),
    [["email", "admin@test.example", realm.admin.id]],
  );
});

/** A platform of small pages that fails at every second request of a kind. */
function unsteady(people: PeopleProvider): People {
  function failing<A extends unknown[], R>(work: (...args: A) => Promise<R>) {
    let calls = 0;
    return (...args: A) =>
      calls++ % 2 === 0 ? Promise.reject(new Error("the process stops")) : work(...args);
  }
  const { batch, linkMany } = people.persons;
  const persons = {
    ...people.persons,
    batch: failing((actor, query) => batch(actor, { ...query, limit: 2 })) as typeof batch,
    linkMany: failing(linkMany),
  };
  return { of: () => Promise.resolve({ ...people, persons }) };
}

test("a synchronisation that stops in any step goes on where it stopped", async (realm) => {
  const before = (await realm.admin.send("GET", "/v1/identities/count")).body;
  for (const name of ["A", "B", "C"]) await orphan(realm, name);
  const known: { id: string; person: { id: string } }[] = [];
  for (const name of ["D", "E"]) {
    const person = { lastName: name };
    known.push((await realm.admin.send("POST", "/v1/identities/person", { person })).body);
  }
  await realm.command(async (tx) => {
    await tx`update identities set person = null where id = ${known[0].id}`;
    await tx`update persons set external_id = null where id = ${known[1].person.id}`;
  });
  equal((await realm.admin.send("POST", SYNC, {})).status, 202);
  const [{ id: sync }] = await rowsOf<{ id: string }>(
    realm,
    "select id from person_syncs where state = 'running'",
  );
  const people = unsteady((await realm.services.people.of(realm.id))!);
  const context = { ...await workerContextOf(realm), people };
  let stops = 0;
  while (stops < 60 && (await lastSync(realm)).state === "running") {
    await syncPersons(context, { sync }).catch((error) => {
      match(error.message, /the process stops/);
      stops++;
    });
  }
  context.chains.close();
  const total = (await realm.admin.send("GET", "/v1/identities/persons?limit=100")).body.length;
  ok(stops > 6, `it stopped ${stops} times`);
  deepEqual(await lastSync(realm), {
    ...{ state: "done", linked: "1", completed: "1", created: "3" },
    read: `${3 * total}`,
  });
  // The orphans had identities before, which stay without a person.
  equal((await realm.admin.send("GET", "/v1/identities/count")).body, before + 3 + 2 + 3);
  const shown = await realm.admin.send("GET", `/v1/identities/${known[0].id}?populate=person`);
  deepEqual(shown.body.person.id, known[0].person.id);
  const named = await realm.admin.send("GET", `/v1/identities/${known[1].id}/person`);
  equal(named.body.person.externalId, known[1].id);
});

test("a synchronisation takes a user with write permission for the realm", async (realm) => {
  const own = await realm.user({ role: "admin", scope: "own" });
  deepEqual(codeOf(await own.send("POST", SYNC, {})), [403, "permission.scope"]);
  const reader = await realm.user({ role: "user", scope: "realm" });
  deepEqual(codeOf(await reader.send("POST", SYNC, {})), [403, "permission.role"]);
  for (const body of [{ country: "XX" }, { limit: 1001 }, { page: 0 }, { zone: 1 }]) {
    equal((await realm.admin.send("POST", SYNC, body)).status, 400, JSON.stringify(body));
  }
});

test("a synchronisation is shown while it runs, and as failed when its job has failed for good", async (realm) => {
  await orphan(realm, "Shown");
  const filter = { lastName: "Shown" };
  const started = await realm.admin.send("POST", SYNC, { filter });
  equal(started.status, 202, started.text);
  ok(!started.text.includes("Shown"));
  const shown = async () => (await realm.admin.send("GET", SYNC)).body[0];
  const { id } = started.body.data;
  deepEqual([(await shown()).id, (await shown()).state, (await shown()).step], [id, "running", 1]);
  const dead = "update jobs set state = 'dead', finished_at = now() where name = 'persons.sync'";
  await realm.command((tx) => tx.unsafe(`${dead} and state = 'ready'`));
  const lost = await shown();
  deepEqual([lost.state, lost.error.code], ["failed", "internal"]);
  const context = await workerContextOf(realm);
  await endLost(context);
  context.chains.close();
  const ended = await shown();
  deepEqual([ended.id, ended.state, ended.error.code], [id, "failed", "internal"]);
  ok(ended.finished_at !== null);
  const kept = await rowsOf<{ parameters: { filter: unknown } }>(
    realm,
    `select parameters from person_syncs where id = '${id}'`,
  );
  equal(kept[0].parameters.filter, null, "a filter may hold personal data");
  equal((await realm.admin.send("POST", SYNC, { filter })).status, 202);
  await realm.drain();
  deepEqual([(await shown()).state, (await shown()).created], ["done", 1]);
  const own = await realm.user({ role: "admin", scope: "own" });
  deepEqual(codeOf(await own.send("GET", SYNC)), [403, "permission.scope"]);
});

test("a part of a synchronisation that two workers do counts once", async (realm) => {
  for (const name of ["X", "Y", "Z"]) await orphan(realm, name);
  const before = await realm.admin.send("GET", "/v1/identities/count?scope=all");
  equal((await realm.admin.send("POST", SYNC, {})).status, 202);
  const [{ id: sync }] = await rowsOf<{ id: string }>(
    realm,
    "select id from person_syncs where state = 'running'",
  );
  const context = await workerContextOf(realm);
  const people = { of: () => realm.services.people.of(realm.id) };
  await Promise.all([1, 2, 3].map(() => syncPersons({ ...context, people }, { sync })));
  context.chains.close();
  const total = (await realm.admin.send("GET", "/v1/identities/persons?limit=1000")).body.length;
  const { state, read, created } = await lastSync(realm);
  deepEqual([state, read, created], ["done", `${3 * total}`, "3"]);
  const after = await realm.admin.send("GET", "/v1/identities/count?scope=all");
  equal(after.body, before.body + 3);
});
