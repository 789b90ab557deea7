import { deepEqual, equal, match, ok } from "node:assert/strict";
import { claimsOf } from "../../domain/security/sessions.ts";
import { checkExternalRamp } from "../../workers/exchanges/checks.ts";
import { openExchangeGateway } from "../../workers/gateways/exchanges/gateway.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import { EXCHANGE_KEY } from "../support/exchange_server.ts";
import { type Answer, rowsOf } from "../support/realm.ts";

const codeOf = ({ status, body }: Answer) => [status, body.code];

/** A request for a record. */
const recordOf = (identity: string, more = {}) => ({
  ...{ ramp: "binance", identity, authentication: EXCHANGE_KEY, ...more },
});

const STEPS: readonly [string, (fixture: ExchangeFixture) => Promise<void>][] = [
  ["a record shows the end of its key, and nothing else of its credentials", showsNoCredentials],
  ["supported exchanges and countries are told without a record", listsExchanges],
  ["assets are those whose name, network and contract are ours", listsFittingAssets],
  ["bad input is answered precisely, and nothing is written", answersBadInput],
  ["others see nothing of it, readers move nothing", keepsToPermissions],
  ["under an idempotency key a transfer is made once; a dry run makes none", makesTransfersOnce],
  ["a dry run shows no address that the next customer will be given", hidesNextAddress],
  ["an exchange that refuses the key: 502 with its reason, and the key nowhere", showsRefusedKeys],
  ["neither a machine key nor an old login leads withdrawals to another account", guardsKeys],
  ["a deleted record makes no transfers, and is restored", deletesAndRestores],
  ["a customer has 20 records at most, also by restoring deleted ones", limitsRecords],
];

Deno.test("external ramps: records, assets and transfers as callers see them", async (t) => {
  await using fixture = await openExchangeFixture();
  for (const [title, step] of STEPS) await t.step(title, () => step(fixture));
});

async function showsNoCredentials(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const { send, identity } = realm.admin;
  const { body, text } = await send("GET", `/v1/ramps/${ramp}`);
  deepEqual([body.ramp, body.identity, body.status], ["binance", identity, "READY"]);
  deepEqual(body.authentication, { api_key: "…1234" });
  ok(!text.includes(EXCHANGE_KEY.secret) && !text.includes(EXCHANGE_KEY.api_key));
  const [{ plain }] = await rowsOf<{ plain: string }>(
    realm,
    "select encode(credentials, 'escape') || to_jsonb(r)::text as plain from external_ramps r",
  );
  ok(!plain.includes(EXCHANGE_KEY.secret) && !plain.includes(EXCHANGE_KEY.api_key));
  const page = await send("GET", "/v1/ramps?populate=identity");
  deepEqual([page.body.total, page.body.rows[0].identity.id], [1, identity]);
  equal((await send("GET", "/v1/ramps/count")).body, 1);
}

async function listsExchanges(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const { send } = realm.admin;
  const { body } = await send("GET", "/v1/ramps/supported");
  ok(body.some((one: { id: string; name: string }) => one.id === "kraken"));
  const countries = await send("GET", "/v1/ramps/kraken/countries");
  deepEqual([countries.status, countries.body], [200, ["US"]]);
  deepEqual(codeOf(await send("GET", "/v1/ramps/nowhere/countries")), [404, "ramp.not_found"]);
  equal((await send("GET", `/v1/ramps/${ramp}/countries`)).status, 200);
}

async function listsFittingAssets(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const { send } = realm.admin;
  const { body } = await send("GET", `/v1/ramps/${ramp}/assets`);
  const codes = body.map((one: { asset: string }) => one.asset);
  deepEqual(codes.sort(), ["ETH", "USDT", "USDT_TRON"]);
  deepEqual(body.find((one: { asset: string }) => one.asset === "ETH"), {
    asset: "ETH",
    currency: "ETH",
    network: "ETH",
    deposit: true,
    withdraw: true,
    minimum: "0.01",
    fee: "0.001",
    withdraw_minimum: null,
    decimals: 8,
  });
}

