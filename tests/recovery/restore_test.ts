import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { serializable } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { quarantine } from "../../domain/sending/quarantine.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { startTimetable } from "../../workers/schedule/timetable.ts";
import { type FundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { patientProbes } from "../support/held_timers.ts";
import { sharingFixture, sharingFundedRamp } from "../support/kept_ramps.ts";
import { openTwoCoins } from "../support/paying_ramp.ts";
import { driftsOf, mineUntil, type RampFixture } from "../support/ramp_fixture.ts";
import { COIN, hurry, type UtxoRamp } from "../support/utxo_fixture.ts";
import { haltRealm, keepRealm, OLDER, reconcile, restoreRealm } from "../support/installation.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;
const test = sharingFundedRamp("ramps of a dump that is restored");
const testDeposits = sharingFixture("deposits of a dump that is restored");
const paidTo = async ({ anvil }: Pick<FundedRamp, "anvil">, address = OUTSIDE) =>
  BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest"));

async function follow(funded: FundedRamp): Promise<void> {
  for (let round = 0; round < 6; round++) {
    await funded.advance();
    await funded.anvil.mine();
  }
}

test("yesterday's dump, restored after a withdrawal was paid, pays it no second time and ends it DONE", async (funded) => {
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  await keepRealm(funded.realm);
  const { chain } = await funded.finish(id);
  await restoreRealm(funded.realm);
  equal((await funded.read(id)).status, "PROCESSING");
  await follow(funded);
  equal(await paidTo(funded), ETHER);
  const [order] = await rowsOf<{ state: string; error: string }>(
    funded.realm,
    "select state, error from chain_orders",
  );
  equal(order.state, "new");
  match(order.error, /^chain.quarantined: /);
  const [report] = await reconcile(funded.realm);
  deepEqual([report.lifted, report.obstacles, report.taken.length], [true, [], 1]);
  const ended = await funded.finish(id);
  deepEqual([ended.status, ended.chain.hash], ["DONE", chain.hash]);
  await follow(funded);
  equal(await paidTo(funded), ETHER);
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
  const { body: { id: next } } = await funded.withdraw("2");
  equal((await funded.finish(next)).status, "DONE");
  equal(await paidTo(funded), 3n * ETHER);
});

test("yesterday's dump lets nobody cancel a withdrawal that was paid since", async (funded) => {
  const { realm } = funded;
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  await keepRealm(realm);
  await funded.finish(id);
  await restoreRealm(realm);
  const cancel = async () => {
    const { status, body } = await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
    return [status, body.code];
  };
  const elsewhere = "update attestations set seen_at = now(), place = 'elsewhere'";
  await rowsOf(realm, elsewhere);
  deepEqual(await cancel(), [503, "chain.quarantined"], "no worker has known this database");
  await rowsOf(realm, "delete from attestations");
  await haltRealm(realm);
  deepEqual(await cancel(), [503, "chain.quarantined"]);
  const text = "update chain_orders set state = 'canceled'";
  const serving = realm.database.realm(locationOf(realm.made.realm));
  await rejects(serializable(serving, (tx) => tx.unsafe(text)), /is the worker's to write/);
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.taken.length], [true, 1]);
  equal((await funded.finish(id)).status, "DONE");
  deepEqual(await cancel(), [409, "withdrawal.not_cancelable"]);
  equal(await paidTo(funded), ETHER);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

testDeposits(
  "a dump restored after a sweep books the deposit once, and its sweep",
  async (fixture) => {
    const { realm, anvil } = fixture;
    const { id: ramp } = await fixture.ramp();
    const virtual = await virtualOf(fixture, ramp);
    const deposit = await fixture.address(virtual);
    await fixture.mine();
    await keepRealm(realm);
    await anvil.pool({ to: deposit.address, value: ETHER });
    await mineUntil(fixture, async () => (await totalOf(fixture, virtual)) !== "0");
    await fixture.mine(3);
    const before = await totalOf(fixture, virtual);
    await restoreRealm(realm);
    for (let round = 0; round < 6; round++) await fixture.mine();
    const held = (await fixture.deposits()).filter((one) => one.account === ramp);
    deepEqual(held.map(({ status }) => status), ["PENDING"]);
    equal(await totalOf(fixture, ramp), "0");
    const [report] = await reconcile(realm);
    deepEqual([report.lifted, report.taken.map(({ purpose }) => purpose)], [true, ["sweep"]]);
    await mineUntil(fixture, async () => (await totalOf(fixture, virtual)) === before);
    deepEqual([await totalOf(fixture, deposit.id), await totalOf(fixture, ramp)], ["0", "0"]);
    deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
  },
);

testDeposits(
  "an address that was handed out since the dump is never handed out again, and deposits there are seen",
  async (fixture) => {
    const { realm, anvil } = fixture;
    const { id: ramp } = await fixture.ramp();
    const [alices, bobs] = [await virtualOf(fixture, ramp), await virtualOf(fixture, ramp)];
    await fixture.mine();
    await keepRealm(realm);
    const alice = await fixture.address(alices);
    await restoreRealm(realm);
    await haltRealm(realm);
    const refused = await realm.admin.send("POST", `/v1/account/${bobs}/address`, {});
    deepEqual([refused.status, refused.body.code], [503, "chain.quarantined"]);
    await anvil.pool({ to: alice.address, value: ETHER });
    await fixture.mine(4);
    const [report] = await reconcile(realm);
    deepEqual(report.addresses.map(({ address }) => address), [alice.address]);
    ok(report.lifted, JSON.stringify(report));
    const bob = await fixture.address(bobs);
    notEqual(bob.address, alice.address);
    const [{ next_index }] = await rowsOf<{ next_index: number }>(
      realm,
      "select next_index from ramps",
    );
    ok(next_index > 50, `${next_index}`);
    await mineUntil(fixture, async () => (await totalOf(fixture, ramp)) !== "0");
    equal(await totalOf(fixture, bobs), "0");
    deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  },
);

test("a withdrawal sped up since the dump is found under its replacement, and nothing goes back", async (funded) => {
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
  await funded.advance();
  await keepRealm(funded.realm);
  const faster = await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
    speed: "fast",
  });
  equal(faster.status, 200, faster.text);
  const { chain } = await funded.finish(id);
  await restoreRealm(funded.realm);
  const ended = await funded.finish(id);
  deepEqual([ended.status, ended.chain.hash], ["DONE", chain.hash]);
  equal(await paidTo(funded), ETHER);
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
});

