/** Backups and restores that are interrupted, and files that were changed. @module */
import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { readConfig } from "../../config.ts";
import type { Part } from "../../domain/backup/manifests.ts";
import { checkBackup } from "../../workers/backup/building.ts";
import { openBytes, rewrite } from "../support/backup_files.ts";
import { testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { fixture, type Report, reportOf, rowsAt } from "./fixture.ts";
import { holding, untilSomebodyWaits } from "./holding.ts";

Deno.test("a backup that is killed leaves no file that looks whole, and the next one clears it away", async () => {
  await using its = await fixture();
  const { host, url, realm } = its;
  const schema = `realm_${realm.id.replaceAll("-", "")}`;
  {
    await using _lock = await holding(url, `lock table ${schema}.withdrawals`);
    const { child, end } = host.start(url, "backup", []);
    await untilSomebodyWaits(url);
    child.kill("SIGKILL");
    equal((await end()).code, 137);
  }
  const left = await host.files();
  deepEqual(left.map((name) => name.endsWith(".age.partial")), [true]);
  const refused = await host.run(url, "restore", [
    `${host.folder}/backups/${left[0]}`,
    "--check",
  ]);
  deepEqual([refused.code, refused.out], [1, ""]);
  match(refused.said, /does not decrypt|damaged, truncated/);
  const made = await its.backUp("--keep", "5");
  deepEqual(await host.files(), [
    made.path.slice(made.path.lastIndexOf("/") + 1),
  ]);
});

Deno.test("a backup ends at once by Ctrl-C and by SIGTERM, and says so", async () => {
  await using its = await fixture();
  const { host, url, realm } = its;
  const schema = `realm_${realm.id.replaceAll("-", "")}`;
  for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    await using _lock = await holding(url, `lock table ${schema}.withdrawals`);
    const { child, end } = host.start(url, "backup", []);
    await untilSomebodyWaits(url);
    child.kill(signal);
    deepEqual(await end(), {
      ...{ code, out: "" },
      said: `ended by ${signal} before it was done; it may be run again\n`,
    });
  }
  await its.backUp();
  equal((await host.files()).length, 1);
});

Deno.test("a backup to a full disk says so, and leaves nothing", async () => {
  await using its = await fixture();
  const { host, url } = its;
  for (const blocks of [0, 8]) {
    const full = await host.runWithin(blocks, url, "backup", []);
    deepEqual([full.code, full.out], [1, ""]);
    match(full.said, /(^|\n)\S+\.age\.partial cannot be written: File too large.*\n$/);
    deepEqual(await host.files(), []);
  }
  await its.backUp();
});

Deno.test("a restore that is killed leaves nothing that is served, and the next one begins again", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host } = its;
  const { path } = await its.backUp();
  {
    await using _lock = await holding(elsewhere.url, "create schema platform");
    const { child, end } = host.start(elsewhere.url, "restore", [path]);
    await untilSomebodyWaits(elsewhere.url);
    child.kill("SIGKILL");
    equal((await end()).code, 137);
  }
  const schemas = "select nspname from pg_namespace where nspname ~ '^(realm_|platform)'";
  await until(async () => (await rowsAt(elsewhere.url, schemas)).length === 1);
  for (const command of ["migrate", "start"] as const) {
    const refused = await host.run(elsewhere.url, command, []);
    equal(refused.code, 1);
    match(
      refused.said,
      /a restore into this database has not ended: run `deno task restore` again/,
    );
  }
  const { said, ...restored } = await host.call(elsewhere.url, "restore", [
    path,
  ]);
  match(said, /a restore did not end: 1 realms of it are dropped/);
  reportOf({ said, ...restored });
  equal((await rowsAt(elsewhere.url, schemas)).length, 2);
  equal((await host.call(elsewhere.url, "audit", [])).code, 0);
});

/** Refuses a file that was changed without its keys, and one that other keys belong to. */
async function refuseBytes(bytes: Uint8Array, identity: string): Promise<void> {
  const refusedFor = async (changed: Uint8Array, why: RegExp) => {
    await rejects(
      async () => await checkBackup(await openBytes(changed, identity)),
      why,
    );
  };
  for (const at of [0, 40, 150, 300, bytes.length >> 1, bytes.length - 1]) {
    const changed = bytes.slice();
    changed[at] ^= 1;
    await refusedFor(changed, /does not decrypt|damaged, truncated/);
  }
  for (
    const size of [
      0,
      100,
      250,
      bytes.length >> 1,
      bytes.length - 16,
      bytes.length - 1,
    ]
  ) {
    await refusedFor(
      bytes.subarray(0, size),
      /does not decrypt|damaged, truncated/,
    );
  }
  const longer = new Uint8Array(bytes.length + 1);
  longer.set(bytes);
  await refusedFor(longer, /damaged, truncated/);
  await refusedFor(
    new TextEncoder().encode("-- PostgreSQL dump"),
    /does not decrypt/,
  );
  const { generateX25519Identity } = await import("age-encryption");
  const other = await generateX25519Identity();
  await rejects(openBytes(bytes, other), /no identity matched/);
  const stranger = openBytes(bytes, identity, "another-platform-key");
  await rejects(
    async () => await (await stranger).part(),
    /another PLATFORM_KEY/,
  );
  await rejects(openBytes(bytes, "# nothing"), /holds no key/);
  await rejects(openBytes(bytes, "AGE-SECRET-KEY-1"), /no key of age/);
}