async function answersBadInput(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const { send, identity } = realm.admin;
  const post = (body: unknown) => send("POST", "/v1/ramps", body);
  const bad = await post(recordOf(identity, { ramp: "nowhere" }));
  deepEqual([bad.status, bad.body.errors[0].path], [400, "/ramp"]);
  const secretless = await post(recordOf(identity, { authentication: { api_key: "a" } }));
  deepEqual([secretless.status, secretless.body.code], [400, "request.invalid"]);
  const okx = await post(recordOf(identity, { ramp: "okx" }));
  deepEqual([okx.status, okx.body.errors[0].path], [400, "/authentication/password"]);
  deepEqual(
    codeOf(await post(recordOf(identity, { identity: crypto.randomUUID() }))),
    [404, "identity.not_found"],
  );
  deepEqual(codeOf(await fixture.deposit({ value: "0.001" })), [400, "request.invalid"]);
  deepEqual(codeOf(await fixture.deposit({ value: "1.123456789" })), [400, "request.invalid"]);
  deepEqual(codeOf(await fixture.deposit({ asset: "BTC" })), [409, "account.asset_mismatch"]);
  deepEqual(codeOf(await fixture.withdraw({ value: "11" })), [409, "balance.insufficient"]);
  deepEqual(codeOf(await fixture.withdraw({ address: "0x1" })), [422, "address.invalid"]);
  const none = `/v1/ramps/${ramp}/transfers/${crypto.randomUUID()}`;
  deepEqual(codeOf(await send("GET", none)), [404, "transfer.not_found"]);
  deepEqual(await rowsOf(realm, "select id from ramp_transfers"), []);
}

async function keepsToPermissions(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp, funded } = fixture;
  const { identity } = realm.admin;
  const stranger = await realm.user();
  deepEqual(codeOf(await stranger.send("GET", `/v1/ramps/${ramp}`)), [404, "ramp.not_found"]);
  const body = { account: funded.account, asset: "ETH", value: "1" };
  const asked = await stranger.send("POST", `/v1/ramps/${ramp}/deposit`, body);
  deepEqual(codeOf(asked), [404, "ramp.not_found"]);
  deepEqual(
    codeOf(await stranger.send("POST", "/v1/ramps", recordOf(identity))),
    [404, "identity.not_found"],
  );
  const reader = await realm.user({ scope: "realm" });
  equal((await reader.send("GET", `/v1/ramps/${ramp}`)).status, 200);
  deepEqual(
    codeOf(await reader.send("POST", `/v1/ramps/${ramp}/withdraw`, body)),
    [403, "permission.owner"],
  );
  // The ends are of one owner: who sees a record asks for nothing there for itself, nor sends others' value to its own.
  const mine = await realm.account({ asset: "ETH", by: reader });
  const taken = await reader.send("POST", `/v1/ramps/${ramp}/deposit`, { ...body, account: mine });
  deepEqual(codeOf(taken), [403, "permission.owner"]);
  const made = await reader.send("POST", "/v1/ramps", recordOf(reader.identity));
  await checkExternalRamp(fixture.context(), { ramp: made.body.id });
  const sent = await reader.send("POST", `/v1/ramps/${made.body.id}/withdraw`, body);
  deepEqual(codeOf(sent), [403, "permission.owner"]);
  // Who gave other authentication data would be sent what is withdrawn.
  const acts = [["PATCH", { authentication: EXCHANGE_KEY }], ["DELETE", undefined]] as const;
  for (const [method, change] of acts) {
    const path = `/v1/ramps/${ramp}`;
    deepEqual(codeOf(await stranger.send(method, path, change)), [404, "ramp.not_found"], method);
    deepEqual(codeOf(await reader.send(method, path, change)), [403, "permission.owner"], method);
  }
}

