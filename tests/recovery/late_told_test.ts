/** Bytes that were given up and mined, where one of as many nodes as the quorum omits them from their block. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { endAt } from "../support/ended_worker.ts";
import { reconcile } from "../support/installation.ts";
import {
  cancelSigned,
  driftOf,
  type LateScene,
  mineInstead,
  quarantineOf,
  sharingLateScene,
} from "../support/late_nonces.ts";
import type { FaultyNode } from "../support/nodes/faulty_node.ts";
import { rowsOf } from "../support/realm.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";

const COIN = 10n ** 18n;
/** The account has a balance that no deposit paid: the chain holds as much less. */
const CREDITED = "-10";
const nobody = () => fail("nobody is asked");

// Both nodes must agree.
const test = sharingLateScene("bytes that one of two nodes omits or invents", {
  nodes: 2,
});

/** Keeps a transaction back in blocks, and from questions about it. */
function omits({ funded: { anvil } }: LateScene, node: FaultyNode, hash: string): void {
  node.trick = async ({ method, params }) => {
    if (method === "eth_getTransactionReceipt" || method === "eth_getTransactionByHash") {
      return params[0] === hash ? null : undefined;
    }
    if (!method.startsWith("eth_getBlockBy")) return undefined;
    // deno-lint-ignore no-explicit-any
    const block = await anvil.rpc<any>(method, ...params);
    const isKept = (one: string | { hash: string }) =>
      (typeof one === "string" ? one : one.hash) !== hash;
    return block && { ...block, transactions: block.transactions.filter(isKept) };
  };
}

async function warningOf({ funded: { realm } }: LateScene): Promise<string> {
  const [{ warning }] = await rowsOf<{ warning: string | null }>(
    realm,
    "select warning from chain_cursors where chain = 'ETHEREUM'",
  );
  return warning ?? "none";
}

test(
  "bytes that were given up, and that one of two nodes omits from their block, are told to the operator, keep a quarantine, and are booked once both show them",
  async (scene, nodes) => {
    const { funded, poller } = scene;
    const { realm } = funded;
    const canceled = await cancelSigned(funded);
    omits(scene, nodes[1], canceled.hash);
    await mineInstead(funded, canceled.raw);
    for (let round = 0; round < 2; round++) await poller.advance();
    equal(await quarantineOf(funded), null, "the word of one node");
    match(await warningOf(scene), new RegExp(`too few nodes say that block .* ${canceled.hash}`));
    await rowsOf(
      realm,
      `update ramps set quarantined = '{"detail": "a trial", "at": 1}' where next_index > 0`,
    );
    const [early] = await reconcile(realm, nobody);
    deepEqual([early.lifted, early.taken], [false, []]);
    match(early.obstacles.join(), /too few nodes say .* which was given up: find out/);
    await rowsOf(realm, "update ramps set quarantined = null");
    nodes[1].trick = () => undefined;
    await poller.advance();
    match(await quarantineOf(funded) ?? "none", /was given up, and was mined/);
    const before = Number((await funded.books()).fees);
    const [report] = await reconcile(realm, nobody);
    deepEqual([report.lifted, report.obstacles, report.taken], [true, [], [{
      hash: canceled.hash,
      purpose: "recovered",
      paid: [],
      unmatched: [{ to: OUTSIDE, contract: null, amount: `${COIN}` }],
      late: canceled.order,
    }]]);
    for (let round = 0; round < 3; round++) await funded.advance();
    const cost = before - Number((await funded.books()).fees);
    ok(cost > 1 && cost < 1.01, `${cost}`);
    await funded.anvil.mine();
    await poller.advance();
    equal(await driftOf(funded), CREDITED);
    equal(await warningOf(scene), "none");
  },
);

test(
  "bytes of a signed withdrawal that one of two nodes omits from their block, and that is canceled then, are not forgotten",
  async (scene, nodes) => {
    const { funded, poller } = scene;
    const { realm } = funded;
    const { body: { id } } = await funded.withdraw("1");
    await endAt("stored", funded.advance);
    const [{ hash, raw }] = await rowsOf<{ hash: string; raw: string }>(
      realm,
      "select hash, raw from order_attempts",
    );
    omits(scene, nodes[1], hash);
    await mineInstead(funded, raw);
    await poller.advance();
    equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
    nodes[1].trick = () => undefined;
    await poller.advance();
    match(
      await quarantineOf(funded) ?? "none",
      new RegExp(`^${hash} .* was given up, and was mined`),
    );
  },
);

test(
  "bytes that were given up, and that one of two nodes invents a block for, are forgotten once all nodes deny it",
  async (scene) => {
    const { funded, poller } = scene;
    const { realm } = funded;
    const { hash } = await cancelSigned(funded);
    await funded.anvil.mine();
    await poller.advance();
    await rowsOf(
      realm,
      "update order_attempts set told_height = (select max(height) from chain_cursors) where hash = $1",
      [hash],
    );
    await poller.advance();
    deepEqual(await rowsOf(realm, "select from order_attempts where told_height is not null"), []);
    deepEqual([await quarantineOf(funded), await warningOf(scene)], [null, "none"]);
  },
);
