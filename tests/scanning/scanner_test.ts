import { deepEqual, equal } from "node:assert/strict";
import { selectDeposits } from "../../db/deposits/deposits.ts";
import { creditDeposits, orphanDeposit } from "../../domain/deposits/deposits.ts";
import { CALLS } from "../support/nodes/anvil.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingRamps } from "../support/sharing_ramps.ts";

const ETHER = 10n ** 18n;
const test = sharingRamps("deposits that a scanner finds");

/** What nodes told of a deposit, in its block or another, comes late: it is given up, and credited. */
async function tellLate({ realm }: RampFixture, id: string, block?: string): Promise<void> {
  const actor = { ...realm.admin.actor, at: Date.now() };
  await realm.command(async (tx) => {
    const [row] = await selectDeposits(tx, [id]);
    const deposit = { ...row, block_hash: block ?? row.block_hash };
    await orphanDeposit(tx, actor, deposit);
    await creditDeposits(tx, actor, [{ deposit, received: ETHER / 2n, called: null }]);
  }, { lockLedger: true });
}

/** The deposits of an account. */
async function depositsOf(fixture: RampFixture, account: string) {
  return (await fixture.deposits()).filter((one) => one.account === account);
}

test("a deposit to a ramp is seen, waits for its depth and is credited once", async (fixture) => {
  const { anvil, poller } = fixture;
  const ramp = await fixture.ramp();
  const hash = await anvil.pool({ to: ramp.address, value: ETHER / 2n });
  await fixture.mine();
  const [seen] = await depositsOf(fixture, ramp.id);
  deepEqual([seen.status, seen.hash, seen.index, seen.amount], ["PENDING", hash, -1, "0.5"]);
  equal(seen.confirmations, 1);
  deepEqual((await fixture.account(ramp.id)).balance, {
    total: "0",
    available: "0",
    assets: "0.5",
  });
  await tellLate(fixture, seen.id, "a block that it left");
  equal((await depositsOf(fixture, ramp.id))[0].status, "PENDING");
  await fixture.mine();
  const [counted] = await depositsOf(fixture, ramp.id);
  deepEqual([counted.status, counted.credited, counted.confirmations], ["CONFIRMED", "0.5", 2]);
  deepEqual((await fixture.account(ramp.id)).balance.total, "0.5");
  await tellLate(fixture, seen.id);
  await fixture.mine(3);
  await poller.follow(2);
  equal((await fixture.account(ramp.id)).balance.total, "0.5");
  const events = await rowsOf<{ type: string }>(
    fixture.realm,
    `select type from events where type like 'deposit.%' and payload ->> 'id' = $1 order by position`,
    [seen.id],
  );
  deepEqual(events.map((one) => one.type), ["deposit.pending", "deposit.confirmed"]);
});

test("a crash between recording and crediting loses nothing and doubles nothing", async (fixture) => {
  const ramp = await fixture.ramp();
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.anvil.mine(5);
  await fixture.poller.follow();
  equal((await fixture.account(ramp.id)).balance.total, "1");
  // As after a restore from a moment before: the cursor stands where the deposit was not seen yet.
  await rowsOf(
    fixture.realm,
    "select height from chain_cursors",
  );
  await fixture.realm.command(async (tx) => {
    await tx`update chain_cursors c set height = b.height, hash = b.hash
      from chain_blocks b where b.height = (select min(height) from chain_blocks)`;
  });
  await fixture.poller.follow(2);
  equal((await fixture.account(ramp.id)).balance.total, "1");
  equal((await depositsOf(fixture, ramp.id)).length, 1);
});

test("two workers at once credit a deposit once", async (fixture) => {
  const ramp = await fixture.ramp();
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.anvil.mine(4);
  await Promise.all([1, 2, 3].map(() => fixture.poller.advance()));
  await fixture.poller.follow();
  equal((await fixture.account(ramp.id)).balance.total, "1");
});

