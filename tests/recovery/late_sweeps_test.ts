/** Sweeps on chains with coins or nonces that were given up, and are mined all the same. */
import { deepEqual, equal, fail, match, ok, rejects } from "node:assert/strict";
import { brokenConstraint } from "../../db/errors.ts";
import { lockOrder } from "../../db/sending/chain_orders.ts";
import { type DropProof, renewOrder, scheduleOrder } from "../../domain/sending/chain_orders.ts";
import { signCall } from "../support/evm_by_hand.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { dateQuarantines, reconcile } from "../support/installation.ts";
import { keepBack } from "../support/kept_payments.ts";
import { isKilled } from "../support/killed_reconcile.ts";
import { type FaultyNode, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { driftsOf, mineUntil, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { rawOf, SENT, sharingSwept, type Swept, untilSent } from "../support/sent_sweeps.ts";
import { openSolanaFixture } from "../support/solana_deposit_fixture.ts";
import { COIN, follow, LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";

const ETHER = 10n ** 18n;
const nobody = () => fail("nobody is asked");
const test = sharingSwept("sweeps on Ethereum that were given up");
const CONSUMED = { proof: "consumed", by: `0x${"ab".repeat(32)}`, height: 1 } as const;

/** Gives the sent sweep up, as where nodes show another transaction with its nonce or coins. */
async function giveUp(realm: TestRealm, proof: DropProof = CONSUMED) {
  const [sent] = await rowsOf<{ order: string; hash: string }>(realm, SENT);
  const actor = { ...realm.admin.actor, at: Date.now() };
  await realm.command(async (tx) => {
    await renewOrder(tx, actor, (await lockOrder(tx, sent.order))!, proof);
    await scheduleOrder(tx, actor, sent.order);
  });
  return sent;
}

async function assertSeen(realm: TestRealm, hash: string): Promise<void> {
  const [row] = await rowsOf<{ detail: string }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps where quarantined is not null",
  );
  match(row?.detail ?? "no quarantine", new RegExp(`^${hash} .* was given up, and was mined`));
}

const OPEN = `select from sweeps where state not in ('done', 'failed')
  union all select from accounts where type = 'deposit' and total <> 0`;

Deno.test({
  name:
    "LTC: a sweep that is mined after it was given up is booked as the sweep that it was, and the books agree with the chain",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using funded = await openUtxoRamp(LITECOIN);
    const { realm, node } = funded;
    await funded.deposit(2n * COIN);
    await funded.until(async () => (await rowsOf(realm, SENT)).length > 0);
    const { order, hash } = await giveUp(realm);
    await node.mine(3);
    await funded.follow();
    await assertSeen(realm, hash);
    const [report] = await reconcile(realm, nobody);
    deepEqual([report.lifted, report.obstacles], [true, []]);
    deepEqual(report.taken, [{ hash, purpose: "sweep", paid: [], unmatched: [], late: order }]);
    await funded.until(async () => (await rowsOf(realm, OPEN)).length === 0);
    await follow(funded, 3);
    ok(Number((await funded.account(funded.virtual)).balance.total) > 1.99);
    await funded.agree();
  },
});

async function assertSwept(fixture: RampFixture, virtual: string): Promise<void> {
  await mineUntil(fixture, async () => (await rowsOf(fixture.realm, OPEN)).length === 0);
  await fixture.mine(3);
  const { total } = (await fixture.account(virtual)).balance;
  ok(total.startsWith("0.999"), total);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
}

test("a sweep on Ethereum that is mined after it was given up is booked as the sweep that it was, once, and nothing but that", async ({ fixture, virtual }) => {
  const { realm } = fixture;
  const { order, hash } = await giveUp(realm);
  await fixture.mine(70);
  await assertSeen(realm, hash);
  const elsewhere = realm.command(async (tx) => {
    const [{ id }] = await tx<{ id: string }[]>`
      insert into chain_orders (id, chain, network, ramp, purpose, reference_id, sender, request, amount, nonce, hash,
        height, confirmations, state, created_at)
      select gen_random_uuid(), chain, network, ramp, 'sweep', reference_id, '0x' || repeat('1', 40), request, 1, 0,
        ${hash}, 1, 1, 'mined', now() from chain_orders where id = ${order} returning id`;
    await tx`update order_attempts set late_order_id = ${id} where hash = ${hash}`;
  });
  await rejects(elsewhere, (error) => brokenConstraint(error) === "order_attempts_change");
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken, [{ hash, purpose: "sweep", paid: [], unmatched: [], late: order }]);
  await assertSwept(fixture, virtual);
  const [again] = await rowsOf<{ count: number }>(
    realm,
    "select count(*)::integer as count from chain_orders where hash = $1 and state = 'done'",
    [hash],
  );
  equal(again.count, 1);
});

