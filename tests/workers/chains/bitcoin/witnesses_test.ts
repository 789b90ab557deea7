/** What one node of a coin chain says alone neither credits, nor hides, nor kills. */
import { deepEqual, equal } from "node:assert/strict";
import { Transaction } from "bitcoinjs-lib";
import type { Transfer } from "../../../../workers/chains/sight.ts";
import { failsAs, fateIs, pays, signed } from "../../../chains/conformance.ts";
import { type CoinNode, hasLitecoind, startLitecoind } from "../../../support/litecoind.ts";
import { type Rogue, RogueError, startRogue, type Trick } from "../../../support/rogue_node.ts";
import { type CoinStage, coinStage } from "./stage.ts";

const FAKE = "ab".repeat(32);
// deno-lint-ignore no-explicit-any
type Json = any;

const ignore = !hasLitecoind();
let node: CoinNode;

Deno.test.beforeAll(async () => {
  if (!ignore) node = await startLitecoind();
});
Deno.test.afterAll(async () => {
  if (!ignore) await node.stop();
});

/** Passes questions on, unless a lie answers them. */
function through(lie: Trick = () => undefined): Rogue {
  return startRogue(null, async (question) => {
    const told = await lie(question);
    if (told !== undefined) return told;
    try {
      return await node.rpc(question.method, ...question.params);
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      throw new RogueError(said.includes("out of range") ? -8 : -5, said);
    }
  });
}

function onLitecoind(
  name: string,
  nodes: string,
  play: (stage: CoinStage, made: readonly Rogue[], liar: Rogue) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      await using stage = await coinStage("LITECOIN", node, { shared: true });
      const made = [...nodes].map(() => through());
      try {
        await play(stage, made, made[nodes.indexOf("l")]);
      } finally {
        for (const one of made) await one.abort();
      }
    },
  });
}

function lies(liar: Rogue, lie: Trick): void {
  const honest = liar.trick;
  liar.trick = async (question) => {
    const told = await lie(question);
    return told === undefined ? await honest(question) : told;
  };
}

for (const nodes of ["lh", "hl", "lhh", "hhl"]) {
  onLitecoind(
    `a coin that one node invents is not credited (nodes ${nodes})`,
    nodes,
    async (stage, made, liar) => {
      const { party, script, mine, chain } = stage;
      const ours = await party();
      await mine(3);
      const head = await chain.head();
      const block = (await chain.block(head.height - 1))!;
      const hex = await script(ours.address);
      lies(liar, ({ method, params }) => {
        if (method !== "gettxout" || params[0] !== FAKE) return undefined;
        return { bestblock: head.hash, confirmations: 2, value: 777, scriptPubKey: { hex } };
      });
      const both = await stage.open(...made.map(({ url }) => url));
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
    async (stage, made, liar) => {
      const { party, pay, mine, amount, chain } = stage;
      const ours = await party();
      await pay(ours.address, amount);
      await mine(2);
      const { height } = await chain.head();
      const watch = {
        ...{ addresses: new Set([ours.address]), claims: new Set<string>(), contracts: null },
      };
      const [transfer] = await chain.search({ height: height - 1 }, watch);
      lies(liar, async ({ method, params }) => {
        if (params[0] === transfer.hash) return null;
        if (method !== "getblock" || params[1] !== 2) return undefined;
        const block: Json = await node.rpc("getblock", ...params);
        return { ...block, tx: block.tx.filter((one: Json) => one.txid !== transfer.hash) };
      });
      const both = await stage.open(...made.map(({ url }) => url));
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
    async (stage, made, liar) => {
      const { chain, payer, party, amount, mine } = stage;
      const to = await party();
      const since = (await chain.head()).height;
      const { signed: bytes } = await signed(stage, payer, pays(payer, to.address, amount));
      await mine(4);
      // A transaction that spends the coin, with the right id, and a signature that is none.
      const forged = Transaction.fromHex(bytes.raw);
      forged.outs[0].value = 1_000n;
      const raw = forged.toHex();
      const txid = forged.getId();
      const vin = bytes.claims.map((claim) => ({
        ...{ txid: claim.split(":")[0], vout: Number(claim.split(":")[1]) },
      }));
      lies(liar, async ({ method, params }) => {
        if (
          method === "gettxout" && bytes.claims.includes(`${params[0]}:${params[1]}`)
        ) return null;
        if (method === "getrawtransaction" && params[0] === txid) return raw;
        if (method !== "getblock" || params[1] !== 2) return undefined;
        const block: Json = await node.rpc("getblock", ...params);
        if (block.height !== since + 1) return block;
        return { ...block, tx: [...block.tx, { txid, vin, vout: [], hex: raw }] };
      });
      const all = await stage.open(...made.map(({ url }) => url));
      const query = { candidates: [bytes], since, depth: 2 };
      if (nodes === "l") await failsAs("unavailable", all.status(query));
      else fateIs(await all.status(query), "unseen");
      equal((await chain.broadcast(bytes)).outcome, "accepted");
      await mine(2);
      deepEqual(fateIs(await chain.status(query), "mined").hash, bytes.hash);
    },
  );
}
