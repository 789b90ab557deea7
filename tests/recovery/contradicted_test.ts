/** Payments on Solana of which nodes tell two things: that a block has them, and that they expired. */
import { deepEqual, equal, fail, match } from "node:assert/strict";
import { dateQuarantines, reconcile } from "../support/installation.ts";
import {
  agePlans,
  attemptsOf,
  giveUp,
  keepBack,
  pay,
  type Scene,
  sharingScene,
} from "../support/kept_payments.ts";
import { expireTransactions } from "../support/nodes/surfpool.ts";
import { rowsOf } from "../support/realm.ts";

const test = sharingScene("payments on Solana that nodes once seemed to have mined");

async function quarantineOf({ ramp: { realm } }: Scene): Promise<string | null> {
  const [{ detail }] = await rowsOf<{ detail: string | null }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps where next_index > 0",
  );
  return detail;
}

test("a payment on Solana that nodes once seemed to have mined is made again after reconcile has read its block without it, and an operator has said that it was not paid", async (scene) => {
  const { ramp } = scene;
  const { realm, node } = ramp;
  const { id, to } = await pay(scene);
  await ramp.poller.advance();
  await rowsOf(
    realm,
    "update order_attempts set seen_height = (select height from chain_cursors where chain = 'SOLANA')",
  );
  await expireTransactions(node);
  await node.mine();
  for (let round = 0; round < 3; round++) await ramp.advance();
  equal(await quarantineOf(scene), null, "an index may lag");
  await agePlans(ramp);
  await ramp.advance();
  deepEqual((await attemptsOf(ramp)).map(({ proof }) => proof), [null]);
  match(await quarantineOf(scene) ?? "none", /block \d+, which was scanned, has it/);
  scene.faulty.trick = () => undefined;
  await dateQuarantines(realm, 1);
  const [open] = await reconcile(realm);
  deepEqual([open.lifted, open.obstacles], [false, []]);
  deepEqual(open.open.map(({ withdrawal }) => withdrawal), [id]);
  const [report] = await reconcile(realm, () => Promise.resolve(false));
  deepEqual([report.lifted, report.obstacles, report.taken], [true, [], []]);
  equal((await ramp.finish(id)).status, "DONE");
  deepEqual((await attemptsOf(ramp)).map(({ proof }) => proof), ["expired", null]);
  equal(await ramp.token.held(to), 5_000_000n);
});

/** A payment that was given up, and is mined late while the one that was made in its place is in flight. */
async function mineBesideSecond(scene: Scene) {
  const { ramp } = scene;
  const { node, realm } = ramp;
  const payment = await pay(scene);
  const { kept } = payment;
  await giveUp(scene, kept);
  for (let round = 0; kept.length < 2 && round < 5; round++) await ramp.advance();
  equal(kept.length, 2);
  await node.sendRaw(kept[0]);
  await node.mine();
  await ramp.poller.advance();
  match(await quarantineOf(scene) ?? "none", /was given up, and was mined/);
  await dateQuarantines(realm, 1);
  const [early] = await reconcile(realm, () => fail("nobody is asked"));
  match(early.obstacles.join(), /another transaction of its order may still be mined/);
  deepEqual([early.lifted, early.taken], [false, []]);
  return payment;
}

test("a payment on Solana that is mined late pays its withdrawal where the one made in its place expires", async (scene) => {
  const { ramp } = scene;
  const { id, to } = await mineBesideSecond(scene);
  await expireTransactions(ramp.node);
  await ramp.node.mine();
  const [report] = await reconcile(ramp.realm, () => fail("nobody is asked"));
  deepEqual([report.lifted, report.obstacles], [true, []]);
  const [first] = await attemptsOf(ramp);
  deepEqual(report.taken.map(({ hash, unmatched }) => [hash, unmatched]), [[first.hash, []]]);
  scene.faulty.trick = () => undefined;
  const done = await ramp.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", first.hash]);
  equal(await ramp.token.held(to), 5_000_000n);
});

test("a payment on Solana that is mined late is a loss where the one made in its place is mined too", async (scene) => {
  const { ramp } = scene;
  const { id, to, kept } = await mineBesideSecond(scene);
  keepBack(ramp.node, scene.faulty, kept, false);
  await ramp.node.sendRaw(kept[1]);
  await ramp.node.mine();
  const [report] = await reconcile(ramp.realm, () => fail("nobody is asked"));
  deepEqual([report.lifted, report.obstacles], [true, []]);
  const [first, second] = await attemptsOf(ramp);
  deepEqual(report.taken.map(({ hash, paid, unmatched }) => [hash, paid, unmatched.length]), [
    [first.hash, [], 1],
  ]);
  const done = await ramp.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", second.hash]);
  equal(await ramp.token.held(to), 10_000_000n);
});

test("a payment on Solana that is mined late pays its withdrawal where the last one that may be made expires", async (scene) => {
  const { ramp } = scene;
  const { node, realm } = ramp;
  const { id, to, kept } = await pay(scene);
  for (let attempt = 1; attempt < 5; attempt++) {
    await giveUp(scene, kept);
    for (let round = 0; kept.length <= attempt && round < 5; round++) await ramp.advance();
  }
  equal(kept.length, 5);
  await node.sendRaw(kept[0]);
  await node.mine();
  await ramp.poller.advance();
  match(await quarantineOf(scene) ?? "none", /was given up, and was mined/);
  await dateQuarantines(realm, 1);
  await expireTransactions(node);
  await node.mine();
  const [report] = await reconcile(realm, () => fail("nobody is asked"));
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken.map(({ unmatched }) => unmatched), [[]]);
  scene.faulty.trick = () => undefined;
  equal((await ramp.finish(id)).status, "DONE");
  equal(await ramp.token.held(to), 5_000_000n);
});
