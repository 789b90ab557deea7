/** The ledger gives times and order; wrong clocks of processes, and of the database, change neither. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { postMove } from "../../domain/ledger/posting.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { expireRealm } from "../../workers/schedule/expiry.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { startTimetable } from "../../workers/schedule/timetable.ts";
import { databaseClock } from "../support/clock.ts";
import { until } from "../support/eventually.ts";
import { LOCKS_HERE } from "../support/locks.ts";
import {
  rowsOf,
  type Send,
  type TestProcess,
  type TestRealm,
  testRealm,
} from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("times of one realm");

const HOUR_MS = 3_600_000;

/** A process whose clock is off by so many milliseconds. */
function skewed(realm: TestRealm, offMs: () => number): TestProcess {
  const process = realm.another();
  Object.assign(process.services, { now: () => Date.now() + offMs() });
  return process;
}

/** A currency, an account that is paid into, and the way in which a process pays. */
async function fixture(realm: TestRealm) {
  const asset = `C${crypto.randomUUID().slice(0, 8)}`;
  const made = await realm.admin.send("POST", "/v1/currencies", { name: asset, supply: "1000000" });
  const { id: currency, account } = made.body;
  const hot = await realm.account({ asset });
  const move = { source: { account }, destination: { account: hot }, value: "1" };
  const pay = async (send: Send, headers?: Record<string, string>) => {
    const answer = await send("POST", "/v1/transactions", move, headers);
    equal(answer.status, 201, answer.text);
    return answer;
  };
  return { currency, account, hot, pay };
}

/** Moves, issues, and captures of blocks through one process. */
async function traffic(send: Send, of: Awaited<ReturnType<typeof fixture>>, rounds: number) {
  const { currency, account, hot, pay } = of;
  const repeat = async (work: () => Promise<unknown>) => {
    for (let i = 0; i < rounds; i++) await work();
  };
  const issue = () =>
    send("POST", `/v1/currencies/${currency}/issue`, { amount: "1", account: hot });
  const hold = async () => {
    const { body } = await send("POST", `/v1/accounts/${account}/blocks`, { amount: "1" });
    const path = `/v1/accounts/${account}/blocks/${body.id}/capture`;
    const captured = await send("POST", path, { destination: { account: hot } });
    equal(captured.status, 201, captured.text);
  };
  await Promise.all([
    repeat(() => pay(send)),
    repeat(() => pay(send)),
    repeat(() => pay(send)),
    repeat(issue),
    repeat(hold),
  ]);
}

/** Follows the list of transactions by `after` until told to stop. */
function follow(send: Send) {
  const seen: string[] = [];
  let stopped = false;
  const page = async () => {
    const after = seen.length === 0 ? "" : `&after=${seen.at(-1)}`;
    const { body } = await send("GET", `/v1/transactions/all?fields=id&limit=1000${after}`);
    for (const { id } of body) seen.push(id);
  };
  const following = (async () => {
    while (!stopped) await page();
    await page();
  })();
  return {
    async stop() {
      stopped = true;
      await following;
      return seen;
    },
  };
}

/** Moments, as told by the process, and the sum of the hot account's entries until then. */
async function sumUntil(realm: TestRealm, account: string, ms: number): Promise<string> {
  const [{ sum }] = await rowsOf<{ sum: string }>(
    realm,
    `select coalesce(sum(e.amount), 0)::text as sum from entries e
      join transactions t on t.id = e.transaction
      where e.account = $1 and t.created_at <= to_timestamp($2::bigint / 1000.0)`,
    [account, ms],
  );
  return sum;
}

Deno.test("a reader that follows the transactions by after= misses none, though two processes' clocks are apart and set back", async () => {
  await using realm = await testRealm();
  const scene = await fixture(realm);
  const started = Date.now();
  await using ahead = skewed(realm, () => Date.now() < started + 2000 ? 5000 : -60_000);
  const reader = follow(realm.admin.send);
  await Promise.all([
    traffic(realm.admin.send, scene, 25),
    traffic(ahead.send(realm.admin.key), scene, 25),
  ]);
  const seen = await reader.stop();
  const all = await rowsOf<{ id: string }>(realm, "select id from transactions order by id");
  equal(all.length, 1 + 2 * 5 * 25);
  deepEqual(seen, all.map(({ id }) => id));
  await extendHashChain(realm.pool, Date.now);
  const linked = await rowsOf<{ id: string }>(
    realm,
    "select transaction as id from chain_links where transaction is not null order by seq",
  );
  deepEqual(linked.map(({ id }) => id), seen, "the order of ids is the order of commits");
});

