/**
 * Transactions of every kind over connections that are lost at random moments: each ends, its work too, each acknowledged one
 * is there once, and each that failed for certain is not.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import net from "node:net";
import { copyIn, copyOut } from "../../db/backup/copies.ts";
import { openDatabase, type Pool, type Tx } from "../../db/database.ts";
import { mayBeDone } from "../../db/errors.ts";
import { buildingIn, locking, savepoint, serializable, writing } from "../../db/transaction.ts";
import { testDatabase } from "../support/database.ts";

const SEED = 45;
const CALLERS = 8;
const TRANSACTIONS = 240;
/** The longest that a connection lives, as the natural logarithm of the bytes that are sent over it. */
const LIFE_MAX = 15;

type Random = (below: number) => number;

/** Numbers that look random, the same ones for each seed (mulberry32). */
function randomBy(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6D2B79F5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below;
  };
}

const pick = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random(all.length))];

/** How a connection is lost. */
const LOSSES: readonly ((client: net.Socket, server: net.Socket) => void)[] = [
  (client, server) => void (client.resetAndDestroy(), server.destroy()),
  (client, server) => void (client.destroy(), server.destroy()),
  (client, server) => void (client.end(), server.destroy()),
  (_, server) => void server.end(),
  // Its answers do not arrive any more.
  (client, server) => void (server.unpipe(), setTimeout(() => client.resetAndDestroy(), 20)),
  // What it sends does not arrive any more.
  (client) => void (client.pause(), setTimeout(() => client.resetAndDestroy(), 20)),
];

/** Opens a way to a database on which connections are lost, each after a random number of bytes. */
async function openLossyWay(address: string, random: Random) {
  const url = new URL(address);
  const { hostname, port } = url;
  const proxy = net.createServer((client) => {
    const server = net.connect(Number(port), hostname);
    for (const one of [client, server]) one.on("error", () => {});
    server.pipe(client);
    server.on("close", () => client.end());
    client.on("close", () => server.destroy());
    let left = Math.exp(random(LIFE_MAX));
    const lose = pick(random, LOSSES);
    client.on("data", (bytes: Uint8Array) => {
      if (left < 0) return;
      left -= bytes.length;
      // The last ones in part.
      server.write(left < 0 ? bytes.subarray(0, Math.floor(random(bytes.length))) : bytes);
      if (left < 0) lose(client, server);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  url.host = `127.0.0.1:${(proxy.address() as net.AddressInfo).port}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => proxy.close(() => resolve())),
  };
}

/** One transaction: its number, and the rows that it has written and not taken back. */
interface Written {
  id: number;
  rows: number;
}

const LOG = { name: "log", columns: ["id", "n", "text"] };
const LARGE = { name: "large", columns: ["n", "text"] };

const insert = async (tx: Tx, written: Written) =>
  void await tx`insert into public.log values (${written.id}, ${++written.rows})`;

class Left extends Error {}

/** What a transaction does. */
const STEPS: readonly ((tx: Tx, written: Written, random: Random) => Promise<void>)[] = [
  insert,
  async (tx, written) =>
    await savepoint(tx, (sp) => savepoint(sp, (inner) => insert(inner, written))),
  async (tx, { id }) => {
    const undone = savepoint(tx, async (sp) => {
      await sp`insert into public.log values (${id}, -1)`;
      throw new Left();
    });
    await undone.catch((error) => {
      if (!(error instanceof Left)) throw error;
    });
  },
  async (tx, written, random) => {
    async function* lines(): AsyncGenerator<Uint8Array> {
      for (let left = random(20); left > 0; left--) {
        await new Promise((resolve) => setTimeout(resolve));
        yield new TextEncoder().encode(
          `${written.id}\t${++written.rows}\t${"x".repeat(random(9999))}\n`,
        );
      }
    }
    await copyIn(tx, "public.", LOG as never, lines());
  },
  async (tx, _, random) => {
    let left = random(5);
    for await (const _ of copyOut(tx, "public", LARGE, `n < ${Math.floor(random(2000))}`)) {
      await new Promise((resolve) => setTimeout(resolve));
      if (--left < 0) break;
    }
  },
  async (tx, _, random) => void await tx`select length(${"x".repeat(random(200_000))}::text)`,
  async (tx, _, random) => {
    const many = Array.from({ length: random(150) }, (_, i) => tx`select ${`${i}`}::text as i`);
    await Promise.all(many);
  },
  async (tx, written) => {
    const late = insert(tx, written);
    tx`select pg_sleep(0.001)`.catch(() => {}); // nobody waits for it
    await late;
  },
];

/** Gives what runs transactions, each in a transaction of some kind, and all that their work did. */
function writersOf(pool: Pool, random: Random) {
  const works = new Set<Promise<void>>();
  const kinds: ((work: (tx: Tx) => Promise<void>) => Promise<void>)[] = [
    (work) => serializable(pool, work),
    (work) => locking(pool, work),
    (work) => buildingIn(pool, work),
  ];
  async function work(tx: Tx, written: Written): Promise<void> {
    written.rows = 0; // it may be a second run
    for (let left = random(5); left > 0; left--) await pick(random, STEPS)(tx, written, random);
    await insert(tx, written);
    if (random(10) < 1) throw new Left();
  }
  const run = (written: Written) =>
    pick(random, kinds)((tx) => {
      const running = work(tx, written);
      works.add(running.catch(() => {}));
      return running;
    });
  return { run, works };
}

Deno.test("of transactions whose connections are lost at random moments each ends, and is done where that was told, and only there", async () => {
  await using own = await testDatabase();
  const random = randomBy(SEED);
  const options = { prepare: true, parseJson: JSON.parse };
  const direct = openDatabase({ ...options, url: own.url, platformMax: 1 });
  await writing(
    direct.platform,
    (db) =>
      db.unsafe(`create table public.log (id integer, n integer, text text);
      create table public.large as
        select n, repeat('y', 300) as text from generate_series(1, 2000) n`),
  );
  await using way = await openLossyWay(own.url, random);
  const lossy = openDatabase({ ...options, url: way.url, platformMax: 4 });
  const { run, works } = writersOf(lossy.platform, random);
  const ends: { written: Written; error: unknown }[] = [];
  await Promise.all(Array.from({ length: CALLERS }, async (_, caller) => {
    for (let id = caller; id < TRANSACTIONS; id += CALLERS) {
      const written = { id, rows: 0 };
      const error = await run(written).then(() => null, (error: unknown) => error);
      ends.push({ written, error });
    }
  }));
  await Promise.all(works);
  await lossy.close();
  const rows = await direct.platform.sql<{ id: number; rows: number; undone: number }[]>`
    select id, count(*)::integer as rows, count(*) filter (where n < 0)::integer as undone
    from public.log group by id`;
  await direct.close();
  const found = new Map(rows.map((row) => [row.id, row]));
  for (const { written: { id, rows }, error } of ends) {
    const got = found.get(id);
    equal(got?.undone ?? 0, 0, `${id}`);
    if (error === null) equal(got?.rows, rows, `${id} was acknowledged`);
    else if (!mayBeDone(error)) deepEqual(got, undefined, `${id} had failed for certain: ${error}`);
  }
  const count = (is: (error: unknown) => boolean) => ends.filter(({ error }) => is(error)).length;
  ok(count((error) => error === null) > TRANSACTIONS / 10, "some are acknowledged");
  ok(
    count((error) => error !== null && !(error instanceof Left)) > TRANSACTIONS / 10,
    "some are lost",
  );
});
