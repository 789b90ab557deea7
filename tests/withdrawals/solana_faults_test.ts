/**
 * Withdrawals whose transactions expire, on a real Solana node: workers that end, bytes that no block takes,
 * runs that come too late and databases that are older than the chain pay nobody twice.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { expireTransactions } from "../support/nodes/surfpool.ts";
import { type FaultyNode, NodeError, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { openSolanaRamp, outsider, type SolanaRamp } from "../support/solana_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { dateQuarantines, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { type Checkpoint, CHECKPOINTS } from "../../workers/sending/order_work.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";

interface AttemptShown {
  attempt: number;
  hash: string | null;
  dropped: boolean;
  proof: string | null;
}

/** A ramp whose node swallows bytes while a test says so. */
async function openLossyRamp(): Promise<{ ramp: SolanaRamp; faulty: FaultyNode }> {
  let faulty: FaultyNode | null = null;
  const front = (url: string) => (faulty = startFaultyNode(url)).url;
  const ramp = await openSolanaRamp({ front });
  return { ramp, faulty: faulty! };
}

/** Accepts bytes and passes none on. */
function swallow(faulty: FaultyNode): void {
  faulty.trick = ({ method }) => {
    if (method !== "sendTransaction") return undefined;
    throw new NodeError(-32005, "the bytes are lost");
  };
}

async function attemptsOf({ realm }: SolanaRamp, id: string): Promise<AttemptShown[]> {
  const text = `select a.attempt, a.hash, a.dropped, a.proof from order_attempts a
    join chain_orders o on o.id = a.order_id where o.reference_id = $1 order by a.attempt`;
  return await rowsOf<AttemptShown>(realm, text, [id]);
}

async function withdrawTo(ramp: SolanaRamp, to: string, value = "5"): Promise<string> {
  const { status, body, text } = await ramp.withdraw(value, { destination: { address: to } });
  equal(status, 201, text);
  return body.id;
}

async function stopAt(ramp: SolanaRamp, stop: Checkpoint): Promise<boolean> {
  let reached = false;
  await ramp.advance((step) => {
    if (step !== stop) return;
    reached = true;
    throw new Error("the worker has ended");
  }).catch((error) => equal(error.message, "the worker has ended"));
  return reached;
}

Deno.test("a worker that ends at any place of a withdrawal on Solana and begins anew pays exactly once", async (t) => {
  await using ramp = await openSolanaRamp();
  for (const step of CHECKPOINTS) {
    await t.step(step, async () => {
      const to = outsider();
      const id = await withdrawTo(ramp, to);
      let reached = false;
      for (let round = 0; !reached && round < 4; round++) {
        reached = await stopAt(ramp, step);
        await ramp.node.mine();
      }
      ok(reached, `nobody passed ${step}`);
      equal((await ramp.finish(id)).status, "DONE");
      equal(await ramp.token.held(to), 5_000_000n);
    });
  }
  await t.step("two workers at once", () => twoWorkers(ramp));
  await t.step(
    "planned, and begun anew when the transaction would expire too soon",
    () => givenUp(ramp),
  );
});

Deno.test("on Solana another transaction is signed only after the first can never be mined", async (t) => {
  const { ramp, faulty } = await openLossyRamp();
  await using _ramp = ramp;
  await using _faulty = faulty;
  const steps: Record<string, (scene: Lossy) => Promise<void>> = {
    "bytes that no block takes are sent again until they have expired": neverMined,
    "a run that learned of an expiry, and was overtaken by another that signed anew, drops nothing":
      overtaken,
    "a receiver whose account is frozen after the signature is not paid, and all is given back":
      frozen,
    "a database restored from before the plan signs nothing": restoredNew,
    "a database restored in which the first was sent signs nothing, and finds the second":
      restoredSent,
    "a database restored in which the first was signed and not sent signs nothing, and finds the second":
      restoredSigned,
  };
  for (const [name, step] of Object.entries(steps)) {
    await t.step(name, async () => {
      await step({ ramp, faulty });
      faulty.trick = () => undefined;
    });
  }
});

interface Lossy {
  readonly ramp: SolanaRamp;
  readonly faulty: FaultyNode;
}

