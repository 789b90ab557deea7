import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { selectLeaves } from "../../db/sending/chain_orders.ts";
import { reading } from "../../db/transaction.ts";
import { toUnits } from "../../domain/money.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { type Desk, openDesk, OUTSIDE } from "../support/evm_fixture.ts";
import { reconcile } from "../support/installation.ts";
import { rowsOf } from "../support/realm.ts";

/** An address that takes coins, until a test gives it code. */
const TRAP = "0x00000000000000000000000000000000000c0de1";
/** Code that refuses everything: revert(0, 0). */
const REFUSES = "0x5f5ffd";

Deno.test("a withdrawal is paid once, confirmed to its depth, and booked to the last wei", async () => {
  await using desk = await openDesk({ depth: 3 });
  const made = await desk.withdraw("1.5");
  equal(made.status, 201, made.text);
  const { id } = made.body;
  equal(made.body.status, "PROCESSING");
  equal(made.body.amount, 1.5);
  await desk.look();
  const sent = await desk.read(id);
  equal(sent.chain.nonce, 0);
  equal(sent.chain.explorer_url, `https://etherscan.io/tx/${sent.chain.hash}`);
  await desk.anvil.mine();
  await desk.look();
  equal((await desk.read(id)).status, "PROCESSING");
  equal((await desk.read(id)).chain.confirmations, 1);
  const done = await desk.finish(id);
  equal(done.status, "DONE");
  deepEqual(eventsOf(done), ["created", "sent", "mined", "done"]);
  equal(await paid(desk), 15n * 10n ** 17n);
  equal((await desk.books()).ramp, "0");
  await balanced(desk);
});

Deno.test("where the receiver pays, value is amount and fee together", async () => {
  await using desk = await openDesk();
  const small = await desk.withdraw("0.000000000000000001", { fee: { paid_by: "receiver" } });
  deepEqual([small.status, small.body.code], [409, "withdrawal.below_fee"]);
  const made = await desk.withdraw("2", { fee: { paid_by: "receiver", speed: "fast" } });
  equal(made.status, 201, made.text);
  equal((await desk.books()).account, "8");
  equal((await desk.finish(made.body.id)).status, "DONE");
  const [{ amount, fee }] = await rowsOf<{ amount: string; fee: string }>(
    desk.realm,
    "select amount::text, fee::text from withdrawals",
  );
  equal(await paid(desk), toUnits(amount, 18));
  equal(toUnits(amount, 18) + toUnits(fee, 18), 2n * 10n ** 18n);
  await balanced(desk);
});

Deno.test("twenty withdrawals of one ramp take twenty nonces and are each paid once", async () => {
  await using desk = await openDesk();
  const made = await Promise.all(Array.from({ length: 20 }, () => desk.withdraw("0.1")));
  deepEqual(made.map((answer) => answer.status), Array(20).fill(201));
  await desk.realm.drain(); // the runner itself, several at once
  await desk.anvil.mine(3);
  for (const { body } of made) equal((await desk.finish(body.id)).status, "DONE");
  const orders = await ordersOf(desk);
  deepEqual(orders.map((order) => order.nonce).toSorted((a, b) => a! - b!), [...Array(20).keys()]);
  equal(await paid(desk), 2n * 10n ** 18n);
  await balanced(desk);
});

Deno.test("a speed-up replaces what was sent: same nonce, higher price, paid once", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1", { fee: { speed: "slow" } });
  await desk.look();
  const first = (await desk.read(id)).chain;
  const answer = await speedUp(desk, id);
  equal(answer.status, 200, answer.text);
  await desk.look();
  const second = (await desk.read(id)).chain;
  equal(second.nonce, first.nonce);
  notEqual(second.hash, first.hash);
  const done = await desk.finish(id);
  equal(done.status, "DONE");
  equal(done.chain.hash, second.hash);
  equal(await paid(desk), 10n ** 18n);
  equal((await speedUp(desk, id)).body.code, "withdrawal.not_cancelable");
  await balanced(desk);
});

Deno.test("the first one may win although it was replaced", async () => {
  const desk = await openDesk();
  await using _desk = desk;
  const { body: { id } } = await desk.withdraw("1");
  await desk.look();
  const first = (await desk.read(id)).chain.hash;
  const raw = await desk.anvil.rpc<string>("eth_getRawTransactionByHash", first);
  await speedUp(desk, id);
  await desk.look();
  const second = (await desk.read(id)).chain.hash;
  await desk.anvil.rpc("anvil_dropTransaction", second);
  await desk.anvil.rpc("eth_sendRawTransaction", raw);
  const done = await desk.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", first]);
  equal(await paid(desk), 10n ** 18n);
  await balanced(desk);
});

Deno.test("cancel works until the first broadcast, and gives value and fee back", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1");
  const canceled = await cancel(desk, id);
  deepEqual([canceled.status, canceled.body.status], [200, "CANCELED"]);
  equal((await desk.books()).account, "10");
  equal((await desk.realm.balance(desk.account)).available, "10");
  await desk.look();
  await desk.anvil.mine();
  equal(await paid(desk), 0n);
  const { body: { id: other } } = await desk.withdraw("1");
  await desk.look();
  const late = await cancel(desk, other);
  deepEqual([late.status, late.body.code], [409, "withdrawal.not_cancelable"]);
  equal((await desk.finish(other)).status, "DONE");
});