Deno.test("a reorganisation before the depth moves a deposit's block or orphans it", async () => {
  await using fixture = await openRampFixture({ env: { ETHEREUM_TESTNET_CONFIRMATIONS: "5" } });
  const { anvil } = fixture;
  const ramp = await fixture.ramp();
  await anvil.mine(3);
  await anvil.send({ to: ramp.address, value: ETHER });
  await fixture.poller.follow();
  equal((await fixture.deposits())[0].status, "PENDING");
  await anvil.rpc("anvil_reorg", 2, []);
  await fixture.mine();
  const [orphan] = await fixture.deposits();
  equal(orphan.status, "ORPHANED");
  const told = "select payload->>'status' as status from events where type = 'deposit.orphaned'";
  deepEqual(await rowsOf(fixture.realm, told), [{ status: "ORPHANED" }]);
  await fixture.mine(8);
  deepEqual((await fixture.account(ramp.id)).balance.total, "0");
  const hash = await anvil.send({ to: ramp.address, value: 2n * ETHER });
  await fixture.poller.follow();
  // The same transaction in another block: it moves, and counts from there.
  const raw = await anvil.rpc<string>("eth_getRawTransactionByHash", hash);
  await anvil.rpc("anvil_reorg", 1, [[raw, 0]]);
  await fixture.mine(6);
  const last = (await fixture.deposits()).find((one) => one.hash === hash);
  equal(last.status, "CONFIRMED");
  equal((await fixture.account(ramp.id)).balance.total, "2");
});

test("a reorganisation beyond the depth freezes the ramp and invents no money", async (fixture) => {
  const { anvil } = fixture;
  const ramp = await fixture.ramp();
  await fixture.mine(8); // what others were paid lies deeper than this reorganisation goes
  await anvil.send({ to: ramp.address, value: ETHER });
  await fixture.mine(2);
  equal((await fixture.account(ramp.id)).balance.total, "1");
  await anvil.rpc("anvil_reorg", 4, []);
  await fixture.mine();
  const account = await fixture.account(ramp.id);
  deepEqual([account.balance.total, account.frozen], ["1", true]);
  const [deposit] = await depositsOf(fixture, ramp.id);
  deepEqual([deposit.status, deposit.block], ["CONFIRMED", null]);
  equal(deposit.error.code, "deposit.not_found");
});

test("coins that a contract pays inside a call are found by comparing balances", async (fixture) => {
  const { anvil } = fixture;
  const ramp = await fixture.ramp();
  const one = await fixture.address(ramp.id);
  const batcher = await anvil.deploy("Batcher");
  await fixture.mine(2);
  const data = CALLS.encodeFunctionData("payCoin", [[ramp.address, one.address], ETHER]);
  await anvil.pool({ to: batcher, value: 2n * ETHER, data });
  await fixture.mine();
  const seen = [
    ...await depositsOf(fixture, ramp.id),
    ...await depositsOf(fixture, one.id),
  ];
  deepEqual(seen.map((row) => [row.status, row.amount]), [["PENDING", "1"], ["PENDING", "1"]]);
  await fixture.mine(2);
  equal((await fixture.account(ramp.id)).balance.total, "1");
});

test("a chain that waits for an operator credits nothing until a range is rescanned", async (fixture) => {
  const { send } = fixture.realm.admin;
  const ramp = await fixture.ramp();
  const halted = { detail: "no common ancestor" };
  await fixture.realm.command((tx) => tx`update chain_cursors set halted = ${tx.json(halted)}`);
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine(3);
  deepEqual(await depositsOf(fixture, ramp.id), []);
  const [waiting] = (await send("GET", "/v1/chains")).body;
  deepEqual([waiting.healthy, waiting.error], [false, "no common ancestor"]);
  const range = { chain: "ETHEREUM", testnet: true, from: 0, to: 1 };
  equal((await send("POST", "/v1/deposits/rescan", range)).status, 200);
  await fixture.realm.drain();
  await fixture.mine();
  equal((await fixture.account(ramp.id)).balance.total, "1");
  equal((await send("GET", "/v1/chains")).body[0].healthy, true);
});