async function makesTransfersOnce(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp, funded } = fixture;
  const { send } = realm.admin;
  equal(
    (await send("POST", `/v1/ramps/${ramp}/deposit?dry_run=true`, {
      ...{ account: funded.account, asset: "ETH", value: "1" },
    })).status,
    201,
  );
  deepEqual(await rowsOf(realm, "select id from ramp_transfers"), []);
  const body = { account: funded.account, asset: "ETH", value: "1", data: { a: 1 } };
  const headers = { "idempotency-key": "deposit-once" };
  const first = await send("POST", `/v1/ramps/${ramp}/deposit`, body, headers);
  equal(first.status, 201, first.text);
  const again = await send("POST", `/v1/ramps/${ramp}/deposit`, body, headers);
  deepEqual(again.body, first.body);
  const { id, created_at, address, ...rest } = first.body;
  deepEqual([typeof id, typeof created_at], ["string", "number"]);
  match(address, /^0x/);
  deepEqual(rest, {
    ...{ ramp, kind: "deposit", account: funded.account, asset: "ETH", value: "1" },
    ...{ status: "PROCESSING", reason: null, hash: null, deposit: null, withdrawal: null },
    max_fee: null,
    exchange: {
      ...{ currency: "ETH", network: "ETH" },
      ...{ reference: null, status: null, amount: null, fee: null },
    },
    ...{ owner: realm.admin.id, claims: [], data: { a: 1 }, error: null },
  });
  const list = await send("GET", `/v1/ramps/${ramp}/transfers?status=PROCESSING`);
  deepEqual([list.body.total, list.body.rows[0].id], [1, id]);
  equal((await send("GET", `/v1/ramps/${ramp}/transfers?status=DONE`)).body.total, 0);
  deepEqual((await send("GET", `/v1/ramps/${ramp}/transfers/${id}`)).body.id, id);
  const resolve = `/v1/ramps/${ramp}/transfers/${id}/resolve`;
  const reader = await realm.user({ scope: "realm" });
  const others = codeOf(await reader.send("POST", resolve, { outcome: "failed" }));
  deepEqual(others, [403, "permission.owner"]);
  deepEqual(codeOf(await send("POST", resolve, { outcome: "failed" })), [409, "version.conflict"]);
  const vague = (await send("POST", resolve, { outcome: "sent" })).body;
  deepEqual([vague.status, vague.errors[0].path], [400, "/reference"]);
}

async function hidesNextAddress({ realm, ramp, funded }: ExchangeFixture): Promise<void> {
  const made = async () => {
    const body = { type: "virtual", asset: "ETH", ramp: funded.ramp };
    const { id } = (await realm.admin.send("POST", "/v1/accounts", body)).body;
    await realm.drain();
    return id;
  };
  const [one, other] = [await made(), await made()];
  const order = (account: string, query = "") =>
    realm.admin.send("POST", `/v1/ramps/${ramp}/deposit${query}`, {
      ...{ account, asset: "ETH", value: "1" },
    });
  const dry = await order(one, "?dry_run=true");
  deepEqual([dry.status, dry.body.address], [201, null]);
  const { address } = (await order(other)).body;
  ok(!dry.text.includes(address), "it is that of the account that was given one");
  const known = await order(other, "?dry_run=true");
  deepEqual([known.status, known.body.address], [201, address]);
}