test("a withdrawal that was mined at the dump, lost its block and was replaced since is found under its replacement", async (funded) => {
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
  await funded.advance();
  await keepRealm(funded.realm);
  const faster = { speed: "fast" };
  await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, faster);
  const { chain } = await funded.finish(id);
  for (let one = 0; one < 3; one++) await funded.anvil.mine();
  await restoreRealm(funded.realm);
  const mined = "state = 'mined', height = 3, confirmations = 1, succeeded = true";
  const set = `update chain_orders set ${mined} where state = 'sent' returning id`;
  equal((await rowsOf(funded.realm, set)).length, 1);
  const ended = await funded.finish(id);
  deepEqual([ended.status, ended.chain.hash], ["DONE", chain.hash]);
  equal(await paidTo(funded), ETHER);
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
});

test("a withdrawal that only the lost database knew is borne by the fees, and named", async (funded) => {
  await funded.anvil.mine();
  await keepRealm(funded.realm);
  const { body: { id } } = await funded.withdraw("1");
  await funded.finish(id);
  await restoreRealm(funded.realm);
  const { body: { id: next } } = await funded.withdraw("2");
  await follow(funded);
  equal(await paidTo(funded), ETHER);
  const answers: string[] = [];
  const [asked] = await reconcile(funded.realm);
  deepEqual([asked.lifted, asked.open.map(({ withdrawal }) => withdrawal)], [false, [next]]);
  deepEqual(asked.taken[0].unmatched, [{ to: OUTSIDE, contract: null, amount: `${ETHER}` }]);
  const [report] = await reconcile(funded.realm, ({ withdrawal }) => {
    answers.push(withdrawal);
    return Promise.resolve(false);
  });
  deepEqual([report.lifted, report.taken, answers], [true, [], [next]]);
  equal((await funded.finish(next)).status, "DONE");
  equal(await paidTo(funded), 3n * ETHER);
  const { fees, world, account } = await funded.books();
  // The coins that the ramp was funded with were seen on the way: 10 more came from the world.
  const about = [fees, world, account].map((one) => Number(one).toFixed(2));
  deepEqual(about, ["-1.00", "-17.00", "8.00"]);
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
});

