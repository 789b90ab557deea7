import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { selectAddressesFor } from "../../db/accounts/ramps.ts";
import { startAnvil } from "../support/nodes/anvil.ts";
import { until } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

Deno.test("ramps get an address each, from xpubs that share nothing", async () => {
  await using anvil = await startAnvil(31337);
  await using realm = await testRealm({ env: { ETHEREUM_TESTNET_RPC_URL: anvil.url } });
  const { send } = realm.admin;
  const wanted = { type: "ramp", asset: "ETH", testnet: true };
  const made = await send("POST", "/v1/accounts", wanted);
  equal(made.status, 201, made.text);
  deepEqual(made.body.ramp, { address: null });
  equal(made.body.enabled, false);
  const second = await send("POST", "/v1/accounts", wanted);
  await realm.drain();
  const ramp = (await send("GET", `/v1/account/${made.body.id}?populate=address`)).body;
  equal(ramp.enabled, true);
  equal(ramp.active, true);
  match(ramp.ramp.address, /^0x[0-9a-fA-F]{40}$/);
  equal(ramp.address.address, ramp.ramp.address);
  equal(ramp.address.derivation_key, "0");
  match(ramp.address.xpub, /^tpub/);
  equal(ramp.chain, "ETHEREUM");
  deepEqual(ramp.balance, { total: "0", available: "0", assets: "0" });
  const other = (await send("GET", `/v1/accounts/${second.body.id}?populate=address`)).body;
  notEqual(other.ramp.address, ramp.ramp.address);
  notEqual(other.address.xpub, ramp.address.xpub);
});

Deno.test("a ramp whose node is away for longer than a job has attempts opens when the node is back", async () => {
  await using anvil = await startAnvil(31337);
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  await using realm = await testRealm({ env: { ETHEREUM_TESTNET_RPC_URL: url } });
  const fields = { type: "ramp", asset: "ETH", testnet: true };
  const { body: { id } } = await realm.admin.send("POST", "/v1/accounts", fields);
  const jobs = async () =>
    await rowsOf<{ state: string; left: number }>(
      realm,
      "select state, attempts_max - attempts as left from jobs where name = 'ramp.open'",
    );
  const lastAttempt = async () => {
    await rowsOf(
      realm,
      "update jobs set attempts = attempts_max - 1, run_at = now() where name = 'ramp.open'",
    );
    await realm.drain();
  };
  for (let day = 0; day < 2; day++) {
    await lastAttempt();
    deepEqual(await jobs(), [{ state: "ready", left: 6 }]);
  }
  const [{ soon }] = await rowsOf<{ soon: boolean }>(
    realm,
    "select run_at < now() + interval '61 seconds' as soon from jobs where name = 'ramp.open'",
  );
  equal(soon, true);
  await using _node = Deno.serve(
    { port, hostname: "127.0.0.1", onListen: () => {} },
    async (request) =>
      await fetch(anvil.url, {
        ...{ method: request.method, body: await request.text() },
        headers: { "content-type": "application/json" },
      }),
  );
  await until(async () => { // a node that was away is left alone for a while
    await lastAttempt();
    return (await jobs())[0].state === "done";
  });
  equal((await realm.admin.send("GET", `/v1/accounts/${id}`)).body.enabled, true);
});

Deno.test("POST /v1/account/<id>/address makes deposit accounts on ramps and on virtual accounts", async () => {
  await using anvil = await startAnvil(31337);
  await using realm = await testRealm({ env: { ETHEREUM_TESTNET_RPC_URL: anvil.url } });
  const { send } = realm.admin;
  const at = { asset: "ETH", testnet: true };
  const ramp = (await send("POST", "/v1/accounts", { type: "ramp", ...at })).body.id;
  const early = await send("POST", `/v1/account/${ramp}/address`, {});
  deepEqual([early.status, early.body.code], [409, "account.not_enabled"]);
  await realm.drain();
  const given = await send("POST", `/v1/account/${ramp}/address`, { data: { order: "7" } });
  equal(given.status, 201, given.text);
  deepEqual([given.body.type, given.body.ramp, given.body.asset], ["deposit", ramp, "ETH"]);
  deepEqual(given.body.address.data, { order: "7" });
  const virtual = (await send("POST", "/v1/accounts", { type: "virtual", ramp, ...at })).body;
  equal(virtual.ramp, ramp);
  const serving = await send("POST", `/v1/accounts/${virtual.id}/address`, {});
  equal(serving.status, 201, serving.text);
  await realm.drain();
  const ready = await send("GET", `/v1/accounts/${serving.body.id}`);
  deepEqual([ready.body.enabled, ready.body.balance.assets], [true, "0"]);
  const ofRamp = (await send("GET", `/v1/account/${ramp}/address`)).body;
  deepEqual(ofRamp.map((one: { derivation_key: string }) => one.derivation_key), ["0", "1"]);
  const ofVirtual = (await send("GET", `/v1/account/${virtual.id}/address`)).body;
  deepEqual(ofVirtual.map((one: { derivation_key: string }) => one.derivation_key), ["2"]);
  equal(ofVirtual[0].account, virtual.id);
});

