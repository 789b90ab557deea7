import { deepEqual, equal, ok } from "node:assert/strict";
import { etaOf } from "../../domain/deposits/deposit_progress.ts";
import { compactRowCounts } from "../../db/collections/collection.ts";
import { reading } from "../../db/transaction.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { rich } from "../support/nodes/anvil.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;

/** Finds deposits that match a query. */
async function found({ realm }: RampFixture, query: unknown) {
  const text = encodeURIComponent(JSON.stringify(query));
  const answer = await realm.admin.send("GET", `/v1/deposits/all?query=${text}`);
  equal(answer.status, 200, answer.text);
  return answer.body;
}

/** Compares what lists count of all rows, and of a user's own, with the rows. */
async function compareCounts({ realm }: RampFixture, note: string) {
  for (const name of ["deposits", "withdrawals"]) {
    for (const scope of ["all", "own"]) {
      const list = await realm.admin.send("GET", `/v1/${name}?scope=${scope}`);
      const count = await realm.admin.send("GET", `/v1/${name}/count?scope=${scope}`);
      const rows = await realm.admin.send("GET", `/v1/${name}/all?scope=${scope}`);
      const counts = [list.body.total, count.body];
      deepEqual(counts, [rows.body.length, rows.body.length], `${name} ${scope} ${note}`);
    }
  }
}

Deno.test("deposits name the account that they serve, what they need and how long that takes", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  const at = { type: "virtual", asset: "ETH", testnet: true };
  const target = (await send("POST", "/v1/accounts", { ...at, ramp: ramp.id })).body.id;
  const linked = (await send("POST", "/v1/accounts", at)).body.id;
  await realm.drain();
  const { id: account, address } = await fixture.address(target);
  const outside = rich(3).address;
  equal((await send("POST", `/v1/accounts/${linked}/assign/${outside}`)).status, 200);
  await fixture.mine(2);
  for (const to of [address, ramp.address, outside]) await anvil.pool({ to, value: ETHER });
  await fixture.mine();
  const [served] = await found(fixture, { beneficiary: target });
  deepEqual(
    [served.account, served.beneficiary, served.status, served.confirmations, served.needs],
    [account, target, "PENDING", 1, 2],
  );
  equal(served.eta_s, 12); // one block
  equal((await found(fixture, { beneficiary: linked })).length, 1);
  deepEqual(
    (await found(fixture, { beneficiary: null })).map((one: { account: string }) => one.account),
    [ramp.id],
  );
  deepEqual(await found(fixture, { beneficiary: account }), []);
  // Nobody can say when a deposit is credited that waits for more than blocks.
  await rowsOf(fixture.realm, `update deposits set held = 'unknown' where id = '${served.id}'`);
  const [held] = await found(fixture, { beneficiary: target });
  deepEqual([held.eta_s, held.error.code], [null, "chain.quarantined"]);
  const ids = (rows: { id: string }[]) => rows.map(({ id }) => id);
  const faulty = [{ error: { $exists: true } }, { error: { $ne: null } }, {
    "error.code": "chain.quarantined",
  }];
  for (const query of faulty) deepEqual(ids(await found(fixture, query)), [served.id]);
  equal((await found(fixture, { error: null })).length, 2);
  await rowsOf(fixture.realm, "update deposits set held = null");
  await fixture.mine(2);
  const [done] = await found(fixture, { beneficiary: target });
  deepEqual([done.status, done.eta_s, done.needs], ["CONFIRMED", null, 2]);
  // Another user neither sees nor finds it.
  const stranger = await realm.user();
  const query = encodeURIComponent(JSON.stringify({ beneficiary: target }));
  deepEqual((await stranger.send("GET", `/v1/deposits/all?query=${query}`)).body, []);
});

Deno.test("nobody writes another beneficiary into a deposit", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine();
  const other = (await realm.admin.send("POST", "/v1/accounts", {
    ...{ type: "virtual", asset: "ETH", testnet: true },
  })).body.id;
  await rowsOf(realm, `update deposits set beneficiary = '${other}'`);
  deepEqual(await rowsOf(realm, "select beneficiary from deposits"), [{ beneficiary: null }]);
});

Deno.test("totals of deposits and withdrawals are exact, after one is deleted or gets another owner", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  await compareCounts(fixture, "without any");
  for (let i = 0; i < 3; i++) await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine(2);
  await compareCounts(fixture, "with deposits");
  const asked = { source: { account: ramp.id }, destination: { address: OUTSIDE }, value: "0.5" };
  for (let i = 0; i < 2; i++) {
    equal((await realm.admin.send("POST", "/v1/withdrawals", asked)).status, 201);
  }
  await compareCounts(fixture, "with withdrawals");
  await reading(realm.pool, compactRowCounts);
  await compareCounts(fixture, "summed up");
  await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine();
  const [gone, moved] = await rowsOf<{ id: string }>(
    realm,
    "select id from deposits order by status = 'PENDING' desc, id",
  );
  await rowsOf(realm, `delete from deposits where id = '${gone.id}'`);
  await compareCounts(fixture, "with one deleted");
  const { id } = await realm.user();
  await rowsOf(realm, `update deposits set owner = '${id}' where id = '${moved.id}'`);
  await compareCounts(fixture, "with another owner");
  await rowsOf(realm, `update deposits set owner = null where id = '${moved.id}'`);
  await compareCounts(fixture, "without an owner");
});

Deno.test("the time until a deposit is credited is told where the chain's pace decides, and nowhere else", () => {
  const row = { id: "", chain: "BITCOIN", network: "main", block: 100, matures_at: null } as const;
  const waits = { ...row, status: "PENDING", held: null, error: null } as const;
  const cursor = { head: 100, finalized: null, halted: null, error: null };
  equal(etaOf(waits, 2, cursor), 600);
  equal(etaOf(waits, 1, cursor), 0);
  equal(etaOf(waits, 2, { ...cursor, head: 150 }), 0);
  equal(etaOf({ ...waits, matures_at: 200 }, 2, cursor), 60_000);
  equal(etaOf({ ...waits, network: "testnet" }, 2, cursor), null);
  equal(etaOf({ ...waits, block: null }, 2, cursor), null);
  equal(etaOf({ ...waits, status: "CONFIRMED" }, 2, cursor), null);
  equal(etaOf({ ...waits, held: "unknown" }, 2, cursor), null);
  equal(etaOf({ ...waits, error: { code: "upstream.failed" } }, 2, cursor), null);
  equal(etaOf(waits, 2, { ...cursor, halted: {} }), null);
  equal(etaOf(waits, 2, { ...cursor, error: "no node answers" }), null);
  const tron = { ...waits, chain: "TRON" };
  equal(etaOf(tron, 20, cursor), null); // Tron's blocks must be final, and no node says which are
  equal(etaOf(tron, 20, { ...cursor, head: 119, finalized: 99 }), 3);
  ok(etaOf(tron, 20, { ...cursor, finalized: 81 })! > 0);
});
