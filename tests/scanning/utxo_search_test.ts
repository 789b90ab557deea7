import { deepEqual, equal } from "node:assert/strict";
import { searchCoins, searchPlace } from "../../workers/scanning/utxo_search.ts";
import { COIN, type CoinDesk, LITECOIN, openCoinDesk, PLAYS } from "../support/utxo_fixture.ts";
import { startTimetable } from "../../workers/schedule/timetable.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { throughNode } from "../support/coin_liars.ts";
import { type Rogue, RogueError } from "../support/nodes/misbehaving_node.ts";

const ignore = !hasLitecoind();
const PLACE = { chain: "LITECOIN", network: "regtest" } as const;

/** Passes a block over, as if the node had shown it without what it pays us. */
async function passOver(desk: CoinDesk): Promise<void> {
  await desk.node.mine();
  const height = await desk.node.rpc<number>("getblockcount");
  const hash = await desk.node.rpc<string>("getblockhash", height);
  await desk.realm.command(async (tx) => {
    await tx`insert into chain_blocks (chain, network, height, hash, parent_hash)
      select chain, network, ${height}, ${hash}, hash from chain_cursors`;
    await tx`update chain_cursors set height = ${height}, head = ${height}, hash = ${hash}`;
  });
}

const chainOf = (desk: CoinDesk) => desk.context.chains.open({ chain: PLACE.chain, testnet: true });
const totalOf = async (desk: CoinDesk) => (await desk.account(desk.virtual)).balance.total;
const queued = (desk: CoinDesk) =>
  rowsOf<{ from: number }>(
    desk.realm,
    "select (payload ->> 'from')::integer as from from jobs where name = 'deposit.rescan'",
  );

Deno.test({
  name:
    "LTC: a deposit that a node hid from the scanner is found by the node's own coins, and credited once",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.deposit(2n * COIN);
    await desk.until(async () => await totalOf(desk) !== "0");
    await desk.deposit(5n * COIN);
    await passOver(desk);
    const missedAt = await desk.node.rpc<number>("getblockcount");
    await desk.node.mine(3);
    await desk.follow();
    const before = await totalOf(desk);
    const missing = await searchPlace(desk.context, await chainOf(desk), PLACE);
    deepEqual([missing?.length, await totalOf(desk)], [1, before]);
    deepEqual((await queued(desk)).map(({ from }) => from), [missedAt]);
    await desk.until(async () => Number(await totalOf(desk)) > Number(before) + 4.9);
    deepEqual(await searchPlace(desk.context, await chainOf(desk), PLACE), []);
    equal((await queued(desk)).length, 1);
    await desk.agree();
  },
});

Deno.test({
  name: "LTC: coins that a node lists at a block which is not scanned, or is another, say nothing",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.deposit(2n * COIN);
    await desk.node.mine();
    equal(await searchPlace(desk.context, await chainOf(desk), PLACE), null);
    await desk.follow();
    deepEqual(await searchPlace(desk.context, await chainOf(desk), PLACE), []);
    await desk.realm.command((tx) => tx`update chain_cursors set hash = ${"0".repeat(64)}`);
    equal(await searchPlace(desk.context, await chainOf(desk), PLACE), null);
    deepEqual([...await queued(desk)], []);
  },
});

Deno.test({
  name:
    "coins that a node makes up have ever fewer blocks read again, and what is missed is found after them",
  ignore,
  fn: async () => {
    const rogues: Rogue[] = [];
    let made = 0;
    const start = async () => {
      const node = await LITECOIN.start();
      rogues.push(throughNode(node, async ({ method, params }) => {
        if (method !== "scantxoutset" || made === 0) return undefined;
        const told = await node.rpc<{ unspents: unknown[] }>(method, ...params);
        const script = String((params[1] as string[])[0]).slice("raw(".length, -1);
        const unspents = Array.from({ length: made }, (_, at) => ({
          ...{ txid: `${at}`.padStart(64, "a"), vout: 0, height: at + 1, amount: 1 },
          scriptPubKey: script,
        }));
        return { ...told, unspents: [...unspents, ...told.unspents] };
      }));
      return { ...node, url: rogues[0].url };
    };
    try {
      await using desk = await openCoinDesk({ ...LITECOIN, start });
      await desk.node.mine();
      await desk.follow();
      const context = { ...desk.context, log: () => {} };
      made = 100;
      const read: number[] = [];
      for (let search = 0; search < 4; search++) {
        equal((await searchPlace(context, await chainOf(desk), PLACE))?.length, made);
        read.push((await queued(desk)).length);
        await rowsOf(desk.realm, "delete from jobs where name = 'deposit.rescan'");
      }
      deepEqual(read, [100, 50, 25, 12]);
      made = 0;
      await desk.deposit(5n * COIN);
      await passOver(desk);
      await desk.node.mine(3);
      await desk.follow();
      equal((await searchPlace(context, await chainOf(desk), PLACE))?.length, 1);
      await desk.until(async () => Number(await totalOf(desk)) > 4.9);
      await desk.agree();
    } finally {
      for (const one of rogues) await one.abort();
    }
  },
});

Deno.test({
  name: "coins are searched by the timetable, in a loop of its own, once every few hours",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.deposit(2n * COIN);
    await desk.node.mine();
    await desk.follow();
    const { database, id } = desk.realm;
    const { chains, signer } = desk.context;
    const of = { database, log: () => {}, chains, signer, rates: null, now: Date.now };
    const timetable = startTimetable(of, { loop: false, only: id });
    await timetable.drain(30_000);
    await timetable.stop();
    const rows = await rowsOf<{ hours: number }>(
      desk.realm,
      `select round(extract(epoch from next_at - now()) / 3600)::integer as hours from leases
        where name = 'search coins'`,
    );
    deepEqual(rows.map(({ hours }) => hours), [6]);
    equal((await rowsOf(desk.realm, "select 1 from coin_searches")).length, 1);
  },
});

const CASH = PLAYS.find(({ id }) => id === "BITCOIN_CASH")!;

Deno.test("BCH: coins are searched in the node's own list", async () => {
  await using desk = await openCoinDesk(CASH);
  await desk.deposit(2n * COIN);
  await desk.until(async () => await totalOf(desk) !== "0");
  const chain = await desk.context.chains.open({ chain: CASH.id, testnet: true });
  const place = { chain: CASH.id, network: "regtest" } as const;
  deepEqual(await searchPlace(desk.context, chain, place), []);
});

Deno.test("BCH: where no node lists its coins, the latest blocks are read again, and what was hidden is credited once", async () => {
  const rogues: Rogue[] = [];
  const start = async () => {
    const node = await CASH.start();
    rogues.push(throughNode(node, ({ method }) => {
      if (method === "scantxoutset") throw new RogueError(-32601, "Method not found");
    }));
    return { ...node, url: rogues[0].url };
  };
  try {
    await using desk = await openCoinDesk({ ...CASH, start });
    await desk.deposit(2n * COIN);
    await desk.until(async () => await totalOf(desk) !== "0");
    const before = await totalOf(desk);
    await desk.deposit(5n * COIN);
    await passOver(desk);
    await desk.node.mine(3);
    await desk.follow();
    equal(await totalOf(desk), before);
    await searchCoins({ ...desk.context, log: () => {} });
    await desk.until(async () => Number(await totalOf(desk)) > Number(before) + 4.9);
    await desk.agree();
    // The nodes' other answers are not doubted for it.
    const chain = await desk.context.chains.open({ chain: CASH.id, testnet: true });
    equal((await chain.head()).height, await desk.node.rpc<number>("getblockcount"));
  } finally {
    for (const one of rogues) await one.abort();
  }
});