async function twoWorkers(ramp: SolanaRamp): Promise<void> {
  const to = outsider();
  const ids = [await withdrawTo(ramp, to, "1"), await withdrawTo(ramp, to, "2")];
  const actor = () => ({ ...ramp.context.actor, at: Date.now() });
  for (let round = 0; round < 4; round++) {
    const seen = await rowsOf<{ order: string; version: number }>(
      ramp.realm,
      `select id as order, schedule_version as version from chain_orders
        where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
    );
    // Each order has the same run in both, as when a lease ends while its worker still works.
    await Promise.all(
      [...seen, ...seen].map((one) => advanceOrder({ ...ramp.context, actor: actor() }, one)),
    );
    await ramp.node.mine();
    await ramp.poller.advance();
  }
  for (const id of ids) {
    equal((await ramp.finish(id)).status, "DONE");
    const made = await attemptsOf(ramp, id);
    equal(made.filter(({ dropped }) => !dropped).length, 1, JSON.stringify(made));
  }
  equal(await ramp.token.held(to), 3_000_000n);
}

async function givenUp(ramp: SolanaRamp): Promise<void> {
  const to = outsider();
  const id = await withdrawTo(ramp, to);
  ok(await stopAt(ramp, "planned"));
  await rowsOf(
    ramp.realm,
    "update order_attempts set created_at = created_at - interval '1 minute'",
  );
  equal((await ramp.finish(id)).status, "DONE");
  const shown = (await attemptsOf(ramp, id)).map(({ hash, proof }) => [hash !== null, proof]);
  deepEqual(shown, [[false, "unsigned"], [true, null]]);
  equal(await ramp.token.held(to), 5_000_000n);
}

async function neverMined({ ramp, faulty }: Lossy): Promise<void> {
  const to = outsider();
  swallow(faulty);
  const id = await withdrawTo(ramp, to);
  for (let round = 0; round < 3; round++) {
    await ramp.advance();
    await ramp.node.mine();
  }
  const [first, ...more] = await attemptsOf(ramp, id);
  deepEqual([first.dropped, more], [false, []]);
  ok(faulty.asked.filter((method) => method === "sendTransaction").length > 1);
  // It can neither be sped up nor canceled while it may be mined, and the refusals say so.
  for (const path of ["speed-up", "cancel"]) {
    const body = path === "cancel" ? undefined : { speed: "fast" };
    const refused = await ramp.realm.admin.send("POST", `/v1/withdrawals/${id}/${path}`, body);
    equal(refused.body.code, "withdrawal.not_cancelable", refused.text);
    match(refused.body.detail, /expires within minutes, and only after its expiry/);
  }
  await expireTransactions(ramp.node);
  await ramp.advance();
  deepEqual((await attemptsOf(ramp, id)).length, 1, "its last block is not below a final one yet");
  await ramp.node.mine();
  // Blocks go on: more are final at the proof than were scanned.
  await ramp.poller.advance();
  await ramp.node.mine(3);
  const [seen] = await rowsOf<{ order: string; version: number }>(
    ramp.realm,
    "select id as order, schedule_version as version from chain_orders where reference_id = $1",
    [id],
  );
  const actor = { ...ramp.context.actor, at: Date.now() };
  await advanceOrder({ ...ramp.context, actor }, seen);
  const [dropped] = await attemptsOf(ramp, id);
  deepEqual([dropped.dropped, dropped.proof], [true, "expired"]);
  faulty.trick = () => undefined;
  const done = await ramp.finish(id);
  const made = await attemptsOf(ramp, id);
  deepEqual([done.status, made.length, done.chain.hash], ["DONE", 2, made[1].hash]);
  equal(await ramp.token.held(to), 5_000_000n);
}

async function overtaken({ ramp, faulty }: Lossy): Promise<void> {
  const to = outsider();
  swallow(faulty);
  const id = await withdrawTo(ramp, to);
  await ramp.advance();
  await expireTransactions(ramp.node);
  await ramp.node.mine();
  await ramp.poller.advance();
  const [seen] = await rowsOf<{ order: string; version: number }>(
    ramp.realm,
    "select id as order, schedule_version as version from chain_orders where reference_id = $1",
    [id],
  );
  /** Ends before it schedules the next run, so that all runs have the same number. */
  function lastOf(steps: number) {
    let left = steps;
    const context = { ...ramp.context, actor: { ...ramp.context.actor, at: Date.now() } };
    const step: typeof context.step = async (work, ...how) => {
      if (left-- === 0) throw new Error("the worker has ended");
      return await ramp.context.step(work, ...how);
    };
    return { ...context, step };
  }
  const ended = (error: Error) => equal(error.message, "the worker has ended");
  let passed = false;
  await advanceOrder(lastOf(99), seen, async (checkpoint) => {
    if (checkpoint !== "seen" || passed) return;
    passed = true;
    await advanceOrder(lastOf(1), seen).catch(ended);
    await advanceOrder(lastOf(4), seen).catch(ended);
  });
  const made = await attemptsOf(ramp, id);
  deepEqual(made.map(({ hash, dropped }) => [hash !== null, dropped]), [
    [true, true],
    [true, false],
  ]);
  faulty.trick = () => undefined;
  equal((await ramp.finish(id)).status, "DONE");
  equal(await ramp.token.held(to), 5_000_000n);
}

async function frozen({ ramp }: Lossy): Promise<void> {
  const to = outsider();
  await ramp.token.open(to);
  const before = await availableOf(ramp);
  const id = await withdrawTo(ramp, to);
  await ramp.advance(async (step) => {
    if (step === "stored") await ramp.token.freeze(to);
  });
  await expireTransactions(ramp.node);
  await ramp.node.mine();
  const failed = await ramp.finish(id);
  equal(failed.status, "FAILED", JSON.stringify(failed));
  const [{ error }] = await rowsOf<{ error: string }>(
    ramp.realm,
    "select error from chain_orders where reference_id = $1",
    [id],
  );
  match(error, /the issuer has frozen the token account/);
  deepEqual([await ramp.token.held(to), await availableOf(ramp)], [0n, before]);
}

async function availableOf({ realm, account }: SolanaRamp): Promise<string> {
  return (await realm.admin.send("GET", `/v1/accounts/${account}`)).body.balance.available;
}

async function restoredNew({ ramp }: Lossy): Promise<void> {
  const to = outsider();
  const id = await withdrawTo(ramp, to);
  await keepRealm(ramp.realm);
  await restored(ramp, id, to);
}

async function restoredSent({ ramp, faulty }: Lossy): Promise<void> {
  const to = outsider();
  const id = await withdrawTo(ramp, to);
  swallow(faulty);
  await ramp.advance();
  await keepRealm(ramp.realm);
  await expireTransactions(ramp.node);
  await ramp.node.mine();
  await ramp.advance();
  faulty.trick = () => undefined;
  await restored(ramp, id, to);
}

async function restoredSigned({ ramp, faulty }: Lossy): Promise<void> {
  const to = outsider();
  const id = await withdrawTo(ramp, to);
  swallow(faulty);
  ok(await stopAt(ramp, "stored"));
  const [order] = await rowsOf<{ state: string }>(
    ramp.realm,
    "select state from chain_orders where reference_id = $1",
    [id],
  );
  equal(order.state, "signed");
  await keepRealm(ramp.realm);
  await ramp.advance(); // its bytes leave, and are lost
  await expireTransactions(ramp.node);
  await ramp.node.mine();
  await ramp.advance();
  faulty.trick = () => undefined;
  await restored(ramp, id, to);
}

/** Pays a withdrawal, puts back what was kept, and reconciles. */
async function restored(ramp: SolanaRamp, id: string, to: string): Promise<void> {
  const { chain } = await ramp.finish(id);
  await restoreRealm(ramp.realm);
  equal((await ramp.read(id)).status, "PROCESSING");
  for (let round = 0; round < 3; round++) {
    await ramp.advance();
    await ramp.node.mine();
  }
  equal(await ramp.token.held(to), 5_000_000n);
  const [{ quarantined }] = await rowsOf<{ quarantined: { detail: string } | null }>(
    ramp.realm,
    "select quarantined from ramps where next_index > 0",
  );
  match(quarantined?.detail ?? "", /signed .*nothing here knows of it/);
  // The blocks of this node are ahead of the time by as many as were mined at once.
  await dateQuarantines(ramp.realm, Date.now() / 1000 + 3_600);
  const [early] = await reconcile(ramp.realm);
  match(early.obstacles.join(), /may be mined until/);
  equal(early.lifted, false);
  await dateQuarantines(ramp.realm, 1);
  const [report] = await reconcile(ramp.realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  const done = await ramp.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", chain.hash]);
  equal(await ramp.token.held(to), 5_000_000n);
}