/** Changes by one who holds all keys. */
const CHANGES: readonly [string, (part: Part) => Part | null, RegExp][] = [
  [
    "another major version of PostgreSQL",
    (part) => part.is === "realm" ? { ...part, postgres: part.postgres - 1 } : part,
    /realm [0-9a-f-]{36} comes from PostgreSQL \d+, and this server is \d+/,
  ],
  [
    "an unknown schema of a realm",
    (part) =>
      part.is === "realm" ? { ...part, migrations: [...part.migrations, "0".repeat(64)] } : part,
    /realm [0-9a-f-]{36} has a schema that this version does not know/,
  ],
  [
    "an unknown schema of the platform",
    (part) => part.is === "platform" ? { ...part, migrations: ["0".repeat(64)] } : part,
    /the platform has a schema that this version does not know/,
  ],
  [
    "a table that is not of the schema",
    (part) => part.is === "table" && part.name === "users" ? { ...part, name: "pg_user" } : part,
    /the table pg_user of the backup is not a table of this schema/,
  ],
  [
    "an unknown form",
    (part) => part.is === "header" ? { ...part, format: 2 } : part,
    /the backup has form 2/,
  ],
  [
    "without a table",
    (part) => part.is === "table" && part.name === "accounts" ? null : part,
    /the backup lacks tables of its schema: accounts/,
  ],
];

Deno.test("a file that was changed, cut off, made with another key or out of two is refused, and leaves nothing", async (t) => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host, url } = its;
  const made = await its.backUp();
  const bytes = await Deno.readFile(made.path);
  const identity = await Deno.readTextFile(`${host.folder}/backup.key`);
  await t.step("bytes and keys", () => refuseBytes(bytes, identity));
  const path = `${host.folder}/changed.age`;
  const to = { path, recipient: host.recipient };
  for (const [what, change, why] of CHANGES) {
    await t.step(what, async () => {
      await rewrite(await openBytes(bytes, identity), to, change);
      const refused = await host.call(elsewhere.url, "restore", [path]);
      deepEqual([refused.code, refused.out], [1, ""], refused.said);
      match(refused.said, why);
      const left = "select nspname from pg_namespace where nspname ~ '^(realm_|platform|purser_)'";
      deepEqual(await rowsAt(elsewhere.url, left), []);
    });
  }
  await t.step("by one who knows the recipient alone", async () => {
    const forged = { ...to, platformKey: "platform-key-of-a-stranger" };
    await rewrite(await openBytes(bytes, identity), forged, (part) => part);
    const refused = await host.call(elsewhere.url, "restore", [path]);
    match(refused.said, /another PLATFORM_KEY than this one, or was changed/);
  });
  await t.step("a head that was kept elsewhere", async () => {
    const [id] = Object.keys(made.heads);
    const [seq] = made.heads[id].split(":");
    const args = [made.path, "--expect", `${seq}:${"0".repeat(64)}`];
    const { code, said, out } = await host.call(elsewhere.url, "restore", args);
    equal(code, 1, said);
    match(said, /seal.expected/);
    match((JSON.parse(out) as Report).verdict, /the audit FAILED/);
  });
  equal((await host.call(url, "audit", [])).code, 0);
});

Deno.test("without a recipient, a key or a file nothing is begun, and no secret is shown", async () => {
  await using its = await fixture();
  const { host, url } = its;
  const said = async (
    command: "backup" | "restore",
    args: string[],
    env = {},
  ) => {
    const ended = await host.call(url, command, args, env);
    deepEqual([ended.code, ended.out], [1, ""]);
    return ended.said;
  };
  match(
    await said("backup", [], { BACKUP_RECIPIENTS: "" }),
    /BACKUP_RECIPIENTS is missing/,
  );
  const key = await Deno.readTextFile(`${host.folder}/backup.key`);
  throws(
    () => readConfig({ BACKUP_RECIPIENTS: key }, false),
    (fault: Error) => {
      return /a public key that starts with age1/.test(fault.message) &&
        !fault.message.includes(key.trim());
    },
  );
  match(await said("backup", ["--realm", "x"]), /x is no id of a realm/);
  match(await said("backup", ["--keep", "0"]), /--keep is a number/);
  match(
    await said("backup", ["--realm", crypto.randomUUID()]),
    /there is no realm/,
  );
  match(await said("restore", ["--check", "x"]), /the file is named first/);
  match(await said("restore", ["/nowhere.age"]), /No such file/);
  const drawn = await host.run(url, "backup", ["--new-key"]);
  match(
    drawn.out,
    /^# public key: age1[0-9a-z]+\nAGE-SECRET-KEY-1[0-9A-Z]+\n$/,
  );
  match(drawn.said, /^BACKUP_RECIPIENTS=age1[0-9a-z]+\n$/);
});