async function showsRefusedKeys(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const { send } = realm.admin;
  const wrong = { api_key: "another-key-that-is-wrong-9876", secret: "another-secret" };
  const changed = await send("PATCH", `/v1/ramps/${ramp}`, { authentication: wrong });
  deepEqual([changed.status, changed.body.status], [200, "PENDING"]);
  deepEqual(codeOf(await send("GET", `/v1/ramps/${ramp}/assets`)), [503, "chain.stale"]);
  await checkExternalRamp(fixture.context(), { ramp });
  const { text, ...answer } = await send("GET", `/v1/ramps/${ramp}/assets`);
  deepEqual(codeOf({ text, ...answer }), [502, "upstream.failed"]);
  match(answer.body.detail, /Binance refuses the key: Invalid Api-Key ID/);
  ok(!text.includes(wrong.api_key) && !text.includes("https://exchange.example"), text);
  deepEqual(codeOf(await fixture.deposit()), [502, "upstream.failed"]);
  equal((await send("GET", `/v1/ramps/${ramp}`)).body.status, "REFUSED");
  await send("PATCH", `/v1/ramps/${ramp}`, { authentication: EXCHANGE_KEY });
  const late = openExchangeGateway({ urls: { binance: fixture.exchange.url }, timeoutMs: 1 });
  await checkExternalRamp({
    ...fixture.context(),
    exchanges: { ...fixture.exchanges, gateway: late },
  }, { ramp });
  late.close();
  deepEqual(codeOf(await send("GET", `/v1/ramps/${ramp}/assets`)), [504, "upstream.timeout"]);
  await checkExternalRamp(fixture.context(), { ramp });
  equal((await send("GET", `/v1/ramps/${ramp}/assets`)).status, 200);
}

async function guardsKeys({ realm, ramp }: ExchangeFixture): Promise<void> {
  const { services, made, admin } = realm;
  const machine = await admin.send("POST", "/v1/keys", { name: "m" });
  equal(machine.status, 201, machine.text);
  const ago = Date.now() - 11 * 60_000;
  const claims = claimsOf(made.admin, realm.made.realm, ago, services.config.userKeyTtlS);
  const old = await services.signingKeys.sign(claims);
  for (const [key, code] of [[machine.body.key, "auth.invalid"], [old, "auth.expired"]]) {
    const change = (body: unknown) =>
      realm.nobody("PATCH", `/v1/ramps/${ramp}`, body, { "x-api-key": key });
    deepEqual(codeOf(await change({ authentication: EXCHANGE_KEY })), [401, code]);
    equal((await change({ data: { note: "theirs" } })).status, 200);
  }
  equal((await admin.send("GET", `/v1/ramps/${ramp}`)).body.status, "READY");
}

async function deletesAndRestores(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const { send } = realm.admin;
  equal((await send("DELETE", `/v1/ramps/${ramp}`)).body.deleted, true);
  deepEqual(codeOf(await fixture.deposit()), [404, "ramp.not_found"]);
  equal((await send("POST", `/v1/ramps/${ramp}/undelete`)).status, 200);
}

async function limitsRecords({ realm }: ExchangeFixture): Promise<void> {
  const customer = await realm.user({ role: "manage" });
  const more = () => customer.send("POST", "/v1/ramps", recordOf(customer.identity));
  const { body: { id } } = await more();
  // One after the other: they count each other, and so many at once may be 503 on a busy machine.
  for (let i = 1; i < 20; i++) equal((await more()).status, 201);
  deepEqual(codeOf(await more()), [400, "request.invalid"]);
  equal((await customer.send("DELETE", `/v1/ramps/${id}`)).status, 200);
  equal((await more()).status, 201);
  const restored = await customer.send("POST", `/v1/ramps/${id}/undelete`);
  deepEqual(codeOf(restored), [400, "request.invalid"]);
  const own = await realm.admin.send("POST", "/v1/ramps", recordOf(realm.admin.identity));
  equal(own.status, 201, "whoever manages the realm makes them for many");
  // Given again and again, authentication is checked by one job at a time.
  const { body: { id: last } } = own;
  for (let i = 0; i < 3; i++) {
    await realm.admin.send("PATCH", `/v1/ramps/${last}`, { authentication: EXCHANGE_KEY });
  }
  const checks = await rowsOf(
    realm,
    `select id from jobs where name = 'exchange.check' and state = 'ready' and payload ->> 'ramp' = '${last}'`,
  );
  equal(checks.length, 1);
}
