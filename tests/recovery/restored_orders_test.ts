import { deepEqual, equal, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { COIN, type CoinDesk, hurry, LITECOIN, openCoinDesk } from "../support/utxo_fixture.ts";
import { coinRamp } from "../support/consolidation_fixture.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { cancel, crashAt, queue, sizeOf, statesOf } from "../support/pending_withdrawals.ts";
import { driftsOf, mineUntil, rampStage } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;

async function follow(desk: CoinDesk, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await hurry(desk.realm);
    await desk.follow();
    await desk.node.mine();
  }
}

Deno.test({
  name:
    "LTC: a dump restored after one transaction paid several withdrawals ends each, and pays none again",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN, 3n * COIN);
    const { ids, to } = await queue(desk, LITECOIN, 4);
    await keepRealm(desk.realm);
    const paid = await desk.ended(ids);
    const hashes = new Set(paid.map(({ chain }) => chain.hash));
    equal(hashes.size, 1);
    await restoreRealm(desk.realm);
    await haltRealm(desk.realm);
    await follow(desk, 3);
    const [report] = await reconcile(desk.realm);
    deepEqual([report.lifted, report.open, report.obstacles], [true, [], []]);
    deepEqual(report.taken.map(({ unmatched, paid }) => [unmatched.length, paid.length]), [[0, 4]]);
    const rows = await desk.ended(ids);
    deepEqual(rows.map(({ status, chain }) => [status, hashes.has(chain.hash)]), [
      ...Array(4).fill(["DONE", true]),
    ]);
    await follow(desk, 3);
    for (const [at, address] of to.entries()) deepEqual(await desk.held(address), [sizeOf(at)]);
    await desk.agree();
  },
});

Deno.test({
  name: "LTC: a dump restored in which a payout was planned already takes its transaction for it",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN, 3n * COIN);
    const { ids, to } = await queue(desk, LITECOIN, 3);
    await desk.look(); // joined, and perhaps planned
    await keepRealm(desk.realm);
    await desk.ended(ids);
    await restoreRealm(desk.realm);
    await haltRealm(desk.realm);
    await follow(desk, 3);
    const [report] = await reconcile(desk.realm);
    ok(report.lifted, JSON.stringify(report));
    deepEqual((await desk.ended(ids)).map(({ status }) => status), Array(3).fill("DONE"));
    await follow(desk, 3);
    for (const [at, address] of to.entries()) deepEqual(await desk.held(address), [sizeOf(at)]);
    await desk.agree();
  },
});

Deno.test({
  name:
    "LTC: what waits in an unsigned payout of a dump is asked about, and is not paid again once called paid",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    const { realm } = desk;
    await desk.fund(5n * COIN, 3n * COIN);
    const { ids: [dropped, paid], to } = await queue(desk, LITECOIN, 2);
    ok((await crashAt(desk, "planned")).done);
    deepEqual(await statesOf(desk, [dropped, paid]), ["joined", "joined"]);
    const chosen = await rowsOf<{ claim: string }>(realm, "select claim from claims");
    await keepRealm(realm);
    // The newer database undoes the payout and pays one of the two alone, out of another coin.
    equal((await cancel(desk, dropped)).status, 200);
    for (const { claim } of chosen) {
      await realm.command((tx) =>
        tx`insert into claims (chain, network, claim, order_id, created_at)
          values ('LITECOIN', 'regtest', ${claim}, gen_random_uuid(), now())`
      );
    }
    await desk.look();
    deepEqual(await statesOf(desk, [paid]), ["sent"]);
    await restoreRealm(realm);
    await haltRealm(realm);
    const [asked] = await reconcile(realm);
    deepEqual([asked.lifted, asked.open.map(({ withdrawal }) => withdrawal)], [
      false,
      [dropped, paid],
    ]);
    const [report] = await reconcile(
      realm,
      ({ withdrawal }) => Promise.resolve(withdrawal === paid),
    );
    deepEqual([report.lifted, report.open], [true, []]);
    equal((await desk.withdrawal(paid)).status, "DONE");
    await follow(desk, 3);
    // Its block shows a spend that nobody here knows: the ramp waits again, and it is taken for paid.
    const [found] = await reconcile(realm, () => Promise.resolve(false));
    deepEqual([found.lifted, found.taken.map(({ unmatched }) => unmatched)], [true, [[]]]);
    equal((await desk.ended([dropped]))[0].status, "DONE");
    await follow(desk, 3);
    for (const [at, address] of to.entries()) deepEqual(await desk.held(address), [sizeOf(at)]);
  },
});

