import { deepEqual, equal, ok } from "node:assert/strict";
import { toUnits } from "../../domain/money.ts";
import { type Step, STEPS } from "../../workers/sending/signing.ts";
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
const SEND = "eth_sendRawTransaction";

/** Enough for a withdrawal at each place. */
const RICH = { coins: 50n * COIN, total: "50" };

Deno.test("a worker that ends at any place of a withdrawal and begins anew pays exactly once", async (t) => {
  await using desk = await openDesk(RICH);
  const ids: string[] = [];
  for (const step of STEPS) {
    await t.step(step, async () => {
      ids.push((await desk.withdraw("1")).body.id);
      const reached = await crashAt(desk, step);
      for (let round = 0; !reached.done && round < 4; round++) {
        await desk.anvil.mine();
        await crashAt(desk, step, reached);
      }
      ok(reached.done, `nobody passed ${step}`);
      await desk.finish(ids.at(-1)!);
      await paidOnce(desk, ...ids);
    });
  }
});

Deno.test("a speed-up that ends at any place and begins anew pays exactly once", async (t) => {
  await using desk = await openDesk(RICH);
  const ids: string[] = [];
  for (const step of ["drafted", "planned", "signed", "stored", "sending", "broadcast"] as const) {
    await t.step(step, async () => {
      const { body: { id } } = await desk.withdraw("1");
      ids.push(id);
      await desk.look();
      const path = `/v1/withdrawals/${id}/speed-up`;
      const asked = await desk.realm.admin.send("POST", path, { speed: "fast" });
      ok(asked.status < 300, asked.text);
      ok((await crashAt(desk, step)).done);
      await desk.finish(id);
      await paidOnce(desk, ...ids);
      deepEqual(await rowsOf(desk.realm, "select claim from claims"), []);
    });
  }
});

Deno.test("two workers at once pay exactly once", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1");
  for (let round = 0; round < 4; round++) {
    await Promise.all([desk.look(), desk.look(), desk.look()]);
    await desk.anvil.mine();
  }
  equal((await desk.finish(id)).status, "DONE");
  await paidOnce(desk, id);
  equal((await rowsOf(desk.realm, "select hash from order_candidates")).length, 1);
});

Deno.test("two processes drain the same realm: each withdrawal is paid once", async () => {
  await using desk = await openDesk();
  const made = await Promise.all(Array.from({ length: 6 }, () => desk.withdraw("0.5")));
  await Promise.all([desk.realm.drain(), desk.realm.drain()]);
  await desk.anvil.mine(2);
  for (const { body } of made) equal((await desk.finish(body.id)).status, "DONE");
  equal(await outside(desk), 3n * COIN);
});

const STUMBLES: Readonly<Record<string, (question: Parameters<Trick>[0]) => unknown>> = {
  "is down": () => new Response("gone", { status: 503 }),
  "answers garbage": () => new Response("<html>", { headers: { "content-type": "text/html" } }),
  "answers nothing of use": () => ({ nonsense: true }),
  "answers `already known`": ({ method }) => refuse(method, "already known"),
  "answers `nonce too low`": ({ method }) => refuse(method, "nonce too low"),
  "answers `replacement transaction underpriced`": ({ method }) =>
    refuse(method, "replacement transaction underpriced"),
  "answers `insufficient funds`": ({ method }) =>
    refuse(method, "insufficient funds for gas * price + value"),
  "answers an error of its own": ({ method }) => refuse(method, "the moon is in the wrong house"),
};

Deno.test("a node that stumbles delays a withdrawal, and it is paid exactly once", async (t) => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  const ids: string[] = [];
  for (const [name, trick] of Object.entries(STUMBLES)) {
    await t.step(`it ${name}`, async () => {
      ids.push((await desk.withdraw("1")).body.id);
      rogue.trick = trick;
      await desk.look();
      equal((await desk.read(ids.at(-1)!)).status, "PROCESSING");
      rogue.trick = () => undefined;
      equal((await desk.finish(ids.at(-1)!)).status, "DONE");
      await paidOnce(desk, ...ids);
    });
  }
});

Deno.test("a node that takes the bytes and then says no: unknown is not failed", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  const { body: { id } } = await desk.withdraw("1");
  rogue.trick = async (question) => {
    if (question.method !== SEND) return undefined;
    await passOn(desk.anvil.url, question);
    throw new RogueError(-32000, "intrinsic timeout of the third kind");
  };
  await desk.look();
  equal((await desk.read(id)).status, "PROCESSING");
  equal((await desk.finish(id)).status, "DONE");
  await paidOnce(desk, id);
});