Deno.test("a nonce whose signed bytes never left is filled, and those behind it go through", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1");
  await stopAt(desk, "stored");
  const { body: { id: behind } } = await desk.withdraw("2");
  equal((await cancel(desk, id)).body.status, "CANCELED");
  equal((await desk.finish(behind)).status, "DONE");
  equal(await paid(desk), 2n * 10n ** 18n);
  const orders = await ordersOf(desk);
  deepEqual(orders.map(({ purpose, nonce, state }) => [purpose, nonce, state]), [
    ["withdrawal", 0, "canceled"],
    ["withdrawal", 1, "done"],
    ["fill", 0, "done"],
  ]);
});

Deno.test("what would fail is refused by the dry run: no nonce is spent, all is given back", async () => {
  await using desk = await openDesk();
  await desk.anvil.rpc("anvil_setCode", TRAP, REFUSES);
  const { body: { id } } = await desk.withdraw("1", { destination: { address: TRAP } });
  await desk.look();
  const failed = await desk.read(id);
  equal(failed.status, "FAILED");
  equal(failed.error.code, "upstream.failed");
  deepEqual([(await desk.books()).account, (await ordersOf(desk))[0].nonce], ["10", null]);
  const { body: { id: next } } = await desk.withdraw("1");
  equal((await desk.finish(next)).chain.nonce, 0);
});

Deno.test("a reverted withdrawal is FAILED: given back less what the network took for it", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1", { destination: { address: TRAP } });
  await desk.look();
  await desk.anvil.rpc("anvil_setCode", TRAP, REFUSES);
  const failed = await desk.finish(id);
  equal(failed.status, "FAILED");
  const books = await desk.books();
  ok(books.account.startsWith("9.9999"));
  deepEqual([books.ramp, books.fees], ["0", "0"]);
  await balanced(desk);
});

Deno.test("what the nodes dropped is sent again, the same bytes", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1");
  await desk.look();
  const { hash } = (await desk.read(id)).chain;
  await desk.anvil.rpc("anvil_dropTransaction", hash);
  await desk.anvil.mine(2);
  const done = await desk.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", hash]);
  equal(await paid(desk), 10n ** 18n);
});

Deno.test("another transaction took the nonce: only when it is buried, and the ramp reconciled, the money goes back", async () => {
  await using desk = await openDesk({ depth: 3 });
  const { body: { id } } = await desk.withdraw("1");
  await desk.look();
  await desk.anvil.rpc("anvil_dropTransaction", (await desk.read(id)).chain.hash);
  await desk.anvil.rpc("eth_sendRawTransaction", await rivalOf(desk));
  for (let block = 0; block < 4; block++) {
    await desk.anvil.mine();
    await desk.look();
    equal((await desk.read(id)).status, "PROCESSING");
  }
  // Our own key signed it: a newer database may have, so that an operator looks first.
  const [report] = await reconcile(desk.realm);
  deepEqual([report.lifted, report.open], [true, []]);
  const dead = await desk.finish(id);
  equal(dead.status, "FAILED");
  equal((await desk.books()).account, "10");
  equal(await paid(desk), 0n);
  const { body: { id: next } } = await desk.withdraw("1");
  equal((await desk.finish(next)).chain.nonce, 1);
});

/** Signs a payment of nothing with the ramp's own key and its first nonce, past all records. */
async function rivalOf({ context, address }: Desk): Promise<string> {
  const place = { chain: "ETHEREUM", network: "main" } as const;
  const chain = await context.chains.open({ chain: "ETHEREUM", testnet: false });
  const draft = await chain.draft({ kind: "noop", from: address }, "fast");
  const plan = chain.plan(draft, { nonce: 0, coins: [] });
  const rows = await reading(context.pool, (db) => selectLeaves(db, place, plan.signers));
  const leaves = rows.map((row) => ({ ...place, ...row }));
  const vault = { realm: context.realm.id, pool: context.pool };
  return (await context.signer.lend(vault, leaves, (keys) => chain.sign(plan, keys))).raw;
}

/** Ends the work of all orders at a step. */
async function stopAt(desk: Desk, step: string): Promise<void> {
  await desk.look((passed) => {
    if (passed === step) throw new Error(step);
  }).catch((error) => {
    if (error.message !== step) throw error;
  });
}

async function cancel(desk: Desk, id: string) {
  return await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
}

async function speedUp(desk: Desk, id: string) {
  const body = { speed: "fast" };
  return await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, body);
}

async function paid(desk: Desk): Promise<bigint> {
  return BigInt(await desk.anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
}

async function ordersOf(desk: Desk): Promise<Pick<OrderRow, "nonce" | "purpose" | "state">[]> {
  return await rowsOf(desk.realm, "select nonce, purpose, state from orders order by id");
}

function eventsOf(withdrawal: { history: { event: string }[] }): string[] {
  return withdrawal.history.map((entry) => entry.event);
}

/** What the ledger owes is what the ramp's address holds: both began with 10. */
async function balanced(desk: Desk): Promise<void> {
  const held = BigInt(await desk.anvil.rpc<string>("eth_getBalance", desk.address, "latest"));
  const { world } = await desk.books();
  equal(held, -toUnits(world, 18));
}
