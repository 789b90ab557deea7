import { deepEqual, equal, ok } from "node:assert/strict";
import { openFundedRamp } from "../support/evm_fixture.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";

const HOUR = 3_600_000;

interface Step {
  step: string;
  count: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

async function read(realm: TestRealm, query = "") {
  const answer = await realm.admin.send("GET", `/v1/stats/withdrawals?${query}`);
  equal(answer.status, 200, answer.text);
  return answer.body;
}

/** Stores withdrawals in one statement: each a second older than the one before, with the texts of SQL that see `n`. */
async function store(
  realm: TestRealm,
  of: {
    count: number;
    at: number;
    status?: string;
    network?: string;
    asset?: string;
    events?: string;
  },
): Promise<void> {
  const { count, at, status = "'PROCESSING'", network = "main", asset = "ETH", events = "''" } = of;
  const account = crypto.randomUUID();
  await tamper(
    realm,
    `insert into withdrawals (id, account, ramp, chain, network, sender, destination, asset, value, amount, fee, charged,
      paid_by, speed, order_id, block, status, history, created_at)
    select (lpad(to_hex(m.ms), 12, '0') || '7000a' || right(gen_random_uuid()::text, 12) || '000')::uuid, '${account}', '${account}', 'ETHEREUM', '${network}', 'x', 'y',
      '${asset}', 1, 1, 0, 1, 'sender', 'slow', gen_random_uuid(), gen_random_uuid(), ${status}, (select jsonb_agg(jsonb_build_object('event',
        split_part(e, ' ', 1), 'at', m.ms + split_part(e, ' ', 2)::bigint)) from unnest(string_to_array('created 0' || ${events}, ',')) e),
      ms_time(m.ms)
    from generate_series(1, ${count}) n, lateral (select ${at}::bigint - n * 1000 as ms) m`,
  );
}

Deno.test("GET /v1/stats/withdrawals counts by status and tells the percentiles of each step", async () => {
  await using realm = await testRealm();
  const at = Date.now() - HOUR;
  // Times of 1 to 100 seconds in each step; the second broadcast and the first block of one that lost it are no ends.
  const events =
    "',sent ' || n * 1000 || ',replaced ' || n * 1000 + 1 || ',mined ' || n * 1000 + 2 " +
    "|| ',mined ' || n * 3000 || ',done ' || n * 6000";
  await store(realm, { count: 100, at, status: "'DONE'", events });
  await store(realm, { count: 3, at, events: "',sent 500'" });
  await store(realm, { count: 2, at, status: "'FAILED'" });
  await store(realm, { count: 1, at, status: "'CANCELED'", asset: "LTC" });
  await store(realm, { count: 5, at, status: "'DONE'", network: "testnet", events });
  const all = await read(realm);
  deepEqual(all.statuses, { PROCESSING: 3, DONE: 100, FAILED: 2, CANCELED: 1 });
  deepEqual([all.count, all.complete, all.counted_from, all.asset], [106, true, all.from, null]);
  deepEqual(all.steps, [
    { step: "sent", count: 103, p50: 49_000, p90: 90_000, p99: 99_000, max: 100_000 },
    { step: "mined", count: 100, p50: 100_000, p90: 180_000, p99: 198_000, max: 200_000 },
    { step: "done", count: 100, p50: 150_000, p90: 270_000, p99: 297_000, max: 300_000 },
    { step: "total", count: 100, p50: 300_000, p90: 540_000, p99: 594_000, max: 600_000 },
  ]);
  const litecoin = await read(realm, "asset=LTC");
  deepEqual([litecoin.count, litecoin.statuses.CANCELED, litecoin.steps], [1, 1, []]);
  deepEqual((await read(realm, "testnet=true")).statuses.DONE, 5);
  const until = at - 10_000;
  equal((await read(realm, `from=${at - 20_000}&to=${until}`)).count, 11, "both ends included");
  deepEqual((await read(realm, `to=${at - HOUR}`)).steps, []);
  const neighbour = await realm.neighbour();
  deepEqual((await read(neighbour)).count, 0);
});

Deno.test("of more withdrawals than an answer reads the newest are counted, and it says from when", async () => {
  await using realm = await testRealm();
  const at = Date.now() - HOUR;
  await store(realm, { count: 20_000, at });
  const range = `from=${at - 30_000_000}&to=${at}`;
  deepEqual((await read(realm, range)).complete, true);
  await store(realm, { count: 1, at: at - 20_000_000 });
  const some = await read(realm, range);
  deepEqual([some.complete, some.count, some.counted_from], [false, 20_000, at - 20_000_000]);
  await store(realm, { count: 5, at: at + HOUR, network: "testnet" });
  equal(
    (await read(realm, `from=${at - 30_000_000}`)).count,
    19_995,
    "what is read is bounded, whatever it is",
  );
});

Deno.test("a withdrawal that was sped up, mined and done has every step once", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
  await funded.advance();
  equal(
    (await realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" })).status,
    200,
  );
  await funded.advance();
  equal((await funded.finish(id)).status, "DONE");
  const { body: { id: other } } = await funded.withdraw("1");
  equal((await realm.admin.send("POST", `/v1/withdrawals/${other}/cancel`)).status, 200);
  const { statuses, steps } = await read(realm);
  deepEqual(statuses, { PROCESSING: 0, DONE: 1, FAILED: 0, CANCELED: 1 });
  deepEqual(steps.map(({ step, count }: Step) => [step, count]), [
    ["sent", 1],
    ["mined", 1],
    ["done", 1],
    ["total", 1],
  ]);
  const [sent, mined, done, total] = steps.map(({ p50 }: Step) => p50);
  equal(sent + mined + done, total);
  ok(total > 0);
  equal((await read(realm, "testnet=true")).count, 0);
});
