/** Payments on UTXO chains that are done, and whose place another transaction of ours takes after a reorganisation beyond their depth. */
import { deepEqual, equal, fail, match, ok, rejects } from "node:assert/strict";
import { brokenConstraint } from "../../db/errors.ts";
import { countSentAgain } from "../../db/recovery/displaced_orders.ts";
import { selectLostPayments } from "../../db/sending/utxos.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { isKilled } from "../support/killed_reconcile.ts";
import {
  cancelStored,
  depthOf,
  lastStored,
  type LosingRamp,
  mineInstead,
  payDone,
  reasonOf,
  resent,
  sharingLosingRamp,
  toldOf,
} from "../support/lost_coins.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { crashAt, pay, speedUp } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { COIN, follow } from "../support/utxo_fixture.ts";

const test = sharingLosingRamp("UTXO payments in whose place others are mined", !hasLitecoind());

const WARNING = "select warning from chain_cursors";
const nobody = () => fail("nobody is asked");

/** Reconciles until the quarantine ends; gives what all reports name as displaced, and all obstacles. */
async function reconcileAll({ realm }: LosingRamp) {
  const displaced = new Map<string, unknown>();
  const obstacles: string[] = [];
  for (let run = 0; run < 4; run++) {
    const [report] = await reconcile(realm, nobody);
    if (report === undefined) break;
    for (const one of report.displaced) displaced.set(`${one.hash} ${one.state}`, one);
    obstacles.push(...report.obstacles);
    if (report.lifted) break;
  }
  return { displaced: [...displaced.values()], obstacles };
}

test("LTC: bytes that were given up and booked as a loss, and whose block is reorganised away, are not sent again by us: the operator is told, and their coin pays others", async (funded) => {
  await funded.fund(5n * COIN);
  const { realm, node } = funded;
  const late = await cancelStored(funded, "1");
  await node.rpc("generateblock", await node.rpc("getnewaddress"), [late.raw]);
  await node.mine(2);
  await funded.follow();
  match(await reasonOf(funded) ?? "none", /was given up, and was mined/);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.taken.length], [true, [], 1]);
  const booked = "select id from chain_orders where purpose = 'recovered' and state = 'done'";
  await follow(funded, 3);
  const [{ id: loss }] = await rowsOf<{ id: string }>(realm, booked);
  await mineInstead(funded, await depthOf(funded, late.hash));
  deepEqual(await resent(funded), []);
  const told =
    `the chain has lost ${late.hash}: what order ${loss} (recovered) has booked did not happen`;
  equal(await reasonOf(funded), told);
  const { displaced, obstacles } = await reconcileAll(funded);
  deepEqual(displaced, [{
    ...{ order: loss, purpose: "recovered", hash: late.hash, state: "displaced", by: null },
    unpaid: [],
  }]);
  match(obstacles.join(), /wait to be mined/, "the node has its bytes");
  await funded.release();
  const { address: to } = await newParty("LITECOIN");
  const id = await pay(funded, to, "2");
  equal((await crashAt(funded, "stored")).done, true);
  const { raw } = await lastStored(funded);
  await node.rpc("generateblock", await node.rpc("getnewaddress"), [raw]);
  equal((await funded.ended([id]))[0].status, "DONE");
  deepEqual(await funded.held(to), [2n * COIN]);
  equal(funded.sent.includes(late.raw), false);
  equal(await reasonOf(funded), null);
});

