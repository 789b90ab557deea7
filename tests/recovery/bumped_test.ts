/** Payments whose fee was raised since the backup, by a replacement or a child: the one that was mined is theirs, and no other is sent. */
import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { endAt } from "../support/ended_worker.ts";
import { paidOut } from "../support/found_payments.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { hasLitecoind, LIKE_DOGECOIN, startLitecoind } from "../support/nodes/litecoind.ts";
import { paying, withTwoCoins } from "../support/paying_ramp.ts";
import { crashAt, paidOnce, queue, speedUp } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { COIN, follow, LITECOIN, openUtxoRamp, type UtxoChain } from "../support/utxo_fixture.ts";

const ETHER = 10n ** 18n;
const test = sharingFundedRamp(
  "withdrawals on Ethereum that were replaced since the dump",
);
const ignore = !hasLitecoind();
const testCoins = sharingUtxoRamp(
  "UTXO payments that were replaced since the dump",
  LITECOIN,
  ignore,
);
const SLOW = { fee: { speed: "slow" } };
/** A miner who takes nothing below 0.015 for 1000 bytes; a sweep pays 0.01. */
const DEAR: UtxoChain = {
  id: "DOGECOIN",
  asset: "DOGE",
  start: () => startLitecoind(...LIKE_DOGECOIN, "-blockmintxfee=0.015", "-paytxfee=0.02"),
};
const unpaid = () => Promise.resolve(false);

for (const step of ["planned", "stored", "broadcast"] as const) {
  test(`a withdrawal that was ${step} at the dump and replaced since is paid once, also while its replacement waits in the pool`, async (funded) => {
    const { realm, anvil } = funded;
    await anvil.mine();
    const { body: { id } } = await funded.withdraw("1", SLOW);
    await endAt(step, funded.advance);
    await keepRealm(realm);
    await funded.advance();
    const faster = await realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
      speed: "fast",
    });
    equal(faster.status, 200, faster.text);
    await funded.advance();
    const attempts = "select hash from order_attempts order by attempt";
    const made = await rowsOf<{ hash: string }>(realm, attempts);
    equal(made.length, 2);
    await restoreRealm(realm);
    await haltRealm(realm);
    await reconcile(realm, unpaid);
    await funded.advance();
    equal(await paidOut(funded), 0n);
    await anvil.mine();
    equal(await paidOut(funded), ETHER);
    await funded.advance();
    await anvil.mine(2);
    await haltRealm(realm);
    const [report] = await reconcile(realm, unpaid);
    deepEqual([report.lifted, report.obstacles, report.open], [true, [], []]);
    const ended = await funded.finish(id);
    equal(ended.status, "DONE");
    for (let round = 0; round < 3; round++) {
      await funded.advance();
      await anvil.mine();
    }
    equal(await paidOut(funded), ETHER);
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
  });
}

for (const step of ["planned", "stored"] as const) {
  testCoins(
    `LTC: a withdrawal that was ${step} at the dump and replaced since is paid once, and waits while its replacement is in the pool`,
    async (ramp) => {
      const funded = await paying(await withTwoCoins(ramp), SLOW);
      const { realm, id, to: address } = funded;
      ok((await crashAt(funded, step)).done);
      await keepRealm(realm);
      await funded.advance();
      equal((await speedUp(funded, id)).status, 200);
      await funded.advance();
      const [{ hash }] = await rowsOf<{ hash: string }>(realm, "select hash from chain_orders");
      await restoreRealm(realm);
      await haltRealm(realm);
      const [waiting] = await reconcile(realm, unpaid);
      deepEqual([waiting.lifted, waiting.open], [false, []]);
      await follow(funded, 3);
      const [report] = await reconcile(realm, unpaid);
      deepEqual([report.lifted, report.open, report.obstacles], [true, [], []]);
      const [row] = await funded.ended([id]);
      deepEqual([row.status, row.chain.hash], ["DONE", hash]);
      await follow(funded, 3);
      deepEqual(await funded.held(address), [COIN]);
      await funded.agree();
    },
  );
}

const FOUND = [["planned", "newest"], ["stored", "newest"], ["broadcast", "newest"], [
  "broadcast",
  "third",
]] as const;

for (const [step, block] of FOUND) {
  testCoins(
    `LTC: a withdrawal that was ${step} at the dump, and whose replacement is in the ${block} block, is not asked about and paid once`,
    async (ramp) => {
      const funded = await paying(await withTwoCoins(ramp), SLOW);
      const { realm, node, id, to: address } = funded;
      ok((await crashAt(funded, step)).done);
      await keepRealm(realm);
      await funded.advance();
      equal((await speedUp(funded, id)).status, 200);
      await funded.advance();
      const [{ hash }] = await rowsOf<{ hash: string }>(realm, "select hash from chain_orders");
      await restoreRealm(realm);
      await haltRealm(realm);
      await node.mine();
      if (block === "third") await follow(funded, 3);
      const asked: string[] = [];
      const [report] = await reconcile(realm, ({ withdrawal }) => {
        asked.push(withdrawal);
        return Promise.resolve(false);
      });
      deepEqual([report.lifted, report.obstacles, asked], [true, [], []]);
      const [row] = await funded.ended([id]);
      deepEqual([row.status, row.chain.hash], ["DONE", hash]);
      await follow(funded, 3);
      deepEqual(await funded.held(address), [COIN]);
      const held = "select from ramps where quarantined is not null";
      deepEqual(await rowsOf(realm, held), []);
      await funded.agree();
    },
  );
}

