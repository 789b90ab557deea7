import { deepEqual, equal, match, ok } from "node:assert/strict";
import { toUnits } from "../../domain/money.ts";
import { type Crossing, type Step } from "../../workers/sending/signing.ts";
import { COIN, LITECOIN, openCoinDesk } from "../support/utxo_fixture.ts";
import { type Desk, openDesk, OUTSIDE } from "../support/evm_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { crashAt, pay, queue, sizeOf, statesOf } from "../support/pending_withdrawals.ts";
import { mineUntil, rampStage } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

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

async function insolvent({ realm }: Desk) {
  const write = (stopped: boolean) =>
    rowsOf(
      realm,
      `insert into solvency (asset, testnet, assets, height, liabilities, fees, pending, sending,
          drift, solvent, stopped, checked_at)
        values ('ETH', false, 10 - $1::boolean::integer, 1, 10, 0, 0, 0,
          -$1::boolean::integer, not $1, $1, now())
        on conflict (asset, testnet) do update set assets = excluded.assets, drift = excluded.drift,
          solvent = excluded.solvent, stopped = excluded.stopped`,
      [stopped],
    );
  await write(true);
  return () => write(false);
}

/** Ends a worker at a step. */
function endAt(step: Step): Crossing {
  return (passed) => {
    if (passed === step) throw new Error("ended");
  };
}

async function paid({ anvil }: Desk): Promise<bigint> {
  return BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
}

async function signedOf({ realm }: Desk): Promise<number> {
  const rows = await rowsOf(realm, "select 1 from order_candidates where raw is not null");
  return rows.length;
}

const HOLDS: Record<string, (desk: Desk) => Promise<() => Promise<unknown>>> = {
  "a stop of the realm": (desk) => stopSigning(desk.realm),
  "a stop of the asset": (desk) => stopSigning(desk.realm, { asset: "ETH" }),
  "a stop of the chain": (desk) => stopSigning(desk.realm, { chain: "ETHEREUM" }),
  "a stop of the account": (desk) => stopSigning(desk.realm, { account: desk.account }),
  "a stop of the ramp": (desk) => stopSigning(desk.realm, { account: desk.ramp }),
  "a stop of the user": (desk) => stopSigning(desk.realm, { user: desk.realm.admin.id }),
  "a stop of the destination": (desk) =>
    stopSigning(desk.realm, { destination: OUTSIDE.toLowerCase() }),
  "a frozen account": (desk) => frozen(desk.realm, desk.account),
  "a frozen ramp": (desk) => frozen(desk.realm, desk.ramp),
  "insolvency": insolvent,
};

for (const [name, hold] of Object.entries(HOLDS)) {
  Deno.test(`${name} keeps a withdrawal from being signed until it is over, and others go on`, async () => {
    await using desk = await openDesk();
    const first = (await desk.withdraw("1")).body.id;
    await desk.look(endAt("planned")).catch(() => {});
    const second = (await desk.withdraw("1")).body.id;
    const release = await hold(desk);
    for (let round = 0; round < 3; round++) {
      await desk.look();
      await desk.anvil.mine();
    }
    equal(await paid(desk), 0n);
    const fills = await rowsOf(desk.realm, "select 1 from orders where purpose = 'fill'");
    equal(await signedOf(desk) <= fills.length, true, "nothing but gaps may be filled");
    for (const id of [first, second]) {
      const { status, history } = await desk.read(id);
      const waits = history.filter((entry: { event: string }) => entry.event === "waiting");
      deepEqual([status, waits.length], ["PROCESSING", 1], JSON.stringify(history));
      match(waits[0].reason, /stop|frozen|less of ETH/);
    }
    equal((await desk.realm.admin.send("POST", `/v1/withdrawals/${second}/cancel`)).status, 200);
    await release();
    equal((await desk.finish(first)).status, "DONE");
    equal(await paid(desk), 10n ** 18n);
    equal((await desk.books()).ramp, "0");
  });
}

Deno.test("a hold of one account holds up no other withdrawal of its ramp", async () => {
  await using desk = await openDesk();
  const { realm } = desk;
  const made = await realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: "ETH",
    ramp: desk.ramp,
  });
  await realm.drain();
  const move = { source: { account: desk.account }, destination: { account: made.body.id } };
  await realm.admin.send("POST", "/v1/transactions", { ...move, value: "3" });
  const held = (await desk.withdraw("1")).body.id;
  await desk.look(endAt("planned")).catch(() => {});
  const release = await frozen(realm, desk.account);
  const other = await desk.withdraw("2", { source: { account: made.body.id } });
  equal((await desk.finish(other.body.id)).status, "DONE");
  equal((await desk.read(held)).status, "PROCESSING");
  equal(await paid(desk), 2n * 10n ** 18n);
  await release();
  equal((await desk.finish(held)).status, "DONE");
  equal(await paid(desk), 3n * 10n ** 18n);
});

Deno.test("a stop that is set while a worker signs is obeyed: the signature is not kept", async () => {
  await using desk = await openDesk();
  const { id } = (await desk.withdraw("1")).body;
  let lift = () => Promise.resolve();
  await desk.look(async (step) => {
    if (step === "signed") lift = await stopSigning(desk.realm);
  });
  equal(await signedOf(desk), 0);
  await desk.look();
  equal(await signedOf(desk), 0);
  await lift();
  equal((await desk.finish(id)).status, "DONE");
  equal(await paid(desk), 10n ** 18n);
});

