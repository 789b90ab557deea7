import { deepEqual, equal, ok } from "node:assert/strict";
import type { CoinChainId } from "../../../workers/chains/bitcoin/networks.ts";
import { failsAs, pays, scanned, signed, watching } from "../conformance.ts";
import { startBcash } from "../../support/nodes/bcash.ts";
import { type CoinNode, hasLitecoind, startLitecoind } from "../../support/nodes/litecoind.ts";
import { NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { openUtxoFixture, type UtxoFixture } from "./fixture.ts";

const ignore = !hasLitecoind();
let shared: CoinNode;

Deno.test.beforeAll(async () => {
  if (!ignore) shared = await startLitecoind();
});
Deno.test.afterAll(async () => {
  if (!ignore) await shared.stop();
});

function onLitecoind(name: string, run: (fixture: UtxoFixture) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      await using fixture = await openUtxoFixture("LITECOIN", shared, { shared: true });
      await run(fixture);
    },
  });
}

/** Answers the questions of a misbehaving node with the real node behind, credentials and all. */
async function ask(fixture: UtxoFixture, method: string, params: unknown[]): Promise<unknown> {
  const [, credentials] = /\/\/(.*)@/.exec(fixture.node.url)!;
  const url = fixture.node.url.replace(`${credentials}@`, "");
  const headers = { authorization: `Basic ${btoa(credentials)}` };
  const body = JSON.stringify({ id: 1, method, params });
  const { result, error } = await (await fetch(url, { method: "POST", headers, body })).json();
  if (error) throw new NodeError(error.code, error.message);
  return result;
}

onLitecoind(
  "several outputs of one transaction are each found, to the last satoshi",
  async (fixture) => {
    const { chain, party, node, script, mine } = fixture;
    const [one, two] = [await party(), await party()];
    const amounts = [123_456_789n, 100_000_001n, 99_999_999n];
    const hash = await node.pay([
      { script: await script(one.address), amount: amounts[0] },
      { script: await script(two.address), amount: amounts[1] },
      { script: await script(one.address), amount: amounts[2] },
    ]);
    await mine();
    const { height } = await chain.head();
    const [{ transfers }] = await scanned(
      chain,
      height,
      height,
      watching([one.address, two.address]),
    );
    ok(transfers.every((transfer) => transfer.hash === hash && transfer.maturesAt === null));
    const found = transfers.map(({ to, amount }) => `${to} ${amount}`).sort();
    const paid = [`${one.address} ${amounts[0]}`, `${two.address} ${amounts[1]}`]
      .concat(`${one.address} ${amounts[2]}`);
    deepEqual(found, paid.sort());
    equal(new Set(transfers.map(({ index }) => index)).size, 3);
    deepEqual(
      await chain.search({ hash }, watching([one.address])),
      transfers
        .filter(({ to }) => to === one.address),
    );
    deepEqual(
      await chain.search({ height }, watching([two.address])),
      transfers
        .filter(({ to }) => to === two.address),
    );
  },
);

onLitecoind("newly made coins say when they may be spent", async (fixture) => {
  const { chain, party, node, script, mine } = fixture;
  const miner = await party();
  const raw = `raw(${await script(miner.address)})`;
  const { descriptor } = await node.rpc<{ descriptor: string }>("getdescriptorinfo", raw);
  await node.rpc("generatetodescriptor", 1, descriptor);
  const { height } = await chain.head();
  const [{ transfers: [made] }] = await scanned(chain, height, height, watching([miner.address]));
  equal(made.maturesAt, height + 100);
  deepEqual((await chain.recheck(made))?.transfer, made);
  const spend = async () => {
    const coins = await fixture.coins(miner.address);
    const draft = await chain.draft(pays(miner, miner.address, "all"), "fast");
    const plan = chain.plan(draft, { coins });
    return await chain.broadcast(await chain.sign(plan, new Map([[miner.address, miner.key]])));
  };
  equal((await spend()).obstacle, "early");
  await mine(made.maturesAt! - height);
  equal((await spend()).outcome, "accepted");
});

