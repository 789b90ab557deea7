import { deepEqual, equal, ok } from "node:assert/strict";
import { deleteOldChainSamples, insertChainSamples } from "../../db/chains/chain_samples.ts";
import { insertCursor, updateScanState, updateWarning } from "../../db/chains/cursors.ts";
import type { TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("chains over time in one realm");
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Point {
  sampled_at: number;
  height: number;
  scanned: number;
  lag: number;
  scanned_at: number;
  healthy: boolean;
}

/** Begins to scan a network. */
const begin = (realm: TestRealm, chain: string, network: string, at: number) =>
  realm.command((tx) => insertCursor(tx, { chain, network, height: 100, hash: "h", at }));
const sample = (realm: TestRealm, at: number) => realm.command((tx) => insertChainSamples(tx, at));

async function read(realm: TestRealm, query: string, send = realm.admin.send): Promise<Point[]> {
  const answer = await send("GET", `/v1/chains/history?chain=${query}`);
  equal(answer.status, 200, answer.text);
  return answer.body.points;
}

test("GET /v1/chains/history answers the last sample until each moment, and none twice", async (realm) => {
  const end = Date.now() - 1000;
  const place = { chain: "ETHEREUM", network: "main" };
  await begin(realm, "ETHEREUM", "main", end - 10 * MINUTE);
  const heads = [100, 103, 103, 190];
  for (const [i, head] of heads.entries()) {
    const at = end - (3 - i) * MINUTE;
    const state = { head, finalized: null, error: i === 2 ? "no node answers" : null, at };
    await realm.command((tx) => updateScanState(tx, place, state));
    await realm.command((tx) => updateWarning(tx, place, i === 3 ? "nodes differ" : null));
    await sample(realm, at);
  }
  const range = `from=${end - 3 * MINUTE}&to=${end}`;
  const each = await read(realm, `ETHEREUM&${range}&points=4`);
  deepEqual(each.map(({ height, scanned, lag }) => [height, scanned, lag]), [
    [100, 100, 0],
    [103, 100, 3],
    [103, 100, 3],
    [190, 100, 90],
  ]);
  deepEqual(each.map(({ healthy }) => healthy), [true, true, false, false]);
  deepEqual(each.map(({ scanned_at }) => (end - scanned_at) / MINUTE), [3, 2, 2, 0]);
  deepEqual(each.map(({ sampled_at }) => (end - sampled_at) / MINUTE), [3, 2, 1, 0]);
  deepEqual(await read(realm, `ETHEREUM&${range}&points=500`), each);
  deepEqual(await read(realm, `ETHEREUM&from=${end - 1}&to=${end}&points=2`), [each[3]]);
  deepEqual((await read(realm, "ETHEREUM")).at(-1), each[3]);
  deepEqual(await read(realm, `ETHEREUM&testnet=true&${range}`), []);
  deepEqual(await read(realm, `BITCOIN&${range}`), []);
  const user = await realm.user();
  deepEqual(await read(realm, `ETHEREUM&${range}&points=4`, user.send), each);
  deepEqual(await read(await realm.neighbour(), `ETHEREUM&${range}`), []);
  for (
    const query of [
      ...["", "chain=GOLD", "chain=ETHEREUM&from=2&to=1", "chain=ETHEREUM&points=501"],
      ...["chain=ETHEREUM&from=NaN", `chain=ETHEREUM&from=${Date.now() + HOUR}`],
    ]
  ) {
    const { body } = await realm.admin.send("GET", `/v1/chains/history?${query}`);
    equal(body.code, "query.invalid", query);
  }
});

test("samples of chains are kept for 30 days, one of each hour for two years", async (realm) => {
  await begin(realm, "LITECOIN", "main", Date.now());
  const hour = (days: number) => Math.floor((Date.now() - days * DAY) / HOUR) * HOUR;
  const first = [hour(800), hour(700), hour(31), hour(29)];
  for (const at of first) {
    for (const minute of [3, 1, 2, 1]) await sample(realm, at + minute * MINUTE);
  }
  let gone = 0;
  for (let some = 1; some > 0; gone += some) {
    some = await realm.command((tx) => deleteOldChainSamples(tx, 2));
  }
  ok(gone >= 3 + 2 + 2);
  const points = (at: number) => `LITECOIN&from=${at}&to=${at + HOUR}&points=61`;
  const kept = await Promise.all(
    first.map(async (at) =>
      (await read(realm, points(at))).map(({ sampled_at }) => (sampled_at - at) / MINUTE)
    ),
  );
  deepEqual(kept, [[], [3], [3], [1, 2, 3]]);
});
