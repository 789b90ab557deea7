import { deepEqual, equal } from "node:assert/strict";
import { CALLS } from "../support/nodes/anvil.ts";
import { rampStage } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;

Deno.test("a deposit to a ramp is seen, waits for its depth and is credited once", async () => {
  await using stage = await rampStage();
  const { anvil, follower } = stage;
  const ramp = await stage.ramp();
  const hash = await anvil.pool({ to: ramp.address, value: ETHER / 2n });
  await stage.mine();
  const [seen] = await stage.deposits();
  deepEqual([seen.status, seen.hash, seen.index, seen.amount], ["PENDING", hash, -1, "0.5"]);
  equal(seen.confirmations, 1);
  deepEqual((await stage.account(ramp.id)).balance, {
    total: "0",
    available: "0",
    assets: "0.5",
  });
  await stage.mine();
  const [counted] = await stage.deposits();
  deepEqual([counted.status, counted.credited, counted.confirmations], ["CONFIRMED", "0.5", 2]);
  deepEqual((await stage.account(ramp.id)).balance.total, "0.5");
  await stage.mine(3);
  await follower.follow(2);
  equal((await stage.account(ramp.id)).balance.total, "0.5");
  const events = await rowsOf<{ type: string }>(
    stage.realm,
    "select type from events where type like 'deposit%' order by id",
  );
  deepEqual(events.map((one) => one.type), ["deposit.pending", "deposit.confirmed"]);
});

Deno.test("a crash between recording and crediting loses nothing and doubles nothing", async () => {
  await using stage = await rampStage();
  const ramp = await stage.ramp();
  await stage.anvil.pool({ to: ramp.address, value: ETHER });
  await stage.anvil.mine(5);
  await stage.follower.follow();
  equal((await stage.account(ramp.id)).balance.total, "1");
  // As after a restore from a moment before: the cursor stands where the deposit was not seen yet.
  await rowsOf(
    stage.realm,
    "select height from chain_cursors",
  );
  await stage.realm.command(async (tx) => {
    await tx`update chain_cursors c set height = b.height, hash = b.hash
      from chain_blocks b where b.height = (select min(height) from chain_blocks)`;
  });
  await stage.follower.follow(2);
  equal((await stage.account(ramp.id)).balance.total, "1");
  equal((await stage.deposits()).length, 1);
});

Deno.test("two workers at once credit a deposit once", async () => {
  await using stage = await rampStage();
  const ramp = await stage.ramp();
  await stage.anvil.pool({ to: ramp.address, value: ETHER });
  await stage.anvil.mine(4);
  await Promise.all([1, 2, 3].map(() => stage.follower.look()));
  await stage.follower.follow();
  equal((await stage.account(ramp.id)).balance.total, "1");
});

Deno.test("a reorganisation before the depth moves a deposit's block or orphans it", async () => {
  await using stage = await rampStage({ env: { ETHEREUM_TESTNET_CONFIRMATIONS: "5" } });
  const { anvil } = stage;
  const ramp = await stage.ramp();
  await anvil.mine(3);
  await anvil.send({ to: ramp.address, value: ETHER });
  await stage.follower.follow();
  equal((await stage.deposits())[0].status, "PENDING");
  await anvil.rpc("anvil_reorg", 2, []);
  await stage.mine();
  equal((await stage.deposits())[0].status, "ORPHANED");
  await stage.mine(8);
  deepEqual((await stage.account(ramp.id)).balance.total, "0");
  const hash = await anvil.send({ to: ramp.address, value: 2n * ETHER });
  await stage.follower.follow();
  // The same transaction in another block: it moves, and counts from there.
  const raw = await anvil.rpc<string>("eth_getRawTransactionByHash", hash);
  await anvil.rpc("anvil_reorg", 1, [[raw, 0]]);
  await stage.mine(6);
  const last = (await stage.deposits()).find((one) => one.hash === hash);
  equal(last.status, "CONFIRMED");
  equal((await stage.account(ramp.id)).balance.total, "2");
});

Deno.test("a reorganisation beyond the depth freezes the ramp and invents no money", async () => {
  await using stage = await rampStage();
  const { anvil } = stage;
  const ramp = await stage.ramp();
  await anvil.mine(3);
  await anvil.send({ to: ramp.address, value: ETHER });
  await stage.mine(2);
  equal((await stage.account(ramp.id)).balance.total, "1");
  await anvil.rpc("anvil_reorg", 4, []);
  await stage.mine();
  const account = await stage.account(ramp.id);
  deepEqual([account.balance.total, account.frozen], ["1", true]);
  const [deposit] = await stage.deposits();
  deepEqual([deposit.status, deposit.block], ["CONFIRMED", null]);
  equal(deposit.error.code, "deposit.not_found");
});

Deno.test("coins that a contract pays inside a call are found by comparing balances", async () => {
  await using stage = await rampStage();
  const { anvil } = stage;
  const ramp = await stage.ramp();
  const one = await stage.address(ramp.id);
  const batcher = await anvil.deploy("Batcher");
  await stage.mine(2);
  const data = CALLS.encodeFunctionData("payCoin", [[ramp.address, one.address], ETHER]);
  await anvil.pool({ to: batcher, value: 2n * ETHER, data });
  await stage.mine();
  const seen = await stage.deposits();
  deepEqual(seen.map((row) => [row.status, row.amount]), [["PENDING", "1"], ["PENDING", "1"]]);
  await stage.mine(2);
  equal((await stage.account(ramp.id)).balance.total, "1");
});

Deno.test("a chain that waits for an operator credits nothing until a range is rescanned", async () => {
  await using stage = await rampStage();
  const { send } = stage.realm.admin;
  const ramp = await stage.ramp();
  const halted = { detail: "no common ancestor" };
  await stage.realm.command((tx) => tx`update chain_cursors set halted = ${tx.json(halted)}`);
  await stage.anvil.pool({ to: ramp.address, value: ETHER });
  await stage.mine(3);
  deepEqual(await stage.deposits(), []);
  const [waiting] = (await send("GET", "/v1/chains")).body;
  deepEqual([waiting.healthy, waiting.error], [false, "no common ancestor"]);
  const range = { chain: "ETHEREUM", testnet: true, from: 0, to: 1 };
  equal((await send("POST", "/v1/deposits/rescan", range)).status, 200);
  await stage.realm.drain();
  await stage.mine();
  equal((await stage.account(ramp.id)).balance.total, "1");
  equal((await send("GET", "/v1/chains")).body[0].healthy, true);
});
