import { deepEqual, equal, ok } from "node:assert/strict";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { settleSweepJob, sweepJob } from "../../workers/sweeping/sweeps.ts";
import { type Checkpoint, CHECKPOINTS } from "../../workers/sending/order_work.ts";
import { scanNetwork } from "../../workers/scanning/scanner.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { until } from "../support/eventually.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { type FaultyNode, NodeError, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const PLACE = { chain: "ETHEREUM", network: "main" } as const;

/** The worker ended here. */
class End extends Error {}

/** One worker's turn: polls the chain, sweeps, and advances orders; ends at a given point. */
interface Turn {
  account: string;
  /** Ends before or after the step with this number, counted from 1; 0 never. */
  at: number;
  when: "before" | "after";
  /** Ends when an order passes this place. */
  step?: Checkpoint;
}

Deno.test("a worker that ends before or after any step of a deposit's way sweeps it once", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const ramp = await fixture.ramp();
  let expected = 0n;
  // There are some 130 such places: a run takes every third one, from the first on, or as chance has it where that is asked for.
  const isRandom = Deno.env.get("PROPERTY_SEED") === "random";
  const first = isRandom ? 1 + Math.floor(Math.random() * 3) : 1;
  for (const when of ["before", "after"] as const) {
    for (let at = first;; at += 3) {
      const deposit = await fixture.address(ramp.id);
      await fixture.anvil.pool({ to: deposit.address, value: ETHER });
      const ended = await live(fixture, { account: deposit.id, at, when });
      const [row] = await rowsOf<{ n: number; total: string; fee: string }>(
        fixture.realm,
        `select count(*)::integer as n, sum(amount + fee)::text as total, sum(fee)::text as fee
          from sweeps where account = $1 and state = 'done'`,
        [deposit.id],
      );
      equal(row.n, 1, `${when} ${at}`);
      equal(Number(row.total), 1, `${when} ${at}`);
      equal((await fixture.account(deposit.id)).balance.total, "0", `${when} ${at}`);
      expected += ETHER;
      if (!ended) break;
    }
  }
  await fixture.realm.drain();
  await sameAsBefore(fixture, ramp, expected);
});

Deno.test("a token's sweep that no node takes, and that is canceled at the house's cost, rests as one that failed", async () => {
  let node: FaultyNode | null = null;
  await using fixture = await openRampFixture({
    testnet: false,
    through: (url) => (node = startFaultyNode(url)).url,
  });
  await using faulty = node!;
  const { realm, anvil } = fixture;
  const token = await installToken(anvil, "USDC");
  const called = token.contract.slice(2).toLowerCase();
  faulty.trick = ({ method, params }) => {
    if (method !== "eth_sendRawTransaction" || !String(params[0]).includes(called)) {
      return undefined;
    }
    throw new NodeError(-32000, "transaction type not supported");
  };
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(deposit.address, 100_000_000n);
  const sent = "select from chain_orders where purpose = 'sweep' and state = 'sent'";
  await mineUntil(fixture, async () => (await rowsOf(realm, sent)).length === 1);
  await rowsOf(realm, "update chain_orders set created_at = now() - interval '20 minutes'");
  const failed = "select strikes from sweeps where state = 'failed'";
  await mineUntil(fixture, async () => (await rowsOf(realm, failed)).length > 0);
  deepEqual(await rowsOf(realm, failed), [{ strikes: 1 }]);
});

