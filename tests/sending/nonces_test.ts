import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { insertReservedInputs } from "../../db/sending/order_attempts.ts";
import { toUnits } from "../../domain/money.ts";
import { insideOne } from "../support/eventually.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { NodeError, type Trick } from "../support/nodes/faulty_node.ts";
import {
  age,
  agree,
  baseFee,
  canceledFor,
  chargeOf,
  COIN,
  fillsOf,
  heldBy,
  madeFor,
  openFaultyRamp,
  overtaken,
  planAll,
  rounds,
  TRAP,
} from "./nonce_scenarios.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";

const DAY_MS = 86_400_000;
const test = sharingFundedRamp("nonces of one ramp", { nodes: 1 });
const testBehindTwo = sharingFundedRamp("nonces of one ramp behind two nodes", { nodes: 2 });

test(
  "a node that counts 100 000 transactions of a ramp that made none is not believed: nothing is signed on it",
  async (funded, [faulty]) => {
    faulty.trick = ({ method }) => method === "eth_getTransactionCount" ? "0x186a0" : undefined;
    const { body: { id } } = await funded.withdraw("1");
    await funded.advance();
    const [{ state, nonce, error }] = await rowsOf<Record<string, string>>(
      funded.realm,
      "select state, nonce, error from chain_orders",
    );
    deepEqual([state, nonce], ["new", null]);
    match(error, /counts 100000 transactions|is mined; no block shows it/);
    faulty.trick = () => undefined;
    equal((await funded.finish(id)).chain.nonce, 0);
    equal((await funded.finish((await funded.withdraw("1")).body.id)).chain.nonce, 1);
    deepEqual(await rowsOf(funded.realm, "select next from nonces"), [{ next: 2 }]);
    deepEqual(await fillsOf(funded), []);
    await agree(funded);
  },
);

