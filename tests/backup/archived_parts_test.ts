/** The command that archives parts, and backups, restores and moves of a realm whose oldest part is archived. @module */
import { deepEqual, equal, match } from "node:assert/strict";
import { readArchiveArguments } from "../../commands/archive.ts";
import {
  holdTables,
  selectMajorVersion,
  selectRewritten,
  selectTables,
} from "../../db/backup/catalog.ts";
import { readOnce } from "../../db/backup/snapshots.ts";
import { selectPartBounds } from "../../db/ledger/parts.ts";
import { reading } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { carryOn } from "../../workers/moves/moving.ts";
import { agedRealm, archiveOne, BOUNDS, namesIn } from "../support/archives.ts";
import { commandHost } from "../support/command_host.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { auditAll } from "../support/proofs.ts";
import { PLATFORM_KEY, testRealm } from "../support/realm.ts";
import { reportOf, rowsAt } from "./fixture.ts";
import { server } from "./shared_server.ts";

const [FIRST, SECOND] = BOUNDS.map((bound) => new Date(bound).toISOString().slice(0, 10));

Deno.test("parts are archived by the command, a restored realm is sound and its next part is archived too", async () => {
  await using own = await realmDatabase();
  await using elsewhere = await testDatabase();
  await using host = await commandHost();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await agedRealm(realm);
  const folder = `${host.folder}/archive`;
  const archive = async (url: string, ...args: string[]) =>
    await host.call(url, "archive", [realm.id, ...args]);
  const begin = [realm.id, "--before", FIRST, "--to", folder];
  const done = await host.run(own.url, "archive", begin);
  equal(done.code, 0, done.said);
  const [line, end] = done.out.trim().split("\n");
  deepEqual([JSON.parse(line).until.slice(0, 10), JSON.parse(line).transactions], [FIRST, 7]);
  match(end, /^1 parts archived/);
  const proven = ["--realm", realm.id, "--archive", folder];
  const audit = await host.run(own.url, "audit", proven);
  deepEqual([audit.code, /links, sound, head/.test(audit.out)], [0, true], audit.out + audit.said);
  const plain = await host.call(own.url, "audit", ["--realm", realm.id]);
  match(plain.out, /7 of them archived and taken as they stand, sound/);

  // What was detached is in the files, and in no backup.
  const made = reportOf(await host.call(own.url, "backup", []));
  const restored = reportOf(await host.call(elsewhere.url, "restore", [made.path]));
  deepEqual([restored.heads, restored.rows], [made.heads, made.rows]);
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
  const there = await host.call(elsewhere.url, "audit", proven);
  equal(there.code, 0, there.out);
  const schema = `realm_${realm.id.replaceAll("-", "")}`;
  const detached =
    `select relname as name from pg_class where relname like 'detached%' and relkind = 'r'
    and relnamespace = '${schema}'::regnamespace`;
  deepEqual(await rowsAt(elsewhere.url, detached), []);
  match((await archive(elsewhere.url, "--attach")).said, /were dropped/);
  const next = await archive(elsewhere.url, "--before", SECOND, "--to", folder);
  equal(next.code, 0, next.said);
  equal((await host.call(elsewhere.url, "audit", proven)).code, 0);
  equal((await archive(elsewhere.url, "--attach")).code, 0);
  equal((await host.call(elsewhere.url, "audit", ["--realm", realm.id])).code, 0);

  // Tables are dropped while the files are whole, and not else.
  const [file] = (await namesIn(folder))
    .filter((name) => name.includes("_entries") && name.includes(FIRST.replaceAll("-", "")));
  const bytes = await Deno.readFile(`${folder}/${file}`);
  await Deno.writeFile(`${folder}/${file}`, bytes.map((byte, i) => i === 100 ? byte ^ 1 : byte));
  const refused = await archive(own.url, "--drop", "--to", folder);
  deepEqual([refused.code, /is not what was written/.test(refused.said)], [1, true], refused.said);
  equal((await rowsAt(own.url, detached)).length, 2);
  const found = await host.call(own.url, "audit", proven);
  deepEqual([found.code, /"code":"archive.files"/.test(found.out)], [1, true], found.out);
  await Deno.writeFile(`${folder}/${file}`, bytes);
  const drop = [realm.id, "--drop", "--to", folder];
  const dropped = await host.run(own.url, "archive", drop);
  equal(dropped.code, 0, dropped.said);
  deepEqual(await rowsAt(own.url, detached), []);
  equal((await host.call(own.url, "audit", proven)).code, 0);
});

Deno.test("a backup that began before a part left sees that its moment does not show the rows any more", async () => {
  await using realm = await testRealm();
  await agedRealm(realm);
  const { schema } = locationOf(realm.made.realm);
  const rewritten = await readOnce(realm.database.platform, async (tx) => {
    await selectMajorVersion(tx); // the moment
    await archiveOne(realm, await Deno.makeTempDir());
    const tables = await selectTables(tx, schema);
    await holdTables(tx, schema, tables);
    return await selectRewritten(tx, schema, []);
  });
  const suffix = `${FIRST.replaceAll("-", "")}t000000000`;
  deepEqual(rewritten, [`entries_${suffix}`, `transactions_${suffix}`]);
});

Deno.test("a realm moves without what was detached, and is sound where it arrives", async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser-archives-" });
  try {
    await using realm = await testRealm();
    const { made, to } = await agedRealm(realm);
    await archiveOne(realm, folder);
    const { database, services } = realm;
    const options = {
      ...{ database, migrations: services.provisioning.migrations, secrets: services.secrets },
    };
    const moving = { realm: realm.id, to: await server.database() };
    await carryOn(options, await orderMove(options, moving, Date.now()));
    await made();
    equal((await realm.balance(to)).total, "13");
    equal((await reading(realm.pool, selectPartBounds)).length, 1);
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the arguments of the command", () => {
  const realm = crypto.randomUUID();
  const read = (...args: string[]) => {
    try {
      return readArchiveArguments(args);
    } catch (error) {
      return (error as Error).message.includes("usage: archive");
    }
  };
  deepEqual(read(realm, "--before", "2026-01-01", "--to", "x"), {
    ...{ verb: "archive", realm, before: Date.UTC(2026, 0, 1), folder: "x", plain: false },
  });
  deepEqual(read(realm, "--drop", "--to", "x"), { verb: "drop", realm, folder: "x" });
  deepEqual(read(realm, "--attach"), { verb: "attach", realm });
  for (
    const args of [[], [realm], [realm, "--before", "2026-01-01"], [realm, "--drop"], [
      "x",
      "--attach",
    ], [
      realm,
      ...["--before", "yesterday", "--to", "x"],
    ], [
      realm,
      ...["--before", "2026-02-30", "--to", "x"],
    ], [realm, "--attach", "--drop", "--to", "x"]]
  ) equal(read(...args), true, args.join());
});
