import { deepEqual, equal, match } from "node:assert/strict";
import { createCurrency, NewCurrency } from "../../domain/currencies/currencies.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { balanceCall, DETAIL_CALLS } from "../../workers/chains/evm/erc20.ts";
import { until } from "../support/eventually.ts";
import { type Anvil, CALLS, rich } from "../support/nodes/anvil.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import {
  driftsOf,
  mineUntil,
  openRampFixture,
  type RampFixture,
  working,
} from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { deployToken, leaveTokens } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const GOLD = 10n ** 6n;
const DEPLOY = "/v1/fungible/token/deploy";
const TOTAL_SUPPLY = DETAIL_CALLS.totalSupply;
const REGISTER = "/v1/fungible/token/register";

/** A registered token and where it is. */
interface Mine {
  contract: string;
  currency: string;
  account: string;
}

Deno.test("a token of the realm's own that comes back is credited to its currency's account, once", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const ramp = await fixture.ramp();
  const gold = await deployed(fixture, ramp);
  await paidOut(fixture, gold, "40");
  equal((await fixture.realm.balance(gold.account)).total, "960");
  await pay(fixture.anvil, gold.contract, ramp.address, 15n * GOLD);
  await fixture.mine();
  const [seen] = await listed(fixture, gold.account);
  deepEqual([seen.status, seen.asset, seen.amount, seen.account], [
    "PENDING",
    "GOLD_ETH",
    "15",
    gold.account,
  ]);
  equal((await fixture.realm.balance(gold.account)).total, "960");
  await fixture.mine(2);
  const [counted] = await listed(fixture, gold.account);
  deepEqual([counted.status, counted.forward], ["CONFIRMED", null]);
  equal((await fixture.realm.balance(gold.account)).total, "975");
  await rescan(fixture);
  await fixture.mine(2);
  equal((await fixture.realm.balance(gold.account)).total, "975");
  equal((await listed(fixture, gold.account)).length, 1, "deployment and change are no deposits");
  const [{ inside }] = await rowsOf<{ inside: string }>(
    fixture.realm,
    "select (sum(total) * 1e6)::bigint::text as inside from accounts " +
      "where asset = 'GOLD_ETH' and type <> 'system'",
  );
  const outside = await asked(fixture.anvil, gold.contract, balanceCall(rich().address));
  equal(BigInt(inside) + outside, await asked(fixture.anvil, gold.contract, TOTAL_SUPPLY));
  deepEqual(await driftsOf(fixture), [["ETH", "0"], ["GOLD_ETH", "0"]]);
});

Deno.test("supply law: withdrawn value stays issued, returning value needs no issue", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const ramp = await fixture.ramp();
  const gold = await deployed(fixture, ramp);
  await paidOut(fixture, gold, "40");
  const { send } = fixture.realm.admin;
  const path = `/v1/currencies/${gold.currency}`;
  const refused = await send("POST", `${path}/issue`, { amount: "1" });
  deepEqual([refused.status, refused.body.code], [409, "ramp.assets_insufficient"]);
  match(refused.body.detail, /only 1000 of the token exist, and 1000 are issued/);
  equal((await send("POST", `${path}/destroy`, { amount: "100" })).status, 200);
  await pay(fixture.anvil, gold.contract, ramp.address, 40n * GOLD);
  await fixture.mine(3);
  equal((await fixture.realm.balance(gold.account)).total, "900");
  equal((await send("POST", `${path}/issue`, { amount: "100.000001" })).status, 409);
  equal((await send("POST", `${path}/issue`, { amount: "100" })).status, 200);
  equal((await fixture.realm.balance(gold.account)).total, "1000");
  deepEqual(await driftsOf(fixture), [["ETH", "0"], ["GOLD_ETH", "0"]]);
});

