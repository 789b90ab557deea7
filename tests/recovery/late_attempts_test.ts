/** Payments on Solana that nodes call expired although a block has them, or will have them. */
import { deepEqual, equal, fail, match, ok, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import type { OnCheckpoint } from "../../workers/sending/order_work.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { dateQuarantines, reconcile, reconcileTwice } from "../support/installation.ts";
import {
  agePlans,
  attemptsOf,
  giveUp,
  hideMined,
  pay,
  type Scene,
  sharingScene,
} from "../support/kept_payments.ts";
import { expireTransactions } from "../support/nodes/surfpool.ts";
import { rowsOf } from "../support/realm.ts";
import type { SolanaRamp } from "../support/solana_fixture.ts";
import { booksOf } from "../support/unreadable.ts";

const test = sharingScene("payments on Solana that were given up");

/** Transactions that are signed for an order before its value goes back. */
const ATTEMPTS = 5;

/** The account of the ramp has a balance that no deposit paid: the chain holds as much less. */
const CREDITED = "-100";

/** What the chain holds more than the books say. */
async function driftOf({ realm, context }: SolanaRamp): Promise<string> {
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  await checkSolvency({ ...context, actor: { ...context.actor, at: Date.now() } });
  const { body } = await realm.admin.send("GET", "/v1/solvency");
  return body.find((row: { asset: string }) => row.asset === "PYUSD_SOL").drift;
}

async function feesOf({ realm }: SolanaRamp): Promise<number> {
  return (await booksOf(realm, "PYUSD_SOL")).fees ?? 0;
}

/** Sends bytes that were kept, and has their block scanned. */
async function mineLate({ ramp, faulty }: Scene, raw: string): Promise<string> {
  faulty.trick = () => undefined;
  await ramp.node.sendRaw(raw);
  await ramp.node.mine();
  for (let round = 0; round < 2; round++) await ramp.advance();
  const [{ detail }] = await rowsOf<{ detail: string | null }>(
    ramp.realm,
    "select quarantined ->> 'detail' as detail from ramps where next_index > 0",
  );
  match(detail ?? "no quarantine", /was given up, and was mined/);
  return detail!;
}

/**
 * Reconciles, twice at once: the payment that was mined late is nobody's, and `fees` bears it once. The clock of the process that began the
 * quarantine was wrong: only the time of blocks counts.
 */
async function booksLoss({ ramp }: Scene, hash: string, to: string): Promise<void> {
  const { realm, token } = ramp;
  await rowsOf(realm, "update ramps set quarantined = jsonb_set(quarantined, '{at}', '1')");
  const nobody = () => fail("nobody is asked");
  const early = await reconcileTwice(realm);
  match(early.obstacles.join(), /may be mined until/);
  const [{ order }] = await attemptsOf(ramp);
  const unmatched = [{ to, contract: token.mint, amount: "5000000" }];
  deepEqual(early.taken, [{
    hash,
    purpose: "recovered",
    paid: [],
    unmatched,
    late: order,
  }]);
  await dateQuarantines(realm, 1);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.taken], [true, [], []]);
}

test("a payment on Solana that is mined after it was made again is booked as a loss by reconcile, once, and the books agree with the chain", async (scene) => {
  const { ramp, faulty } = scene;
  const { id, to, kept } = await pay(scene);
  await giveUp(scene, kept);
  faulty.trick = () => undefined;
  equal((await ramp.finish(id)).status, "DONE");
  const [first, second] = await attemptsOf(ramp);
  deepEqual([first.proof, second.proof], ["expired", null]);
  await mineLate(scene, kept[0]);
  equal(await ramp.token.held(to), 10_000_000n);
  const fees = await feesOf(ramp);
  await booksLoss(scene, first.hash, to);
  equal(await feesOf(ramp) - fees, -5);
  deepEqual((await attemptsOf(ramp)).map(({ booked }) => booked), [true, false]);
  equal(await driftOf(ramp), CREDITED);
  const read = await ramp.read(id);
  deepEqual([read.status, read.chain.hash], ["DONE", second.hash]);
});

