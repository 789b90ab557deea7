/** Payments on Ethereum that are done, and whose place another transaction of ours takes after a reorganisation beyond the final block. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { reading } from "../../db/transaction.ts";
import { reportDisplaced } from "../../domain/recovery/displaced_orders.ts";
import { openDisplaced, paidOut } from "../support/displaced_nonces.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { isKilled, isKilledOnce } from "../support/killed_reconcile.ts";
import {
  cancelSigned,
  fillOf,
  type LateScene,
  mineInstead,
  quarantineOf,
  seeLate,
  sharingLateScene,
} from "../support/late_nonces.ts";
import { rowsOf } from "../support/realm.ts";

const COIN = 10n ** 18n;
const nobody = () => fail("nobody is asked");
const test = sharingLateScene(
  "orders on Ethereum that were booked and displaced",
);

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
  await using displaced = await openDisplaced();
  const { scene, id, order, hash, done } = displaced;
  const { funded } = scene;
  const { realm } = funded;
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
  await haltRealm(realm); // as where a backup of this time is restored
  const [ended] = await reconcile(realm, nobody);
  deepEqual([ended.lifted, ended.obstacles, ended.taken], [true, [], []]);
  deepEqual(ended.displaced, [
    {
      ...{ order, purpose: "withdrawal", hash: done.chain.hash, state: "displaced", by: hash },
      unpaid: [id],
    },
  ]);
});

test("an order on Ethereum that is displaced while its ramp is in quarantine, by what a reconciliation that was killed has booked, is the reason of a quarantine of its own, and stays in each report until then", async (scene) => {
  const { funded } = scene;
  const { realm } = funded;
  const { canceled, fill, booked } = await bookAndLose(scene);
  await mineInstead(funded, fill.raw, 30);
  await seeLate(scene, fill.hash);
  const late = "select from order_attempts where late_order_id is not null and hash = $1";
  ok(await isKilledOnce(realm, async () => (await rowsOf(realm, late, [fill.hash])).length > 0));
  for (let round = 0; round < 3; round++) await funded.advance();
  match(await quarantineOf(funded) ?? "none", /was given up, and was mined/);
  const [{ ramp }] = await rowsOf<{ ramp: string }>(realm, "select ramp from chain_orders limit 1");
  const lost = [{
    ...{ order: booked, purpose: "recovered", hash: canceled.hash, state: "displaced" },
    ...{ by: fill.hash, unpaid: [] },
  }];
  for (let steps = 0; await isKilled(realm, steps); steps++) {
    ok(await quarantineOf(funded) !== null, `killed after ${steps} steps: nobody was told`);
    const listed = await reading(realm.pool, (db) => reportDisplaced(db, [ramp]));
    deepEqual(listed, lost, `killed after ${steps} steps`);
  }
  const why = new RegExp(`what order ${booked} \\(recovered\\) has booked did not happen`);
  match(await quarantineOf(funded) ?? "none", why);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.displaced], [true, [], lost]);
  equal(await quarantineOf(funded), null);
});

Deno.test("a withdrawal on Ethereum that was displaced, and that another reorganisation beyond the final block has mined again, is told to its user and the operator, and was not sent again by us", async () => {
  await using displaced = await openDisplaced();
  const { scene, id, done, sent, goBack } = displaced;
  const { funded, poller } = scene;
  const { realm, anvil } = funded;
  for (let round = 0; round < 3; round++) {
    await reconcile(realm, nobody);
    await funded.advance();
  }
  equal(await quarantineOf(funded), null);
  const before = sent.length;
  await goBack();
  await anvil.mine(60); // nodes have what they call final
  await poller.advance();
  const { body: { id: next } } = await funded.withdraw("2");
  await funded.advance();
  await rowsOf(realm, "update chain_orders set created_at = now() - interval '2 minutes'");
  for (let round = 0; round < 3; round++) await funded.advance();
  equal(
    sent.slice(before).includes(displaced.raw),
    false,
    "nobody has decided that it is sent again",
  );
  equal((await fillOf(funded)).state, "sent", "its nonce is filled");
  await anvil.rpc("anvil_dropAllTransactions");
  await mineInstead(funded, displaced.raw, 60);
  for (let round = 0; round < 3; round++) await poller.advance();
  const reason = await quarantineOf(funded);
  match(
    reason ?? "none",
    new RegExp(`has ${done.chain.hash} again, which the chain had lost: it pays ${id}`),
  );
  const read = await funded.read(id);
  match(read.history.at(-1).reason, /again, which the chain had lost: it is paid by it$/);
  const [report] = await reconcile(realm, nobody);
  deepEqual(report.displaced.map(({ state, unpaid }) => [state, unpaid]), [["returned", []]]);
  equal(await paidOut(scene), COIN);
  ok(next !== id);
});

test("bytes on Ethereum that were given up and booked, and in whose place a reorganisation beyond the final block mines another transaction, are told to the operator", async (scene) => {
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

test("bytes on Ethereum that were given up and booked as a loss, and whose block is reorganised away, are not sent again by us: another transaction takes their nonce, and the operator is told", async (scene) => {
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
