import { deepEqual, equal, notEqual } from "node:assert/strict";
import { GENESIS_HASHES } from "../../../workers/chains/solana/networks.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import { failsAs } from "../conformance.ts";
import { startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { startSurfpool } from "../../support/nodes/surfpool.ts";

const OTHER = "11111111111111111111111111111112";

Deno.test("the newest block of Solana is the newest final one, and a skipped slot has none", async () => {
  await using node = await startSurfpool();
  const chain = await openSolana("testnet", [node.url]);
  const before = await chain.head();
  equal(before.finalized, before.height);
  await node.pay(OTHER, 1_000_000n);
  equal((await chain.head()).height, before.height, "an executed block is not final yet");
  await node.skip(3);
  await node.mine(5);
  const head = await chain.head();
  notEqual(head.height, before.height);
  const blocks = [];
  for (let at = before.height; at <= head.height + 1; at++) blocks.push(await chain.block(at));
  deepEqual(
    blocks.map((block) => block?.height ?? null),
    [0, 1, null, null, null, 5, null].map((at) => at === null ? null : before.height + at),
  );
  const there = blocks.flatMap((block) => block ?? []);
  deepEqual(
    there.slice(1).map((one) => one.parentHash),
    there.slice(0, -1).map(({ hash }) => hash),
  );
  // The newest slots may be skipped too.
  await node.skip(2);
  chain.close();
});

Deno.test("a node of another Solana network is refused, by its first block", async () => {
  await using node = await startSurfpool();
  await using main = startFaultyNode(
    node.url,
    ({ method }) => method === "getGenesisHash" ? GENESIS_HASHES.main : undefined,
  );
  const [asMain, asTest] = [
    await openSolana("main", [node.url]),
    await openSolana("testnet", [main.url]),
  ];
  await failsAs("wrong_chain", asMain.head());
  await failsAs("wrong_chain", asTest.head());
  const local = await openSolana("main", [node.url], { genesisHash: "any" });
  equal((await local.head()).finalized, (await local.head()).height);
  for (const chain of [asMain, asTest, local]) chain.close();
  await failsAs("unsupported", openSolana("regtest", [node.url]));
});
