/** Transactions that expire: only a proof by the quorum drops one, whatever a node answers. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import type { Signed, TransactionStatus } from "../../../workers/chains/outgoing.ts";
import { failsAs, statusIs } from "../conformance.ts";
import { expireTransactions, startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";
import { type FaultyNode, NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";

const SOL = 1_000_000_000n;

/** What a node answers to some methods, in place of the truth. */
type Lies = Readonly<Record<string, (params: readonly unknown[]) => unknown>>;

function lie(node: FaultyNode, lies: Lies): void {
  node.trick = ({ method, params }) => lies[method]?.(params);
}

const FAR = 1_000_000_000;
/** The answers of a node to which every transaction has expired unseen. */
const ALL_EXPIRED: Lies = {
  getSlot: () => FAR,
  getBlockHeight: () => FAR,
  getSignatureStatuses: ([hashes]) => ({
    context: { slot: FAR },
    value: (hashes as string[]).map(() => null),
  }),
  isBlockhashValid: () => ({ context: { slot: FAR }, value: false }),
};

/** Three nodes that may lie, over one chain, and two payments: one is sent. */
interface Scene extends AsyncDisposable {
  readonly node: Surfpool;
  readonly nodes: readonly FaultyNode[];
  readonly chain: Chain;
  readonly unsent: Signed;
  readonly sent: Signed;
  sign(): Promise<Signed>;
  ask(signed: Signed): Promise<TransactionStatus>;
  /** Height of the newest final block. */
  height(): Promise<number>;
}

async function openScene(): Promise<Scene> {
  const node = await startSurfpool();
  const nodes = Array.from({ length: 3 }, () => startFaultyNode(node.url));
  const chain = await openSolana("testnet", nodes.map(({ url }) => url), { quorum: 2 });
  const key = node.payer.secretKey.slice(0, 32);
  const from = node.payer.publicKey.toBase58();
  async function sign(): Promise<Signed> {
    const to = Keypair.generate().publicKey.toBase58();
    const payments = [{ to, amount: SOL }];
    const draft = await chain.draft({ kind: "pay", from, contract: null, payments }, "slow");
    const plan = chain.plan(draft, {});
    return { ...await chain.sign(plan, new Map([[from, key]])), body: plan.body };
  }
  return {
    ...{ node, nodes, chain, sign },
    unsent: await sign(),
    sent: await sign(),
    ask: (signed) => chain.status({ attempts: [signed], since: 0, depth: 1 }),
    height: () => node.rpc<number>("getBlockHeight", { commitment: "finalized" }),
    [Symbol.asyncDispose]: async () => {
      chain.close();
      for (const one of nodes) await one[Symbol.asyncDispose]();
      await node.stop();
    },
  };
}

/** Has every node claim another end of the newest block hash. */
async function withEnd({ node, nodes }: Scene, end: number): Promise<void> {
  const answer = await node.rpc<{ value: object }>("getLatestBlockhash");
  const told = { ...answer, value: { ...answer.value, lastValidBlockHeight: end } };
  for (const each of nodes) lie(each, { getLatestBlockhash: () => told });
}

/** Answers by which two nodes prove nothing. */
const NO_PROOF: readonly Lies[] = [
  { getFirstAvailableBlock: () => FAR },
  { getSignatureStatuses: () => ({ context: { slot: 1 }, value: [null] }) },
  { isBlockhashValid: () => ({ context: { slot: 1 }, value: false }) },
  { isBlockhashValid: () => ({ context: { slot: FAR }, value: true }) },
  { getBlockHeight: () => 1 },
  {
    getSignatureStatuses: () => {
      throw new NodeError(-32011, "Transaction history is not available from this node");
    },
  },
];

/** In this order; after each the nodes are honest again. */
const STEPS: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  "one node that claims so is not believed": async ({ nodes, ask, unsent }) => {
    lie(nodes[0], ALL_EXPIRED);
    statusIs(await ask(unsent), "unseen");
  },
  "a node that claims too early an end makes nothing that can be paid twice": async (scene) => {
    const { node, nodes, chain, ask, height } = scene;
    const early = await height() + 1;
    await withEnd(scene, early);
    const short = await scene.sign();
    for (const each of nodes) lie(each, {});
    deepEqual(short.expires, { height: early });
    const payer = node.payer.publicKey.toBase58();
    for (let amount = 1n; await height() <= early; amount++) {
      await node.pay(payer, amount);
      await node.mine();
    }
    // It is beyond the end that the node told, and can still be mined.
    statusIs(await ask(short), "unseen");
    equal((await chain.broadcast(short)).outcome, "accepted");
    await node.mine();
    statusIs(await ask(short), "mined");
  },
  "a node that claims no end at all is not asked for a block hash": async (scene) => {
    await withEnd(scene, FAR);
    await failsAs("unavailable", scene.sign());
  },
  "a node that dates a block hash ahead has no proof read from later blocks": async (scene) => {
    const { node, nodes } = scene;
    const answer = await node.rpc<object>("getLatestBlockhash");
    lie(nodes[0], { getLatestBlockhash: () => ({ ...answer, context: { slot: FAR } }) });
    const { slot } = JSON.parse((await scene.sign()).body!);
    equal(slot, await node.rpc<number>("getSlot", { commitment: "finalized" }));
  },
  "before a final block passes the end, nothing is proven": async (scene) => {
    const { node, chain, ask, unsent, sent } = scene;
    equal((await chain.broadcast(sent)).outcome, "accepted");
    await expireTransactions(node);
    statusIs(await ask(unsent), "unseen");
  },
  "then it is, by the height that the quorum has reached": async (scene) => {
    const { node, nodes, ask, unsent, height } = scene;
    await node.mine();
    lie(nodes[2], ALL_EXPIRED);
    const dropped = statusIs(await ask(unsent), "dropped");
    const { proof, by, expiry, reached } = dropped as typeof dropped & { proof: "expired" };
    deepEqual([proof, by, expiry], ["expired", null, unsent.expires]);
    equal(reached, await height());
    ok("height" in expiry && reached > expiry.height);
  },
  "not while nodes lack its history, or answer as of an older block": async (scene) => {
    const { nodes, ask, unsent } = scene;
    for (const lies of NO_PROOF) {
      for (const each of nodes.slice(0, 2)) lie(each, lies);
      const status = await ask(unsent).catch(() => null);
      ok(status === null || status.state === "unseen", JSON.stringify([lies, status]));
    }
  },
  "and not what one node shows in a block, though two deny it": async (scene) => {
    const { nodes, chain, ask, sent } = scene;
    statusIs(await ask(sent), "mined");
    const { getSignatureStatuses } = ALL_EXPIRED;
    for (const each of nodes.slice(0, 2)) lie(each, { getSignatureStatuses });
    const status = await ask(sent);
    ok(status.state === "mined" ? status.confirmations === 0 : status.state === "pending");
    ok(chain.reports().some((report) => /in a block that the others call expired/.test(report)));
  },
  "the bytes of an expired one are refused, and never mined": async (scene) => {
    const { node, chain, ask, unsent } = scene;
    equal((await chain.broadcast(unsent)).outcome, "unknown");
    await node.mine();
    statusIs(await ask(unsent), "dropped");
  },
};

Deno.test("a transaction is dropped only when as many nodes as the quorum prove that it expired unmined", async (t) => {
  await using scene = await openScene();
  for (const [name, step] of Object.entries(STEPS)) {
    await t.step(name, async () => {
      await step(scene);
      for (const each of scene.nodes) lie(each, {});
    });
  }
});
