/** Withdrawals on Ethereum whose transaction does something else in another block, after a reorganisation beyond the final one. */
import { deepEqual, equal, fail, match, ok, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { brokenConstraint } from "../../db/errors.ts";
import { paidOut } from "../support/displaced_nonces.ts";
import { signCall } from "../support/evm_by_hand.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { dateQuarantines, reconcile } from "../support/installation.ts";
import { isKilled } from "../support/killed_reconcile.ts";
import {
  type LateScene,
  mineInstead,
  quarantineOf,
  sharingLateScene,
} from "../support/late_nonces.ts";
import { displacedOf, end, mineAgain, warningOf } from "../support/lost_nonces.ts";
import { rowsOf } from "../support/realm.ts";

const COIN = 10n ** 18n;
const nobody = () => fail("nobody is asked");
const test = sharingLateScene(
  "withdrawals on Ethereum with another outcome in another block",
);
const onNodes = sharingLateScene(
  "another outcome in another block, behind two nodes",
  { nodes: 2 },
);

/** Reconciles, and gives what is told of lost payments; the ledger agrees with itself. */
async function told({ funded: { realm } }: LateScene) {
  await dateQuarantines(realm, 1);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.taken], [true, [], []]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  return report.displaced;
}

test("a withdrawal on Ethereum that failed in a final block, which the chain loses, and that succeeds in another, is told to its user and the operator, and so is that it fails again, or is lost; nothing is booked, nor paid twice", async (scene) => {
  const { funded } = scene;
  const { realm } = funded;
  const failed = await end(scene, { takes: false });
  const { id, order, hash } = failed;
  const books = await funded.books();
  await failed.goBack();
  await mineAgain(scene, failed, { takes: true });
  equal(await paidOut(scene), COIN);
  const [{ height }] = await rowsOf<{ height: number }>(
    realm,
    "select seen_height as height from displaced_orders",
  );
  const what = `${hash} succeeded in block ${height}, where it had failed before`;
  const so = `it pays ${id}, which has failed, beside what was given back`;
  equal(await quarantineOf(funded), `${what}: ${so}`);
  const read = await funded.read(id);
  equal(read.status, "FAILED");
  equal(read.history.at(-1).reason, `${what}: it is paid by it, beside what was given back`);
  for (let round = 0; round < 3; round++) await scene.poller.advance();
  equal((await funded.read(id)).history.length, read.history.length, "it is told once");
  const report = { order, purpose: "withdrawal", hash, by: null, unpaid: [] };
  deepEqual(await told(scene), [{ ...report, state: "succeeded", paid: [id] }]);
  equal(await quarantineOf(funded), null);
  for (const takes of [false, true]) {
    await failed.goBack();
    await mineAgain(scene, failed, { takes, blocks: takes ? 200 : 130 });
    match(await quarantineOf(funded) ?? "none", takes ? /succeeded in block/ : /failed again in/);
    const state = takes ? { state: "succeeded", paid: [id] } : { state: "returned" };
    deepEqual(await told(scene), [{ ...report, ...state }]);
  }
  deepEqual(await displacedOf(scene), [{ hash, state: "succeeded", told: "succeeded" }]);
  await failed.goBack();
  await funded.anvil.mine(270);
  for (let round = 0; round < 3; round++) await scene.poller.advance();
  const lost = `the chain has lost ${hash}, which had succeeded`;
  equal(
    await quarantineOf(funded),
    `${lost}: it does not pay ${id}, beside whatever was done about that`,
  );
  equal((await funded.read(id)).history.at(-1).reason, `${lost}: it is not paid by it`);
  deepEqual(await told(scene), [{ ...report, state: "returned" }]);
  await failed.goBack();
  await mineAgain(scene, failed, { takes: true, blocks: 340 });
  match(await quarantineOf(funded) ?? "none", /succeeded in block/);
  deepEqual(await told(scene), [{ ...report, state: "succeeded", paid: [id] }]);
  deepEqual(await funded.books(), books);
  for (let round = 0; round < 3; round++) await funded.advance();
  equal(await paidOut(scene), COIN);
});

test("a withdrawal on Ethereum that failed in a final block, which the chain loses, and that fails in another as well, is told to nobody", async (scene) => {
  const failed = await end(scene, { takes: false });
  await failed.goBack();
  await mineAgain(scene, failed, { takes: false });
  equal(await quarantineOf(scene.funded), null);
  deepEqual(await displacedOf(scene), [{ hash: failed.hash, state: "returned", told: null }]);
});

