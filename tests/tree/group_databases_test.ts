/** The databases of a group of test files: what keeps the server from making one costs no more tests than it must. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import postgres from "postgres";
import { asSuperuser, copyTemplate, testDatabase, testDatabaseUrl } from "../support/database.ts";
import { runGroups } from "../support/test_groups.ts";

const nameIn = (url: string) => new URL(url).pathname.slice(1);

/** Runs beside others: the number of no group of a run. */
const newGroup = () => 100_000 + crypto.getRandomValues(new Uint32Array(1))[0] % 1_000_000_000;

Deno.test("a database that somebody is in is copied when he has left it, and asked for no longer than was said", async () => {
  await using template = await testDatabase();
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  const of = {
    template: nameIn(template.url),
    owner: new URL(testDatabaseUrl()).username,
  };
  const sql = postgres(template.superuserUrl, { max: 1 });
  await sql`select`;
  const copying = copyTemplate(name, of);
  copying.catch(() => {}); // below
  // The server waits for both as long, and for this one from later on.
  await rejects(copyTemplate(`${name}_late`, { ...of, limitMs: 0 }), { code: "55006" });
  await sql.end();
  try {
    equal(await copying, true);
    equal(await copyTemplate(name, of), false, "it is there");
  } finally {
    await asSuperuser(`drop database if exists ${name} with (force)`);
  }
});

/** A template that is missing at the start, and once more where the second test is to get another database. */
const TESTS = (support: string, template: string) => `
  import { equal } from "node:assert/strict";
  import { openDatabase } from "${support}../../db/database.ts";
  import { testDatabaseUrl } from "${support}database.ts";
  import { SPARES, takeSpare } from "${support}spare_schemas.ts";
  const there = () => Deno.env.set("TEST_DATABASES", "${template}");
  const inDatabase = (n) => equal(new URL(testDatabaseUrl()).pathname.split("_").at(-1), n);
  Deno.test.beforeAll(there);
  let isFirst = true;
  Deno.test.afterEach(() => {
    if (isFirst) Deno.env.set("TEST_DATABASES", "missing");
    else there();
    isFirst = false;
  });
  Deno.test("begins", async () => {
    inDatabase("0");
    const database = openDatabase({ url: testDatabaseUrl(), prepare: true, parseJson: JSON.parse });
    for (let n = 0; n < SPARES; n++) equal(await takeSpare(database.platform, "none"), false);
    await database.close();
  });
  Deno.test("gets none", () => {});
  Deno.test("goes on", () => inDatabase("1"));`;

Deno.test("a test whose database cannot be made fails, and no other of its process", async () => {
  await using template = await testDatabase();
  const folder = await Deno.makeTempDir();
  const group = newGroup();
  const support = new URL("../support/", import.meta.url).href;
  const files = [`${folder}/three_test.ts`];
  await Deno.writeTextFile(files[0], TESTS(support, nameIn(template.url)));
  const path = `${folder}/group_${group}.ts`;
  const imports = [`${support}group_databases.ts`, `file://${files[0]}`];
  await Deno.writeTextFile(path, imports.map((url) => `import "${url}";\n`).join(""));
  try {
    const { counts, failures, errors } = await runGroups([{ name: "group", path, files }], {
      args: ["test", "--config", "tests/deno.json", "--frozen", "--no-check", "-A"],
      env: { TEST_DATABASES: "missing" },
      ...{ atOnce: 1, folder, junit: false, stallMs: 600_000 },
      ...{ signal: new AbortController().signal, now: Date.now, say: () => {} },
    });
    deepEqual([counts.passed, counts.failed], [2, 1], errors.join("\n"));
    ok(failures[0].startsWith("gets none"), failures[0]);
  } finally {
    for (const n of [0, 1]) {
      await asSuperuser(`drop database if exists purser_${group}_${n} with (force)`);
    }
    await Deno.remove(folder, { recursive: true });
  }
});
