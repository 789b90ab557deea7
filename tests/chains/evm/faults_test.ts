import { deepEqual, equal, ok } from "node:assert/strict";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openEvm } from "../../../workers/chains/evm/chain.ts";
import { failsAs, pays, scanned, signed, watching } from "../conformance.ts";
import { CALLS, startAnvil } from "../../support/nodes/anvil.ts";
import { NodeError, passOn, startFaultyNode, type Trick } from "../../support/nodes/faulty_node.ts";
import { deployToken, newParty, openEvmFixture, paysToken } from "./fixture.ts";

const GARBAGE: readonly unknown[] = [
  "0x",
  "12",
  "0xzz",
  {},
  [],
  { number: "0x1", hash: "0x12" },
  true,
  -1,
  "0x" + "f".repeat(70),
];

/** Everything that asks a node. */
const WORK: Readonly<Record<string, (chain: Chain) => Promise<unknown>>> = {
  head: (chain) => chain.head(),
  block: (chain) => chain.block(1),
  scan: (chain) => scanned(chain, 1, 1, watching([newParty().address])),
  balances: (chain) => chain.balances([{ address: newParty().address, contract: null }], null),
  quote: (chain) => chain.quote(null),
  nonces: (chain) => chain.nonces!.count(newParty().address),
  token: (chain) => chain.token(newParty().address),
  draft: (chain) => chain.draft(pays(newParty(), newParty().address, 1n), "fast"),
};

Deno.test("a node that answers garbage is unavailable, whatever is asked", async () => {
  await using fixture = await openEvmFixture();
  await fixture.mine();
  for (const answer of GARBAGE) {
    await using node = startFaultyNode(
      fixture.anvil.url,
      ({ method }) => method === "eth_chainId" ? undefined : answer,
    );
    for (const work of Object.values(WORK)) {
      const chain = await fixture.open(node.url);
      // Any bytes are a proper contract, or the lack of one.
      if (work === WORK.token && /^0x([0-9a-f]{2})*$/.test(String(answer))) continue;
      await failsAs("unavailable", work(chain));
    }
  }
});

Deno.test("a node that answers garbage is passed over for one that does not", async () => {
  await using fixture = await openEvmFixture();
  await fixture.mine();
  await using node = startFaultyNode(
    fixture.anvil.url,
    ({ method }) => method === "eth_chainId" ? undefined : { nonsense: true },
  );
  for (const [name, work] of Object.entries(WORK)) {
    if (name === "draft") continue; // the party has nothing to pay with
    // Of three, as many as the quorum are left.
    await work(await fixture.open(node.url, fixture.anvil.url, fixture.anvil.url));
  }
});

