/** Sweeps from addresses that only a lost database knew, in blocks that workers have read before the reconciliation. */
import { deepEqual, equal, match } from "node:assert/strict";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { sharingFixture } from "../support/kept_ramps.ts";
import { driftsOf, mineUntil, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;
// A sweep that waits is taken up again by the timetable, which does not run here.
const OPEN = `select from chain_orders where state in ('new', 'planned', 'signed', 'sent', 'mined')
  union all select from sweeps where state not in ('done', 'failed', 'waiting')`;
const SWEPT = "select from sweeps where state = 'done'";

/** A ramp whose database is lost after a deposit came to an address that was handed out since its backup, and was swept. */
async function lose(
  fixture: RampFixture,
): Promise<{ ramp: string; own: string }> {
  const { realm, anvil } = fixture;
  const { id, address: own } = await fixture.ramp();
  await fixture.mine();
  await keepRealm(realm);
  const { address } = await fixture.address(id);
  await anvil.pool({ to: address, value: ETHER });
  const mined = "select from chain_orders where purpose = 'sweep' and height is not null";
  await mineUntil(fixture, async () => (await rowsOf(realm, mined)).length > 0);
  await restoreRealm(realm);
  return { ramp: id, own };
}

const lost = (confirmations: string) => ({
  ...{ testnet: false, prepare: lose, env: { ETHEREUM_CONFIRMATIONS: confirmations } },
});
const test = sharingFixture("a ramp on Ethereum whose database is lost", lost("2"));
const testDeep = sharingFixture("a ramp on Ethereum, with more confirmations", lost("12"));

async function receipts({ deposits }: RampFixture, ramp: string): Promise<string[]> {
  return (await deposits()).filter(({ account }) => account === ramp).map(({ status }) => status);
}

async function assertOnce(fixture: RampFixture, ramp: string) {
  const { realm } = fixture;
  await mineUntil(
    fixture,
    async () => (await rowsOf(realm, SWEPT)).length > 0 && (await rowsOf(realm, OPEN)).length === 0,
  );
  await fixture.mine(13); // the solvency is that of a settled block
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  match((await fixture.account(ramp)).balance.total, /^0\.9999/);
}

test("a sweep on Ethereum from an address of the lost database, whose block is read in quarantine before the reconciliation, is booked once", async (fixture) => {
  const { ramp } = fixture.made;
  await haltRealm(fixture.realm);
  await fixture.mine(4);
  deepEqual(await receipts(fixture, ramp), ["PENDING"]);
  const [report] = await reconcile(fixture.realm);
  deepEqual([report.lifted, report.taken.map(({ purpose }) => purpose)], [true, ["sweep"]]);
  deepEqual(await receipts(fixture, ramp), ["ORPHANED"]);
  await assertOnce(fixture, ramp);
});

testDeep(
  "a sweep on Ethereum from an address of the lost database that is seen before the quarantine, and not credited, is booked once",
  async (fixture) => {
    const { ramp } = fixture.made;
    await fixture.mine();
    deepEqual(await receipts(fixture, ramp), ["PENDING"]);
    await haltRealm(fixture.realm);
    await fixture.mine(12);
    deepEqual(await receipts(fixture, ramp), ["PENDING"], "it is held");
    const [report] = await reconcile(fixture.realm);
    deepEqual([report.lifted, report.taken.map(({ purpose }) => purpose)], [true, ["sweep"]]);
    await assertOnce(fixture, ramp);
  },
);

test("what others pay to a ramp on Ethereum while it is in quarantine is held, and credited after the reconciliation", async (fixture) => {
  const { ramp, own } = fixture.made;
  const { realm, anvil } = fixture;
  await haltRealm(realm);
  await anvil.pool({ from: 4, to: own, value: ETHER });
  await fixture.mine(4);
  deepEqual(await receipts(fixture, ramp), ["PENDING", "PENDING"]);
  await reconcile(realm);
  await mineUntil(fixture, async () => (await receipts(fixture, ramp)).includes("CONFIRMED"));
  deepEqual((await receipts(fixture, ramp)).toSorted(), ["CONFIRMED", "ORPHANED"]);
  await mineUntil(
    fixture,
    async () => (await rowsOf(realm, SWEPT)).length > 0 && (await rowsOf(realm, OPEN)).length === 0,
  );
  match((await fixture.account(ramp)).balance.total, /^1\.9999/);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
});

test("a sweep on Ethereum from an address of the lost database that was credited as a payment to its ramp before the quarantine is told, and its ramp is frozen", async (fixture) => {
  const { ramp } = fixture.made;
  const { realm } = fixture;
  await fixture.mine(4);
  deepEqual(await receipts(fixture, ramp), ["CONFIRMED"]);
  await haltRealm(realm);
  const [report] = await reconcile(realm);
  const [{ id }] = (await fixture.deposits()).filter(({ account }) => account === ramp);
  deepEqual(report.taken.map(({ purpose, credited }) => [purpose, credited]), [["sweep", [id]]]);
  const { frozen } = await fixture.account(ramp);
  equal(frozen, true);
  const { body } = await realm.admin.send("GET", `/v1/deposits/${id}`);
  deepEqual([body.status, body.error.code], ["CONFIRMED", "chain.quarantined"]);
});