Deno.test("a stop that is set in one process holds in another at once", async () => {
  await using desk = await openDesk();
  await using second = desk.realm.another();
  await desk.withdraw("1");
  await desk.look(endAt("signed")).catch(() => {});
  const send = second.send(desk.realm.admin.key);
  const body = { what: "signing", reason: "incident" };
  equal((await send("POST", "/v1/stops", body)).status, 201);
  await desk.look();
  equal(await signedOf(desk), 0);
});

Deno.test("what is signed goes on being sent under a stop, the same bytes; a replacement waits", async () => {
  await using desk = await openDesk();
  const { id } = (await desk.withdraw("1", { fee: { speed: "slow" } })).body;
  await desk.look(endAt("stored")).catch(() => {});
  equal(await signedOf(desk), 1);
  const lift = await stopSigning(desk.realm);
  await frozen(desk.realm, desk.account);
  await desk.look();
  const { chain } = await desk.read(id);
  ok(chain.hash);
  await desk.anvil.rpc("anvil_dropTransaction", chain.hash);
  const sped = await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
    speed: "fast",
  });
  equal(sped.status, 200, sped.text);
  await desk.look();
  equal(await signedOf(desk), 1);
  const known = await desk.anvil.rpc("eth_getTransactionByHash", chain.hash);
  ok(known !== null, "the bytes were sent again");
  const done = await desk.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", chain.hash]);
  await lift();
});

Deno.test("a stop of moves refuses withdrawals by their destination, and out of a ramp itself", async () => {
  await using desk = await openDesk();
  const { send } = desk.realm.admin;
  const stop = async (narrow: Record<string, unknown>) =>
    (await send("POST", "/v1/stops", { what: "moves", reason: "incident", ...narrow })).body.id;
  const ramp = { source: { account: desk.ramp } };
  for (
    const narrow of [{}, { destination: OUTSIDE.toLowerCase() }, { chain: "ETHEREUM" }, {
      asset: "ETH",
    }, { user: desk.realm.admin.id }]
  ) {
    const id = await stop(narrow);
    for (const more of [{}, ramp]) {
      const { status, body } = await desk.withdraw("1", more);
      deepEqual([status, body.code], [409, "stop.active"], JSON.stringify({ narrow, more }));
    }
    await send("DELETE", `/v1/stops/${id}`);
  }
  await stop({ destination: "0x00000000000000000000000000000000000c0de1" });
  const { body } = await desk.withdraw("1");
  equal(body.status, "PROCESSING");
  await stop({});
  equal((await desk.finish(body.id)).status, "DONE", "what was asked for before goes on");
});

Deno.test("deposits are seen and credited under every stop; sweeps wait for signing", async () => {
  await using stage = await rampStage({ testnet: false });
  const { realm, anvil } = stage;
  const ramp = await stage.ramp();
  const own = await stage.address(ramp.id);
  await realm.admin.send("POST", "/v1/stops", { what: "moves", reason: "incident" });
  const lift = await stopSigning(realm);
  await anvil.pool({ to: own.address, value: 10n ** 18n });
  await mineUntil(stage, async () => (await stage.account(own.id)).balance.total === "1");
  for (let round = 0; round < 4; round++) await stage.mine();
  const raw = "select 1 from order_candidates where raw is not null";
  equal((await rowsOf(realm, raw)).length, 0);
  await lift();
  await mineUntil(stage, async () => (await stage.account(own.id)).balance.total === "0");
  const { total } = (await stage.account(ramp.id)).balance;
  ok(toUnits(total, 18) > 9n * 10n ** 17n, total);
});

Deno.test({
  name:
    "LTC: a payout leaves out who is frozen, before and after it is planned, and pays the others",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(3n * COIN, 3n * COIN);
    const spare = await desk.realm.admin.send("POST", "/v1/transactions", {
      source: { account: desk.ramp },
      destination: { account: desk.virtual },
      value: "1",
    });
    equal(spare.status, 201, spare.text);
    const one = await queue(desk, LITECOIN, 2);
    const to = (await newParty("LITECOIN")).address;
    const held = await desk.withdraw(to, "0.5");
    const two = await queue(desk, LITECOIN, 2);
    const others = [...one.ids, ...two.ids];
    await crashAt(desk, "planned");
    deepEqual(await statesOf(desk, [...others, held]), Array(5).fill("joined"));
    const release = await frozen(desk.realm, desk.virtual);
    await desk.ended(others);
    for (const id of others) equal((await desk.withdrawal(id)).status, "DONE");
    for (const list of [one, two]) {
      for (const [at, address] of list.to.entries()) {
        deepEqual(await desk.held(address), [sizeOf(at)]);
      }
    }
    deepEqual([await desk.held(to), await statesOf(desk, [held])], [[], ["new"]]);
    const later = await pay(desk, (await newParty("LITECOIN")).address, "0.1");
    await desk.ended([later]);
    deepEqual([await desk.held(to), await statesOf(desk, [held])], [[], ["new"]]);
    await release();
    await desk.ended([held]);
    deepEqual(await desk.held(to), [COIN / 2n]);
    await desk.agree();
  },
});
