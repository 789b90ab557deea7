import { deepEqual, equal, match, ok } from "node:assert/strict";
import { toUnits } from "../../domain/money.ts";
import { type Checkpoint, type OnCheckpoint } from "../../workers/sending/order_work.ts";
import { COIN, LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";
import { type FundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { crashAt, pay, queue, sizeOf, statesOf } from "../support/pending_withdrawals.ts";
import { mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";

const test = sharingFundedRamp("a funded ramp whose signing is held up");

/** Sets a stop of signing; gives how to lift it. */
async function stopSigning(realm: TestRealm, narrow: Record<string, unknown> = {}) {
  const body = { what: "signing", reason: "incident", ...narrow };
  const made = await realm.admin.send("POST", "/v1/stops", body);
  equal(made.status, 201, made.text);
  return async () => {
    equal((await realm.admin.send("DELETE", `/v1/stops/${made.body.id}`)).status, 200);
  };
}

async function frozen(realm: TestRealm, id: string) {
  equal((await realm.admin.send("POST", `/v1/accounts/${id}/freeze`)).status, 200);
  return async () => {
    equal((await realm.admin.send("POST", `/v1/accounts/${id}/unfreeze`)).status, 200);
  };
}

async function insolvent({ realm }: FundedRamp) {
  const write = (stopped: boolean) =>
    rowsOf(
      realm,
      `insert into solvency (asset, testnet, assets, height, liabilities, fees, pending, sending,
          drift, solvent, stopped, provisional, checked_at)
        values ('ETH', false, 10 - $1::boolean::integer, 1, 10, 0, 0, 0,
          -$1::boolean::integer, not $1, $1, false, now())
        on conflict (asset, testnet) do update set assets = excluded.assets, drift = excluded.drift,
          solvent = excluded.solvent, stopped = excluded.stopped`,
      [stopped],
    );
  await write(true);
  return () => write(false);
}

/** Ends a worker at a step. */
function endAt(step: Checkpoint): OnCheckpoint {
  return (passed) => {
    if (passed === step) throw new Error("ended");
  };
}

async function paid({ anvil }: FundedRamp): Promise<bigint> {
  return BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
}

async function signedOf({ realm }: FundedRamp): Promise<number> {
  const rows = await rowsOf(realm, "select 1 from order_attempts where raw is not null");
  return rows.length;
}

const HOLDS: Record<string, (funded: FundedRamp) => Promise<() => Promise<unknown>>> = {
  "a stop of the realm": (funded) => stopSigning(funded.realm),
  "a stop of the asset": (funded) => stopSigning(funded.realm, { asset: "ETH" }),
  "a stop of the chain": (funded) => stopSigning(funded.realm, { chain: "ETHEREUM" }),
  "a stop of the account": (funded) => stopSigning(funded.realm, { account: funded.account }),
  "a stop of the ramp": (funded) => stopSigning(funded.realm, { account: funded.ramp }),
  "a stop of the user": (funded) => stopSigning(funded.realm, { user: funded.realm.admin.id }),
  "a stop of the destination": (funded) =>
    stopSigning(funded.realm, { destination: OUTSIDE.toLowerCase() }),
  "a frozen account": (funded) => frozen(funded.realm, funded.account),
  "a frozen ramp": (funded) => frozen(funded.realm, funded.ramp),
  "insolvency": insolvent,
};

for (const [name, hold] of Object.entries(HOLDS)) {
  test(`${name} keeps a withdrawal from being signed until it is over, and others go on`, async (funded) => {
    const first = (await funded.withdraw("1")).body.id;
    await funded.advance(endAt("planned")).catch(() => {});
    const second = (await funded.withdraw("1")).body.id;
    const release = await hold(funded);
    for (let round = 0; round < 3; round++) {
      await funded.advance();
      await funded.anvil.mine();
    }
    equal(await paid(funded), 0n);
    const fills = await rowsOf(funded.realm, "select 1 from chain_orders where purpose = 'fill'");
    equal(await signedOf(funded) <= fills.length, true, "nothing but gaps may be filled");
    for (const id of [first, second]) {
      const { status, history } = await funded.read(id);
      const waits = history.filter((entry: { event: string }) => entry.event === "waiting");
      deepEqual([status, waits.length], ["PROCESSING", 1], JSON.stringify(history));
      match(waits[0].reason, /stop|frozen|less of ETH/);
    }
    equal((await funded.realm.admin.send("POST", `/v1/withdrawals/${second}/cancel`)).status, 200);
    await release();
    equal((await funded.finish(first)).status, "DONE");
    equal(await paid(funded), 10n ** 18n);
    equal((await funded.books()).ramp, "0");
  });
}

test("a hold of one account holds up no other withdrawal of its ramp", async (funded) => {
  const { realm } = funded;
  const made = await realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: "ETH",
    ramp: funded.ramp,
  });
  await realm.drain();
  const move = { source: { account: funded.account }, destination: { account: made.body.id } };
  await realm.admin.send("POST", "/v1/transactions", { ...move, value: "3" });
  const held = (await funded.withdraw("1")).body.id;
  await funded.advance(endAt("planned")).catch(() => {});
  const release = await frozen(realm, funded.account);
  const other = await funded.withdraw("2", { source: { account: made.body.id } });
  equal((await funded.finish(other.body.id)).status, "DONE");
  equal((await funded.read(held)).status, "PROCESSING");
  equal(await paid(funded), 2n * 10n ** 18n);
  await release();
  equal((await funded.finish(held)).status, "DONE");
  equal(await paid(funded), 3n * 10n ** 18n);
});

test("a stop that is set while a worker signs is obeyed: the signature is not kept", async (funded) => {
  const { id } = (await funded.withdraw("1")).body;
  let lift = () => Promise.resolve();
  await funded.advance(async (step) => {
    if (step === "signed") lift = await stopSigning(funded.realm);
  });
  equal(await signedOf(funded), 0);
  await funded.advance();
  equal(await signedOf(funded), 0);
  await lift();
  equal((await funded.finish(id)).status, "DONE");
  equal(await paid(funded), 10n ** 18n);
});

test("a stop that is set in one process holds in another at once", async (funded) => {
  await using second = funded.realm.another();
  await funded.withdraw("1");
  await funded.advance(endAt("signed")).catch(() => {});
  const send = second.send(funded.realm.admin.key);
  const body = { what: "signing", reason: "incident" };
  equal((await send("POST", "/v1/stops", body)).status, 201);
  await funded.advance();
  equal(await signedOf(funded), 0);
});

test("signed bytes continue to be sent under a stop; a replacement waits", async (funded) => {
  const { id } = (await funded.withdraw("1", { fee: { speed: "slow" } })).body;
  await funded.advance(endAt("stored")).catch(() => {});
  equal(await signedOf(funded), 1);
  const lift = await stopSigning(funded.realm);
  await frozen(funded.realm, funded.account);
  await funded.advance();
  const { chain } = await funded.read(id);
  ok(chain.hash);
  await funded.anvil.rpc("anvil_dropTransaction", chain.hash);
  const sped = await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
    speed: "fast",
  });
  equal(sped.status, 200, sped.text);
  await funded.advance();
  equal(await signedOf(funded), 1);
  const known = await funded.anvil.rpc("eth_getTransactionByHash", chain.hash);
  ok(known !== null, "the bytes were sent again");
  const done = await funded.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", chain.hash]);
  await lift();
});

