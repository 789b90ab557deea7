/** Restored databases in which orders are signed or sent: they end as the chain says, and give nothing back before. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { serializable } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import type { Question } from "../../workers/recovery/reconcile.ts";
import { COIN, LITECOIN, openCoinDesk } from "../support/utxo_fixture.ts";
import { type Desk, openDesk } from "../support/evm_fixture.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { crashAt, queue, sizeOf } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { type Rogue, startRogue } from "../support/nodes/misbehaving_node.ts";

const ETHER = 10n ** 18n;

/** Ends a worker once it has stored the bytes. */
async function signOnly(desk: Desk): Promise<void> {
  const ended = desk.look((step) => {
    if (step === "stored") throw new Error("the worker ended");
  });
  await rejects(ended, /the worker ended/);
}

async function follow(desk: Desk): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await desk.look();
    await desk.anvil.mine();
  }
}

/** Answers that a withdrawal was paid, and keeps what was asked. */
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

Deno.test("a signed withdrawal whose bytes are mined is not asked about, and what the network took is booked", async () => {
  await using desk = await openDesk();
  await desk.anvil.mine();
  const { body: { id } } = await desk.withdraw("1");
  await signOnly(desk);
  await keepRealm(desk.realm);
  const { chain } = await desk.finish(id);
  const { account, fees } = await desk.books();
  await restoreRealm(desk.realm);
  await haltRealm(desk.realm);
  const { asked, answer } = paidAnswers();
  const [report] = await reconcile(desk.realm, answer);
  deepEqual([report.lifted, report.obstacles, report.open, asked], [true, [], [], []]);
  const ended = await desk.finish(id);
  deepEqual([ended.status, ended.chain.hash, ended.chain.block], [
    "DONE",
    chain.hash,
    chain.block,
  ]);
  const books = await desk.books();
  deepEqual([books.account, books.fees], [account, fees]);
  deepEqual((await checkLedger(desk.realm.pool)).mismatches, []);
});

Deno.test({
  name:
    "LTC: a signed payout whose transaction is mined is not asked about, and its fee is booked to each",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    const { realm } = desk;
    await desk.fund(5n * COIN, 3n * COIN);
    const { ids, to } = await queue(desk, LITECOIN, 2);
    await desk.look();
    ok((await crashAt(desk, "stored")).done);
    await keepRealm(realm);
    const before = await desk.ended(ids);
    await restoreRealm(realm);
    await haltRealm(realm);
    const { asked, answer } = paidAnswers();
    const [report] = await reconcile(realm, answer);
    deepEqual([report.lifted, report.obstacles, report.taken, asked], [true, [], [], []]);
    const rows = await desk.ended(ids);
    const shown = (some: typeof rows) =>
      some.map(({ status, fee, chain }) => [status, fee.cost, chain.hash, chain.block]);
    deepEqual(shown(rows), shown(before));
    for (const [at, address] of to.entries()) deepEqual(await desk.held(address), [sizeOf(at)]);
    await desk.agree();
  },
});

Deno.test("in quarantine nothing goes back for what can never be mined; it does once the ramp is reconciled, with the fee of what took its place", async () => {
  await using desk = await openDesk();
  const { realm, anvil, address } = desk;
  await anvil.mine();
  const { body: { id } } = await desk.withdraw("1");
  await signOnly(desk);
  await keepRealm(realm);
  // The newer database cancels it, and fills its nonce.
  equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  await follow(desk);
  await restoreRealm(realm);
  const before = await desk.books();
  await haltRealm(realm);
  await follow(desk);
  const select = "select state, error from orders";
  const [held] = await rowsOf<{ state: string; error: string }>(realm, select);
  equal(held.state, "sent");
  match(held.error, /^chain.quarantined: /);
  equal((await desk.read(id)).status, "PROCESSING");
  deepEqual(await desk.books(), before);
  const die =
    `update order_candidates set dead = true, proof = 'consumed', proof_by = 'x', proof_height = 1;
    update orders set state = 'dead'`;
  await rejects(serializable(realm.pool, (tx) => tx.unsafe(die)), /does not end unpaid/);
  const [report] = await reconcile(realm, () => Promise.resolve(true));
  deepEqual([report.lifted, report.open, report.obstacles], [true, [], []]);
  equal((await desk.finish(id)).status, "FAILED");
  const { account, fees } = await desk.books();
  const left = BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest"));
  ok(left < 10n * ETHER);
  deepEqual([account, Number(fees)], ["10", Number(left - 10n * ETHER) / 1e18]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("what our own key signed in an order's place, and nothing here knows of, puts the ramp into quarantine before anything goes back", async () => {
  await using desk = await openDesk();
  const { realm } = desk;
  await desk.anvil.mine();
  const { body: { id } } = await desk.withdraw("1");
  await signOnly(desk);
  await keepRealm(realm);
  equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  await follow(desk);
  await restoreRealm(realm);
  const before = await desk.books();
  // Nobody knows yet that the database is older.
  await follow(desk);
  const [{ detail }] = await rowsOf<{ detail: string }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps",
  );
  match(detail, /took the place of order/);
  equal((await desk.read(id)).status, "PROCESSING");
  deepEqual(await desk.books(), before);
});

Deno.test("in quarantine one node of two that says it has signed bytes does not have them leave", async () => {
  const nodes: Rogue[] = [];
  const front = (url: string) => {
    nodes.push(startRogue(url), startRogue(url));
    return nodes.map((one) => one.url).join();
  };
  await using desk = await openDesk({ front });
  try {
    const { realm, anvil } = desk;
    await anvil.mine();
    await desk.withdraw("1");
    await signOnly(desk);
    await haltRealm(realm);
    const [{ hash }] = await rowsOf<{ hash: string }>(realm, "select hash from orders");
    for (const liar of nodes) {
      liar.trick = ({ method, params }) =>
        method === "eth_getTransactionByHash" && params[0] === hash ? { hash } : undefined;
      await desk.look();
      liar.trick = () => undefined;
      const [order] = await rowsOf<{ state: string }>(realm, "select state from orders");
      equal(order.state, "signed");
      equal(await anvil.rpc("eth_getTransactionByHash", hash), null);
    }
  } finally {
    for (const node of nodes) await node.abort();
  }
});
