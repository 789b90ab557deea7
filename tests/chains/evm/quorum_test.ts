/** One node's report on blocks, alone among several, hides nothing and invents nothing. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { getBytes, hexlify, SigningKey, Transaction } from "ethers";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openEvm } from "../../../workers/chains/evm/chain.ts";
import { TRANSFER_TOPIC } from "../../../workers/chains/evm/erc20.ts";
import type { Consumed } from "../../../workers/chains/observations.ts";
import { failsAs, scanned, watching } from "../conformance.ts";
import { patientQuorums } from "../../support/held_timers.ts";
import { CALLS, rich } from "../../support/nodes/anvil.ts";
import { type FaultyNode, startFaultyNode, type Trick } from "../../support/nodes/faulty_node.ts";
import { deployToken, type EvmFixture, newParty, openEvmFixture } from "./fixture.ts";

const FAKE = `0x${"ab".repeat(32)}`;
const MADE = `0x${"cd".repeat(32)}`;
// deno-lint-ignore no-explicit-any
type Json = any;

interface Among extends AsyncDisposable {
  fixture: EvmFixture;
  chain: Chain;
  /** In the order of their names. */
  nodes: FaultyNode[];
  lying: FaultyNode;
}

/** A chain behind nodes: "h" is an honest one, "l" one that may lie. */
async function among(names: string, quorum?: number): Promise<Among> {
  const fixture = await openEvmFixture();
  const nodes = [...names].map(() => startFaultyNode(fixture.anvil.url));
  const limits = { timeoutMs: 20_000 };
  const how = quorum === undefined ? { limits } : { limits, quorum };
  const chain = await openEvm("ETHEREUM", "main", nodes.map(({ url }) => url), how);
  return {
    ...{ fixture, chain, nodes, lying: nodes[names.indexOf("l")] },
    async [Symbol.asyncDispose]() {
      chain.close();
      for (const one of nodes) await one.abort();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

/** Knows nothing of a transaction: neither itself, nor its receipt, nor its logs. */
function withholds({ anvil }: EvmFixture, hash: string): Trick {
  return async ({ method, params }) => {
    if (params[0] === hash) return null;
    if (method === "eth_getLogs") return [];
    if (method !== "eth_getBlockByNumber" || params[1] !== true) return undefined;
    const block: Json = await anvil.rpc(method, ...params);
    return block && {
      ...{ ...block, logsBloom: "0x0" },
      transactions: block.transactions.filter((one: Json) => one.hash !== hash),
    };
  };
}

/** Adds a transaction to a block that there is. */
function adds({ anvil }: EvmFixture, height: number, fake: Json): Trick {
  const at = `0x${height.toString(16)}`;
  return async ({ method, params }) => {
    if (params[0] === fake.hash) {
      if (method === "eth_getTransactionByHash") return fake;
      const block: Json = await anvil.rpc("eth_getBlockByNumber", at, false);
      return {
        ...{ transactionHash: fake.hash, blockHash: block.hash, blockNumber: at, from: fake.from },
        ...{ status: "0x1", gasUsed: "0x5208", effectiveGasPrice: "0x1", logs: [] },
      };
    }
    if (method !== "eth_getBlockByNumber" || params[0] !== at || params[1] !== true) return;
    const block: Json = await anvil.rpc(method, ...params);
    return { ...block, transactions: [...block.transactions, fake] };
  };
}

for (const names of ["lh", "hl", "lhh", "hlh", "hhl"]) {
  Deno.test(`a token payment that one node keeps back is seen in its block (nodes ${names})`, async () => {
    using _held = patientQuorums();
    await using one = await among(names);
    const { fixture, chain, lying } = one;
    const token = await deployToken(fixture);
    const ours = newParty().address;
    const data = CALLS.encodeFunctionData("transfer", [ours, 5n]);
    const hash = await fixture.anvil.send({ to: token, data });
    lying.trick = withholds(fixture, hash);
    const { height } = await chain.head();
    const found = await scanned(chain, 0, height, watching([ours]));
    deepEqual(
      found.flatMap(({ transfers }) => transfers.map(({ hash, amount }) => [hash, amount])),
      [[hash, 5n]],
    );
    // A node that is not asked cannot be caught.
    if (names !== "hhl") match(chain.reports().join(), /contradict each other on the transfers/);
  });

  Deno.test(`a payment that one node adds to a block is left out where the quorum denies it (nodes ${names})`, async () => {
    await using one = await among(names);
    const { fixture, chain, lying } = one;
    const ours = newParty().address;
    const hash = await fixture.anvil.send({ to: ours, value: 3n });
    const { height } = await chain.head();
    const from = rich(4).address.toLowerCase();
    const fake = { hash: FAKE, from, to: ours.toLowerCase(), value: "0x309", nonce: "0x0" };
    lying.trick = adds(fixture, height, fake);
    const [{ transfers }] = await scanned(chain, height, height, watching([ours]));
    const extra = names.length === 2 ? [FAKE] : [];
    deepEqual(transfers.map((one) => one.hash), [hash, ...extra]);
    // Of two nodes neither is believed: it is seen, and counts for nothing.
    if (names.length === 2) await failsAs("unavailable", chain.recheck(transfers[1]));
  });

  Deno.test(`a nonce that one node says is used up is not, without a signature (nodes ${names})`, async () => {
    await using one = await among(names);
    const { fixture, chain, lying } = one;
    const ours = newParty().address;
    await fixture.anvil.mine(1);
    const { height } = await chain.head();
    const from = ours.toLowerCase();
    lying.trick = adds(fixture, height, { hash: FAKE, from, to: from, value: "0x0", nonce: "0x7" });
    const watch = { ...watching([ours]), inputs: new Set([`${ours}:7`]) };
    const [{ consumed }] = await scanned(chain, height, height, watch);
    deepEqual(consumed, []);
  });

  Deno.test(`a nonce that one node keeps back is used up: the signature proves it (nodes ${names})`, async () => {
    await using one = await among(names);
    const { fixture, chain, lying } = one;
    const ours = newParty();
    await fixture.anvil.send({ to: ours.address, value: 10n ** 18n });
    const hash = await signed(fixture, ours);
    lying.trick = withholds(fixture, hash);
    const { height } = await chain.head();
    const input = `${ours.address}:0`;
    const watch = { ...watching([ours.address]), inputs: new Set([input]) };
    const [{ consumed }] = await scanned(chain, height, height, watch);
    // Of two nodes the other one does not show it in the block.
    const few = names.length === 2 ? { few: true as const } : {};
    deepEqual(consumed, [{ input, hash, ...few }] satisfies Consumed[]);
  });
}

/** Sends a transaction of a new key, and mines it. */
async function signed({ anvil }: EvmFixture, { key }: { key: Uint8Array }): Promise<string> {
  const one = Transaction.from({
    ...{ type: 2, chainId: 1, nonce: 0, to: rich(3).address, value: 1n, gasLimit: 21_000n },
    ...{ maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n },
  });
  one.signature = new SigningKey(hexlify(getBytes(key))).sign(one.unsignedHash);
  await anvil.rpc("eth_sendRawTransaction", one.serialized);
  await anvil.mine();
  return one.hash!;
}

for (const [names, quorum] of [["llh", 2], ["lh", 1]] as const) {
  Deno.test(`logs that all asked nodes lack, and the bloom filter permits, are asked of the others (${quorum} of ${names.length})`, async () => {
    await using one = await among(names, quorum);
    const { fixture, chain, nodes } = one;
    const token = await deployToken(fixture);
    const ours = newParty().address;
    const data = CALLS.encodeFunctionData("transfer", [ours, 5n]);
    const hash = await fixture.anvil.send({ to: token, data });
    const { height } = await chain.head();
    for (const lagging of nodes.slice(0, quorum)) {
      lagging.trick = ({ method }) => method === "eth_getLogs" ? [] : undefined;
    }
    const [{ transfers }] = await scanned(chain, height, height, watching([ours]));
    deepEqual(transfers.map((found) => found.hash), [hash]);
    // Where the filter rules a log out, nobody else is bothered.
    const asked = nodes[quorum].asked.length;
    const other = newParty().address;
    const [empty] = await scanned(chain, height, height, watching([other]));
    deepEqual([empty.transfers, nodes[quorum].asked.length], [[], asked]);
  });
}

/** Tells another amount and another payer of a token payment, in its logs and its receipt. */
function distorts({ anvil }: EvmFixture, hash: string, payer: string): Trick {
  const wrong = (log: Json): Json => {
    if (log.transactionHash !== hash) return log;
    const [topic, , payee] = log.topics;
    const from = `0x${payer.slice(2).toLowerCase().padStart(64, "0")}`;
    return { ...log, topics: [topic, from, payee], data: `0x${"1".padStart(64, "0")}` };
  };
  return async ({ method, params }) => {
    if (method === "eth_getTransactionReceipt" && params[0] === hash) {
      const receipt: Json = await anvil.rpc(method, ...params);
      return receipt && { ...receipt, logs: receipt.logs.map(wrong) };
    }
    if (method !== "eth_getLogs") return undefined;
    return (await anvil.rpc<Json[]>(method, ...params)).map(wrong);
  };
}

for (const names of ["lhh", "hlh"]) {
  Deno.test(`a payment that one node distorts is recorded as the quorum reports it (nodes ${names})`, async () => {
    await using one = await among(names);
    const { fixture, chain, nodes, lying } = one;
    const token = await deployToken(fixture);
    const [ours, other] = [newParty().address, newParty().address];
    const data = CALLS.encodeFunctionData("transfer", [ours, 5n]);
    const hash = await fixture.anvil.send({ to: token, data });
    const { height } = await chain.head();
    lying.trick = distorts(fixture, hash, other);
    hurry(nodes, lying);
    const [{ transfers }] = await scanned(chain, height, height, watching([ours]));
    deepEqual(transfers.map(({ amount, from }) => [amount, from === other]), [[5n, false]]);
  });

  Deno.test(`payments that one node makes up crowd none out (nodes ${names})`, async () => {
    await using one = await among(names);
    const { fixture, chain, nodes, lying } = one;
    const ours = newParty().address;
    const hash = await fixture.anvil.send({ to: ours, value: 3n });
    const { height } = await chain.head();
    const from = rich(4).address.toLowerCase();
    const fakes = Array.from({ length: 100 }, (_, at) => ({
      ...{ hash: `0x${at.toString(16).padStart(64, "e")}`, from, to: ours.toLowerCase() },
      ...{ value: "0x309", nonce: "0x0" },
    }));
    lying.trick = invents(fixture, { height, hash, fakes });
    hurry(nodes, lying);
    const [{ transfers }] = await scanned(chain, height, height, watching([ours]));
    deepEqual(transfers.map((found) => found.hash), [hash]);
  });
}

/** Makes a lying node answer before the others. */
function hurry(nodes: readonly FaultyNode[], lying: FaultyNode): void {
  const methods = ["eth_getLogs", "eth_getBlockByNumber"];
  for (const one of nodes.filter((each) => each !== lying)) {
    one.trick = async ({ method }) => {
      if (methods.includes(method)) await new Promise((done) => setTimeout(done, 100));
      return undefined;
    };
  }
}

/** Puts payments that it made up in the place of a payment. */
function invents(
  { anvil }: EvmFixture,
  { height, hash, fakes }: { height: number; hash: string; fakes: readonly Json[] },
): Trick {
  const at = `0x${height.toString(16)}`;
  return async ({ method, params }) => {
    const fake = fakes.find((one) => one.hash === params[0]);
    if (params[0] === hash) return null;
    const block: Json = await anvil.rpc("eth_getBlockByNumber", at, true);
    const receiptOf = (one: Json) => ({
      ...{ transactionHash: one.hash, blockHash: block.hash, blockNumber: at, from: one.from },
      ...{ status: "0x1", gasUsed: "0x5208", effectiveGasPrice: "0x1", logs: [] },
    });
    if (method === "eth_getBlockReceipts") return fakes.map(receiptOf);
    if (fake) return method === "eth_getTransactionByHash" ? fake : receiptOf(fake);
    if (method !== "eth_getBlockByNumber" || params[0] !== at || params[1] !== true) return;
    return { ...block, transactions: fakes };
  };
}

for (const names of ["lhh", "hlh", "hhl"]) {
  Deno.test(`one node of three that reports another block is not followed (nodes ${names})`, async () => {
    await using one = await among(names);
    const { fixture, chain, lying } = one;
    await fixture.anvil.mine(6);
    const honest = await chain.block(3);
    lying.trick = async ({ method, params }) => {
      if (method !== "eth_getBlockByNumber" || params[0] !== "0x3") return undefined;
      const block: Json = await fixture.anvil.rpc(method, ...params);
      return { ...block, hash: MADE };
    };
    equal((await chain.block(3))?.hash, honest!.hash);
    const found = await scanned(chain, 3, 3, watching([newParty().address]));
    deepEqual(found.map(({ block }) => block.hash), [honest!.hash]);
  });
}

Deno.test("of two nodes that tell different blocks neither is followed", async () => {
  await using one = await among("lh");
  const { fixture, chain, lying } = one;
  await fixture.anvil.mine(6);
  await chain.head();
  lying.trick = async ({ method, params }) => {
    if (method !== "eth_getBlockByNumber" || params[0] !== "0x3") return undefined;
    return { ...await fixture.anvil.rpc<Json>(method, ...params), hash: MADE };
  };
  await failsAs("unavailable", chain.block(3));
  await failsAs("unavailable", scanned(chain, 3, 3, watching([newParty().address])));
});

Deno.test("while one of two nodes is away nothing is followed, and no nonce counts as used up", async () => {
  await using one = await among("lh");
  const { fixture, chain, lying, nodes } = one;
  const ours = newParty().address;
  await fixture.anvil.mine(2);
  const { height } = await chain.head();
  const from = ours.toLowerCase();
  lying.trick = adds(fixture, height, { hash: FAKE, from, to: from, value: "0x0", nonce: "0x7" });
  await nodes[1].abort();
  const watch = { ...watching([ours]), inputs: new Set([`${ours}:7`]) };
  await failsAs("unavailable", scanned(chain, height, height, watch));
  await failsAs("unavailable", chain.block(height));
  await failsAs("unavailable", chain.head());
});

for (const names of ["lh", "lhh"]) {
  Deno.test(`a payment that one node invents has none of our addresses as its sender (nodes ${names})`, async () => {
    await using one = await among(names);
    const { fixture, chain, lying } = one;
    const [ours, ramp] = [newParty().address, newParty().address];
    await fixture.anvil.mine(1);
    const { height } = await chain.head();
    const fake = { hash: FAKE, from: ramp, to: ours.toLowerCase(), value: "0x309", nonce: "0x0" };
    lying.trick = adds(fixture, height, fake);
    const [{ transfers }] = await scanned(chain, height, height, watching([ours, ramp]));
    const wanted = names === "lh" ? [[FAKE, null]] : [];
    deepEqual(transfers.map(({ hash, from }) => [hash, from]), wanted);
    // A search for one transaction finds as little of it.
    const found = await chain.search({ hash: FAKE }, watching([ours, ramp]));
    deepEqual(found.map(({ hash, from }) => [hash, from]), wanted);
  });
}

Deno.test("a node that invents payments is reported and asked after the others", async () => {
  using _held = patientQuorums();
  await using one = await among("lhh");
  const { fixture, chain, lying } = one;
  const ours = newParty().address;
  const hash = await fixture.anvil.send({ to: ours, value: 3n });
  const { height } = await chain.head();
  const from = rich(4).address.toLowerCase();
  const fakes = Array.from({ length: 500 }, (_, at) => ({
    ...{ hash: `0x${at.toString(16).padStart(64, "e")}`, from, to: ours.toLowerCase() },
    ...{ value: "0x309", nonce: "0x0" },
  }));
  lying.trick = invents(fixture, { height, hash, fakes });
  const scan = () => scanned(chain, height, height, watching([ours]));
  const [{ transfers }] = await scan();
  deepEqual(transfers.map((found) => found.hash), [hash]);
  match(chain.reports().join(), /reports payments in the blocks .* that do not exist/);
  // Of all that it told only some were asked for.
  const asked = one.nodes[1].asked.filter((method) => method === "eth_getTransactionReceipt");
  ok(asked.length <= 100, `${asked.length}`);
  const before = lying.asked.length;
  deepEqual((await scan())[0].transfers.map((found) => found.hash), [hash]);
  equal(lying.asked.length, before);
});

/** Tells logs of transactions that it makes up, in a block that there is. */
function claims({ anvil }: EvmFixture, height: number, token: string, to: string): Trick {
  return async ({ method, params }) => {
    if (method !== "eth_getLogs") return undefined;
    const at = `0x${height.toString(16)}`;
    const block: Json = await anvil.rpc("eth_getBlockByNumber", at, false);
    if ((params[0] as Json).blockHash !== block.hash) return [];
    const payee = `0x${to.slice(2).toLowerCase().padStart(64, "0")}`;
    return Array.from({ length: 1000 }, (_, number) => ({
      ...{ address: token, data: `0x${"1".padStart(64, "0")}`, blockHash: block.hash },
      topics: [TRANSFER_TOPIC, payee, payee],
      transactionHash: `0x${number.toString(16).padStart(64, "e")}`,
    }));
  };
}

for (const [names, lagging] of [["lhh", 0], ["hhl", 2]] as const) {
  Deno.test(`a node that reports logs without end is not asked for each of them (nodes ${names})`, async () => {
    await using one = await among(names);
    const { fixture, chain, nodes, lying } = one;
    const token = await deployToken(fixture);
    const ours = newParty().address;
    const data = CALLS.encodeFunctionData("transfer", [ours, 5n]);
    const hash = await fixture.anvil.send({ to: token, data });
    const { height } = await chain.head();
    for (const node of nodes.slice(0, lagging)) {
      node.trick = ({ method }) => method === "eth_getLogs" ? [] : undefined;
    }
    lying.trick = claims(fixture, height, token, ours);
    const [{ transfers }] = await scanned(chain, height, height, watching([ours]));
    deepEqual(transfers.map((found) => found.hash), lagging === 0 ? [hash] : []);
    ok(!lying.asked.includes("eth_getTransactionReceipt"));
  });
}

Deno.test("a node that hides the bloom filter of a block hides no logs that others are asked for", async () => {
  await using one = await among("llh");
  const { fixture, chain, nodes } = one;
  const token = await deployToken(fixture);
  const ours = newParty().address;
  const data = CALLS.encodeFunctionData("transfer", [ours, 5n]);
  const hash = await fixture.anvil.send({ to: token, data });
  const { height } = await chain.head();
  nodes[0].trick = async ({ method, params }) => {
    if (method === "eth_getLogs") return [];
    if (method !== "eth_getBlockByNumber" || params[1] !== true) return undefined;
    const block: Json = await fixture.anvil.rpc(method, ...params);
    return { ...block, logsBloom: `0x${"0".repeat(512)}` };
  };
  // The second one's index of logs only lags.
  nodes[1].trick = ({ method }) => method === "eth_getLogs" ? [] : undefined;
  const [{ transfers }] = await scanned(chain, height, height, watching([ours]));
  deepEqual(transfers.map((found) => found.hash), [hash]);
});
