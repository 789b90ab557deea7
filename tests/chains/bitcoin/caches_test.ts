import { equal } from "node:assert/strict";
import { Transaction } from "bitcoinjs-lib";
import { scriptOf } from "../../../domain/chains/addresses.ts";
import { openCoins } from "../../../workers/chains/bitcoin/chain.ts";
import { type BlockReader, openSpends } from "../../../workers/chains/bitcoin/spend_index.ts";
import type { Peer } from "../../../workers/chains/node_pool.ts";
import { watching } from "../conformance.ts";
import { NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { newParty } from "./fixture.ts";

const SOME = "ab".repeat(32);

function idAt(number: number): string {
  return number.toString(16).padStart(64, "0");
}

/** A chain in which block `at` holds what spends a coin; `fork` makes other blocks from a height on. */
interface Story {
  head: number;
  spentAt: number;
  fork: number;
  read: number;
}

const CLAIM = `${SOME}:1`;

function peerOf(story: Story): Peer {
  function call(method: string, [at]: readonly unknown[]): Promise<unknown> {
    equal(method, "getblockhash");
    const height = at as number;
    return Promise.resolve(idAt(height >= story.fork ? 10 ** 9 + height : height));
  }
  const unasked = () => Promise.reject(new TypeError("not asked"));
  return { name: "told", call, batch: unasked, join: unasked, request: unasked };
}

function readerOf(story: Story): BlockReader {
  return (_, { hash, height }) => {
    story.read++;
    const spends = height === story.spentAt ? [CLAIM] : [];
    return Promise.resolve({ hash, height, transactions: [{ hash: idAt(7), spends }] });
  };
}

Deno.test("a long search continues where it ended, and its finds are not searched again", async () => {
  const story = { head: 500, spentAt: 433, fork: Infinity, read: 0 };
  const [spends, peer] = [openSpends(readerOf(story)), peerOf(story)];
  const find = () => spends.find(peer, [CLAIM], 1, story.head);
  equal(await find(), null);
  equal(await find(), null);
  equal((await find())?.get(CLAIM)?.height, 433);
  equal(story.read, 500);
  equal((await find())?.get(CLAIM)?.height, 433);
  equal(story.read, 500);
});

Deno.test("a reorganisation sends a search back, and removed blocks are no longer believed", async () => {
  const story = { head: 150, spentAt: 140, fork: Infinity, read: 0 };
  const [spends, peer] = [openSpends(readerOf(story)), peerOf(story)];
  const find = async () => (await spends.find(peer, [CLAIM], 100, story.head))?.get(CLAIM)?.height;
  equal(await find(), 140);
  Object.assign(story, { fork: 130, spentAt: 145, head: 160 });
  equal(await find(), 145);
  Object.assign(story, { fork: Infinity, head: 155 });
  equal(await find(), 140, "the first chain is back, and its block with it");
});

Deno.test("a spend that a scan has seen needs no search", async () => {
  const story = { head: 500, spentAt: 3, fork: Infinity, read: 0 };
  const [spends, peer] = [openSpends(readerOf(story)), peerOf(story)];
  spends.note(await readerOf(story)(peer, { hash: idAt(3), height: 3 }), new Set([CLAIM]));
  equal((await spends.find(peer, [CLAIM], 1, story.head))?.get(CLAIM)?.height, 3);
  equal(story.read, 1);
});

Deno.test("blocks that one node makes up make nothing forgotten that another has shown", async () => {
  const honest = { head: 150, spentAt: 140, fork: Infinity, read: 0 };
  const made = { ...honest, fork: 0 };
  const spends = openSpends((peer, place) => readerOf(honest)(peer, place));
  const peer = peerOf(honest);
  equal((await spends.find(peer, [CLAIM], 100, 150))?.get(CLAIM)?.height, 140);
  for (let at = 0; at < 8; at++) {
    Object.assign(made, { fork: at });
    const lying: Peer = {
      ...peerOf(made),
      name: "liar",
      call: (_, [height]) => Promise.resolve(idAt(10 ** 6 * (at + 1) + Number(height))),
    };
    equal((await spends.find(lying, [CLAIM], 100, 150))?.size, 1);
  }
  equal((await spends.find(peer, [CLAIM], 100, 150))?.get(CLAIM)?.height, 140);
});

Deno.test("a mempool is read once, in portions, and transactions that leave it are dropped", async () => {
  const { address } = await newParty("LITECOIN");
  const script = await scriptOf("LITECOIN", "regtest", address);
  const bytes = new Map<string, string>();
  for (let at = 0; at < 5_400; at++) {
    const one = new Transaction();
    one.locktime = at;
    one.addInput(new Uint8Array(32).fill(7), at);
    // Ten of the first ones pay us, and all that the second poll reads.
    one.addOutput(at < 10 || at >= 5_000 ? script : Uint8Array.of(0x51), 50_000_000n);
    bytes.set(one.getId(), one.toHex());
  }
  const waiting = new Set(bytes.keys());
  let read = 0;
  await using node = startFaultyNode(null, ({ method, params: [id] }) => {
    if (method === "getblockchaininfo") return { chain: "regtest" };
    if (method === "getblockhash") return SOME;
    if (method === "getrawmempool") return [...waiting];
    if (!waiting.has(String(id))) throw new NodeError(-5, "No such mempool transaction");
    read++;
    return bytes.get(String(id));
  });
  const chain = await openCoins("LITECOIN", "regtest", [node.url]);
  const watch = watching([address]);
  equal((await chain.mempool(watch)).length, 10);
  equal(read, 5_000);
  const all = await chain.mempool(watch);
  equal(all.length, 410);
  equal(read, 5_400);
  equal(all[0].amount, 50_000_000n);
  for (const id of [...waiting].slice(0, 5_390)) waiting.delete(id);
  equal((await chain.mempool(watch)).length, 10);
  equal(read, 5_400);
  chain.close();
});
