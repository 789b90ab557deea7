/**
 * Nodes of Solana whose index of transactions lags behind their blocks, and servers behind one address of which some are
 * behind: no payment is lost that a list left out.
 */
import { deepEqual, equal } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import { findAsset } from "../../../domain/assets.ts";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import { PERIOD } from "../../../workers/scanning/second_scan.ts";
import { scanned, watching } from "../conformance.ts";
import { type FaultyNode, NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";
import {
  fillPayer,
  makeMint,
  makeOther,
  moves,
  plantMint,
} from "../../support/nodes/solana_tokens.ts";
import { openSolanaFixture } from "../../support/solana_deposit_fixture.ts";

const SOL = 1_000_000_000n;
const FINAL = { commitment: "finalized" };

/** Lists of transactions leave out those above a slot. */
function lagsAt(node: Surfpool, slot: number): FaultyNode["trick"] {
  return async ({ method, params }) => {
    if (method !== "getSignaturesForAddress") return undefined;
    const listed = await node.rpc<{ slot: number }[]>(method, ...params);
    return listed.filter((one) => one.slot <= slot);
  };
}

for (const names of ["l", "ll", "lh"]) {
  Deno.test(`payments that an index lacked when their blocks were scanned are found by the second scan (nodes ${names})`, async () => {
    const nodes: FaultyNode[] = [];
    await using fixture = await openSolanaFixture({
      main: true,
      through: (url) => {
        for (const _ of names) nodes.push(startFaultyNode(url));
        return nodes.map((one) => one.url);
      },
    });
    const { node, mine, realm } = fixture;
    try {
      const { contract, decimals } = findAsset("PYUSD_SOL")!;
      const mint = await plantMint(node, { address: contract!, symbol: "PYUSD", decimals });
      const source = await fillPayer(node, mint, 10n ** 12n);
      const ramp = await fixture.ramp();
      const deposit = await fixture.address(ramp.id);
      const { send } = realm.admin;
      const made = await send("POST", "/v1/accounts", { type: "virtual", asset: "PYUSD_SOL" });
      const linked = Keypair.generate().publicKey.toBase58();
      equal((await send("POST", `/v1/accounts/${made.body.id}/assign/${linked}`)).status, 200);
      const account = await makeOther(node, linked, mint);
      await mine();
      const top = await node.rpc<number>("getSlot", FINAL);
      for (const [at, one] of nodes.entries()) {
        if (names[at] === "l") one.trick = lagsAt(node, top);
      }
      await node.pay(deposit.address, 2n * SOL);
      await node.send([moves(node, mint, { from: source, to: account, amount: 7_000_000n })]);
      await mine();
      const all = [`${deposit.address} 2 CONFIRMED`, `${linked} 7 CONFIRMED`].toSorted();
      const credited = async () =>
        (await fixture.deposits()).map((one) => `${one.address} ${one.amount} ${one.status}`)
          .toSorted();
      deepEqual(await credited(), names.includes("h") ? all : []);
      for (const one of nodes) one.trick = () => undefined;
      // The first period may be the one in which the payments lie.
      for (let periods = 0; periods < 2; periods++) {
        await node.skip(PERIOD);
        await mine();
      }
      deepEqual(await credited(), all);
      await node.skip(PERIOD);
      await mine();
      deepEqual(await credited(), all, "once");
    } finally {
      for (const one of nodes) await one.abort();
    }
  });
}

Deno.test("blocks that no node has any more are scanned a second time for one period only", async () => {
  const nodes: FaultyNode[] = [];
  await using fixture = await openSolanaFixture({
    through: (url) => {
      nodes.push(startFaultyNode(url));
      return nodes.map((one) => one.url);
    },
  });
  const { node, mine } = fixture;
  try {
    const ramp = await fixture.ramp();
    const deposit = await fixture.address(ramp.id);
    await mine(3);
    const first = await node.rpc<number>("getSlot", FINAL);
    // A node that was set up anew has only the blocks since then.
    nodes[0].trick = ({ method, params }) => {
      if (method !== "getBlock" || Number(params[0]) >= first) return undefined;
      throw new NodeError(-32001, `Block ${params[0]} cleaned up, does not exist on node`);
    };
    const credited: number[] = [];
    for (let periods = 0; periods < 4; periods++) {
      await node.skip(PERIOD);
      await node.pay(deposit.address, 2n * SOL);
      await mine();
      credited.push((await fixture.deposits()).length);
    }
    deepEqual(credited, [1, 1, 3, 4]);
  } finally {
    for (const one of nodes) await one.abort();
  }
});

Deno.test("no whole block is read for a second scan", async () => {
  const whole: number[] = [];
  const nodes: FaultyNode[] = [];
  await using fixture = await openSolanaFixture({
    through: (url) => {
      nodes.push(startFaultyNode(url, ({ method, params }) => {
        if (method === "getSignaturesForAddress") throw new NodeError(-32601, "Method not found");
        const { transactionDetails } = (params[1] ?? {}) as { transactionDetails?: string };
        if (method === "getBlock" && transactionDetails === "accounts") {
          whole.push(Number(params[0]));
        }
        return undefined;
      }));
      return nodes.map((one) => one.url);
    },
  });
  const { node, mine } = fixture;
  try {
    const deposit = await fixture.address((await fixture.ramp()).id);
    await mine();
    for (let periods = 0; periods < 4; periods++) {
      await node.pay(deposit.address, 2n * SOL);
      await mine();
      await node.skip(PERIOD);
    }
    equal((await fixture.deposits()).length, 4);
    deepEqual(whole, [...new Set(whole)]);
  } finally {
    for (const one of nodes) await one.abort();
  }
});

Deno.test("what a server tells that is behind the others of its address does not count", async (t) => {
  await using node = await startSurfpool();
  const mint = await makeMint(node);
  const source = await fillPayer(node, mint, 10n ** 12n);
  await node.mine();
  for (const [what, late] of [["transactions", false], ["token accounts", true]] as const) {
    await t.step(what, async () => {
      const owner = Keypair.generate().publicKey.toBase58();
      const old = await node.rpc<number>("getSlot", FINAL);
      if (late) {
        const account = await makeOther(node, owner, mint);
        await node.send([moves(node, mint, { from: source, to: account, amount: 5n })]);
      } else await node.pay(owner, SOL);
      await node.mine();
      await using front = startFaultyNode(node.url, late ? hasNone(old) : isAt(node, old));
      const chain = await openSolana("testnet", [front.url]);
      try {
        deepEqual(await amounts(chain, old, owner), [late ? 5n : SOL]);
      } finally {
        chain.close();
      }
    });
  }
});

/** A server that has an older slot, and no token account of it. */
function hasNone(slot: number): FaultyNode["trick"] {
  return ({ method }) =>
    method === "getTokenAccountsByOwner" ? { context: { slot }, value: [] } : undefined;
}

/** A server that has an older slot lists transactions up to it, unless it is asked for a newer one. */
function isAt(node: Surfpool, slot: number): FaultyNode["trick"] {
  return (question) => {
    const { method, params } = question;
    if (method !== "getSignaturesForAddress") return undefined;
    const { minContextSlot = 0 } = params[1] as { minContextSlot?: number };
    if (minContextSlot > slot) {
      throw new NodeError(-32016, "Minimum context slot has not been reached");
    }
    return lagsAt(node, slot)(question);
  };
}

async function amounts(chain: Chain, above: number, owner: string): Promise<bigint[]> {
  const { height } = await chain.head();
  const blocks = await scanned(chain, above + 1, height, watching([owner]));
  return blocks.flatMap(({ transfers }) => transfers.map(({ amount }) => amount));
}