Deno.test("an answer nested without end, or without text where it belongs, is none, and another node is asked", async () => {
  await using fixture = await openEvmFixture();
  await fixture.mine();
  const { anvil } = fixture;
  const to = newParty().address;
  const hash = await anvil.send({ to, value: 5n });
  const deep = (open: string, close: string, inner = "") =>
    open.repeat(100_000) + inner + close.repeat(100_000);
  const NESTED = [
    deep("[", "]"),
    deep('{"a":', "}", "1"),
    '{"toString":1,"valueOf":1}',
  ];
  for (const result of NESTED) {
    await using node = startFaultyNode(anvil.url, ({ id, method }) => {
      if (method !== "eth_getBalance" && method !== "debug_traceTransaction") return undefined;
      return new Response(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
    });
    const both = await fixture.open(node.url, anvil.url);
    const { amounts } = await both.balances([{ address: to, contract: null }], null);
    deepEqual(amounts, [5n]);
  }
  // Calls inside of calls, and kinds of calls that are no text.
  for (const type of ['"CALL"', '{"toString":1}']) {
    const trace = deep(`{"type":${type},"value":"0x1","from":{},"calls":[`, "]}");
    await using node = startFaultyNode(anvil.url, ({ id, method }) => {
      if (method !== "debug_traceTransaction") return undefined;
      return new Response(`{"jsonrpc":"2.0","id":${id},"result":${trace}}`);
    });
    const chain = await fixture.open(node.url);
    const found = await chain.search({ hash }, watching([to]));
    deepEqual(found.map(({ amount }) => amount), [5n]);
  }
});

Deno.test("an answer of millions of digits, or with digits that are none, breaks nothing, and another node is asked", async () => {
  await using fixture = await openEvmFixture();
  await fixture.mine();
  const { anvil } = fixture;
  const token = await deployToken(fixture);
  const to = newParty().address;
  const data = CALLS.encodeFunctionData("transfer", [to, 5n]);
  const hash = await anvil.send({ to: token, data });
  const giant = "ab".repeat(8 * 2 ** 20);
  for (const result of [`"0x${giant}zz"`, `"${giant}"`]) {
    await using node = startFaultyNode(anvil.url, ({ id, method, params }) => {
      if (method !== "eth_getCode" || params[0] !== token) return undefined;
      return new Response(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
    });
    const all = await fixture.open(node.url, anvil.url, anvil.url);
    equal((await all.token(token))?.symbol, "PLN");
  }
  await using node = startFaultyNode(anvil.url, async (question) => {
    const { method } = question;
    // deno-lint-ignore no-explicit-any
    const told: any = await passOn(anvil.url, question);
    // A contract's description of itself may be long.
    if (method === "eth_call") return `0x${"61".repeat(2 ** 17)}`;
    if (method !== "eth_getTransactionReceipt" || told.result === null) return told.result;
    const data = `0x${"zz".repeat(32)}`;
    return { ...told.result, logs: told.result.logs.map((log: object) => ({ ...log, data })) };
  });
  const alone = await fixture.open(node.url);
  ok(((await alone.token(token))?.symbol ?? "").length <= 64);
  await failsAs("unavailable", alone.search({ hash }, watching([to])));
});

Deno.test("a node that is down, slow or busy is unavailable, and payments go through another", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, payer, mine } = fixture;
  const slow = startFaultyNode(null, () => new Promise(() => {}));
  await using busy = startFaultyNode(null, () => {
    throw new NodeError(-32005, "too many requests");
  });
  const down = "http://127.0.0.1:9";
  for (const url of [down, slow.url, busy.url]) {
    const alone = await openEvm("ETHEREUM", "main", [url], { limits: { timeoutMs: 300 } });
    await failsAs("unavailable", alone.head());
    alone.close();
  }
  const chain = await fixture.open(down, busy.url, anvil.url);
  const order = pays(payer, newParty().address, 5n);
  const { signed: bytes } = await signed({ ...fixture, chain }, payer, order);
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  await mine();
  const status = await chain.status({ attempts: [bytes], since: 0, depth: 1 });
  equal(status.state, "mined");
  await slow.abort();
});

Deno.test("a node that takes no batches is asked singly", async () => {
  await using fixture = await openEvmFixture();
  await using node = startFaultyNode(fixture.anvil.url);
  node.takesBatches = false;
  const ours = newParty().address;
  await fixture.pay(ours, 5n);
  await fixture.mine(30);
  const chain = await fixture.open(node.url);
  const found = await scanned(chain, 0, 30, watching([ours]));
  deepEqual(found.flatMap(({ transfers }) => transfers).map((one) => one.amount), [5n]);
});

Deno.test("a main network takes one chain id only, a test network any that is no main one", async () => {
  const cases = [
    ["ETHEREUM", "main", 1, true],
    ["ETHEREUM", "main", 11155111, false],
    ["POLYGON", "main", 1, false],
    ["ETHEREUM", "testnet", 11155111, true],
    ["ETHEREUM", "testnet", 424242, true],
    ["ETHEREUM", "testnet", 1, false],
    ["BSC", "testnet", 137, false],
  ] as const;
  for (const [id, network, chainId, fits] of cases) {
    await using anvil = await startAnvil(chainId);
    const chain = await openEvm(id, network, [anvil.url]);
    if (fits) equal((await chain.head()).height, 0);
    else await failsAs("wrong_chain", chain.head());
    chain.close();
  }
  await failsAs("unsupported", openEvm("ETHEREUM", "regtest", ["http://127.0.0.1:9"]));
});

