/** Fields of Solana that strangers choose, in their whole range: none of them stops a scan or a payment. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import { type Chain } from "../../../workers/chains/chain.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import type { SendRequest } from "../../../workers/chains/outgoing.ts";
import { scanned, watching } from "../conformance.ts";
import {
  type FaultyNode,
  NodeError,
  type Question,
  startFaultyNode,
} from "../../support/nodes/faulty_node.ts";
import { startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";

const SOL = 1_000_000_000n;
/** Lamports beyond what a double counts. */
const RICH = 2n ** 54n;
/** With so many addresses more, whole blocks are read; with ours alone, their transactions. */
const STRANGERS = Array.from({ length: 1_000 }, somebody);

interface Scene {
  readonly node: Surfpool;
  /** Between the chain and the node. */
  readonly front: FaultyNode;
  readonly chain: Chain;
}

function somebody(): string {
  return Keypair.generate().publicKey.toBase58();
}

async function enrich(node: Surfpool, address: string): Promise<void> {
  await node.raw("surfnet_setAccount", address, { lamports: Number(RICH) });
}

function pays({ payer }: Surfpool, to: string): SendRequest {
  const from = payer.publicKey.toBase58();
  return { kind: "pay", from, contract: null, payments: [{ to, amount: SOL }] };
}

/** Pays an address, and reads the payment as a scan finds it in both ways. */
async function paid({ node, chain }: Scene, to: string): Promise<bigint[]> {
  const from = (await chain.head()).height + 1;
  await node.pay(to, SOL);
  await node.mine();
  const { height } = await chain.head();
  const ways = [watching([to]), watching([to, ...STRANGERS])];
  const [few, many] = await Promise.all(ways.map((watch) => scanned(chain, from, height, watch)));
  deepEqual(few, many);
  const found = many.flatMap(({ transfers }) => transfers);
  for (const one of found) {
    equal((await chain.recheck(one, { depth: 1 }))?.received, one.amount);
  }
  return found.map(({ amount }) => amount);
}

/** Of a block or transaction of a version that was not asked for a node shows nothing. */
function refusesOlder({ method, params }: Question): undefined {
  const how = params.at(-1) as { maxSupportedTransactionVersion?: number };
  if (method !== "getBlock" && method !== "getTransaction") return;
  if ((how.maxSupportedTransactionVersion ?? -1) >= 1) return;
  throw new NodeError(-32015, "Transaction version (1) is not supported by the requesting client");
}

/** Two nodes must agree, of which one does not know the time of a block. */
async function timeless({ node, front, chain: { head } }: Scene): Promise<void> {
  await node.mine();
  const { height, hash } = await head();
  front.trick = async ({ method, params }) => {
    if (method !== "getBlock") return undefined;
    return { ...await node.rpc<object>(method, ...params), blockTime: null };
  };
  const chain = await openSolana("testnet", [node.url, front.url]);
  equal((await chain.block(height))?.hash, hash);
  chain.close();
}

/** The whole block is more than is read of an answer. */
async function tooLarge({ node, front }: Scene): Promise<void> {
  const bytesMax = 200_000;
  front.trick = ({ method, params }) => {
    const how = params.at(-1) as { transactionDetails?: string } | undefined;
    if (method !== "getBlock" || how?.transactionDetails !== "accounts") return;
    return new Response("[".repeat(2 * bytesMax));
  };
  const chain = await openSolana("testnet", [front.url], { limits: { bytesMax } });
  const to = somebody();
  const hash = await node.pay(to, SOL);
  await node.mine();
  const { height } = await chain.head();
  const found = await scanned(chain, height, height, watching([to, ...STRANGERS.slice(0, 60)]));
  deepEqual(
    found.flatMap(({ transfers }) => transfers).map((one) => [one.hash, one.amount]),
    [[hash, SOL]],
  );
  ok(front.asked.includes("getSignaturesForAddress"));
  chain.close();
}

const STEPS: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  "a transaction of a later version": async (scene) => {
    scene.front.trick = refusesOlder;
    deepEqual(await paid(scene, somebody()), [SOL]);
  },
  "a block that is too large for one answer": tooLarge,
  "a block whose time one of two nodes does not know": timeless,
  "a linked wallet of more than nine million SOL": async (scene) => {
    const to = somebody();
    await enrich(scene.node, to);
    deepEqual(await paid(scene, to), [SOL]);
    const holding = { address: to, contract: null };
    equal((await scene.chain.balances([holding], null)).amounts[0], RICH + SOL);
  },
  "a payment to a wallet of more than nine million SOL": async ({ node, chain }) => {
    const to = somebody();
    await enrich(node, to);
    equal((await chain.draft(pays(node, to), "medium")).lacking, 0n);
  },
  "bids beyond what a double counts": async ({ node, front, chain }) => {
    front.trick = ({ id, method }) => {
      if (method !== "getRecentPrioritizationFees") return;
      const bid = '{"slot":1,"prioritizationFee":18446744073709551615}';
      return new Response(`{"jsonrpc":"2.0","id":${id},"result":[${bid}]}`);
    };
    const { fee } = await chain.draft(pays(node, somebody()), "slow");
    ok(fee.base < 100_000n, `${fee.base} lamports`);
  },
  "more token accounts or transactions of an address than a node lists": async (scene) => {
    for (const listed of ["getTokenAccountsByOwner", "getSignaturesForAddress"]) {
      scene.front.trick = ({ method }) => {
        if (method !== listed) return;
        throw new NodeError(-32012, "The accumulated scan results exceeded the limit");
      };
      deepEqual(await paid(scene, somebody()), [SOL]);
    }
    scene.front.trick = ({ method }) =>
      method === "getTokenAccountsByOwner" ? new Response("", { status: 413 }) : undefined;
    deepEqual(await paid(scene, somebody()), [SOL]);
  },
};

Deno.test("what a stranger puts into a block of Solana stops neither its scan nor a payment", async (t) => {
  await using node = await startSurfpool();
  await using front = startFaultyNode(node.url);
  const chain = await openSolana("testnet", [front.url]);
  for (const [name, step] of Object.entries(STEPS)) {
    await t.step(name, async () => {
      await step({ node, front, chain });
      front.trick = () => undefined;
    });
  }
  chain.close();
});