Deno.test("a token's gas and sweep that end at any place are each sent once", async (t) => {
  await using fixture = await openRampFixture({ testnet: false });
  const token = await installToken(fixture.anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  for (const [n, step] of CHECKPOINTS.entries()) {
    await t.step(step, async () => {
      const deposit = await fixture.address(ramp.id);
      await token.pay(deposit.address, 7_000_000n);
      await live(fixture, { account: deposit.id, at: 0, when: "after", step });
      await fixture.realm.drain();
      await fixture.mine(2);
      const orders = await rowsOf<{ purpose: string; state: string }>(
        fixture.realm,
        "select purpose, state from chain_orders order by id desc limit 2",
      );
      deepEqual(orders.map((one) => `${one.purpose} ${one.state}`), ["sweep done", "gas done"]);
      const [{ made }] = await rowsOf<{ made: number }>(
        fixture.realm,
        "select count(*)::integer as made from chain_orders",
      );
      equal(made, 2 * (n + 1));
      const { balance } = await fixture.account(ramp.id);
      const swept = `${7 * (n + 1)}`;
      deepEqual([balance.total, balance.assets], [swept, swept]);
    });
  }
});

Deno.test("a token's sweep is booked once, by two at once, by one that ends, and by one that repeats", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const token = await installToken(fixture.anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(deposit.address, 7_000_000n);
  await token.become("Taxed");
  const context = await workerContextOf(fixture.realm);
  const sweep = await sweptUnbooked(fixture, context, deposit.id);
  equal((await fixture.account(ramp.id)).balance.total, "0", "measured first, then booked");
  const ending: WorkerContext = {
    ...context,
    step: async (work, ...how) => {
      await context.step(work, ...how);
      throw new End();
    },
  };
  await Promise.allSettled([settleSweepJob(context, { sweep }), settleSweepJob(ending, { sweep })]);
  await settleSweepJob(context, { sweep });
  await fixture.realm.drain();
  context.chains.close();
  const moves = await rowsOf<{ type: string; amount: string }>(
    fixture.realm,
    "select type, trim_scale(amount)::text as amount from transactions order by id",
  );
  deepEqual(moves.map((one) => `${one.type} ${one.amount}`), [
    "deposit 7",
    "forward 7",
    "fee 0.7",
  ]);
  equal((await fixture.account(ramp.id)).balance.total, "7");
});

/** Carries a token's deposit on until its sweep is through on the chain and nobody has booked it. */
async function sweptUnbooked(
  fixture: RampFixture,
  context: WorkerContext,
  account: string,
): Promise<string> {
  for (let round = 0; round < 20; round++) {
    await fixture.anvil.mine();
    const now = { ...context, actor: { ...context.actor, at: Date.now() } };
    await scanNetwork(now, PLACE);
    await sweepJob(now, { account });
    for (const seen of await openOrders(fixture)) await advanceOrder(now, seen);
    const [done] = await rowsOf<{ id: string }>(
      fixture.realm,
      "select s.id from sweeps s join chain_orders o on o.id = s.order_id where o.state = 'done'",
    );
    if (done !== undefined) return done.id;
  }
  throw new Error("not swept");
}

Deno.test("two processes follow the same realm: each deposit is credited and swept once", async () => {
  await using fixture = await openRampFixture();
  const ramp = await fixture.ramp();
  const deposits = [];
  for (let i = 0; i < 4; i++) deposits.push(await fixture.address(ramp.id));
  for (const { address } of deposits) await fixture.anvil.pool({ to: address, value: ETHER });
  const done = "select from sweeps where state = 'done'";
  await until(async () => {
    await fixture.anvil.mine();
    await Promise.all([fixture.poller.follow(), fixture.poller.follow()]);
    await fixture.realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
    return (await rowsOf(fixture.realm, done)).length >= 4;
  });
  equal((await rowsOf(fixture.realm, "select from sweeps")).length, 4);
  const { total, assets } = (await fixture.account(ramp.id)).balance;
  ok(total.startsWith("3.999"), total);
  equal(assets, total);
});

/** Lives through a deposit until it is swept, with one end on the way; tells whether it ended. */
async function live(fixture: RampFixture, turn: Turn): Promise<boolean> {
  let ended = false;
  let taken = 0;
  const context = await workerContextOf(fixture.realm);
  async function step<T>(
    work: Parameters<WorkerContext["step"]>[0],
    how?: Parameters<WorkerContext["step"]>[1],
  ): Promise<T> {
    const now = !ended && turn.at !== 0 && ++taken === turn.at;
    if (now) ended = true;
    if (now && turn.when === "before") throw new End();
    const result = await context.step(work, how);
    if (now) throw new End();
    return result as T;
  }
  const worker = () =>
    ({ ...context, step, actor: { ...context.actor, at: Date.now() } }) as WorkerContext;
  const onCheckpoint = (passed: Checkpoint) => {
    if (ended || passed !== turn.step) return;
    ended = true;
    throw new End();
  };
  const tries = async (work: () => Promise<unknown>) => {
    await work().catch((error) => {
      if (!(error instanceof End)) throw error;
    });
  };
  try {
    for (let round = 0; round < 20; round++) {
      await fixture.anvil.mine();
      await tries(() => scanNetwork(worker(), PLACE));
      await tries(() => sweepJob(worker(), { account: turn.account }));
      for (const seen of await openOrders(fixture)) {
        await tries(() => advanceOrder(worker(), seen, onCheckpoint));
      }
      const [sweep] = await rowsOf<{ id: string; state: string }>(
        fixture.realm,
        "select id, state from sweeps where account = $1",
        [turn.account],
      );
      if (sweep?.state === "sweeping") {
        await tries(() => settleSweepJob(worker(), { sweep: sweep.id }));
      }
      if (sweep?.state === "done") return ended;
    }
    throw new Error(`not swept: ${JSON.stringify(turn)}`);
  } finally {
    context.chains.close();
  }
}

async function openOrders(fixture: RampFixture): Promise<{ order: string; version: number }[]> {
  return await rowsOf(
    fixture.realm,
    `select id as order, schedule_version as version from chain_orders
      where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
  );
}

/** All that was paid in is on the ramp or was taken by the chain, there and in the ledger. */
async function sameAsBefore(
  fixture: RampFixture,
  ramp: { id: string; address: string },
  paidIn: bigint,
): Promise<void> {
  const held = BigInt(await fixture.anvil.rpc<string>("eth_getBalance", ramp.address, "latest"));
  const [books] = await rowsOf<{ ramp: string; world: string; fee: string }>(
    fixture.realm,
    `select (select (total * 1e18)::numeric(78,0)::text from accounts where id = $1) as ramp,
      (select (-total * 1e18)::numeric(78,0)::text from accounts where system = 'world') as world,
      (select (sum(fee) * 1e18)::numeric(78,0)::text from sweeps) as fee`,
    [ramp.id],
  );
  deepEqual([BigInt(books.ramp), BigInt(books.world)], [held, held]);
  equal(BigInt(books.ramp) + BigInt(books.fee), paidIn);
}
