import { deepEqual, equal, match, rejects } from "node:assert/strict";
import type { Tx } from "../../db/database.ts";
import { ORDER_STATES, type OrderState } from "../../db/sending/chain_orders.ts";
import { toUnits } from "../../domain/money.ts";
import { markCanceled, markSigned, ORDER_TRANSITIONS } from "../../domain/sending/order_states.ts";
import { type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { stateDiagram, stateDiagramIn } from "../support/state_diagram.ts";
import { type FaultyNode, NodeError, passOn } from "../support/nodes/faulty_node.ts";
import { type FrontedRamp, sharingFunded, somebody } from "../support/sharing_funded.ts";

const COIN = 10n ** 18n;
const OWN = "order_id in (select id from chain_orders where ramp = $1)";
/** A test ends what it asks for. */
const test = sharingFunded("orders of ramps of one realm");
/** Takes the first payment, and reverts on all later ones. */
const ONCE_CODE = "0x600054600c576001600055005b60006000fd";

test(
  "a refusal that comes too late ends nothing: sent bytes pay, and nothing is given back",
  1,
  async (work) => {
    await paysOnce(work, async (id) => {
      equal((await speedUp(work.funded, id)).status, 200);
      await work.funded.advance();
    });
  },
);

test(
  "a worker that halts in its dry run, and another that continues the same run: paid once",
  1,
  async (work) => {
    // The other is stopped before it can schedule the next run: both have the same number.
    const stopped = (step: string) => {
      if (step === "broadcast") throw new Error("the worker has ended");
    };
    await paysOnce(work, () => work.funded.advance(stopped).catch(() => {}));
  },
);

/** Pays a receiver that takes value once, where a worker halts in its dry run, and another sends meanwhile. */
async function paysOnce(
  { funded, nodes: [faulty] }: FrontedRamp,
  meanwhile: (id: string) => Promise<unknown>,
): Promise<void> {
  const once = somebody();
  await funded.anvil.rpc("anvil_setCode", once, ONCE_CODE);
  const { body: { id } } = await funded.withdraw("1", { destination: { address: once } });
  const first = holdFirst(faulty, "eth_estimateGas");
  const slow = funded.advance();
  await first.reached;
  await meanwhile(id);
  await funded.anvil.mine();
  first.release();
  await slow;
  equal((await funded.read(id)).status, "PROCESSING");
  equal((await funded.finish(id)).status, "DONE");
  equal(await heldBy(funded, once), COIN);
  await agree(funded);
}

test(
  "a worker that another has taken the job from writes nothing more",
  1,
  async ({ funded, nodes: [faulty] }) => {
    const { body: { id } } = await funded.withdraw("1");
    const first = holdFirst(faulty, "eth_getCode");
    const slow = funded.realm.drain();
    await first.reached;
    // As if another had taken the job and ended it; that it did nothing shows what the first does.
    const taken =
      `update jobs set attempts = attempts + 1, state = 'done' where name = 'order.advance'
      and payload ->> 'order' in (select id::text from chain_orders where ramp = $1) returning id`;
    equal((await rowsOf(funded.realm, taken, [funded.ramp])).length, 1);
    first.release();
    await slow;
    const order = "select state, nonce, error from chain_orders where ramp = $1";
    deepEqual(await ownRows(funded, order), [{ state: "new", nonce: null, error: null }]);
    deepEqual(await ownRows(funded, `select * from order_attempts where ${OWN}`), []);
    equal((await funded.finish(id)).status, "DONE");
    await agree(funded);
  },
);

for (
  const words of [
    "failed to decode upstream response",
    "invalid transaction",
    "rlp: input too long",
  ]
) {
  test(
    `a node that takes the bytes and answers "${words}": nothing is given back, it is paid once`,
    1,
    async ({ funded, nodes: [faulty], outside }) => {
      const { body: { id } } = await funded.withdraw("1");
      faulty.trick = async (question) => {
        if (question.method !== "eth_sendRawTransaction") return undefined;
        await passOn(funded.anvil.url, question);
        throw new NodeError(-32000, words);
      };
      await funded.advance();
      equal((await funded.read(id)).status, "PROCESSING");
      const order = "select state, error from chain_orders where ramp = $1";
      deepEqual(await ownRows(funded, order), [{ state: "sent", error: words }]);
      equal((await funded.finish(id)).status, "DONE");
      equal(await heldBy(funded, outside), COIN);
      await agree(funded);
    },
  );
}

test(
  "a withdrawal that is canceled while it is being signed is not sent",
  1,
  async ({ funded, outside }) => {
    const { body: { id } } = await funded.withdraw("1");
    await funded.advance(async (step) => {
      if (step === "signed") equal((await cancel(funded, id)).status, 200);
    });
    const attempt = `select raw, sent_at from order_attempts where ${OWN}`;
    deepEqual(await ownRows(funded, attempt), [{ raw: null, sent_at: null }]);
    const { body: { id: next } } = await funded.withdraw("1");
    equal((await funded.finish(next)).status, "DONE");
    equal((await funded.read(id)).status, "CANCELED");
    equal(await heldBy(funded, outside), COIN);
    await agree(funded);
  },
);

test(
  "two speed-ups at once: each transaction shares the nonce, and it is paid once",
  1,
  async ({ funded, outside }) => {
    const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
    await funded.advance();
    await Promise.all([speedUp(funded, id), speedUp(funded, id), speedUp(funded, id)]);
    await Promise.all([funded.advance(), funded.advance(), funded.advance()]);
    const inputs = `select distinct inputs from order_attempts where ${OWN}`;
    deepEqual(await ownRows(funded, inputs), [{ inputs: [`${funded.address}:0`] }]);
    equal((await funded.finish(id)).status, "DONE");
    equal(await heldBy(funded, outside), COIN);
    await agree(funded);
  },
);

/** Reads rows of the test's own ramp. */
async function ownRows({ realm, ramp }: FundedRamp, text: string): Promise<unknown[]> {
  return await rowsOf(realm, text, [ramp]);
}

/** Permitted next states at each state of an order, if nothing but its state is changed. */
const WAYS: readonly (readonly [OrderState, readonly OrderState[]])[] = [
  ["new", ["failed", "canceled"]],
  ["planned", ["failed", "canceled"]],
  ["signed", ["canceled"]],
  ["sent", []],
  ["mined", ["done"]],
  ["done", []],
];

Deno.test("the database lets an order change only as the table of transitions says", async (t) => {
  await using funded = await openFundedRamp({ depth: 2 });
  const { body: { id } } = await funded.withdraw("1");
  for (const [state, ways] of WAYS) {
    await t.step(state, async () => {
      await bringTo(funded, state);
      const open = [];
      for (const other of ORDER_STATES.filter((one) => one !== state)) {
        const refused = await refusedBy(funded, `update chain_orders set state = '${other}'`);
        if (refused === null) open.push(other);
        else match(refused, /orders_|batch/, `${state} to ${other}`);
      }
      deepEqual(open, ways);
    });
  }
  equal((await funded.read(id)).status, "DONE");
  const stored = await rowsOf<object>(
    funded.realm,
    "select before, after, demands from order_transitions",
  );
  const stated = Object.entries(ORDER_TRANSITIONS).flatMap(([before, later]) =>
    Object.entries(later).map(([after, demands]) => ({ before, after, demands }))
  );
  deepEqual(new Set(stored.map(textOf)), new Set(stated.map(textOf)));
});

Deno.test("an order that has ended, or left, enters no state that the table does not have", async () => {
  const never = null as unknown as Tx;
  const order = { id: "1", state: "done" as const };
  await rejects(markSigned(never, order, "0x1"), /order 1 cannot become signed from done/);
  for (const state of ["sent", "mined"] as const) {
    await rejects(markCanceled(never, { id: "1", state }), /cannot become canceled/);
  }
  const ends = Object.entries(ORDER_TRANSITIONS).filter(([, to]) => Object.keys(to).length === 0);
  deepEqual(ends.map(([state]) => state), ["done", "failed", "dropped", "canceled"]);
});

Deno.test("the docs draw the states of an order as the table has them", async () => {
  const begins = { new: "created", mined: "found on the chain" };
  const page = await Deno.readTextFile(
    new URL("../../docs/internals/withdrawal.md", import.meta.url),
  );
  equal(stateDiagramIn(page), stateDiagram(begins, ORDER_TRANSITIONS));
});

function textOf(row: object): string {
  return JSON.stringify(row);
}

Deno.test("the database keeps signed and sent bytes, and demands a proof of a drop", async (t) => {
  await using funded = await openFundedRamp();
  await funded.withdraw("1");
  await bringTo(funded, "sent");
  const attempts: Record<string, string> = {
    "other bytes": "update order_attempts set raw = '0x00'",
    "no bytes": "update order_attempts set raw = null, hash = null, sent_at = null",
    "another hash": "update order_attempts set hash = '0x00'",
    "another plan": "update order_attempts set plan = '{}'",
    "other inputs": "update order_attempts set inputs = '{x}'",
    "not sent": "update order_attempts set sent_at = null",
    "dead without a proof": "update order_attempts set dropped = true",
    "dead by itself":
      "update order_attempts set dropped = true, proof = 'consumed', proof_by = hash, proof_height = 1",
    "dead by a block of no height":
      "update order_attempts set dropped = true, proof = 'consumed', proof_by = 'x'",
    "expired although it never does":
      "update order_attempts set dropped = true, proof = 'expired', proof_height = 1",
    "dead beside its own transaction in a scanned block": `
      update reserved_inputs set consumed_by = (select hash from order_attempts), consumed_height = 1;
      update order_attempts set dropped = true, proof = 'consumed', proof_by = 'x', proof_height = 1`,
    "orphaned although nothing of ours is dead":
      "update order_attempts set dropped = true, proof = 'orphaned'",
    "a transaction with another nonce": `
      insert into order_attempts (order_id, attempt, plan, inputs, created_at)
      select order_id, 2, plan, array['${funded.address}:1'], now() from order_attempts`,
    "another nonce of the order": "update chain_orders set nonce = 7",
    "no nonce of the order": "update chain_orders set nonce = null",
    "another sender": "update chain_orders set sender = 'x'",
    "another request": "update chain_orders set request = '{}'",
    "an order for something else": "update chain_orders set reference_id = gen_random_uuid()",
    "a lower schedule version": "update chain_orders set schedule_version = schedule_version - 1",
    "canceled": "update chain_orders set state = 'canceled'",
    "done in vain": "update chain_orders set state = 'done', height = 1, confirmations = 9",
    "failed": "update chain_orders set state = 'failed'",
    "failed in a block of nobody":
      "update chain_orders set state = 'failed', hash = 'x', height = 1, confirmations = 9",
    "an order that begins as done": `
      insert into chain_orders (id, chain, network, ramp, purpose, sender, request, state, hash, height, created_at)
      select gen_random_uuid(), chain, network, ramp, 'fill', sender, request, 'done', 'x', 1, now()
      from chain_orders`,
    "no transaction": "delete from order_attempts",
    "no order": "delete from chain_orders",
    "more transitions": "insert into order_transitions values ('done', 'new', 'unsigned')",
  };
  for (const [name, statement] of Object.entries(attempts)) {
    await t.step(name, async () => {
      match(await refusedBy(funded, statement) ?? "done", /orders_|order_attempts_|denied/);
    });
  }
});

Deno.test("an order without inputs has one transaction at a time: the next demands that the final chain is beyond the expiry of the first", async () => {
  await using funded = await openFundedRamp();
  await funded.withdraw("1");
  const plan = (attempt: number) =>
    `insert into order_attempts (order_id, attempt, plan, inputs, created_at)
    select id, ${attempt}, '{"n": 1}', '{}', now() from chain_orders`;
  const change = (columns: string) => `update order_attempts set ${columns} where not dropped`;
  const enter = (columns: string) => `update chain_orders set ${columns}`;
  const sign = "hash = 'one', raw = 'bytes'";
  await rowsOf(funded.realm, `${plan(1)}; ${enter("state = 'planned'")}`);
  equal(await refusedBy(funded, plan(2)), "order_attempts_change");
  // Bytes without an expiry, and of two kinds at once: their end could never be proven.
  equal(await refusedBy(funded, change(sign)), "order_attempts_bounded");
  for (const expires of ["{}", '{"height": 90, "time": 90}']) {
    const refused = await refusedBy(funded, change(`${sign}, expires = '${expires}'`));
    equal(refused, "order_attempts_expires");
  }
  const expiring = change(`${sign}, expires = '{"height": 90}'`);
  await rowsOf(funded.realm, `${expiring}; ${enter("state = 'signed', hash = 'one'")}`);
  await rowsOf(funded.realm, `${change("sent_at = now()")}; ${enter("state = 'sent'")}`);
  for (
    const proof of [
      "proof = 'expired', proof_height = 100",
      "proof = 'expired', proof_height = 100, proof_reached = 90",
      "proof = 'expired', proof_reached = 91",
      "proof = 'consumed', proof_by = 'other', proof_height = 100",
      "proof = 'orphaned', proof_height = 100",
      "proof = 'unsigned', proof_height = 100",
    ]
  ) equal(await refusedBy(funded, change(`dropped = true, ${proof}`)), "order_attempts_change");
  equal(await refusedBy(funded, plan(2)), "order_attempts_change");
  equal(await refusedBy(funded, enter("state = 'new'")), "chain_orders_transition");
  equal(await refusedBy(funded, change(`expires = '{"height": 1}'`)), "order_attempts_change");
  const proven = "dropped = true, proof = 'expired', proof_height = 100, proof_reached = 91";
  await rowsOf(funded.realm, "update order_attempts set seen_height = 89");
  equal(await refusedBy(funded, change(proven)), "order_attempts_change", "a block has it");
  const forget = "update order_attempts set seen_height = null";
  const scanTo = (height: number) =>
    rowsOf(funded.realm, `update chain_cursors set height = ${height}`);
  await scanTo(89);
  equal(await refusedBy(funded, forget), "order_attempts_forgotten", "the chain has its block");
  const above = "update order_attempts set seen_height = 90";
  equal(await refusedBy(funded, above), "order_attempts_forgotten", "no block of there is scanned");
  await scanTo(88);
  await rowsOf(funded.realm, forget);
  await rowsOf(funded.realm, `${change(proven)}; ${enter("state = 'new', hash = null")}`);
  const booked = "update order_attempts set seen_height = 89, late_order_id = order_id";
  equal(await refusedBy(funded, booked), "order_attempts_change", "by an order that was not found");
  const forgotten =
    "update order_attempts set dropped = false, proof = null, proof_reached = null, proof_height = null";
  equal(await refusedBy(funded, forgotten), "order_attempts_change");
  equal(await refusedBy(funded, plan(2)), null);
});

Deno.test("a transaction that only the chain knows is taken in while its ramp is in quarantine, not else", async () => {
  await using funded = await openFundedRamp();
  await funded.withdraw("1");
  const found = (purpose: string) => `
    insert into chain_orders (id, chain, network, ramp, purpose, sender, request, state, nonce, hash, height,
      created_at)
    select gen_random_uuid(), chain, network, ramp, '${purpose}', sender, request, 'mined', 0, '0x1', 1, now()
    from chain_orders;
    insert into order_attempts (order_id, attempt, plan, inputs, hash, raw, sent_at, created_at)
    select id, 1, '{}', array[sender || ':0'], '0x1', '0x2', now(), now() from chain_orders
    where state = 'mined'`;
  const raised = `insert into nonces (chain, network, address, next)
    select chain, network, sender, 9 from chain_orders`;
  equal(await refusedBy(funded, found("recovered")), "chain_orders_transition");
  equal(await refusedBy(funded, raised), "nonces_step");
  await rowsOf(funded.realm, `update ramps set quarantined = '{"detail": "a restore", "at": 1}'`);
  equal(await refusedBy(funded, found("recovered")), null);
  equal(await refusedBy(funded, raised), null);
  equal(await refusedBy(funded, found("fill")), "chain_orders_transition");
});

/** Brings the only order on its way to a state. */
async function bringTo(funded: FundedRamp, state: OrderState): Promise<void> {
  const stops: Partial<Record<OrderState, string>> = { planned: "planned", signed: "stored" };
  if (state === "new") return;
  if (state === "mined") await funded.anvil.mine();
  if (state === "done") await funded.anvil.mine(2);
  await funded.advance((step) => {
    if (step === stops[state]) throw new Error("far enough");
  }).catch((error) => equal(error.message, "far enough"));
  deepEqual(await rowsOf(funded.realm, "select state from chain_orders"), [{ state }]);
}

/** Tries a statement and takes it back. Gives what refused it; null where nothing did. */
async function refusedBy(funded: FundedRamp, statement: string): Promise<string | null> {
  const undo = new Error("taken back");
  try {
    await funded.context.step(async (tx) => {
      await tx.unsafe(statement);
      await tx.unsafe("set constraints all immediate");
      throw undo;
    });
  } catch (error) {
    if (error === undo) return null;
    const { constraint_name, message } = error as { constraint_name?: string; message: string };
    return constraint_name ?? message;
  }
  return null;
}

/** Keeps the first question of a kind waiting until it is released. */
function holdFirst(faulty: FaultyNode, method: string) {
  const released = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let held = false;
  faulty.trick = async (question) => {
    if (question.method !== method || held) return undefined;
    held = true;
    reached.resolve();
    await released.promise;
    return undefined;
  };
  return { reached: reached.promise, release: released.resolve };
}

async function speedUp(funded: FundedRamp, id: string) {
  return await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" });
}

async function cancel(funded: FundedRamp, id: string) {
  return await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
}

async function heldBy(funded: FundedRamp, address: string): Promise<bigint> {
  return BigInt(await funded.anvil.rpc<string>("eth_getBalance", address, "latest"));
}

/** Checks that the ledger's liability equals the balance of the ramp's address. */
async function agree(funded: FundedRamp): Promise<void> {
  equal(await heldBy(funded, funded.address), -toUnits((await funded.books()).world, 18));
}
