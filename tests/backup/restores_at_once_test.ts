/** Restores into one database at the same time, beside processes, and after one that was killed. @module */
import { deepEqual, equal, match } from "node:assert/strict";
import { keepRestoresAway } from "../../db/backup/restore_lock.ts";
import { openDatabase } from "../../db/database.ts";
import { testDatabase } from "../support/database.ts";
import { fixture, reportOf, rowsAt } from "./fixture.ts";
import { holding, untilSomebodyWaits } from "./holding.ts";
import { schemaOf } from "./servers.ts";

const SCHEMAS = "select nspname from pg_namespace where nspname ~ '^(realm_|platform)'";
const OWNERS = `select pid from pg_stat_activity where datname = current_database()
  and application_name = 'purser owner' and wait_event_type = 'Lock'`;

Deno.test("a second restore into a database is refused while one runs, and the first ends well", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host, realm } = its;
  const { path, heads } = await its.backUp();
  let first;
  {
    await using _lock = await holding(elsewhere.url, "create schema platform");
    first = host.start(elsewhere.url, "restore", [path]);
    await untilSomebodyWaits(elsewhere.url);
    for (const args of [[path], [path, "--realm", realm.id]]) {
      const second = await host.call(elsewhere.url, "restore", args);
      deepEqual([second.code, second.out], [1, ""]);
      match(second.said, /a restore runs into this database.*\(session \d+ of \w+\): nothing was/);
    }
    const started = await host.run(elsewhere.url, "migrate", []);
    equal(started.code, 1);
    match(started.said, /a restore runs into this database/);
  }
  deepEqual(reportOf(await first.end()).heads, heads);
  equal((await host.call(elsewhere.url, "audit", [])).code, 0);
});

Deno.test("after a restore that was killed in a step the next one waits for that step, and says whose session runs it", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host } = its;
  const { path, heads } = await its.backUp();
  {
    await using _lock = await holding(elsewhere.url, "create schema platform");
    const { child, end } = host.start(elsewhere.url, "restore", [path]);
    await untilSomebodyWaits(elsewhere.url);
    child.kill("SIGKILL");
    await end();
    const [{ pid }] = await rowsAt<{ pid: number }>(elsewhere.url, OWNERS);
    const refused = await host.call(elsewhere.url, "restore", [path]);
    deepEqual([refused.code, refused.out], [1, ""]);
    match(refused.said, new RegExp(`one that was killed, still runs in session ${pid} of`));
    equal((await rowsAt(elsewhere.url, SCHEMAS)).length, 1, "nothing was dropped beside it");
  }
  deepEqual(reportOf(await host.call(elsewhere.url, "restore", [path])).heads, heads);
});

Deno.test("an installation is not restored beside processes that are connected, nor while one is being made", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host } = its;
  const { path } = await its.backUp();
  const database = openDatabase({ url: elsewhere.url, prepare: true, parseJson: JSON.parse });
  try {
    await database.platform.sql`select 1`; // as a process that served the schemas which were lost
    const beside = await host.call(elsewhere.url, "restore", [path]);
    deepEqual([beside.code, beside.out], [1, ""]);
    match(beside.said, /processes of Purser are connected to this database \(1 × purser api\)/);
    await database.builder.sql.begin(async (tx) => {
      equal(await keepRestoresAway(tx), true); // as a first start does
      const refused = await host.call(elsewhere.url, "restore", [path]);
      match(refused.said, /an installation is being made there/);
    });
  } finally {
    await database.close();
  }
  deepEqual(await rowsAt(elsewhere.url, SCHEMAS), []);
  reportOf(await host.call(elsewhere.url, "restore", [path]));
});

Deno.test("a restore that lost the session of its lock builds nothing any more", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host } = its;
  const { path } = await its.backUp();
  let first;
  {
    await using _lock = await holding(elsewhere.url, "create schema platform");
    first = host.start(elsewhere.url, "restore", [path]);
    await untilSomebodyWaits(elsewhere.url);
    await rowsAt(
      elsewhere.superuserUrl,
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())
        and ((classid::bigint << 32) | objid::bigint) = hashtextextended('purser restore', 0)`,
    );
  }
  const ended = await first.end();
  deepEqual([ended.code, ended.out], [1, ""]);
  match(ended.said, /the session that kept other restores away was lost/);
  equal((await rowsAt(elsewhere.url, SCHEMAS)).length <= 1, true);
  reportOf(await host.call(elsewhere.url, "restore", [path]));
});

Deno.test("no advisory lock, which a realm's role could take, keeps a realm from being put back, and two at once exclude each other", async () => {
  await using its = await fixture();
  const { host, url, realm } = its;
  const { path } = await its.backUp();
  const schema = schemaOf(realm);
  await rowsAt(url, `alter schema ${schema} rename to lost`);
  await using _taken = await holding(
    url,
    `select pg_advisory_xact_lock(hashtextextended(name, 0))
      from unnest(array['purser restore', 'purser restore step platform']) name`,
  );
  const args = [path, "--realm", realm.id];
  equal(reportOf(await host.call(url, "restore", args)).realms, 1);
  await rowsAt(url, `alter schema ${schema} rename to lost_again`);
  let first;
  {
    await using _lock = await holding(url, `create schema ${schema}`);
    first = host.start(url, "restore", args);
    await untilSomebodyWaits(url);
    const second = await host.call(url, "restore", args);
    deepEqual([second.code, second.out], [1, ""]);
    match(second.said, /a restore runs into this database.*\(session \d+ of \w+\): nothing was/);
  }
  equal(reportOf(await first.end()).realms, 1);
});
