/** Withdrawals on chains without nonces that were canceled before they left, and whose bytes somebody sends. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { endAt } from "../support/ended_worker.ts";
import { dateQuarantines, reconcile, reconcileTwice } from "../support/installation.ts";
import { isKilled } from "../support/killed_reconcile.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { newTronParty } from "../support/nodes/tron/wallet.ts";
import { withOneCoin } from "../support/paying_ramp.ts";
import { cancel, crashAt, pay } from "../support/pending_withdrawals.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { openSolanaRamp, outsider } from "../support/solana_fixture.ts";
import { openTronRamp } from "../support/tron_fixture.ts";
import { booksOf } from "../support/unreadable.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { COIN, follow, LITECOIN } from "../support/utxo_fixture.ts";

const ignore = !hasLitecoind();
const test = sharingUtxoRamp("UTXO payments that were canceled before they left", LITECOIN, ignore);
const nobody = () => fail("nobody is asked");

/** The last bytes that were stored. */
async function storedIn(realm: TestRealm) {
  const [row] = await rowsOf<{ order: string; hash: string; raw: string }>(
    realm,
    `select order_id as order, hash, raw from order_attempts where raw is not null
      order by created_at desc limit 1`,
  );
  return row;
}

async function assertSeen(realm: TestRealm, hash: string): Promise<void> {
  const [{ detail }] = await rowsOf<{ detail: string | null }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps where next_index > 0",
  );
  match(detail ?? "no quarantine", /was given up, and was mined/);
  ok(detail!.startsWith(hash), detail!);
}

/** Reconciles, twice at once. */
async function taken(realm: TestRealm) {
  const { taken, obstacles } = await reconcileTwice(realm);
  deepEqual(obstacles, []);
  return taken;
}

test("LTC: bytes of a withdrawal that was canceled before they left, and that somebody sends, are booked as a loss by reconcile, once, and the books agree with the chain", async (ramp) => {
  const funded = await withOneCoin(ramp);
  const { realm, node } = funded;
  const { address: to } = await newParty("LITECOIN");
  const id = await pay(funded, to, "1");
  ok((await crashAt(funded, "stored")).done);
  const { order, hash, raw } = await storedIn(realm);
  equal((await cancel(funded, id)).status, 200);
  await node.rpc("sendrawtransaction", raw);
  await node.mine();
  await funded.follow();
  await assertSeen(realm, hash);
  const [early] = await reconcile(realm, nobody);
  match(early.obstacles.join(), /too few nodes show it in a final one/);
  await node.mine(2);
  deepEqual(await taken(realm), [{
    ...{ hash, purpose: "recovered", paid: [], late: order },
    unmatched: [{ to, contract: null, amount: `${COIN}` }],
  }]);
  await follow(funded, 3);
  equal((await funded.withdrawal(id)).status, "CANCELED");
  deepEqual(await funded.held(to), [COIN]);
  ok((await booksOf(realm, "LTC")).fees <= -1);
  await funded.agree();
});

test("LTC: bytes of a batch that was canceled with one of its withdrawals, and that somebody sends, pay the other, and `fees` bears the canceled one", async (ramp) => {
  const funded = await withOneCoin(ramp);
  const { realm, node } = funded;
  const [one, other] = [await newParty("LITECOIN"), await newParty("LITECOIN")];
  const ids = [await pay(funded, one.address, "1"), await pay(funded, other.address, "0.5")];
  ok((await crashAt(funded, "planned")).done);
  ok((await crashAt(funded, "stored")).done);
  const { order, hash, raw } = await storedIn(realm);
  deepEqual(
    await rowsOf(realm, "select purpose from chain_orders where id = $1", [order]),
    [{ purpose: "batch" }],
  );
  equal((await cancel(funded, ids[0])).status, 200);
  await node.rpc("sendrawtransaction", raw);
  await node.mine(3);
  await funded.follow();
  await assertSeen(realm, hash);
  const [found] = await taken(realm);
  deepEqual([found.hash, found.late, found.paid.length], [hash, order, 1]);
  deepEqual(found.unmatched, [{ to: one.address, contract: null, amount: `${COIN}` }]);
  const [row] = await funded.ended([ids[1]]);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  await follow(funded, 3);
  deepEqual([await funded.held(one.address), await funded.held(other.address)], [
    [COIN],
    [COIN / 2n],
  ]);
  await funded.agree();
});

