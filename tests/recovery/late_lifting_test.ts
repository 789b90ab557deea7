/** Quarantines on UTXO chains that are to end while a block is scanned that has bytes which were given up. */
import { deepEqual, equal, fail, match } from "node:assert/strict";
import { markSeen } from "../../domain/deposits/scan_results.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { reconcileBefore } from "../support/killed_reconcile.ts";
import {
  cancelStored,
  type LosingRamp,
  reasonOf,
  sharingLosingRamp,
  type Stored,
} from "../support/lost_coins.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { COIN, follow } from "../support/utxo_fixture.ts";

const test = sharingLosingRamp("UTXO quarantines that are to end", !hasLitecoind());

const PLACE = { chain: "LITECOIN", network: "regtest" };
const LATE = "a transaction of ours was mined, or lost, meanwhile: run it again";
const nobody = () => fail("nobody is asked");

/** How a worker comes to know of the bytes, in the moment before the quarantine ends. */
const WAYS: Record<string, (funded: LosingRamp, late: Stored) => Promise<void>> = {
  "a worker scans": async (funded) => await funded.follow(),
  "too few nodes tell": async ({ realm, node }, { hash }) => {
    const height = await node.rpc<number>("getblockcount");
    const [{ input }] = await rowsOf<{ input: string }>(
      realm,
      "select inputs[1] as input from order_attempts where hash = $1",
      [hash],
    );
    await realm.command((tx) => markSeen(tx, PLACE, [{ input, hash, height, few: true }]));
  },
};

for (const [way, tell] of Object.entries(WAYS)) {
  test(`LTC: a quarantine does not end where, in that moment, ${way} of a block with bytes that were given up`, async (funded) => {
    await funded.fund(5n * COIN);
    const { realm, node } = funded;
    const late = await cancelStored(funded, "1");
    await haltRealm(realm);
    const lifting = await reconcileBefore(realm, async () => {
      await node.rpc("generateblock", await node.rpc("getnewaddress"), [late.raw]);
      await tell(funded, late);
    });
    deepEqual([lifting.lifted, lifting.obstacles], [false, [LATE]]);
    match(await reasonOf(funded) ?? "none", /older than the record/);
    await node.mine(2);
    await funded.follow();
    const [report] = await reconcile(realm, nobody);
    deepEqual([report.lifted, report.obstacles], [true, []]);
    deepEqual(report.taken.map(({ hash, late: order }) => [hash, order]), [[
      late.hash,
      late.order,
    ]]);
    equal(await reasonOf(funded), null);
    await follow(funded, 3);
    await funded.agree();
    deepEqual(await funded.held(report.taken[0].unmatched[0].to), [COIN]);
  });
}

test("LTC: a quarantine does not end where, in that moment, a worker scans a block in which a transaction that nothing knows spends a coin", async (funded) => {
  await funded.fund(5n * COIN);
  const { realm } = funded;
  await haltRealm(realm);
  const spent = "update coins set spent_by = $1, spent_height = height where spent_by is null";
  const lifting = await reconcileBefore(realm, async () => {
    await rowsOf(realm, spent, ["ab".repeat(32)]);
  });
  deepEqual([lifting.lifted, lifting.obstacles], [false, [LATE]]);
  match(await reasonOf(funded) ?? "none", /older than the record/);
});
