import { deepEqual, equal } from "node:assert/strict";
import { linkPlain } from "../../db/audit/hash_chain.ts";
import { RECOMPUTED_FLOWS } from "../../db/audit/hourly_flows.ts";
import type { Tx } from "../../db/database.ts";
import { locking } from "../../db/transaction.ts";
import { appendLinks } from "../../domain/audit/hash_chain.ts";
import { extendChain, extendHashChain } from "../../workers/audit/hash_chain.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";

const link = (realm: TestRealm) => extendHashChain(realm.pool, Date.now);
const linkInDatabase = async (realm: TestRealm, limit = 1000) => {
  const turn = await locking(realm.pool, (tx) => linkPlain(tx, limit));
  return turn && { links: turn.links, more: turn.more };
};

/** Two accounts whose own events are linked already, and a way to move value between them. */
async function fixture(realm: TestRealm) {
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  await link(realm);
  const move = async (extra: Record<string, unknown> = {}): Promise<string> => {
    const body = { source: { account }, destination: { account: other }, value: "1", ...extra };
    const { status, body: made } = await realm.admin.send("POST", "/v1/transactions", body);
    equal(status, 201);
    return made.id;
  };
  return { other, move };
}

/** Whether the service comes to the same forms, and so to the same hashes, for the whole chain. */
async function isValid(realm: TestRealm): Promise<boolean> {
  return (await realm.admin.send("GET", "/v1/transactions/verify")).body.valid;
}

/** The transactions without a link, and those with one, in the order of their links. */
async function chain(realm: TestRealm): Promise<{ open: number; linked: string[] }> {
  const rows = await rowsOf<{ id: string; seq: string | null }>(
    realm,
    "select t.id, l.seq from transactions t left join chain_links l on l.transaction = t.id order by l.seq",
  );
  const linked = rows.filter((row) => row.seq !== null).map((row) => row.id);
  return { open: rows.length - linked.length, linked };
}

/** What each kind of value looks like at its strangest; the database writes it as the service does. */
const STRANGE: Readonly<Record<string, string>> = {
  "every character below 256":
    "reference = (select string_agg(chr(n), '' order by n) from generate_series(1, 255) n)",
  "characters of other planes":
    `reference = U&'\\2028\\2029\\FEFF\\+01F600 e\\0301 \\FFFF "\\\\" </'`,
  "an empty reference": "reference = ''",
  "zeros behind the point": "amount = 1.50000",
  "the smallest and the greatest":
    "amount = 12345678901234567890123456789012345.000000000000000001",
  "a whole number with zeros": "amount = 1000.0",
  "a fiat value": "fiat_currency = 'EUR', fiat_rate = 0.000123000, fiat_value = 0.00",
  "a machine key": "api_key = gen_random_uuid()",
  "a transaction that is reverted": "reverts = gen_random_uuid()",
  "no owner": "owner = null",
  "a test network": "testnet = true",
  "a name with signs": `asset = E'q"\\\\\\t\\u007f'`,
  "microseconds": "created_at = '2026-01-01T00:00:00.123999Z'",
  "the last moment of a second": "created_at = '2026-01-01T00:00:00.999999Z'",
};

Deno.test("the database writes the form of every plain transaction as the service does", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm);
  for (const assignment of Object.values(STRANGE)) {
    await tamper(realm, `update transactions set ${assignment} where id = '${await move()}'`);
  }
  const count = Object.keys(STRANGE).length;
  deepEqual(await linkInDatabase(realm), { links: count, more: false });
  equal(await isValid(realm), true);
  equal((await chain(realm)).open, 0);
});

Deno.test("transactions with JSON and events are linked between plain ones, in the order of commits", async () => {
  await using realm = await testRealm();
  const { move, other } = await fixture(realm);
  const before = (await chain(realm)).linked;
  const made: string[] = [];
  for (const seal of [null, null, { z: 1.10 }, null, { a: "é" }, { b: [] }, null]) {
    made.push(await move(seal === null ? {} : { seal }));
  }
  equal((await realm.admin.send("POST", `/v1/accounts/${other}/freeze`)).status, 200); // an event
  made.push(await move());
  deepEqual(await linkInDatabase(realm), { links: 2, more: true });
  deepEqual(await linkInDatabase(realm), { links: 0, more: true }, "the next has a seal");
  equal(await link(realm), made.length - 2);
  deepEqual(await chain(realm), { open: 0, linked: [...before, ...made] });
  equal(await isValid(realm), true);
});

Deno.test("a limit ends a turn at a whole commit, and tells that others wait", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm);
  for (let i = 0; i < 5; i++) await move();
  deepEqual(await linkInDatabase(realm, 2), { links: 2, more: true });
  deepEqual(await linkInDatabase(realm, 3), { links: 3, more: true });
  deepEqual(await linkInDatabase(realm, 3), { links: 0, more: false });
  equal(await isValid(realm), true);
});

Deno.test("the sums of hours and the numbers of rows are those of the linked transactions", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm);
  for (const reference of ["a", "b", "c"]) await move({ reference });
  equal((await linkInDatabase(realm))?.links, 3);
  const SUMS = "testnet, hour, asset, type, direction, currency, count, amount, value";
  const kept = await rowsOf(realm, `select ${SUMS} from hourly_flows order by ${SUMS}`);
  const due = await rowsOf(realm, `select ${SUMS} from (${RECOMPUTED_FLOWS}) f order by ${SUMS}`);
  deepEqual(kept, due);
  const [{ same }] = await rowsOf<{ same: boolean }>(
    realm,
    `select (select sum(living) from row_counts where collection = 'transactions')
      = (select count(*) from transactions) as same`,
  );
  equal(same, true);
});

