/** Withdrawals that wait for value: what comes wakes them, and their history tells why they wait, within bounds. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { markWaitingDue, selectDueTime } from "../../db/sending/waiting_orders.ts";
import { reading, writing } from "../../db/transaction.ts";
import { noteWaiting } from "../../domain/withdrawals/withdrawal_settlement.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import {
  rescheduleWaiting,
  wakeBeside,
  wakeNoteOf,
  wakeWaiting,
} from "../../workers/sending/woken_orders.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";

const ETHER = 10n ** 18n;
const OUTSIDE = "0x00000000000000000000000000000000DeaDBeef";
const HOUR_MS = 3_600_000;
const PLACE = { chain: "ETHEREUM", network: "main" };

/** A ramp from whose address three withdrawals wait to leave, which has nothing. */
async function openShort() {
  const fixture = await openRampFixture({ testnet: false });
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const { send } = realm.admin;
  const context = await workerContextOf(realm);
  await anvil.pool({ to: ramp.address, value: 3n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "3");
  await refreshFees(context);
  const waiting: string[] = [];
  for (let count = 0; count < 3; count++) {
    const made = await send("POST", "/v1/withdrawals", {
      ...{ source: { account: ramp.id }, destination: { address: OUTSIDE }, value: "0.1" },
    });
    equal(made.status, 201, made.text);
    waiting.push(made.body.id);
  }
  await anvil.rpc("anvil_setBalance", ramp.address, "0x0");
  await realm.drain();
  return { fixture, context, ramp, waiting };
}

Deno.test("a withdrawal that waits for value is due as soon as value comes to its ramp, however much else waits there, and tells a reason that alternates ever more rarely", async (t) => {
  const { fixture, context, ramp, waiting } = await openShort();
  await using _ = fixture;
  using _chains = { [Symbol.dispose]: () => context.chains.close() };
  const { realm, anvil } = fixture;
  const { rest, due } = pausesOf(realm);

  await t.step("a balance that rises, by whatever came", async () => {
    await rest();
    await fixture.poller.follow();
    await rest();
    await anvil.rpc("anvil_setBalance", ramp.address, "0x1");
    await anvil.mine();
    await fixture.poller.advance();
    equal(await due(), 3);
    await rest();
    const of = { senders: [ramp.address], most: 2, seconds: 15 };
    await writing(realm.pool, (db) => markWaitingDue(db, PLACE, of));
    equal(await due(), 2, "not all at once: anybody may send dust");
  });
  await t.step(
    "those alone whose value came, soon where tried just now, none whose tries fail",
    async () => {
      await rest();
      await wakeWaiting(context, PLACE, [OUTSIDE]);
      equal(await due("1 minute"), 0);
      for (const [given, woken] of [["created_at = now()", 3], ["attempts = 3", 0]] as const) {
        await rest();
        await rowsOf(realm, `update jobs set ${given} where state = 'ready'`);
        await wakeWaiting(context, PLACE, [ramp.address]);
        deepEqual([await due(), await due("15 s")], [0, woken], given);
      }
    },
  );
  await t.step("an order that ends where it took value, or brought some", async () => {
    const request = {
      kind: "pay",
      from: OUTSIDE,
      contract: null,
      payments: [{ to: ramp.address, amount: "1" }],
    };
    for (const sender of [OUTSIDE, ramp.address]) {
      await rest();
      await wakeBeside(context, {
        ...PLACE,
        sender,
        request: sender === OUTSIDE ? request : { kind: "noop" },
      });
      equal(await due(), 3);
    }
  });
  await t.step(
    "one whose run is under way, soon after that",
    () => assertRunningWoken(realm, context, ramp.address),
  );
  await t.step("one that is canceled, and gave back what it had taken", async () => {
    await rest();
    await cancelPlanned(fixture, context, waiting[2]);
    equal(await due(), 2);
  });
  await t.step("reasons that alternate", () => assertToldRarely(realm, context, waiting[0]));
  await rest();
  await t.step("one that is paid lets the others try", () => assertEndWakes(fixture, ramp.address));
});

/** When orders that wait are tried, by their jobs. */
function pausesOf(realm: TestRealm) {
  return {
    /** Lets all that wait be tried in ten minutes. */
    async rest() {
      await rowsOf(
        realm,
        `update jobs set run_at = now() + interval '10 minutes', created_at = now() - interval '1 minute',
          attempts = 0 where state = 'ready'`,
      );
    },
    /** Counts those that are due within a time. */
    async due(within = "0 s") {
      const [{ count }] = await rowsOf<{ count: number }>(
        realm,
        `select count(*)::integer as count from jobs j join chain_orders o on o.state = 'new'
            and j.dedupe = o.id || ' ' || o.schedule_version
          where j.name = 'order.advance' and j.state = 'ready' and j.run_at <= now() + $1::interval`,
        [within],
      );
      return count;
    },
  };
}

/** Value that comes while an order is tried lets it be tried again soon; what comes elsewhere does not. */
async function assertRunningWoken(
  realm: TestRealm,
  context: WorkerContext,
  address: string,
): Promise<void> {
  const [{ order, version }] = await rowsOf<{ order: string; version: number }>(
    realm,
    "select id as order, schedule_version as version from chain_orders where state = 'new' order by id limit 1",
  );
  const row = (await reading(realm.pool, (db) => selectOrder(db, order)))!;
  for (const [round, sender] of ["elsewhere", address].entries()) {
    await pausesOf(realm).rest();
    await rowsOf(
      realm,
      "update jobs set state = 'running', attempts = 1 where payload ->> 'order' = $1 and state = 'ready'",
      [order],
    );
    const turn = { order, version: version + round };
    const note = await wakeNoteOf(context, row, turn);
    await wakeWaiting(context, PLACE, [sender]);
    await rescheduleWaiting(context, turn, { note, delayMs: HOUR_MS });
    const next = { order, version: turn.version + 1 };
    const due = Date.parse((await reading(realm.pool, (db) => selectDueTime(db, next)))!);
    deepEqual([due - Date.now() < 16_000, due > Date.now()], [sender === address, true], sender);
    await rowsOf(realm, "update jobs set state = 'done' where state = 'running'");
  }
}

async function assertToldRarely(
  realm: TestRealm,
  context: WorkerContext,
  withdrawal: string,
): Promise<void> {
  const [{ order_id, at }] = await rowsOf<{ order_id: string; at: number }>(
    realm,
    "select order_id, (history -> -1 ->> 'at')::float8 as at from withdrawals where id = $1",
    [withdrawal],
  );
  const told: number[] = [];
  for (let tries = 0; tries < 24 * 6; tries++) {
    const now = at + tries * HOUR_MS / 6;
    const history = await realm.command(async (tx) => {
      const actor = { ...context.actor, at: now };
      return await noteWaiting(
        tx,
        actor,
        (await selectOrder(tx, order_id))!,
        `reason ${tries % 2}`,
      );
    });
    told.push(history.length);
  }
  ok(told.at(-1)! < 20, `${told.at(-1)} entries after a day`);
  const spell = await rowsOf<{ reason: string }>(
    realm,
    "select h ->> 'reason' as reason from withdrawals, jsonb_array_elements(history) h where id = $1",
    [withdrawal],
  );
  deepEqual(spell.slice(-2).map(({ reason }) => reason).toSorted(), ["reason 0", "reason 1"]);
}

/** Cancels a withdrawal after its order was planned, and does what that orders. */
async function cancelPlanned(
  { realm, anvil }: RampFixture,
  context: WorkerContext,
  withdrawal: string,
): Promise<void> {
  const turnOf = async () =>
    (await rowsOf<{ order: string; version: number; sender: string; state: string }>(
      realm,
      `select o.id as order, schedule_version as version, o.sender, state from chain_orders o
        join withdrawals w on w.order_id = o.id where w.id = $1`,
      [withdrawal],
    ))[0];
  const { sender, ...turn } = await turnOf();
  await anvil.rpc("anvil_setBalance", sender, `0x${ETHER.toString(16)}`);
  const lost = new Error("the worker is lost");
  await rejects(
    advanceOrder({ ...context, actor: { ...context.actor, at: Date.now() } }, turn, (passed) => {
      if (passed === "planned") throw lost;
    }),
    lost,
  );
  await anvil.rpc("anvil_setBalance", sender, "0x0");
  const canceled = await realm.admin.send("POST", `/v1/withdrawals/${withdrawal}/cancel`);
  equal(canceled.status, 200, canceled.text);
  const due =
    "select from jobs where payload ->> 'order' = $1 and state = 'ready' and run_at <= now()";
  equal((await rowsOf(realm, due, [turn.order])).length, 1);
  await advanceOrder(context, await turnOf());
}

async function assertEndWakes({ realm, anvil, mine }: RampFixture, address: string): Promise<void> {
  const newest = "select max(id::text) from chain_orders where state = 'new'";
  const open = "select from withdrawals where status = 'PROCESSING'";
  await anvil.rpc("anvil_setBalance", address, `0x${(3n * ETHER).toString(16)}`);
  // Nothing rises any more: what wakes the others is the end of the first.
  await rowsOf(realm, "update onchain_balances set amount = $1", [`${3n * ETHER}`]);
  await rowsOf(realm, `update jobs set run_at = now() where payload ->> 'order' = (${newest})`);
  for (let round = 0; round < 20 && (await rowsOf(realm, open)).length > 0; round++) {
    await rowsOf(
      realm,
      `update jobs set run_at = now() where state = 'ready' and not exists (
        select from chain_orders where state = 'new' and id::text = payload ->> 'order')`,
    );
    await mine();
  }
  deepEqual(await rowsOf(realm, open), []);
}
