/** Unexplained rises of balances: a missed transfer is found, or the rise stays listed as unexplained. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { CALLS } from "../support/nodes/anvil.ts";
import { driftsOf, mineUntil } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { NodeError, passOn } from "../support/nodes/faulty_node.ts";
import { installToken } from "../support/token_contracts.ts";
import {
  among,
  chainOf,
  depositsOf,
  retryDepositsNow,
  sharingNodes,
  type Witnessed,
} from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
// deno-lint-ignore no-explicit-any
type Json = any;

const test = sharingNodes("rises of balances that a node does not explain");

/** Mines until an account holds so much, so many times at most; demands it, and that no rise is left. */
async function assertCredited(
  { fixture }: Witnessed,
  { account, total, rounds }: { account: string; total: string; rounds: number },
): Promise<void> {
  const told = async () => (await fixture.account(account)).balance.total;
  for (let round = 0; round < rounds && await told() !== total; round++) {
    await retryDepositsNow(fixture);
    await fixture.mine();
  }
  await retryDepositsNow(fixture);
  await fixture.mine();
  equal(await told(), total);
  equal((await chainOf(fixture)).unexplained, 0);
}

Deno.test("a payment from inside a contract whose trace is gone is proven by balances, and keeps nobody waiting", async () => {
  const staged = await among("l", { env: { ETHEREUM_TESTNET_CONFIRMATIONS: "3" } });
  const { fixture, lying } = staged;
  try {
    const { anvil } = fixture;
    const ramp = await fixture.ramp();
    const one = await fixture.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    await fixture.mine(2);
    const data = CALLS.encodeFunctionData("payCoin", [[one.address], 1n]);
    await anvil.pool({ to: batcher, value: 1n, data });
    await fixture.mine();
    deepEqual((await fixture.deposits()).map((row) => [row.status, row.index]), [["PENDING", -2]]);
    let balances = false;
    lying.trick = ({ method, params }) => {
      const old = method === "eth_getBalance" && params[1] !== "latest";
      if (method.startsWith("debug_") || (old && !balances)) {
        throw new NodeError(-32000, "required historical state unavailable (reexec=128)");
      }
    };
    await anvil.pool({ to: ramp.address, value: 5n * ETHER });
    for (let round = 0; round < 6; round++) await fixture.mine();
    equal((await fixture.account(ramp.id)).balance.total, "5");
    balances = true;
    await retryDepositsNow(fixture);
    await fixture.mine();
    await fixture.mine();
    equal((await fixture.account(one.id)).balance.total, "0.000000000000000001");
  } finally {
    await staged.end();
  }
});

for (const fault of ["503", "execution timeout"]) {
  test(
    `a trace that fails once hides no payment from inside a contract (${fault})`,
    "l",
    async (staged) => {
      const { fixture, lying } = staged;
      const { anvil } = fixture;
      const ramp = await fixture.ramp();
      const one = await fixture.address(ramp.id);
      const batcher = await anvil.deploy("Batcher");
      await fixture.mine(2);
      const data = CALLS.encodeFunctionData("payCoin", [[one.address], ETHER]);
      await anvil.pool({ to: batcher, value: ETHER, data });
      let failed = 0;
      lying.trick = ({ method }) => {
        if (!method.startsWith("debug_") || failed > 0) return undefined;
        failed++;
        if (fault === "503") return new Response("busy", { status: 503 });
        throw new NodeError(-32000, fault);
      };
      await fixture.mine();
      equal(failed, 1);
      await retryDepositsNow(fixture);
      await fixture.mine();
      await fixture.mine();
      await fixture.mine();
      equal((await fixture.account(one.id)).balance.total, "1");
      equal((await chainOf(fixture)).unexplained, 0);
    },
  );
}

test(
  "more blocks with payments from inside contracts than one pass searches: none is lost",
  "l",
  async (staged) => {
    const { fixture } = staged;
    const { anvil } = fixture;
    const ramp = await fixture.ramp();
    const one = await fixture.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    await fixture.mine(2);
    const data = CALLS.encodeFunctionData("payCoin", [[one.address], 1n]);
    for (let block = 0; block < 20; block++) {
      await anvil.send({ to: batcher, value: 1n, data });
    }
    await fixture.mine();
    await assertCredited(staged, { account: one.id, total: "0.00000000000000002", rounds: 12 });
  },
);

