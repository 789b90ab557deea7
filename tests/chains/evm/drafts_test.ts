/** What one node of an EVM chain tells of a payment before it is signed neither has it fail nor wastes a fee. */
import { deepEqual, ok } from "node:assert/strict";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openEvm } from "../../../workers/chains/evm/chain.ts";
import { failsAs, type Party } from "../conformance.ts";
import { rich } from "../../support/nodes/anvil.ts";
import { type FaultyNode, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { deployToken, type EvmFixture, newParty, openEvmFixture, paysToken } from "./fixture.ts";

const ETHER = 10n ** 18n;

interface Scene {
  readonly fixture: EvmFixture;
  readonly chain: Chain;
  readonly lying: FaultyNode;
}

function sweeps(from: Party) {
  const payments = [{ to: rich(2).address, amount: "all" as const }];
  return { kind: "pay" as const, from: from.address, contract: null, payments };
}

/** Somebody of whom the lying node tells a thousandth of what is there. */
async function hidden({ fixture: { anvil }, lying }: Scene): Promise<Party> {
  const from = newParty();
  await anvil.send({ to: from.address, value: ETHER });
  lying.trick = ({ method, params }) => {
    const asks = method === "eth_getBalance" &&
      String(params[0]).toLowerCase() === from.address.toLowerCase();
    return asks ? `0x${(ETHER / 1_000n).toString(16)}` : undefined;
  };
  return from;
}

async function smallPart(scene: Scene): Promise<void> {
  const { chain } = scene;
  const order = sweeps(await hidden(scene));
  const [amount] = chain.plan(await chain.draft(order, "medium"), { nonce: 0 }).amounts;
  ok(amount > ETHER * 99n / 100n, `${amount}`);
}

async function smallPartOfTwo(scene: Scene): Promise<void> {
  await failsAs("held", scene.chain.draft(sweeps(await hidden(scene)), "medium"));
}

async function dearGas({ fixture, chain, lying }: Scene): Promise<void> {
  const token = await deployToken(fixture);
  const order = paysToken(rich(0), token, newParty().address, 5n);
  const { likely } = await chain.draft(order, "medium");
  const budget = { contract: null, units: likely! * 12n / 10n };
  lying.trick = async ({ method, params }) => {
    if (method !== "eth_estimateGas") return undefined;
    const gas = BigInt(await fixture.anvil.rpc(method, ...params) as string);
    return `0x${(gas * 18n / 10n).toString(16)}`;
  };
  await failsAs("held", chain.draft(order, "medium", budget));
}

/** Code of a token that reverts, that loops, and that answers nothing. */
const CODES = { "0x5f5ffd": "refused", "0x5b5f56": "refused", "0x": "held" } as const;

async function tellsNothing({ fixture, chain, lying }: Scene): Promise<void> {
  const token = await deployToken(fixture);
  const coins = [{ address: rich(0).address, contract: null }];
  for (const [code, fault] of Object.entries(CODES)) {
    await fixture.anvil.rpc("anvil_setCode", token, code);
    for (const amount of [5n, "all"] as const) {
      const order = paysToken(rich(0), token, newParty().address, amount);
      await failsAs(fault, chain.draft(order, "medium"));
    }
    // A node that rests is asked by one at a time, and last.
    lying.asked.length = 0;
    const asked = Array.from({ length: 3 }, () => chain.balances(coins, null));
    for (const { amounts } of await Promise.all(asked)) ok(amounts[0] > 0n);
    ok(lying.asked.length >= 3, `${lying.asked}`);
  }
  deepEqual(chain.reports(), []);
}

const STEPS: Readonly<Record<string, readonly [string, (scene: Scene) => Promise<void>]>> = {
  "a node that tells little of what an address holds has no small part swept": ["lhh", smallPart],
  "of two nodes one that tells little of what an address holds has no small part swept": [
    "hl",
    smallPartOfTwo,
  ],
  "of two nodes one that counts much gas has no payment fail for its cost": ["hl", dearGas],
  "a token that tells no balances is nobody's fault but its own": ["lh", tellsNothing],
};

Deno.test("a payment on an EVM chain is drafted by what as many nodes as the quorum tell", async (t) => {
  await using fixture = await openEvmFixture();
  for (const [name, [names, step]] of Object.entries(STEPS)) {
    await t.step(name, async () => {
      const nodes = [...names].map(() => startFaultyNode(fixture.anvil.url));
      const limits = { timeoutMs: 20_000 };
      const chain = await openEvm("ETHEREUM", "main", nodes.map(({ url }) => url), { limits });
      await step({ fixture, chain, lying: nodes[names.indexOf("l")] });
      chain.close();
      for (const one of nodes) await one.abort();
    });
  }
});
