import { deepEqual, equal } from "node:assert/strict";
import { searchCoins, searchNetwork } from "../../workers/scanning/utxo_search.ts";
import {
  COIN,
  LITECOIN,
  openUtxoRamp,
  UTXO_CHAINS,
  type UtxoRamp,
} from "../support/utxo_fixture.ts";
import { startTimetable } from "../../workers/schedule/timetable.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { type SharedUtxo, sharingUtxo } from "../support/sharing_utxo.ts";
import { throughNode } from "../support/coin_liars.ts";
import { type FaultyNode, NodeError } from "../support/nodes/faulty_node.ts";

const ignore = !hasLitecoind();
const PLACE = { chain: "LITECOIN", network: "regtest" } as const;

/** Moves the cursor past a new block without scanning it, as if the node had left out payments to us. */
async function passOver(funded: UtxoRamp): Promise<void> {
  await funded.node.mine();
  const height = await funded.node.rpc<number>("getblockcount");
  const hash = await funded.node.rpc<string>("getblockhash", height);
  await funded.realm.command(async (tx) => {
    await tx`insert into chain_blocks (chain, network, height, hash, parent_hash)
      select chain, network, ${height}, ${hash}, hash from chain_cursors`;
    await tx`update chain_cursors set height = ${height}, head = ${height}, hash = ${hash}`;
  });
}

const chainOf = (funded: UtxoRamp) =>
  funded.context.chains.open({ chain: PLACE.chain, testnet: true });
const totalOf = async (funded: UtxoRamp) => (await funded.account(funded.virtual)).balance.total;
const queued = (funded: UtxoRamp) =>
  rowsOf<{ from: number }>(
    funded.realm,
    "select (payload ->> 'from')::integer as from from jobs where name = 'deposit.rescan'",
  );

/** Forgets what was queued before. */
async function forget(funded: UtxoRamp): Promise<void> {
  await rowsOf(funded.realm, "delete from jobs where name = 'deposit.rescan'");
}

const test = sharingUtxo("coins of Litecoin are searched", LITECOIN, ignore);

// The first: nothing was searched before.
test(
  "coins are searched by the timetable, in a loop of its own, once every few hours",
  async ({ funded }) => {
    await funded.deposit(2n * COIN);
    await funded.node.mine();
    await funded.follow();
    const { database, id } = funded.realm;
    const { chains, signer } = funded.context;
    const of = { database, log: () => {}, chains, signer, rates: null, now: Date.now };
    const timetable = startTimetable(of, { loop: false, only: id });
    await timetable.drain(300_000);
    await timetable.stop();
    const rows = await rowsOf<{ hours: number }>(
      funded.realm,
      `select round(extract(epoch from next_at - now()) / 3600)::integer as hours from leases
        where name = 'search coins'`,
    );
    deepEqual(rows.map(({ hours }) => hours), [6]);
    equal((await rowsOf(funded.realm, "select 1 from coin_searches")).length, 1);
  },
);

test(
  "LTC: a deposit that a node hid from the scanner is found by the node's own coins, and credited once",
  async ({ funded }) => {
    await forget(funded);
    await funded.deposit(2n * COIN);
    await funded.until(async () => await totalOf(funded) !== "0");
    await funded.deposit(5n * COIN);
    await passOver(funded);
    const missedAt = await funded.node.rpc<number>("getblockcount");
    await funded.node.mine(3);
    await funded.follow();
    const before = await totalOf(funded);
    const missing = await searchNetwork(funded.context, await chainOf(funded), PLACE);
    deepEqual([missing?.length, await totalOf(funded)], [1, before]);
    deepEqual((await queued(funded)).map(({ from }) => from), [missedAt]);
    await funded.until(async () => Number(await totalOf(funded)) > Number(before) + 4.9);
    deepEqual(await searchNetwork(funded.context, await chainOf(funded), PLACE), []);
    equal((await queued(funded)).length, 1);
    await funded.agree();
  },
);

test(
  "LTC: coins that a node lists at a block which is not scanned, or is another, say nothing",
  async ({ funded }) => {
    await forget(funded);
    await funded.deposit(2n * COIN);
    await funded.node.mine();
    equal(await searchNetwork(funded.context, await chainOf(funded), PLACE), null);
    await funded.follow();
    deepEqual(await searchNetwork(funded.context, await chainOf(funded), PLACE), []);
    const [{ hash }] = await rowsOf<{ hash: string }>(
      funded.realm,
      "select hash from chain_cursors",
    );
    await funded.realm.command((tx) => tx`update chain_cursors set hash = ${"0".repeat(64)}`);
    equal(await searchNetwork(funded.context, await chainOf(funded), PLACE), null);
    deepEqual([...await queued(funded)], []);
    await funded.realm.command((tx) => tx`update chain_cursors set hash = ${hash}`);
  },
);