test("a withdrawal on Ethereum that is DONE, and fails in another block after a reorganisation beyond the final one, is told to its user and the operator, and so is that it succeeds again, and that no block has it any more", async (scene) => {
  const { funded } = scene;
  const done = await end(scene, { takes: true });
  const { id, order, hash } = done;
  await done.goBack();
  await mineAgain(scene, done, { takes: false });
  equal(await paidOut(scene), 0n);
  match(
    await quarantineOf(funded) ?? "none",
    new RegExp(
      `^${hash} failed in block \\d+, where it had succeeded before: no transaction pays ${id}, which is done$`,
    ),
  );
  match(
    (await funded.read(id)).history.at(-1).reason,
    /failed in block .*: no transaction pays it$/,
  );
  const report = { order, purpose: "withdrawal", hash, by: null };
  deepEqual(await told(scene), [{ ...report, state: "displaced", unpaid: [id] }]);
  await done.goBack();
  await mineAgain(scene, done, { takes: true, blocks: 130 });
  match(await quarantineOf(funded) ?? "none", /again, which the chain had lost: it pays/);
  deepEqual(await told(scene), [{ ...report, state: "returned", unpaid: [] }]);
  await done.goBack();
  await mineAgain(scene, done, { takes: true, blocks: 200 });
  equal(await quarantineOf(funded), null, "what was told last holds");
  await done.goBack();
  await funded.anvil.mine(270);
  for (let round = 0; round < 3; round++) await scene.poller.advance();
  const lost = `the chain has lost ${hash}: no transaction pays ${id}, which is done`;
  equal(await quarantineOf(funded), lost, "and nobody decides that it is sent again");
  equal(await funded.anvil.rpc("eth_getTransactionByHash", hash), null);
});

test("a withdrawal on Ethereum that is DONE, whose block the chain loses, and behind whose nonce nothing waits, is sent again, and told to nobody", async (scene) => {
  const { funded, poller } = scene;
  const done = await end(scene, { takes: true });
  await done.goBack();
  await funded.anvil.mine(60);
  const held = `{"reason": "restored", "detail": "another database", "at": 0}`;
  await rowsOf(funded.realm, `update ramps set quarantined = '${held}'`);
  for (let round = 0; round < 2; round++) await poller.advance();
  equal(
    await warningOf(scene),
    `the chain has lost ${done.hash}, which is done and is not sent again in quarantine`,
  );
  await rowsOf(funded.realm, "update ramps set quarantined = null");
  await rowsOf(funded.realm, "update displaced_orders set asked_at = null");
  await poller.advance();
  equal(await paidOut(scene), 0n);
  equal(
    await warningOf(scene),
    `the chain has lost ${done.hash}, which is done and is sent again at its old price`,
  );
  await funded.anvil.mine(60);
  for (let round = 0; round < 3; round++) await poller.advance();
  equal(await paidOut(scene), COIN);
  deepEqual([await quarantineOf(funded), await warningOf(scene)], [null, null]);
  deepEqual(await displacedOf(scene), [{ hash: done.hash, state: "returned", told: null }]);
  const { history } = await funded.read(done.id);
  deepEqual(history.filter(({ event }: { event: string }) => event === "found"), []);
});

onNodes(
  "a withdrawal on Ethereum that is DONE, whose block the chain loses, and whose nonce one uses then that nothing here has made, is told to its user, and is not asked about for ever",
  async (scene, nodes) => {
    const { funded, poller } = scene;
    const { id, hash, goBack } = await end(scene, { takes: true });
    const rival = await signCall(funded, { to: OUTSIDE, value: 1n });
    await goBack();
    await mineInstead(funded, rival, 60);
    // The word of one node of two is not enough.
    nodes[0].trick = ({ method }) => method === "eth_getTransactionCount" ? "0x0" : undefined;
    for (let round = 0; round < 3; round++) await poller.advance();
    deepEqual(await displacedOf(scene), [{ hash, state: "lost", told: null }]);
    nodes[0].trick = () => undefined;
    for (let round = 0; round < 3; round++) await poller.advance();
    equal(await paidOut(scene), 1n);
    match(await quarantineOf(funded) ?? "none", /used our nonce .*, and nothing here knows of it$/);
    deepEqual(await displacedOf(scene), [{ hash, state: "displaced", told: "displaced" }]);
    match(
      (await funded.read(id)).history.at(-1).reason,
      new RegExp(
        `^0x\\w+ took the place of ${hash}, which the chain has lost: no transaction pays it$`,
      ),
    );
  },
);