onLitecoind(
  "a waiting payment is shown until it is mined, and vanishes when it is replaced",
  async (fixture) => {
    const { chain, payer, party, amount, mine } = fixture;
    const [one, two] = [await party(), await party()];
    const watch = watching([one.address, two.address]);
    deepEqual(await chain.mempool(watch), []);
    const first = await signed(fixture, payer, pays(payer, one.address, amount));
    await chain.broadcast(first.signed);
    const [seen] = await chain.mempool(watch);
    deepEqual([seen.hash, seen.to, seen.amount, seen.block], [
      ...[first.signed.hash, one.address, amount],
      null,
    ]);
    equal(await chain.recheck(seen), null, "what only waits is not there to be credited");
    const second = await signed(fixture, payer, pays(payer, two.address, amount), first.plan);
    equal((await chain.broadcast(second.signed)).outcome, "accepted");
    deepEqual((await chain.mempool(watch)).map(({ to }) => to), [two.address]);
    await mine();
    deepEqual(await chain.mempool(watch), []);
    equal(await chain.recheck(seen), null);
  },
);

onLitecoind(
  "a deposit that another payment took the coins of after a reorganisation is gone",
  async (fixture) => {
    const { chain, payer, party, amount, mine, node } = fixture;
    const [victim, thief] = [await party(), await party()];
    const honest = await signed(fixture, payer, pays(payer, victim.address, amount));
    const coins = await fixture.coins(payer.address);
    const again = coins.filter(({ hash, index }) =>
      honest.plan.inputs.includes(`${hash}:${index}`)
    );
    const draft = await chain.draft(pays(payer, thief.address, amount), "fast");
    const plan = chain.plan(draft, { coins: again });
    const stolen = await chain.sign(plan, new Map([[payer.address, payer.key]]));
    await chain.broadcast(honest.signed);
    await mine(2);
    const { height } = await chain.head();
    const watch = watching([victim.address, thief.address], honest.plan.inputs);
    const [{ transfers: [deposit] }] = await scanned(chain, height - 1, height - 1, watch);
    ok(await chain.recheck(deposit));
    await node.rpc("invalidateblock", await node.rpc("getblockhash", height - 1));
    const bank = await node.rpc("getnewaddress");
    await node.rpc("generateblock", bank, [stolen.raw]);
    for (let block = 0; block < 2; block++) await node.rpc("generateblock", bank, []);
    equal(await chain.recheck(deposit), null);
    const [{ transfers, consumed }] = await scanned(chain, height - 1, height - 1, watch);
    deepEqual(transfers.map(({ to, hash }) => [to, hash]), [[thief.address, stolen.hash]]);
    deepEqual(consumed, plan.inputs.map((input) => ({ input, hash: stolen.hash })));
    deepEqual(await chain.mempool(watch), []);
  },
);

onLitecoind(
  "a deposit that a reorganisation moved is found where it is now, spent or not",
  async (fixture) => {
    const { chain, party, amount, mine, pay, reorganise } = fixture;
    const [ours, target] = [await party(), await party()];
    await pay(ours.address, amount);
    await mine();
    const { height } = await chain.head();
    const [{ transfers: [before] }] = await scanned(
      chain,
      height,
      height,
      watching([ours.address]),
    );
    await reorganise(1);
    equal(await chain.recheck(before), null);
    await mine();
    const after = (await chain.recheck(before))?.transfer;
    ok(after && after.block!.height > height && after.hash === before.hash);
    const { signed: swept } = await signed(fixture, ours, pays(ours, target.address, "all"));
    await chain.broadcast(swept);
    await mine();
    deepEqual((await chain.recheck(after))?.transfer, after);
    equal(await chain.recheck(before), null, "the block it was seen in is gone");
  },
);

