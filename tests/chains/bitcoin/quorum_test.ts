/** One UTXO node's report alone neither credits, nor hides, nor drops. */
import { deepEqual, equal, match } from "node:assert/strict";
import { Transaction } from "bitcoinjs-lib";
import type { Transfer } from "../../../workers/chains/observations.ts";
import { failsAs, pays, signed, statusIs } from "../conformance.ts";
import { altered, forged, lies, throughNode } from "../../support/coin_liars.ts";
import { patientQuorums } from "../../support/held_timers.ts";
import { type CoinNode, hasLitecoind, startLitecoind } from "../../support/nodes/litecoind.ts";
import type { FaultyNode } from "../../support/nodes/faulty_node.ts";
import { openUtxoFixture, type UtxoFixture } from "./fixture.ts";

const FAKE = "ab".repeat(32);

const ignore = !hasLitecoind();
let node: CoinNode;

Deno.test.beforeAll(async () => {
  if (!ignore) node = await startLitecoind();
});
Deno.test.afterAll(async () => {
  if (!ignore) await node.stop();
});

function onLitecoind(
  name: string,
  nodes: string,
  run: (
    fixture: UtxoFixture,
    made: readonly FaultyNode[],
    lying: FaultyNode,
  ) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      await using fixture = await openUtxoFixture("LITECOIN", node, { shared: true });
      const made = [...nodes].map(() => throughNode(node));
      try {
        await run(fixture, made, made[nodes.indexOf("l")]);
      } finally {
        for (const one of made) await one.abort();
      }
    },
  });
}

for (const nodes of ["lh", "hl", "lhh", "hhl"]) {
  onLitecoind(
    `a coin that one node invents is not credited (nodes ${nodes})`,
    nodes,
    async (fixture, made, lying) => {
      using _held = patientQuorums();
      const { party, script, mine, chain } = fixture;
      const ours = await party();
      await mine(3);
      const head = await chain.head();
      const block = (await chain.block(head.height - 1))!;
      const hex = await script(ours.address);
      lies(lying, ({ method, params }) => {
        if (method !== "gettxout" || params[0] !== FAKE) return undefined;
        return { bestblock: head.hash, confirmations: 2, value: 777, scriptPubKey: { hex } };
      });
      const both = await fixture.open(...made.map(({ url }) => url));
      const fake: Transfer = {
        ...{ hash: FAKE, index: 0, from: null, to: ours.address, contract: null },
        ...{ amount: 77_700_000_000n, block, maturesAt: null },
      };
      if (made.length === 2) await failsAs("unavailable", both.recheck(fake, { depth: 2 }));
      else equal(await both.recheck(fake, { depth: 2 }), null);
      equal(both.reports().length, 1);
    },
  );

  onLitecoind(
    `a coin that one node keeps back (nodes ${nodes})`,
    nodes,
    async (fixture, made, lying) => {
      const { party, pay, mine, amount, chain } = fixture;
      const ours = await party();
      await pay(ours.address, amount);
      await mine(2);
      const { height } = await chain.head();
      const watch = {
        ...{ addresses: new Set([ours.address]), inputs: new Set<string>(), contracts: null },
      };
      const [transfer] = await chain.search({ height: height - 1 }, watch);
      lies(lying, async ({ method, params }) => {
        if (params[0] === transfer.hash) return null;
        if (method !== "getblock") return undefined;
        const block: string = await node.rpc(method, ...params);
        return altered(block, (all) => all.filter((one) => one.getId() !== transfer.hash));
      });
      const both = await fixture.open(...made.map(({ url }) => url));
      if (made.length === 2) {
        return await failsAs("unavailable", both.recheck(transfer, { depth: 2 }));
      }
      const checked = await both.recheck(transfer, { depth: 2 });
      equal(checked?.received, amount);
      // As deep as the nodes say themselves, whatever the scan was told.
      await failsAs("unavailable", both.recheck(transfer, { depth: 3 }));
    },
  );
}

for (const nodes of ["l", "lh", "hl", "lhh"]) {
  onLitecoind(
    `a payment that one node calls dead lives (nodes ${nodes})`,
    nodes,
    async (fixture, made, lying) => {
      const { chain, payer, party, amount, mine } = fixture;
      const to = await party();
      const since = (await chain.head()).height;
      const { signed: bytes } = await signed(fixture, payer, pays(payer, to.address, amount));
      await mine(4);
      // A transaction that spends the coin, with the right id, and a signature that is none.
      const rival = Transaction.fromHex(bytes.raw);
      rival.outs[0].value = 1_000n;
      const raw = rival.toHex();
      const txid = rival.getId();
      const hash: string = await node.rpc("getblockhash", since + 1);
      // In a block of its own making, which proves itself.
      const fake = forged(await node.rpc("getblock", hash, 0), (all) => [...all, rival]);
      lies(lying, ({ method, params }) => {
        if (
          method === "gettxout" && bytes.inputs.includes(`${params[0]}:${params[1]}`)
        ) return null;
        if (method === "getrawtransaction" && params[0] === txid) return raw;
        if (method === "getblockhash" && params[0] === since + 1) return fake.hash;
        return method === "getblock" && params[0] === fake.hash ? fake.hex : undefined;
      });
      const all = await fixture.open(...made.map(({ url }) => url));
      const query = { attempts: [bytes], since, depth: 2 };
      if (nodes === "l") await failsAs("unavailable", all.status(query));
      else statusIs(await all.status(query), "unseen");
      equal((await chain.broadcast(bytes)).outcome, "accepted");
      await mine(2);
      deepEqual(statusIs(await chain.status(query), "mined").hash, bytes.hash);
    },
  );
}

onLitecoind(
  "the spender of a coin is not believed by a block that one node alone shows",
  "lhh",
  async (fixture, made, lying) => {
    using _held = patientQuorums();
    const { chain, payer, party, amount, mine } = fixture;
    const to = await party();
    const since = (await chain.head()).height;
    const { signed: bytes } = await signed(fixture, payer, pays(payer, to.address, amount));
    await mine(2);
    const rival = Transaction.fromHex(bytes.raw);
    rival.outs[0].value = 1_000n;
    const hash: string = await node.rpc("getblockhash", since + 1);
    const fake = forged(await node.rpc("getblock", hash, 0), (all) => [...all, rival]);
    lies(lying, ({ method, params }) => {
      if (method === "getblockhash" && params[0] === since + 1) return fake.hash;
      return method === "getblock" && params[0] === fake.hash ? fake.hex : undefined;
    });
    const all = await fixture.open(...made.map(({ url }) => url));
    const found = await all.coins!.spenders(bytes.inputs, since + 1, 0);
    equal(found?.size, 0);
    match(all.reports().join(), /only one node has the block/);
  },
);
