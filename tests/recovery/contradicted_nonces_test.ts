/** Orders on Ethereum of which nodes told two things: that a block has them, and that another used their nonce. */
import { deepEqual, equal, fail, match, rejects } from "node:assert/strict";
import { endAt } from "../support/ended_worker.ts";
import { type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { reconcile } from "../support/installation.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { type FaultyNode, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { brokenConstraint } from "../../db/errors.ts";
import { rowsOf } from "../support/realm.ts";
import { openTestPoller } from "../support/scan_steps.ts";

const test = sharingFundedRamp(
  "orders on Ethereum that nodes once seemed to have mined",
);

/**
 * An order that fills the nonce of a canceled withdrawal, whose bytes somebody has sent and mined all the same; and what as
 * many nodes as the quorum made up since: a scanned block that has the order's own transaction.
 */
async function contradict(funded: FundedRamp, lies = true): Promise<{ fill: string }> {
  const { realm, anvil } = funded;
  using poller = openTestPoller(realm);
  await anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  await endAt("stored", funded.advance);
  const [{ raw }] = await rowsOf<{ raw: string }>(realm, "select raw from order_attempts");
  equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  await funded.advance();
  const [fill] = await rowsOf<{ id: string; hash: string }>(
    realm,
    "select id, hash from chain_orders where purpose = 'fill' and state = 'sent'",
  );
  await anvil.rpc("anvil_dropTransaction", fill.hash);
  await anvil.rpc("eth_sendRawTransaction", raw);
  await anvil.mine(110); // beyond the blocks that a reconciliation reads again
  if (!lies) return { fill: fill.id };
  await poller.advance();
  const [{ taken, lifted }] = await reconcile(realm, () => fail("nobody is asked"));
  deepEqual([taken.length, lifted], [1, true]);
  const lie = await rowsOf(
    realm,
    `update reserved_inputs set consumed_by = $1,
       consumed_height = (select height from chain_cursors where chain = 'ETHEREUM') returning input`,
    [fill.hash],
  );
  equal(lie.length, 1);
  await rowsOf(realm, "update order_attempts set created_at = created_at - interval '15 minutes'");
  await anvil.mine(110);
  await poller.advance();
  return { fill: fill.id };
}

async function stateOf({ realm }: FundedRamp, order: string): Promise<string> {
  const [row] = await rowsOf<{ state: string }>(
    realm,
    "select state from chain_orders where id = $1",
    [order],
  );
  return row.state;
}

async function quarantineOf({ realm }: FundedRamp): Promise<string | null> {
  const [{ detail }] = await rowsOf<{ detail: string | null }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps",
  );
  return detail;
}

test("an order on Ethereum that nodes once seemed to have mined, and whose nonce another used, puts the ramp in quarantine, and ends once reconcile has read its block without it", async (funded) => {
  const { realm } = funded;
  const { fill } = await contradict(funded);
  await funded.advance();
  match(await quarantineOf(funded) ?? "none", /block \d+, which was scanned, has it/);
  equal(await stateOf(funded, fill), "sent");
  const [report] = await reconcile(realm, () => fail("nobody is asked"));
  deepEqual([report.lifted, report.obstacles], [true, []]);
  await funded.advance();
  equal(await stateOf(funded, fill), "dropped");
});

test("an order that fills a nonce is not made anew where bytes that were given up used it: its ramp is in quarantine once", async (funded) => {
  const { realm } = funded;
  const { fill } = await contradict(funded, false);
  await funded.advance();
  equal(await stateOf(funded, fill), "dropped");
  match(
    await quarantineOf(funded) ?? "none",
    /which was given up here and never sent, took the place/,
  );
  const [report] = await reconcile(realm, () => fail("nobody is asked"));
  deepEqual([report.lifted, report.obstacles, report.taken.length], [true, [], 1]);
  await funded.advance();
  const made = await rowsOf(realm, "select from order_attempts");
  deepEqual([await quarantineOf(funded), made.length], [null, 2]);
});

Deno.test("of three nodes one that denies that another transaction used a nonce keeps the quarantine, and the order", async () => {
  const nodes: FaultyNode[] = [];
  const front = (url: string) => {
    for (let count = 0; count < 3; count++) nodes.push(startFaultyNode(url));
    return nodes.map((one) => one.url).join();
  };
  await using funded = await openFundedRamp({ front });
  try {
    const { fill } = await contradict(funded);
    await funded.advance();
    nodes[0].trick = ({ method }) => method === "eth_getTransactionCount" ? "0x0" : undefined;
    const [report] = await reconcile(funded.realm, () => fail("nobody is asked"));
    equal(report.lifted, false);
    match(report.obstacles.join(), /can never be mined, and not all say so/);
    equal(await stateOf(funded, fill), "sent");
  } finally {
    for (const node of nodes) await node.abort();
  }
});

test("the database lets nobody forget that a scanned block shows a nonce of ours used, outside of quarantine", async (funded) => {
  const { realm } = funded;
  await contradict(funded);
  const forget = "update reserved_inputs set consumed_by = null, consumed_height = null";
  await rejects(
    rowsOf(realm, forget),
    (error) => brokenConstraint(error) === "reserved_inputs_forgotten",
  );
  await rowsOf(realm, "update chain_cursors set height = height - 300 where chain = 'ETHEREUM'");
  await rowsOf(realm, forget); // as the scanner does whose blocks the chain has lost
});
