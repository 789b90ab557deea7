import { deepEqual, equal, ok } from "node:assert/strict";
import { toUnits } from "../../domain/money.ts";
import { type Checkpoint, CHECKPOINTS } from "../../workers/sending/order_work.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { NodeError, passOn, type Trick } from "../support/nodes/faulty_node.ts";
import { type FrontedRamp, sharingFunded } from "../support/sharing_funded.ts";

const COIN = 10n ** 18n;
const SEND = "eth_sendRawTransaction";

/** Enough for a withdrawal at each place. */
const RICH = { coins: 50n * COIN, total: "50" };
const OWN = "order_id in (select id from chain_orders where ramp = $1)";
/** A test ends what it asks for. */
const test = sharingFunded("withdrawals in one realm, and faults", RICH);

test(
  "a worker that ends at any place of a withdrawal and begins anew pays exactly once",
  1,
  async (fronted, t) => {
    const { funded } = fronted;
    const ids: string[] = [];
    for (const step of CHECKPOINTS) {
      await t.step(step, async () => {
        ids.push((await funded.withdraw("1")).body.id);
        const reached = await crashAt(funded, step);
        for (let round = 0; !reached.done && round < 4; round++) {
          await funded.anvil.mine();
          await crashAt(funded, step, reached);
        }
        ok(reached.done, `nobody passed ${step}`);
        await funded.finish(ids.at(-1)!);
        await paidOnce(fronted, ...ids);
      });
    }
  },
);

test(
  "a speed-up that ends at any place and begins anew pays exactly once",
  1,
  async (fronted, t) => {
    const { funded } = fronted;
    const ids: string[] = [];
    for (
      const step of ["drafted", "planned", "signed", "stored", "sending", "broadcast"] as const
    ) {
      await t.step(step, async () => {
        const { body: { id } } = await funded.withdraw("1");
        ids.push(id);
        await funded.advance();
        const path = `/v1/withdrawals/${id}/speed-up`;
        const asked = await funded.realm.admin.send("POST", path, { speed: "fast" });
        ok(asked.status < 300, asked.text);
        ok((await crashAt(funded, step)).done);
        await funded.finish(id);
        await paidOnce(fronted, ...ids);
        deepEqual(
          await rowsOf(funded.realm, `select input from reserved_inputs where ${OWN}`, [
            funded.ramp,
          ]),
          [],
        );
      });
    }
  },
);

test("two workers at once pay exactly once", 1, async (fronted) => {
  const { funded } = fronted;
  const { body: { id } } = await funded.withdraw("1");
  for (let round = 0; round < 4; round++) {
    await Promise.all([funded.advance(), funded.advance(), funded.advance()]);
    await funded.anvil.mine();
  }
  equal((await funded.finish(id)).status, "DONE");
  await paidOnce(fronted, id);
  equal(
    (await rowsOf(funded.realm, `select hash from order_attempts where ${OWN}`, [funded.ramp]))
      .length,
    1,
  );
});

