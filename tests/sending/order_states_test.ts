import { deepEqual, equal, match } from "node:assert/strict";
import { ORDER_STATES, type OrderState } from "../../db/sending/chain_orders.ts";
import { toUnits } from "../../domain/money.ts";
import { type Desk, openDesk, OUTSIDE } from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import {
  passOn,
  type Rogue,
  RogueError,
  startRogue,
  type Trick,
} from "../support/nodes/misbehaving_node.ts";

const COIN = 10n ** 18n;
/** Takes the first payment, and reverts on all later ones. */
const ONCE = "0x00000000000000000000000000000000000b0b02";
const ONCE_CODE = "0x600054600c576001600055005b60006000fd";

Deno.test("a refusal that comes too late ends nothing: what has left is paid, and nothing is given back", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  await desk.anvil.rpc("anvil_setCode", ONCE, ONCE_CODE);
  const { body: { id } } = await desk.withdraw("1", { destination: { address: ONCE } });
  const first = holdFirst(rogue, "eth_estimateGas");
  const slow = desk.look();
  await first.reached;
  equal((await speedUp(desk, id)).status, 200);
  await desk.look();
  await desk.anvil.mine();
  first.release();
  await slow;
  equal((await desk.read(id)).status, "PROCESSING");
  equal((await desk.finish(id)).status, "DONE");
  equal(await heldBy(desk, ONCE), COIN);
  await agree(desk);
});

Deno.test("a worker that stands still in its dry run, and another that goes on with the same look: paid once", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  await desk.anvil.rpc("anvil_setCode", ONCE, ONCE_CODE);
  const { body: { id } } = await desk.withdraw("1", { destination: { address: ONCE } });
  const first = holdFirst(rogue, "eth_estimateGas");
  const slow = desk.look();
  await first.reached;
  // The other is stopped before it can plan the next look: both have the same number.
  await desk.look((step) => {
    if (step === "broadcast") throw new Error("the worker has ended");
  }).catch(() => {});
  await desk.anvil.mine();
  first.release();
  await slow;
  equal((await desk.read(id)).status, "PROCESSING");
  equal((await desk.finish(id)).status, "DONE");
  equal(await heldBy(desk, ONCE), COIN);
  await agree(desk);
});

Deno.test("a worker that another has taken the job from writes nothing more", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  const { body: { id } } = await desk.withdraw("1");
  const first = holdFirst(rogue, "eth_getCode");
  const slow = desk.realm.drain();
  await first.reached;
  // As if another had taken the job and ended it; that it did nothing shows what the first does.
  const taken = `update jobs set attempts = attempts + 1, state = 'done'
    where name = 'order.advance' returning id`;
  equal((await rowsOf(desk.realm, taken)).length, 1);
  first.release();
  await slow;
  deepEqual(await rowsOf(desk.realm, "select state, nonce, error from orders"), [
    { state: "new", nonce: null, error: null },
  ]);
  deepEqual(await rowsOf(desk.realm, "select * from order_candidates"), []);
  equal((await desk.finish(id)).status, "DONE");
  await agree(desk);
});

for (
  const words of [
    "failed to decode upstream response",
    "invalid transaction",
    "rlp: input too long",
  ]
) {
  Deno.test(`a node that takes the bytes and answers "${words}": nothing is given back, it is paid once`, async () => {
    const { desk, rogue } = await rogueDesk();
    await using _rogue = rogue;
    await using _desk = desk;
    const { body: { id } } = await desk.withdraw("1");
    rogue.trick = async (question) => {
      if (question.method !== "eth_sendRawTransaction") return undefined;
      await passOn(desk.anvil.url, question);
      throw new RogueError(-32000, words);
    };
    await desk.look();
    equal((await desk.read(id)).status, "PROCESSING");
    deepEqual(await rowsOf(desk.realm, "select state, error from orders"), [
      { state: "sent", error: words },
    ]);
    equal((await desk.finish(id)).status, "DONE");
    equal(await heldBy(desk, OUTSIDE), COIN);
    await agree(desk);
  });
}

