import { deepEqual, equal } from "node:assert/strict";
import { startBcash } from "../support/nodes/bcash.ts";
import { COIN, type UtxoChain } from "../support/utxo_fixture.ts";
import { consolidating, type ConsolidatingRamp } from "../support/consolidation_fixture.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { sharingUtxo } from "../support/sharing_utxo.ts";

const CASH: UtxoChain = {
  id: "BITCOIN_CASH",
  asset: "BCH",
  start: startBcash,
  // Nobody listens there; a ramp's address needs no node.
  env: { ETHEREUM_TESTNET_RPC_URL: "http://127.0.0.1:1" },
};
const test = sharingUtxo("consolidations by the API", CASH);
const codeOf = ({ status, body }: Answer) => [status, body.code];

/** The orders of a ramp. */
const ordersOf = ({ realm, ramp }: ConsolidatingRamp) =>
  rowsOf(realm, "select id from chain_orders where ramp = $1", [ramp]);

test("POST /v1/accounts/<id>/consolidate answers with the coins that it will spend, and can be followed", async ({ funded }) => {
  await using fixture = await consolidating(CASH, funded);
  await fixture.fund(COIN, 2n * COIN, 3n * COIN);
  const { send } = fixture.realm.admin;
  const tried = await fixture.consolidate({ data: { note: "a" } }, "?dry_run=true");
  equal(tried.status, 201, tried.text);
  deepEqual(await ordersOf(fixture), []);
  const made = await fixture.consolidate({ data: { note: "a" } });
  const { id, created_at, ...rest } = made.body;
  deepEqual([typeof id, typeof created_at], ["string", "number"]);
  deepEqual(rest, {
    account: fixture.ramp,
    address: fixture.address,
    asset: "BCH",
    speed: "slow",
    max_fee: null,
    max_fee_rate: "0.00002",
    coins: 3,
    amount: "6",
    estimate: tried.body.estimate,
    fee: null,
    status: "PROCESSING",
    owner: fixture.realm.admin.id,
    data: { note: "a" },
    error: null,
  });
  const path = `/v1/accounts/${fixture.ramp}/consolidations`;
  deepEqual((await send("GET", `${path}/${id}`)).body, made.body);
  const all = await send("GET", path);
  deepEqual([all.body.total, all.body.rows], [1, [made.body]]);
  equal((await send("GET", `${path}?status=DONE`)).body.total, 0);
  equal((await fixture.finish(id)).status, "DONE");
  const done = await send("GET", `${path}?status=DONE&pageSize=1`);
  deepEqual([done.body.total, done.body.rows[0].chain.confirmations], [1, 2]);
});

test("under an idempotency key it happens once; beside an open one it is refused", async ({ funded }) => {
  await using fixture = await consolidating(CASH, funded);
  await fixture.fund(COIN, COIN);
  const path = `/v1/accounts/${fixture.ramp}/consolidate`;
  const { send } = fixture.realm.admin;
  const rivals = await Promise.all([1, 2, 3].map(() => fixture.consolidate()));
  deepEqual(rivals.map(({ status }) => status).sort(), [201, 409, 409]);
  for (const one of rivals.filter(({ status }) => status === 409)) {
    equal(one.body.code, "version.conflict");
  }
  const [{ id }] = await rowsOf<{ id: string }>(
    fixture.realm,
    "select id from consolidations where account = $1",
    [fixture.ramp],
  );
  equal((await fixture.finish(id)).status, "DONE");
  await fixture.fund(COIN);
  const headers = { "idempotency-key": "once" };
  const first = await send("POST", path, {}, headers);
  const again = await send("POST", path, {}, headers);
  deepEqual([first.status, again.status, again.body], [201, 201, first.body]);
  equal(again.headers.get("idempotency-replayed"), "true");
  equal((await send("POST", path, { speed: "fast" }, headers)).status, 422);
  equal((await ordersOf(fixture)).length, 2);
});