test("a payment on Solana that is mined after its value was given back is booked as a loss by reconcile, and the books agree with the chain", async (scene) => {
  const { ramp } = scene;
  const { id, to, kept } = await pay(scene);
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
    await giveUp(scene, kept);
    await ramp.advance();
  }
  await giveUp(scene, kept);
  equal((await ramp.read(id)).status, "FAILED");
  const attempts = await attemptsOf(ramp);
  deepEqual([attempts.length, kept.length], [ATTEMPTS, ATTEMPTS]);
  const detail = await mineLate(scene, kept[ATTEMPTS - 1]);
  const late = attempts.find(({ hash }) => detail.startsWith(hash))!;
  equal(await ramp.token.held(to), 5_000_000n);
  const fees = await feesOf(ramp);
  await booksLoss(scene, late.hash, to);
  equal(await feesOf(ramp) - fees, -5);
  equal(await driftOf(ramp), CREDITED);
});

test("a payment on Solana that a scanned block shows is not given up, whatever nodes say, by the worker nor by the database", async (scene) => {
  const { ramp, faulty } = scene;
  const { id, to, kept } = await pay(scene);
  await ramp.node.sendRaw(kept[0]);
  await ramp.node.mine();
  await ramp.poller.advance();
  hideMined(ramp.node, faulty);
  await agePlans(ramp);
  for (let round = 0; round < 3; round++) await ramp.advance();
  const [{ order, proof }] = await attemptsOf(ramp);
  equal(proof, null);
  const [{ error }] = await rowsOf<{ error: string }>(ramp.realm, "select error from chain_orders");
  match(error, /can never be mined, and block \d+, which was scanned, has it/);
  const [{ detail }] = await rowsOf<{ detail: string }>(
    ramp.realm,
    "select quarantined ->> 'detail' as detail from ramps where next_index > 0",
  );
  match(detail, /can never be mined, and block \d+, which was scanned, has it/);
  const [told] = await reconcile(ramp.realm, () => fail("nobody is asked"));
  match(told.obstacles.join(), /nodes say that it can never be mined, and not all say so/);
  equal((await attemptsOf(ramp))[0].proof, null);
  const dropped = ramp.realm.command((tx) =>
    tx`update order_attempts set dropped = true, proof = 'expired', proof_height = 1, proof_reached = 9e9
      where order_id = ${order}`
  );
  await rejects(dropped, /was seen in a block/);
  faulty.trick = () => undefined;
  equal((await ramp.finish(id)).status, "DONE");
  deepEqual([(await attemptsOf(ramp)).length, await ramp.token.held(to)], [1, 5_000_000n]);
});

test("a payment on Solana is not planned while the newest blocks are not scanned, whatever the clock of the scanner's process", async (scene) => {
  const { ramp } = scene;
  const { realm, node } = ramp;
  const { body: { id } } = await ramp.withdraw("5");
  await expireTransactions(node);
  await node.mine();
  await rowsOf(realm, "update chain_cursors set scanned_at = now() + interval '1 hour'");
  await step(ramp, id);
  const [order] = await rowsOf<{ state: string; error: string }>(
    realm,
    "select state, error from chain_orders",
  );
  deepEqual(order, {
    state: "new",
    error: "the newest blocks are not scanned yet: it waits for the scanner",
  });
  equal((await ramp.finish(id)).status, "DONE");
});

test("a plan on Solana that nodes kept waiting for too long within one run is not signed", async (scene) => {
  const { ramp } = scene;
  const { realm } = ramp;
  const { body: { id } } = await ramp.withdraw("5");
  await ramp.poller.advance();
  await step(ramp, id, Date.now() - 60_000, async (checkpoint) => {
    if (checkpoint !== "planned") return;
    await rowsOf(realm, "update order_attempts set created_at = now() - interval '30 seconds'");
  });
  const attempts = () =>
    rowsOf<{ proof: string | null; signed: boolean }>(
      realm,
      "select proof, raw is not null as signed from order_attempts order by attempt",
    );
  deepEqual(await attempts(), [{ proof: "unsigned", signed: false }]);
  equal((await ramp.finish(id)).status, "DONE");
});

