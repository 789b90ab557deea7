/** Addresses that only a lost database knew: whoever pays to one, at whatever time, is credited, and no other gets it. */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { reconcileRealm } from "../../workers/recovery/reconcile.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { sharingFixture } from "../support/kept_ramps.ts";
import { driftsOf, mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { COIN, hurry, LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";
import { attest, haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const HOUR_MS = 3_600_000;
const test = sharingFixture(
  "addresses on Ethereum that only a lost database knew",
);

async function confirmed(fixture: RampFixture): Promise<number> {
  return (await fixture.deposits()).filter(({ status }) => status === "CONFIRMED").length;
}

/** Reconciles with other options than usual. */
async function reconcileWith(
  realm: TestRealm,
  options: Partial<Parameters<typeof reconcileRealm>[1]>,
  laterMs = 0,
) {
  const context = await workerContextOf(realm);
  const now = { ...context, actor: { ...context.actor, at: Date.now() + laterMs } };
  const usual = { gap: 50, back: 100, answer: () => Promise.resolve(null) };
  try {
    return await reconcileRealm(now, { ...usual, ...options });
  } finally {
    context.chains.close();
  }
}

test("an address handed out since the dump is credited when it is first paid after the reconciliation", async (fixture) => {
  const { realm, anvil } = fixture;
  const { id: ramp } = await fixture.ramp();
  await fixture.mine();
  await keepRealm(realm);
  const alice = await fixture.address(ramp);
  await restoreRealm(realm);
  await haltRealm(realm);
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.addresses], [true, []]);
  await anvil.pool({ to: alice.address, value: ETHER });
  await mineUntil(fixture, async () => await confirmed(fixture) === 1);
  const bob = await fixture.address(ramp);
  notEqual(bob.address, alice.address);
  await mineUntil(fixture, async () => (await fixture.account(ramp)).balance.total !== "0");
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
});

Deno.test("an address of a token's ramp that the lost database handed out is credited with the token", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { realm, anvil } = fixture;
  const token = await installToken(anvil, "USDC");
  const { id: ramp } = await fixture.ramp("USDC");
  await fixture.mine();
  await keepRealm(realm);
  const alice = await fixture.address(ramp);
  await restoreRealm(realm);
  await haltRealm(realm);
  await reconcile(realm);
  await token.pay(alice.address, 25n * 10n ** 6n);
  await mineUntil(fixture, async () => await confirmed(fixture) === 1);
  const [[, drift]] = (await driftsOf(fixture)).filter(([asset]) => asset === "USDC");
  equal(drift, "0");
});

test("an address that is paid between two runs of a reconciliation is found by the second", async (fixture) => {
  const { realm, anvil } = fixture;
  const { id: ramp } = await fixture.ramp();
  await fixture.mine();
  await keepRealm(realm);
  const alice = await fixture.address(ramp);
  await restoreRealm(realm);
  await haltRealm(realm);
  const [listed] = await reconcileWith(realm, { keep: true });
  deepEqual([listed.lifted, listed.addresses], [false, []]);
  await anvil.pool({ to: alice.address, value: ETHER });
  await anvil.mine(2);
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  await mineUntil(fixture, async () => await confirmed(fixture) === 1);
});

test("a gap that the lost database may have gone beyond keeps the quarantine", async (fixture) => {
  const { realm, anvil } = fixture;
  const { id: ramp } = await fixture.ramp();
  await fixture.mine();
  await keepRealm(realm);
  for (let made = 0; made < 3; made++) await fixture.address(ramp);
  const last = await fixture.address(ramp);
  await restoreRealm(realm);
  await haltRealm(realm);
  await anvil.pool({ to: last.address, value: ETHER });
  await anvil.mine(2);
  const [few] = await reconcileWith(realm, { gap: 4 });
  equal(few.lifted, false);
  match(few.obstacles.join(), /is used, and there may be more beyond it/);
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
});

