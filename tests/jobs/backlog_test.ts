/** After a long outage very much is due: how much of it one turn of a worker reads, and who has his part of it. */
import { deepEqual, ok } from "node:assert/strict";
import { selectDueRamps } from "../../db/exchanges/external_ramps.ts";
import { selectDueTransfers } from "../../db/exchanges/ramp_transfers.ts";
import { selectPendingAssets } from "../../db/deposits/deposits.ts";
import { deleteOldAttempts, deleteOldRevocations } from "../../db/housekeeping.ts";
import { deleteOldJobs, insertJob } from "../../db/jobs.ts";
import { claimJobs } from "../../db/jobs/claims.ts";
import type { Db } from "../../db/database.ts";
import { newId } from "../../domain/ids.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { realmDatabase } from "../support/database.ts";
import { logPlans, type PlanLog, readsOf } from "../support/plans.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";

/** Due rows of one owner. */
const MANY = 100_000;
/** Rows that a turn may read of a table: two windows of what is due, whoever has it. */
const READ_MAX = 1500;

/** A realm whose sessions write down their plans, made generic ones at once, on tables of which PostgreSQL knows nothing. */
async function openBacklog() {
  await using stack = new AsyncDisposableStack();
  const own = stack.use(await realmDatabase());
  const plans = stack.use(await logPlans(own));
  const realm = stack.use(await testRealm({ env: { DATABASE_URL: own.url } }));
  const { schema } = locationOf(realm.made.realm);
  await plans.sql.unsafe(`set search_path = ${schema}`);
  const moved = stack.move();
  return { plans, realm, schema, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

/** Rows of tables that work reads. */
async function rowsRead(plans: PlanLog, work: () => Promise<unknown>): Promise<string[]> {
  await plans.forget();
  await work();
  return (await plans.read()).flatMap(readsOf)
    .filter(({ rows, node }) => rows > READ_MAX || node === "Seq Scan" && rows > 100)
    .map(({ node, table, rows, text }) => `${node} ${table} ${rows}: ${text.trim()}`);
}

function onPool<T>(realm: TestRealm, work: (db: Db) => Promise<T>): Promise<T> {
  return work(realm.pool.sql);
}

Deno.test("a claim reads a bounded part of what is due, and takes jobs of every user, kind and key", async () => {
  await using backlog = await openBacklog();
  const { plans, realm } = backlog;
  const add = (name: string, of: { share?: string; serialKey?: string } = {}) =>
    realm.command(async (tx) => {
      const id = newId(Date.now());
      await insertJob(tx, { id, name, payload: {}, ...of });
      return id;
    });
  const fill = (name: string, more: { share?: string; key?: string }) =>
    plans.sql`
      insert into jobs (id, name, payload, share, serial_key, run_at)
      select gen_random_uuid(), ${name}, '{}', ${more.share ?? null}::text || g % 500, ${
      more.key ?? null
    }::text || g,
        now() - interval '1 day' from generate_series(1, ${MANY}) g`;
  await claimJobs(realm.pool.sql, 60, { limit: 5, except: [], exchanges: 5 }); // prepared on empty tables
  await fill("exchange.advance", { share: "hog/" });
  await fill("message.send", {});
  await fill("deposit.sweep", { key: "sweep " });
  const ada = await add("exchange.check", { share: "ada/a" });
  const hers = await add("order.advance");
  const claimed: string[] = [];
  const claim = async (...except: string[]) => {
    const limits = { limit: 20, except, exchanges: 8 };
    const jobs = await onPool(realm, (db) => claimJobs(db, 60, limits));
    claimed.push(...jobs.map(({ id }) => id));
  };
  const read = await rowsRead(plans, async () => {
    await claim("message.send");
    await claim("message.send", "deposit.sweep"); // as when enough of them run
  });
  ok(read.length === 0, read.join("\n"));
  ok(claimed.includes(ada), "a job of another user");
  ok(claimed.includes(hers), "a job of another kind");
  ok(claimed.length <= 2 * (8 + 20));
});

Deno.test("what is scheduled of transfers and checks at exchanges is read in bounded part, of every owner", async () => {
  await using backlog = await openBacklog();
  const { plans, realm } = backlog;
  const [hog, ada] = [realm.admin.id, crypto.randomUUID()];
  const turn = async () => ({
    ramps: await onPool(realm, (db) => selectDueRamps(db, Date.now(), 200)),
    transfers: await onPool(realm, (db) => selectDueTransfers(db, Date.now(), 200)),
  });
  await turn(); // prepared on empty tables
  const fill = async (owner: string, count: number, since: string) => {
    await plans.sql`
      insert into external_ramps (id, ramp, identity, key, credentials, credentials_at, hint, check_at, owner, created_at)
      select gen_random_uuid(), 'binance', gen_random_uuid(), gen_random_uuid(), decode(repeat('00', 61), 'hex'), now(),
        'hint', now() - ${since}::interval, ${owner}, now() from generate_series(1, ${count})`;
    await plans.sql`
      insert into ramp_transfers (id, external_ramp, exchange, kind, account, asset, value, currency, exchange_network,
        chain, network, address, next_at, owner, created_at)
      select gen_random_uuid(), gen_random_uuid(), 'binance', 'deposit', gen_random_uuid(), 'ETH', 1, 'ETH', 'ERC20',
        'ETHEREUM', 'testnet', '0x', now() - ${since}::interval, ${owner}, now() from generate_series(1, ${count})`;
  };
  await fill(hog, MANY, "1 day");
  await fill(ada, 1, "1 second");
  let due = await turn();
  const read = await rowsRead(plans, async () => {
    due = await turn();
  });
  ok(read.length === 0, read.join("\n"));
  for (const [kind, rows] of Object.entries(due)) {
    ok(rows.some(({ owner }) => owner === ada), `${kind} of another owner`);
    ok(rows.length > 100 && rows.length <= 200, `${kind} ${rows.length}`);
  }
});

Deno.test("old jobs, revocations and failed logins are deleted in bounded parts, and those that stay are not read", async () => {
  await using backlog = await openBacklog();
  const { plans, realm } = backlog;
  const remove = (limit: number) =>
    onPool(realm, async (db) => [
      await deleteOldJobs(db, limit),
      await deleteOldRevocations(db, limit),
      await deleteOldAttempts(db, limit),
    ]);
  deepEqual(await remove(100), [0, 0, 0]); // prepared on empty tables
  await plans.sql`
    insert into jobs (id, name, payload, state, finished_at)
    select gen_random_uuid(), 'message.send', '{}', case when g % 2 = 0 then 'done' else 'dead' end,
      now() - interval '8 days' from generate_series(1, ${MANY}) g`;
  await plans.sql`
    insert into revocations (id, user_id, jti, expires_at, created_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(),
      now() + case when g % 2 = 0 then -interval '1 day' else interval '1 day' end, now()
    from generate_series(1, ${MANY}) g`;
  await plans.sql`
    insert into login_attempts (subject, updated_at, right_at)
    select g::text, now() - interval '2 days', case when g % 2 = 0 then now() - interval '2 days' end
    from generate_series(1, ${MANY}) g`;
  let removed: number[] = [];
  const read = await rowsRead(plans, async () => {
    removed = await remove(100);
  });
  ok(read.length === 0, read.join("\n"));
  deepEqual(removed, [100, 100, 100]);
});

Deno.test("the assets of pending deposits are found without a read of all of them", async () => {
  await using backlog = await openBacklog();
  const { plans, realm } = backlog;
  const place = { chain: "ETHEREUM", network: "main" };
  const find = () => onPool(realm, (db) => selectPendingAssets(db, place));
  deepEqual(await find(), []); // prepared on empty tables
  await plans.sql`
    insert into deposits (id, chain, network, hash, index, account, address, asset, amount, created_at)
    select gen_random_uuid(), 'ETHEREUM', 'main', g::text, 0, gen_random_uuid(), '0x',
      case when g = 5 then 'DAI' when g % 2 = 0 then 'ETH' else 'USDT_ETH' end, 1, now()
    from generate_series(1, ${MANY}) g`;
  let assets: string[] = [];
  const read = await rowsRead(plans, async () => {
    assets = await find();
  });
  ok(read.length === 0, read.join("\n"));
  deepEqual(assets, ["DAI", "ETH", "USDT_ETH"]);
});

Deno.test("jobs that wait for others with their serial keys keep no job of their kind from a worker", async () => {
  await using realm = await testRealm();
  const add = async (serialKey: string, of: { runAt?: number } = {}) => {
    const id = newId(Date.now());
    await realm.command((tx) =>
      insertJob(tx, {
        ...{ id, name: "deposit.sweep", payload: { account: id }, serialKey },
        run_at: of.runAt,
      })
    );
    return id;
  };
  for (let i = 0; i < 70; i++) { // each is tried again in an hour, and has another behind it
    await add(`sweep ${i}`, { runAt: Date.now() + 3_600_000 });
    await add(`sweep ${i}`);
  }
  const last = await add("sweep last");
  const jobs = await onPool(
    realm,
    (db) => claimJobs(db, 60, { limit: 5, except: [], exchanges: 0 }),
  );
  deepEqual(jobs.map(({ id }) => id), [last]);
});

Deno.test("however many jobs of some kinds are due, and for how long, each claim has one of another kind, or soon has", async () => {
  await using realm = await testRealm();
  const dues = ["message.send", "webhook.deliver"];
  for (const name of dues) {
    await realm.pool.sql`
      insert into jobs (id, name, payload, run_at)
      select gen_random_uuid(), ${name}, '{}', now() - interval '1 day' from generate_series(1, 300)`;
  }
  const add = () => {
    const id = newId(Date.now());
    return realm.command((tx) => insertJob(tx, { id, name: "order.advance", payload: {} }));
  };
  const claim = (limit: number) =>
    onPool(realm, (db) => claimJobs(db, 60, { limit, except: [], exchanges: 0 }));
  await add();
  ok((await claim(3)).some(({ name }) => name === "order.advance"), "of three slots one");
  await add();
  let claims = 0;
  // Where one slot becomes free at a time, as in a crowded process, each kind is next at random.
  while (!(await claim(1)).some(({ name }) => name === "order.advance")) ok(++claims < 100);
});
