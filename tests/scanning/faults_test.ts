import { deepEqual, equal, match, ok } from "node:assert/strict";
import { rich, startAnvil } from "../support/nodes/anvil.ts";
import { type RampStage, rampStage } from "../support/ramp_fixture.ts";
import {
  type Rogue,
  RogueError,
  startRogue,
  type Trick,
} from "../support/nodes/misbehaving_node.ts";

const ETHER = 10n ** 18n;

/** A stage whose node can be made to misbehave. */
async function rogueStage(): Promise<RampStage & { rogue: Rogue }> {
  const made: Rogue[] = [];
  const stage = await rampStage({
    through: (url) => {
      made.push(startRogue(url));
      return made[0].url;
    },
  });
  const [rogue] = made;
  return {
    ...stage,
    rogue,
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]();
      await rogue.abort();
    },
  };
}

const FAULTS: Readonly<Record<string, Trick>> = {
  "is down": () => new Response("gone", { status: 503 }),
  "answers garbage": () =>
    new Response("<html>moved</html>", { headers: { "content-type": "text/html" } }),
  "answers with an error to everything": () => {
    throw new RogueError(-32000, "the moon is in the wrong house");
  },
  "has lost its blocks": ({ method }) => method === "eth_getBlockByNumber" ? null : undefined,
};

Deno.test("a node that fails stops nothing for good: a deposit is credited when it is well", async (t) => {
  await using stage = await rogueStage();
  const ramp = await stage.ramp();
  let credited = 0;
  for (const [name, trick] of Object.entries(FAULTS)) {
    await t.step(`it ${name}`, async () => {
      stage.rogue.trick = trick;
      await stage.anvil.pool({ to: ramp.address, value: ETHER });
      await stage.mine(3);
      equal((await stage.deposits()).length, credited);
      const [chain] = (await stage.realm.admin.send("GET", "/v1/chains")).body;
      equal(chain.healthy, false);
      ok(chain.error);
      stage.rogue.trick = () => undefined;
      await stage.mine();
      equal((await stage.account(ramp.id)).balance.total, `${++credited}`);
      equal((await stage.realm.admin.send("GET", "/v1/chains")).body[0].healthy, true);
    });
  }
});

Deno.test("a node that is slow loses nothing", async () => {
  await using stage = await rogueStage();
  const ramp = await stage.ramp();
  stage.rogue.trick = async () => {
    await new Promise((resolve) => setTimeout(resolve, 40));
    return undefined;
  };
  await stage.anvil.pool({ to: ramp.address, value: ETHER });
  await stage.mine(3);
  equal((await stage.account(ramp.id)).balance.total, "1");
});

Deno.test("a node that lags behind what it showed is no reorganisation", async () => {
  await using stage = await rogueStage();
  const ramp = await stage.ramp();
  await stage.anvil.send({ to: ramp.address, value: ETHER });
  await stage.mine(4);
  equal((await stage.account(ramp.id)).balance.total, "1");
  const back = await stage.anvil.rpc<{ number: string }>("eth_getBlockByNumber", "0x2", false);
  stage.rogue.trick = ({ method, params }) => {
    if (method === "eth_blockNumber") return back.number;
    if (method === "eth_getBlockByNumber" && params[0] === "latest") return back;
  };
  await stage.mine(2);
  const account = await stage.account(ramp.id);
  deepEqual([account.balance.total, account.frozen], ["1", false]);
  const [chain] = (await stage.realm.admin.send("GET", "/v1/chains")).body;
  match(chain.error, /behind/);
  equal((await stage.deposits())[0].status, "CONFIRMED");
});

Deno.test("a node of another chain is not believed", async () => {
  await using other = await startAnvil(5);
  await using stage = await rampStage({ testnet: false, through: () => other.url });
  const wanted = { type: "ramp", asset: "ETH" };
  const made = await stage.realm.admin.send("POST", "/v1/accounts", wanted);
  await stage.realm.drain();
  equal((await stage.account(made.body.id)).enabled, false);
});

Deno.test("1000 deposits in one block are each credited once", async () => {
  await using stage = await rampStage();
  const { anvil } = stage;
  const ramp = await stage.ramp();
  await anvil.rpc("evm_setBlockGasLimit", "0x3b9aca00");
  const sends = Array.from({ length: 1000 }, (_, i) => {
    const nonce = `0x${i.toString(16)}`;
    const fields = { from: rich(0).address, to: ramp.address, gas: "0x5208", nonce };
    const params = [{ ...fields, value: `0x${(10n ** 15n).toString(16)}` }];
    return { jsonrpc: "2.0", id: i, method: "eth_sendTransaction", params };
  });
  const headers = { "content-type": "application/json" };
  const sent = await fetch(anvil.url, { method: "POST", headers, body: JSON.stringify(sends) });
  await sent.body?.cancel();
  await anvil.mine();
  const block = await anvil.rpc<{ transactions: string[] }>(
    "eth_getBlockByNumber",
    "latest",
    false,
  );
  equal(block.transactions.length, 1000);
  await stage.mine(2);
  equal((await stage.account(ramp.id)).balance.total, "1");
  equal((await stage.deposits()).length, 1000);
});

Deno.test("a chain thousands of blocks ahead is caught up with, block by block", async () => {
  await using stage = await rampStage();
  const { anvil } = stage;
  const ramp = await stage.ramp();
  for (let i = 0; i < 5; i++) {
    await anvil.mine(500);
    await anvil.send({ to: ramp.address, value: ETHER });
  }
  await anvil.mine(500);
  await stage.follower.follow();
  equal((await stage.account(ramp.id)).balance.total, "5");
  const [chain] = (await stage.realm.admin.send("GET", "/v1/chains")).body;
  equal(chain.lag, 0);
});
