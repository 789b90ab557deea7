import { deepEqual, equal, match, ok } from "node:assert/strict";
import { rich, startAnvil } from "../support/nodes/anvil.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { NodeError, type Trick } from "../support/nodes/faulty_node.ts";
import { depositsOf, sharingNodes } from "../support/witnesses.ts";

const ETHER = 10n ** 18n;

const test = sharingNodes("deposits behind a node that fails");

const FAULTS: Readonly<Record<string, Trick>> = {
  "is down": () => new Response("gone", { status: 503 }),
  "answers garbage": () =>
    new Response("<html>moved</html>", { headers: { "content-type": "text/html" } }),
  "answers with an error to everything": () => {
    throw new NodeError(-32000, "the moon is in the wrong house");
  },
  "has lost its blocks": ({ method }) => method === "eth_getBlockByNumber" ? null : undefined,
};

test(
  "a node that fails stops nothing for good: a deposit is credited when it is well",
  "l",
  async (witnessed, t) => {
    const { fixture, lying } = witnessed;
    const ramp = await fixture.ramp();
    let credited = 0;
    for (const [name, trick] of Object.entries(FAULTS)) {
      await t.step(`it ${name}`, async () => {
        lying.trick = trick;
        await fixture.anvil.pool({ to: ramp.address, value: ETHER });
        await fixture.mine(3);
        equal((await depositsOf(witnessed, ramp)).length, credited);
        const [chain] = (await fixture.realm.admin.send("GET", "/v1/chains")).body;
        equal(chain.healthy, false);
        ok(chain.error);
        lying.trick = () => undefined;
        await fixture.mine();
        equal((await fixture.account(ramp.id)).balance.total, `${++credited}`);
        equal((await fixture.realm.admin.send("GET", "/v1/chains")).body[0].healthy, true);
      });
    }
  },
);

test("a node that is slow loses nothing", "l", async ({ fixture, lying }) => {
  const ramp = await fixture.ramp();
  lying.trick = async () => {
    await new Promise((resolve) => setTimeout(resolve, 40));
    return undefined;
  };
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine(3);
  equal((await fixture.account(ramp.id)).balance.total, "1");
});

test("a node that lags behind an earlier block is no reorganisation", "l", async (witnessed) => {
  const { fixture, lying } = witnessed;
  const ramp = await fixture.ramp();
  await fixture.anvil.send({ to: ramp.address, value: ETHER });
  await fixture.mine(4);
  equal((await fixture.account(ramp.id)).balance.total, "1");
  const back = await fixture.anvil.rpc<{ number: string }>("eth_getBlockByNumber", "0x2", false);
  lying.trick = ({ method, params }) => {
    if (method === "eth_blockNumber") return back.number;
    if (method === "eth_getBlockByNumber" && params[0] === "latest") return back;
  };
  await fixture.mine(2);
  const account = await fixture.account(ramp.id);
  deepEqual([account.balance.total, account.frozen], ["1", false]);
  const [chain] = (await fixture.realm.admin.send("GET", "/v1/chains")).body;
  match(chain.error, /behind/);
  equal((await depositsOf(witnessed, ramp))[0].status, "CONFIRMED");
});

Deno.test("a node of another chain is not believed", async () => {
  await using other = await startAnvil(5);
  await using fixture = await openRampFixture({ testnet: false, through: () => other.url });
  const wanted = { type: "ramp", asset: "ETH" };
  const made = await fixture.realm.admin.send("POST", "/v1/accounts", wanted);
  await fixture.realm.drain();
  equal((await fixture.account(made.body.id)).enabled, false);
});

/** More than end a range of blocks (500), and several batches of confirmations (100). */
const MANY = 600;

Deno.test("600 deposits in one block are each credited once", async () => {
  await using fixture = await openRampFixture();
  const { anvil } = fixture;
  const ramp = await fixture.ramp();
  await anvil.rpc("evm_setBlockGasLimit", "0x3b9aca00");
  const sends = Array.from({ length: MANY }, (_, i) => {
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
  equal(block.transactions.length, MANY);
  await fixture.mine(2);
  equal((await fixture.account(ramp.id)).balance.total, "0.6");
  equal((await fixture.deposits()).length, MANY);
});

Deno.test("a chain more than a thousand blocks ahead is caught up with, block by block", async () => {
  await using fixture = await openRampFixture();
  const { anvil } = fixture;
  const ramp = await fixture.ramp();
  for (let i = 0; i < 5; i++) {
    await anvil.mine(210);
    await anvil.send({ to: ramp.address, value: ETHER });
  }
  await anvil.mine(210);
  await fixture.poller.follow();
  equal((await fixture.account(ramp.id)).balance.total, "5");
  const [chain] = (await fixture.realm.admin.send("GET", "/v1/chains")).body;
  equal(chain.lag, 0);
});