Deno.test("ramps and addresses are refused where they cannot work", async () => {
  await using realm = await testRealm({ env: { ETHEREUM_RPC_URL: "http://127.0.0.1:9" } });
  const { send } = realm.admin;
  const tried = async (body: Record<string, unknown>) => {
    const { status, body: { code } } = await send("POST", "/v1/accounts", body);
    return [status, code];
  };
  deepEqual(await tried({ type: "ramp", asset: "BTC" }), [422, "chain.not_configured"]);
  deepEqual(await tried({ type: "ramp", asset: "ETH", testnet: true }), [
    422,
    "chain.not_configured",
  ]);
  deepEqual(await tried({ type: "ramp", asset: "USDC", testnet: true }), [422, "asset.no_testnet"]);
  deepEqual(await tried({ type: "ramp", asset: "GMC" }), [409, "asset.suspended"]);
  deepEqual(await tried({ type: "deposit", asset: "ETH" }), [409, "account.no_ramp"]);
  const virtual = await send("POST", "/v1/accounts", { type: "virtual", asset: "ETH" });
  const none = await send("POST", `/v1/account/${virtual.body.id}/address`, {});
  deepEqual([none.status, none.body.code], [409, "account.no_ramp"]);
  const usdc = (await send("POST", "/v1/accounts", { type: "ramp", asset: "USDC" })).body;
  const mixed = { type: "virtual", asset: "ETH", ramp: usdc.id };
  deepEqual(await tried(mixed), [409, "account.asset_mismatch"]);
  const stranger = await realm.user();
  const unseen = await stranger.send("POST", `/v1/account/${usdc.id}/address`, {});
  deepEqual([unseen.status, unseen.body.code], [404, "account.not_found"]);
});

Deno.test("GET /v1/assets lists the registry, GET /v1/chains the configured chains", async () => {
  await using realm = await testRealm({ env: { BSC_RPC_URL: "http://127.0.0.1:9" } });
  const { send } = realm.admin;
  const assets = (await send("GET", "/v1/assets")).body;
  const find = (code: string) => assets.find((one: { code: string }) => one.code === code);
  deepEqual([find("BSC").configured, find("ETH").configured], [true, false]);
  deepEqual([find("USDC").decimals, find("USDC_BSC").decimals], [6, 18]);
  equal(find("GMC").state, "suspended");
  equal(find("PYUSD_SOL").class.includes("SPL"), true);
  const chains = (await send("GET", "/v1/chains")).body;
  deepEqual(chains.map((one: { chain: string; height: null }) => [one.chain, one.height]), [
    ["BSC", null],
  ]);
});

