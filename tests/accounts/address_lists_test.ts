/** Lists of addresses, each of which may come with a free-form object of 64 KiB. */
import { deepEqual, equal } from "node:assert/strict";
import { openRampFixture } from "../support/ramp_fixture.ts";

Deno.test("a list of addresses is read in parts, and refused where it is too large for an answer", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const path = `/v1/account/${ramp.id}/address`;
  const data = { text: "x".repeat(64_000) };
  const made: string[] = [];
  for (let i = 0; i < 132; i++) {
    const answer = await realm.admin.send("POST", path, { data });
    equal(answer.status, 201, answer.text);
    made.push(answer.body.address.address);
  }
  const whole = await realm.admin.send("GET", path);
  deepEqual([whole.status, whole.body.code], [400, "query.invalid"]);
  const first = await realm.admin.send("GET", `${path}?limit=100`);
  equal(first.status, 200);
  const after = first.body.at(-1).id;
  const rest = await realm.admin.send("GET", `${path}?limit=100&after=${after}`);
  const listed = [...first.body, ...rest.body].map(({ address }) => address);
  deepEqual(listed.slice(-132), made, "behind the ramp's own");
});

Deno.test("more addresses than are read at once are listed in their order, each once", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const path = `/v1/account/${ramp.id}/address`;
  for (let i = 0; i < 205; i++) equal((await realm.admin.send("POST", path, {})).status, 201);
  const all = (await realm.admin.send("GET", path)).body.map(({ id }: { id: string }) => id);
  equal(all.length, 206);
  deepEqual(all, [...new Set(all)].toSorted());
  const some = (await realm.admin.send("GET", `${path}?limit=203`)).body;
  deepEqual(some.map(({ id }: { id: string }) => id), all.slice(0, 203));
});