test("two processes drain the same realm: each withdrawal is paid once", 1, async (fronted) => {
  const { funded } = fronted;
  const made = await Promise.all(Array.from({ length: 6 }, () => funded.withdraw("0.5")));
  await Promise.all([funded.realm.drain(), funded.realm.drain()]);
  await funded.anvil.mine(2);
  for (const { body } of made) equal((await funded.finish(body.id)).status, "DONE");
  equal(await paidTo(fronted), 3n * COIN);
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

test(
  "a node that stumbles delays a withdrawal, and it is paid exactly once",
  1,
  async (fronted, t) => {
    const { funded, nodes: [faulty] } = fronted;
    const ids: string[] = [];
    for (const [name, trick] of Object.entries(STUMBLES)) {
      await t.step(`it ${name}`, async () => {
        ids.push((await funded.withdraw("1")).body.id);
        faulty.trick = trick;
        await funded.advance();
        equal((await funded.read(ids.at(-1)!)).status, "PROCESSING");
        faulty.trick = () => undefined;
        equal((await funded.finish(ids.at(-1)!)).status, "DONE");
        await paidOnce(fronted, ...ids);
      });
    }
  },
);

test("a node that takes the bytes and then says no: unknown is not failed", 1, async (fronted) => {
  const { funded, nodes: [faulty] } = fronted;
  const { body: { id } } = await funded.withdraw("1");
  faulty.trick = async (question) => {
    if (question.method !== SEND) return undefined;
    await passOn(funded.anvil.url, question);
    throw new NodeError(-32000, "intrinsic timeout of the third kind");
  };
  await funded.advance();
  equal((await funded.read(id)).status, "PROCESSING");
  equal((await funded.finish(id)).status, "DONE");
  await paidOnce(fronted, id);
});

test(
  "a node that takes the bytes and hangs up: they are asked for, not paid again",
  1,
  async (fronted) => {
    const { funded, nodes: [faulty] } = fronted;
    const { body: { id } } = await funded.withdraw("1");
    faulty.trick = async (question) => {
      if (question.method !== SEND) return undefined;
      await passOn(funded.anvil.url, question);
      return new Response(null, { status: 504 });
    };
    await funded.advance();
    await funded.anvil.mine();
    equal((await funded.finish(id)).status, "DONE");
    await paidOnce(fronted, id);
    equal(
      (await rowsOf(funded.realm, `select hash from order_attempts where ${OWN}`, [funded.ramp]))
        .length,
      1,
    );
  },
);

test(
  "a ramp whose coins are gone waits, spends no nonce, and pays when they are back",
  1,
  async (fronted) => {
    const { funded } = fronted;
    const { body: { id } } = await funded.withdraw("1");
    await funded.anvil.rpc("anvil_setBalance", funded.address, "0x1000");
    await funded.advance();
    equal((await funded.read(id)).status, "PROCESSING");
    const [{ nonce, error }] = await rowsOf<{ nonce: number | null; error: string }>(
      funded.realm,
      "select nonce, error from chain_orders where ramp = $1",
      [funded.ramp],
    );
    equal(nonce, null);
    ok(/holds|lacks/.test(error));
    await funded.anvil.rpc("anvil_setBalance", funded.address, `0x${RICH.coins.toString(16)}`);
    equal((await funded.finish(id)).status, "DONE");
    await paidOnce(fronted, id);
  },
);

Deno.test("withdrawals that together exceed the ramp's balance do not outbid each other", async () => {
  await using funded = await openFundedRamp({ coins: 3n * COIN, total: "30" });
  await funded.anvil.rpc("anvil_setBalance", funded.address, `0x${(30n * COIN).toString(16)}`);
  await funded.refreshBalances();
  const made = [];
  for (let one = 0; one < 3; one++) made.push((await funded.withdraw("2")).body.id);
  await funded.anvil.rpc("anvil_setBalance", funded.address, `0x${(3n * COIN).toString(16)}`);
  await funded.advance();
  const states = await rowsOf<{ state: string }>(
    funded.realm,
    "select state from chain_orders order by id",
  );
  deepEqual(states.map(({ state }) => state), ["sent", "new", "new"]);
  await funded.anvil.rpc("anvil_setBalance", funded.address, `0x${(30n * COIN).toString(16)}`);
  for (const id of made) equal((await funded.finish(id)).status, "DONE");
  equal(await paidTo({ funded, outside: OUTSIDE }), 6n * COIN);
});

test("a withdrawal whose run was lost is resumed", 1, async ({ funded }) => {
  const { body: { id } } = await funded.withdraw("1");
  await rowsOf(funded.realm, "delete from jobs");
  const long = "last_attempt_at = now() - interval '1 hour'";
  await rowsOf(funded.realm, `update chain_orders set ${long} where ramp = $1`, [funded.ramp]);
  const { reviveOrders } = await import("../../domain/sending/forgotten_orders.ts");
  equal(await funded.context.step((tx) => reviveOrders(tx, funded.context.actor)), 1);
  await funded.realm.drain();
  ok((await funded.read(id)).chain.hash);
  equal((await funded.finish(id)).status, "DONE");
});

/** Ends a worker at a step, and notes whether it got there. */
async function crashAt(
  funded: FundedRamp,
  step: Checkpoint,
  reached: { done: boolean } = { done: false },
): Promise<{ done: boolean }> {
  try {
    await funded.advance((passed) => {
      if (passed !== step) return;
      reached.done = true;
      throw new Error("the worker has ended");
    });
  } catch (error) {
    if (!reached.done) throw error;
  }
  return reached;
}

function refuse(method: string, message: string): undefined {
  if (method === SEND) throw new NodeError(-32000, message);
  return undefined;
}

async function paidTo(
  { funded, outside }: Pick<FrontedRamp, "funded" | "outside">,
): Promise<bigint> {
  return BigInt(await funded.anvil.rpc<string>("eth_getBalance", outside, "latest"));
}

/** For each withdrawal one coin arrived and one transaction left, and the ledger agrees with the chain. */
async function paidOnce(fronted: FrontedRamp, ...ids: readonly string[]): Promise<void> {
  const { funded } = fronted;
  for (const id of ids) equal((await funded.read(id)).status, "DONE");
  const paid = BigInt(ids.length);
  equal(await paidTo(fronted), paid * COIN);
  const sent = await funded.anvil.rpc<string>("eth_getTransactionCount", funded.address, "latest");
  equal(BigInt(sent), paid);
  const held = BigInt(await funded.anvil.rpc<string>("eth_getBalance", funded.address, "latest"));
  equal(held, -toUnits((await funded.books()).world, 18));
}