Deno.test("a withdrawal that is canceled while it is being signed is not sent", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1");
  await desk.look(async (step) => {
    if (step === "signed") equal((await cancel(desk, id)).status, 200);
  });
  deepEqual(await rowsOf(desk.realm, "select raw, sent_at from order_candidates"), [
    { raw: null, sent_at: null },
  ]);
  const { body: { id: next } } = await desk.withdraw("1");
  equal((await desk.finish(next)).status, "DONE");
  equal((await desk.read(id)).status, "CANCELED");
  equal(await heldBy(desk, OUTSIDE), COIN);
  await agree(desk);
});

Deno.test("two speed-ups at once: each transaction shares the nonce, and it is paid once", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1", { fee: { speed: "slow" } });
  await desk.look();
  await Promise.all([speedUp(desk, id), speedUp(desk, id), speedUp(desk, id)]);
  await Promise.all([desk.look(), desk.look(), desk.look()]);
  const claims = await rowsOf<{ claims: string[] }>(
    desk.realm,
    "select distinct claims from order_candidates",
  );
  deepEqual(claims, [{ claims: [`${desk.address}:0`] }]);
  equal((await desk.finish(id)).status, "DONE");
  equal(await heldBy(desk, OUTSIDE), COIN);
  await agree(desk);
});

/** What an order may become at each place of its way, if nothing but its state is changed. */
const WAYS: readonly (readonly [OrderState, readonly OrderState[]])[] = [
  ["new", ["failed", "canceled"]],
  ["planned", ["failed", "canceled"]],
  ["signed", ["canceled"]],
  ["sent", []],
  ["mined", ["done"]],
  ["done", []],
];

Deno.test("the database lets an order change only as the table of transitions says", async (t) => {
  await using desk = await openDesk({ depth: 2 });
  const { body: { id } } = await desk.withdraw("1");
  for (const [state, ways] of WAYS) {
    await t.step(state, async () => {
      await bringTo(desk, state);
      const open = [];
      for (const other of ORDER_STATES.filter((one) => one !== state)) {
        const refused = await refusedBy(desk, `update orders set state = '${other}'`);
        if (refused === null) open.push(other);
        else match(refused, /orders_|payout/, `${state} to ${other}`);
      }
      deepEqual(open, ways);
    });
  }
  equal((await desk.read(id)).status, "DONE");
  const stated = await rowsOf<{ before: string; after: string }>(
    desk.realm,
    "select before, after from order_transitions",
  );
  const ends = ["done", "failed", "dead", "canceled"];
  deepEqual(stated.filter(({ before }) => ends.includes(before)), []);
  const left = stated.filter(({ before }) => ["signed", "sent", "mined"].includes(before));
  deepEqual(left.filter(({ after }) => after === "canceled").map((one) => one.before), ["signed"]);
});

Deno.test("the database keeps what was signed and sent, and demands a proof of death", async (t) => {
  await using desk = await openDesk();
  await desk.withdraw("1");
  await bringTo(desk, "sent");
  const attempts: Record<string, string> = {
    "other bytes": "update order_candidates set raw = '0x00'",
    "no bytes": "update order_candidates set raw = null, hash = null, sent_at = null",
    "another hash": "update order_candidates set hash = '0x00'",
    "another plan": "update order_candidates set plan = '{}'",
    "other claims": "update order_candidates set claims = '{x}'",
    "not sent": "update order_candidates set sent_at = null",
    "dead without a proof": "update order_candidates set dead = true",
    "dead by itself":
      "update order_candidates set dead = true, proof = 'consumed', proof_by = hash, proof_height = 1",
    "dead by a block of no height":
      "update order_candidates set dead = true, proof = 'consumed', proof_by = 'x'",
    "expired although it never does":
      "update order_candidates set dead = true, proof = 'expired', proof_height = 1",
    "orphaned although nothing of ours is dead":
      "update order_candidates set dead = true, proof = 'orphaned'",
    "a transaction with another nonce": `
      insert into order_candidates (order_id, attempt, plan, claims, created_at)
      select order_id, 2, plan, array['${desk.address}:1'], now() from order_candidates`,
    "another nonce of the order": "update orders set nonce = 7",
    "no nonce of the order": "update orders set nonce = null",
    "another sender": "update orders set sender = 'x'",
    "another wish": "update orders set wish = '{}'",
    "an order for something else": "update orders set subject = gen_random_uuid()",
    "fewer looks": "update orders set looks = looks - 1",
    "canceled": "update orders set state = 'canceled'",
    "failed": "update orders set state = 'failed'",
    "failed in a block of nobody":
      "update orders set state = 'failed', hash = 'x', height = 1, confirmations = 9",
    "an order that begins as done": `
      insert into orders (id, chain, network, ramp, purpose, sender, wish, state, hash, height, created_at)
      select gen_random_uuid(), chain, network, ramp, 'fill', sender, wish, 'done', 'x', 1, now()
      from orders`,
    "no transaction": "delete from order_candidates",
    "no order": "delete from orders",
    "more transitions": "insert into order_transitions values ('done', 'new', 'unsigned')",
  };
  for (const [name, statement] of Object.entries(attempts)) {
    await t.step(name, async () => {
      match(await refusedBy(desk, statement) ?? "done", /orders_|order_candidates_|denied/);
    });
  }
});

