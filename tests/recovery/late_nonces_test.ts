/** Payments on EVM chains that were canceled or given up, and whose bytes are mined all the same. */
import { deepEqual, equal, fail, match, ok, rejects } from "node:assert/strict";
import { brokenConstraint } from "../../db/errors.ts";
import { recordFound } from "../../domain/deposits/scan_results.ts";
import { endAt } from "../support/ended_worker.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { reconcile, reconcileTwice } from "../support/installation.ts";
import { isKilled } from "../support/killed_reconcile.ts";
import {
  type Canceled,
  cancelSigned,
  driftOf,
  fillOf,
  type LateScene,
  mineInstead,
  quarantineOf,
  seeLate,
  sharingLateScene,
} from "../support/late_nonces.ts";
import { NodeError } from "../support/nodes/faulty_node.ts";
import { rowsOf } from "../support/realm.ts";

const COIN = 10n ** 18n;
/** The account has a balance that no deposit paid: the chain holds as much less. */
const CREDITED = "-10";
const nobody = () => fail("nobody is asked");
const test = sharingLateScene("payments on Ethereum that were given up", { nodes: 1 });
const onNodes = sharingLateScene("payments on Ethereum that were given up, behind three nodes", {
  nodes: 3,
});

async function paidOut({ funded: { anvil } }: LateScene): Promise<bigint> {
  return BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
}

/** Reconciles, twice at once: what was mined late is nobody's, and `fees` bears it once. */
async function booksLoss(scene: LateScene, { hash, order }: Pick<Canceled, "hash" | "order">) {
  const { realm } = scene.funded;
  const { taken, obstacles } = await reconcileTwice(realm);
  deepEqual(obstacles, []);
  deepEqual(taken, [{
    hash,
    purpose: "recovered",
    paid: [],
    unmatched: [{ to: OUTSIDE, contract: null, amount: `${COIN}` }],
    late: order,
  }]);
  equal(await quarantineOf(scene.funded), null);
  for (let round = 0; round < 3; round++) await scene.funded.advance();
}

async function feesOf({ funded }: LateScene): Promise<number> {
  return Number((await funded.books()).fees);
}

test("bytes of a withdrawal on Ethereum that was canceled before they left, and that somebody sends, are booked as a loss by reconcile, once, and the books agree with the chain", async (scene) => {
  const { funded, poller } = scene;
  const canceled = await cancelSigned(funded);
  await funded.advance();
  await mineInstead(funded, canceled.raw);
  const before = await feesOf(scene);
  await seeLate(scene, canceled.hash);
  await booksLoss(scene, canceled);
  const cost = before - await feesOf(scene);
  ok(cost > 1 && cost < 1.01, `${cost}`);
  deepEqual([(await fillOf(funded)).state, await quarantineOf(funded)], ["dropped", null]);
  await funded.anvil.mine();
  await poller.advance();
  equal(await quarantineOf(funded), null, "it is booked");
  equal(await driftOf(funded), CREDITED);
  equal(await paidOut(scene), COIN);
  equal((await funded.read(canceled.id)).status, "CANCELED");
});

test("a reorganisation beyond the final block that puts bytes of a canceled withdrawal in the place of what had filled their nonce is noticed, and booked", async (scene) => {
  const { funded } = scene;
  const canceled = await cancelSigned(funded);
  const fork = await funded.anvil.rpc<string>("evm_snapshot");
  for (let round = 0; (await fillOf(funded)).state !== "done" && round < 9; round++) {
    await funded.advance();
    await funded.anvil.mine();
  }
  await scene.poller.advance();
  await funded.anvil.rpc("evm_revert", fork);
  await mineInstead(funded, canceled.raw, 30);
  await seeLate(scene, canceled.hash);
  const before = await feesOf(scene);
  await booksLoss(scene, canceled);
  const cost = before - await feesOf(scene);
  ok(cost > 1 && cost < 1.01, `${cost}`);
  equal(await paidOut(scene), COIN);
});

test(
  "a payment that a canceling transaction had taken the place of is booked as a loss where a reorganisation beyond the final block mines it instead",
  async (scene, [node]) => {
    const { funded } = scene;
    const { realm, anvil } = funded;
    const { body: { id } } = await funded.withdraw("1");
    let raw: string | null = null;
    node.trick = ({ method, params }) => {
      if (method !== "eth_sendRawTransaction") return undefined;
      raw ??= String(params[0]);
      if (params[0] === raw) throw new NodeError(-32000, "transaction type not supported");
      return undefined;
    };
    await funded.advance();
    const [{ order, hash }] = await rowsOf<{ order: string; hash: string }>(
      realm,
      "select order_id as order, hash from order_attempts",
    );
    const fork = await anvil.rpc<string>("evm_snapshot");
    await rowsOf(realm, "update chain_orders set created_at = now() - interval '20 minutes'");
    equal((await funded.finish(id)).status, "FAILED");
    node.trick = () => undefined;
    await scene.poller.advance();
    await anvil.rpc("evm_revert", fork);
    await mineInstead(funded, raw!, 30);
    await seeLate(scene, hash);
    await booksLoss(scene, { hash, order });
    equal(await paidOut(scene), COIN);
  },
);