Deno.test("two nodes of one test network must be of the same chain", async () => {
  await using one = await startAnvil(31337);
  await using two = await startAnvil(31338);
  const chain = await openEvm("ETHEREUM", "testnet", [one.url, two.url], { quorum: 1 });
  await chain.head();
  await one.stop();
  await failsAs("wrong_chain", chain.head());
  chain.close();
});

Deno.test("a receipt whose status is neither says nothing: no deposit is passed over, and no payment has failed", async () => {
  await using fixture = await openEvmFixture();
  await fixture.mine();
  const payer = newParty();
  const to = newParty().address;
  await fixture.anvil.send({ to: payer.address, value: 10n ** 18n });
  const { signed: paid } = await signed(fixture, payer, pays(payer, to, 5n));
  await fixture.chain.broadcast(paid);
  await fixture.mine();
  const { height } = await fixture.chain.head();
  let status: unknown;
  await using node = startFaultyNode(fixture.anvil.url, async (question) => {
    if (question.method !== "eth_getTransactionReceipt") return undefined;
    // deno-lint-ignore no-explicit-any
    const { result }: any = await passOn(fixture.anvil.url, question);
    return result && { ...result, status };
  });
  const chain = await fixture.open(node.url);
  for (status of [1e300, "0x2", "yes", true, null, -1, ""]) {
    await failsAs("unavailable", chain.status({ attempts: [paid], since: 0, depth: 1 }));
    await failsAs("unavailable", scanned(chain, height, height, watching([to])));
  }
});

Deno.test("one node of three that refuses, hides a contract or reports an existing one as missing ends no order and delays none", async (t) => {
  await using fixture = await openEvmFixture();
  await fixture.mine();
  await using lying = startFaultyNode(fixture.anvil.url);
  const chain = await fixture.open(lying.url, fixture.anvil.url, fixture.anvil.url);
  const token = await deployToken(fixture);
  const payer = newParty();
  await fixture.anvil.send({ to: payer.address, value: 10n ** 18n });
  await fixture.anvil.send({
    to: token,
    data: CALLS.encodeFunctionData("transfer", [payer.address, 9n]),
  });
  const order = paysToken(payer, token, newParty().address, 5n);
  const holdings = [null, token].map((contract) => ({ address: payer.address, contract }));
  const told = await chain.token(token);
  const refuse = () => {
    throw new NodeError(3, "execution reverted");
  };
  const lies: Record<string, Trick> = {
    // First: one that contradicts others is asked last from then on.
    "its chain is at its first block": ({ method }) =>
      method === "eth_blockNumber" ? "0x0" : undefined,
    "nothing of it": () => undefined,
    "calls revert": ({ method }) => method === "eth_call" ? refuse() : undefined,
    "payments revert": ({ method }) => method === "eth_estimateGas" ? refuse() : undefined,
    "there is no contract": ({ method }) => method === "eth_getCode" ? "0x" : undefined,
    "nothing is held": ({ method }) => method === "eth_getBalance" ? "0x0" : undefined,
    "tokens are none": ({ method }) => method === "eth_call" ? `0x${"0".repeat(64)}` : undefined,
  };
  for (const [name, lie] of Object.entries(lies)) {
    await t.step(name, async () => {
      lying.trick = lie;
      equal((await chain.draft(order, "fast")).lacking, 0n);
      deepEqual(await chain.token(token), told);
      const { height, amounts } = await chain.funds(holdings);
      deepEqual(amounts, [10n ** 18n, 9n]);
      // Else payments that were made long ago would count as on their way.
      equal(height, (await chain.head()).height);
    });
  }
});