test("a nonce of which nothing was signed is taken by the next order, and costs nothing", async (funded) => {
  const { body: { id } } = await funded.withdraw("1");
  await planAll(funded);
  equal((await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  const { body: { id: next } } = await funded.withdraw("1");
  equal((await funded.finish(next)).chain.nonce, 0);
  deepEqual(await fillsOf(funded), []);
  equal(await heldBy(funded, OUTSIDE), COIN);
  await agree(funded);
});

Deno.test("gaps are filled five at a time, and only in front of an order that waits", async () => {
  await using funded = await openFundedRamp({ coins: 20n * COIN, total: "20" });
  for (let one = 0; one < 8; one++) await funded.withdraw("1");
  await planAll(funded);
  // Seven of eight orders are gone without a payment: nobody will ever use their nonces.
  await rowsOf(funded.realm, "update chain_orders set state = 'canceled' where nonce < 7");
  await rowsOf(funded.realm, "delete from reserved_inputs where input not like '%:7'");
  await funded.advance();
  deepEqual(await fillsOf(funded), []);
  await rowsOf(funded.realm, "update chain_orders set created_at = now() - interval '2 minutes'");
  await funded.advance();
  deepEqual(await fillsOf(funded), [0, 1, 2, 3, 4]);
  const [{ id }] = await rowsOf<{ id: string }>(
    funded.realm,
    "select reference_id as id from chain_orders where nonce = 7",
  );
  equal((await funded.finish(id)).status, "DONE");
  deepEqual(await fillsOf(funded), [0, 1, 2, 3, 4, 5, 6]);
  equal(await heldBy(funded, OUTSIDE), COIN);
});

test("a withdrawal that is DONE and whose block is reorganised away is sent again, not filled", async (funded) => {
  const { body: { id } } = await funded.withdraw("1");
  await funded.advance();
  const fork = await funded.anvil.rpc<string>("evm_snapshot");
  equal((await funded.finish(id)).status, "DONE");
  equal(await heldBy(funded, OUTSIDE), COIN);
  ok(await funded.anvil.rpc("evm_revert", fork));
  await funded.anvil.rpc("anvil_dropAllTransactions");
  await funded.anvil.mine(4);
  equal(await heldBy(funded, OUTSIDE), 0n, "the chain has lost it");
  const { body: { id: next } } = await funded.withdraw("2");
  await funded.advance();
  equal((await funded.read(next)).chain.nonce, 1);
  await rowsOf(funded.realm, "update chain_orders set created_at = now() - interval '2 minutes'");
  equal((await funded.finish(next)).status, "DONE");
  equal(await heldBy(funded, OUTSIDE), 3n * COIN);
  deepEqual(await fillsOf(funded), []);
});

test("a slow withdrawal that the price has left behind is sped up when others wait behind it", async (funded) => {
  const slow = (await funded.withdraw("0.01", { fee: { speed: "slow" } })).body.id;
  await funded.advance();
  const base = await baseFee(funded);
  const dear = async () => {
    await funded.anvil.rpc("anvil_setNextBlockBaseFeePerGas", `0x${(base * 5n / 2n).toString(16)}`);
    await funded.anvil.mine();
  };
  await dear();
  const fast = (await funded.withdraw("1", { fee: { speed: "fast" } })).body.id;
  await funded.advance();
  await dear();
  await funded.advance();
  equal((await funded.read(fast)).chain.block, null);
  equal((await madeFor(funded, slow)).length, 1, "it has not waited long enough");
  await age(funded, 10);
  for (let round = 0; round < 6; round++) {
    await funded.advance();
    await dear();
  }
  equal((await madeFor(funded, slow)).length, 2);
  deepEqual([(await funded.read(slow)).status, (await funded.read(fast)).status], ["DONE", "DONE"]);
  equal(await heldBy(funded, OUTSIDE), COIN + COIN / 100n);
  await agree(funded);
});

test("a payment that is stuck at a price that is good enough is not replaced again and again", async (funded) => {
  const first = (await funded.withdraw("1", { fee: { speed: "fast" } })).body.id;
  await funded.advance();
  await funded.withdraw("1");
  await funded.advance();
  await age(funded, 10);
  for (let round = 0; round < 3; round++) await funded.advance();
  equal((await madeFor(funded, first)).length, 1);
});

test(
  "a transaction that no node takes is canceled by a replacement, and its value goes back only when that is deep enough",
  async (funded, [faulty]) => {
    const { body: { id } } = await funded.withdraw("1");
    let first: unknown = null;
    faulty.trick = ({ method, params }) => {
      if (method !== "eth_sendRawTransaction") return undefined;
      first ??= params[0];
      if (params[0] === first) throw new NodeError(-32000, "transaction type not supported");
      return undefined;
    };
    await funded.advance();
    await funded.advance();
    const behind = (await funded.withdraw("2")).body.id;
    await funded.advance();
    equal((await madeFor(funded, id)).length, 1, "it is tried for a while");
    await rowsOf(
      funded.realm,
      "update chain_orders set created_at = now() - interval '20 minutes'",
    );
    await funded.advance();
    await funded.advance();
    await funded.anvil.mine();
    await funded.advance();
    equal((await funded.read(id)).status, "PROCESSING");
    const failed = await funded.finish(id);
    equal(failed.status, "FAILED");
    equal((await funded.finish(behind)).status, "DONE");
    equal(await heldBy(funded, OUTSIDE), 2n * COIN);
    const paid = await funded.read(behind);
    const { account, fees } = await funded.books();
    equal(toUnits(account, 18), 8n * COIN - toUnits(chargeOf(paid), 18), "all of it is given back");
    ok(fees.startsWith("-"), "what it cost to cancel is the house's");
    deepEqual(await fillsOf(funded), []);
    await agree(funded);
    first = null;
    await cancelsLast(funded);
    await agree(funded);
  },
);

/** Nothing waits behind a canceled withdrawal: the node forgets the transaction that moves nothing, and the price rises. */
async function cancelsLast(funded: FundedRamp): Promise<void> {
  const { anvil } = funded;
  const { body: { id } } = await funded.withdraw("1");
  await funded.advance();
  await age(funded, 20);
  await funded.advance();
  await funded.advance();
  equal((await madeFor(funded, id)).length, 2);
  await anvil.rpc("anvil_dropAllTransactions");
  await rounds(funded, 400n);
  equal((await madeFor(funded, id)).length, 2, "it is not outbid for long enough");
  await age(funded, 20);
  await rounds(funded, 400n);
  equal((await funded.read(id)).status, "FAILED");
}

test(
  "an order that would fail now, and that others wait behind, is canceled by a replacement",
  async (funded) => {
    const trap = "0x00000000000000000000000000000000000b0b06";
    const slow =
      (await funded.withdraw("1", { destination: { address: trap }, fee: { speed: "slow" } }))
        .body.id;
    await funded.advance();
    const base = await baseFee(funded);
    const dear = async () => {
      await funded.anvil.rpc(
        "anvil_setNextBlockBaseFeePerGas",
        `0x${(base * 5n / 2n).toString(16)}`,
      );
      await funded.anvil.mine();
    };
    await dear();
    await funded.anvil.rpc("anvil_setCode", trap, "0x60006000fd");
    const fast = (await funded.withdraw("1", { fee: { speed: "fast" } })).body.id;
    await funded.advance();
    await age(funded, 20);
    for (let round = 0; round < 6; round++) {
      await funded.advance();
      await dear();
    }
    deepEqual([(await funded.read(slow)).status, (await funded.read(fast)).status], [
      "FAILED",
      "DONE",
    ]);
    deepEqual([await heldBy(funded, trap), await heldBy(funded, OUTSIDE)], [0n, COIN]);
    const { account } = await funded.books();
    const least = toUnits(chargeOf(await funded.read(fast)), 18);
    ok(toUnits(account, 18) < 9n * COIN - least, "who withdrew to what refuses bears its cost");
    await agree(funded);
  },
);

const REFUSALS: Readonly<Record<string, Trick>> = {
  "refuses the destination": ({ method, params }) => {
    const [call] = params as [{ to?: string }];
    if (method === "eth_getCode") return "0x60006000fd";
    if (method !== "eth_estimateGas" || call.to?.toLowerCase() !== TRAP) return;
    throw new NodeError(3, "execution reverted");
  },
  "says that the sender holds nothing": ({ method }) =>
    method === "eth_getBalance" ? "0x0" : undefined,
};

Deno.test("a withdrawal that one of two nodes refuses by now is sped up as it stands, and keeps none behind it waiting", async (t) => {
  const { funded, faulty } = await openFaultyRamp({ beside: true });
  await using _faulty = faulty;
  await using _funded = funded;
  const paid = { slow: 0n, fast: 0n };
  for (const [name, trick] of Object.entries(REFUSALS)) {
    await t.step(`it ${name}`, async () => {
      faulty.trick = () => undefined;
      const [slow, fast] = await overtaken(funded, {
        to: TRAP,
        between: () => faulty.trick = trick,
      });
      await rounds(funded, 25n);
      deepEqual([(await funded.read(slow)).status, (await funded.read(fast)).status], [
        "DONE",
        "DONE",
      ]);
      equal((await madeFor(funded, slow)).length, 2);
      paid.slow += COIN;
      paid.fast += COIN;
      deepEqual([await heldBy(funded, TRAP), await heldBy(funded, OUTSIDE)], [
        paid.slow,
        paid.fast,
      ]);
      await agree(funded);
    });
  }
  const chain = await funded.context.chains.open({ chain: "ETHEREUM", testnet: false });
  const told = chain.reports().filter((one) => one.toLowerCase().includes(TRAP));
  equal(told.length, 1, "it is told once");
  match(told[0], /127\.0\.0\.1.* would not take a transaction of .* to .*, 127\.0\.0\.1.* would/);
});

testBehindTwo(
  "a withdrawal that one of two nodes refuses by now, and that may not cost as much as is asked, is canceled for those behind it",
  async (funded, [faulty]) => {
    const trick = REFUSALS["refuses the destination"];
    const times = 200n;
    const between = () => faulty.trick = trick;
    const [slow, fast] = await overtaken(funded, { to: TRAP, between, times });
    await rounds(funded, times);
    await canceledFor(funded, slow, fast);
    await agree(funded);
  },
);

test("a withdrawal that was sent, and whose user freezes the account, is canceled for those behind it", async (funded) => {
  const between = async () => {
    const path = `/v1/accounts/${funded.account}/freeze`;
    equal((await funded.realm.admin.send("POST", path)).status, 200);
  };
  const [slow, fast] = await overtaken(funded, { to: TRAP, between });
  await rounds(funded, 25n);
  await canceledFor(funded, slow, fast);
});

test("a withdrawal that can pay the price, and not the eighth more that replaces it, is canceled for those behind it", async (funded) => {
  const times = 29n;
  const [slow, fast] = await overtaken(funded, { to: TRAP, asSent: 16n, times });
  await rounds(funded, times);
  await canceledFor(funded, slow, fast);
});

test("a withdrawal whose sender pays less than the price is canceled for those behind it at the sender's cost, up to its bound", async (funded) => {
  await insideOne(DAY_MS);
  const [slow, fast] = await overtaken(funded, { to: TRAP, isBound: true });
  await rounds(funded, 25n);
  await canceledFor(funded, slow, fast);
  const [failed, paid] = [await funded.read(slow), await funded.read(fast)];
  const kept = toUnits(failed.max_fee, 18);
  const { account, fees } = await funded.books();
  equal(toUnits(account, 18), 9n * COIN - kept - toUnits(chargeOf(paid), 18));
  ok(toUnits(fees, 18) < 0n, "what it cost beyond that is the house's");
  const noted =
    "select lost::text from holder_losses join accounts a using (holder) where a.id = $1";
  const [{ lost }] = await rowsOf<{ lost: string }>(funded.realm, noted, [funded.account]);
  equal(toUnits(lost, 18), -toUnits(fees, 18));
  await agree(funded);
});

testBehindTwo(
  "a speed-up that one of two nodes refuses is made as it stands, and the sent attempt is followed to its end",
  async (funded, [faulty]) => {
    const { body: { id } } = await funded.withdraw("1", { destination: { address: TRAP } });
    await funded.advance();
    faulty.trick = REFUSALS["refuses the destination"];
    const asked = await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
      speed: "fast",
    });
    ok(asked.status < 300, asked.text);
    await funded.advance();
    equal((await madeFor(funded, id)).length, 2);
    equal((await funded.finish(id)).status, "DONE");
    equal(await heldBy(funded, TRAP), COIN);
  },
);

Deno.test("the database gives nonces one by one, and none twice", async () => {
  await using funded = await openFundedRamp();
  await funded.withdraw("1");
  await funded.advance();
  const other = { chain: "ETHEREUM", network: "main", id: crypto.randomUUID() };
  await funded.realm.command(async (tx) => {
    const inputs = [`${funded.address}:0`];
    equal(await insertReservedInputs(tx, other, inputs, Date.now()), false);
  });
  const step = /nonces_step|nonces of/;
  await rejects(rowsOf(funded.realm, "update nonces set next = 100000"), step);
  await rejects(rowsOf(funded.realm, "update nonces set next = 0"), step);
  await rejects(
    rowsOf(
      funded.realm,
      "insert into nonces (chain, network, address, next) values ('ETHEREUM', 'main', '0x1', 2)",
    ),
    step,
  );
});
