import { deepEqual, equal, ok } from "node:assert/strict";
import { hexlify } from "ethers";
import product from "../../../workers/chains/evm/token/Token.json" with { type: "json" };
import { topicOf, TRANSFER_TOPIC } from "../../../workers/chains/evm/erc20.ts";
import { failsAs, scanned, watching } from "../conformance.ts";
import { CALLS, rich } from "../../support/nodes/anvil.ts";
import { NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import strange from "../../support/contracts/Strange.json" with { type: "json" };
import tether from "../../support/contracts/Tether.json" with { type: "json" };
import { deployToken, type EvmFixture, newParty, openEvmFixture } from "./fixture.ts";

const CELO_TOKEN = "0x471EcE3750Da237f93B8E339c536989b8978a438";
const POLYGON_ECHO = "0x0000000000000000000000000000000000001010";

Deno.test("a thousand payments in one block are each found once", async () => {
  await using fixture = await openEvmFixture("ETHEREUM", "main", "--gas-limit", "100000000");
  const { anvil, chain } = fixture;
  const ours = Array.from({ length: 1000 }, newParty).map(({ address }) => address);
  const token = await deployToken(fixture);
  const batcher = await anvil.deploy("Batcher");
  await anvil.send({
    to: token,
    data: CALLS.encodeFunctionData("transfer", [batcher, 10n ** 20n]),
  });
  for (const part of [ours.slice(0, 500), ours.slice(500)]) {
    await anvil.pool({
      to: batcher,
      data: CALLS.encodeFunctionData("payToken", [token, part, 7n]),
    });
  }
  for (const to of ours.slice(0, 100)) {
    await anvil.rpc("eth_sendTransaction", {
      from: rich(2).address,
      to,
      value: "0x5",
      gas: "0x5208",
    });
  }
  await anvil.mine();
  const { height } = await chain.head();
  const [{ transfers }] = await scanned(chain, height, height, watching(ours));
  const tokens = transfers.filter((one) => one.contract === token);
  equal(tokens.length, 1000);
  deepEqual(tokens.map((one) => one.to).sort(), ours.toSorted());
  equal(new Set(transfers.map((one) => `${one.hash} ${one.index}`)).size, 1100);
  const coins = transfers.filter((one) => one.contract === null);
  deepEqual(
    coins.map((one) => [one.to, one.amount, one.index]).sort(),
    [
      ...ours.slice(0, 100).map((to) => [to, 5n, -1]),
    ].sort(),
  );
});

Deno.test("coins paid from inside a contract are found by search, those of a failed call not", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain } = fixture;
  const batcher = await anvil.deploy("Batcher");
  const [one, two] = [newParty().address, newParty().address];
  const watch = watching([one, two]);
  const data = CALLS.encodeFunctionData("payCoin", [[one, two, one], 10n]);
  const hash = await anvil.send({ to: batcher, value: 30n, data });
  const failed = await anvil.send({
    to: batcher,
    value: 99n,
    data: CALLS.encodeFunctionData("swallowFailure", [one]),
  });
  const { height } = await chain.head();
  deepEqual((await scanned(chain, 1, height, watch)).flatMap(({ transfers }) => transfers), []);
  const found = await chain.search({ hash }, watch);
  deepEqual(found.map(({ index, to, amount, from }) => [index, to, amount, from]), [
    [-2, one, 20n, batcher],
    [-2, two, 10n, batcher],
  ]);
  deepEqual(await chain.search({ height: height - 1 }, watch), found);
  deepEqual(await chain.search({ hash: failed }, watch), []);
  deepEqual(await chain.recheck(found[1]), { transfer: found[1], received: 10n, proven: true });
  const holdings = [one, two].map((address) => ({ address, contract: null }));
  deepEqual((await chain.balances(holdings, height - 1)).amounts, [20n, 10n]);
  deepEqual((await chain.balances(holdings, height - 2)).amounts, [0n, 0n]);
});

