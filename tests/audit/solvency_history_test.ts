import { deepEqual, equal, rejects } from "node:assert/strict";
import { deleteOldSamples, insertSolvencySample } from "../../db/audit/solvency_samples.ts";
import { add } from "../../domain/money.ts";
import type { TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("solvency over time in one realm");
const MINUTE = 60_000;

interface Point {
  checked_at: number;
  drift: string;
  assets: string;
}

/** Keeps a comparison. */
async function sample(realm: TestRealm, asset: string, at: number, drift: string, more = {}) {
  await realm.command((tx) =>
    insertSolvencySample(tx, {
      ...{ asset, testnet: false, height: 7, position: null, ramps: [] },
      ...{ stopped: false, provisional: false },
      ...{ pending: "0", sending: "0", fees: "0", liabilities: "5", solvent: true },
      ...{ assets: add("5", drift), drift, checked_at: at },
      ...more,
    })
  );
}

test("GET /v1/solvency/history answers the last comparison until each moment, and none twice", async (realm) => {
  const end = Date.now() - 1000;
  const drifts = ["0", "-1.000000000000000001", "0.5", "0", "2"];
  for (const [i, drift] of drifts.entries()) {
    await sample(realm, "ETH", end - (4 - i) * MINUTE, drift);
  }
  await sample(realm, "ETH", end, "3", { testnet: true });
  const get = async (query: string): Promise<Point[]> => {
    const answer = await realm.admin.send("GET", `/v1/solvency/history?asset=${query}`);
    equal(answer.status, 200, answer.text);
    return answer.body.points;
  };
  const range = `from=${end - 4 * MINUTE}&to=${end}`;
  const each = await get(`ETH&${range}&points=5`);
  deepEqual(each.map(({ drift }) => drift), drifts);
  deepEqual(each.map(({ checked_at }) => checked_at), [4, 3, 2, 1, 0].map((i) => end - i * MINUTE));
  equal(each[1].assets, "3.999999999999999999");
  deepEqual(await get(`ETH&${range}&points=500`), each);
  deepEqual((await get(`ETH&${range}&points=3`)).map(({ drift }) => drift), ["0", "0.5", "2"]);
  deepEqual((await get("ETH")).at(-1), each[4]);
  const later = await get(`ETH&from=${end - MINUTE + 1}&to=${end}&points=2`);
  deepEqual(later.map(({ drift }) => drift), ["2"], "nothing from before the range");
  deepEqual((await get(`ETH&testnet=true&${range}&points=2`)).map(({ drift }) => drift), ["3"]);
  deepEqual(await get(`BTC&${range}`), []);
  const neighbour = await realm.neighbour();
  const theirs = await neighbour.admin.send("GET", `/v1/solvency/history?asset=ETH&${range}`);
  deepEqual(theirs.body.points, []);
});

test("solvency over time is for administrators of the realm, and refuses what is no range", async (realm) => {
  const path = "/v1/solvency/history?asset=ETH";
  for (
    const [role, scope, code] of [
      ["user", "realm", "permission.role"],
      ["manage", "realm", "permission.role"],
      ["admin", "own", "permission.scope"],
    ] as const
  ) equal((await (await realm.user({ role, scope })).send("GET", path)).body.code, code);
  for (
    const query of [
      ...["", "asset=ETH&from=2&to=1", "asset=ETH&points=1", "asset=ETH&points=501"],
      `asset=ETH&from=${Date.now() + 60_000}`,
    ]
  ) {
    const { body } = await realm.admin.send("GET", `/v1/solvency/history?${query}`);
    equal(body.code, "query.invalid", query);
  }
});

test("comparisons are kept for 30 days, one of each hour for two years, and never changed", async (realm) => {
  const now = Date.now();
  const hour = (days: number) => Math.floor((now - days * 86_400_000) / 3_600_000) * 3_600_000;
  for (const days of [800, 700, 31, 29]) {
    await sample(realm, "LTC", hour(days), `${days}`);
    for (const drift of ["0", "9"]) {
      await sample(realm, "LTC", hour(days) + MINUTE, drift);
    }
  }
  let gone = 0;
  for (let some = 1; some > 0; gone += some) {
    some = await realm.command((tx) => deleteOldSamples(tx, 2));
  }
  equal(gone, 4);
  const drifts: string[] = [];
  for (const days of [800, 700, 31, 29]) {
    const range = `from=${hour(days)}&to=${hour(days) + MINUTE}&points=2`;
    const { points } =
      (await realm.admin.send("GET", `/v1/solvency/history?asset=LTC&${range}`)).body;
    drifts.push(...points.map(({ drift }: Point) => drift));
  }
  deepEqual(drifts, ["700", "31", "29", "0"]);
  for (const table of ["solvency_samples", "chain_samples"]) {
    const changed = realm.command((tx) => tx.unsafe(`update ${table} set hourly = false`));
    await rejects(changed, /permission denied/);
  }
});

test("the database refuses figures of a comparison that do not add up", async (realm) => {
  const now = Date.now();
  await rejects(sample(realm, "LTC", now, "1", { assets: "9" }), { code: "23514" });
});
