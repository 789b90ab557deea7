/** Reads of many profiles, each of which may hold hundreds of kilobytes, leave time for others. */
import { deepEqual, equal } from "node:assert/strict";
import { listing } from "../../routes/http/concurrency_limit.ts";
import { testRealm } from "../support/realm.ts";

Deno.test("long lists of profiles, identities shown with theirs and exports of a person take their turn among long lists", async () => {
  await using realm = await testRealm();
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const { send } = realm.admin;
  let identity = "";
  for (let i = 0; i < 21; i++) {
    const made = await send("POST", "/v1/identities/person", { person: { firstName: `P${i}` } });
    equal(made.status, 201, made.text);
    identity = made.body.id;
  }
  const over = Promise.withResolvers<void>();
  const all = [1, 2].map((i) => listing(pool, () => over.promise, { user: `${i}` }));
  let ended = 0;
  const long = [
    "identities/persons?limit=21",
    "identities/companies?limit=1000",
    "identities?populate=person&pageSize=22",
    "identities/all?populate=person&limit=25",
    `identities/${identity}/person/export`,
  ].map(async (path) => {
    const { status, text } = await send("GET", `/v1/${path}`);
    ended++;
    return status === 200 ? status : text;
  });
  for (
    const path of [
      "identities/persons?limit=20",
      "identities?populate=person&pageSize=20",
      `identities/${identity}?populate=person`,
      `identities/${identity}/person`,
    ]
  ) equal((await send("GET", `/v1/${path}`)).status, 200, path);
  equal(ended, 0);
  over.resolve();
  await Promise.all(all);
  deepEqual(await Promise.all(long), Array(5).fill(200));
});