Deno.test("without traces a search still finds values and logs, and recheck() of a call waits", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain } = fixture;
  const batcher = await anvil.deploy("Batcher");
  const ours = newParty().address;
  const watch = watching([ours]);
  const hash = await anvil.send({
    to: batcher,
    value: 10n,
    data: CALLS.encodeFunctionData("payCoin", [[ours], 10n]),
  });
  const [call] = await chain.search({ hash }, watch);
  await using poor = startFaultyNode(anvil.url, ({ method }) => {
    if (method.startsWith("debug_")) throw new NodeError(-32601, "the method does not exist");
  });
  const without = await fixture.open(poor.url);
  deepEqual(await without.search({ hash }, watch), []);
  deepEqual(await without.search({ height: (await chain.head()).height }, watch), []);
  // Its balances show what came by calls.
  equal((await without.recheck(call))?.received, 10n);
  poor.trick = ({ method, params }) => {
    const old = method === "eth_getBalance" && params[1] !== "latest";
    if (old || method.startsWith("debug_")) throw new NodeError(-32000, "missing trie node");
  };
  // Gone it must not be called, for it is there.
  await failsAs("unavailable", without.recheck(call));
});

Deno.test("a failed transaction brings nothing, and neither does a log without a token", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain } = fixture;
  const [token, echo] = [await anvil.deploy("Silent"), await anvil.deploy("Echo")];
  const ours = newParty().address;
  const tooMuch = CALLS.encodeFunctionData("transfer", [ours, 10n ** 31n]);
  const reverted = await anvil.send({ to: token, data: tooMuch });
  equal((await receipt(fixture, reverted)).status, "0x0");
  await anvil.send({ to: echo, data: CALLS.encodeFunctionData("shout", [ours, 5n]) });
  await anvil.send({ to: token, data: CALLS.encodeFunctionData("transfer", [ours, 0n]) });
  const registered = { ...watching([ours]), contracts: new Set([token]) };
  const { height } = await chain.head();
  const found = await scanned(chain, 1, height, registered);
  deepEqual(found.flatMap(({ transfers }) => transfers), []);
  const every = await scanned(chain, 1, height, watching([ours]));
  deepEqual(every.flatMap(({ transfers }) => transfers).map((one) => one.contract), [echo]);
  const none = { ...watching([ours]), contracts: new Set<string>() };
  deepEqual((await scanned(chain, 1, height, none)).flatMap(({ transfers }) => transfers), []);
});

Deno.test("coins count with data beside them, and not when the receiver threw them back", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain } = fixture;
  const ours = newParty().address;
  const contract = await anvil.deploy("Silent"); // watched from outside; takes no coins
  const paid = await anvil.send({ to: ours, value: 5n, data: "0x1234" });
  const thrown = await anvil.send({ to: contract, value: 7n });
  equal((await receipt(fixture, thrown)).status, "0x0");
  const { height } = await chain.head();
  const found = await scanned(chain, 1, height, watching([ours, contract]));
  deepEqual(found.flatMap(({ transfers }) => transfers).map((one) => [one.hash, one.amount]), [
    [paid, 5n],
  ]);
  deepEqual(await chain.search({ hash: thrown }, watching([contract])), []);
});

Deno.test("a payment of an address to itself is no gain", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain } = fixture;
  const token = await deployToken(fixture);
  const { address } = rich(0);
  await anvil.send({ to: address, value: 5n });
  await anvil.send({ to: token, data: CALLS.encodeFunctionData("transfer", [address, 5n]) });
  const { height } = await chain.head();
  const found = await scanned(chain, 2, height, watching([address]));
  deepEqual(found.flatMap(({ transfers }) => transfers), []);
});

Deno.test("a token payment that moves to another place in another block keeps its identity", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain } = fixture;
  const token = await anvil.deploy("Silent");
  const [ours, other] = [newParty().address, newParty().address];
  await anvil.pool({ to: token, data: CALLS.encodeFunctionData("transfer", [other, 5n]) });
  await anvil.pool({ to: token, data: CALLS.encodeFunctionData("transfer", [ours, 5n]) });
  await anvil.mine(2);
  const height = (await chain.head()).height - 1;
  const [{ transfers: [before] }] = await scanned(chain, height, height, watching([ours]));
  const raws: string[] = await Promise.all(
    (await block(fixture, height)).transactions.map((hash: string) =>
      anvil.rpc<string>("eth_getRawTransactionByHash", hash)
    ),
  );
  await anvil.rpc("anvil_reorg", 2, [[raws[0], 0], [raws[1], 1]]);
  const later = await scanned(chain, height, (await chain.head()).height, watching([ours]));
  const [after] = later.flatMap(({ transfers }) => transfers);
  deepEqual([after.hash, after.index], [before.hash, before.index]);
  ok(after.block?.hash !== before.block?.hash);
});