test("LTC: a withdrawal like one that was canceled once it was signed is made of other bytes, and is DONE", async (ramp) => {
  const funded = await withOneCoin(ramp);
  const { realm } = funded;
  const { address: to } = await newParty("LITECOIN");
  const first = await pay(funded, to, "1");
  ok((await crashAt(funded, "stored")).done);
  const { hash } = await storedIn(realm);
  equal((await cancel(funded, first)).status, 200);
  const again = await pay(funded, to, "1");
  const [row] = await funded.ended([again]);
  equal(row.status, "DONE");
  ok(row.chain.hash !== hash);
  deepEqual(await funded.held(to), [COIN]);
  await funded.agree();
});

test("LTC: bytes of a canceled withdrawal that lose their block while they are booked, and whose coin another transaction spends, are given back, and cost nothing", async (ramp) => {
  const funded = await withOneCoin(ramp);
  const { realm, node } = funded;
  const { address: to } = await newParty("LITECOIN");
  const id = await pay(funded, to, "1");
  ok((await crashAt(funded, "stored")).done);
  const { hash, raw } = await storedIn(realm);
  equal((await cancel(funded, id)).status, 200);
  const again = await pay(funded, to, "2");
  ok((await crashAt(funded, "stored")).done);
  const rival = await storedIn(realm);
  await node.rpc("generateblock", await node.rpc("getnewaddress"), [raw]);
  await node.mine(2);
  await funded.follow();
  await assertSeen(realm, hash);
  const booked = "select late_order_id as id from order_attempts where late_order_id is not null";
  for (let steps = 0; (await rowsOf(realm, booked)).length === 0; steps++) {
    await isKilled(realm, steps);
  }
  await node.reorganise(3);
  await node.rpc("generateblock", await node.rpc("getnewaddress"), [rival.raw]);
  await node.mine(3);
  await follow(funded, 3);
  deepEqual(await rowsOf(realm, booked), []);
  await reconcile(realm, nobody);
  const [row] = await funded.ended([again]);
  deepEqual([row.status, row.chain.hash], ["DONE", rival.hash]);
  deepEqual(await funded.held(to), [2n * COIN]);
  await funded.agree();
});

Deno.test("bytes of a withdrawal on Solana that was canceled before they left, and that somebody sends, are booked as a loss by reconcile, once", async () => {
  await using ramp = await openSolanaRamp();
  const { realm, node, token } = ramp;
  const to = outsider();
  const { body: { id } } = await ramp.withdraw("5", { destination: { address: to } });
  await endAt("stored", ramp.advance);
  const { order, hash, raw } = await storedIn(realm);
  equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  await node.sendRaw(raw);
  await node.mine();
  for (let round = 0; round < 2; round++) await ramp.advance();
  await assertSeen(realm, hash);
  await dateQuarantines(realm, 1);
  const fees = (await booksOf(realm, "PYUSD_SOL")).fees ?? 0;
  deepEqual(await taken(realm), [{
    ...{ hash, purpose: "recovered", paid: [], late: order },
    unmatched: [{ to, contract: token.mint, amount: "5000000" }],
  }]);
  await ramp.advance();
  equal((await booksOf(realm, "PYUSD_SOL")).fees - fees, -5);
  equal(await token.held(to), 5_000_000n);
  equal((await ramp.read(id)).status, "CANCELED");
});

Deno.test("bytes of a withdrawal on Tron that was canceled before they left, and that somebody sends, are booked as a loss by reconcile, once, and the books agree with the chain", async () => {
  await using ramped = await openTronRamp({ total: 500_000_000n });
  const { realm, node } = ramped;
  const to = newTronParty().address;
  const { body: { id } } = await ramped.withdraw(to, "5");
  await endAt("stored", ramped.advance);
  const { order, hash, raw } = await storedIn(realm);
  equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  const body = JSON.stringify({ transaction: raw });
  const answer = await fetch(`${node.url}/wallet/broadcasthex`, { method: "POST", body });
  const told = await answer.json();
  ok(told.result, JSON.stringify(told));
  await node.mine(4);
  await ramped.follow();
  await assertSeen(realm, hash);
  await dateQuarantines(realm, 1);
  deepEqual(await taken(realm), [{
    ...{ hash, purpose: "recovered", paid: [], late: order },
    unmatched: [{ to, contract: null, amount: "5000000" }],
  }]);
  await ramped.agree();
});
