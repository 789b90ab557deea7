/** Bytes that are signed in a restored database and that a transaction which was found has replaced: they are given up only once that one is deep enough, and only for what it pays. */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import type { Question } from "../../workers/recovery/reconcile.ts";
import { scanNetwork } from "../../workers/scanning/scanner.ts";
import { endAt } from "../support/ended_worker.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { withTwoCoins } from "../support/paying_ramp.ts";
import { cancel, crashAt, pay, queue, sizeOf } from "../support/pending_withdrawals.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { COIN, follow, LITECOIN } from "../support/utxo_fixture.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ETHER = 10n ** 18n;
const test = sharingFundedRamp(
  "withdrawals on Ethereum that were signed at the dump",
);
const ignore = !hasLitecoind();
const testCoins = sharingUtxoRamp("UTXO payments that were signed at the dump", LITECOIN, ignore);
const SIGNED = "select hash, raw from order_attempts where raw is not null";

/** Reconciles with the answer that nothing was paid, and records the questions. */
async function unpaid(realm: TestRealm) {
  const asked: Question[] = [];
  const [report] = await reconcile(realm, (question) => {
    asked.push(question);
    return Promise.resolve(false);
  });
  return { ...report, asked: asked.map(({ withdrawal }) => withdrawal) };
}

for (const end of ["stays", "loses its block to them"] as const) {
  testCoins(
    `LTC: the bytes of a signed batch are kept while a transaction that pays a part of it is in the newest block, and it ${end}`,
    async (ramp) => {
      const funded = await withTwoCoins(ramp);
      const { realm, node } = funded;
      const { ids, to } = await queue(funded, LITECOIN, 2);
      const [dropped, paid] = ids;
      await funded.advance(); // joined
      ok((await crashAt(funded, "stored")).done);
      const [batch] = await rowsOf<{ hash: string; raw: string }>(realm, SIGNED);
      await keepRealm(realm);
      equal((await cancel(funded, dropped)).status, 200);
      await funded.advance();
      await funded.advance();
      await restoreRealm(realm);
      await haltRealm(realm);
      await node.mine();
      const early = await unpaid(realm);
      deepEqual([early.lifted, early.taken, early.asked], [false, [], []]);
      match(early.obstacles.join(), /may still lose its block/);
      const state = "select state from chain_orders where purpose = 'batch'";
      deepEqual([...await rowsOf(realm, state)], [{ state: "signed" }]);
      if (end !== "stays") {
        await node.reorganise(1);
        await node.rpc("generateblock", await node.rpc("getnewaddress"), [batch.raw]);
      }
      await follow(funded, 3);
      const late = await unpaid(realm);
      deepEqual([late.lifted, late.obstacles], [true, []]);
      deepEqual(late.asked, end === "stays" ? [dropped] : []);
      const rows = await funded.ended(ids);
      deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
      equal(rows.every(({ chain }) => chain.hash === batch.hash), end !== "stays");
      await follow(funded, 3);
      for (const [at, address] of to.entries()) deepEqual(await funded.held(address), [sizeOf(at)]);
      equal((await funded.withdrawal(paid)).status, "DONE");
      await funded.agree();
    },
  );
}

testCoins(
  "LTC: of two equal withdrawals in a signed batch, a transaction that was found and pays one ends one, and the other is asked about",
  async (ramp) => {
    const funded = await withTwoCoins(ramp);
    const { realm } = funded;
    const { address } = await newParty("LITECOIN");
    const ids = [await pay(funded, address, "1"), await pay(funded, address, "1")];
    await funded.advance(); // joined
    ok((await crashAt(funded, "stored")).done);
    await keepRealm(realm);
    equal((await cancel(funded, ids[0])).status, 200);
    await funded.advance();
    await restoreRealm(realm);
    await haltRealm(realm);
    await follow(funded, 3);
    const report = await unpaid(realm);
    deepEqual([report.lifted, report.obstacles, report.asked.length], [true, [], 1]);
    const rows = await funded.ended(ids);
    deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
    equal(new Set(rows.map(({ chain }) => chain.hash)).size, 2);
    await follow(funded, 3);
    deepEqual(await funded.held(address), [COIN, COIN]);
    await funded.agree();
  },
);

testCoins(
  "LTC: a withdrawal signed at the dump, and another, are both found in the one transaction that pays them since, and neither is asked about",
  async (ramp) => {
    const funded = await withTwoCoins(ramp);
    const { realm } = funded;
    const { address } = await newParty("LITECOIN");
    const signed = await pay(funded, address, "1");
    ok((await crashAt(funded, "stored")).done);
    const other = await newParty("LITECOIN");
    const waiting = await pay(funded, other.address, "0.5");
    await keepRealm(realm);
    equal((await cancel(funded, signed)).status, 200);
    await pay(funded, address, "1"); // ordered anew
    await funded.advance();
    await funded.advance();
    await restoreRealm(realm);
    await haltRealm(realm);
    await follow(funded, 3);
    const report = await unpaid(realm);
    deepEqual([report.lifted, report.obstacles, report.asked], [true, [], []]);
    const rows = await funded.ended([signed, waiting]);
    deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
    equal(rows[0].chain.hash, rows[1].chain.hash);
    await follow(funded, 3);
    deepEqual(await funded.held(address), [COIN]);
    deepEqual(await funded.held(other.address), [COIN / 2n]);
    await funded.agree();
  },
);

for (const sent of ["the bytes of the backup", "nothing"] as const) {
  test(`a withdrawal signed at the dump, whose replacement is found in the newest block, is not asked about, and is paid once where the chain loses that block and gets ${sent} instead`, async (funded) => {
    const { realm, anvil } = funded;
    await anvil.mine(3);
    const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
    await endAt("stored", funded.advance);
    const [first] = await rowsOf<{ hash: string; raw: string }>(realm, SIGNED);
    await keepRealm(realm);
    const before = await anvil.rpc<string>("evm_snapshot");
    await funded.advance();
    const faster = { speed: "fast" };
    const sped = await realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, faster);
    equal(sped.status, 200, sped.text);
    await funded.advance();
    const [{ hash }] = await rowsOf<{ hash: string }>(realm, "select hash from chain_orders");
    notEqual(hash, first.hash);
    await anvil.mine();
    await restoreRealm(realm);
    await haltRealm(realm);
    const asked: string[] = [];
    const [report] = await reconcile(realm, ({ withdrawal }) => {
      asked.push(withdrawal);
      return Promise.resolve(true);
    });
    deepEqual([report.lifted, report.obstacles, asked], [true, [], []]);
    const reached = Number(await anvil.rpc<string>("eth_blockNumber"));
    await anvil.rpc("evm_revert", before);
    if (sent !== "nothing") await anvil.rpc("eth_sendRawTransaction", first.raw);
    while (Number(await anvil.rpc<string>("eth_blockNumber")) <= reached) await anvil.mine();
    await scanNetwork(funded.context, { chain: "ETHEREUM", network: "main" }); // it notices the reorganisation
    const row = await funded.finish(id);
    equal(row.status, "DONE");
    equal(row.chain.hash, sent === "nothing" ? hash : first.hash);
    for (let round = 0; round < 4; round++) {
      await funded.advance();
      await anvil.mine();
    }
    equal(BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest")), ETHER);
    equal(Number(await anvil.rpc<string>("eth_getTransactionCount", funded.address, "latest")), 1);
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
  });
}
