import { deepEqual, equal, ok } from "node:assert/strict";
import { CALLS, rich } from "../support/nodes/anvil.ts";
import { mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

const ETHER = 10n ** 18n;

Deno.test("GET /v1/deposits lists deposits, to users who may see them", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  await fixture.anvil.pool({ to: ramp.address, value: 3n * ETHER });
  await fixture.mine(2);
  const page = await realm.admin.send("GET", "/v1/deposits");
  equal(page.status, 200, page.text);
  const [deposit] = page.body.rows;
  deepEqual(
    [
      deposit.account,
      deposit.address,
      deposit.asset,
      deposit.amount,
      deposit.status,
      deposit.index,
    ],
    [ramp.id, ramp.address, "ETH", "3", "CONFIRMED", -1],
  );
  equal(deposit.forward, null);
  ok(deposit.transaction);
  const query = encodeURIComponent(JSON.stringify({ status: "PENDING" }));
  deepEqual((await realm.admin.send("GET", `/v1/deposits/all?query=${query}`)).body, []);
  equal((await realm.admin.send("GET", `/v1/deposits/${deposit.id}`)).body.id, deposit.id);
  const stranger = await realm.user();
  equal((await stranger.send("GET", `/v1/deposits/${deposit.id}`)).body.code, "deposit.not_found");
  equal((await stranger.send("GET", "/v1/deposits/count")).body, 0);
  equal((await realm.admin.send("DELETE", `/v1/deposits/${deposit.id}`)).status, 405);
});

Deno.test("a deposit shows by populate where it arrived and whose it becomes, to users who may see these", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const user = await realm.user();
  const fields = { type: "virtual", asset: "ETH", testnet: true, ramp: ramp.id };
  const belongs = { owner: user.id, holder: user.identity };
  const virtual = (await realm.admin.send("POST", "/v1/accounts", { ...fields, ...belongs })).body;
  await realm.drain();
  const own = await fixture.address(virtual.id);
  for (const to of [ramp.address, own.address]) await fixture.anvil.pool({ to, value: ETHER });
  await fixture.mine(2);
  const populate = "populate=source.account,destination.account";
  const shown = async (path: string, send = realm.admin.send) => {
    const { status, body, text } = await send("GET", `/v1/deposits/all?${path}${populate}`);
    equal(status, 200, text);
    return body.map((row: Record<string, { account?: { id: string } }>) => [
      row.source?.account?.id,
      row.destination?.account?.id,
    ]);
  };
  const all = [[ramp.id, undefined], [own.id, virtual.id]];
  deepEqual((await shown("scope=all&")).sort(), all.sort());
  deepEqual(await shown("", user.send), [[own.id, virtual.id]]);
  deepEqual((await shown("scope=all&fields=source,destination.account.id&")).sort(), all.sort());
  const [plain] = (await user.send("GET", "/v1/deposits/all")).body;
  deepEqual([plain.account, plain.beneficiary, plain.source], [own.id, virtual.id, undefined]);
});

Deno.test("POST /v1/deposits/rescan finds transfers that a scan does not show, and changes nothing twice", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const batcher = await anvil.deploy("Batcher");
  await fixture.mine(2);
  // As if balances had never been compared: the coins of the call stay unseen.
  await rowsOf(realm, "delete from onchain_balances");
  const data = CALLS.encodeFunctionData("payCoin", [[ramp.address], ETHER]);
  const hash = await anvil.pool({ to: batcher, value: ETHER, data });
  await fixture.mine(3);
  equal((await fixture.deposits()).length, 0);
  const wanted = { chain: "ETHEREUM", testnet: true, hash };
  const asked = await realm.admin.send("POST", "/v1/deposits/rescan", wanted);
  const { id, ...queued } = asked.body;
  deepEqual([asked.status, queued], [200, { queued: true, ...wanted }]);
  equal((await realm.admin.send("GET", `/v1/deposits/rescans/${id}`)).body.state, "queued");
  await realm.drain();
  await fixture.mine();
  await realm.admin.send("POST", "/v1/deposits/rescan", wanted);
  await realm.drain();
  await fixture.mine();
  equal((await fixture.account(ramp.id)).balance.total, "1");
  const user = await realm.user();
  equal((await user.send("POST", "/v1/deposits/rescan", wanted)).body.code, "permission.role");
  const wide = { chain: "ETHEREUM", testnet: true, from: 0, to: 5000 };
  equal((await realm.admin.send("POST", "/v1/deposits/rescan", wide)).status, 400);
  const other = { ...wanted, chain: "BSC" };
  const nowhere = await realm.admin.send("POST", "/v1/deposits/rescan", other);
  equal(nowhere.body.code, "chain.not_configured");
});

