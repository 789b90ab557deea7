import { deepEqual, equal, ok } from "node:assert/strict";
import { mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { openTestPoller } from "../support/scan_steps.ts";

const ETHER = 10n ** 18n;

Deno.test("GET /v1/stats/deposits counts by status and tells how long credit and forward took", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: deposit.address, value: ETHER });
  await mineUntil(fixture, async () => {
    const done = await rowsOf(realm, "select id from sweeps where state = 'done'");
    return done.length === 1;
  });
  await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine();
  const read = async (query: string) => {
    const answer = await realm.admin.send("GET", `/v1/stats/deposits?${query}`);
    equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const { rows } = (await realm.admin.send("GET", "/v1/deposits?scope=all")).body;
  const all = await read("testnet=true");
  equal(all.count, rows.length);
  const { PENDING, CONFIRMED, ORPHANED } = all.statuses;
  deepEqual([PENDING + CONFIRMED, ORPHANED], [rows.length, 0]);
  deepEqual(all.forwards, { DONE: 1 });
  const [confirmed, forwarded, total] = all.steps;
  deepEqual([confirmed.step, forwarded.step, total.step], ["confirmed", "forwarded", "total"]);
  deepEqual([confirmed.count, forwarded.count, total.count], [CONFIRMED, 1, 1]);
  ok(total.max > 0 && total.max <= confirmed.max + forwarded.max + 1);
  equal((await read("testnet=true&asset=ETH")).count, rows.length);
  equal((await read("testnet=true&asset=BTC")).count, 0);
  equal((await read("testnet=false")).count, 0);
  const { created_at } = rows.find((row: { forward: unknown }) => row.forward !== null);
  equal((await read(`testnet=true&from=${created_at}&to=${created_at}`)).count, 1);
});

Deno.test("a deposit is found by the time it shows, whatever the clock of the process that saw it", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  using poller = openTestPoller(realm, () => Date.now() - 600_000);
  const ramp = await fixture.ramp();
  for (const height of [1, 2]) {
    await anvil.pool({ to: ramp.address, value: BigInt(height) * ETHER });
    await anvil.mine(1);
    await poller.follow();
  }
  const list = async (query: string) =>
    (await realm.admin.send("GET", `/v1/deposits?scope=all&${query}`)).body.rows;
  const rows = await list("sort=created_at");
  equal(rows.length, 2);
  for (const { id, created_at } of rows) {
    const found = await list(`query=${encodeURIComponent(JSON.stringify({ created_at }))}`);
    ok(found.some((row: { id: string }) => row.id === id));
    ok(found.every((row: { created_at: number }) => row.created_at === created_at));
    const range = `testnet=true&from=${created_at}&to=${created_at}`;
    equal((await realm.admin.send("GET", `/v1/stats/deposits?${range}`)).body.count, found.length);
  }
});