Deno.test("Celo's coin, which is a token too, is counted once", async () => {
  await using fixture = await openEvmFixture("CELO", "main", "--celo");
  const { anvil, chain } = fixture;
  const code = await anvil.deploy("CoinToken");
  await anvil.rpc("anvil_setCode", CELO_TOKEN, await anvil.rpc("eth_getCode", code, "latest"));
  const ours = newParty().address;
  const byToken = await anvil.send({
    to: CELO_TOKEN,
    data: CALLS.encodeFunctionData("transfer", [ours, 40n]),
  });
  const byValue = await anvil.send({ to: ours, value: 2n });
  const { height } = await chain.head();
  // Nobody registered the coin's contract as a token; it counts all the same.
  const watch = { ...watching([ours]), contracts: new Set<string>() };
  const found = (await scanned(chain, 1, height, watch)).flatMap(({ transfers }) => transfers);
  deepEqual(found.map(({ hash, index, contract, amount }) => [hash, index, contract, amount]), [
    [byToken, 0, null, 40n],
    [byValue, -1, null, 2n],
  ]);
  const balance = await chain.balances([{ address: ours, contract: null }], null);
  deepEqual(balance.amounts, [42n]);
  const checked = await chain.recheck(found[0]);
  equal(checked?.received, 40n);
});

Deno.test("a payment that Celo shows as value and as log is counted once", async () => {
  await using fixture = await openEvmFixture("CELO", "main", "--celo");
  const { anvil } = fixture;
  const ours = newParty().address;
  const hash = await anvil.send({ to: ours, value: 2n });
  await using node = startFaultyNode(anvil.url, async ({ method, params }) => {
    if (method === "eth_getBlockByNumber" && params[1] === true) {
      const block: object | null = await anvil.rpc(method, ...params);
      return block && { ...block, logsBloom: "0x1" };
    }
    const receipt: object = await anvil.rpc("eth_getTransactionReceipt", hash);
    const log = {
      ...receipt,
      address: CELO_TOKEN,
      topics: [TRANSFER_TOPIC, topicOf(rich(0).address), topicOf(ours)],
      data: `0x${"2".padStart(64, "0")}`,
    };
    if (method === "eth_getLogs") return [log];
    if (method === "eth_getTransactionReceipt") return { ...receipt, logs: [log] };
  });
  const chain = await fixture.open(node.url);
  const [{ transfers }] = await scanned(chain, 1, 1, watching([ours]));
  deepEqual(transfers.map(({ index, amount }) => [index, amount]), [[-1, 2n]]);
});

Deno.test("a payment by a transaction that the node does not list is found by its log", async () => {
  await using fixture = await openEvmFixture("POLYGON");
  const { anvil } = fixture;
  const token = await deployToken(fixture);
  const ours = newParty().address;
  const data = CALLS.encodeFunctionData("transfer", [ours, 5n]);
  const hash = await anvil.send({ to: token, data });
  await using node = startFaultyNode(anvil.url, async ({ method, params }) => {
    if (method === "eth_getTransactionByHash") return null;
    if (method !== "eth_getBlockByNumber" || params[1] !== true) return undefined;
    return { ...await anvil.rpc<object>(method, ...params), transactions: [] };
  });
  const chain = await fixture.open(node.url);
  const { height } = await chain.head();
  const [{ transfers: [transfer] }] = await scanned(chain, height, height, watching([ours]));
  deepEqual([transfer.hash, transfer.amount, transfer.contract], [hash, 5n, token]);
  equal((await chain.recheck(transfer))?.received, 5n);
});

Deno.test("Polygon's own echo of coin payments is no token", async () => {
  await using fixture = await openEvmFixture("POLYGON");
  const { anvil, chain } = fixture;
  const echo = await anvil.deploy("Echo");
  await anvil.rpc("anvil_setCode", POLYGON_ECHO, await anvil.rpc("eth_getCode", echo, "latest"));
  const ours = newParty().address;
  await anvil.send({ to: POLYGON_ECHO, data: CALLS.encodeFunctionData("shout", [ours, 5n]) });
  const { height } = await chain.head();
  const found = await scanned(chain, 1, height, watching([ours]));
  deepEqual(found.flatMap(({ transfers }) => transfers), []);
});