Deno.test("a transaction that only the chain knows is taken in while its ramp is in quarantine, not else", async () => {
  await using desk = await openDesk();
  await desk.withdraw("1");
  const found = (purpose: string) => `
    insert into orders (id, chain, network, ramp, purpose, sender, wish, state, nonce, hash, height,
      created_at)
    select gen_random_uuid(), chain, network, ramp, '${purpose}', sender, wish, 'mined', 0, '0x1', 1, now()
    from orders;
    insert into order_candidates (order_id, attempt, plan, claims, hash, raw, sent_at, created_at)
    select id, 1, '{}', array[sender || ':0'], '0x1', '0x2', now(), now() from orders
    where state = 'mined'`;
  const raised = `insert into nonces (chain, network, address, next)
    select chain, network, sender, 9 from orders`;
  equal(await refusedBy(desk, found("recovered")), "orders_transition");
  equal(await refusedBy(desk, raised), "nonces_step");
  await rowsOf(desk.realm, `update ramps set quarantined = '{"detail": "a restore", "at": 1}'`);
  equal(await refusedBy(desk, found("recovered")), null);
  equal(await refusedBy(desk, raised), null);
  equal(await refusedBy(desk, found("fill")), "orders_transition");
});

/** Brings the only order on its way to a state. */
async function bringTo(desk: Desk, state: OrderState): Promise<void> {
  const stops: Partial<Record<OrderState, string>> = { planned: "planned", signed: "stored" };
  if (state === "new") return;
  if (state === "mined") await desk.anvil.mine();
  if (state === "done") await desk.anvil.mine(2);
  await desk.look((step) => {
    if (step === stops[state]) throw new Error("far enough");
  }).catch((error) => equal(error.message, "far enough"));
  deepEqual(await rowsOf(desk.realm, "select state from orders"), [{ state }]);
}

/** Tries a statement and takes it back. Gives what refused it; null where nothing did. */
async function refusedBy(desk: Desk, statement: string): Promise<string | null> {
  const undo = new Error("taken back");
  try {
    await desk.context.step(async (tx) => {
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
function holdFirst(rogue: Rogue, method: string) {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let held = false;
  rogue.trick = async (question) => {
    if (question.method !== method || held) return undefined;
    held = true;
    reached.resolve();
    await gate.promise;
    return undefined;
  };
  return { reached: reached.promise, release: gate.resolve };
}

async function rogueDesk(trick: Trick = () => undefined): Promise<{ desk: Desk; rogue: Rogue }> {
  let rogue: Rogue | null = null;
  const front = (url: string) => (rogue = startRogue(url, trick)).url;
  const desk = await openDesk({ front });
  return { desk, rogue: rogue! };
}

async function speedUp(desk: Desk, id: string) {
  return await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" });
}

async function cancel(desk: Desk, id: string) {
  return await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
}

async function heldBy(desk: Desk, address: string): Promise<bigint> {
  return BigInt(await desk.anvil.rpc<string>("eth_getBalance", address, "latest"));
}

/** What the ledger owes is what the ramp's address holds. */
async function agree(desk: Desk): Promise<void> {
  equal(await heldBy(desk, desk.address), -toUnits((await desk.books()).world, 18));
}
