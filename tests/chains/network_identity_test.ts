/** Which of several networks the nodes of a chain are of: they decide it together, and once. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { ChainError } from "../../workers/chains/chain.ts";
import { openEvm } from "../../workers/chains/evm/chain.ts";
import { openCoins } from "../../workers/chains/bitcoin/chain.ts";
import { openSolana } from "../../workers/chains/solana/chain.ts";
import { rich, startAnvil } from "../support/nodes/anvil.ts";
import { type FaultyNode, startFaultyNode, type Trick } from "../support/nodes/faulty_node.ts";
import { hasLitecoind, startLitecoind } from "../support/nodes/litecoind.ts";
import { startSurfpool } from "../support/nodes/surfpool.ts";
import { openTronPlay } from "./tron/fixture.ts";
import { failsAs } from "./conformance.ts";
import { newParty, openEvmFixture } from "./evm/fixture.ts";

const OTHER_ID = 0x1234;
const lies: Trick = ({ method }) =>
  method === "eth_chainId" ? `0x${OTHER_ID.toString(16)}` : undefined;

Deno.test("a preferred node that lies about its test network decides it for no other: a payment is signed for that of the others", async () => {
  await using fixture = await openEvmFixture("ETHEREUM", "testnet");
  const nodes = [lies, undefined, undefined].map((trick) =>
    startFaultyNode(fixture.anvil.url, trick)
  );
  const [lying] = nodes;
  const chain = await openEvm("ETHEREUM", "testnet", nodes.map(({ url }) => url));
  await fixture.mine(3);
  equal((await chain.head()).height, 3);
  const { address } = newParty();
  const draft = await chain.draft({
    ...{ kind: "pay", from: rich(0).address, contract: null },
    payments: [{ to: address, amount: 1n }],
  }, "medium");
  const { body } = chain.plan(draft, { nonce: 0 });
  match(JSON.stringify(body), /31337/);
  equal(lying.asked.every((method) => method === "eth_chainId"), true);
  for (const one of nodes) await one.abort();
  chain.close();
});

Deno.test("nodes that tell different test networks are none that counts, and what was decided stays", async () => {
  await using anvil = await startAnvil(31337);
  const nodes = [lies, undefined].map((trick) => startFaultyNode(anvil.url, trick));
  const [lying, honest] = nodes;
  const chain = await openEvm("ETHEREUM", "testnet", nodes.map(({ url }) => url));
  await rejects(chain.head(), (error: unknown) => {
    match(String(error), /1 of 2 nodes confirm which network ETHEREUM testnet is, 2 must/);
    match(String(error), /is of 4660.*is of 31337/);
    return error instanceof ChainError && error.fault === "unavailable";
  });
  lying.trick = () => undefined;
  equal((await chain.head()).height, 0);
  // Both are exchanged for nodes of another network, after a failure.
  for (const one of nodes) one.trick = () => new Response("", { status: 502 });
  await failsAs("unavailable", chain.head());
  for (const one of nodes) one.trick = lies;
  await failsAs("wrong_chain", chain.head());
  for (const one of nodes) one.trick = () => undefined;
  equal((await chain.head()).height, 0);
  chain.close();
  await lying.abort();
  await honest.abort();
});

Deno.test("Solana: the first block of a network that is not the public one is decided by as many nodes as the quorum", async () => {
  await using node = await startSurfpool();
  const other: Trick = ({ method }) => method === "getGenesisHash" ? "1".repeat(32) : undefined;
  const nodes: FaultyNode[] = [other, undefined, undefined].map((trick) =>
    startFaultyNode(node.url, trick)
  );
  for (const [network, genesisHash] of [["testnet", null], ["main", "any"]] as const) {
    const chain = await openSolana(network, nodes.map(({ url }) => url), { genesisHash });
    const { height, finalized } = await chain.head();
    equal(finalized, height);
    chain.close();
  }
  equal(nodes[0].asked.every((method) => method === "getGenesisHash"), true);
  for (const one of nodes) await one.abort();
});

Deno.test("Tron: the first block of a network that is not the public one is decided by as many nodes as the quorum", async () => {
  await using play = await openTronPlay();
  const [lying, second, third] = [play.node.peer(), play.node.peer(), play.node.peer()];
  lying.trick = ({ path, body }) =>
    path === "wallet/getblock" && body.id_or_num === "0"
      ? { blockID: `${"0".repeat(16)}${"ab".repeat(24)}` }
      : undefined;
  const chain = await play.open([lying.url, second.url, third.url]);
  await play.node.mine(3);
  equal((await chain.head()).height, (await play.chain.head()).height);
});

Deno.test({
  name:
    "LTC: the first block of a network that is not a public one is decided by as many nodes as the quorum",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using node = await startLitecoind();
    const other: Trick = ({ method, params: [height] }) =>
      method === "getblockhash" && height === 0 ? "ab".repeat(32) : undefined;
    const nodes = [other, undefined, undefined].map((trick) => startFaultyNode(node.url, trick));
    const chain = await openCoins("LITECOIN", "regtest", nodes.map(({ url }) => url));
    equal((await chain.head()).height, await node.rpc<number>("getblockcount"));
    deepEqual([...new Set(nodes[0].asked)], ["getblockchaininfo", "getblockhash"]);
    chain.close();
    for (const one of nodes) await one.abort();
  },
});
