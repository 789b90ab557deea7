import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { installToken, type TestToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;

/** A ramp of USDC that has seen 100 of them and gas arrive. */
interface TokenRamp extends AsyncDisposable {
  fixture: RampFixture;
  token: TestToken;
  ramp: { id: string; address: string };
  withdraw(value: string, more?: Record<string, unknown>): Promise<Answer>;
  ended(id: string): Promise<Answer["body"]>;
  paid(): Promise<bigint>;
}

Deno.test("a token is withdrawn from the ramp itself; its gas is shown, and borne by the ramp", async () => {
  await using ramped = await openTokenRamp();
  const made = await ramped.withdraw("30");
  equal(made.status, 201, made.text);
  deepEqual([made.body.fee.value, made.body.fee.gas.asset], [0, "ETH"]);
  const done = await ramped.ended(made.body.id);
  deepEqual([done.status, done.source.account], ["DONE", ramped.ramp.id]);
  equal(await ramped.paid(), 30n * USDC);
  const account = await ramped.fixture.account(ramped.ramp.id);
  deepEqual([account.balance.total, account.balance.available], ["70", "70"]);
  deepEqual(await drift(ramped), ["0", true]);
});

Deno.test("where both are rated the fee is charged in the token, and earned", async () => {
  await using ramped = await openTokenRamp();
  const { admin } = ramped.fixture.realm;
  for (const [base, rate] of [["ETH", "2500"], ["USDC", "1.25"]]) {
    const set = await admin.send("PUT", "/v1/rates", { base, currency: "USD", rate });
    equal(set.status, 200, set.text);
  }
  const made = await ramped.withdraw("30", { fee: { paid_by: "receiver", speed: "medium" } });
  equal(made.status, 201, made.text);
  const [, fee] = /"paid_by":"receiver","speed":"medium","value":([\d.]+)/.exec(made.text)!;
  const [, gas] = /"gas":\{"asset":"ETH","value":([\d.]+)/.exec(made.text)!;
  // 2500 / 1.25 = 2000, rounded up to what USDC can be divided into.
  const exact = BigInt(gas.replace(".", "").padEnd(19, "0").slice(-19)) * 2000n;
  const charged = (exact + 10n ** 12n - 1n) / 10n ** 12n;
  equal(BigInt(fee.split(".")[1].padEnd(6, "0")), charged);
  equal((await ramped.ended(made.body.id)).status, "DONE");
  equal(await ramped.paid(), 30n * USDC - charged);
  deepEqual(await drift(ramped), ["0", true]);
});

Deno.test("a token that says false, or tells no balances, is refused by the dry run, and nothing is spent", async () => {
  await using ramped = await openTokenRamp();
  const { fixture: { anvil, realm, account }, ramp, token: { become, contract } } = ramped;
  const refused = async (why: RegExp) => {
    const made = await ramped.withdraw("30");
    equal(made.status, 201, made.text);
    const failed = await ramped.ended(made.body.id);
    deepEqual([failed.status, failed.chain], ["FAILED", undefined]);
    match(failed.error.detail, why);
    equal((await account(ramp.id)).balance.available, "100");
  };
  await become("Refuser");
  await refused(/refuses/);
  // Code that reverts; that loops.
  for (const code of ["0x5f5ffd", "0x5b5f56"]) {
    await anvil.rpc("anvil_setCode", contract, code);
    await refused(/does not tell balances/);
  }
  // No code, as a node tells it that has not read so far: it waits, and says why.
  await anvil.rpc("anvil_setCode", contract, "0x");
  const { body: { id } } = await ramped.withdraw("30");
  await realm.drain();
  const { status, history } = (await realm.admin.send("GET", `/v1/withdrawals/${id}`)).body;
  equal(status, "PROCESSING");
  match(history.at(-1).reason, /does not tell balances/);
  const canceled = await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`, {});
  deepEqual([canceled.status, canceled.body.status], [200, "CANCELED"], canceled.text);
  equal((await account(ramp.id)).balance.available, "100");
});

Deno.test("a token that says false in the block has paid nothing: FAILED, and given back", async () => {
  await using ramped = await openTokenRamp();
  const { anvil, realm } = ramped.fixture;
  const refuser = await anvil.rpc("eth_getCode", await anvil.deploy("Refuser"), "latest");
  const made = await ramped.withdraw("30");
  await realm.drain(); // sent, and not mined yet
  await anvil.rpc("anvil_setCode", ramped.token.contract, refuser);
  const failed = await ramped.ended(made.body.id);
  match(failed.error.detail, /moved nothing/);
  equal(failed.status, "FAILED");
  equal((await ramped.fixture.account(ramped.ramp.id)).balance.available, "100");
});

Deno.test("a withdrawal of a token that keeps a part takes the amount that left the ramp", async () => {
  await using ramped = await openTokenRamp();
  await ramped.token.become("Taxed");
  const made = await ramped.withdraw("30");
  equal((await ramped.ended(made.body.id)).status, "DONE");
  equal(await ramped.paid(), 27n * USDC);
  await ramped.fixture.mine();
  const { balance } = await ramped.fixture.account(ramped.ramp.id);
  deepEqual([balance.total, balance.assets], ["70", "70"]);
  deepEqual(await drift(ramped), ["0", true]);
});

Deno.test("without gas at the ramp's address a token is refused at once", async () => {
  await using ramped = await openTokenRamp();
  await ramped.fixture.anvil.rpc("anvil_setBalance", ramped.ramp.address, "0x10");
  await ramped.fixture.realm.command((tx) =>
    tx`update onchain_balances set amount = 16 where address = ${ramped.ramp.address} and contract = ''`
  );
  const refused = await ramped.withdraw("30");
  deepEqual([refused.status, refused.body.code], [409, "ramp.gas_insufficient"]);
});

async function openTokenRamp(): Promise<TokenRamp> {
  const fixture = await openRampFixture({ testnet: false });
  const token = await installToken(fixture.anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(ramp.address, 100n * USDC);
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "100");
  const context = await workerContextOf(fixture.realm);
  await refreshFees(context);
  context.chains.close();
  const { admin } = fixture.realm;
  const read = async (id: string) => (await admin.send("GET", `/v1/withdrawals/${id}`)).body;
  return {
    fixture,
    token,
    ramp,
    withdraw: (value, more = {}) =>
      admin.send("POST", "/v1/withdrawals", {
        source: { account: ramp.id },
        destination: { address: OUTSIDE },
        value,
        ...more,
      }),
    async ended(id) {
      await mineUntil(fixture, async () => (await read(id)).status !== "PROCESSING");
      return await read(id);
    },
    async paid() {
      const data = `0x70a08231${OUTSIDE.slice(2).toLowerCase().padStart(64, "0")}`;
      const call = { to: token.contract, data };
      return BigInt(await fixture.anvil.rpc<string>("eth_call", call, "latest"));
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

/** Compares chain and ledger as the timetable does. */
async function drift(ramped: TokenRamp): Promise<[string, boolean]> {
  const { realm } = ramped.fixture;
  const context = await workerContextOf(realm);
  await checkSolvency(context);
  context.chains.close();
  const [row] = (await realm.admin.send("GET", "/v1/solvency?asset=USDC")).body;
  return [row.drift, row.solvent];
}

Deno.test("one customer does not use up the day of a token's ramp by withdrawals that cost it nothing", async () => {
  await using ramped = await openTokenRamp();
  const { realm } = ramped.fixture;
  const { admin } = realm;
  const user = await realm.user();
  const { id: account } =
    (await user.send("POST", "/v1/accounts", { type: "virtual", asset: "USDC" }))
      .body;
  await realm.drain();
  await admin.send("PATCH", `/v1/accounts/${account}`, { ramp: ramped.ramp.id });
  const value = "20";
  const move = { source: { account: ramped.ramp.id }, destination: { account }, value };
  equal((await admin.send("POST", "/v1/transactions", move)).status, 201);
  const asked = { source: { account }, destination: { address: OUTSIDE }, value: "0.000001" };
  const statuses = [];
  for (let one = 0; one < 26; one++) {
    const { status, body } = await user.send("POST", "/v1/withdrawals", asked);
    statuses.push(body.code ?? status);
  }
  deepEqual(statuses, [...Array(25).fill(201), "rate.limited"]);
  const [order, withdrawal] = [crypto.randomUUID(), crypto.randomUUID()];
  await rejects(
    realm.command(async (tx) => {
      await tx`set constraints withdrawals_sponsored immediate`;
      await tx`insert into chain_orders select (jsonb_populate_record(o, jsonb_build_object(
        'id', ${order}::uuid, 'reference_id', ${withdrawal}::uuid))).*
        from chain_orders o where purpose = 'withdrawal' limit 1`;
      await tx`insert into withdrawals select (jsonb_populate_record(w, jsonb_build_object(
        'id', ${withdrawal}::uuid, 'order_id', ${order}::uuid, 'account', w.ramp, 'transaction', null))).*
        from withdrawals w limit 1`;
    }),
    /pays for too many withdrawals of others/,
  );
  const made = await realm.user();
  await rowsOf(realm, "update users set owner = $1 where id = $2", [user.id, made.id]);
  const more = (await made.send("POST", "/v1/accounts", { type: "virtual", asset: "USDC" })).body;
  await realm.drain();
  await admin.send("PATCH", `/v1/accounts/${more.id}`, { ramp: ramped.ramp.id });
  const given = { ...move, destination: { account: more.id }, value: "1" };
  equal((await admin.send("POST", "/v1/transactions", given)).status, 201);
  const another = { ...asked, source: { account: more.id } };
  equal(
    (await made.send("POST", "/v1/withdrawals", another)).body.code,
    "rate.limited",
    "of its own",
  );
  equal((await ramped.withdraw("1")).status, 201, "who writes the realm is not counted");
  for (const [base, rate] of [["ETH", "3000"], ["USDC", "1"]]) {
    equal((await admin.send("PUT", "/v1/rates", { base, currency: "USD", rate })).status, 200);
  }
  equal((await user.send("POST", "/v1/withdrawals", { ...asked, value: "1" })).status, 201);
});

Deno.test("a customer's accounting currency, which it chooses, does not decide whether a token's fee is charged", async () => {
  await using ramped = await openTokenRamp();
  const { realm } = ramped.fixture;
  const rate = async (base: string, currency: string, rate: string) => {
    const set = await realm.admin.send("PUT", "/v1/rates", { base, currency, rate });
    equal(set.status, 200, set.text);
  };
  await rate("ETH", "USD", "2500");
  await rate("USDC", "USD", "1");
  // Dearer coins than the realm's rates tell, in a currency of a customer's choice.
  await rate("ETH", "MKD", "1");
  await rate("USDC", "MKD", "1000");
  const fees = new Set<number>();
  for (const currency of ["USD", "MMY", "MKD", "ETH", "USDC"]) {
    const user = await realm.user();
    const change = await user.send("PATCH", `/v1/identities/${user.identity}`, { currency });
    equal(change.status, 200, change.text);
    const account = (await user.send("POST", "/v1/accounts", { type: "virtual", asset: "USDC" }))
      .body;
    equal(account.currency, currency);
    await realm.drain();
    await realm.admin.send("PATCH", `/v1/accounts/${account.id}`, { ramp: ramped.ramp.id });
    const ends = { source: { account: ramped.ramp.id }, destination: { account: account.id } };
    const given = await realm.admin.send("POST", "/v1/transactions", { ...ends, value: "10" });
    equal(given.status, 201, given.text);
    const asked = {
      source: { account: account.id },
      destination: { address: OUTSIDE },
      value: "1",
    };
    const made = await user.send("POST", "/v1/withdrawals?dry_run=true", asked);
    equal(made.status, 201, made.text);
    fees.add(made.body.fee.value);
  }
  deepEqual([fees.size, fees.has(0)], [1, false]);
});

Deno.test("rates older than an hour convert no fee: then the realm's setting counts", async () => {
  await using ramped = await openTokenRamp();
  const { realm } = ramped.fixture;
  for (const [base, rate] of [["ETH", "2500"], ["USDC", "1"]]) {
    await realm.admin.send("PUT", "/v1/rates", { base, currency: "USD", rate });
  }
  const rated = await ramped.withdraw("1");
  equal(rated.status, 201, rated.text);
  notEqual(rated.body.fee.value, 0);
  await realm.command((tx) =>
    tx`update rates set updated_at = now() - interval '61 minutes' where base = 'ETH'`
  );
  const free = await ramped.withdraw("1");
  equal(free.body.fee.value, 0);
  const path = `/v1/realms/${realm.id}`;
  const withdrawals = { USDC: { least: "5", fee: "0.75" } };
  equal((await realm.admin.send("PATCH", path, { withdrawals })).status, 200);
  const small = await ramped.withdraw("4.99");
  deepEqual([small.status, small.body.code], [409, "withdrawal.below_fee"]);
  const fixed = await ramped.withdraw("5");
  deepEqual([fixed.status, fixed.body.fee.value, fixed.body.fee.gas.asset], [201, 0.75, "ETH"]);
  for (const { body: { id } } of [rated, free, fixed]) {
    equal((await ramped.ended(id)).status, "DONE");
  }
  deepEqual(await drift(ramped), ["0", true]);
  const wrong = [
    { NOSUCH: { fee: "1" } },
    { USDC: { fee: "0.0000001" } },
    { USDC: { fee: "-1" } },
    { USDC: { other: "1" } },
  ];
  for (const withdrawals of wrong) {
    const refused = await realm.admin.send("PATCH", path, { withdrawals });
    deepEqual([refused.status, refused.body.code], [400, "request.invalid"]);
  }
});

Deno.test("a token that fails in the block costs its sender the gas, at the ratio of its charge", async () => {
  await using ramped = await openTokenRamp();
  const { anvil, realm } = ramped.fixture;
  for (const [base, rate] of [["ETH", "2500"], ["USDC", "1"]]) {
    await realm.admin.send("PUT", "/v1/rates", { base, currency: "USD", rate });
  }
  const refuser = await anvil.rpc("eth_getCode", await anvil.deploy("Refuser"), "latest");
  const made = await ramped.withdraw("30");
  await realm.drain(); // sent, and not mined yet
  await anvil.rpc("anvil_setCode", ramped.token.contract, refuser);
  const failed = await ramped.ended(made.body.id);
  match(failed.error.detail, /moved nothing/);
  const [{ fees }] = await rowsOf<{ fees: string }>(
    realm,
    "select trim_scale(total)::text as fees from accounts where system = 'fees' and asset = 'USDC'",
  );
  ok(Number(fees) > 0 && Number(fees) < made.body.fee.value, fees);
  const [{ kept }] = await rowsOf<{ kept: string }>(
    realm,
    "select trim_scale(ceil(cost * fee * 1000000 / gas) / 1000000)::text as kept from withdrawals",
  );
  equal(fees, kept, "rounded up to a base unit");
  deepEqual(await drift(ramped), ["0", true]);
});
