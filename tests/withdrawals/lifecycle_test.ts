import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { selectKeyPositions } from "../../db/accounts/ramps.ts";
import { reading } from "../../db/transaction.ts";
import { toUnits } from "../../domain/money.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { reconcile } from "../support/installation.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingFunded, somebody } from "../support/sharing_funded.ts";

/** Code that refuses everything: revert(0, 0). */
const REFUSES = "0x5f5ffd";
/** A test ends what it asks for. */
const test = sharingFunded("withdrawals in one realm");

Deno.test("a withdrawal is paid once, confirmed to its depth, and booked to the last wei", async () => {
  await using funded = await openFundedRamp({ depth: 3 });
  const made = await funded.withdraw("1.5");
  equal(made.status, 201, made.text);
  const { id } = made.body;
  equal(made.body.status, "PROCESSING");
  equal(made.body.amount, 1.5);
  await funded.advance();
  const sent = await funded.read(id);
  equal(sent.chain.nonce, 0);
  equal(sent.chain.explorer_url, `https://etherscan.io/tx/${sent.chain.hash}`);
  await funded.anvil.mine();
  await funded.advance();
  equal((await funded.read(id)).status, "PROCESSING");
  equal((await funded.read(id)).chain.confirmations, 1);
  const done = await funded.finish(id);
  equal(done.status, "DONE");
  deepEqual(eventsOf(done), ["created", "sent", "mined", "done"]);
  equal(await paid(funded), 15n * 10n ** 17n);
  equal((await funded.books()).ramp, "0");
  await balanced(funded);
});

test(
  "where the receiver pays, value is amount and fee together",
  1,
  async ({ funded, outside }) => {
    const small = await funded.withdraw("0.000000000000000001", { fee: { paid_by: "receiver" } });
    deepEqual([small.status, small.body.code], [409, "withdrawal.below_fee"]);
    const made = await funded.withdraw("2", { fee: { paid_by: "receiver", speed: "fast" } });
    equal(made.status, 201, made.text);
    equal((await funded.books()).account, "8");
    equal((await funded.finish(made.body.id)).status, "DONE");
    const [{ amount, fee }] = await rowsOf<{ amount: string; fee: string }>(
      funded.realm,
      "select amount::text, fee::text from withdrawals where id = $1",
      [made.body.id],
    );
    equal(await paid(funded, outside), toUnits(amount, 18));
    equal(toUnits(amount, 18) + toUnits(fee, 18), 2n * 10n ** 18n);
    await balanced(funded);
  },
);

test(
  "twenty withdrawals of one ramp take twenty nonces and are each paid once",
  1,
  async ({ funded, outside }) => {
    const made = await Promise.all(Array.from({ length: 20 }, () => funded.withdraw("0.1")));
    deepEqual(made.map((answer) => answer.status), Array(20).fill(201));
    await funded.realm.drain(); // the runner itself, several at once
    await funded.anvil.mine(3);
    for (const { body } of made) equal((await funded.finish(body.id)).status, "DONE");
    const orders = await ordersOf(funded);
    deepEqual(orders.map((order) => order.nonce).toSorted((a, b) => a! - b!), [
      ...Array(20).keys(),
    ]);
    equal(await paid(funded, outside), 2n * 10n ** 18n);
    await balanced(funded);
  },
);

test(
  "a speed-up replaces the sent attempt: same nonce, higher price, paid once",
  1,
  async ({ funded, outside }) => {
    const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
    await funded.advance();
    const first = (await funded.read(id)).chain;
    const answer = await speedUp(funded, id);
    equal(answer.status, 200, answer.text);
    await funded.advance();
    const second = (await funded.read(id)).chain;
    equal(second.nonce, first.nonce);
    notEqual(second.hash, first.hash);
    const done = await funded.finish(id);
    equal(done.status, "DONE");
    equal(done.chain.hash, second.hash);
    equal(await paid(funded, outside), 10n ** 18n);
    equal((await speedUp(funded, id)).body.code, "withdrawal.not_cancelable");
    await balanced(funded);
  },
);

test("the first one may win although it was replaced", 1, async ({ funded, outside }) => {
  const { body: { id } } = await funded.withdraw("1");
  await funded.advance();
  const first = (await funded.read(id)).chain.hash;
  const raw = await funded.anvil.rpc<string>("eth_getRawTransactionByHash", first);
  await speedUp(funded, id);
  await funded.advance();
  const second = (await funded.read(id)).chain.hash;
  await funded.anvil.rpc("anvil_dropTransaction", second);
  await funded.anvil.rpc("eth_sendRawTransaction", raw);
  const done = await funded.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", first]);
  equal(await paid(funded, outside), 10n ** 18n);
  await balanced(funded);
});

test(
  "cancel works until the first broadcast, and gives value and fee back",
  1,
  async ({ funded, outside }) => {
    const { body: { id } } = await funded.withdraw("1");
    const canceled = await cancel(funded, id);
    deepEqual([canceled.status, canceled.body.status], [200, "CANCELED"]);
    equal((await funded.books()).account, "10");
    equal((await funded.realm.balance(funded.account)).available, "10");
    await funded.advance();
    await funded.anvil.mine();
    equal(await paid(funded, outside), 0n);
    const { body: { id: other } } = await funded.withdraw("1");
    await funded.advance();
    const late = await cancel(funded, other);
    deepEqual([late.status, late.body.code], [409, "withdrawal.not_cancelable"]);
    equal((await funded.finish(other)).status, "DONE");
  },
);

