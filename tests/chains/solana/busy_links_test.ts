/** Linked addresses on Solana that more transactions name than can be read. */
import { deepEqual, equal } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import { type FaultyNode, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { rowsOf } from "../../support/realm.ts";
import { openSolanaFixture } from "../../support/solana_deposit_fixture.ts";

const SOL = 1_000_000_000n;
const PAGE = 1000;

Deno.test("a linked address on Solana that too many transactions name keeps the balances of no other from being read", async () => {
  const nodes: FaultyNode[] = [];
  await using fixture = await openSolanaFixture({
    main: true,
    through: (url) => {
      nodes.push(startFaultyNode(url));
      return nodes.map((one) => one.url);
    },
  });
  try {
    const { node, realm, mine } = fixture;
    const { send } = realm.admin;
    const { address } = await fixture.address((await fixture.ramp()).id);
    const link = async () => {
      const { body: { id } } = await send("POST", "/v1/accounts", {
        type: "virtual",
        asset: "SOL",
      });
      const linked = Keypair.generate().publicKey.toBase58();
      await node.pay(linked, SOL);
      equal((await send("POST", `/v1/accounts/${id}/assign/${linked}`)).status, 200);
      return linked;
    };
    const [busy, ...others] = [await link(), await link(), await link()];
    await mine(2);
    nodes[0].trick = async ({ method, params }) => {
      if (method !== "getSignaturesForAddress" || params[0] !== busy) return undefined;
      const slot = await node.rpc<number>("getSlot", { commitment: "finalized" }) + 1;
      const touch = {
        signature: `${"1".repeat(63)}2`,
        slot,
        err: null,
        blockTime: null,
        memo: null,
      };
      return Array.from({ length: PAGE }, () => touch);
    };
    for (const one of [address, ...others]) await node.pay(one, 2n * SOL);
    await mine(2);
    await mine(2);
    const read = await rowsOf<{ address: string }>(
      realm,
      `select b.address from onchain_balances b join chain_cursors c on b.height = c.height
         and (b.chain, b.network) = (c.chain, c.network) where b.contract = ''`,
    );
    const current = new Set(read.map((one) => one.address));
    deepEqual([address, ...others, busy].map((one) => current.has(one)), [true, true, true, false]);
    const [{ error }] = await rowsOf<{ error: string | null }>(
      realm,
      "select error from chain_cursors where chain = 'SOLANA'",
    );
    equal(error, null);
  } finally {
    for (const one of nodes) await one.abort();
  }
});
