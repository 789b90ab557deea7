/** Coins that a block pays out to validators without a transaction (EIP-4895), and as tips, at own and at linked addresses. */
import { deepEqual, equal } from "node:assert/strict";
import { NodeError, type Trick } from "../support/nodes/faulty_node.ts";
import { mineUntil } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { chainOf, depositsOf, retryDepositsNow, sharingNodes } from "../support/witnesses.ts";
import { CALLS } from "../support/nodes/anvil.ts";

const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
const LINKED = "0x52908400098527886E0F7030069857D2E4169EE7";
// deno-lint-ignore no-explicit-any
type Json = any;

const test = sharingNodes("coins that blocks pay out");

/** A chain whose blocks pay out: anvil makes none such, so its answers are added to. */
function rewardingBlocks(read: (method: string, ...params: unknown[]) => Promise<Json>) {
  const paid = new Map<number, { address: string; amount: string }[]>();
  const tell: Trick = async ({ method, params }) => {
    if (method !== "eth_getBlockByNumber") return undefined;
    const block = await read(method, ...params);
    if (block === null) return null;
    return { ...block, withdrawals: paid.get(Number(block.number)) ?? [] };
  };
  return {
    tell,
    note(height: number, address: string, wei: bigint) {
      const amount = `0x${(wei / GWEI).toString(16)}`;
      paid.set(height, [...paid.get(height) ?? [], { address, amount }]);
    },
  };
}

test(
  "what blocks pay out to validators is neither a deposit nor unexplained, at linked and own addresses, beside a hidden payment too",
  "h",
  async (staged) => {
    const { fixture, nodes: [node] } = staged;
    const { anvil, realm } = fixture;
    const { send } = realm.admin;
    const { note, tell } = rewardingBlocks((method, ...params) => anvil.rpc(method, ...params));
    node.trick = tell;
    const ramp = await fixture.ramp();
    const one = await fixture.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    const asked = { type: "virtual", asset: "ETH", testnet: true };
    const { id } = (await send("POST", "/v1/accounts", asked)).body;
    await realm.drain();
    await fixture.mine(2);
    equal((await send("POST", `/v1/accounts/${id}/assign/${LINKED}`)).status, 200);
    await fixture.mine(2);
    /** Pays out in the newest block: the node changes the balances of that one. */
    const payOut = async (address: string, wei: bigint) => {
      const held = BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest"));
      note(Number(await anvil.rpc<string>("eth_blockNumber")), address, wei);
      await anvil.rpc("anvil_setBalance", address, `0x${(held + wei).toString(16)}`);
    };
    for (let round = 1n; round <= 3n; round++) {
      await payOut(LINKED, round * ETHER);
      await payOut(one.address, round * ETHER);
      await fixture.mine();
    }
    equal((await chainOf(fixture)).unexplained, 0);
    deepEqual(await depositsOf(staged, one, { id }), []);
    // Coins that a contract pays are found although more was paid out in the block.
    const data = CALLS.encodeFunctionData("payCoin", [[one.address], ETHER]);
    await anvil.send({ to: batcher, value: ETHER, data });
    await payOut(one.address, 2n * ETHER);
    await fixture.mine();
    await mineUntil(fixture, async () => (await fixture.account(one.id)).balance.total === "1");
    equal((await chainOf(fixture)).unexplained, 0);
    equal((await rowsOf(realm, "select 1 from unexplained_gains")).length, 0);
  },
);

test(
  "tips of transactions to a block's fee recipient are neither a deposit nor unexplained, beside a hidden payment too",
  "h",
  async (staged) => {
    const { fixture } = staged;
    const { anvil, realm } = fixture;
    const ramp = await fixture.ramp();
    const one = await fixture.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    await fixture.mine(2);
    await anvil.rpc("anvil_setCoinbase", one.address);
    const tip = `0x${(3n * GWEI).toString(16)}`;
    const prices = {
      maxPriorityFeePerGas: tip,
      maxFeePerGas: `0x${(100n * GWEI).toString(16)}`,
      gas: "0x186a0",
    };
    const [from] = await anvil.rpc<string[]>("eth_accounts");
    await anvil.rpc("eth_sendTransaction", { from, to: LINKED, value: "0x1", ...prices });
    await fixture.mine(3);
    const tips = BigInt(await anvil.rpc<string>("eth_getBalance", one.address, "latest"));
    equal(tips, 21_000n * 3n * GWEI);
    equal((await chainOf(fixture)).unexplained, 0);
    const data = CALLS.encodeFunctionData("payCoin", [[one.address], ETHER]);
    const value = `0x${ETHER.toString(16)}`;
    await anvil.rpc("eth_sendTransaction", { from, to: batcher, value, data, ...prices });
    await fixture.mine();
    await mineUntil(fixture, async () => (await fixture.account(one.id)).balance.total === "1");
    equal((await chainOf(fixture)).unexplained, 0);
    deepEqual((await depositsOf(staged, one)).map(({ amount }) => Number(amount)), [1]);
    await anvil.rpc("anvil_setCoinbase", `0x${"0".repeat(40)}`);
    equal((await rowsOf(realm, "select 1 from unexplained_gains")).length, 0);
  },
);

test(
  "what blocks pay out to validators is explained where nodes have no earlier balances any more",
  "h",
  async (staged) => {
    const { fixture, nodes: [node] } = staged;
    const { anvil } = fixture;
    const { note, tell } = rewardingBlocks((method, ...params) => anvil.rpc(method, ...params));
    const ramp = await fixture.ramp();
    const one = await fixture.address(ramp.id);
    const batcher = await anvil.deploy("Batcher");
    await fixture.mine(2);
    await anvil.mine(); // no balance is read at it
    note(Number(await anvil.rpc<string>("eth_blockNumber")), one.address, ETHER);
    await anvil.rpc("anvil_setBalance", one.address, `0x${ETHER.toString(16)}`);
    const data = CALLS.encodeFunctionData("payCoin", [[one.address], 2n * ETHER]);
    await anvil.send({ to: batcher, value: 2n * ETHER, data });
    await anvil.mine(3);
    const head = await anvil.rpc<string>("eth_blockNumber");
    node.trick = (question) => {
      const { method, params } = question;
      const isOld = method === "eth_getBalance" && params[1] !== "latest" &&
        Number(params[1]) < Number(head);
      if (isOld) throw new NodeError(-32000, "missing trie node");
      return tell(question);
    };
    await mineUntil(fixture, async () => {
      await retryDepositsNow(fixture);
      const [deposit] = await depositsOf(staged, one);
      return deposit?.status === "CONFIRMED" && (await chainOf(fixture)).unexplained === 0;
    });
    deepEqual((await depositsOf(staged, one)).map(({ credited }) => Number(credited)), [2]);
  },
);

test("a payout that one of two nodes makes up hides no payment", "lh", async (staged) => {
  const { fixture, lying } = staged;
  const { anvil } = fixture;
  const { note, tell } = rewardingBlocks((method, ...params) => anvil.rpc(method, ...params));
  const ramp = await fixture.ramp();
  const one = await fixture.address(ramp.id);
  const batcher = await anvil.deploy("Batcher");
  await fixture.mine(2);
  lying.trick = tell;
  note(Number(await anvil.rpc<string>("eth_blockNumber")) + 1, one.address, ETHER);
  const data = CALLS.encodeFunctionData("payCoin", [[one.address], ETHER]);
  await anvil.pool({ to: batcher, value: ETHER, data });
  await fixture.mine();
  await mineUntil(fixture, async () => {
    await retryDepositsNow(fixture);
    return (await fixture.account(one.id)).balance.total === "1";
  });
});