Deno.test("an xpub is shown to realm managers, realm administrators and the ramp's owner, by no route to others", async () => {
  await using anvil = await startAnvil(31337);
  await using realm = await testRealm({ env: { ETHEREUM_TESTNET_RPC_URL: anvil.url } });
  const at = { asset: "ETH", testnet: true };
  const owner = await realm.user({ role: "user", scope: "own" });
  const ramp = (await owner.send("POST", "/v1/accounts", { type: "ramp", ...at })).body.id;
  await realm.drain();
  const customer = await realm.user({ role: "user", scope: "own" });
  const mine = await realm.admin.send("POST", "/v1/accounts", {
    ...{ type: "virtual", ramp, ...at, owner: customer.id, holder: customer.identity },
  });
  equal(mine.status, 201, mine.text);
  await realm.drain();
  const virtual = mine.body.id;
  const given = (await customer.send("POST", `/v1/account/${virtual}/address`, {})).body;
  await realm.drain();
  equal(given.address.xpub, null);
  const paths = [
    `/v1/accounts/${virtual}?populate=address`,
    `/v1/accounts/${virtual}/address`,
    `/v1/accounts/${virtual}?populate=address&fields=address.xpub`,
    `/v1/accounts/${given.id}?populate=address`,
    `/v1/accounts/all?populate=address,ramp,holder,owner`,
    `/v1/accounts?populate=address`,
  ];
  const seen = async (user: { send: typeof customer.send }, scope: string) => {
    const texts = await Promise.all(
      paths.map(async (path) =>
        (await user.send("GET", path + (path.includes("?") ? "&" : "?") + scope)).text
      ),
    );
    return texts.map((text) => /"xpub":"tpub/.test(text));
  };
  const nowhere = paths.map(() => false);
  deepEqual(await seen(customer, ""), nowhere);
  // A realm-wide reader without the right, and a manager of its own things only.
  const reader = await realm.user({ role: "user", scope: "realm" });
  deepEqual((await seen(reader, "")).slice(0, 4), nowhere.slice(0, 4));
  const everything = "/v1/accounts/all?populate=address&scope=all";
  equal((await reader.send("GET", everything)).text.includes("tpub"), false);
  const own = await realm.user({ role: "admin", scope: "own" });
  deepEqual(await seen(own, ""), nowhere);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  for (const one of [manager, realm.admin]) {
    equal(
      (await one.send("GET", `/v1/accounts/${virtual}?populate=address`)).text.includes("tpub"),
      true,
    );
    equal((await one.send("GET", everything)).text.includes("tpub"), true);
  }
  const atRamp = await owner.send("GET", `/v1/accounts/${ramp}/address`);
  match(atRamp.body[0].xpub, /^tpub/);
  for (
    const query of [
      "sort=xpub",
      "sort=address.xpub",
      'query={"address.xpub":"tpub"}',
      'query={"xpub":{"$contains":"t"}}',
      "search=tpub&searchFields=xpub",
    ]
  ) {
    equal(
      (await customer.send("GET", `/v1/accounts/all?${encodeURI(query)}`)).body.code,
      "query.invalid",
      query,
    );
  }
});

Deno.test("however many addresses an account has, lists of them have an end, and it is shown by its oldest", async () => {
  await using anvil = await startAnvil(31337);
  await using realm = await testRealm({ env: { ETHEREUM_TESTNET_RPC_URL: anvil.url } });
  const { send } = realm.admin;
  const at = { asset: "ETH", testnet: true };
  const ramp = (await send("POST", "/v1/accounts", { type: "ramp", ...at })).body.id;
  await realm.drain();
  const { id } = (await send("POST", "/v1/accounts", { type: "virtual", ramp, ...at })).body;
  const made = await send("POST", `/v1/accounts/${id}/address`, {});
  equal(made.status, 201, made.text);
  await rowsOf(realm, "alter table addresses disable trigger user"); // which asks for their accounts
  await rowsOf(
    realm,
    `insert into addresses select overlay(id::text placing lpad(to_hex(n), 12, '0') from 25)::uuid,
      gen_random_uuid(), ramp, target_account, chain, network, '0x' || lpad(to_hex(n), 40, '0'), 1000 + n,
      xpub, asset, data, owner, created_at
    from addresses, generate_series(1, 1100) n where target_account = $1`,
    [id],
  );
  await rowsOf(
    realm,
    `insert into external_addresses (id, account, chain, network, address, currency, since, created_at)
    select gen_random_uuid(), $1, 'ETHEREUM', 'testnet', 'far ' || n, 'ETH', 0, now()
    from generate_series(1, 1100) n`,
    [id],
  );
  const path = `/v1/accounts/${id}/address`;
  const seen = new Set<string>();
  const lengths = [];
  for (let after = "";;) {
    const { body } = await send("GET", `${path}?limit=400${after}`);
    for (const one of body) seen.add(one.id);
    lengths.push(body.length);
    if (body.length === 0) break;
    after = `&after=${body.at(-1).id}`;
  }
  deepEqual([lengths, seen.size], [[400, 400, 301, 0], 1101]);
  const ids = (await send("GET", path)).body.map((one: { id: string }) => one.id);
  deepEqual([ids.length, ids], [1000, ids.toSorted()]);
  equal((await send("GET", `${path}?after=x`)).status, 400);
  const assigned = `/v1/accounts/${id}/assign`;
  equal((await send("GET", assigned)).body.length, 1000);
  equal((await send("GET", `${assigned}?offset=1000`)).body.length, 100);
  const rows = await selectAddressesFor(realm.pool.sql, [id, ramp]);
  deepEqual(rows.map((row) => row.target_account ?? row.account).toSorted(), [id, ramp].toSorted());
  const shown = (await send("GET", `/v1/accounts/${id}?populate=address`)).body.address;
  equal(shown.id, ids[0]);
});