Deno.test("a long way behind, a scan asks for few blocks at a time", async () => {
  await using fixture = await openEvmFixture();
  const { anvil } = fixture;
  const ours = newParty().address;
  await anvil.send({ to: ours, value: 3n });
  await anvil.mine(700);
  await anvil.send({ to: ours, value: 4n });
  await using faulty = startFaultyNode(anvil.url);
  const chain = await fixture.open(faulty.url);
  const { height } = await chain.head();
  let most = 0;
  const amounts: bigint[] = [];
  for await (const { transfers } of chain.scan(0, height, watching([ours]))) {
    most = Math.max(most, faulty.asked.length);
    faulty.asked.length = 0;
    amounts.push(...transfers.map((one) => one.amount));
  }
  deepEqual(amounts, [3n, 4n]);
  ok(most < 40, `${most} questions at once`);
});

Deno.test("a node that lags behind its own head is unavailable; no deposit is skipped", async () => {
  await using fixture = await openEvmFixture();
  const { anvil } = fixture;
  const token = await anvil.deploy("Silent");
  const ours = newParty().address;
  await anvil.send({ to: token, data: CALLS.encodeFunctionData("transfer", [ours, 5n]) });
  await using lagging = startFaultyNode(anvil.url);
  const chain = await fixture.open(lagging.url);
  const { height } = await chain.head();
  const scan = () => scanned(chain, height, height, watching([ours]));
  lagging.trick = ({ method }) => method === "eth_getBlockByNumber" ? null : undefined;
  await failsAs("unavailable", scan());
  // A load balancer may ask one node for the block and another, which lags, for the logs.
  lagging.trick = ({ method, params: [filter] }) => {
    if (method !== "eth_getLogs") return undefined;
    if (typeof filter === "object" && filter !== null && "blockHash" in filter) {
      throw new NodeError(-32000, "unknown block");
    }
    return [];
  };
  await failsAs("unavailable", scan());
  lagging.trick = ({ method }) => method === "eth_getTransactionReceipt" ? null : undefined;
  await failsAs("unavailable", scan());
  lagging.trick = () => undefined;
  equal((await scan())[0].transfers.length, 1);
});

Deno.test("a node that changes its chain between two questions is not believed", async () => {
  await using fixture = await openEvmFixture();
  const { anvil } = fixture;
  await anvil.mine(40);
  await using turning = startFaultyNode(anvil.url);
  const chain = await fixture.open(turning.url);
  turning.trick = async ({ method, params }) => {
    if (method !== "eth_getBlockByNumber" || params[0] !== "0x10") return undefined;
    await anvil.rpc("anvil_reorg", 30, []);
    return undefined;
  };
  await failsAs("unavailable", scanned(chain, 1, 40, watching([newParty().address])));
});

Deno.test("a receipt of another block than the one read is not believed", async () => {
  await using fixture = await openEvmFixture();
  const { anvil } = fixture;
  const ours = newParty().address;
  const hash = await anvil.send({ to: ours, value: 4n });
  await using torn = startFaultyNode(anvil.url, async ({ method, params }) => {
    if (method !== "eth_getTransactionReceipt") return undefined;
    return { ...await anvil.rpc<object>(method, ...params), blockHash: `0x${"1".repeat(64)}` };
  });
  const chain = await fixture.open(torn.url);
  await failsAs("unavailable", scanned(chain, 1, 1, watching([ours])));
  await failsAs("unavailable", chain.search({ hash }, watching([ours])));
});

Deno.test("compiled contracts belong to the sources beside them", async () => {
  const tools = {
    "tests/support/contracts/Strange.sol": strange,
    "tests/support/contracts/Tether.sol": tether,
    "workers/chains/evm/token/Token.sol": product,
  };
  for (const [path, { built }] of Object.entries(tools)) {
    const source = await Deno.readFile(new URL(`../../../${path}`, import.meta.url));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", source));
    equal(`0x${built.sourceSha256}`, hexlify(digest), `${path} was changed: ${built.command}`);
  }
});

async function receipt({ anvil }: EvmFixture, hash: string): Promise<{ status: string }> {
  return await anvil.rpc("eth_getTransactionReceipt", hash);
}

async function block({ anvil }: EvmFixture, height: number): Promise<{ transactions: string[] }> {
  return await anvil.rpc("eth_getBlockByNumber", `0x${height.toString(16)}`, false);
}
