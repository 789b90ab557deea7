/** A node that tells blocks of long ago as the newest: it delays payments, and none is made that expires at once. */
import { ok } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import type { Chain } from "../../workers/chains/chain.ts";
import { isReachedBy } from "../../workers/chains/quorum.ts";
import { openSolana } from "../../workers/chains/solana/chain.ts";
import type { SendRequest } from "../../workers/chains/outgoing.ts";
import { type FaultyNode, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { expireTransactions, startSurfpool } from "../support/nodes/surfpool.ts";
import { richTron } from "../support/nodes/tron/wallet.ts";
import { failsAs } from "./conformance.ts";
import { openTronPlay, pays, signed } from "./tron/fixture.ts";

const SOL = 1_000_000_000n;

Deno.test("of two nodes of Solana one that tells an old block as the newest delays a payment, of three none", async (t) => {
  await using node = await startSurfpool();
  await expireTransactions(node);
  await node.mine();
  const key = node.payer.secretKey.slice(0, 32);
  const from = node.payer.publicKey.toBase58();
  const height = () => node.rpc<number>("getBlockHeight", { commitment: "finalized" });
  /** Blocks for which a transaction that is made now is valid. */
  async function left(chain: Chain): Promise<number> {
    const to = Keypair.generate().publicKey.toBase58();
    const order: SendRequest = {
      ...{ kind: "pay", from, contract: null, payments: [{ to, amount: SOL }] },
    };
    const plan = chain.plan(await chain.draft(order, "slow"), {});
    const { expires } = await chain.sign(plan, new Map([[from, key]]));
    return (expires as { height: number }).height - await height();
  }
  for (
    const [names, told] of [["hl", -140], ["lh", -140], ["hl", 1_000], ["hhl", -140], [
      "lhh",
      1_000,
    ]] as const
  ) {
    await t.step(`nodes ${names}, one of which tells ${told} slots`, async () => {
      const nodes: FaultyNode[] = [...names].map(() => startFaultyNode(node.url));
      nodes[names.indexOf("l")].trick = async ({ method, params }) =>
        method === "getSlot" ? await node.rpc<number>(method, ...params) + told : undefined;
      const how = { limits: { timeoutMs: 20_000 } };
      const chain = await openSolana("testnet", nodes.map(({ url }) => url), how);
      try {
        if (names.length === 2) await failsAs("unavailable", left(chain));
        else ok(await left(chain) > 70);
      } finally {
        chain.close();
        for (const one of nodes) await one.abort();
      }
    });
  }
});

Deno.test("of two nodes of Tron one that lies far behind delays a payment, of three none", async (t) => {
  await using play = await openTronPlay({ lag: 1 });
  const { node } = play;
  await node.mine(60);
  const payer = richTron();
  for (const names of ["hl", "lh", "hhl", "lhh"]) {
    await t.step(`nodes ${names}`, async () => {
      const nodes = [...names].map(() => node.peer());
      nodes[names.indexOf("l")].behind = 30;
      const chain = await play.open(nodes.map(({ url }) => url));
      const made = signed(chain, payer, pays(payer, richTron(1).address, 1_000_000n));
      if (names.length === 2) return await failsAs("unavailable", made);
      const { bytes: { expires } } = await made;
      ok(
        (expires as { time: number }).time > Number(node.ledger.blocks.at(-1)!.timestamp) + 60_000,
      );
    });
  }
});

Deno.test("a newest block is near where no more nodes are far beyond it than need not agree", () => {
  const cases: readonly [number[], number, boolean][] = [
    [[100], 1, true],
    [[100, 100], 2, true],
    [[100, 90], 2, true],
    [[100, 50], 2, false],
    [[900, 100], 2, false],
    [[100], 2, false],
    [[100, 95, 3], 2, true],
    [[900, 100, 95], 2, true],
    [[100, 99, 3], 3, false],
    [[100, 99, 98, 3], 3, true],
    [[100, 99, 3, 2], 3, false],
  ];
  for (const [figures, quorum, near] of cases) {
    ok(isReachedBy(figures, quorum, 16) === near, `${figures} of ${quorum}`);
  }
});