test("bytes that were given up, and that nodes only seemed to have mined, are given up again by reconcile, though nothing else has used their nonce", async (scene) => {
  const { funded } = scene;
  const { realm } = funded;
  const { hash } = await cancelSigned(funded);
  const [{ height }] = await rowsOf<{ height: number }>(
    realm,
    "select height::integer as height from chain_cursors where chain = 'ETHEREUM'",
  );
  const consumed = [{ input: `${funded.address}:0`, hash, height }];
  const place = { chain: "ETHEREUM", network: "main" };
  const actor = { ...realm.admin.actor, at: Date.now() };
  const seen = { transfers: [], coins: false };
  await realm.command((tx) =>
    recordFound(tx, actor, place, { ...seen, consumed: [{ ...consumed[0], few: true }] })
  );
  equal(await quarantineOf(funded), null, "the word of one node");
  await realm.command((tx) => recordFound(tx, actor, place, { ...seen, consumed }));
  match(await quarantineOf(funded) ?? "none", /was given up, and was mined/);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.taken], [true, [], []]);
  deepEqual(await marksOf(scene, hash), { late: false, booked: false });
  await funded.advance();
  await mineInstead(funded, (await fillRaw(scene))!);
  await funded.advance();
  equal((await fillOf(funded)).state, "done");
});

onNodes(
  "of three nodes one that denies a block of bytes that were given up keeps nobody from booking them, and two that deny it have it wait",
  async (scene, nodes) => {
    const { funded } = scene;
    const canceled = await cancelSigned(funded);
    await mineInstead(funded, canceled.raw);
    await seeLate(scene, canceled.hash);
    nodes[0].trick = ({ method, params }) =>
      method === "eth_getTransactionReceipt" && params[0] === canceled.hash ? null : undefined;
    nodes[1].trick = nodes[0].trick;
    const [early] = await reconcile(funded.realm, nobody);
    match(early.obstacles.join(), /too few nodes show it in a final one/);
    deepEqual(early.taken, []);
    nodes[1].trick = () => undefined;
    await booksLoss(scene, canceled);
  },
);

test("bytes that were given up, and failed in their block, cost their fee alone", async (scene) => {
  const { funded } = scene;
  const { realm, anvil } = funded;
  const { hash, raw } = await cancelSigned(funded);
  await anvil.rpc("anvil_setCode", OUTSIDE, "0x60006000fd");
  await mineInstead(funded, raw);
  await seeLate(scene, hash);
  const before = await feesOf(scene);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.taken[0].unmatched], [true, [], []]);
  for (let round = 0; round < 3; round++) await funded.advance();
  const cost = before - await feesOf(scene);
  ok(cost > 0 && cost < 0.01, `${cost}`);
  await anvil.mine();
  await scene.poller.advance();
  equal(await driftOf(funded), CREDITED);
  const [{ state }] = await rowsOf<{ state: string }>(
    realm,
    "select state from chain_orders where purpose = 'recovered'",
  );
  equal(state, "failed");
});

test("a reconciliation that is killed before any of its steps, and run again, books bytes that were given up once", async (scene) => {
  const { funded } = scene;
  const { realm } = funded;
  const canceled = await cancelSigned(funded);
  await mineInstead(funded, canceled.raw);
  await seeLate(scene, canceled.hash);
  const before = await feesOf(scene);
  let steps = 0;
  while (await isKilled(realm, steps++));
  ok(steps > 3, "none was reached");
  for (let round = 0; round < 3; round++) await funded.advance();
  const cost = before - await feesOf(scene);
  ok(cost > 1 && cost < 1.01, `${cost}`);
  deepEqual(await rowsOf(realm, "select state from chain_orders where purpose = 'recovered'"), [
    { state: "done" },
  ]);
  await funded.anvil.mine();
  await scene.poller.advance();
  equal(await driftOf(funded), CREDITED);
});

