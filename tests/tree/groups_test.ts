import { deepEqual, equal, ok } from "node:assert/strict";
import { groupTestFiles, guessRealms, writeGroups } from "../support/groups.ts";
import { testFile } from "../support/test_file.ts";

const ROOT = new URL("../../", import.meta.url);

async function testFiles(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
    if (isDirectory) found.push(...await testFiles(`${folder}/${name}`));
    else if (name.endsWith("_test.ts")) found.push(`${folder}/${name}`);
  }
  return found;
}

Deno.test("each test file is in one group: of its own folder, or of several with few files", async () => {
  const folderOf = (file: string) => file.slice(0, file.lastIndexOf("/"));
  const groups = await groupTestFiles();
  deepEqual(groups.flat().sort(), (await testFiles("tests")).sort());
  const mixed = groups.filter((files) => new Set(files.map(folderOf)).size > 1);
  ok(mixed.length > 0 && mixed.every((files) => files.length > 8 && files.length <= 20));
  for (const file of mixed.flat()) {
    const same = mixed.flat().filter((other) => folderOf(other) === folderOf(file));
    ok(same.length <= 8, file);
  }
});

Deno.test("groups that take long begin in the first half of a run", async () => {
  const groups = await groupTestFiles();
  const last = groups.findLastIndex(([file]) => /^tests\/(backup|process|recovery)\//.test(file));
  ok(last > 0 && last < groups.length / 2);
});

Deno.test("groups that make few realms end a run: none of them leaves a processor idle for long", async () => {
  const groups = await groupTestFiles();
  const long = /^tests\/(backup|moves|process|recovery|sending|withdrawals)\//;
  const behind = groups.findLastIndex(([file]) => long.test(file)) + 1;
  ok(behind < groups.length * 2 / 3);
  const guesses = await Promise.all(groups.slice(behind).map(guessRealms));
  deepEqual(guesses, guesses.toSorted((a, b) => b - a));
});

Deno.test("a file with hooks, or with settings of a whole process, is alone in its group", async () => {
  const groups = await groupTestFiles();
  const alone = ["tests/realms/placement_test.ts", "tests/chains/asset_settings_test.ts"];
  for (const file of alone) deepEqual(groups.find((files) => files.includes(file)), [file]);
});

Deno.test("how many realms test files make is guessed by their tests and by what they call", async () => {
  equal(await guessRealms(["tests/domain/money_test.ts"]), 0);
  const file = "tests/ledger/ledger_time_test.ts";
  const text = await Deno.readTextFile(new URL(file, ROOT));
  const guess = await guessRealms([file, file]);
  equal(guess % 2, 0);
  ok(guess / 2 >= text.split("testRealm()").length - 1);
});

Deno.test("a group is a module that imports its files, behind what gives it databases", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const files = ["tests/tree/groups_test.ts", "tests/tree/lint_test.ts"];
    const [{ path }] = await writeGroups(folder, [files]);
    const text = await Deno.readTextFile(path);
    deepEqual(
      [...text.matchAll(/^import "(.*)";$/gm)].map(([, url]) => url),
      ["tests/support/group_databases.ts", ...files].map((file) => new URL(file, ROOT).href),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a fixture knows the test file that asked for it, also after it has waited", async () => {
  const fixture = async () => {
    await Promise.resolve();
    return testFile();
  };
  ok(testFile().endsWith("tests/tree/groups_test.ts"));
  ok((await fixture()).endsWith("tests/tree/groups_test.ts"));
});
