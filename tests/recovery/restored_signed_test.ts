/** Restored databases in which orders are signed or sent: they end as the chain says, and give nothing back before. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { serializable } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import type { Question } from "../../workers/recovery/reconcile.ts";
import { endAt } from "../support/ended_worker.ts";
import { openTwoCoins } from "../support/paying_ramp.ts";
import { LITECOIN } from "../support/utxo_fixture.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { crashAt, queue, sizeOf } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { type FaultyNode, startFaultyNode } from "../support/nodes/faulty_node.ts";

const ETHER = 10n ** 18n;
const test = sharingFundedRamp("orders on Ethereum that a dump has as signed");

async function follow(funded: FundedRamp): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await funded.advance();
    await funded.anvil.mine();
  }
}

/** Answers that a withdrawal was paid, and records the questions. */
function paidAnswers(): { asked: Question[]; answer: (question: Question) => Promise<boolean> } {
  const asked: Question[] = [];
  return {
    asked,
    answer: (question) => {
      asked.push(question);
      return Promise.resolve(true);
    },
  };
}

test("a signed withdrawal whose bytes are mined is not asked about, and the network's fee is booked", async (funded) => {
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  await endAt("stored", funded.advance);
  await keepRealm(funded.realm);
  const { chain } = await funded.finish(id);
  const { account, fees } = await funded.books();
  await restoreRealm(funded.realm);
  await haltRealm(funded.realm);
  const { asked, answer } = paidAnswers();
  const [report] = await reconcile(funded.realm, answer);
  deepEqual([report.lifted, report.obstacles, report.open, asked], [true, [], [], []]);
  const ended = await funded.finish(id);
  deepEqual([ended.status, ended.chain.hash, ended.chain.block], [
    "DONE",
    chain.hash,
    chain.block,
  ]);
  const books = await funded.books();
  deepEqual([books.account, books.fees], [account, fees]);
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
});

Deno.test({
  name:
    "LTC: a signed batch whose transaction is mined is not asked about, and its fee is booked to each",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using funded = await openTwoCoins();
    const { realm } = funded;
    const { ids, to } = await queue(funded, LITECOIN, 2);
    await funded.advance();
    ok((await crashAt(funded, "stored")).done);
    await keepRealm(realm);
    const before = await funded.ended(ids);
    await restoreRealm(realm);
    await haltRealm(realm);
    const { asked, answer } = paidAnswers();
    const [report] = await reconcile(realm, answer);
    deepEqual([report.lifted, report.obstacles, report.taken, asked], [true, [], [], []]);
    const rows = await funded.ended(ids);
    const shown = (some: typeof rows) =>
      some.map(({ status, fee, chain }) => [status, fee.cost, chain.hash, chain.block]);
    deepEqual(shown(rows), shown(before));
    for (const [at, address] of to.entries()) deepEqual(await funded.held(address), [sizeOf(at)]);
    await funded.agree();
  },
});

test("in quarantine nothing goes back for a transaction that can never be mined; it does once the ramp is reconciled, with the fee of its replacement", async (funded) => {
  const { realm, anvil, address } = funded;
  await anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  await endAt("stored", funded.advance);
  await keepRealm(realm);
  // The newer database cancels it, and fills its nonce.
  equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  await follow(funded);
  await restoreRealm(realm);
  const before = await funded.books();
  await haltRealm(realm);
  await follow(funded);
  const select = "select state, error from chain_orders";
  const [held] = await rowsOf<{ state: string; error: string }>(realm, select);
  equal(held.state, "sent");
  match(held.error, /^chain.quarantined: /);
  equal((await funded.read(id)).status, "PROCESSING");
  deepEqual(await funded.books(), before);
  const die =
    `update order_attempts set dropped = true, proof = 'consumed', proof_by = 'x', proof_height = 1;
    update chain_orders set state = 'dropped'`;
  await rejects(serializable(realm.pool, (tx) => tx.unsafe(die)), /does not end unpaid/);
  const [report] = await reconcile(realm, () => Promise.resolve(true));
  deepEqual([report.lifted, report.open, report.obstacles], [true, [], []]);
  equal((await funded.finish(id)).status, "FAILED");
  const { account, fees } = await funded.books();
  const left = BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest"));
  ok(left < 10n * ETHER);
  deepEqual([account, Number(fees)], ["10", Number(left - 10n * ETHER) / 1e18]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

for (const paid of [true, false]) {
  test(`a withdrawal canceled since the dump and ordered anew is asked about beside the payment that was found, and ${paid ? "that one is its" : "is paid as well"}`, async (funded) => {
    const { realm, anvil } = funded;
    await anvil.mine();
    const { body: { id } } = await funded.withdraw("1");
    await endAt("stored", funded.advance);
    await keepRealm(realm);
    equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
    await follow(funded);
    const { body: { id: anew } } = await funded.withdraw("1");
    const { chain } = await funded.finish(anew);
    const lost = await funded.books();
    await restoreRealm(realm);
    await haltRealm(realm);
    const asked: Question[] = [];
    const [report] = await reconcile(realm, (question) => {
      asked.push(question);
      return Promise.resolve(paid);
    });
    deepEqual([report.lifted, report.obstacles], [true, []]);
    deepEqual(asked.map(({ withdrawal, like }) => [withdrawal, like]), [[id, chain.hash]]);
    const ended = await funded.finish(id);
    await follow(funded);
    equal(ended.status, "DONE");
    equal(ended.chain.hash === chain.hash, paid);
    const outside = BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
    equal(outside, paid ? ETHER : 2n * ETHER);
    const { account, fees } = await funded.books();
    equal(Number(account).toFixed(3), Number(lost.account).toFixed(3));
    equal(Math.round(Number(fees)) + 0, paid ? 0 : -1);
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
  });
}

test("an unknown transaction of our own key in an order's place puts the ramp into quarantine before anything goes back", async (funded) => {
  const { realm } = funded;
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  await endAt("stored", funded.advance);
  await keepRealm(realm);
  equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  await follow(funded);
  await restoreRealm(realm);
  const before = await funded.books();
  // Nobody knows yet that the database is older.
  await follow(funded);
  const [{ detail }] = await rowsOf<{ detail: string }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps",
  );
  match(detail, /took the place of order/);
  equal((await funded.read(id)).status, "PROCESSING");
  deepEqual(await funded.books(), before);
});

Deno.test("in quarantine one node of two that says it has signed bytes does not have them leave", async () => {
  const nodes: FaultyNode[] = [];
  const front = (url: string) => {
    nodes.push(startFaultyNode(url), startFaultyNode(url));
    return nodes.map((one) => one.url).join();
  };
  await using funded = await openFundedRamp({ front });
  try {
    const { realm, anvil } = funded;
    await anvil.mine();
    await funded.withdraw("1");
    await endAt("stored", funded.advance);
    await haltRealm(realm);
    const [{ hash }] = await rowsOf<{ hash: string }>(realm, "select hash from chain_orders");
    for (const lying of nodes) {
      lying.trick = ({ method, params }) =>
        method === "eth_getTransactionByHash" && params[0] === hash ? { hash } : undefined;
      await funded.advance();
      lying.trick = () => undefined;
      const [order] = await rowsOf<{ state: string }>(realm, "select state from chain_orders");
      equal(order.state, "signed");
      equal(await anvil.rpc("eth_getTransactionByHash", hash), null);
    }
  } finally {
    for (const node of nodes) await node.abort();
  }
});