test("LTC: a withdrawal that is DONE, and whose coin a reorganisation beyond its depth has canceled bytes spend, is told to its user and the operator, and so is one that spent its change", async (funded) => {
  await funded.fund(5n * COIN);
  const late = await cancelStored(funded, "1");
  const first = await payDone(funded, "2");
  const heir = await payDone(funded, "0.5");
  await mineInstead(funded, await depthOf(funded, first.hash), late.raw);
  deepEqual(await resent(funded), []);
  match(await reasonOf(funded) ?? "none", /was given up, and was mined/);
  const taken = `${late.hash} took the place of ${first.hash}, which the chain has lost`;
  const after = `${heir.hash} spends what ${first.hash} made, which the chain has lost`;
  ok((await toldOf(funded, first.id)).includes(`${taken}: no transaction pays it`));
  ok((await toldOf(funded, heir.id)).includes(`${after}: no transaction pays it`));
  const { displaced, obstacles } = await reconcileAll(funded);
  deepEqual(displaced, [
    {
      order: first.order,
      purpose: "withdrawal",
      hash: first.hash,
      state: "displaced",
      by: late.hash,
      unpaid: [first.id],
    },
    {
      order: heir.order,
      purpose: "withdrawal",
      hash: heir.hash,
      state: "displaced",
      by: null,
      unpaid: [heir.id],
    },
  ]);
  deepEqual(obstacles, [
    `${taken}: no transaction pays ${first.id}, which is done; ${after}: no transaction pays ${heir.id}, which is done: run it again when you have read that`,
  ]);
  equal(await reasonOf(funded), null);
  await follow(funded, 3);
  deepEqual(await funded.held(first.to), []);
  const paid = await payDone(funded, "1");
  deepEqual(await funded.held(paid.to), [COIN]);
  equal((await funded.withdrawal(first.id)).status, "DONE");
  deepEqual((await toldOf(funded, first.id)).length, 1, "it is told once");
});

test("LTC: a displaced payment that another reorganisation has mined again is told to its user and the operator, and so is what had taken its place", async (funded) => {
  await funded.fund(5n * COIN);
  const { realm, node } = funded;
  const late = await cancelStored(funded, "1");
  const first = await payDone(funded, "2");
  await mineInstead(funded, await depthOf(funded, first.hash), late.raw);
  await funded.follow();
  await reconcileAll(funded);
  await follow(funded, 3);
  const [{ id: loss }] = await rowsOf<{ id: string }>(
    realm,
    "select id from chain_orders where purpose = 'recovered' and state = 'done'",
  );
  const depth = await depthOf(funded, late.hash);
  await mineInstead(funded, depth, first.raw);
  deepEqual(await resent(funded), []);
  const height = await node.rpc<number>("getblockcount") - depth;
  const back = `block ${height} has ${first.hash} again, which the chain had lost`;
  ok((await toldOf(funded, first.id)).includes(`${back}: it is paid by it`));
  const { displaced } = await reconcileAll(funded);
  const of = displaced as { order: string; state: string; by: string | null }[];
  deepEqual(
    of.map(({ order, state, by }) => [order, state, by]).toSorted(),
    [
      [first.order, "returned", null],
      [loss, "displaced", first.hash],
    ].toSorted(),
  );
  equal(await reasonOf(funded), null);
  deepEqual(await funded.held(first.to), [2n * COIN]);
  const paid = await payDone(funded, "1");
  deepEqual(await funded.held(paid.to), [COIN]);
});

test("LTC: where a reorganisation beyond its depth mines the first transaction of a withdrawal instead of the one that had replaced it, what had spent that one's change is told, and it is not", async (funded) => {
  await funded.fund(5n * COIN);
  const { address: to } = await newParty("LITECOIN");
  const id = await pay(funded, to, "1");
  for (let round = 0; round < 3; round++) await funded.advance();
  const before = await lastStored(funded);
  equal((await speedUp(funded, id)).status, 200);
  for (let round = 0; round < 3; round++) await funded.advance();
  const after = await lastStored(funded);
  ok(after.hash !== before.hash);
  await funded.ended([id]);
  const heir = await payDone(funded, "0.5");
  await mineInstead(funded, await depthOf(funded, after.hash), before.raw);
  deepEqual(await resent(funded), []);
  const what = `${heir.hash} spends what ${after.hash} made, which the chain has lost`;
  equal(await reasonOf(funded), `${what}: no transaction pays ${heir.id}, which is done`);
  const { history, chain } = await funded.withdrawal(id);
  const { at: _, block, ...payer } = history.at(-1);
  const [{ fee }] = await rowsOf<{ fee: string }>(
    funded.realm,
    "select trim_scale(fee / 1e8)::text as fee from order_attempts where hash = $1",
    [before.hash],
  );
  const instead = `block ${block} has ${before.hash} in place of ${after.hash}`;
  deepEqual(payer, {
    ...{ event: "found", hash: before.hash, paid: true, cost: fee },
    reason: `${instead}, which the chain had lost: it is paid by it`,
  });
  equal(chain.hash, after.hash, "what it has ended with");
  deepEqual(await toldOf(funded, heir.id), [`${what}: no transaction pays it`]);
  const { displaced } = await reconcileAll(funded);
  deepEqual(displaced, [{
    ...{ order: heir.order, purpose: "withdrawal", hash: heir.hash, state: "displaced" },
    ...{ by: null, unpaid: [heir.id] },
  }]);
  const paid = await payDone(funded, "1");
  deepEqual([await funded.held(paid.to), await funded.held(to)], [[COIN], [COIN]]);
});

