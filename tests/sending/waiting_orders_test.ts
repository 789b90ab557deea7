/** Withdrawals that wait for value: what comes wakes them, and their history tells why they wait, within bounds. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { markWaitingDue } from "../../db/sending/waiting_orders.ts";
import { writing } from "../../db/transaction.ts";
import { noteWaiting } from "../../domain/withdrawals/withdrawal_settlement.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { wakeBeside, wakeWaiting } from "../../workers/sending/woken_orders.ts";
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
  /** Lets all that wait be tried in ten minutes. */
  const rest = async () => {
    await rowsOf(
      realm,
      `update jobs set run_at = now() + interval '10 minutes', created_at = now() - interval '1 minute',
        attempts = 0 where state = 'ready'`,
    );
  };
  const due = async (within = "0 s") =>
    (await rowsOf<{ count: number }>(
      realm,
      `select count(*)::integer as count from jobs j join chain_orders o on o.state = 'new'
          and j.dedupe = o.id || ' ' || o.schedule_version
        where j.name = 'order.advance' and j.state = 'ready' and j.run_at <= now() + $1::interval`,
      [within],
    ))[0].count;

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
  await t.step("reasons that alternate", () => assertToldRarely(realm, context, waiting[0]));
  await rest();
  await t.step("one that is paid lets the others try", () => assertEndWakes(fixture, ramp.address));
});

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

async function assertEndWakes({ realm, anvil, mine }: RampFixture, address: string): Promise<void> {
  const newest = "select max(id::text) from chain_orders where state = 'new'";
  const open = "select from withdrawals where status <> 'DONE'";
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
