import { deepEqual, equal, match, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { withTwoCoins } from "../support/paying_ramp.ts";
import { COIN, follow, LITECOIN } from "../support/utxo_fixture.ts";
import { openConsolidatingRamp } from "../support/consolidation_fixture.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { overtakeBatch } from "../support/overtaken_batch.ts";
import { crashAt, queue, sizeOf } from "../support/pending_withdrawals.ts";
import { driftsOf, mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
const test = sharingUtxoRamp("UTXO orders of a restored database", LITECOIN, ignore);
const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;

test("LTC: a dump restored after one transaction paid several withdrawals ends each, and pays none again", async (ramp) => {
  const funded = await withTwoCoins(ramp);
  const { ids, to } = await queue(funded, LITECOIN, 4);
  await keepRealm(funded.realm);
  const paid = await funded.ended(ids);
  const hashes = new Set(paid.map(({ chain }) => chain.hash));
  equal(hashes.size, 1);
  await restoreRealm(funded.realm);
  await haltRealm(funded.realm);
  await follow(funded, 3);
  const [report] = await reconcile(funded.realm);
  deepEqual([report.lifted, report.open, report.obstacles], [true, [], []]);
  deepEqual(report.taken.map(({ unmatched, paid }) => [unmatched.length, paid.length]), [[0, 4]]);
  const rows = await funded.ended(ids);
  deepEqual(rows.map(({ status, chain }) => [status, hashes.has(chain.hash)]), [
    ...Array(4).fill(["DONE", true]),
  ]);
  await follow(funded, 3);
  for (const [at, address] of to.entries()) deepEqual(await funded.held(address), [sizeOf(at)]);
  await funded.agree();
});

test("LTC: a dump restored in which a batch was planned already takes its transaction for it", async (ramp) => {
  const funded = await withTwoCoins(ramp);
  const { ids, to } = await queue(funded, LITECOIN, 3);
  await funded.advance(); // joined, and perhaps planned
  await keepRealm(funded.realm);
  await funded.ended(ids);
  await restoreRealm(funded.realm);
  await haltRealm(funded.realm);
  await follow(funded, 3);
  const [report] = await reconcile(funded.realm);
  ok(report.lifted, JSON.stringify(report));
  deepEqual((await funded.ended(ids)).map(({ status }) => status), Array(3).fill("DONE"));
  await follow(funded, 3);
  for (const [at, address] of to.entries()) deepEqual(await funded.held(address), [sizeOf(at)]);
  await funded.agree();
});

test("LTC: a withdrawal in an unsigned batch of a dump is asked about, and is not paid again once called paid", async (ramp) => {
  const funded = await overtakeBatch(ramp, "planned", true);
  const { realm, dropped, paid, to } = funded;
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
  equal((await funded.withdrawal(paid)).status, "DONE");
  await funded.send();
  await follow(funded, 3);
  // Its block shows a spend that nobody here knows: the ramp waits again, and it is taken for paid.
  const [found] = await reconcile(realm, () => Promise.resolve(false));
  deepEqual([found.lifted, found.taken.map(({ unmatched }) => unmatched)], [true, [[]]]);
  equal((await funded.ended([dropped]))[0].status, "DONE");
  await follow(funded, 3);
  for (const [at, address] of to.entries()) deepEqual(await funded.held(address), [sizeOf(at)]);
});

test("LTC: a signed batch of a dump does not leave before it is reconciled: one of its withdrawals is paid since", async (ramp) => {
  const funded = await overtakeBatch(ramp, "stored");
  const { realm, dropped, paid, to } = funded;
  await haltRealm(realm);
  await follow(funded, 2);
  const batch = "select state, error from chain_orders where purpose = 'batch'";
  const [held] = await rowsOf<{ state: string; error: string }>(realm, batch);
  equal(held.state, "signed");
  ok(held.error.startsWith("chain.quarantined: "), held.error);
  const [report] = await reconcile(realm, () => Promise.resolve(false));
  deepEqual([report.lifted, report.taken.map((one) => one.paid.length)], [true, [1]]);
  await funded.ended([dropped, paid]);
  await follow(funded, 2);
  for (const [at, address] of to.entries()) deepEqual(await funded.held(address), [sizeOf(at)]);
  await funded.agree();
});

Deno.test({
  name:
    "LTC: a dump restored after a consolidation books its fee alone, and the coins are those of the chain",
  ignore,
  fn: async () => {
    await using fixture = await openConsolidatingRamp(LITECOIN);
    const { realm } = fixture;
    await fixture.fund(COIN, 2n * COIN, 3n * COIN);
    await keepRealm(realm);
    const { body: { id } } = await fixture.consolidate();
    const done = await fixture.finish(id);
    equal(done.status, "DONE");
    await restoreRealm(realm);
    await haltRealm(realm);
    await fixture.mine();
    const [report] = await reconcile(realm);
    ok(report.lifted, JSON.stringify(report));
    deepEqual(report.taken.map(({ unmatched }) => unmatched), [[]]);
    for (let round = 0; round < 5; round++) {
      await fixture.advance();
      await fixture.mine();
    }
    const fees = "select trim_scale(total)::text as total from accounts where system = 'fees'";
    deepEqual([...await rowsOf(realm, fees)], [{ total: `-${done.fee}` }]);
    equal((await fixture.coins()).length, 1);
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
  },
});

Deno.test({
  name:
    "LTC: a consolidation that is planned in a dump, and was made since, ends: it is not signed once more, and another can be made",
  ignore,
  fn: async () => {
    await using fixture = await openConsolidatingRamp(LITECOIN);
    const { realm } = fixture;
    await fixture.fund(COIN, 2n * COIN, 3n * COIN);
    const { body: { id } } = await fixture.consolidate();
    ok((await crashAt(fixture, "planned")).done);
    await keepRealm(realm);
    const { hash } = (await fixture.finish(id)).chain;
    await restoreRealm(realm);
    await haltRealm(realm);
    await fixture.mine();
    const [report] = await reconcile(realm);
    deepEqual([report.lifted, report.taken.map((one) => one.hash)], [true, [hash]]);
    const ended = await fixture.finish(id);
    deepEqual([ended.status, ended.error.code], ["FAILED", "condition.failed"]);
    match(ended.error.detail, new RegExp(`^${hash} spent its coins`));
    equal((await fixture.coins()).length, 1);
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
    await fixture.fund(COIN, 2n * COIN);
    const again = await fixture.consolidate();
    equal((await fixture.finish(again.body.id)).status, "DONE");
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
  },
});

test("LTC: coins that vanished without a spender keep nobody from reconciling", async (ramp) => {
  const funded = await withTwoCoins(ramp);
  await funded.realm.command((tx) =>
    tx`update coins set spent_by = 'unknown', spent_height = height where amount = ${`${
      3n * COIN
    }`}`
  );
  await haltRealm(funded.realm);
  const [report] = await reconcile(funded.realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  const party = await newParty("LITECOIN");
  const source = { account: funded.ramp };
  const [row] = await funded.ended([await funded.withdraw(party.address, "1", { source })]);
  equal(row.status, "DONE");
});

Deno.test("a dump restored after gas was sent ahead and a token swept books the deposit and its sweep once", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { realm, anvil } = fixture;
  const token = await installToken(anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine(3);
  await keepRealm(realm);
  await token.pay(deposit.address, 25n * USDC);
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "25");
  await fixture.mine(3);
  await restoreRealm(realm);
  await haltRealm(realm);
  for (let round = 0; round < 4; round++) await fixture.mine();
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken.map(({ purpose, unmatched }) => [purpose, unmatched.length]), [
    ["recovered", 0],
    ["sweep", 0],
  ]);
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "25");
  for (let round = 0; round < 3; round++) await fixture.mine();
  equal((await fixture.account(deposit.id)).balance.total, "0");
  equal((await fixture.deposits()).filter(({ status }) => status === "CONFIRMED").length, 1);
  const [[, drift]] = (await driftsOf(fixture)).filter(([asset]) => asset === "USDC");
  equal(drift, "0");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});
