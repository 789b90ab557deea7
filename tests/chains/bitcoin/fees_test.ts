import { deepEqual, equal, ok } from "node:assert/strict";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openCoins } from "../../../workers/chains/bitcoin/chain.ts";
import { COIN_TABLES, type CoinChainId } from "../../../workers/chains/bitcoin/networks.ts";
import { SPEEDS } from "../../../domain/speeds.ts";
import { failsAs, pays, signed } from "../conformance.ts";
import { NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { newParty, openLitecoindFixture } from "./fixture.ts";

/** A node's report on fees; numbers are written as in JSON. */
interface Said {
  readonly estimates?: Readonly<Record<number, unknown>>;
  readonly floor?: unknown;
  readonly relay?: unknown;
  readonly step?: unknown;
}

function nodeThatSays(said: Said) {
  return startFaultyNode(null, ({ method, params: [target] }) => {
    const { estimates, floor = 0.00001, relay = 0.00001, step = 0.00001 } = said;
    if (method === "getblockchaininfo") return { chain: "regtest" };
    if (method === "getblockhash") return "ab".repeat(32);
    if (method === "getmempoolinfo") return { mempoolminfee: floor };
    if (method === "getnetworkinfo") return { relayfee: relay, incrementalfee: step };
    if (method !== "estimatesmartfee") throw new NodeError(-32601, "Method not found");
    if (!estimates) throw new NodeError(-32601, "Method not found");
    return estimates[target as number] ?? { errors: ["Insufficient data"], blocks: target };
  });
}

async function rates(id: CoinChainId, said: Said): Promise<bigint[]> {
  await using node = nodeThatSays(said);
  const chain = await openCoins(id, "regtest", [node.url]);
  const party = await newParty(id);
  const quotes = [];
  for (const speed of SPEEDS) {
    quotes.push(await chain.draft(pays(party, party.address, 10n ** 8n), speed));
  }
  chain.close();
  return quotes.map(({ body }) => BigInt(JSON.parse(body).rate));
}

Deno.test("rates are the estimates for 12, 6 and 2 blocks", async () => {
  const estimates = {
    12: { feerate: 0.00012345 },
    6: { feerate: 0.0002 },
    2: { feerate: 0.00098765 },
  };
  deepEqual(await rates("BITCOIN", { estimates }), [12_345n, 20_000n, 98_765n]);
});

Deno.test("a faster payment never costs less, whatever a node estimates", async () => {
  const estimates = { 12: { feerate: 0.0005 }, 6: { feerate: 0.0002 }, 2: { feerate: 0.0003 } };
  deepEqual(await rates("BITCOIN", { estimates }), [50_000n, 50_000n, 50_000n]);
});

Deno.test("without an estimate the table's rates count", async () => {
  const { slow, medium, fast } = COIN_TABLES.BITCOIN.fallback;
  deepEqual(await rates("BITCOIN", { estimates: {} }), [slow, medium, fast]);
  deepEqual(await rates("BITCOIN", {}), [slow, medium, fast]);
  const estimates = { 12: { feerate: -1 }, 6: { fee: -1 }, 2: { feerate: 0 } };
  deepEqual(await rates("BITCOIN", { estimates }), [slow, medium, fast]);
});

Deno.test("no rate is below the mempool's minimum, nor below the chain's own", async () => {
  const estimates = { 12: { feerate: 0.00001 }, 6: { feerate: 0.0002 }, 2: { feerate: 0.0009 } };
  deepEqual(await rates("BITCOIN", { estimates, floor: 0.0005 }), [50_000n, 50_000n, 90_000n]);
  deepEqual(await rates("BITCOIN", { estimates, relay: 0.0005 }), [50_000n, 50_000n, 90_000n]);
  const low = { 12: { feerate: 1e-8 }, 6: { feerate: 1e-8 }, 2: { feerate: 1e-8 } };
  deepEqual(await rates("DOGECOIN", { estimates: low }), [1_000_000n, 1_000_000n, 1_000_000n]);
});

Deno.test("an absurd estimate is cut to the cap; a mempool beyond the cap stops payments", async () => {
  const estimates = { 12: { feerate: 5 }, 6: { feerate: 5 }, 2: { feerate: 5 } };
  const { rateMax } = COIN_TABLES.BITCOIN;
  deepEqual(await rates("BITCOIN", { estimates }), [rateMax, rateMax, rateMax]);
  await using node = nodeThatSays({ estimates, floor: 5 });
  const chain = await openCoins("BITCOIN", "regtest", [node.url]);
  const party = await newParty("BITCOIN");
  const draft = await chain.draft(pays(party, party.address, 10n ** 9n), "slow");
  const hash = "cd".repeat(32);
  const coin = {
    hash,
    index: 0,
    address: party.address,
    amount: 10n ** 11n,
    height: 1,
    parent: null,
  };
  const available = { coins: [coin] };
  await failsAs("refused", Promise.resolve().then(() => chain.plan(draft, available)));
  chain.close();
});

Deno.test("a quote is the cost of 141 virtual bytes, rounded up, and no more than its parts' rounding", async () => {
  const estimates = { 12: { feerate: 0.00001 }, 6: { feerate: 0.0001 }, 2: { feerate: 0.001 } };
  await using node = nodeThatSays({ estimates });
  const chain = await openCoins("BITCOIN", "regtest", [node.url]);
  const quoted = await chain.quote(null);
  deepEqual([quoted.fast.perInput, quoted.fast.perPayment], [6_800n, 3_400n]);
  ok(quoted.fast.base >= 4_150n && quoted.fast.base <= 4_700n, `${quoted.fast.base}`);
  equal(quoted.slow.least, 546n);
  await failsAs("unsupported", chain.quote("token"));
  chain.close();
});

Deno.test("an order that cannot be paid is refused before a coin is chosen", async () => {
  await using node = nodeThatSays({});
  const chains: Chain[] = [];
  for (const id of ["BITCOIN", "DOGECOIN"] as const) {
    const chain = await openCoins(id, "regtest", [node.url]);
    chains.push(chain);
    const party = await newParty(id);
    const to = party.address;
    const order = pays(party, to, 10n ** 8n);
    const bad = async (fault: "refused" | "unsupported", changed: object) =>
      await failsAs(fault, chain.draft({ ...order, ...changed } as typeof order, "slow"));
    await bad("refused", { payments: [{ to, amount: 100n }] });
    await bad("refused", { payments: [{ to, amount: 0n }] });
    await bad("refused", { payments: [{ to, amount: -5n }] });
    await bad("refused", { payments: [] });
    await bad("refused", { payments: [{ to: "nonsense", amount: 10n ** 8n }] });
    await bad("refused", { payments: Array(101).fill({ to, amount: 10n ** 8n }) });
    await bad("refused", { payments: [{ to, amount: "all" }, { to, amount: 10n ** 8n }] });
    await bad("unsupported", { contract: "token" });
    await bad("unsupported", { feePayer: (await newParty(id)).address });
    await bad("unsupported", { kind: "deploy" });
  }
  for (const chain of chains) chain.close();
});

Deno.test("of two nodes one that tells low rates holds up no payment, and one that tells high ones makes none dear: the newest blocks decide", async () => {
  await using fixture = await openLitecoindFixture("LITECOIN");
  const { node, payer, mine } = fixture;
  // A payment at the rate of the table, which a node without estimates has, in each of three blocks.
  for (let block = 0; block < 3; block++) {
    const made = await signed(
      fixture,
      payer,
      pays(payer, (await newParty("LITECOIN")).address, 10n ** 6n),
    );
    await fixture.chain.broadcast(made.signed);
    await mine();
  }
  const { fast } = COIN_TABLES.LITECOIN.fallback;
  const telling = (rate: number, step = 0.00001) =>
    startFaultyNode(node.url, async ({ method, params }) => {
      if (method === "estimatesmartfee") return { feerate: rate };
      if (method !== "getnetworkinfo") return undefined;
      return { ...await node.rpc<object>(method, ...params), incrementalfee: step };
    });
  await using low = telling(0.00001, 1e-8);
  await using high = telling(0.005);
  const chain = await fixture.open(low.url, high.url);
  const draft = await chain.draft(pays(payer, payer.address, 10n ** 6n), "medium");
  const rate = BigInt(JSON.parse(draft.body).rate);
  ok(10n * rate >= 9n * fast && 10n * rate <= 11n * fast, `${rate}`);
  ok(chain.reports().some((one) => /rates of fees far apart/.test(one)));
  await using near = telling(0.000015);
  const agreed = await (await fixture.open(low.url, near.url)).draft(
    pays(payer, payer.address, 10n ** 6n),
    "medium",
  );
  const { rate: bid, step } = JSON.parse(agreed.body);
  deepEqual([bid, step], ["1000", "1000"], "nor does a step that is too small count");
  const three = await fixture.open(low.url, near.url, high.url);
  const alone = await three.draft(pays(payer, payer.address, 10n ** 6n), "medium");
  equal(JSON.parse(alone.body).rate, "1500", "of three nodes one that tells much raises nothing");
});