for (const fails of [true, false]) {
  const told = fails ? "fails in it, is told to its user" : "succeeds in it, is told to nobody";
  test(`a withdrawal on Ethereum that is DONE while the scan is behind its block, and that the scan finds in another block and ${told}`, async (scene) => {
    const { funded } = scene;
    const done = await end(scene, { takes: true, scanned: false });
    const { id, hash } = done;
    await done.goBack();
    await mineAgain(scene, done, { takes: !fails });
    const detail = await quarantineOf(funded);
    const states = (await displacedOf(scene)).map(({ state }) => state);
    deepEqual(states, [fails ? "displaced" : "returned"]);
    if (!fails) return equal(detail, null);
    match(detail ?? "none", new RegExp(`^${hash} failed in block \\d+.*pays ${id}`));
    match((await funded.read(id)).history.at(-1).reason, /failed in block/);
  });
}

test("a withdrawal on Ethereum whose block a reorganisation takes away, which the scan follows between the word of nodes and its end, is not DONE by that, and is paid", async (scene) => {
  const { funded, poller } = scene;
  const { realm, anvil } = funded;
  const { body: { id } } = await funded.withdraw("1");
  await funded.advance();
  let reached = false;
  const fork = await anvil.rpc<string>("evm_snapshot");
  for (let round = 0; round < 9 && !reached; round++) {
    await anvil.mine(3);
    await funded.advance(async (passed) => {
      if (passed !== "ending" || reached) return;
      reached = true;
      await poller.advance();
      await anvil.rpc("evm_revert", fork);
      await anvil.rpc("anvil_dropAllTransactions");
      await anvil.mine(60);
      for (let pass = 0; pass < 2; pass++) await poller.advance();
    });
  }
  ok(reached);
  const states = "select state, error from chain_orders";
  const [{ state, error }] = await rowsOf<{ state: string; error: string }>(realm, states);
  ok(state !== "done", state);
  match(error, /^another block was scanned at the height/);
  await rejects(
    rowsOf(
      realm,
      `update chain_orders set state = 'done', succeeded = true, confirmations = 60, height = 9,
        block_hash = '0x00', hash = (select hash from order_attempts)`,
    ),
    (error) => brokenConstraint(error) === "chain_orders_scanned",
  );
  equal((await funded.finish(id)).status, "DONE");
  equal(await paidOut(scene), COIN);
  deepEqual(await displacedOf(scene), []);
});

test("a withdrawal on Ethereum ends with the hash and the fee of that of its transactions which is mined, and is told which pays it where a reorganisation mines another, once for each", async (scene) => {
  const { funded, poller } = scene;
  const { realm, anvil } = funded;
  const { body: { id } } = await funded.withdraw("1");
  await funded.advance();
  const path = `/v1/withdrawals/${id}/speed-up`;
  equal((await realm.admin.send("POST", path, { speed: "fast" })).status, 200);
  await funded.advance();
  const [first, second] = await rowsOf<{ hash: string; raw: string }>(
    realm,
    "select hash, raw from order_attempts order by attempt",
  );
  let fork = await anvil.rpc<string>("evm_snapshot");
  await mineInstead(funded, first.raw, 3);
  const { gasUsed, effectiveGasPrice } = await anvil.rpc<Record<string, string>>(
    "eth_getTransactionReceipt",
    first.hash,
  );
  const done = await funded.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", first.hash]);
  const [{ cost }] = await rowsOf<{ cost: string }>(
    realm,
    "select (cost * 1e18)::numeric(78)::text as cost from withdrawals",
  );
  equal(BigInt(cost), BigInt(gasUsed) * BigInt(effectiveGasPrice));
  await poller.advance();
  for (const [round, { hash, raw }] of [second, first, second].entries()) {
    await anvil.rpc("evm_revert", fork);
    fork = await anvil.rpc<string>("evm_snapshot");
    await mineInstead(funded, raw, 60 * (round + 1));
    for (let pass = 0; pass < 3; pass++) await poller.advance();
    const { history, chain, status } = await funded.read(id);
    deepEqual([chain.hash, status], [first.hash, "DONE"]);
    const told = history.filter(({ event }: { event: string }) => event === "found");
    const { event: _, at: __, cost: took, ...entry } = told.at(-1);
    const how = hash === first.hash ? `${hash} again` : `${hash} in place of ${first.hash}`;
    deepEqual(entry, {
      ...{ hash, paid: true, block: entry.block, ...(round === 2 ? { times: 2 } : {}) },
      reason: `block ${entry.block} has ${how}, which the chain had lost: it is paid by it`,
    });
    ok(Number(took) > 0);
    equal(told.length, Math.min(2, round + 1));
  }
  // As where its block was scanned before it was known that the chain had lost the other.
  const unseen = "update displaced_orders set state = 'lost', seen_hash = null, seen_height = null";
  await rowsOf(realm, unseen);
  for (let pass = 0; pass < 2; pass++) await poller.advance();
  deepEqual(await displacedOf(scene), [{ hash: first.hash, state: "returned", told: null }]);
  equal(await quarantineOf(funded), null);
  equal(await paidOut(scene), COIN);
});