Deno.test({
  name:
    "LTC: a signed payout of a dump does not leave before it is reconciled: one of its withdrawals is paid since",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    const { realm } = desk;
    await desk.fund(5n * COIN, 3n * COIN);
    const { ids: [dropped, paid], to } = await queue(desk, LITECOIN, 2);
    await desk.look();
    ok((await crashAt(desk, "stored")).done);
    deepEqual(await statesOf(desk, [dropped, paid]), ["joined", "joined"]);
    const chosen = await rowsOf<{ claim: string }>(realm, "select claim from claims");
    await keepRealm(realm);
    // The newer database undoes the payout and pays one of the two alone, out of another coin.
    equal((await cancel(desk, dropped)).status, 200);
    for (const { claim } of chosen) {
      await realm.command((tx) =>
        tx`insert into claims (chain, network, claim, order_id, created_at)
          values ('LITECOIN', 'regtest', ${claim}, gen_random_uuid(), now())`
      );
    }
    await desk.look();
    deepEqual(await statesOf(desk, [paid]), ["sent"]);
    await restoreRealm(realm);
    await haltRealm(realm);
    await follow(desk, 2);
    const payout = "select state, error from orders where purpose = 'payout'";
    const [held] = await rowsOf<{ state: string; error: string }>(realm, payout);
    equal(held.state, "signed");
    ok(held.error.startsWith("chain.quarantined: "), held.error);
    const [report] = await reconcile(realm, () => Promise.resolve(false));
    deepEqual([report.lifted, report.taken.map((one) => one.paid.length)], [true, [1]]);
    await desk.ended([dropped, paid]);
    await follow(desk, 2);
    for (const [at, address] of to.entries()) deepEqual(await desk.held(address), [sizeOf(at)]);
    await desk.agree();
  },
});

Deno.test({
  name:
    "LTC: a dump restored after a consolidation books its fee alone, and the coins are those of the chain",
  ignore,
  fn: async () => {
    await using stage = await coinRamp(LITECOIN);
    const { realm } = stage;
    await stage.fund(COIN, 2n * COIN, 3n * COIN);
    await keepRealm(realm);
    const { body: { id } } = await stage.consolidate();
    const done = await stage.finish(id);
    equal(done.status, "DONE");
    await restoreRealm(realm);
    await haltRealm(realm);
    await stage.mine();
    const [report] = await reconcile(realm);
    ok(report.lifted, JSON.stringify(report));
    deepEqual(report.taken.map(({ unmatched }) => unmatched), [[]]);
    for (let round = 0; round < 5; round++) {
      await stage.look();
      await stage.mine();
    }
    const fees = "select trim_scale(total)::text as total from accounts where system = 'fees'";
    deepEqual([...await rowsOf(realm, fees)], [{ total: `-${done.fee}` }]);
    equal((await stage.coins()).length, 1);
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
  },
});

Deno.test({
  name: "LTC: coins that vanished without a spender keep nobody from reconciling",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN, 3n * COIN);
    await desk.realm.command((tx) =>
      tx`update coins set spent_by = 'unknown', spent_height = height where amount = ${`${
        3n * COIN
      }`}`
    );
    await haltRealm(desk.realm);
    const [report] = await reconcile(desk.realm);
    deepEqual([report.lifted, report.obstacles], [true, []]);
    const party = await newParty("LITECOIN");
    const source = { account: desk.ramp };
    const [row] = await desk.ended([await desk.withdraw(party.address, "1", { source })]);
    equal(row.status, "DONE");
  },
});

Deno.test("a dump restored after gas was sent ahead and a token swept books the deposit and its sweep once", async () => {
  await using stage = await rampStage({ testnet: false });
  const { realm, anvil } = stage;
  const token = await installToken(anvil, "USDC");
  const ramp = await stage.ramp("USDC");
  const deposit = await stage.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  await stage.mine(3);
  await keepRealm(realm);
  await token.pay(deposit.address, 25n * USDC);
  await mineUntil(stage, async () => (await stage.account(ramp.id)).balance.total === "25");
  await stage.mine(3);
  await restoreRealm(realm);
  await haltRealm(realm);
  for (let round = 0; round < 4; round++) await stage.mine();
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken.map(({ purpose, unmatched }) => [purpose, unmatched.length]), [
    ["recovered", 0],
    ["sweep", 0],
  ]);
  await mineUntil(stage, async () => (await stage.account(ramp.id)).balance.total === "25");
  for (let round = 0; round < 3; round++) await stage.mine();
  equal((await stage.account(deposit.id)).balance.total, "0");
  equal((await stage.deposits()).filter(({ status }) => status === "CONFIRMED").length, 1);
  const [[, drift]] = (await driftsOf(stage)).filter(([asset]) => asset === "USDC");
  equal(drift, "0");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});
