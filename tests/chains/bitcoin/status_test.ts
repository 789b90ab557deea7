import { deepEqual, equal, ok } from "node:assert/strict";
import type { Coin, Plan, Signed } from "../../../workers/chains/outgoing.ts";
import { failsAs, type Party, pays, signed, statusIs } from "../conformance.ts";
import {
  type CoinNode,
  hasLitecoind,
  LIKE_DOGECOIN,
  startLitecoind,
} from "../../support/nodes/litecoind.ts";
import type { CoinChainId } from "../../../workers/chains/bitcoin/networks.ts";
import { NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { openUtxoFixture, type UtxoFixture } from "./fixture.ts";

const ignore = !hasLitecoind();
let plain: CoinNode, strict: CoinNode;

Deno.test.beforeAll(async () => {
  if (ignore) return;
  plain = await startLitecoind();
  strict = await startLitecoind(...LIKE_DOGECOIN);
});
Deno.test.afterAll(async () => {
  if (ignore) return;
  await plain.stop();
  await strict.stop();
});

function onLitecoind(
  name: string,
  run: (fixture: UtxoFixture) => Promise<void>,
  id: CoinChainId = "LITECOIN",
): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      const node = id === "DOGECOIN" ? strict : plain;
      await using fixture = await openUtxoFixture(id, node, { shared: true });
      await run(fixture);
    },
  });
}

/** Signs a payment out of certain coins. */
async function spend(
  { chain }: UtxoFixture,
  from: Party,
  coins: readonly Coin[],
  to: string,
  amount: bigint | "all",
): Promise<{ plan: Plan; signed: Signed }> {
  const draft = await chain.draft(pays(from, to, amount), "slow");
  const plan = chain.plan(draft, { coins });
  return { plan, signed: await chain.sign(plan, new Map([[from.address, from.key]])) };
}

onLitecoind(
  "a payment is found though all it made is spent, by an adapter that remembers nothing",
  async (fixture) => {
    const { payer, party, mine, amount, chain } = fixture;
    const [one, two] = [await party(), await party()];
    const since = (await chain.head()).height;
    const coins = await fixture.coins(payer.address);
    const first = await spend(fixture, payer, coins.slice(0, 1), one.address, "all");
    await chain.broadcast(first.signed);
    await mine(3);
    const { signed: swept } = await signed(fixture, one, pays(one, two.address, "all"));
    await chain.broadcast(swept);
    await mine();
    const fresh = await fixture.open(fixture.node.url);
    const query = { attempts: [first.signed], since, depth: 2 };
    const status = statusIs(await fresh.status(query), "mined");
    deepEqual([status.hash, status.block.height, status.confirmations, status.fee], [
      ...[first.signed.hash, since + 1, 4],
      first.plan.fee,
    ]);
    deepEqual(await fresh.status(query), status);
    deepEqual(
      await chain.search({ hash: swept.hash }, {
        addresses: new Set([two.address]),
        inputs: new Set(),
        contracts: null,
      }),
      await fresh.search({ height: since + 4 }, {
        addresses: new Set([two.address]),
        inputs: new Set(),
        contracts: null,
      }),
    );
    // This node does not tell fees, so what was stored is needed.
    const { fee: _, ...bare } = first.signed;
    await failsAs("unavailable", fresh.status({ ...query, attempts: [bare] }));
    ok(amount > 0n);
  },
);

onLitecoind(
  "a transaction that spends an unconfirmed coin is unseen, pending or mined, and never dropped",
  async (fixture) => {
    const { chain, payer, party, amount, mine } = fixture;
    const to = await party();
    const since = (await chain.head()).height;
    const first = await signed(fixture, payer, pays(payer, to.address, amount));
    await chain.broadcast(first.signed);
    const { change, fee, vsize } = first.plan;
    const own: Coin = {
      hash: first.signed.hash,
      index: change!.index,
      address: payer.address,
      amount: change!.amount,
      height: null,
      parent: { fee, vsize: vsize! },
    };
    const child = await spend(fixture, payer, [own], to.address, amount / 2n);
    const ask = () => chain.status({ attempts: [child.signed], since, depth: 1 });
    statusIs(await ask(), "unseen");
    await mine();
    statusIs(await ask(), "unseen");
    await chain.broadcast(child.signed);
    statusIs(await ask(), "pending");
    await mine();
    equal(statusIs(await ask(), "mined").confirmations, 1);
  },
);

onLitecoind(
  "where nothing is replaced, a payment dies when its coin is spent by another, deep enough",
  async (fixture) => {
    const { chain, payer, party, amount, mine, reorganise } = fixture;
    const [one, two] = [await party(), await party()];
    const since = (await chain.head()).height;
    const coins = (await fixture.coins(payer.address)).slice(0, 1);
    const never = await spend(fixture, payer, coins, one.address, amount);
    const rival = await spend(fixture, payer, coins, two.address, amount);
    const depth = 3;
    const ask = () => chain.status({ attempts: [never.signed], since, depth });
    statusIs(await ask(), "unseen");
    await chain.broadcast(rival.signed);
    statusIs(await ask(), "unseen");
    await mine(depth - 1);
    statusIs(await ask(), "unseen");
    await mine();
    const dead = statusIs(await ask(), "dropped");
    deepEqual([dead.proof, dead.by, dead.height], ["consumed", rival.signed.hash, since + 1]);
    const both = [never.signed, rival.signed];
    const status = await chain.status({ attempts: both, since, depth });
    equal(statusIs(status, "mined").hash, rival.signed.hash);
    equal((await chain.broadcast(never.signed)).outcome, "unknown");
    await reorganise(depth);
    statusIs(await ask(), "unseen");
  },
  "DOGECOIN",
);