test("LTC: a reconciliation that is killed before any of its steps leaves the operator the report of what was displaced", async (funded) => {
  await funded.fund(5n * COIN);
  const { realm } = funded;
  const late = await cancelStored(funded, "1");
  const first = await payDone(funded, "2");
  await mineInstead(funded, await depthOf(funded, first.hash), late.raw);
  const lost = `${late.hash} took the place of ${first.hash}, which the chain has lost`;
  const detail = `${lost}: no transaction pays ${first.id}, which is done`;
  await haltRealm(realm);
  for (let steps = 0; await isKilled(realm, steps); steps++) {
    ok(await reasonOf(funded) !== null, `killed after ${steps} steps`);
  }
  await follow(funded, 3);
  equal(await reasonOf(funded), detail);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.displaced.map(({ unpaid }) => unpaid)], [true, [[first.id]]]);
  deepEqual(await toldOf(funded, first.id), [`${lost}: no transaction pays it`]);
});

test("LTC: the coins of a payment that is done stay its until it was told that the chain has lost it, also in the database", async (funded) => {
  await funded.fund(5n * COIN);
  const { realm } = funded;
  const { hash } = await payDone(funded, "2");
  for (const kept of ["null", "'other'"]) {
    await rejects(
      rowsOf(realm, `update coins set kept = ${kept} where kept = $1`, [hash]),
      (error) => brokenConstraint(error) === "coins_kept",
    );
  }
  const lost =
    `insert into displaced_orders (hash, order_id, chain, network, ramp, state, since, lost_height, created_at)
    select 'x' || hash, id, chain, network, ramp, 'lost', 1, 1, now() from chain_orders where hash = '${hash}'`;
  await rejects(
    rowsOf(realm, lost),
    (error) => brokenConstraint(error) === "displaced_orders_done",
  );
});

test("LTC: a payment that is done and whose block is reorganised away is sent again, and told to nobody", async (funded) => {
  await funded.fund(5n * COIN, 4n * COIN);
  const { realm } = funded;
  const [first, second] = [await payDone(funded, "4.5"), await payDone(funded, "3.5")];
  const { chain: { block } } = await funded.withdrawal(first.id);
  await mineInstead(funded, await depthOf(funded, first.hash));
  await haltRealm(realm);
  deepEqual(await resent(funded), [], "a newer database may have been told that it is lost");
  await reconcileAll(funded);
  equal((await resent(funded)).length, 2);
  equal(await reasonOf(funded), null);
  const place = { chain: "LITECOIN", network: "regtest" };
  const nextAfter = async (after: string | null) => {
    const of = { limit: 1, after };
    const lost = await realm.command((tx) => selectLostPayments(tx, place, of));
    return lost.map(({ hash }) => hash);
  };
  deepEqual(await nextAfter(null), [first.hash]);
  deepEqual(await nextAfter(first.order), [second.hash]);
  deepEqual(await nextAfter(second.order), [first.hash]);
  const [{ warning }] = await rowsOf<{ warning: string }>(realm, WARNING);
  match(warning, /^the chain has lost \w+, which is done and is sent again .*, and so 1 more$/);
  // A rescan that has not come to its block again says nothing of it.
  const countAt = async (settled: number) =>
    (await realm.command((tx) => countSentAgain(tx, place, settled))).count;
  deepEqual([await countAt(block), await countAt(block + 1)], [0, 1]);
  await follow(funded, 3);
  deepEqual(await rowsOf(realm, WARNING), [{ warning: null }]);
  deepEqual(await funded.held(first.to), [COIN * 9n / 2n]);
  for (const { id } of [first, second]) deepEqual(await toldOf(funded, id), []);
  equal(await reasonOf(funded), null);
  await funded.agree();
});