Deno.test("a reorganisation before the depth takes a deposit back; one beyond it freezes the ramp", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil } = fixture;
  const ramp = await fixture.ramp();
  const gold = await deployed(fixture, ramp);
  await paidOut(fixture, gold, "40");
  await fixture.mine(6);
  await pay(anvil, gold.contract, ramp.address, 5n * GOLD);
  await fixture.mine();
  equal((await listed(fixture, gold.account))[0].status, "PENDING");
  await anvil.rpc("anvil_reorg", 1, []);
  await fixture.mine();
  await fixture.mine(3);
  equal((await listed(fixture, gold.account))[0].status, "ORPHANED");
  equal((await fixture.realm.balance(gold.account)).total, "960");
  await pay(anvil, gold.contract, ramp.address, 6n * GOLD);
  await fixture.mine(3);
  equal((await fixture.realm.balance(gold.account)).total, "966");
  await anvil.rpc("anvil_reorg", 4, []);
  await fixture.mine();
  equal((await fixture.account(ramp.id)).frozen, true);
  const who = "select frozen_by_realm as realm from accounts where id = $1";
  deepEqual(await rowsOf(fixture.realm, who, [ramp.id]), [{ realm: true }]);
  equal((await fixture.realm.balance(gold.account)).total, "966", "no money is taken back");
});

Deno.test("another's token counts from its registration on; at other addresses it is unmatched", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil } = fixture;
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  const contract = await foreign(anvil);
  await pay(anvil, contract, ramp.address, 100n * GOLD);
  await fixture.mine(4);
  deepEqual(await fixture.deposits(), []);
  equal((await unmatchedOf(fixture)).length, 1);
  const wanted = { symbol: "FOREIGN", contract_address: contract, decimal_places: 6 };
  const body = { account: ramp.id, ...wanted, supply: "100" };
  const made = await working(fixture, fixture.realm.admin.send("POST", REGISTER, body));
  equal(made.status, 201, made.text);
  const { currency, account } = await mineOf(fixture, made.body.id);
  equal(currency, made.body.virtual_currency);
  await pay(anvil, contract, ramp.address, 7n * GOLD);
  await pay(anvil, contract, deposit.address, 3n * GOLD);
  await fixture.mine(3);
  equal((await fixture.realm.balance(account)).total, "107");
  await rescan(fixture);
  await fixture.mine(3);
  equal((await fixture.realm.balance(account)).total, "107", "what was there before is the supply");
  deepEqual((await unmatchedOf(fixture)).map((one) => [one.asset, one.amount, one.address]), [
    ["FOREIGN_ETH", "3", deposit.address],
  ]);
  deepEqual(await driftsOf(fixture, 2), [["ETH", "0"], ["FOREIGN_ETH", "0"]]);
  await leaveTokens(anvil, { contract, owner: ramp.address, amount: 105n * GOLD });
  await fixture.mine();
  for (const ago of [1, 0]) deepEqual((await driftsOf(fixture, ago))[1], ["FOREIGN_ETH", "-2"]);
  const gone = { asset: "FOREIGN_ETH", reason: "taken by its issuer" };
  equal((await fixture.realm.admin.send("POST", "/v1/solvency/write-off", gone)).status, 201);
  deepEqual(await driftsOf(fixture), [["ETH", "0"], ["FOREIGN_ETH", "0"]]);
});

