/** Transactions of a lost database that contest each other, or bytes of the backup, while the chain is reorganised. */
import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { paidOut } from "../support/found_payments.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { paying, withTwoCoins } from "../support/paying_ramp.ts";
import { crashAt, speedUp } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { COIN, follow, LITECOIN } from "../support/utxo_fixture.ts";

const ETHER = 10n ** 18n;
const test = sharingFundedRamp("two reconciliations at once");
const ignore = !hasLitecoind();
const testCoins = sharingUtxoRamp("UTXO transactions that contest each other", LITECOIN, ignore);
const SLOW = { fee: { speed: "slow" } };
const unpaid = () => Promise.resolve(false);

testCoins(
  "LTC: a withdrawal that was new at the dump, whose payment was found and loses its block to one before it, is paid once and done",
  async (ramp) => {
    const funded = await paying(await withTwoCoins(ramp), SLOW);
    const { realm, node, id, to: address } = funded;
    await keepRealm(realm);
    await funded.advance();
    const [first] = await rowsOf<{ hash: string; raw: string }>(
      realm,
      "select hash, raw from order_attempts",
    );
    deepEqual((await speedUp(funded, id)).status, 200);
    await funded.advance();
    await restoreRealm(realm);
    await haltRealm(realm);
    await node.mine();
    const [report] = await reconcile(realm, unpaid);
    deepEqual([report.lifted, report.taken.map(({ paid }) => paid.length)], [true, [1]]);
    await node.reorganise(1);
    await node.rpc("generateblock", await node.rpc("getnewaddress"), [first.raw]);
    await follow(funded, 4);
    await haltRealm(realm);
    const [again] = await reconcile(realm, unpaid);
    deepEqual([again.lifted, again.open, again.obstacles], [true, [], []]);
    const [row] = await funded.ended([id]);
    deepEqual([row.status, row.chain.hash], ["DONE", first.hash]);
    await follow(funded, 3);
    deepEqual(await funded.held(address), [COIN]);
    await funded.agree();
  },
);

testCoins(
  "LTC: a withdrawal that was signed at the dump, whose replacement was found and loses its block to the first bytes, is paid once and done",
  async (ramp) => {
    const funded = await paying(await withTwoCoins(ramp), SLOW);
    const { realm, node, id, to: address } = funded;
    ok((await crashAt(funded, "stored")).done);
    const signed = "select hash, raw from order_attempts";
    const [first] = await rowsOf<{ hash: string; raw: string }>(realm, signed);
    await keepRealm(realm);
    await funded.advance();
    deepEqual((await speedUp(funded, id)).status, 200);
    await funded.advance();
    const [{ hash }] = await rowsOf<{ hash: string }>(realm, "select hash from chain_orders");
    notEqual(hash, first.hash);
    await restoreRealm(realm);
    await haltRealm(realm);
    await node.mine();
    const [report] = await reconcile(realm, unpaid);
    deepEqual([report.lifted, report.obstacles, report.open], [true, [], []]);
    await node.reorganise(1);
    await node.rpc("generateblock", await node.rpc("getnewaddress"), [first.raw]);
    await follow(funded, 4);
    const [row] = await funded.ended([id]);
    deepEqual([row.status, row.chain.hash], ["DONE", first.hash]);
    await follow(funded, 3);
    deepEqual(await funded.held(address), [COIN]);
    await funded.agree();
  },
);

for (const later of ["paid", "unpaid"] as const) {
  for (const sent of later === "paid" ? ["waits", "is signed", "is sent"] : ["waits"]) {
    test(`two reconciliations at once, of which the later says ${later} of a withdrawal that ${sent}, pay a withdrawal at most once`, async (funded) => {
      const { realm, anvil } = funded;
      await anvil.mine();
      const { body: { id } } = await funded.withdraw("1");
      await haltRealm(realm);
      const asking = Promise.withResolvers<void>();
      const said = Promise.withResolvers<boolean>();
      const slow = reconcile(realm, () => {
        asking.resolve();
        return said.promise;
      });
      await Promise.race([asking.promise, slow]);
      const [first] = await reconcile(realm, () => Promise.resolve(later !== "paid"));
      ok(first.lifted, JSON.stringify(first));
      if (sent !== "waits") {
        await funded.advance((passed) => {
          if (sent === "is signed" && passed === "stored") throw new Error("the worker ended");
        }).catch(() => {});
      }
      said.resolve(later === "paid");
      await slow;
      const ended = await funded.finish(id);
      equal(ended.status, "DONE");
      for (let round = 0; round < 4; round++) {
        await funded.advance();
        await anvil.mine();
      }
      equal(await paidOut(funded), sent === "is sent" ? ETHER : 0n);
      deepEqual((await checkLedger(realm.pool)).mismatches, []);
      const held = "select from ramps where quarantined is not null";
      deepEqual(await rowsOf(realm, held), []);
    });
  }
}
