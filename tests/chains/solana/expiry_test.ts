/** Transactions that expire: only a proof by the quorum drops one, whatever a node answers. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import type { Signed, TransactionStatus } from "../../../workers/chains/outgoing.ts";
import { failsAs, statusIs } from "../conformance.ts";
import { expireTransactions, startSurfpool } from "../../support/nodes/surfpool.ts";
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

Deno.test("a transaction is dropped only when as many nodes as the quorum prove that it expired unmined", async (t) => {
  await using node = await startSurfpool();
  await using one = startFaultyNode(node.url);
  await using two = startFaultyNode(node.url);
  await using three = startFaultyNode(node.url);
  const nodes = [one, two, three];
  const urls = nodes.map(({ url }) => url);
  const chain = await openSolana("testnet", urls, { quorum: 2 });
  const key = node.payer.secretKey.slice(0, 32);
  const from = node.payer.publicKey.toBase58();
  async function sign(): Promise<Signed> {
    const to = Keypair.generate().publicKey.toBase58();
    const payments = [{ to, amount: SOL }];
    const draft = await chain.draft({ kind: "pay", from, contract: null, payments }, "slow");
    const plan = chain.plan(draft, {});
    return { ...await chain.sign(plan, new Map([[from, key]])), body: plan.body };
  }
  const ask = (...attempts: Signed[]) => statusOf(chain, attempts);
  function honest(): void {
    for (const each of nodes) lie(each, {});
  }
  const [unsent, sent] = [await sign(), await sign()];

  await t.step("one node that claims so is not believed", async () => {
    lie(one, ALL_EXPIRED);
    statusIs(await ask(unsent), "unseen");
    honest();
  });

  await t.step(
    "a node that claims too early an end makes nothing that can be paid twice",
    async () => {
      const early = await node.rpc<number>("getBlockHeight", { commitment: "finalized" }) + 1;
      const told = async () => {
        const answer = await node.rpc<{ value: object }>("getLatestBlockhash");
        return { ...answer, value: { ...answer.value, lastValidBlockHeight: early } };
      };
      for (const each of nodes) lie(each, { getLatestBlockhash: told });
      const short = await sign();
      honest();
      deepEqual(short.expires, { height: early });
      const height = () => node.rpc<number>("getBlockHeight", { commitment: "finalized" });
      for (let amount = 1n; await height() <= early; amount++) {
        await node.pay(from, amount);
        await node.mine();
      }
      // It is beyond the end that the node told, and can still be mined.
      statusIs(await ask(short), "unseen");
      equal((await chain.broadcast(short)).outcome, "accepted");
      await node.mine();
      statusIs(await ask(short), "mined");
    },
  );

  await t.step("a node that claims no end at all is not asked for a block hash", async () => {
    const told = async () => {
      const answer = await node.rpc<{ value: object }>("getLatestBlockhash");
      return { ...answer, value: { ...answer.value, lastValidBlockHeight: FAR } };
    };
    for (const each of nodes) lie(each, { getLatestBlockhash: told });
    await failsAs("unavailable", sign());
    honest();
  });

  equal((await chain.broadcast(sent)).outcome, "accepted");
  await expireTransactions(node);

  await t.step("before its final block passes the end, nothing is proven", async () => {
    statusIs(await ask(unsent), "unseen");
  });
  await node.mine();

  await t.step("then it is, by the height that the quorum has reached", async () => {
    lie(three, ALL_EXPIRED);
    const dropped = statusIs(await ask(unsent), "dropped");
    deepEqual([dropped.proof, dropped.by], ["expired", null]);
    if (dropped.proof !== "expired") return;
    deepEqual(dropped.expiry, unsent.expires);
    const height = await node.rpc<number>("getBlockHeight", { commitment: "finalized" });
    equal(dropped.reached, height);
    ok("height" in dropped.expiry && dropped.reached > dropped.expiry.height);
    honest();
  });

  await t.step("not while nodes lack its history, or answer as of an older block", async () => {
    const some: readonly Lies[] = [
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
    for (const lies of some) {
      for (const each of [one, two]) lie(each, lies);
      const status = await ask(unsent).catch(() => null);
      ok(status === null || status.state === "unseen", JSON.stringify([lies, status]));
    }
    honest();
  });

  await t.step("and not what one node shows in a block, though two deny it", async () => {
    statusIs(await ask(sent), "mined");
    for (const each of [one, two]) {
      lie(each, { getSignatureStatuses: ALL_EXPIRED.getSignatureStatuses });
    }
    const status = await ask(sent);
    ok(status.state === "mined" ? status.confirmations === 0 : status.state === "pending");
    ok(chain.reports().some((report) => /in a block that the others call expired/.test(report)));
    honest();
  });

  await t.step("the bytes of an expired one are refused, and never mined", async () => {
    equal((await chain.broadcast(unsent)).outcome, "unknown");
    await node.mine();
    statusIs(await ask(unsent), "dropped");
  });
  chain.close();
});

async function statusOf(chain: Chain, attempts: readonly Signed[]): Promise<TransactionStatus> {
  return await chain.status({ attempts, since: 0, depth: 1 });
}
