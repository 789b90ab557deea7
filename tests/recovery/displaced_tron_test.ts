/** Payments on Tron that are done, and whose final blocks the chain loses: they have expired, so that nobody sends them again. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import * as ethers from "ethers";
import { readSigned } from "../../workers/chains/tron/transaction.ts";
import { dateQuarantines, reconcile } from "../support/installation.ts";
import { newTronParty } from "../support/nodes/tron/wallet.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingTronRamp } from "../support/kept_tron_ramps.ts";
import { type TronRamp } from "../support/tron_fixture.ts";

const test = sharingTronRamp("payments on Tron that are DONE", { total: 500_000_000n });

/** Blocks after which a payment has expired. */
const EXPIRY = 42;
const nobody = () => fail("nobody is asked");

async function reasonOf({ realm }: TronRamp): Promise<string | null> {
  const [row] = await rowsOf<{ detail: string }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps where quarantined is not null",
  );
  return row?.detail ?? null;
}

/** The part of a block's id by which bytes refer to it. */
function referenceOf(raw: string): string {
  return readSigned(ethers, raw).raw.refBlockHash;
}

/** A payment that is done, how deep it lies, and its bytes. */
async function payDone(ramped: TronRamp) {
  const { body: { id } } = await ramped.withdraw(newTronParty().address, "5");
  const done = await ramped.ended(id);
  equal(done.status, "DONE");
  await ramped.follow();
  const [{ depth }] = await rowsOf<{ depth: number }>(
    ramped.realm,
    `select c.height - o.height + 1 as depth from chain_orders o join chain_cursors c using (chain, network)
      where o.reference_id = $1`,
    [id],
  );
  const { hash } = done.chain;
  const [{ raw, order }] = await rowsOf<{ raw: string; order: string }>(
    ramped.realm,
    "select raw, order_id as order from order_attempts where hash = $1",
    [hash],
  );
  return { id, hash, raw, order, depth: Number(depth) };
}

test("a payment on Tron that is DONE, and whose final block the chain loses, is told to its user and the operator, and so is that a block has it again", async (ramped) => {
  const { realm, node } = ramped;
  const { id, hash, raw, order, depth } = await payDone(ramped);
  await node.reorganiseFinal(depth);
  for (let round = 0; round < 2; round++) {
    await node.mine(2);
    await ramped.follow();
  }
  const lost = `the chain has lost ${hash}`;
  equal(await reasonOf(ramped), `${lost}: no transaction pays ${id}, which is done`);
  equal((await ramped.withdrawal(id)).history.at(-1).reason, `${lost}: no transaction pays it`);
  await dateQuarantines(realm, 1);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.obstacles, report.displaced], [[], [
    { order, purpose: "withdrawal", hash, state: "displaced", by: null, unpaid: [id] },
  ]]);
  const body = JSON.stringify({ transaction: raw });
  const told = await (await fetch(`${node.url}/wallet/broadcasthex`, { method: "POST", body }))
    .json();
  ok(told.result, JSON.stringify(told));
  for (let round = 0; round < 2; round++) {
    await node.mine(3);
    await ramped.follow();
  }
  match(
    await reasonOf(ramped) ?? "none",
    new RegExp(`has ${hash} again, which the chain had lost: it pays ${id}`),
  );
  const row = await ramped.withdrawal(id);
  match(row.history.at(-1).reason, /again, which the chain had lost: it is paid by it$/);
  equal(row.status, "DONE");
});

test("a payment on Tron that is DONE, and whose final block the chain loses together with the block that it refers to, is told to its user and the operator", async (ramped) => {
  const { node } = ramped;
  const { id, hash, raw, depth } = await payDone(ramped);
  await node.mine(EXPIRY);
  await ramped.follow();
  const refersTo = node.ledger.blocks.findIndex(({ id }) => id.slice(16, 32) === referenceOf(raw));
  const blocks = node.ledger.blocks.length - refersTo;
  ok(refersTo > 0 && blocks > depth);
  await node.reorganiseFinal(blocks, (one) => one !== hash);
  for (let round = 0; round < 2; round++) {
    await node.mine(2);
    await ramped.follow();
  }
  const lost = `the chain has lost ${hash}`;
  equal(await reasonOf(ramped), `${lost}: no transaction pays ${id}, which is done`);
  equal((await ramped.withdrawal(id)).history.at(-1).reason, `${lost}: no transaction pays it`);
});

test("a payment on Tron that the chain has lost, has again, and loses once more is told each time", async (ramped) => {
  const { realm, node } = ramped;
  const { id, hash, raw, depth } = await payDone(ramped);
  const lost = `the chain has lost ${hash}: no transaction pays`;
  const follow = async (blocks: number) => {
    for (let round = 0; round < 2; round++) {
      await node.mine(blocks);
      await ramped.follow();
    }
  };
  await node.reorganiseFinal(depth);
  await follow(2);
  equal(await reasonOf(ramped), `${lost} ${id}, which is done`);
  await dateQuarantines(realm, 1);
  await reconcile(realm, nobody);
  equal(await reasonOf(ramped), null);
  const body = JSON.stringify({ transaction: raw });
  await (await fetch(`${node.url}/wallet/broadcasthex`, { method: "POST", body })).body?.cancel();
  await follow(3);
  match(await reasonOf(ramped) ?? "none", /again, which the chain had lost/);
  await dateQuarantines(realm, 1);
  await reconcile(realm, nobody);
  equal(await reasonOf(ramped), null);
  const [{ above }] = await rowsOf<{ above: number }>(
    realm,
    `select (c.height - d.seen_height + 1)::integer as above from displaced_orders d
      join chain_cursors c using (chain, network)`,
  );
  await node.reorganiseFinal(above);
  await follow(2);
  equal(await reasonOf(ramped), `${lost} ${id}, which is done`);
  const told = (await ramped.withdrawal(id)).history.filter(({ event }: { event: string }) =>
    event === "found"
  );
  const of = told.map(({ hash, paid, times }: Record<string, unknown>) => ({ hash, paid, times }));
  deepEqual(of, [{ hash, paid: true, times: undefined }, { hash, paid: false, times: 2 }]);
  ok(told[1].reason.startsWith(lost) && told[0].at <= told[1].at);
});

test("a payment on Tron whose final block the chain replaces by another that has it as well is told to nobody", async (ramped) => {
  const { realm, node } = ramped;
  const { id, hash, depth } = await payDone(ramped);
  await node.reorganiseFinal(depth, (one) => one === hash);
  for (let round = 0; round < 3; round++) {
    await node.mine(2);
    await ramped.follow();
  }
  equal(await reasonOf(ramped), null);
  deepEqual(
    (await ramped.withdrawal(id)).history.filter((one: { reason?: string }) => one.reason),
    [],
  );
  deepEqual(await rowsOf(realm, "select state, told_at from displaced_orders"), [
    { state: "returned", told_at: null },
  ]);
});