Deno.test("a deposit application goes PENDING, PROCESSING, DONE, and again for a further deposit", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  const at = { type: "virtual", asset: "ETH", testnet: true };
  const target = (await send("POST", "/v1/accounts", { ...at, ramp: ramp.id })).body.id;
  const bare = (await send("POST", "/v1/accounts", at)).body.id;
  await realm.drain();
  const refused = async (account: string, asset = "ETH") =>
    (await send("POST", "/v1/apps/deposit", { destination: { account }, asset })).body.code;
  equal(await refused(bare), "account.no_ramp");
  equal(await refused(target, "BTC"), "account.asset_mismatch");
  equal(await refused(ramp.id), "account.no_ramp");
  const user = await realm.user({ role: "manage", scope: "realm" });
  const made = await user.send("POST", "/v1/apps/deposit", {
    destination: { account: target },
    asset: "ETH",
    seal: { invoice: "42" },
    data: { note: "n" },
  });
  equal(made.status, 201, made.text);
  deepEqual([made.body.status, made.body.destination.account], ["PENDING", target]);
  deepEqual(made.body.seal, { invoice: "42" });
  await realm.drain();
  const { id, source } = made.body;
  const read = async () => (await user.send("GET", `/v1/apps/deposit/${id}`)).body;
  for (const round of [1, 2]) {
    await anvil.pool({ to: source.deposit_address, value: ETHER });
    await mineUntil(fixture, async () => (await read()).deposits.length === round);
    equal((await read()).status, "PROCESSING");
    await mineUntil(fixture, async () => (await read()).status === "DONE");
  }
  ok((await fixture.account(target)).balance.total.startsWith("1.999"));
  const events = await rowsOf<{ status: string }>(
    realm,
    "select payload->>'status' as status from events where type = 'app.deposit.updated' order by position",
  );
  const turns = ["PROCESSING", "DONE", "PROCESSING", "DONE"];
  deepEqual(events.map((one) => one.status), turns);
  const query = encodeURIComponent(JSON.stringify({ status: "DONE" }));
  const found = await user.send("GET", `/v1/apps/deposit?query=${query}`);
  deepEqual(found.body.map((one: { id: string }) => one.id), [id]);
  equal((await user.send("GET", "/v1/apps/deposit?page=1")).body.total, 1);
});

Deno.test("an assigned external address is watched from then on, and only for incoming transfers", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const outside = rich(3).address;
  const at = { type: "virtual", asset: "ETH", testnet: true };
  const account = (await send("POST", "/v1/accounts", at)).body.id;
  await realm.drain();
  const path = `/v1/accounts/${account}/assign`;
  equal((await send("POST", `${path}/0x1234`)).body.code, "address.invalid");
  const assigned = await send("POST", `${path}/${outside.toLowerCase()}`);
  deepEqual([assigned.status, assigned.body], [200, { address: outside, currency: "ETH" }]);
  equal((await send("POST", `${path}/${outside}`)).body.code, "address.assigned");
  const ramp = await fixture.ramp();
  equal((await send("POST", `${path}/${ramp.address}`)).body.code, "address.assigned");
  await fixture.mine(2);
  equal((await fixture.account(account)).balance.total, "0");
  await anvil.pool({ to: outside, value: ETHER });
  await anvil.pool({ from: 3, to: rich(4).address, value: ETHER / 2n });
  await fixture.mine(3);
  equal((await fixture.account(account)).balance.total, "1");
  deepEqual((await send("GET", path)).body, [{ address: outside, currency: "ETH" }]);
  deepEqual((await send("DELETE", `${path}/${outside}`)).body, []);
  equal((await send("DELETE", `${path}/${outside}`)).body.code, "address.not_found");
  await anvil.pool({ to: outside, value: ETHER });
  await fixture.mine(3);
  equal((await fixture.account(account)).balance.total, "1");
});

Deno.test("external addresses take virtual accounts of an asset on a chain", async () => {
  await using realm = await testRealm();
  const { account } = await realm.currency("5");
  const refused = await realm.admin.send(
    "POST",
    `/v1/accounts/${account}/assign/${rich(1).address}`,
  );
  deepEqual([refused.status, refused.body.code], [422, "asset.unknown"]);
  const user = await realm.user();
  const unseen = await user.send("GET", `/v1/accounts/${account}/assign`);
  equal(unseen.body.code, "account.not_found");
});