onNodes(
  "of a withdrawal on Ethereum that failed, and that one of two nodes says has succeeded in another block, nothing is told before both do",
  async (scene, nodes) => {
    const [lying] = nodes;
    const { funded } = scene;
    const failed = await end(scene, { takes: false });
    await failed.goBack();
    lying.trick = async ({ method, params }) => {
      if (method !== "eth_getTransactionReceipt" || params[0] !== failed.hash) return undefined;
      return { ...await funded.anvil.rpc<object>(method, ...params), status: "0x0" };
    };
    await mineAgain(scene, failed, { takes: true });
    equal(await quarantineOf(funded), null);
    equal((await displacedOf(scene))[0].told, null);
    lying.trick = () => undefined;
    for (let round = 0; round < 2; round++) await scene.poller.advance();
    match(await quarantineOf(funded) ?? "none", /succeeded in block/);
  },
);

for (const isLost of [true, false]) {
  const so = isLost ? "and whose block is lost, is sent again" : "is not asked about for ever";
  onNodes(
    `a withdrawal on Ethereum that is DONE, that one of two nodes claims to see in another block, ${so}`,
    async (scene, nodes) => {
      const { funded: { anvil, realm }, poller } = scene;
      const done = await end(scene, { takes: true, scanned: isLost });
      const sent = await anvil.rpc<object>("eth_getTransactionByHash", done.hash);
      const receipt = await anvil.rpc<object>("eth_getTransactionReceipt", done.hash);
      if (isLost) await done.goBack();
      await anvil.mine(80);
      const claimed = await anvil.rpc<string>("eth_blockNumber");
      let lies = 0;
      nodes[0].trick = async ({ method, params }) => {
        if (method === "eth_getTransactionReceipt" && params[0] === done.hash && isLost) {
          const { hash } = await anvil.rpc<{ hash: string }>(
            "eth_getBlockByNumber",
            claimed,
            false,
          );
          return { ...receipt, blockNumber: claimed, blockHash: hash };
        }
        if (!method.startsWith("eth_getBlockBy") || params[1] !== true) return undefined;
        const block = await anvil.rpc<{ number: string; transactions: object[] }>(
          method,
          ...params,
        );
        if (block?.number !== claimed) return undefined;
        lies++;
        return { ...block, transactions: [...block.transactions, sent] };
      };
      await poller.advance();
      const seen = await rowsOf(realm, "select seen_height from displaced_orders");
      deepEqual([lies > 0, seen], [true, [{ seen_height: Number(claimed) }]]);
      for (let round = 0; round < 3; round++) {
        await anvil.mine(60);
        await poller.advance();
      }
      equal(await paidOut(scene), COIN);
      nodes[0].trick = () => undefined;
      if (isLost) await poller.advance();
      deepEqual(await displacedOf(scene), [{ hash: done.hash, state: "returned", told: null }]);
      equal(await quarantineOf(scene.funded), null);
    },
  );
}

test("a reconciliation that is killed before any of its steps leaves the operator the report of a failed withdrawal on Ethereum that has succeeded", async (scene) => {
  const { funded } = scene;
  const failed = await end(scene, { takes: false });
  await failed.goBack();
  await mineAgain(scene, failed, { takes: true });
  for (let steps = 0; steps < 3 && await isKilled(funded.realm, steps); steps++) {
    match(await quarantineOf(funded) ?? "none", /succeeded in block/);
  }
  deepEqual((await told(scene)).map(({ state, paid }) => [state, paid]), [["succeeded", [
    failed.id,
  ]]]);
});

test("the database lets nobody call a payment on Ethereum that failed displaced, nor one that is done succeeded, nor untell it", async (scene) => {
  const { realm } = scene.funded;
  const failed = await end(scene, { takes: false });
  await failed.goBack();
  await mineAgain(scene, failed, { takes: true });
  const refused = (change: string) =>
    rejects(rowsOf(realm, `update displaced_orders set ${change}`), (error) => {
      ok(brokenConstraint(error)?.startsWith("displaced_orders_"), `${error}`);
      return true;
    });
  await refused("state = 'displaced', told = 'displaced'");
  await refused("state = 'replaced'");
  await refused("told_at = null, told = null, detail = null, announced = false");
  await refused("told = 'returned'");
});
