/** Withdrawals that an operator calls paid: a payment that was found counts once it is final, and one that vanishes is told of. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { endAt } from "../support/ended_worker.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rich } from "../support/nodes/anvil.ts";
import { orderAnew } from "../support/ordered_anew.ts";
import { withTwoCoins } from "../support/paying_ramp.ts";
import { crashAt, pay } from "../support/pending_withdrawals.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { advance, customer, ended, tokenDraw } from "../support/own_token.ts";
import { COIN, follow, LITECOIN } from "../support/utxo_fixture.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
const test = sharingUtxoRamp("UTXO payments that an operator calls paid", LITECOIN, ignore);
const paid = () => Promise.resolve(true);
const unpaid = () => Promise.resolve(false);

for (const end of ["stays in its block", "is replaced by another"] as const) {
  test(`LTC: a withdrawal is not called paid by a payment that was found in the newest block, which ${end}`, async (ramp) => {
    const funded = await orderAnew(ramp);
    const { realm, node, id, to, payment } = funded;
    await node.mine();
    const [early] = await reconcile(realm, paid);
    deepEqual([early.lifted, early.open.map(({ withdrawal, like }) => [withdrawal, like])], [
      false,
      [[id, payment.hash]],
    ]);
    match(early.obstacles.join(), /is not final/);
    equal((await funded.withdrawal(id)).status, "PROCESSING");
    const claim = `update withdrawals set found_payment = 0, found_order_id =
      (select id from chain_orders where purpose = 'recovered') where id = '${id}'`;
    await rejects(realm.command((tx) => tx.unsafe(claim)), /was not paid by that/);
    const stays = end === "stays in its block";
    if (!stays) {
      await node.reorganise(1);
      await funded.rob((await newParty("LITECOIN")).address, payment.input);
    }
    await follow(funded, 3);
    const asked: (string | null)[] = [];
    const [late] = await reconcile(realm, ({ like }) => {
      asked.push(like);
      return Promise.resolve(stays);
    });
    deepEqual([late.lifted, late.obstacles, late.open], [true, [], []]);
    deepEqual(asked, [stays ? payment.hash : null]);
    const [row] = await funded.ended([id]);
    equal(row.status, "DONE");
    equal(row.chain.hash === payment.hash, stays);
    await follow(funded, 3);
    deepEqual(await funded.held(to), [COIN]);
    await funded.agree();
  });
}

test("LTC: a withdrawal that is called paid by a payment in the newest block, and was sent while the operator thought, is told of as sent", async (ramp) => {
  const funded = await orderAnew(ramp);
  const { realm, node, id } = funded;
  await node.mine();
  const [report] = await reconcile(realm, async ({ like }) => {
    ok(like !== null);
    const [other] = await reconcile(realm, unpaid);
    ok(other.lifted, JSON.stringify(other));
    await funded.advance();
    return true;
  });
  deepEqual(report.open, []);
  deepEqual(
    report.late.map(({ withdrawal, answer, order }) => [withdrawal, answer, order]),
    [[id, "paid", "sent"]],
  );
});

test("LTC: a withdrawal that was called paid, and whose payment is found and then replaced by another, says so, and its ramp goes into quarantine", async (ramp) => {
  const funded = await withTwoCoins(ramp);
  const { realm, node } = funded;
  const id = await pay(funded, (await newParty("LITECOIN")).address, "1");
  await keepRealm(realm);
  ok((await crashAt(funded, "sending")).done);
  const stored = "select hash, raw, inputs[1] as input from order_attempts";
  const [sent] = await rowsOf<{ hash: string; raw: string; input: string }>(realm, stored);
  await restoreRealm(realm);
  await haltRealm(realm);
  // No node has it when the operator is asked.
  const [called] = await reconcile(realm, paid);
  ok(called.lifted, JSON.stringify(called));
  await node.rpc("sendrawtransaction", sent.raw);
  await node.mine();
  await haltRealm(realm);
  const [found] = await reconcile(realm);
  deepEqual([found.lifted, found.taken.map(({ unmatched }) => unmatched)], [true, [[]]]);
  await node.reorganise(1);
  await funded.rob((await newParty("LITECOIN")).address, sent.input);
  await haltRealm(realm);
  const [rival] = await reconcile(realm);
  deepEqual([rival.lifted, rival.taken.length], [true, 1]);
  const quarantined =
    "select quarantined ->> 'detail' as detail from ramps where quarantined is not null";
  await funded.until(async () => (await rowsOf(realm, quarantined)).length > 0);
  const [{ detail }] = await rowsOf<{ detail: string }>(realm, quarantined);
  match(detail, new RegExp(`no transaction has paid ${id}, which is done: ${sent.hash}`));
  const row = await funded.withdrawal(id);
  deepEqual([row.status, row.chain, row.history.at(-1).event], ["DONE", undefined, "found"]);
  match(row.history.at(-1).reason, /can never be mined/);
  const [last] = await reconcile(realm, unpaid);
  deepEqual([last.lifted, last.open], [true, []]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a withdrawal of a realm's own token that is called paid by a payment that was found is that one's, and paid once", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { realm, anvil } = fixture;
  const owner = await customer(fixture);
  await fixture.mine(3);
  const made = await tokenDraw(owner);
  equal(made.status, 201, made.text);
  await endAt("stored", (passing) => advance(fixture, passing));
  await keepRealm(realm);
  const canceled = await owner.user.send("POST", `/v1/withdrawals/${made.body.id}/cancel`);
  equal(canceled.status, 200, canceled.text);
  const anew = await tokenDraw(owner);
  equal(anew.status, 201, anew.text);
  await ended(fixture, owner, anew);
  const { hash } = (await owner.user.send("GET", `/v1/withdrawals/${anew.body.id}`)).body.chain;
  await fixture.mine(3);
  await restoreRealm(realm);
  await haltRealm(realm);
  const asked: (string | null)[][] = [];
  const [report] = await reconcile(realm, ({ withdrawal, like }) => {
    asked.push([withdrawal, like]);
    return Promise.resolve(true);
  });
  ok(report.lifted, JSON.stringify(report));
  deepEqual(asked, [[made.body.id, hash]]);
  for (let round = 0; round < 3; round++) {
    await advance(fixture);
    await fixture.mine();
  }
  const { body } = await owner.user.send("GET", `/v1/withdrawals/${made.body.id}`);
  deepEqual([body.status, body.chain.hash], ["DONE", hash]);
  const balance = {
    to: owner.contract,
    data: `0x70a08231${rich(5).address.slice(2).padStart(64, "0")}`,
  };
  equal(BigInt(await anvil.rpc<string>("eth_call", balance, "latest")), 100_000n);
  const books = "select system, trim_scale(total)::text as total from accounts" +
    " where asset = 'GOLD_ETH' and system is not null and total <> 0";
  deepEqual([...await rowsOf(realm, books)], [{ system: "world", total: "-999.9" }]);
  const open = "select from blocks where status = 'OPEN'";
  deepEqual([...await rowsOf(realm, open)], []);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});