Deno.test("commits whose ids do not ascend are linked one by one, in their order", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm);
  const before = (await chain(realm)).linked;
  const made = [await move(), await move(), await move()];
  await tamper(
    realm,
    `update ledger_commits c set transactions = array['${
      made[2]
    }'::uuid] where transactions = array['${
      made[0]
    }'::uuid] and id = (select min(id) from ledger_commits)`,
  );
  await tamper(
    realm,
    `update ledger_commits c set transactions = array['${
      made[0]
    }'::uuid] where id = (select max(id) from ledger_commits)`,
  );
  deepEqual(await linkInDatabase(realm), { links: 0, more: true });
  equal(await link(realm), 3);
  deepEqual((await chain(realm)).linked, [...before, made[2], made[1], made[0]]);
  equal(await isValid(realm), true);
});

Deno.test("what one process links in the database, another waits for neither, nor links twice", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm);
  for (let i = 0; i < 4; i++) await move();
  await locking(realm.pool, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    equal((await appendLinks(tx, { at: Date.now() }, 2))?.links, 2);
    equal(await link(realm), 0);
  });
  equal(await link(realm), 2);
  equal((await chain(realm)).open, 0);
  equal(await isValid(realm), true);
});

Deno.test("a turn is one message, and more only where a line of the trail waits, which the service chains", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm);
  const sent: string[] = [];
  await using other = realm.another({}, (text) => void sent.push(text));
  const pool = other.database.working((await realm.services.realms.find(realm.id))!.location);
  const turn = async () => {
    sent.length = 0;
    const turn = await extendChain(pool, { at: Date.now() }, 1000);
    return { ...turn, alone: sent.length === 1 };
  };
  await turn(); // connects
  for (let i = 0; i < 3; i++) await move();
  deepEqual(await turn(), { links: 3, transactions: 3, more: false, alone: true });
  await move();
  await writeTrail(realm);
  equal(await unchained(realm), 1);
  deepEqual(await turn(), { links: 2, transactions: 1, more: false, alone: false });
  equal(await unchained(realm), 0);
  deepEqual(await turn(), { links: 0, transactions: 0, more: false, alone: true });
  equal(await isValid(realm), true);
});

Deno.test("lines of the trail are chained although transactions are posted without end", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm);
  await writeTrail(realm);
  let posted = 0;
  for (; posted < 5 && await unchained(realm) > 0; posted++) {
    await move(); // before each turn one waits
    await extendChain(realm.pool, { at: Date.now() }, 1000);
  }
  equal(posted, 1);
  equal(await isValid(realm), true);
});

/** Has a line of the audit trail written, and no event. */
async function writeTrail(realm: TestRealm): Promise<void> {
  const webhook = { url: "https://example.com/other", events: ["stop.set"] };
  equal((await realm.admin.send("POST", "/v1/webhooks", webhook)).status, 201);
}

/** The number of lines of the trail that are not chained. */
async function unchained(realm: TestRealm): Promise<number> {
  const lines = "select count(*)::integer as n from audit where seq is null";
  return (await rowsOf<{ n: number }>(realm, lines))[0].n;
}

Deno.test("where ids do not ascend, no more rows are read than a commit names", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm);
  const made: string[] = [];
  for (let i = 0; i < 20; i++) made.push(await move());
  const [first, last] = [made[0], made[made.length - 1]];
  await tamper(
    realm,
    `delete from ledger_commits where transactions = array['${last}'::uuid]`,
    `update ledger_commits set transactions = array['${first}', '${last}']::uuid[]
      where transactions = array['${first}'::uuid]`,
  );
  await locking(realm.pool, async (tx) => {
    const read = async () => {
      const [{ read }] = await tx<{ read: number }[]>`
        select idx_tup_fetch::integer as read from pg_stat_xact_user_tables
          where relid = 'transactions_newest'::regclass`;
      return read;
    };
    const before = await read();
    deepEqual(await linkPlain(tx, 1), { links: 0, more: true, trail: false });
    equal(await read() - before <= 3, true);
  });
  equal(await link(realm), made.length);
  equal(await isValid(realm), true);
});

Deno.test("a call in the database is never compiled", async () => {
  await using realm = await testRealm();
  const [{ config }] = await rowsOf<{ config: string[] }>(
    realm,
    "select proconfig as config from pg_proc where oid = 'link_plain'::regproc",
  );
  equal(config.includes("jit=off"), true);
});

Deno.test("who listens before a transaction is posted is told of it, in the middle of a turn too", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm);
  await writeTrail(realm);
  const { schema } = (await realm.services.realms.find(realm.id))!.location;
  const { turn, posted } = await realm.database.platform.sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`set local search_path to ${tx(schema)}`;
    await tx`select from audit where seq is null for update`;
    let ended = false;
    const turn = link(realm).finally(() => ended = true); // it has the head, and waits
    while (!(await isWaitedFor(tx))) equal(ended, false);
    const webhook = { url: "https://example.com/hook", events: ["transaction.created"] };
    equal((await realm.admin.send("POST", "/v1/webhooks", webhook)).status, 201);
    return { turn, posted: await move() };
  });
  equal(await turn, 1);
  const told = await rowsOf<{ entity: string }>(
    realm,
    "select entity from events where type = 'transaction.created'",
  );
  deepEqual(told.map((row) => row.entity), [posted]);
  equal(await isValid(realm), true);
});

/** Whether another session waits for a lock of this one. */
async function isWaitedFor(tx: Tx): Promise<boolean> {
  const [{ waits }] = await tx<{ waits: boolean }[]>`
    select exists (select from pg_locks
      where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))) as waits`;
  return waits;
}