for (const nodes of ["lhh", "hlh", "hhl"]) {
  for (const lie of ["more", "less"]) {
    test(
      `coins from inside a contract are found although one node tells ${lie} of the blocks below (nodes ${nodes})`,
      nodes,
      async (staged) => {
        const { fixture, lying } = staged;
        const { anvil, poller } = fixture;
        const ramp = await fixture.ramp();
        const one = await fixture.address(ramp.id);
        const batcher = await anvil.deploy("Batcher");
        await anvil.pool({ to: one.address, value: ETHER });
        await fixture.mine(2);
        const data = CALLS.encodeFunctionData("payCoin", [[one.address], ETHER]);
        await anvil.pool({ to: batcher, value: ETHER, data });
        await anvil.mine(5);
        const head = await anvil.rpc<string>("eth_blockNumber");
        lying.trick = async ({ method, params }) => {
          const old = method === "eth_getBalance" && params[1] !== "latest" && params[1] !== head;
          if (!old || params[0] !== one.address) return undefined;
          const told = BigInt(await anvil.rpc<string>(method, ...params));
          const wrong = lie === "more" ? told + 9n * ETHER : told / 2n;
          return `0x${wrong.toString(16)}`;
        };
        await poller.follow();
        lying.trick = () => undefined;
        await assertCredited(staged, { account: one.id, total: "2", rounds: 6 });
      },
    );
  }
}

test(
  "coins from inside a contract that come in the block in which a sweep leaves are found",
  "l",
  async (staged) => {
    const { fixture } = staged;
    const { anvil, realm } = fixture;
    const ramp = await fixture.ramp();
    const one = await fixture.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    await fixture.mine(2);
    await anvil.pool({ to: one.address, value: 2n * ETHER });
    const isSent = async () =>
      (await rowsOf(
        realm,
        "select id from chain_orders where purpose = 'sweep' and state = 'sent' and sender = $1",
        [one.address],
      ))
        .length > 0;
    for (let round = 0; round < 8 && !await isSent(); round++) await fixture.mine();
    ok(await isSent());
    const data = CALLS.encodeFunctionData("payCoin", [[one.address], ETHER]);
    await anvil.pool({ to: batcher, value: ETHER, data });
    await mineUntil(fixture, async () => (await depositsOf(staged, one)).length === 2);
    await mineUntil(fixture, async () => {
      const [, found] = await depositsOf(staged, one);
      return found.status === "CONFIRMED";
    });
    deepEqual((await depositsOf(staged, one)).map((row) => row.index), [-1, -2]);
    await mineUntil(fixture, async () => (await driftsOf(fixture))[0][1] === "0");
  },
);

Deno.test("a token deposit that one lagging answer hid is found by its balance", async () => {
  const staged = await among("l", { testnet: false });
  const { fixture, lying } = staged;
  try {
    const token = await installToken(fixture.anvil, "USDC");
    const usdc = await fixture.ramp("USDC");
    await fixture.mine(2);
    await token.pay(usdc.address, 5_000_000n);
    let empty = 0;
    lying.trick = ({ method }) => {
      if (method === "eth_getLogs" && empty++ < 1) return [];
    };
    await fixture.mine();
    equal(empty > 0, true);
    lying.trick = () => undefined;
    for (let round = 0; round < 4; round++) {
      await fixture.mine();
      await retryDepositsNow(fixture);
    }
    equal((await fixture.account(usdc.id)).balance.total, "5");
    deepEqual((await driftsOf(fixture)).find(([asset]) => asset === "USDC"), ["USDC", "0"]);
  } finally {
    await staged.end();
  }
});

test(
  "a rescan through a client that lists calls otherwise credits nothing again",
  "l",
  async (staged) => {
    const { fixture, lying, url } = staged;
    const { anvil, realm } = fixture;
    const ramp = await fixture.ramp();
    const other = await fixture.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    await fixture.mine(2);
    const payees = [ramp.address, other.address, ramp.address];
    const data = CALLS.encodeFunctionData("payCoin", [payees, ETHER]);
    await anvil.pool({ to: batcher, value: 3n * ETHER, data });
    await fixture.mine();
    const height = parseInt(await anvil.rpc<string>("eth_blockNumber"), 16);
    await fixture.mine();
    await fixture.mine();
    equal((await fixture.account(ramp.id)).balance.total, "2");
    const more = (frame: Json) => {
      const to = "0x0000000000000000000000000000000000000004";
      const extra = { type: "CALL", from: frame.to, to, value: "0x1" };
      return { ...frame, calls: [extra, ...(frame.calls ?? []).toReversed()] };
    };
    lying.trick = async (question) => {
      if (!question.method.startsWith("debug_")) return undefined;
      const { result } = await passOn(url, question) as Json;
      if (!Array.isArray(result)) return more(result);
      return result.map((one: Json) => ({ ...one, result: more(one.result) }));
    };
    const wanted = { chain: "ETHEREUM", testnet: true, from: height, to: height };
    equal((await realm.admin.send("POST", "/v1/deposits/rescan", wanted)).status, 200);
    await realm.drain();
    await fixture.mine();
    const rows = await depositsOf(staged, ramp, other);
    deepEqual(rows.map((row) => [row.index, row.amount]).toSorted(), [[-2, "1"], [-2, "2"]]);
  },
);
