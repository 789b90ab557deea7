import { deepEqual, equal, ok } from "node:assert/strict";
import { SPEEDS } from "../../../domain/speeds.ts";
import { failsAs, pays, signed } from "../conformance.ts";
import { startFaultyNode, type Trick } from "../../support/nodes/faulty_node.ts";
import { newParty, openEvmFixture } from "./fixture.ts";

const GWEI = 10n ** 9n;

function history(base: bigint, rows: readonly (readonly bigint[])[]) {
  return {
    oldestBlock: "0x1",
    baseFeePerGas: [...rows.map(() => hex(base * 3n)), hex(base)],
    gasUsedRatio: rows.map(() => 0.5),
    reward: rows.map((row) => row.map(hex)),
  };
}

function answering(method: string, answer: unknown): Trick {
  return (question) => question.method === method ? answer : undefined;
}

Deno.test("speeds are medians of the percentiles 30, 50 and 85, over the base fee to come", async () => {
  await using fixture = await openEvmFixture();
  const { payer } = fixture;
  const rows = [[1n, 2n, 9n], [3n, 4n, 8n], [0n, 0n, 0n], [0n, 0n, 0n], [5n, 6n, 70n]];
  const scaled = rows.map((row) => row.map((tip) => tip * GWEI));
  await using node = startFaultyNode(fixture.anvil.url, (question) => {
    if (question.method !== "eth_feeHistory") return undefined;
    deepEqual(question.params, ["0x14", "latest", [30, 50, 85]]);
    return history(16n * GWEI, scaled);
  });
  const chain = await fixture.open(node.url);
  const quoted = await chain.quote(null);
  // Empty blocks tell nothing; 16 and an eighth of it, plus the tip.
  deepEqual(
    SPEEDS.map((speed) => quoted[speed].base),
    [21n, 22n, 27n].map((price) => 21_000n * price * GWEI),
  );
  const draft = await chain.draft(pays(payer, newParty().address, 1n), "slow");
  equal(draft.fee.base, 21_000n * (2n * 16n + 3n) * GWEI);
  const token = await chain.quote("0x0000000000000000000000000000000000000001");
  ok(SPEEDS.every((speed) => token[speed].base > quoted[speed].base));
});

Deno.test("on a quiet chain one generous payment does not set the price", async () => {
  await using fixture = await openEvmFixture();
  const rows = [[0n, 0n, 0n], [0n, 0n, 0n], [7n, 7n, 7n], [0n, 0n, 0n]];
  const scaled = rows.map((row) => row.map((tip) => tip * GWEI));
  await using node = startFaultyNode(
    fixture.anvil.url,
    answering("eth_feeHistory", history(16n * GWEI, scaled)),
  );
  const quoted = await (await fixture.open(node.url)).quote(null);
  // 16 and an eighth of it; the least tip is a wei.
  for (const speed of SPEEDS) equal(quoted[speed].base, 21_000n * (18n * GWEI + 1n));
});

Deno.test("a broken price is not paid, nor one that rises by replacing", async () => {
  await using fixture = await openEvmFixture();
  const { payer, chain, available } = fixture;
  const order = pays(payer, newParty().address, 1n);
  await using node = startFaultyNode(
    fixture.anvil.url,
    answering("eth_feeHistory", history(5_000n * GWEI, [[1n, 1n, 1n]])),
  );
  const expensive = await fixture.open(node.url);
  const draft = await expensive.draft(order, "fast");
  const offered = await available(payer.address);
  await failsAs("refused", (async () => await Promise.resolve(expensive.plan(draft, offered)))());
  let { plan } = await signed(fixture, payer, order);
  await failsAs(
    "refused",
    (async () => {
      for (let bumps = 0; bumps < 200; bumps++) {
        plan = chain.plan(await chain.draft(order, "fast"), offered, plan);
      }
    })(),
  );
});

Deno.test("a sweep bids the likely price of the next block, and a dearer one still leaves nothing", async () => {
  await using fixture = await openEvmFixture();
  const { chain, mine, payer, pay } = fixture;
  const ours = newParty();
  await pay(ours.address, 10n ** 18n);
  await mine();
  const order = pays(ours, payer.address, "all");
  const first = await signed(fixture, ours, order);
  equal(first.plan.fee, (await chain.quote(null)).fast.base);
  await chain.broadcast(first.signed);
  const second = await signed(fixture, ours, order, first.plan);
  equal((await chain.broadcast(second.signed)).outcome, "accepted");
  equal(second.plan.amounts[0], 10n ** 18n - second.plan.fee);
  await mine();
  const left = await chain.balances([{ address: ours.address, contract: null }], null);
  deepEqual(left.amounts, [0n]);
});