test("a withdrawal that an operator calls paid is settled and never sent; without an answer nothing is lifted", async (funded) => {
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  await haltRealm(funded.realm);
  const [asked] = await reconcile(funded.realm);
  deepEqual([asked.lifted, asked.open.map(({ withdrawal }) => withdrawal)], [false, [id]]);
  await follow(funded);
  equal((await funded.read(id)).status, "PROCESSING");
  const [report] = await reconcile(funded.realm, () => Promise.resolve(true));
  ok(report.lifted, JSON.stringify(report));
  equal((await funded.read(id)).status, "DONE");
  await follow(funded);
  equal(await paidTo(funded), 0n);
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
});

test("a dump of a ramp in quarantine is in another one once it is restored, of that time", async (funded) => {
  const { realm } = funded;
  const at = async (): Promise<number> =>
    (await rowsOf<{ at: number }>(realm, "select (quarantined ->> 'at')::float8 as at from ramps"))[
      0
    ]
      .at;
  await haltRealm(realm);
  const first = await at();
  const yesterday = first - 86_400_000;
  await rowsOf(
    realm,
    `update ramps set quarantined = quarantined || '{"at": ${yesterday}}' where quarantined is not null`,
  );
  const actor = { ...realm.admin.actor, at: Date.now() };
  await realm.command((tx) => quarantine(tx, actor, null, OLDER, true));
  equal(await at(), yesterday, "a further run of the same reconciliation");
  await haltRealm(realm);
  ok(await at() >= first);
});

test("a quarantine is shown by the chains of the realm and by /health/ready", async (funded) => {
  const { realm } = funded;
  await haltRealm(realm);
  const chains: { chain: string; healthy: boolean; error: string; quarantined: number }[] =
    (await realm.admin.send("GET", "/v1/chains")).body;
  const [{ healthy, error, quarantined }] = chains.filter(({ chain }) => chain === "ETHEREUM");
  deepEqual([healthy, error, quarantined], [false, `chain.quarantined: ${OLDER}`, 1]);
  const options = { database: realm.database, log: () => {}, chains: funded.context.chains };
  const { signer } = funded.context;
  const timetable = startTimetable({ ...options, signer, rates: null, now: Date.now }, {
    loop: false,
    only: realm.id,
  });
  await timetable.drain(300_000);
  await timetable.stop();
  using _held = patientProbes();
  const ready = await realm.nobody("GET", "/health/ready");
  ok(ready.body.checks.chains.ETHEREUM.main.quarantined >= 1, ready.text);
  ok(ready.body.checks.installation.epoch >= 1);
});

async function virtualOf({ realm }: RampFixture, ramp: string): Promise<string> {
  const body = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const made = await realm.admin.send("POST", "/v1/accounts", body);
  equal(made.status, 201, made.text);
  await realm.drain();
  return made.body.id;
}

async function totalOf(fixture: RampFixture, id: string): Promise<string> {
  return (await fixture.account(id)).balance.total;
}

Deno.test("LTC: a dump restored after a withdrawal is not paid again from other coins, and its change is no deposit", async () => {
  await using funded = await openTwoCoins();
  const party = await newParty("LITECOIN");
  const id = await funded.withdraw(party.address, "1", { source: { account: funded.ramp } });
  await keepRealm(funded.realm);
  const [{ hash }] = await paidRows(funded, [id]);
  await restoreRealm(funded.realm);
  for (let round = 0; round < 4; round++) {
    await hurry(funded.realm);
    await funded.follow();
    await funded.node.mine();
  }
  const [{ detail }] = await rowsOf<{ detail: string }>(
    funded.realm,
    "select quarantined ->> 'detail' as detail from ramps",
  );
  match(detail, /spent our coin/);
  deepEqual(await funded.held(party.address), [COIN]);
  const [report] = await reconcile(funded.realm);
  deepEqual([report.lifted, report.taken[0].hash], [true, hash]);
  const [row] = await funded.ended([id]);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  deepEqual(await funded.held(party.address), [COIN]);
  await funded.agree();
});

async function paidRows(funded: UtxoRamp, ids: readonly string[]) {
  const rows = await funded.ended(ids);
  deepEqual(rows.map(({ status }) => status), rows.map(() => "DONE"));
  return rows.map(({ chain }) => ({ hash: chain.hash as string }));
}
