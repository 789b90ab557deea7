import { deepEqual, equal } from "node:assert/strict";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openCoins } from "../../../workers/chains/bitcoin/chain.ts";
import type { Signed } from "../../../workers/chains/outgoing.ts";
import { failsAs, pays, scanned, watching } from "../conformance.ts";
import { emptyBlock } from "../../support/coin_liars.ts";
import { NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { newParty } from "./fixture.ts";

const SOME = "ab".repeat(32);
const TRANSFER = {
  hash: SOME,
  index: 0,
  from: null,
  contract: null,
  amount: 5n,
  block: { height: 1, hash: SOME, parentHash: SOME, time: 1 },
  maturesAt: null,
};
const SIGNED: Signed = {
  hash: "cd".repeat(32),
  raw: `02000000${"01"}${"11".repeat(32)}0000000000ffffffff01e803000000000000160014${
    "22".repeat(20)
  }00000000`,
  inputs: [`${"11".repeat(32)}:0`],
  expires: null,
};

/** Everything that asks a node. */
const WORK: Readonly<Record<string, (chain: Chain, address: string) => Promise<unknown>>> = {
  head: (chain) => chain.head(),
  block: (chain) => chain.block(1),
  scan: (chain, address) => scanned(chain, 1, 1, watching([address])),
  search: (chain, address) => chain.search({ hash: SOME }, watching([address])),
  mempool: (chain, address) => chain.mempool(watching([address])),
  recheck: (chain, address) => chain.recheck({ ...TRANSFER, to: address }),
  balances: (chain, address) => chain.balances([{ address, contract: null }], null),
  coins: (chain, address) =>
    chain.balances([{ address, contract: null, coins: [`${SOME}:0`] }], null),
  quote: (chain) => chain.quote(null),
  draft: (chain, address) =>
    chain.draft(pays({ address, key: new Uint8Array() }, address, 10n ** 6n), "fast"),
  status: (chain) => chain.status({ attempts: [SIGNED], since: 1, depth: 1 }),
};
const GARBAGE: readonly unknown[] = [
  "",
  "zz",
  -1,
  1.5,
  true,
  [],
  [{}],
  {},
  { hash: "12", height: -1 },
  { tx: [{}], hash: SOME, height: 1, previousblockhash: SOME, time: 1 },
];

function known(method: string, params: unknown[]): unknown {
  if (method === "getblockchaininfo") return { chain: "regtest" };
  if (method === "getblockhash" && params[0] === 0) return SOME;
  return undefined;
}

Deno.test("a node that answers garbage is unavailable, whatever is asked", async () => {
  const { address } = await newParty("LITECOIN");
  for (const answer of GARBAGE) {
    await using node = startFaultyNode(
      null,
      ({ method, params }) => known(method, params) ?? answer,
    );
    for (const [name, work] of Object.entries(WORK)) {
      // An empty list is a proper mempool.
      if (name === "mempool" && Array.isArray(answer) && answer.length === 0) continue;
      const chain = await openCoins("LITECOIN", "regtest", [node.url]);
      await failsAs("unavailable", work(chain, address)).catch((error) => {
        throw new Error(`${name} with ${JSON.stringify(answer)}: ${error.message}`);
      });
      chain.close();
    }
  }
});

Deno.test("a node that is down, slow, starting, refusing or no node at all is unavailable", async () => {
  const slow = startFaultyNode(null, () => new Promise(() => {}));
  await using starting = startFaultyNode(null, () => {
    throw new NodeError(-28, "Loading block index...");
  });
  await using foreign = startFaultyNode(null, () =>
    new Response("<html>Forbidden</html>", {
      status: 401,
    }));
  await using queue = startFaultyNode(null, () =>
    new Response("Work queue depth exceeded", {
      status: 503,
    }));
  const { address } = await newParty("LITECOIN");
  for (const url of ["http://127.0.0.1:9", slow.url, starting.url, foreign.url, queue.url]) {
    const chain = await openCoins("LITECOIN", "regtest", [url], { limits: { timeoutMs: 300 } });
    for (const name of ["head", "quote", "status"]) {
      await failsAs("unavailable", WORK[name](chain, address));
    }
    const { outcome, obstacle } = await chain.broadcast(SIGNED);
    deepEqual([outcome, obstacle], ["unknown", "silent"]);
    chain.close();
  }
  await slow.abort();
});

Deno.test("a pruned block is a fault of that node, and another is asked", async () => {
  const block = emptyBlock(SOME, 5);
  const answer = (method: string, params: unknown[]) =>
    known(method, params) ?? (method === "getblockhash" ? block.hash : block.hex);
  await using pruned = startFaultyNode(null, ({ method, params }) => {
    if (method === "getblock") throw new NodeError(-1, "Block not available (pruned data)");
    return answer(method, params);
  });
  await using whole = startFaultyNode(null, ({ method, params }) => answer(method, params));
  const watch = watching([(await newParty("LITECOIN")).address]);
  const alone = await openCoins("LITECOIN", "regtest", [pruned.url]);
  await failsAs("unavailable", scanned(alone, 5, 5, watch));
  const both = await openCoins("LITECOIN", "regtest", [pruned.url, whole.url]);
  equal((await scanned(both, 5, 5, watch)).length, 1);
  alone.close();
  both.close();
});

Deno.test("a chain that changes during a scan is noticed by its parents", async () => {
  const blocks = new Map<number, { hash: string; hex: string }>();
  for (let height = 4; height < 8; height++) {
    const parent = height === 7 ? undefined : blocks.get(height - 1)?.hash;
    blocks.set(height, emptyBlock(parent ?? "ff".repeat(32), height));
  }
  await using node = startFaultyNode(null, ({ method, params: [at] }) => {
    if (method === "getblockchaininfo") return { chain: "regtest" };
    if (method === "getblockhash") return blocks.get(Number(at))?.hash ?? SOME;
    return [...blocks.values()].find(({ hash }) => hash === at)?.hex;
  });
  const chain = await openCoins("LITECOIN", "regtest", [node.url]);
  const watch = watching([(await newParty("LITECOIN")).address]);
  equal((await scanned(chain, 4, 6, watch)).length, 3);
  await failsAs("unavailable", scanned(chain, 5, 7, watch));
  chain.close();
});