Deno.test("a sender with the amount but not the fee lacks the fee", async () => {
  await using fixture = await openEvmFixture();
  const { chain, mine, payer, pay } = fixture;
  const ours = newParty();
  await pay(ours.address, 10n ** 18n);
  await mine();
  const draft = await chain.draft(pays(ours, payer.address, 10n ** 18n), "medium");
  equal(draft.lacking, draft.fee.base);
  const dust = newParty();
  await pay(dust.address, 100n);
  await mine();
  await failsAs("insufficient", signed(fixture, dust, pays(dust, payer.address, "all")));
});

Deno.test("Polygon's tip is never below its miners' minimum", async () => {
  await using fixture = await openEvmFixture("POLYGON");
  const quoted = await fixture.chain.quote(null);
  ok(quoted.slow.base >= 21_000n * 25n * GWEI);
  const { plan } = await signed(
    fixture,
    fixture.payer,
    pays(fixture.payer, newParty().address, 1n),
  );
  equal(JSON.parse(plan.body).tip, `${25n * GWEI}`);
});

Deno.test("BSC bids one gas price, and signs transactions of the old type", async () => {
  await using fixture = await openEvmFixture("BSC");
  await using node = startFaultyNode(
    fixture.anvil.url,
    answering("eth_gasPrice", hex(4n * GWEI)),
  );
  const chain = await fixture.open(node.url);
  const quoted = await chain.quote(null);
  deepEqual(
    SPEEDS.map((speed) => quoted[speed].base),
    [4n, 5n, 6n].map((price) => 21_000n * price * GWEI),
  );
  const order = pays(fixture.payer, newParty().address, 1n);
  const { signed: bytes } = await signed({ ...fixture, chain }, fixture.payer, order);
  ok(bytes.raw.startsWith("0xf8"), bytes.raw);
});

Deno.test("a node without a fee history reports no price", async () => {
  await using fixture = await openEvmFixture();
  const broken = [{}, { baseFeePerGas: [] }, { baseFeePerGas: ["1000"] }, "0x1", null];
  for (const answer of broken) {
    await using node = startFaultyNode(fixture.anvil.url, answering("eth_feeHistory", answer));
    const chain = await fixture.open(node.url);
    await failsAs("unavailable", chain.quote(null));
  }
});

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}

Deno.test("of two nodes one that tells hardly any base fee holds up no payment, and one that tells much makes none dearer: the newest block decides", async () => {
  await using fixture = await openEvmFixture();
  const { payer, anvil } = fixture;
  const honest = (await fixture.chain.quote(null)).fast.base;
  for (const base of [1n, 4_000n * GWEI]) {
    await using lying = startFaultyNode(
      anvil.url,
      answering("eth_feeHistory", history(base, [[0n, 0n, 0n]])),
    );
    const chain = await fixture.open(lying.url, anvil.url);
    const { fast } = await chain.quote(null);
    ok(10n * fast.base >= 9n * honest && 10n * fast.base <= 12n * honest, `${fast.base}`);
    const { plan, signed: made } = await signed(
      { ...fixture, chain },
      payer,
      pays(payer, newParty().address, 1n),
    );
    equal((await chain.broadcast(made)).outcome, "accepted");
    await fixture.mine();
    const status = await fixture.chain.status({ attempts: [made], since: 0, depth: 1 });
    equal(status.state, "mined", `${plan.fee}`);
    equal(chain.reports().filter((one) => /prices of gas far apart/.test(one)).length > 0, true);
  }
});

Deno.test("a node that lies about a base fee and its block proves nothing, and of both nodes the lower price counts", async () => {
  await using fixture = await openEvmFixture();
  const { anvil } = fixture;
  const low = history(1n, [[0n, 0n, 0n]]);
  const trick: Trick = async ({ method, params }) => {
    if (method === "eth_feeHistory") return low;
    if (method !== "eth_getBlockByHash") return undefined;
    return { ...await anvil.rpc<object>(method, ...params), baseFeePerGas: "0x1" };
  };
  await using lying = startFaultyNode(anvil.url, trick);
  await using silent = startFaultyNode(
    anvil.url,
    ({ method }) => method === "eth_getBlockByHash" ? null : undefined,
  );
  const chain = await fixture.open(lying.url, silent.url);
  const quoted = await chain.quote(null);
  equal(quoted.fast.base, 21_000n * 2n);
});