test("balance?at= and statements are exact and stay so, though two processes' clocks are apart", async (realm) => {
  const scene = await fixture(realm);
  const { hot, pay } = scene;
  await using ahead = skewed(realm, () => 5000);
  const other = ahead.send(realm.admin.key);
  await pay(other);
  const now = await realm.admin.send("GET", `/v1/accounts/${hot}/balance?at=${Date.now()}`);
  equal(now.body.total, "1", "the acknowledged transfer is there, from either process");
  equal((await realm.admin.send("GET", `/v1/accounts/${hot}/entries`)).body.total, 1);
  equal((await realm.admin.send("GET", `/v1/accounts/${hot}/statement`)).body.closing.total, "1");
  const told = new Map<number, string>();
  let over = false;
  const asking = (async () => {
    while (!over) {
      const at = Date.now();
      const { body } = await realm.admin.send("GET", `/v1/accounts/${hot}/balance?at=${at}`);
      if (body.at === at) told.set(at, body.total); // else it was to come, and is not closed
    }
  })();
  do {
    await Promise.all([traffic(realm.admin.send, scene, 15), traffic(other, scene, 15)]);
  } while (told.size <= 5);
  over = true;
  await asking;
  for (const [at, total] of told) {
    const { body } = await realm.admin.send("GET", `/v1/accounts/${hot}/balance?at=${at}`);
    deepEqual([at, body.total, total], [at, await sumUntil(realm, hot, at), body.total]);
  }
  const [from, to] = [[...told.keys()][0], [...told.keys()].at(-1)!];
  const path = `/v1/accounts/${hot}/statement?from=${from + 1}&to=${to}`;
  const { body } = await realm.admin.send("GET", path);
  deepEqual([body.opening.total, body.closing.total], [told.get(from), told.get(to)]);
  for (const { created_at } of body.entries) ok(created_at > from && created_at <= to);
});

test("a balance of this moment waits for a move that has its time and is not committed", async (realm) => {
  const { account, hot } = await fixture(realm);
  const posted = Promise.withResolvers<number>();
  const asked = Promise.withResolvers<void>();
  const moving = realm.command(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    const actor = { ...realm.admin.actor, at: Date.now() };
    const { at } = await postMove(tx, actor, {
      type: "transfer",
      source: account,
      destination: hot,
      amount: "7",
    });
    posted.resolve(at);
    await asked.promise;
  }, { lockLedger: true });
  const at = await posted.promise;
  while (Date.now() <= at) await new Promise((resolve) => setTimeout(resolve, 1));
  const path = `/v1/accounts/${hot}`;
  const [past, present] = [
    realm.admin.send("GET", `${path}/balance?at=${at}`),
    realm.admin.send("GET", `${path}/statement`),
  ];
  const waiting = `select count(*)::int as n from ${LOCKS_HERE} l where not granted
    and relation = 'ledger_lock'::regclass and mode = 'ShareLock'`;
  let answered = 0;
  for (const one of [past, present]) one.finally(() => answered++).catch(() => {}); // awaited below
  const asksOrAnswers = async () => (await rowsOf<{ n: number }>(realm, waiting))[0].n + answered;
  await until(async () => await asksOrAnswers() >= 2, 5);
  asked.resolve();
  await moving;
  deepEqual([(await past).body.at, (await past).body.total], [at, "7"]);
  equal((await present).body.closing.total, "7");
});

Deno.test("the database's clock is set back: ids, times and balances go on, and nothing hides", async () => {
  await using realm = await testRealm();
  const { hot, pay } = await fixture(realm);
  const setClock = await databaseClock(realm);
  const before = (await pay(realm.admin.send)).body;
  await setClock(-60_000);
  const later = [];
  for (let i = 0; i < 5; i++) later.push((await pay(realm.admin.send)).body);
  let last = before;
  for (const one of later) {
    ok(one.id > last.id && one.created_at >= last.created_at);
    last = one;
  }
  const path = `/v1/accounts/${hot}`;
  const get = async (what: string) => (await realm.admin.send("GET", `${path}/${what}`)).body;
  equal((await get("entries")).total, 6);
  equal((await get("statement")).closing.total, "6");
  equal((await get(`balance?at=${last.created_at}`)).total, "6");
  equal((await get(`balance?at=${before.created_at - 1}`)).total, "0");
  await setClock(60_000);
  ok((await pay(realm.admin.send)).body.created_at > last.created_at);
});

test("for a future time balance?at= answers the present balance, with its time", async (realm) => {
  const { hot, pay } = await fixture(realm);
  await pay(realm.admin.send);
  const ahead = Date.now() + HOUR_MS;
  const { body } = await realm.admin.send("GET", `/v1/accounts/${hot}/balance?at=${ahead}`);
  equal(body.total, "1");
  ok(body.at < ahead);
  const path = `/v1/accounts/${hot}/statement?to=${ahead}`;
  const statement = (await realm.admin.send("GET", path)).body;
  equal(statement.closing.total, "1");
  ok(statement.to < ahead);
  const { created_at } = (await pay(realm.admin.send)).body;
  ok(created_at > statement.to, "the present was closed before it was told");
});