test("a sweep on Ethereum that is mined late, and failed in its block, costs its deposit account the fee, and the rest is swept", async ({ fixture, virtual, to }) => {
  const { realm, anvil } = fixture;
  const { hash } = await giveUp(realm);
  await anvil.rpc("anvil_setCode", to, "0x60006000fd");
  await fixture.mine(70);
  await assertSeen(realm, hash);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.taken.length], [true, [], 1]);
  await anvil.rpc("anvil_setCode", to, "0x");
  const failed = "select from chain_orders where hash = '" + hash + "' and state = 'failed'";
  await mineUntil(fixture, async () => (await rowsOf(realm, failed)).length > 0);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  await rowsOf(realm, "update sweeps set updated_at = now() - interval '8 days'");
  await rowsOf(realm, "update deposits set updated_at = now() - interval '1 day'");
  await assertSwept(fixture, virtual);
});

test("a sweep on Ethereum that is mined late, and loses its block before it is booked, is given back, puts its ramp in quarantine, and the deposit is swept", async ({ fixture, virtual, address }) => {
  const { realm, anvil } = fixture;
  const context = await workerContextOf(realm);
  const rival = await signCall({ realm, context, address }, { to: address, value: 1n });
  context.chains.close();
  const { hash } = await giveUp(realm);
  const fork = await anvil.rpc<string>("evm_snapshot");
  await fixture.mine(70);
  await assertSeen(realm, hash);
  const booked = "select late_order_id as id from order_attempts where late_order_id is not null";
  for (let steps = 0; (await rowsOf(realm, booked)).length === 0; steps++) {
    await isKilled(realm, steps);
  }
  await anvil.rpc("evm_revert", fork);
  await anvil.rpc("anvil_dropAllTransactions");
  await anvil.rpc("eth_sendRawTransaction", rival);
  await anvil.mine(90);
  await mineUntil(fixture, async () => (await rowsOf(realm, booked)).length === 0);
  const [{ detail }] = await rowsOf<{ detail: string }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps",
  );
  ok(detail, "it is in quarantine");
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  await mineUntil(fixture, async () => (await fixture.account(virtual)).balance.total !== "0");
  await fixture.mine(3);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
});

/** A deposit of which the given-up sweep was mined, and booked, while another one was sent. */
async function bookBeside({ fixture, virtual, address }: Swept) {
  const { realm, anvil } = fixture;
  const { order, hash } = await giveUp(realm);
  const raw = await rawOf(realm, hash);
  await anvil.rpc("anvil_dropAllTransactions");
  await untilSent(realm, [hash]);
  await anvil.rpc("anvil_dropAllTransactions");
  await anvil.rpc("eth_sendRawTransaction", raw);
  await anvil.mine(70);
  await fixture.poller.advance();
  await assertSeen(realm, hash);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken, [{ hash, purpose: "sweep", paid: [], unmatched: [], late: order }]);
  return { fixture, virtual, address };
}

test("a sweep on Ethereum that is mined late while another of its account is sent is booked beside it, and that one takes what comes later", async (given) => {
  const { fixture, virtual, address } = await bookBeside(given);
  const { realm, anvil } = fixture;
  await anvil.pool({ to: address, value: ETHER / 2n });
  await rowsOf(realm, "update chain_orders set created_at = now() - interval '20 minutes'");
  await mineUntil(fixture, async () => (await rowsOf(realm, OPEN)).length === 0);
  await fixture.mine(3);
  deepEqual(
    await rowsOf(realm, "select beside, state from sweeps order by beside"),
    [{ beside: false, state: "done" }, { beside: true, state: "done" }],
  );
  const { total } = (await fixture.account(virtual)).balance;
  ok(total.startsWith("1.499"), total);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
});