Deno.test("a node that takes the bytes and hangs up: they are asked for, not paid again", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  const { body: { id } } = await desk.withdraw("1");
  rogue.trick = async (question) => {
    if (question.method !== SEND) return undefined;
    await passOn(desk.anvil.url, question);
    return new Response(null, { status: 504 });
  };
  await desk.look();
  await desk.anvil.mine();
  equal((await desk.finish(id)).status, "DONE");
  await paidOnce(desk, id);
  equal((await rowsOf(desk.realm, "select hash from order_candidates")).length, 1);
});

Deno.test("a ramp whose coins are gone waits, spends no nonce, and pays when they are back", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1");
  await desk.anvil.rpc("anvil_setBalance", desk.address, "0x1000");
  await desk.look();
  equal((await desk.read(id)).status, "PROCESSING");
  const [{ nonce, error }] = await rowsOf<{ nonce: number | null; error: string }>(
    desk.realm,
    "select nonce, error from orders",
  );
  equal(nonce, null);
  ok(/holds|lacks/.test(error));
  await desk.anvil.rpc("anvil_setBalance", desk.address, `0x${(10n * COIN).toString(16)}`);
  equal((await desk.finish(id)).status, "DONE");
  await paidOnce(desk, id);
});

Deno.test("withdrawals that together exceed what the ramp holds do not outbid each other", async () => {
  await using desk = await openDesk({ coins: 3n * COIN, total: "30" });
  await desk.anvil.rpc("anvil_setBalance", desk.address, `0x${(30n * COIN).toString(16)}`);
  await desk.sight();
  const made = [];
  for (let one = 0; one < 3; one++) made.push((await desk.withdraw("2")).body.id);
  await desk.anvil.rpc("anvil_setBalance", desk.address, `0x${(3n * COIN).toString(16)}`);
  await desk.look();
  const states = await rowsOf<{ state: string }>(
    desk.realm,
    "select state from orders order by id",
  );
  deepEqual(states.map(({ state }) => state), ["sent", "new", "new"]);
  await desk.anvil.rpc("anvil_setBalance", desk.address, `0x${(30n * COIN).toString(16)}`);
  for (const id of made) equal((await desk.finish(id)).status, "DONE");
  equal(await outside(desk), 6n * COIN);
});

Deno.test("a withdrawal whose look was lost is taken up again", async () => {
  await using desk = await openDesk();
  const { body: { id } } = await desk.withdraw("1");
  await rowsOf(desk.realm, "delete from jobs");
  await rowsOf(desk.realm, "update orders set looked_at = now() - interval '1 hour'");
  const { reviveOrders } = await import("../../domain/sending/chain_orders.ts");
  equal(await desk.context.step((tx) => reviveOrders(tx, desk.context.actor)), 1);
  await desk.realm.drain();
  ok((await desk.read(id)).chain.hash);
});

/** Ends a worker at a step, and notes whether it got there. */
async function crashAt(
  desk: Desk,
  step: Step,
  reached: { done: boolean } = { done: false },
): Promise<{ done: boolean }> {
  try {
    await desk.look((passed) => {
      if (passed !== step) return;
      reached.done = true;
      throw new Error("the worker has ended");
    });
  } catch (error) {
    if (!reached.done) throw error;
  }
  return reached;
}

async function rogueDesk(): Promise<{ desk: Desk; rogue: Rogue }> {
  let rogue: Rogue | null = null;
  const front = (url: string) => (rogue = startRogue(url)).url;
  const desk = await openDesk({ front });
  return { desk, rogue: rogue! };
}

function refuse(method: string, message: string): undefined {
  if (method === SEND) throw new RogueError(-32000, message);
  return undefined;
}

async function outside(desk: Desk): Promise<bigint> {
  return BigInt(await desk.anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
}

/** For each withdrawal one coin arrived and one transaction left, and the ledger agrees with the chain. */
async function paidOnce(desk: Desk, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) equal((await desk.read(id)).status, "DONE");
  const paid = BigInt(ids.length);
  equal(await outside(desk), paid * COIN);
  const sent = await desk.anvil.rpc<string>("eth_getTransactionCount", desk.address, "latest");
  equal(BigInt(sent), paid);
  const held = BigInt(await desk.anvil.rpc<string>("eth_getBalance", desk.address, "latest"));
  equal(held, -toUnits((await desk.books()).world, 18));
}