Deno.test("a process whose clock is days behind keeps its answers for seven days", async () => {
  await using realm = await testRealm();
  const { hot, pay } = await fixture(realm);
  await using behind = skewed(realm, () => -8 * 24 * HOUR_MS);
  const send = behind.send(realm.admin.key);
  const freeze = () =>
    send("POST", `/v1/accounts/${hot}/freeze`, undefined, { "idempotency-key": "f" });
  const first = await pay(send, { "idempotency-key": "eight-days" });
  equal((await freeze()).status, 200);
  const timetable = startTimetable(optionsOf(realm), { loop: false, only: realm.id });
  await timetable.drain(300_000); // tidies
  await timetable.stop();
  const again = await pay(realm.admin.send, { "idempotency-key": "eight-days" });
  deepEqual([again.headers.get("idempotency-replayed"), again.body.id], ["true", first.body.id]);
  equal((await freeze()).headers.get("idempotency-replayed"), "true");
  equal((await realm.balance(hot)).total, "1");
});

function optionsOf(realm: TestRealm, now: () => number = Date.now) {
  const chains = openChains(realm.services.config.chains);
  const signer = openSigner(realm.services.config.masterKey!, now);
  return { database: realm.database, log: realm.services.log, now, chains, signer, rates: null };
}

Deno.test("a block expires by the database's clock: not by a worker ahead, and for a process behind too", async () => {
  await using realm = await testRealm();
  const { account, hot } = await fixture(realm);
  await using behind = skewed(realm, () => -HOUR_MS);
  const send = behind.send(realm.admin.key);
  const blocks = `/v1/accounts/${account}/blocks`;
  const expires_at = Date.now() + HOUR_MS / 2;
  const { id } = (await realm.admin.send("POST", blocks, { amount: "5", expires_at })).body;
  const timetable = startTimetable(optionsOf(realm, () => Date.now() + HOUR_MS), {
    loop: false,
    only: realm.id,
  });
  await timetable.drain(300_000);
  const status = async () => (await realm.admin.send("GET", `${blocks}/${id}`)).body.status;
  equal(await status(), "OPEN");
  const early = await rowsOf(
    realm,
    "update blocks set status = 'EXPIRED' where id = $1 returning id",
    [
      id,
    ],
  );
  deepEqual(early, [], "the database itself refuses");
  await (await databaseClock(realm))(HOUR_MS);
  const path = `${blocks}/${id}/capture`;
  const late = await send("POST", path, { destination: { account: hot } });
  equal(late.body.code, "block.closed");
  const captured = await rowsOf(
    realm,
    "update blocks set status = 'CAPTURED', captured = 1, transaction = id where id = $1 returning id",
    [id],
  );
  deepEqual(captured, [], "the database itself refuses");
  const past = await send("POST", blocks, { amount: "1", expires_at: Date.now() + 1000 });
  equal(past.body.code, "request.invalid");
  await timetable.drain(300_000);
  await timetable.stop();
  equal(await status(), "EXPIRED");
});

Deno.test("blocks that expire together are all free after one pass, however many", async () => {
  await using realm = await testRealm();
  const { account } = await fixture(realm);
  const count = 1100;
  for (let left = count; left > 0; left -= 1000) {
    await realm.command((tx) =>
      tx`insert into blocks (id, account, amount, expires_at)
        select gen_random_uuid(), ${account}, 1, clock_timestamp() + interval '10 minutes'
        from generate_series(1, ${Math.min(left, 1000)}::int)`, { lockLedger: true });
  }
  equal((await realm.balance(account)).available, `${1_000_000 - count}`);
  equal(await expireRealm(realm.pool), 0);
  await (await databaseClock(realm))(HOUR_MS);
  equal(await expireRealm(realm.pool), count);
  equal((await realm.balance(account)).available, "1000000");
});

test("GET …/entries?after= follows the entries while they come, in both directions", async (realm) => {
  const { hot, pay } = await fixture(realm);
  for (let i = 0; i < 5; i++) await pay(realm.admin.send);
  const path = `/v1/accounts/${hot}/entries`;
  const page = async (query: string) => {
    const { status, body } = await realm.admin.send("GET", `${path}?${query}`);
    return status === 200 ? body.rows.map(({ seq }: { seq: number }) => seq) : body.code;
  };
  deepEqual(await page("after=0&pageSize=3"), [1, 2, 3]);
  deepEqual(await page("sort=-seq&pageSize=2"), [5, 4]);
  await pay(realm.admin.send);
  deepEqual(await page("after=4&sort=-seq&pageSize=2"), [3, 2]);
  deepEqual(await page("after=2&sort=-seq"), [1]);
  deepEqual(await page("after=3"), [4, 5, 6]);
  deepEqual(await page("after=6"), []);
  deepEqual(await page(`after=${"9".repeat(18)}`), []);
  deepEqual(await page(`after=${"9".repeat(18)}&sort=-seq&pageSize=2`), [6, 5]);
  deepEqual(await page("after=0&from=0&to=1"), []);
  for (const bad of ["after=-1", "after=x", "after=1&page=2", `after=${"9".repeat(19)}`]) {
    equal(await page(bad), "query.invalid", bad);
  }
});