test("a sweep on Ethereum beside which a late one left nothing is canceled at the house's cost, and what comes later is swept whole", async (given) => {
  const { fixture, virtual, address } = await bookBeside(given);
  const { realm, anvil } = fixture;
  await mineUntil(fixture, async () => (await fixture.account(virtual)).balance.total !== "0");
  const swept = (await fixture.account(virtual)).balance.total;
  await rowsOf(realm, "update chain_orders set created_at = now() - interval '20 minutes'");
  await mineUntil(fixture, async () => (await rowsOf(realm, OPEN)).length === 0);
  deepEqual(
    await rowsOf(realm, "select beside, state, borne::text, strikes from sweeps order by beside"),
    [
      { beside: false, state: "failed", borne: "0", strikes: 0 },
      { beside: true, state: "done", borne: "0", strikes: 0 },
    ],
  );
  deepEqual(
    await rowsOf(
      realm,
      "select purpose, state from chain_orders where purpose = 'gas' or state = 'failed' order by id",
    ),
    [{ purpose: "sweep", state: "failed" }, { purpose: "gas", state: "done" }],
  );
  await fixture.mine(3);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  equal((await fixture.account(virtual)).balance.total, swept);
  await anvil.pool({ to: address, value: ETHER / 2n });
  const isMore = async () => (await fixture.account(virtual)).balance.total !== swept;
  await mineUntil(fixture, isMore);
  const { total } = (await fixture.account(virtual)).balance;
  ok(total.startsWith("1.499"), total);
  await fixture.mine(3);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
});

/** A deposit that pays for a cancellation is forwarded whole, and the house bears what it paid for that. */
async function assertLent(
  { fixture, virtual, address }: Awaited<ReturnType<typeof bookBeside>>,
  awaitGas: () => Promise<readonly { state: string }[]>,
): Promise<void> {
  const { realm, anvil } = fixture;
  await mineUntil(fixture, async () => (await fixture.account(virtual)).balance.total !== "0");
  const swept = (await fixture.account(virtual)).balance.total;
  await rowsOf(realm, "update chain_orders set created_at = now() - interval '20 minutes'");
  const gas = await awaitGas();
  await anvil.pool({ to: address, value: ETHER / 2n });
  await mineUntil(fixture, async () => (await rowsOf(realm, OPEN)).length === 0);
  deepEqual(await rowsOf(realm, "select state from chain_orders where purpose = 'gas'"), gas);
  const left = `select state, borne::text, ahead::text, strikes,
      trim_scale(amount - coalesce(fee, 0))::text as net from sweeps where not beside order by id`;
  const [canceled, forwarded, ...more] = await rowsOf<Record<string, string>>(realm, left);
  deepEqual([canceled.state, canceled.borne, canceled.ahead, canceled.strikes, more], [
    ...["failed", "0", "0", 0, []],
  ]);
  equal(forwarded.state, "done");
  const [{ given }] = await rowsOf<{ given: string }>(
    realm,
    `select trim_scale($1::numeric + 0.5 - fee)::text as given from sweeps where state = 'done' and not beside`,
    [swept],
  );
  equal((await fixture.account(virtual)).balance.total, given, "its own fee alone");
  await fixture.mine(3);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  for (const owed of ["ahead", "borne"]) {
    const more = rowsOf(realm, `update sweeps set ${owed} = 1 where state = 'failed'`);
    await rejects(more, (error) => brokenConstraint(error) === "sweeps_owed");
  }
}

test("a deposit that pays for such a cancellation, because it came before the gas for it, is forwarded whole, at the house's cost", async (swept) => {
  const beside = await bookBeside(swept);
  const { fixture } = beside;
  const canceling = "select from order_attempts where cancels and raw is not null";
  await assertLent(beside, async () => {
    await mineUntil(fixture, async () => (await rowsOf(fixture.realm, canceling)).length > 0);
    return [];
  });
});