test("it is refused where it makes no sense, and writes nothing", async ({ funded }) => {
  await using fixture = await consolidating(CASH, funded);
  const { send } = fixture.realm.admin;
  deepEqual(codeOf(await fixture.consolidate()), [409, "ramp.assets_insufficient"]);
  await fixture.fund(COIN);
  deepEqual(codeOf(await fixture.consolidate()), [409, "ramp.assets_insufficient"]);
  await fixture.fund(COIN, COIN);
  for (
    const body of [
      { speed: "warp" },
      { max_fee: "0" },
      { max_fee: "-1" },
      { max_fee: "0.000000001" },
      { max_fee_rate: "0.000000001" },
      { coins: 3 },
    ]
  ) deepEqual(codeOf(await fixture.consolidate(body)), [400, "request.invalid"]);
  const dear = [{ max_fee: "0.00000001" }, { max_fee_rate: "0.00000001" }];
  for (const body of dear) {
    deepEqual(codeOf(await fixture.consolidate(body)), [409, "condition.failed"]);
    deepEqual(codeOf(await fixture.consolidate(body, "?dry_run=1")), [400, "query.invalid"]);
    deepEqual(codeOf(await fixture.consolidate(body, "?dry_run=true")), [409, "condition.failed"]);
  }
  const at = { testnet: true };
  const virtual = await send("POST", "/v1/accounts", { type: "virtual", asset: "BCH", ...at });
  const ether = await send("POST", "/v1/accounts", { type: "ramp", asset: "ETH", ...at });
  await fixture.realm.drain();
  const on = (id: string) => send("POST", `/v1/accounts/${id}/consolidate`);
  deepEqual(codeOf(await on(virtual.body.id)), [409, "account.no_ramp"]);
  deepEqual(codeOf(await on(ether.body.id)), [409, "account.asset_mismatch"]);
  const none = await send("GET", `/v1/accounts/${virtual.body.id}/consolidations`);
  deepEqual([none.status, none.body.rows], [200, []]);
  deepEqual(codeOf(await on("nothing")), [404, "account.not_found"]);
  deepEqual(await ordersOf(fixture), []);
});

test("it is refused on ramps that cannot send, and on stale knowledge", async ({ funded }) => {
  await using fixture = await consolidating(CASH, funded);
  await fixture.fund(COIN, COIN);
  const spoiled = async (spoil: string, mend: string): Promise<unknown> => {
    await rowsOf(fixture.realm, spoil);
    const answer = await fixture.consolidate();
    await rowsOf(fixture.realm, mend);
    return codeOf(answer);
  };
  const account = (state: string) => `update accounts set ${state} where type = 'ramp'`;
  deepEqual(await spoiled(account("frozen = true"), account("frozen = false")), [
    409,
    "account.frozen",
  ]);
  deepEqual(await spoiled(account("active = false"), account("active = true")), [
    409,
    "account.inactive",
  ]);
  await fixture.solvency();
  const stop = (stopped: boolean) => `update solvency set stopped = ${stopped}`;
  deepEqual(await spoiled(stop(true), stop(false)), [409, "asset.suspended"]);
  const quoted = (when: string) => `update fee_quotes set quoted_at = ${when}`;
  deepEqual(await spoiled(quoted("now() - interval '1 hour'"), quoted("now()")), [
    503,
    "chain.stale",
  ]);
  equal((await fixture.consolidate()).status, 201);
});

test("users who may write the ramp's account may consolidate its coins; others may not, or see nothing", async ({ funded }) => {
  await using fixture = await consolidating(CASH, funded);
  await fixture.fund(COIN, COIN);
  const { realm, ramp } = fixture;
  const stranger = await realm.user();
  const reader = await realm.user({ scope: "realm" });
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const path = `/v1/accounts/${ramp}/consolidate`;
  deepEqual(codeOf(await stranger.send("POST", path)), [404, "account.not_found"]);
  deepEqual(codeOf(await reader.send("POST", path)), [403, "permission.owner"]);
  const made = await manager.send("POST", path);
  equal(made.status, 201, made.text);
  const one = `/v1/accounts/${ramp}/consolidations/${made.body.id}`;
  const speedUp = [`${one}/speed-up`, { speed: "fast" }] as const;
  deepEqual(codeOf(await stranger.send("GET", one)), [404, "account.not_found"]);
  deepEqual(codeOf(await reader.send("POST", ...speedUp)), [403, "permission.owner"]);
  equal((await reader.send("GET", one)).status, 200);
  equal((await reader.send("GET", `/v1/accounts/${ramp}/consolidations`)).body.total, 1);
  for (const id of ["nothing", ramp]) {
    const answer = await reader.send("GET", `/v1/accounts/${ramp}/consolidations/${id}`);
    deepEqual(codeOf(answer), [404, "consolidation.not_found"]);
  }
  const irreplaceable = await manager.send("POST", ...speedUp);
  deepEqual(codeOf(irreplaceable), [409, "account.asset_mismatch"]);
});