Deno.test("a virtual account of such a token has addresses: deposits there are swept and forwarded to it", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const ramp = await fixture.ramp();
  const gold = await deployed(fixture, ramp);
  await paidOut(fixture, gold, "40");
  const asked = { type: "virtual", asset: "GOLD_ETH" };
  const made = await fixture.realm.admin.send("POST", "/v1/accounts", asked);
  await fixture.realm.drain();
  const virtual: string = made.body.id;
  const deposit = await fixture.address(virtual, { order: "7" });
  await pay(fixture.anvil, gold.contract, deposit.address, 15n * GOLD);
  await mineUntil(fixture, async () => (await fixture.realm.balance(virtual)).total === "15");
  await fixture.mine();
  const [listing] = await listed(fixture, deposit.id);
  deepEqual([listing.asset, listing.amount, listing.forward.status, listing.address_data], [
    "GOLD_ETH",
    "15",
    "DONE",
    { order: "7" },
  ]);
  const account = await fixture.account(deposit.id);
  deepEqual([account.asset, account.ramp, account.balance.total, account.balance.assets], [
    "GOLD_ETH",
    ramp.id,
    "0",
    "0",
  ]);
  match(account.balance.gas, /^0\.0*\d+$/);
  equal((await fixture.realm.balance(gold.account)).total, "960");
  const orders = await rowsOf<{ purpose: string; state: string }>(
    fixture.realm,
    "select purpose, state from chain_orders where purpose in ('gas', 'sweep') order by id",
  );
  deepEqual(orders.map((one) => `${one.purpose} ${one.state}`), ["gas done", "sweep done"]);
  deepEqual(await driftsOf(fixture), [["ETH", "0"], ["GOLD_ETH", "0"]], "the gas was ETH's");
});

Deno.test("a deposit application takes such a token, and the fees bear the part that it keeps", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil, realm } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  await anvil.pool({ to: ramp.address, value: ETHER });
  const contract = await foreign(anvil);
  const wanted = { symbol: "FOREIGN", contract_address: contract, decimal_places: 6 };
  const body = { account: ramp.id, ...wanted, supply: "0" };
  equal((await working(fixture, send("POST", REGISTER, body))).status, 201);
  const asset = "FOREIGN_ETH";
  const virtual = (await send("POST", "/v1/accounts", { type: "virtual", asset })).body.id;
  await realm.drain();
  const app = await send("POST", "/v1/apps/deposit", { destination: { account: virtual }, asset });
  equal(app.status, 201, app.text);
  await realm.drain();
  const taxed = await anvil.rpc("eth_getCode", await anvil.deploy("Taxed"), "latest");
  await anvil.rpc("anvil_setCode", contract, taxed);
  await pay(anvil, contract, app.body.source.deposit_address, 100n * GOLD);
  const read = async () => (await send("GET", `/v1/apps/deposit/${app.body.id}`)).body;
  await mineUntil(fixture, async () => (await read()).status === "DONE");
  equal((await realm.balance(virtual)).total, "90");
  await fixture.mine();
  deepEqual(await driftsOf(fixture), [["ETH", "0"], [asset, "0"]]);
  const [fees] = await rowsOf<{ total: string }>(
    realm,
    "select trim_scale(total)::text as total from accounts where system = 'fees' and asset = $1",
    [asset],
  );
  equal(fees.total, "-9");
});

Deno.test("a currency that is no token has no addresses", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { account } = await fixture.realm.currency("5");
  const refused = await fixture.realm.admin.send("POST", `/v1/account/${account}/address`, {});
  deepEqual([refused.status, refused.body.code], [409, "account.no_ramp"]);
});

Deno.test("a token that turns bad keeps nothing else waiting, and lies credit nothing", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil } = fixture;
  const ramp = await fixture.ramp();
  const contract = await foreign(anvil);
  const wanted = { symbol: "FOREIGN", contract_address: contract, decimal_places: 6 };
  const body = { account: ramp.id, ...wanted, supply: "0" };
  const made = await working(fixture, fixture.realm.admin.send("POST", REGISTER, body));
  const { account } = await mineOf(fixture, made.body.id);
  const honest = await anvil.rpc("eth_getCode", contract, "latest");
  // It logs what it likes, and answers nothing that is asked.
  const mute = await anvil.rpc("eth_getCode", await anvil.deploy("Echo"), "latest");
  await anvil.rpc("anvil_setCode", contract, mute);
  const data = CALLS.encodeFunctionData("shout", [ramp.address, 9n * GOLD]);
  await anvil.pool({ to: contract, data });
  await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine(3);
  await fixture.mine();
  const { balance } = await fixture.account(ramp.id);
  deepEqual([balance.total, balance.assets], ["1", "1"]);
  equal((await listed(fixture, account))[0].status, "PENDING");
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  await anvil.rpc("anvil_setCode", contract, honest);
  await fixture.mine();
  equal((await listed(fixture, account))[0].status, "PENDING", "its block's state has no balances");
  equal((await fixture.realm.balance(account)).total, "0");
});