test("a deposit that pays for such a cancellation, because the gas for it failed, is forwarded whole, at the house's cost", async (swept) => {
  const beside = await bookBeside(swept);
  const { fixture } = beside;
  const failed = "select from chain_orders where purpose = 'gas' and state = 'failed'";
  await assertLent(beside, async () => {
    await fixture.anvil.rpc("anvil_setCode", beside.address, "0x60006000fd");
    await mineUntil(fixture, async () => (await rowsOf(fixture.realm, failed)).length > 0);
    await fixture.anvil.rpc("anvil_setCode", beside.address, "0x");
    return [{ state: "failed" }];
  });
});

test("a sweep on Ethereum that was mined late, and in whose place a reorganisation beyond the final block mines its replacement, is booked once and told", async ({ fixture, virtual }) => {
  const { realm, anvil } = fixture;
  const [{ hash: first }] = await rowsOf<{ hash: string }>(realm, SENT);
  await rowsOf(realm, "update chain_orders set replace = true, speed = 'fast'");
  await untilSent(realm, [first]);
  const { order, hash } = await giveUp(realm);
  const raw = { first: await rawOf(realm, first), other: await rawOf(realm, hash) };
  const fork = await anvil.rpc<string>("evm_snapshot");
  const mineInstead = async (bytes: string, blocks: number) => {
    await anvil.rpc("anvil_dropAllTransactions");
    await anvil.rpc("eth_sendRawTransaction", bytes);
    await fixture.mine(blocks);
  };
  await mineInstead(raw.first, 70);
  await assertSeen(realm, first);
  const [swept] = await reconcile(realm, nobody);
  deepEqual([swept.lifted, swept.taken.map(({ purpose }) => purpose)], [true, ["sweep"]]);
  await assertSwept(fixture, virtual);
  const { total } = (await fixture.account(virtual)).balance;
  const [booked] = await rowsOf<{ id: string; fee: string }>(
    realm,
    "select order_id as id, trim_scale(fee::numeric)::text as fee from sweeps where state = 'done'",
  );
  await anvil.rpc("evm_revert", fork);
  await mineInstead(raw.other, 160);
  await assertSeen(realm, hash);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken, [{
    ...{ hash, purpose: "recovered", paid: [], unmatched: [], late: order },
    displaced: [{ order: booked.id, purpose: "sweep", hash: first, unpaid: [] }],
  }]);
  const quarantined =
    "select quarantined ->> 'detail' as detail from ramps where quarantined is not null";
  await mineUntil(fixture, async () => (await rowsOf(realm, quarantined)).length > 0);
  const [{ detail }] = await rowsOf<{ detail: string }>(realm, quarantined);
  match(detail, new RegExp(`order ${booked.id} .sweep. .* only that happened which ${hash} did$`));
  equal((await fixture.account(virtual)).balance.total, total, "it is forwarded once");
  // The fee of what had taken its place stays booked.
  deepEqual(await driftsOf(fixture), [["ETH", booked.fee]]);
});

Deno.test("a sweep on Solana that is mined after it was given up is booked as the sweep that it was", async () => {
  let faulty: FaultyNode | null = null;
  await using fixture = await openSolanaFixture({
    through: (url) => [(faulty = startFaultyNode(url)).url],
  });
  await using node = faulty!;
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const { id, address } = await fixture.address(ramp.id);
  const kept: string[] = [];
  await fixture.node.pay(ramp.address, 10n ** 9n);
  await fixture.node.pay(address, 2n * 10n ** 9n);
  keepBack(fixture.node, node, kept, false);
  await fixture.mineUntil(() => Promise.resolve(kept.length > 0));
  const { order, hash } = await giveUp(realm, {
    ...{ proof: "expired", by: null, height: 1, reached: 10 ** 9 },
  });
  await fixture.node.sendRaw(kept[0]);
  node.trick = () => undefined;
  await fixture.node.mine();
  await fixture.poller.follow();
  await assertSeen(realm, hash);
  await dateQuarantines(realm, 1);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken, [{ hash, purpose: "sweep", paid: [], unmatched: [], late: order }]);
  await fixture.mineUntil(async () => (await rowsOf(realm, OPEN)).length === 0);
  equal((await fixture.account(id)).balance.total, "0");
});