test("a stop of moves refuses withdrawals by their destination, and out of a ramp itself", async (funded) => {
  const { send } = funded.realm.admin;
  const stop = async (narrow: Record<string, unknown>) =>
    (await send("POST", "/v1/stops", { what: "moves", reason: "incident", ...narrow })).body.id;
  const ramp = { source: { account: funded.ramp } };
  for (
    const narrow of [{}, { destination: OUTSIDE.toLowerCase() }, { chain: "ETHEREUM" }, {
      asset: "ETH",
    }, { user: funded.realm.admin.id }]
  ) {
    const id = await stop(narrow);
    for (const more of [{}, ramp]) {
      const { status, body } = await funded.withdraw("1", more);
      deepEqual([status, body.code], [409, "stop.active"], JSON.stringify({ narrow, more }));
    }
    await send("DELETE", `/v1/stops/${id}`);
  }
  await stop({ destination: "0x00000000000000000000000000000000000c0de1" });
  const { body } = await funded.withdraw("1");
  equal(body.status, "PROCESSING");
  await stop({});
  equal((await funded.finish(body.id)).status, "DONE", "what was asked for before goes on");
});

Deno.test("deposits are seen and credited under every stop; sweeps wait for signing", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const own = await fixture.address(ramp.id);
  await realm.admin.send("POST", "/v1/stops", { what: "moves", reason: "incident" });
  const lift = await stopSigning(realm);
  await anvil.pool({ to: own.address, value: 10n ** 18n });
  await mineUntil(fixture, async () => (await fixture.account(own.id)).balance.total === "1");
  for (let round = 0; round < 4; round++) await fixture.mine();
  const raw = "select 1 from order_attempts where raw is not null";
  equal((await rowsOf(realm, raw)).length, 0);
  await lift();
  await mineUntil(fixture, async () => (await fixture.account(own.id)).balance.total === "0");
  const { total } = (await fixture.account(ramp.id)).balance;
  ok(toUnits(total, 18) > 9n * 10n ** 17n, total);
});

Deno.test({
  name:
    "LTC: a batch leaves out frozen accounts, before and after it is planned, and pays the others",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using funded = await openUtxoRamp(LITECOIN);
    await funded.fund(3n * COIN, 3n * COIN);
    const spare = await funded.realm.admin.send("POST", "/v1/transactions", {
      source: { account: funded.ramp },
      destination: { account: funded.virtual },
      value: "1",
    });
    equal(spare.status, 201, spare.text);
    const one = await queue(funded, LITECOIN, 2);
    const to = (await newParty("LITECOIN")).address;
    const held = await funded.withdraw(to, "0.5");
    const two = await queue(funded, LITECOIN, 2);
    const others = [...one.ids, ...two.ids];
    await crashAt(funded, "planned");
    deepEqual(await statesOf(funded, [...others, held]), Array(5).fill("batched"));
    const release = await frozen(funded.realm, funded.virtual);
    await funded.ended(others);
    for (const id of others) equal((await funded.withdrawal(id)).status, "DONE");
    for (const list of [one, two]) {
      for (const [at, address] of list.to.entries()) {
        deepEqual(await funded.held(address), [sizeOf(at)]);
      }
    }
    deepEqual([await funded.held(to), await statesOf(funded, [held])], [[], ["new"]]);
    const later = await pay(funded, (await newParty("LITECOIN")).address, "0.1");
    await funded.ended([later]);
    deepEqual([await funded.held(to), await statesOf(funded, [held])], [[], ["new"]]);
    await release();
    await funded.ended([held]);
    deepEqual(await funded.held(to), [COIN / 2n]);
    await funded.agree();
  },
});