test(
  "a nonce whose signed bytes never left is filled, and those behind it go through",
  1,
  async ({ funded, outside }) => {
    const { body: { id } } = await funded.withdraw("1");
    await stopAt(funded, "stored");
    const { body: { id: behind } } = await funded.withdraw("2");
    equal((await cancel(funded, id)).body.status, "CANCELED");
    equal((await funded.finish(behind)).status, "DONE");
    equal(await paid(funded, outside), 2n * 10n ** 18n);
    const orders = await ordersOf(funded);
    deepEqual(orders.map(({ purpose, nonce, state }) => [purpose, nonce, state]), [
      ["withdrawal", 0, "canceled"],
      ["withdrawal", 1, "done"],
      ["fill", 0, "done"],
    ]);
  },
);

test(
  "a payment that would fail is refused by the dry run: no nonce is spent, all is given back",
  1,
  async ({ funded }) => {
    const trap = somebody();
    await funded.anvil.rpc("anvil_setCode", trap, REFUSES);
    const { body: { id } } = await funded.withdraw("1", { destination: { address: trap } });
    await funded.advance();
    const failed = await funded.read(id);
    equal(failed.status, "FAILED");
    equal(failed.error.code, "upstream.failed");
    deepEqual([(await funded.books()).account, (await ordersOf(funded))[0].nonce], ["10", null]);
    const { body: { id: next } } = await funded.withdraw("1");
    equal((await funded.finish(next)).chain.nonce, 0);
  },
);

test(
  "a reverted withdrawal is FAILED: given back less the network's fee",
  1,
  async ({ funded }) => {
    const trap = somebody();
    const { body: { id } } = await funded.withdraw("1", { destination: { address: trap } });
    await funded.advance();
    await funded.anvil.rpc("anvil_setCode", trap, REFUSES);
    const failed = await funded.finish(id);
    equal(failed.status, "FAILED");
    const books = await funded.books();
    ok(books.account.startsWith("9.9999"));
    deepEqual([books.ramp, books.fees], ["0", "0"]);
    await balanced(funded);
  },
);

test(
  "a transaction that the nodes dropped is sent again, the same bytes",
  1,
  async ({ funded, outside }) => {
    const { body: { id } } = await funded.withdraw("1");
    await funded.advance();
    const { hash } = (await funded.read(id)).chain;
    await funded.anvil.rpc("anvil_dropTransaction", hash);
    await funded.anvil.mine(2);
    const done = await funded.finish(id);
    deepEqual([done.status, done.chain.hash], ["DONE", hash]);
    equal(await paid(funded, outside), 10n ** 18n);
  },
);

Deno.test("another transaction took the nonce: only when it is buried, and the ramp reconciled, the money goes back", async () => {
  await using funded = await openFundedRamp({ depth: 3 });
  const { body: { id } } = await funded.withdraw("1");
  await funded.advance();
  await funded.anvil.rpc("anvil_dropTransaction", (await funded.read(id)).chain.hash);
  await funded.anvil.rpc("eth_sendRawTransaction", await rivalOf(funded));
  for (let block = 0; block < 4; block++) {
    await funded.anvil.mine();
    await funded.advance();
    equal((await funded.read(id)).status, "PROCESSING");
  }
  // Our own key signed it: a newer database may have, so an operator reconciles first.
  const [report] = await reconcile(funded.realm);
  deepEqual([report.lifted, report.open], [true, []]);
  const dropped = await funded.finish(id);
  equal(dropped.status, "FAILED");
  equal((await funded.books()).account, "10");
  equal(await paid(funded), 0n);
  const { body: { id: next } } = await funded.withdraw("1");
  equal((await funded.finish(next)).chain.nonce, 1);
});

/** Signs a payment of nothing with the ramp's own key and its first nonce, past all records. */
async function rivalOf({ context, address }: FundedRamp): Promise<string> {
  const place = { chain: "ETHEREUM", network: "main" } as const;
  const chain = await context.chains.open({ chain: "ETHEREUM", testnet: false });
  const draft = await chain.draft({ kind: "noop", from: address }, "fast");
  const plan = chain.plan(draft, { nonce: 0, coins: [] });
  const rows = await reading(context.pool, (db) => selectKeyPositions(db, place, plan.signers));
  const paths = rows.map((row) => ({ ...place, ...row }));
  const store = { realm: context.realm.id, pool: context.pool };
  return (await context.signer.withKeys(store, paths, (keys) => chain.sign(plan, keys))).raw;
}

/** Ends the work of all orders at a step. */
async function stopAt(funded: FundedRamp, step: string): Promise<void> {
  await funded.advance((passed) => {
    if (passed === step) throw new Error(step);
  }).catch((error) => {
    if (error.message !== step) throw error;
  });
}

async function cancel(funded: FundedRamp, id: string) {
  return await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
}

async function speedUp(funded: FundedRamp, id: string) {
  const body = { speed: "fast" };
  return await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, body);
}

async function paid({ anvil }: FundedRamp, to = OUTSIDE): Promise<bigint> {
  return BigInt(await anvil.rpc<string>("eth_getBalance", to, "latest"));
}

async function ordersOf(
  funded: FundedRamp,
): Promise<Pick<OrderRow, "nonce" | "purpose" | "state">[]> {
  const text = "select nonce, purpose, state from chain_orders where ramp = $1 order by id";
  return await rowsOf(funded.realm, text, [funded.ramp]);
}

function eventsOf(withdrawal: { history: { event: string }[] }): string[] {
  return withdrawal.history.map((entry) => entry.event);
}

/** Checks that the ledger's liability equals the balance of the ramp's address: both began with 10. */
async function balanced(funded: FundedRamp): Promise<void> {
  const held = BigInt(await funded.anvil.rpc<string>("eth_getBalance", funded.address, "latest"));
  const { world } = await funded.books();
  equal(held, -toUnits(world, 18));
}