testCoins(
  "LTC: a batch that was sent at the dump and replaced since pays each of its withdrawals once",
  async (ramp) => {
    const funded = await withTwoCoins(ramp);
    const { realm, node } = funded;
    const made = await queue(funded, LITECOIN, 2, SLOW);
    await funded.advance(); // joined
    ok((await crashAt(funded, "broadcast")).done);
    await keepRealm(realm);
    await funded.advance();
    equal((await speedUp(funded, made.ids[0])).status, 200);
    await funded.advance();
    const batch = "select hash from chain_orders where purpose = 'batch'";
    const [{ hash }] = await rowsOf<{ hash: string }>(realm, batch);
    await restoreRealm(realm);
    notEqual((await rowsOf<{ hash: string }>(realm, batch))[0].hash, hash);
    await haltRealm(realm);
    await node.mine();
    const [report] = await reconcile(realm, unpaid);
    deepEqual([report.lifted, report.obstacles, report.taken], [true, [], []]);
    const rows = await funded.ended(made.ids);
    deepEqual(rows.map(({ chain }) => chain.hash), [hash, hash]);
    await follow(funded, 3);
    await paidOnce(funded, made);
    await funded.agree();
  },
);

testCoins(
  "LTC: a sweep that was sent at the dump and replaced since is booked once",
  async (funded) => {
    const { realm } = funded;
    await funded.deposit(20n * COIN);
    const left = "select hash from chain_orders where purpose = 'sweep' and state = 'sent'";
    const hashOf = async () => (await rowsOf<{ hash: string }>(realm, left))[0]?.hash;
    await funded.until(async () => await hashOf() !== undefined);
    const first = await hashOf();
    const aged = "update chain_orders set created_at = created_at - interval '20 minutes'";
    await rowsOf(realm, aged); // it is stuck
    await keepRealm(realm);
    for (let round = 0; round < 3; round++) await funded.advance();
    notEqual(await hashOf(), first, "it was replaced");
    const credited = async () => (await funded.account(funded.virtual)).balance.total;
    await funded.until(async () => await credited() !== "0");
    const before = await credited();
    await restoreRealm(realm);
    await haltRealm(realm);
    const [report] = await reconcile(realm, unpaid);
    deepEqual([report.lifted, report.open, report.obstacles], [true, [], []]);
    await funded.until(async () => await credited() !== "0");
    await follow(funded, 4);
    equal(await credited(), before);
    equal((await rowsOf(realm, "select from deposits where status <> 'ORPHANED'")).length, 1);
    await funded.agree();
  },
);

for (const sent of [true, false]) {
  Deno.test({
    name: `DOGE: a sweep that was ${
      sent ? "sent at" : "made after"
    } the dump and paid for by a child since is booked once, and so is the child`,
    ignore,
    fn: async () => {
      await using funded = await openUtxoRamp(DEAR);
      const { realm } = funded;
      await funded.deposit(20n * COIN);
      const left = "select from chain_orders where purpose = 'sweep' and state = 'sent'";
      if (!sent) await keepRealm(realm);
      await funded.until(async () => (await rowsOf(realm, left)).length > 0);
      const aged = "update chain_orders set created_at = created_at - interval '20 minutes'";
      await rowsOf(realm, aged); // it is stuck
      if (sent) await keepRealm(realm);
      for (let round = 0; round < 3; round++) {
        await funded.node.mine();
        await funded.advance();
      }
      const states = "select purpose, state from chain_orders order by id";
      deepEqual((await rowsOf<{ purpose: string }>(realm, states)).map(({ purpose }) => purpose), [
        "sweep",
        "cpfp",
      ]);
      const credited = async () => (await funded.account(funded.virtual)).balance.total;
      await funded.until(async () => await credited() !== "0");
      const before = await credited();
      await restoreRealm(realm);
      await haltRealm(realm);
      await follow(funded, 3);
      const [report] = await reconcile(realm, unpaid);
      deepEqual([report.lifted, report.open, report.obstacles], [true, [], []]);
      await funded.until(async () => await credited() !== "0");
      await follow(funded, 4);
      equal(await credited(), before);
      const deposits = "select from deposits where status <> 'ORPHANED'";
      equal((await rowsOf(realm, deposits)).length, 1);
      await funded.agree();
    },
  });
}