onLitecoind(
  "a candidate that lives keeps the order alive though another is dead",
  async (fixture) => {
    const { chain, payer, party, amount, mine } = fixture;
    const [one, two] = [await party(), await party()];
    const since = (await chain.head()).height;
    const coins = await fixture.coins(payer.address);
    const gone = await spend(fixture, payer, coins.slice(0, 1), one.address, amount);
    const alive = await spend(fixture, payer, coins.slice(1, 2), one.address, amount);
    const rival = await spend(fixture, payer, coins.slice(0, 1), two.address, amount);
    await chain.broadcast(rival.signed);
    await mine(3);
    const ask = (attempts: Signed[]) => chain.status({ attempts: attempts, since, depth: 1 });
    statusIs(await ask([gone.signed]), "dropped");
    statusIs(await ask([gone.signed, alive.signed]), "unseen");
    await chain.broadcast(alive.signed);
    statusIs(await ask([gone.signed, alive.signed]), "pending");
  },
);

onLitecoind("a death that another node contradicts is not believed", async (fixture) => {
  const { chain, payer, party, amount, mine, node } = fixture;
  const [one, two] = [await party(), await party()];
  const since = (await chain.head()).height;
  const coins = (await fixture.coins(payer.address)).slice(0, 1);
  const never = await spend(fixture, payer, coins, one.address, amount);
  const rival = await spend(fixture, payer, coins, two.address, amount);
  await chain.broadcast(rival.signed);
  await mine(3);
  let lag = 0;
  await using other = startFaultyNode(null, async ({ method, params }) => {
    if (method === "gettxout" && lag === 0) {
      const best = await node.rpc("getbestblockhash");
      const script = { hex: await fixture.script(payer.address) };
      return { bestblock: best, confirmations: 9, value: 1, scriptPubKey: script };
    }
    if (method === "getmempoolentry") throw new NodeError(-5, "Transaction not in mempool");
    if (method === "getbestblockhash" && lag > 0) {
      return await node.rpc("getblockhash", since + 3 - lag);
    }
    return await node.rpc(method, ...params);
  });
  const both = await fixture.open(other.url, node.url);
  const ask = () => both.status({ attempts: [never.signed], since, depth: 2 });
  statusIs(await chain.status({ attempts: [never.signed], since, depth: 2 }), "dropped");
  statusIs(await ask(), "unseen");
  // A node that has not come as far does not contradict, and one alone is not enough.
  lag = 3;
  statusIs(await ask(), "unseen");
  await using third = startFaultyNode(null, ({ method, params }) => {
    if (method === "getmempoolentry") throw new NodeError(-5, "Transaction not in mempool");
    return node.rpc(method, ...params);
  });
  const three = await fixture.open(other.url, node.url, third.url);
  statusIs(await three.status({ attempts: [never.signed], since, depth: 2 }), "dropped");
});

onLitecoind("a child lifts a deposit that is stuck to the rate it asks for", async (fixture) => {
  const { chain, payer, party, amount, node, mine } = fixture;
  const [ours, ramp] = [await party(), await party()];
  const stuck = await spend(
    fixture,
    payer,
    await fixture.coins(payer.address),
    ours.address,
    amount,
  );
  await chain.broadcast(stuck.signed);
  const watch = { addresses: new Set([ours.address]), inputs: new Set<string>(), contracts: null };
  const [seen] = await chain.mempool(watch);
  const draft = await chain.draft(pays(ours, ramp.address, "all"), "fast");
  const parent = { fee: stuck.plan.fee, vsize: stuck.plan.vsize! };
  const coin = { ...seen, address: ours.address, height: null, parent };
  const plan = chain.plan(draft, { coins: [coin] });
  const child = await chain.sign(plan, new Map([[ours.address, ours.key]]));
  equal((await chain.broadcast(child)).outcome, "accepted");
  type Entry = { ancestorsize: number; fees: { ancestor: number } };
  const entry = await node.rpc<Entry>("getmempoolentry", child.hash);
  const rate = Number(JSON.parse(draft.body).rate);
  ok(entry.fees.ancestor * 1e8 * 1000 >= rate * entry.ancestorsize);
  ok(entry.fees.ancestor * 1e8 * 1000 < rate * entry.ancestorsize * 1.05);
  await mine();
  const balances = await chain.balances([{ address: ramp.address, contract: null }], null);
  deepEqual(balances.amounts, plan.amounts);
});

for (const [id, most] of [["LITECOIN", 1_395], ["DOGECOIN", 641]] as const) {
  onLitecoind(
    `${id}: as many coins as fit are gathered by a payment to oneself`,
    async (fixture) => {
      const { chain, party, node, mine, script } = fixture;
      const ramp = await party();
      const part = { script: await script(ramp.address), amount: 4_000_000n };
      await node.pay(Array(750).fill(part));
      await node.pay(Array(750).fill(part));
      await mine();
      const { plan, signed: bytes } = await signed(fixture, ramp, pays(ramp, ramp.address, "all"));
      equal(plan.inputs.length, most);
      equal((await chain.broadcast(bytes)).outcome, "accepted");
      await mine();
      const coins = await fixture.coins(ramp.address);
      equal(coins.length, 1_500 - most + 1);
      ok(coins.some(({ amount }) => amount === 4_000_000n * BigInt(most) - plan.fee));
    },
    id,
  );
}