Deno.test("value that is kept at a frozen ramp does not leave", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const ramp = await fixture.ramp();
  const gold = await deployed(fixture, ramp);
  const { send } = fixture.realm.admin;
  equal((await send("POST", `/v1/accounts/${ramp.id}/freeze`)).status, 200);
  const refused = await send("POST", "/v1/withdrawals", {
    source: { account: gold.account },
    destination: { address: rich().address },
    value: "1",
  });
  deepEqual([refused.status, refused.body.code], [409, "account.frozen"], refused.text);
});

Deno.test("a contract that is an asset's, or registered already, or moves a registered token, is not registered", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const ramp = await fixture.ramp();
  const gold = await deployed(fixture, ramp);
  const wanted = { account: ramp.id, symbol: "AGAIN", supply: "1", decimal_places: 6 };
  for (const contract of [gold.contract, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"]) {
    const body = { ...wanted, contract_address: contract };
    const refused = await fixture.realm.admin.send("POST", REGISTER, body);
    deepEqual([refused.status, refused.body.code], [422, "token.invalid"], refused.text);
  }
  const { address: second } = rich(9);
  const relay = `0x363d3d373d3d3d363d73${gold.contract.slice(2)}5afa503d6000803e3d6000f3`;
  await fixture.anvil.rpc("anvil_setCode", second, relay);
  const other = await foreign(fixture.anvil, 2000n); // what the ramp holds of it is GOLD's balance too
  await pay(fixture.anvil, other, ramp.address, 1000n * GOLD);
  await fixture.mine(4);
  for (const [contract_address, status] of [[second, 422], [other, 201]]) {
    const body = { ...wanted, contract_address };
    const answer = await working(fixture, fixture.realm.admin.send("POST", REGISTER, body));
    deepEqual([answer.status, answer.body.code], [
      status,
      status === 422 ? "token.invalid" : undefined,
    ]);
  }
});

Deno.test("a name that is taken while its token is checked ends the registration", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const ramp = await fixture.ramp();
  const contract = await foreign(fixture.anvil);
  const body = {
    account: ramp.id,
    symbol: "TAKEN",
    contract_address: contract,
    supply: "0",
    decimal_places: 6,
  };
  const { admin } = fixture.realm;
  const answer = admin.send("POST", REGISTER, body, { prefer: "wait=5" });
  const rows = () => rowsOf(fixture.realm, "select id from fungible_tokens");
  await until(async () => (await rows()).length > 0, 5);
  const taken = { ...NewCurrency.parse({ name: "TAKEN_ETH" }), decimals: 6 };
  await fixture.realm.command((tx) => createCurrency(tx, admin.actor, taken), { lockLedger: true });
  const before = await rowsOf(fixture.realm, "select id from accounts order by id");
  const refused = await working(fixture, answer);
  deepEqual([refused.status, refused.body.code], [409, "currency.taken"], refused.text);
  const [token] = await rowsOf<{ id: string; status: string; currency: null; jobs: number }>(
    fixture.realm,
    `select id, status, currency, (select count(*)::integer from jobs
      where name = 'token.check' and state <> 'done') as jobs from fungible_tokens`,
  );
  deepEqual([token.status, token.currency, token.jobs], ["failed", null, 0]);
  const { body: shown } = await admin.send("GET", `/v1/fungible/token/${token.id}`);
  deepEqual([shown.status, shown.error.code], ["failed", "currency.taken"]);
  deepEqual(await rowsOf(fixture.realm, "select id from accounts order by id"), before);
  const again = { ...body, symbol: "FREE1" };
  const made = await working(fixture, admin.send("POST", REGISTER, again));
  deepEqual([made.status, made.body.status], [201, "registered"], made.text);
});