test("addresses are passed over once in a quarantine, however often it is reconciled", async (fixture) => {
  const { realm } = fixture;
  const { id: ramp } = await fixture.ramp();
  await fixture.mine();
  await keepRealm(realm);
  const alice = await fixture.address(ramp);
  await restoreRealm(realm);
  await haltRealm(realm);
  const passed = "select count(*)::integer as count from passed_addresses";
  for (let run = 0; run < 3; run++) {
    // A worker that starts meanwhile finds the same database, and begins its quarantine anew.
    if (run === 1) await haltRealm(realm);
    const [listed] = await reconcileWith(realm, { keep: true });
    deepEqual([listed.lifted, listed.obstacles], [false, []]);
    deepEqual([...await rowsOf(realm, passed)], [{ count: 50 }]);
  }
  const [more] = await reconcileWith(realm, { keep: true, gap: 80 });
  deepEqual(more.obstacles, []);
  deepEqual([...await rowsOf(realm, passed)], [{ count: 80 }]);
  equal((await reconcile(realm))[0].lifted, true);
  deepEqual([...await rowsOf(realm, passed)], [{ count: 80 }]);
  const bob = await fixture.address(ramp);
  notEqual(bob.address, alice.address);
  await haltRealm(realm);
  equal((await reconcile(realm))[0].lifted, true);
  deepEqual(
    [...await rowsOf(realm, passed)],
    [{ count: 130 }],
    "another quarantine passes over more",
  );
});

test("nodes whose newest block is hours old are taken for not synchronized, unless the chain stands still", async (fixture) => {
  const { realm } = fixture;
  await fixture.ramp();
  await fixture.mine();
  await haltRealm(realm);
  const [behind] = await reconcileWith(realm, {}, 4 * HOUR_MS);
  equal(behind.lifted, false);
  match(behind.obstacles.join(), /run it again when the nodes are synchronized/);
  const [report] = await reconcileWith(realm, { behind: true }, 4 * HOUR_MS);
  deepEqual([report.lifted, report.obstacles], [true, []]);
});

Deno.test({
  name:
    "LTC: an address handed out since the dump is credited when it is first paid after the reconciliation, and swept",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using funded = await openUtxoRamp(LITECOIN);
    const { realm, node } = funded;
    await funded.fund(5n * COIN);
    await keepRealm(realm);
    const made = await realm.admin.send("POST", `/v1/account/${funded.virtual}/address`, {});
    equal(made.status, 201, made.text);
    await realm.drain();
    await restoreRealm(realm);
    await haltRealm(realm);
    const [report] = await reconcile(realm);
    deepEqual([report.lifted, report.addresses], [true, []]);
    const script = (await scriptOf("LITECOIN", "regtest", made.body.address.address)).toHex();
    await node.pay([{ script, amount: 2n * COIN }]);
    await funded.until(async () =>
      (await rowsOf(realm, "select id from sweeps where state = 'done'")).length > 0
    );
    await hurry(realm);
    await funded.agree();
  },
});

test("where one backup is restored twice, an address that was handed out between is given to nobody else", async (fixture) => {
  const { realm } = fixture;
  const { id: ramp } = await fixture.ramp();
  await fixture.mine();
  await keepRealm(realm);
  await haltRealm(realm);
  equal((await reconcile(realm))[0].lifted, true);
  const alice = await fixture.address(ramp);
  const second = await fixture.ramp();
  await restoreRealm(realm);
  await attest(realm);
  // What is passed over counts the seconds.
  equal((await reconcileWith(realm, {}, 1_000))[0].lifted, true);
  await attest(realm);
  const bob = await fixture.address(ramp);
  notEqual(bob.address, alice.address);
  notEqual((await fixture.ramp()).address, second.address);
});

for (const kept of ["before its quarantine", "in its quarantine"]) {
  test(`a backup of soon after a reconciliation, made ${kept}, gives other addresses and ramps each time that it is restored`, async (fixture) => {
    const { realm } = fixture;
    const { id: ramp } = await fixture.ramp();
    await fixture.mine();
    await haltRealm(realm);
    ok((await reconcileWith(realm, { gap: 600 }))[0].lifted);
    await attest(realm);
    await fixture.address(ramp);
    if (kept === "in its quarantine") {
      await haltRealm(realm);
      equal((await reconcileWith(realm, { gap: 600, keep: true }))[0].lifted, false);
    }
    await keepRealm(realm);
    const given = [];
    const made = [];
    for (let restored = 0; restored < 2; restored++) {
      await restoreRealm(realm);
      await attest(realm); // it finds another database
      await haltRealm(realm);
      const [report] = await reconcileWith(realm, { gap: 600 }, restored * 60_000);
      deepEqual([report.lifted, report.obstacles], [true, []]);
      await attest(realm);
      given.push((await fixture.address(ramp)).address);
      const { id: second } = await fixture.ramp();
      made.push((await fixture.account(second)).ramp.address);
    }
    notEqual(given[0], given[1]);
    notEqual(made[0], made[1]);
  });
}
