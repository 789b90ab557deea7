/** One node's report on blocks of Solana, alone among several, hides nothing and invents nothing. */
import { deepEqual, equal, match } from "node:assert/strict";
import { Keypair } from "@solana/web3.js";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import type { Transfer } from "../../../workers/chains/observations.ts";
import { failsAs, scanned, watching } from "../conformance.ts";
import { patientQuorums } from "../../support/held_timers.ts";
import { type FaultyNode, startFaultyNode, type Trick } from "../../support/nodes/faulty_node.ts";
import { startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";

const SOL = 1_000_000_000n;
// deno-lint-ignore no-explicit-any
type Json = any;

/** A chain behind nodes: "h" is an honest one, "l" one that may lie. */
interface Among extends AsyncDisposable {
  readonly chain: Chain;
  readonly lying: FaultyNode;
}

async function among(node: Surfpool, names: string): Promise<Among> {
  const nodes = [...names].map(() => startFaultyNode(node.url));
  const how = { limits: { timeoutMs: 20_000 } };
  const chain = await openSolana("testnet", nodes.map(({ url }) => url), how);
  return {
    ...{ chain, lying: nodes[names.indexOf("l")] },
    async [Symbol.asyncDispose]() {
      chain.close();
      for (const one of nodes) await one.abort();
    },
  };
}

/** A payment in a final block. */
interface Paid {
  readonly node: Surfpool;
  readonly ours: string;
  readonly hash: string;
  readonly height: number;
}

async function pay(node: Surfpool): Promise<Paid> {
  const ours = Keypair.generate().publicKey.toBase58();
  const hash = await node.pay(ours, SOL);
  await node.mine();
  const height = await node.rpc<number>("getSlot", { commitment: "finalized" });
  return { node, ours, hash, height };
}

async function found(chain: Chain, { ours, height }: Paid): Promise<Transfer[]> {
  const blocks = await scanned(chain, height - 1, height, watching([ours]));
  return blocks.flatMap(({ transfers }) => transfers);
}

/** Changes the transactions of blocks and of single answers. */
function changes(node: Surfpool, change: (one: Json) => Json[]): Trick {
  return async ({ method, params }) => {
    if (method === "getTransaction") {
      const one: Json = await node.rpc(method, ...params);
      return one === null ? null : change(one)[0] ?? null;
    }
    if (method === "getSignaturesForAddress") {
      const listed: Json[] = await node.rpc(method, ...params);
      return listed.filter(({ signature }) =>
        change({ transaction: { signatures: [signature] }, meta: null }).length > 0
      );
    }
    if (method !== "getBlock") return undefined;
    const block: Json = await node.rpc(method, ...params);
    return { ...block, transactions: block.transactions?.flatMap(change) };
  };
}

function isOf({ transaction }: Json, hash: string): boolean {
  return transaction.signatures[0] === hash;
}

/** Says that the receiver has more after the payment. */
function inflates({ node, ours, hash }: Paid): Trick {
  return changes(node, (one) => {
    if (!isOf(one, hash) || one.meta === null) return [one];
    const keys: string[] = (one.transaction.accountKeys ?? one.transaction.message.accountKeys)
      .map((key: Json) => key.pubkey ?? key);
    const postBalances = one.meta.postBalances.map((amount: number, at: number) =>
      keys[at] === ours ? amount * 2 : amount
    );
    return [{ ...one, meta: { ...one.meta, postBalances } }];
  });
}

Deno.test("a node of Solana that keeps back, adds or changes a payment is outvoted", async (t) => {
  await using node = await startSurfpool();
  for (const names of ["lh", "hl", "hlh"]) {
    await t.step(`a payment that one node keeps back is seen (nodes ${names})`, async () => {
      using _held = patientQuorums();
      const paid = await pay(node);
      await using one = await among(node, names);
      one.lying.trick = changes(node, (it) => isOf(it, paid.hash) ? [] : [it]);
      deepEqual((await found(one.chain, paid)).map(({ amount }) => amount), [SOL]);
      match(one.chain.reports().join(), /contradict each other on the transfers/);
    });
    await t.step(
      `a payment that one node inflates is not credited so (nodes ${names})`,
      async () => {
        const paid = await pay(node);
        await using one = await among(node, names);
        one.lying.trick = inflates(paid);
        const transfers = await found(one.chain, paid);
        if (names.length === 3) {
          deepEqual(transfers.map(({ amount }) => amount), [SOL]);
          equal((await one.chain.recheck(transfers[0]))?.received, SOL);
        } else {
          for (const transfer of transfers) {
            await failsAs("unavailable", one.chain.recheck(transfer));
          }
        }
      },
    );
  }
  await t.step(
    "a payment of another network's chain, or of none, is denied by the quorum",
    async () => {
      const paid = await pay(node);
      await using one = await among(node, "lhh");
      const stranger = Keypair.generate().publicKey.toBase58();
      one.lying.trick = changes(
        node,
        (it) => [JSON.parse(JSON.stringify(it).replaceAll(paid.ours, stranger))],
      );
      deepEqual(await found(one.chain, { ...paid, ours: stranger }), []);
    },
  );
});

Deno.test("a block of Solana that a node leaves out is missed by the links of the others", async (t) => {
  await using node = await startSurfpool();
  const paid = await pay(node);
  await node.mine();
  const range = { ...paid, height: paid.height + 1 };
  const skips: Trick = async ({ method, params }) => {
    if (method !== "getBlocks") return undefined;
    const slots: number[] = await node.rpc(method, ...params);
    return slots.filter((slot) => slot !== paid.height);
  };
  const scan = async ({ chain }: Among) =>
    (await scanned(chain, range.height - 2, range.height, watching([paid.ours])))
      .flatMap(({ transfers }) => transfers.map(({ hash }) => hash));
  await t.step("alone: the scan waits", async () => {
    await using one = await among(node, "l");
    one.lying.trick = skips;
    await failsAs("unavailable", scan(one));
  });
  await t.step("with two others: they are believed", async () => {
    await using one = await among(node, "lhh");
    one.lying.trick = skips;
    deepEqual(await scan(one), [paid.hash]);
  });
  await t.step("a node that is behind abstains", async () => {
    await using one = await among(node, "lh");
    one.lying.trick = ({ method }) => method === "getSlot" ? paid.height - 1 : undefined;
    await failsAs("unavailable", scan(one));
    const [transfer] = await found(await openAlone(node), paid);
    await failsAs("unavailable", one.chain.recheck(transfer));
  });
});

async function openAlone(node: Surfpool): Promise<Chain> {
  return await openSolana("testnet", [node.url]);
}

/** Bytes of a transaction that no block can have: an instruction with more data than fits one. */
function tooLong(): string {
  const [count, data] = [[0x94, 0x0a], new Uint8Array(1_300)];
  const keys = [2, ...new Uint8Array(64).fill(9)];
  const message = [1, 0, 1, ...keys, ...new Uint8Array(32), 1, 1, 0, ...count, ...data];
  return Uint8Array.from([1, ...new Uint8Array(64), ...message]).toBase64();
}

Deno.test("bytes that a Solana node makes up for a transaction of ours are not believed, and another node is asked", async (t) => {
  await using node = await startSurfpool();
  const { hash, height } = await pay(node);
  const other = await pay(node);
  const honest = await openAlone(node);
  const truth = await honest.raw({ hash, height });
  const lies: Readonly<Record<string, string>> = {
    "text that is no transaction": "bm90aGluZw==",
    "a transaction that is too long": tooLong(),
    "another transaction": await honest.raw(other),
    "one more byte": Uint8Array.from([...Uint8Array.fromBase64(truth), 0]).toBase64(),
    "a changed amount": changed(truth),
  };
  honest.close();
  for (const [lie, raw] of Object.entries(lies)) {
    await t.step(lie, async () => {
      await using one = await among(node, "lh");
      one.lying.trick = async ({ method, params }) => {
        if (method !== "getTransaction") return undefined;
        const told: Json = await node.rpc(method, ...params);
        return { ...told, transaction: [raw, "base64"] };
      };
      equal(await one.chain.raw({ hash, height }), truth);
    });
  }
});

/** The last bytes of a message that only pays are the amount. */
function changed(raw: string): string {
  const bytes = Uint8Array.fromBase64(raw);
  bytes[bytes.length - 1] ^= 1;
  return bytes.toBase64();
}