onLitecoind(
  "a block is read once, and a node that lags is passed over for one that does not",
  async (fixture) => {
    const { chain, node, mine, party, pay, amount } = fixture;
    const ours = await party();
    await pay(ours.address, amount);
    await mine(3);
    const { height } = await chain.head();
    const lag = height - 2;
    await using faulty = startFaultyNode(null, ({ method, params }) => {
      const beyond = method === "getblockhash" && Number(params[0]) > lag;
      if (beyond) throw new NodeError(-8, "Block height out of range");
      return ask(fixture, method, params);
    });
    const single = await fixture.open(faulty.url);
    const watch = watching([ours.address]);
    equal((await scanned(single, lag - 4, lag, watch)).length, 5);
    equal(faulty.asked.filter((method) => method === "getblock").length, 5);
    await failsAs("unavailable", scanned(single, lag, lag + 1, watch));
    const all = await fixture.open(faulty.url, node.url, node.url);
    equal((await scanned(all, lag - 1, height, watch)).length, 4);
  },
);

onLitecoind("balances are added up coin by coin where the coins are known", async (fixture) => {
  const { chain, payer, party, mine, pay, amount } = fixture;
  const ours = await party();
  const hashes = [await pay(ours.address, amount), await pay(ours.address, 2n * amount)];
  await mine();
  const coins = (await fixture.coins(ours.address)).map(({ hash, index }) => `${hash}:${index}`);
  const foreign = (await fixture.coins(payer.address)).map(({ hash, index }) => `${hash}:${index}`);
  const of = async (known: readonly string[]) =>
    (await chain.balances([{ address: ours.address, contract: null, coins: known }], null)).amounts;
  deepEqual(await of(coins), [3n * amount]);
  deepEqual(await of([]), [0n]);
  deepEqual(await of([...coins, ...foreign, `${hashes[0]}:77`]), [3n * amount]);
  const { signed: bytes } = await signed(fixture, ours, pays(ours, payer.address, "all"));
  await chain.broadcast(bytes);
  deepEqual(await of(coins), [3n * amount], "a payment that only waits changes nothing");
  await mine();
  deepEqual(await of(coins), [0n]);
  await using faulty = startFaultyNode(null, ({ method, params }) => {
    if (method === "scantxoutset") throw new NodeError(-32601, "Method not found");
    return ask(fixture, method, params);
  });
  const poor = await fixture.open(faulty.url);
  const holding = { address: payer.address, contract: null };
  await failsAs("unsupported", poor.balances([holding], null));
  ok((await poor.balances([{ ...holding, coins: foreign }], null)).amounts[0] > 0n);
});

for (const id of ["BITCOIN_CASH"] satisfies CoinChainId[]) {
  Deno.test(`${id}: a waiting payment is shown, and a payment from its coin follows`, async () => {
    await using fixture = await openUtxoFixture(id, await startBcash());
    const { chain, payer, party, amount } = fixture;
    const [one, two] = [await party(), await party()];
    const first = await signed(fixture, payer, pays(payer, one.address, amount));
    await chain.broadcast(first.signed);
    const [seen] = await chain.mempool(watching([one.address]));
    deepEqual([seen.hash, seen.amount, seen.block], [first.signed.hash, amount, null]);
    const parent = { fee: first.plan.fee, vsize: first.plan.vsize! };
    const coin = { ...seen, address: one.address, height: null, parent };
    const draft = await chain.draft(pays(one, two.address, "all"), "fast");
    const plan = chain.plan(draft, { coins: [coin] });
    const bytes = await chain.sign(plan, new Map([[one.address, one.key]]));
    equal((await chain.broadcast(bytes)).outcome, "accepted");
    await fixture.mine();
    const balances = await chain.balances([{ address: two.address, contract: null }], null);
    deepEqual(balances.amounts, plan.amounts);
  });
}