test("a plan on Solana of a process whose clock is an hour behind is not taken for an old one", async (scene) => {
  const { ramp } = scene;
  const { body: { id } } = await ramp.withdraw("5");
  await ramp.poller.advance();
  await step(ramp, id, Date.now() - 3_600_000);
  deepEqual((await attemptsOf(ramp)).map(({ proof, hash }) => [proof, hash !== null]), [[
    null,
    true,
  ]]);
  equal((await ramp.finish(id)).status, "DONE");
});

test("a plan on Solana is as old as the question to the nodes that it comes from", async (scene) => {
  const { ramp } = scene;
  const { realm } = ramp;
  const { body: { id } } = await ramp.withdraw("5");
  await ramp.poller.advance();
  await rowsOf(realm, "create table drafted as select clock_timestamp() as at where false");
  await step(ramp, id, Date.now(), async (checkpoint) => {
    if (checkpoint !== "drafted") return;
    await rowsOf(realm, "insert into drafted values (clock_timestamp())");
  });
  const [{ older }] = await rowsOf<{ older: boolean }>(
    realm,
    "select k.created_at < d.at as older from order_attempts k, drafted d",
  );
  ok(older, "nodes may keep the answers after it back");
  equal((await ramp.finish(id)).status, "DONE");
});

test("a block of the future is not the time of a quarantine on Solana, which would not end before it", async (scene) => {
  const { ramp: { realm, node, poller }, faulty } = scene;
  await poller.advance();
  await rowsOf(
    realm,
    `update ramps set quarantined = '{"detail": "a trial", "at": 1}' where next_index > 0`,
  );
  faulty.trick = async ({ method, params }) =>
    method === "getBlock"
      ? { ...await node.rpc<object>(method, ...params), blockTime: 4e9 }
      : undefined;
  await poller.advance();
  const [told] = await reconcile(realm, () => fail("nobody is asked"));
  match(told.obstacles.join(), /the newest block is of the future/);
  faulty.trick = () => undefined;
  await poller.advance();
  await poller.advance();
  const [{ time }] = await rowsOf<{ time: number | null }>(
    realm,
    "select (quarantined ->> 'block_time')::float8 as time from ramps where next_index > 0",
  );
  ok(time !== null && Math.abs(time - Date.now() / 1000) < 86_400);
});

test("a payment on Solana that nodes only seemed to have mined late is given up again by reconcile, once it has expired and its block was read anew without it", async (scene) => {
  const { ramp, faulty } = scene;
  const { realm, node } = ramp;
  const { id, kept } = await pay(scene);
  await giveUp(scene, kept);
  faulty.trick = () => undefined;
  equal((await ramp.finish(id)).status, "DONE");
  const [{ hash }] = await attemptsOf(ramp);
  const top = "(select max(height) from chain_cursors where chain = 'SOLANA')";
  await rowsOf(
    realm,
    `update order_attempts set seen_height = ${top}, late = true where hash = $1`,
    [hash],
  );
  await rowsOf(
    realm,
    `update ramps set quarantined = jsonb_build_object('detail', 'a lie', 'at', 1, 'height', ${top})
      where next_index > 0`,
  );
  const nobody = () => fail("nobody is asked");
  const [early] = await reconcile(realm, nobody);
  match(early.obstacles.join(), /too few nodes show it in a final one/);
  await expireTransactions(node);
  await node.mine();
  await dateQuarantines(realm, 1);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles, report.taken], [true, [], []]);
  deepEqual((await attemptsOf(ramp)).map(({ proof, booked }) => [proof, booked]), [
    ["expired", false],
    [null, false],
  ]);
});

/** Takes a step of a withdrawal's order, without a scan. */
async function step(
  { realm, context }: SolanaRamp,
  id: string,
  at = Date.now(),
  onCheckpoint: OnCheckpoint = () => {},
): Promise<void> {
  const [turn] = await rowsOf<{ order: string; version: number }>(
    realm,
    "select id as order, schedule_version as version from chain_orders where reference_id = $1",
    [id],
  );
  await advanceOrder({ ...context, actor: { ...context.actor, at } }, turn, onCheckpoint);
}