test("bytes that were given up, were found in a block, and whose block is reorganised away before they are booked, are given back to their order, and cost nothing", async (scene) => {
  const { funded } = scene;
  const { realm, anvil } = funded;
  const canceled = await cancelSigned(funded);
  await funded.advance();
  const fill = (await fillRaw(scene))!;
  const fork = await anvil.rpc<string>("evm_snapshot");
  await mineInstead(funded, canceled.raw);
  await seeLate(scene, canceled.hash);
  const isBooked = async () => (await marksOf(scene, canceled.hash)).booked;
  for (let steps = 0; !await isBooked(); steps++) await isKilled(realm, steps);
  const found = "select id, state from chain_orders where purpose = 'recovered'";
  const [{ id }] = await rowsOf<{ id: string }>(realm, found);
  deepEqual(await rowsOf(realm, found), [{ id, state: "mined" }]);
  const give = "update order_attempts set late_order_id = null, late = false, seen_height = null";
  await rejects(
    rowsOf(realm, give),
    (error) => brokenConstraint(error) === "order_attempts_change",
  );
  await anvil.rpc("evm_revert", fork);
  await mineInstead(funded, fill, 30);
  await scene.poller.advance();
  for (let round = 0; round < 3; round++) await funded.advance();
  deepEqual(await rowsOf(realm, found), [{ id, state: "canceled" }]);
  deepEqual(await marksOf(scene, canceled.hash), { late: false, booked: false });
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.taken], [true, [], []]);
  await funded.advance();
  equal((await fillOf(funded)).state, "done");
  await anvil.mine();
  await scene.poller.advance();
  equal(await driftOf(funded), CREDITED);
  equal(await paidOut(scene), 0n);
});

test("the database lets nobody mark or book as mined late what was not given up, nor outside of quarantine, nor twice", async (scene) => {
  const { funded } = scene;
  const { realm } = funded;
  const refused = async (statement: string) =>
    await rowsOf(realm, statement).then(() => null, (error) => brokenConstraint(error));
  const mark = "update order_attempts set seen_height = 3, late = true";
  const { body: { id } } = await funded.withdraw("2");
  await endAt("sending", funded.advance);
  equal(await refused(mark), "order_attempts_given_up", "its order is open");
  equal((await funded.finish(id)).status, "DONE");
  equal(await refused(mark), "order_attempts_given_up", "its order is done");
  const { hash, raw, order } = await cancelSigned(funded);
  const of = `where hash = '${hash}'`;
  const book = (by: string) => `update order_attempts set late_order_id = ${by} ${of}`;
  const any = "(select id from chain_orders where state = 'done' order by id limit 1)";
  equal(await refused(book(any)), "order_attempts_change", "no block has it");
  await mineInstead(funded, raw);
  await seeLate(scene, hash);
  equal(await refused(book(any)), "order_attempts_change", "that is no order of what was found");
  equal(await refused(book(`'${order}'`)), "order_attempts_change", "its own");
  const begin =
    `insert into order_attempts (order_id, attempt, plan, inputs, late, late_order_id, created_at)
    select id, 1, '{"a":1}', array['a:1'], true, ${any}, now() from chain_orders where purpose = 'fill'`;
  equal(await refused(begin), "order_attempts_change", "a new one is in no block");
  const unmark = `update order_attempts set late = false ${of}`;
  equal(await refused(unmark), "order_attempts_given_up", "a block has it");
  await booksLoss(scene, { hash, order });
  const again = `update order_attempts set late_order_id = null, late = false ${of}`;
  ok(await refused(again), "it is booked");
  equal(await refused(book(any)), "order_attempts_change", "it is booked by another");
});

test("a withdrawal whose bytes somebody else has sent is not canceled once a scanned block shows them, by its customer nor in the database, and is DONE", async (scene) => {
  const { funded, poller } = scene;
  const { realm } = funded;
  const { body: { id } } = await funded.withdraw("1");
  await endAt("stored", funded.advance);
  const [{ raw }] = await rowsOf<{ raw: string }>(realm, "select raw from order_attempts");
  await mineInstead(funded, raw, 3);
  await poller.advance();
  const answer = await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
  deepEqual([answer.status, answer.body.code], [409, "withdrawal.not_cancelable"]);
  await rejects(
    rowsOf(realm, "update chain_orders set state = 'canceled'"),
    (error) => brokenConstraint(error) === "chain_orders_transition",
  );
  equal((await funded.finish(id)).status, "DONE");
  equal(await paidOut(scene), COIN);
});

/** The bytes that fill the last nonce. */
async function fillRaw({ funded }: LateScene): Promise<string | null> {
  const { id } = await fillOf(funded);
  const [row] = await rowsOf<{ raw: string | null }>(
    funded.realm,
    "select raw from order_attempts where order_id = $1 order by attempt desc",
    [id],
  );
  return row?.raw ?? null;
}

async function marksOf({ funded }: LateScene, hash: string) {
  const [row] = await rowsOf<{ late: boolean; booked: boolean }>(
    funded.realm,
    "select late, late_order_id is not null as booked from order_attempts where hash = $1",
    [hash],
  );
  return row;
}
