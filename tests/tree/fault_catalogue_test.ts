/** The list of faults names tests that there are. */
import { deepEqual, ok } from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url);
const ROW = /^\| (.+) \| (.+?)(?: · (.+?))? \(\[[\w.]+\]\(\.\.\/(tests\/[\w/]+\.ts)\)\) \|$/;

Deno.test("every test that docs/faults.md and docs/threat-model.md name is there, with its case", async () => {
  const lines: string[] = [];
  for (const [path, least] of [["docs/faults.md", 80], ["docs/threat-model.md", 20]] as const) {
    const text = await Deno.readTextFile(new URL(path, ROOT));
    const found = text.split("\n").filter((line) => line.includes("](../tests/"));
    ok(found.length > least, `${path}: ${found.length}`);
    lines.push(...found);
  }
  const missing: string[] = [];
  for (const line of lines) {
    const [, , title, example, path] = ROW.exec(line) ?? [];
    const source = path === undefined ? null : await sourceOf(path);
    const found = source !== null && titlesIn(source).has(title) &&
      (example === undefined || source.includes(example));
    if (!found) missing.push(line);
  }
  deepEqual(missing, []);
});

Deno.test("titlesIn() reads the titles of tests, and nothing else", () => {
  const source = [
    'Deno.test("one", () => {});',
    "for (const x of y) {",
    '  Deno.test(`a ${x.name} of "two"`, async () => {',
    'Deno.test({ name: "three", fn });',
    'onLitecoind(\n  "four",',
    'test("five", async (realm) => {});',
    "  test(`six (${x})`, async () => {",
    '  testCoins("ten", async (ramp) => {',
    'ok(true, "seven"); // "eight"; /x/.test("nine")',
  ].join("\n");
  deepEqual([...titlesIn(source)], [
    "one",
    'a … of "two"',
    "three",
    "four",
    "five",
    "six (…)",
    "ten",
  ]);
});

/** The titles in a test file, with a … for what changes from case to case. */
function titlesIn(source: string): Set<string> {
  const calls =
    /(?:Deno\.test|^ *test\w*|onLitecoind|onNodes)\(\s*(?:\{\s*name:\s*)?("[^"]*"|`[^`]*`)/gm;
  return new Set(
    [...source.matchAll(calls)].map(([, title]) =>
      title.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, "…")
    ),
  );
}

async function sourceOf(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(new URL(path, ROOT));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