Deno.test({
  name:
    "coins that a node makes up cause ever fewer blocks to be read again, and a missed coin is found after them",
  ignore,
  fn: async () => {
    const faultyNodes: FaultyNode[] = [];
    let made = 0;
    const start = async () => {
      const node = await LITECOIN.start();
      faultyNodes.push(throughNode(node, async ({ method, params }) => {
        if (method !== "scantxoutset" || made === 0) return undefined;
        const told = await node.rpc<{ unspents: unknown[] }>(method, ...params);
        const script = String((params[1] as string[])[0]).slice("raw(".length, -1);
        const unspents = Array.from({ length: made }, (_, at) => ({
          ...{ txid: `${at}`.padStart(64, "a"), vout: 0, height: at + 1, amount: 1 },
          scriptPubKey: script,
        }));
        return { ...told, unspents: [...unspents, ...told.unspents] };
      }));
      return { ...node, url: faultyNodes[0].url };
    };
    try {
      await using funded = await openUtxoRamp({ ...LITECOIN, start });
      await funded.node.mine();
      await funded.follow();
      const context = { ...funded.context, log: () => {} };
      made = 100;
      const read: number[] = [];
      for (let search = 0; search < 4; search++) {
        equal((await searchNetwork(context, await chainOf(funded), PLACE))?.length, made);
        read.push((await queued(funded)).length);
        await forget(funded);
      }
      deepEqual(read, [100, 50, 25, 12]);
      made = 0;
      await funded.deposit(5n * COIN);
      await passOver(funded);
      await funded.node.mine(3);
      await funded.follow();
      equal((await searchNetwork(context, await chainOf(funded), PLACE))?.length, 1);
      await funded.until(async () => Number(await totalOf(funded)) > 4.9);
      await funded.agree();
    } finally {
      for (const one of faultyNodes) await one.abort();
    }
  },
});

const CASH = UTXO_CHAINS.find(({ id }) => id === "BITCOIN_CASH")!;

const onNodes = sharingUtxo("coins of Bitcoin Cash are searched", CASH);

onNodes("BCH: coins are searched in the node's own list", async ({ funded }) => {
  await funded.deposit(2n * COIN);
  await funded.until(async () => await totalOf(funded) !== "0");
  const chain = await funded.context.chains.open({ chain: CASH.id, testnet: true });
  const place = { chain: CASH.id, network: "regtest" } as const;
  deepEqual(await searchNetwork(funded.context, chain, place), []);
});

/** Has the node list no coins. */
function unlisted({ lie }: SharedUtxo): void {
  lie(({ method }) => {
    if (method === "scantxoutset") throw new NodeError(-32601, "Method not found");
  });
}

onNodes(
  "BCH: where no node lists its coins, the latest blocks are read again, and a hidden deposit is credited once",
  async (shared) => {
    const { funded } = shared;
    unlisted(shared);
    await funded.deposit(2n * COIN);
    await funded.until(async () => await totalOf(funded) !== "0");
    const before = await totalOf(funded);
    await funded.deposit(5n * COIN);
    await passOver(funded);
    await funded.node.mine(3);
    await funded.follow();
    equal(await totalOf(funded), before);
    await searchCoins({ ...funded.context, log: () => {} });
    await funded.until(async () => Number(await totalOf(funded)) > Number(before) + 4.9);
    await funded.agree();
    // The nodes' other answers are not doubted for it.
    const chain = await funded.context.chains.open({ chain: CASH.id, testnet: true });
    equal((await chain.head()).height, await funded.node.rpc<number>("getblockcount"));
  },
);

onNodes(
  "BCH: the search of coins leaves a halted network alone, and what it queued before ends no halt",
  async (shared) => {
    const { funded, lie } = shared;
    await funded.deposit(2n * COIN);
    await funded.until(async () => await totalOf(funded) !== "0");
    await funded.deposit(5n * COIN);
    await passOver(funded);
    const context = { ...funded.context, log: () => {} };
    const halt = "update chain_cursors set halted = '{\"at\": 1}'";
    for (const way of [true, false]) {
      if (way) lie(() => undefined);
      else unlisted(shared);
      await forget(funded);
      await rowsOf(funded.realm, halt);
      await searchCoins(context);
      deepEqual([...await queued(funded)], []);
      await rowsOf(funded.realm, "update chain_cursors set halted = null");
      await searchCoins(context);
      equal((await queued(funded)).length, 1, "a network that is followed is searched");
      await rowsOf(funded.realm, halt);
      await funded.realm.drain();
      const [cursor] = await rowsOf(funded.realm, "select halted from chain_cursors");
      deepEqual(cursor, { halted: { at: 1 } });
    }
  },
);
