/** Transactions that expire: only a proof by the quorum drops one, whatever a node answers. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import type { Signed, TransactionStatus } from "../../../workers/chains/outgoing.ts";
import { failsAs, statusIs } from "../conformance.ts";
import { patientQuorums } from "../../support/held_timers.ts";
import { expireTransactions, startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";
import { type FaultyNode, NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";

const SOL = 1_000_000_000n;

/** What a node answers to some methods, in place of the truth. */
type Lies = Readonly<Record<string, (params: readonly unknown[]) => unknown>>;

function lie(node: FaultyNode, lies: Lies): void {
  node.trick = ({ method, params }) => lies[method]?.(params);
}

const FAR = 1_000_000_000;

/** A block of a height at any slot. */
function blockOf(height: number): Lies {
  const hash = Keypair.generate().publicKey.toBase58();
  return {
    getBlocks: ([, to]) => [Number(to)],
    getBlock: ([slot]) => ({
      ...{ blockhash: hash, previousBlockhash: hash, parentSlot: Number(slot) - 1 },
      ...{ blockHeight: height, blockTime: 0 },
    }),
  };
}

/** The answers of a node to which every transaction has expired unseen. */
const ALL_EXPIRED: Lies = {
  ...blockOf(FAR),
  getSlot: () => FAR,
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

/** Has a node call all executed blocks final, and the newest of them one that ends with the next. */
async function runAhead({ node, nodes, height }: Scene): Promise<void> {
  const end = await height() + 1;
  const ahead = (one: unknown) =>
    typeof one === "object" && one !== null && "commitment" in one
      ? { ...one, commitment: "confirmed" }
      : one;
  nodes[0].trick = async ({ method, params }) => {
    // deno-lint-ignore no-explicit-any
    const told = await node.rpc<any>(method, ...params.map(ahead));
    if (method === "getLatestBlockhash") told.value.lastValidBlockHeight = end;
    if (method === "getBlock") told.blockHeight = end - 150;
    return told;
  };
}

/** What a node tells of the newest block in place of the truth. */
const OTHER_BLOCKS: Readonly<Record<string, Record<string, unknown>>> = {
  "another height": { blockHeight: FAR },
  "no height": { blockHeight: undefined },
  "another hash": { blockhash: Keypair.generate().publicKey.toBase58() },
};

/** Answers by which two nodes prove nothing. */
const NO_PROOF: readonly Lies[] = [
  { getFirstAvailableBlock: () => FAR },
  { getSignatureStatuses: () => ({ context: { slot: 1 }, value: [null] }) },
  { isBlockhashValid: () => ({ context: { slot: 1 }, value: false }) },
  { isBlockhashValid: () => ({ context: { slot: FAR }, value: true }) },
  blockOf(1),
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
  "a node that tells a block which is not final yet, and too early an end of it, makes nothing that can be paid twice":
    async (scene) => {
      const { node, nodes, chain, ask, height } = scene;
      const payer = node.payer.publicKey.toBase58();
      for (let amount = 1n; amount <= 6n; amount++) await node.pay(payer, amount);
      await runAhead(scene);
      const early = await height() + 1;
      const short = await scene.sign();
      for (const each of nodes) lie(each, {});
      while (await height() <= early) await node.settle(1);
      // No honest node knows a block above the final ones, and what names one can still be mined.
      statusIs(await ask(short), "unseen");
      equal((await chain.broadcast(short)).outcome, "accepted");
      await node.mine();
      statusIs(await ask(short), "mined");
    },
  "a node that tells another height or hash of the newest block is outvoted": async (scene) => {
    const { node, nodes, sign } = scene;
    const how = { commitment: "finalized", transactionDetails: "none", rewards: false };
    const slot = await node.rpc<number>("getSlot", { commitment: "finalized" });
    const { blockHeight } = await node.rpc<{ blockHeight: number }>("getBlock", slot, how);
    for (const told of Object.values(OTHER_BLOCKS)) {
      const getBlock = async ([at]: readonly unknown[]) => ({
        ...await node.rpc<object>("getBlock", at, how),
        ...told,
      });
      lie(nodes[0], { getBlock });
      const { expires, body } = await sign();
      deepEqual([expires, JSON.parse(body!).slot], [{ height: blockHeight + 150 }, slot]);
      lie(nodes[1], { getBlock: () => null });
      await failsAs("unavailable", sign());
      lie(nodes[1], {});
    }
  },
  "a node that dates the newest block ahead has no proof read from later blocks": async (scene) => {
    const { node, nodes } = scene;
    lie(nodes[0], { getSlot: () => FAR });
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
    using _held = patientQuorums();
    const { nodes, chain, ask, sent } = scene;
    statusIs(await ask(sent), "mined");
    const { getSignatureStatuses } = ALL_EXPIRED;
    for (const each of nodes.slice(0, 2)) lie(each, { getSignatureStatuses });
    const status = await ask(sent);
    ok(status.state === "mined" ? status.confirmations === 0 : status.state === "pending");
    ok(chain.reports().some((report) => /in a block that the others call expired/.test(report)));
  },
  "nor what servers of a node behind one address tell, of which one lags": async (scene) => {
    const { node, nodes, ask, sent } = scene;
    const { block: { height: minedAt } } = statusIs(await ask(sent), "mined");
    const slot = minedAt - 1;
    const { context } = await node.rpc<{ context: object }>("getLatestBlockhash");
    for (const each of nodes) {
      lie(each, {
        getSlot: () => slot,
        getSignatureStatuses: () => ({ context: { ...context, slot }, value: [null] }),
      });
    }
    statusIs(await ask(sent), "unseen");
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
