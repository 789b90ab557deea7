/** Payments on Ethereum that are done, and whose place another transaction of ours takes after a reorganisation beyond the final block. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { reconcile } from "../support/installation.ts";
import {
  cancelSigned,
  fillOf,
  type LateScene,
  mineInstead,
  openLateScene,
  quarantineOf,
  seeLate,
} from "../support/late_nonces.ts";
import { type FaultyNode, NodeError, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { rowsOf } from "../support/realm.ts";

const COIN = 10n ** 18n;
const nobody = () => fail("nobody is asked");

async function paidOut({ funded: { anvil } }: LateScene): Promise<bigint> {
  return BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
}

/** Books bytes of a canceled withdrawal that somebody sent, and takes their block away. */
async function bookAndLose(scene: LateScene) {
  const { funded } = scene;
  const { realm, anvil } = funded;
  const canceled = await cancelSigned(funded);
  await funded.advance();
  const [fill] = await rowsOf<{ raw: string; hash: string }>(
    realm,
    "select raw, hash from order_attempts where order_id = $1",
    [(await fillOf(funded)).id],
  );
  const fork = await anvil.rpc<string>("evm_snapshot");
  await mineInstead(funded, canceled.raw);
  await seeLate(scene, canceled.hash);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.taken.length], [true, [], 1]);
  for (let round = 0; round < 3; round++) await funded.advance();
  equal((await fillOf(funded)).state, "dropped");
  const [{ id: booked }] = await rowsOf<{ id: string }>(
    realm,
    "select id from chain_orders where purpose = 'recovered' and state = 'done'",
  );
  await anvil.rpc("evm_revert", fork);
  await anvil.rpc("anvil_dropAllTransactions");
  return { canceled, fill, booked };
}

Deno.test("a withdrawal on Ethereum that is DONE, and in whose place a reorganisation beyond the final block mines what was to cancel it, is told to its user and the operator", async () => {
  let faulty: FaultyNode | null = null;
  await using scene = await openLateScene({ front: (url) => (faulty = startFaultyNode(url)).url });
  await using node = faulty!;
  const { funded, poller } = scene;
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
  const fork = await anvil.rpc<string>("evm_snapshot");
  await rowsOf(realm, "update chain_orders set created_at = now() - interval '20 minutes'");
  const canceling = () =>
    rowsOf<{ order: string; hash: string; raw: string }>(
      realm,
      "select order_id as order, hash, raw from order_attempts where cancels and sent_at is not null",
    );
  for (let round = 0; (await canceling()).length === 0 && round < 9; round++) {
    await funded.advance();
  }
  const [{ order, hash, raw: noop }] = await canceling();
  node.trick = () => undefined;
  await mineInstead(funded, raw!, 3);
  const done = await funded.finish(id);
  equal(done.status, "DONE");
  equal(await paidOut(scene), COIN);
  await poller.advance();
  await anvil.rpc("evm_revert", fork);
  await mineInstead(funded, noop, 30);
  await seeLate(scene, hash);
  equal(await paidOut(scene), 0n);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.taken], [true, [], [{
    hash,
    purpose: "recovered",
    paid: [],
    unmatched: [],
    late: order,
    displaced: [{ order, purpose: "withdrawal", hash: done.chain.hash, unpaid: [id] }],
  }]]);
  for (let round = 0; round < 3; round++) await funded.advance();
  match(
    await quarantineOf(funded) ?? "none",
    new RegExp(`no transaction pays ${id}, which is done`),
  );
  const read = await funded.read(id);
  equal(read.status, "DONE");
  equal(
    read.history.at(-1).reason,
    `${hash} took the place of ${done.chain.hash}, which the chain has lost: no transaction pays it`,
  );
  const [ended] = await reconcile(realm, nobody);
  deepEqual([ended.lifted, ended.obstacles, ended.taken], [true, [], []]);
});

Deno.test("bytes on Ethereum that were given up and booked, and in whose place a reorganisation beyond the final block mines another transaction, are told to the operator", async () => {
  await using scene = await openLateScene();
  const { funded } = scene;
  const { realm } = funded;
  const { canceled, fill, booked } = await bookAndLose(scene);
  await mineInstead(funded, fill.raw, 30);
  await seeLate(scene, fill.hash);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken.map((one) => [one.hash, one.displaced]), [[
    fill.hash,
    [{ order: booked, purpose: "recovered", hash: canceled.hash, unpaid: [] }],
  ]]);
  for (let round = 0; round < 3; round++) await funded.advance();
  match(
    await quarantineOf(funded) ?? "none",
    new RegExp(`what order ${booked} \\(recovered\\) has booked did not happen`),
  );
  equal(await paidOut(scene), 0n);
});

Deno.test("bytes on Ethereum that were given up and booked as a loss, and whose block is reorganised away, are not sent again by us: another transaction takes their nonce, and the operator is told", async () => {
  await using scene = await openLateScene();
  const { funded } = scene;
  const { realm, anvil } = funded;
  const { booked } = await bookAndLose(scene);
  await anvil.mine(30);
  await scene.poller.advance();
  const { body: { id } } = await funded.withdraw("2");
  await funded.advance();
  await rowsOf(realm, "update chain_orders set created_at = now() - interval '2 minutes'");
  equal((await funded.finish(id)).status, "DONE");
  equal(await paidOut(scene), 2n * COIN);
  for (let round = 0; round < 3; round++) {
    await anvil.mine();
    await funded.advance();
  }
  match(await quarantineOf(funded) ?? "none", new RegExp(`what order ${booked} .* did not happen`));
  ok((await fillOf(funded)).state === "done");
});