/** Deploys 1000 GOLD from a ramp and registers it. */
async function deployed(
  fixture: RampFixture,
  ramp: { id: string; address: string },
): Promise<Mine> {
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "1");
  const context = await workerContextOf(fixture.realm);
  await refreshFees(context);
  context.chains.close();
  const { admin } = fixture.realm;
  const body = { name: "Gold", symbol: "GOLD", supply: "1000", decimal_places: 6 };
  const answer = await working(fixture, admin.send("POST", DEPLOY, { ...body, account: ramp.id }));
  equal(answer.status, 201, answer.text);
  const path = `/v1/fungible/token/${answer.body.id}`;
  const status = async () => (await admin.send("GET", path)).body.status;
  await mineUntil(fixture, async () => await status() === "deployed");
  const rival = await admin.send("POST", "/v1/currencies", { name: "GOLD_ETH" });
  deepEqual([rival.status, rival.body.code], [409, "currency.taken"], "its name is paid for");
  const made = await admin.send("POST", REGISTER, { account: ramp.id, symbol: "GOLD" });
  equal(made.status, 201, made.text);
  await fixture.mine();
  const refreshed = await workerContextOf(fixture.realm);
  await refreshFees(refreshed);
  refreshed.chains.close();
  return await mineOf(fixture, answer.body.id);
}

async function mineOf(fixture: RampFixture, id: string): Promise<Mine> {
  const { admin } = fixture.realm;
  const token = (await admin.send("GET", `/v1/fungible/token/${id}`)).body;
  const currency = (await admin.send("GET", `/v1/currencies/${token.virtualCurrency}`)).body;
  return { contract: token.contractAddress, currency: currency.id, account: currency.account };
}

/** Withdraws to rich account 0. */
async function paidOut(fixture: RampFixture, of: Mine, value: string): Promise<void> {
  const { admin } = fixture.realm;
  const body = { source: { account: of.account }, destination: { address: rich().address }, value };
  const made = await admin.send("POST", "/v1/withdrawals", body);
  equal(made.status, 201, made.text);
  const path = `/v1/withdrawals/${made.body.id}`;
  await mineUntil(fixture, async () => (await admin.send("GET", path)).body.status === "DONE");
}

async function pay(anvil: Anvil, contract: string, to: string, amount: bigint): Promise<void> {
  await anvil.pool({ to: contract, data: CALLS.encodeFunctionData("transfer", [to, amount]) });
}

async function asked(anvil: Anvil, contract: string, data: string): Promise<bigint> {
  return BigInt(await anvil.rpc<string>("eth_call", { to: contract, data }, "latest"));
}

/** A contract made elsewhere: 6 places, 1000 in all, in the hands of rich account 0. */
async function foreign(anvil: Anvil, supply = 1000n): Promise<string> {
  return await deployToken(anvil, { symbol: "FOREIGN", decimals: 6, supply: supply * GOLD });
}

// deno-lint-ignore no-explicit-any
async function listed(fixture: RampFixture, account: string): Promise<any[]> {
  const query = encodeURIComponent(JSON.stringify({ account }));
  return (await fixture.realm.admin.send("GET", `/v1/deposits/all?query=${query}`)).body;
}

async function unmatchedOf(fixture: RampFixture): Promise<Record<string, string>[]> {
  return (await fixture.realm.admin.send("GET", "/v1/deposits/unmatched")).body;
}

/** Searches everything again, from the first block on. */
async function rescan(fixture: RampFixture): Promise<void> {
  const to = parseInt(await fixture.anvil.rpc<string>("eth_blockNumber"), 16);
  const range = { chain: "ETHEREUM", testnet: false, from: 0, to };
  equal((await fixture.realm.admin.send("POST", "/v1/deposits/rescan", range)).status, 200);
  await fixture.realm.drain();
}
