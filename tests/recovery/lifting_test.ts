/** Quarantines that a reconciliation is to end, and that are no longer the ones that it looked at. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { quarantine } from "../../domain/sending/quarantine.ts";
import { renewOrder } from "../../domain/sending/chain_orders.ts";
import { paidOut } from "../support/displaced_nonces.ts";
import { endAt } from "../support/ended_worker.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { reconcileBefore } from "../support/killed_reconcile.ts";
import { type LateScene, quarantineOf, sharingLateScene } from "../support/late_nonces.ts";
import { rowsOf } from "../support/realm.ts";

const LATE = "a transaction of ours was mined, or lost, meanwhile: run it again";
const ANEW = "the quarantine began anew meanwhile, for another reason: run it again";
const nobody = () => fail("nobody is asked");
const test = sharingLateScene(
  "quarantines on Ethereum that a reconciliation is to end",
);

/** Puts the ramp into quarantine for a reason. */
async function begin({ funded: { realm } }: LateScene, detail: string): Promise<void> {
  const ramps = await rowsOf<{ account: string }>(realm, "select account from ramps");
  const actor = { ...realm.admin.actor, at: Date.now() };
  const begun = await realm.command((tx) =>
    quarantine(tx, actor, ramps.map(({ account }) => account), detail)
  );
  equal(begun.length, 1);
}

/** Has a reconciliation wait for an answer, until another has ended the quarantine. */
async function overtaken(scene: LateScene) {
  const { funded } = scene;
  const { realm } = funded;
  const { body: { id } } = await funded.withdraw("1");
  await haltRealm(realm);
  const asking = Promise.withResolvers<void>();
  const said = Promise.withResolvers<boolean>();
  const slow = reconcile(realm, () => {
    asking.resolve();
    return said.promise;
  });
  await Promise.race([asking.promise, slow]);
  const [first] = await reconcile(realm, () => Promise.resolve(false));
  ok(first.lifted, JSON.stringify(first));
  return { id, slow, answer: () => said.resolve(false) };
}

test("of two reconciliations at once, the slower does not end a quarantine that began after the other had ended the first", async (scene) => {
  const { funded } = scene;
  const { id, slow, answer } = await overtaken(scene);
  await begin(scene, "somebody has our keys");
  answer();
  const [late] = await slow;
  deepEqual([late.lifted, late.obstacles], [false, [ANEW]]);
  equal(await quarantineOf(funded), "somebody has our keys");
  await funded.advance();
  equal(await paidOut(scene), 0n, "nothing is signed in it");
  const [report] = await reconcile(funded.realm, () => Promise.resolve(false));
  deepEqual([report.lifted, report.obstacles], [true, []]);
  equal((await funded.finish(id)).status, "DONE");
});

test("of two reconciliations at once, the slower ends as the other has, where no quarantine began since", async (scene) => {
  const { funded } = scene;
  const { id, slow, answer } = await overtaken(scene);
  answer();
  const [late] = await slow;
  deepEqual([late.lifted, late.obstacles], [true, []]);
  equal(await quarantineOf(funded), null);
  equal((await funded.finish(id)).status, "DONE");
});

test("a quarantine on Ethereum does not end where, in that moment, a withdrawal that was followed turns out to be lost, so that nobody was asked about it", async (scene) => {
  const { funded } = scene;
  const { realm } = funded;
  const { body: { id } } = await funded.withdraw("1");
  await endAt("broadcast", funded.advance);
  await haltRealm(realm);
  const actor = { ...realm.admin.actor, at: Date.now() };
  const [{ order }] = await rowsOf<{ order: string }>(
    realm,
    "select id as order from chain_orders where reference_id = $1 and state = 'sent'",
    [id],
  );
  const lifting = await reconcileBefore(realm, async () => {
    await realm.command(async (tx) => {
      const proof = { proof: "consumed" as const, by: `0x${"ab".repeat(32)}`, height: 1 };
      await renewOrder(tx, actor, (await selectOrder(tx, order))!, proof);
    });
  });
  deepEqual([lifting.lifted, lifting.open, lifting.obstacles], [false, [], [LATE]]);
  match(await quarantineOf(funded) ?? "none", /older than the record/);
  const asked: string[] = [];
  await reconcile(realm, ({ withdrawal }) => {
    asked.push(withdrawal);
    return Promise.resolve(null);
  });
  deepEqual(asked, [id]);
  ok(await quarantineOf(funded) !== null);
});

test("a quarantine on Ethereum ends beside a withdrawal that is followed", async (scene) => {
  const { funded } = scene;
  const { body: { id } } = await funded.withdraw("1");
  await endAt("broadcast", funded.advance);
  await haltRealm(funded.realm);
  const [report] = await reconcile(funded.realm, nobody);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  equal((await funded.finish(id)).status, "DONE");
});
