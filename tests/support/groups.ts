/**
 * Modules that each import several test files. A test file is an isolate of its own, which reads and warms the whole
 * service again: two to four seconds of a processor, four hundred times. Each module has a database of its own.
 *
 * @module
 */

const ROOT = new URL("../../", import.meta.url);
/** Files of a group: fewer use the processors evenly, more are read faster. */
const SIZE = 12;
/**
 * Folders whose groups take minutes. They begin early, or one of them would be left alone at the end, and in turn with
 * others: the former wait for processes that they started, the latter need the processors.
 */
const LONG = ["backup", "moves", "process", "process/crash", "recovery", "sending", "withdrawals"];
/** What concerns the whole isolate: hooks around all of its tests, settings of assets, which apply once. */
const ALONE = /\b(?:beforeAll|afterAll|applyAssets)\(/;

/** What a file's tests make their realms with, and where they begin: each makes about one. */
const REALM = /realm|ramp|fixture|sharing/i;
const BEGINNINGS = [/\bDeno\.test\(|\bsharing\(/g, /\b(?:testRealm|neighbour)\(/g];

/** Guesses from the text of test files how many realms they make. */
export async function guessRealms(files: readonly string[]): Promise<number> {
  const texts = await Promise.all(files.map((file) => Deno.readTextFile(new URL(file, ROOT))));
  return texts.filter((text) => REALM.test(text)).map((text) =>
    Math.max(...BEGINNINGS.map((each) => text.match(each)?.length ?? 0))
  ).reduce((sum, count) => sum + count, 0);
}

/**
 * The test files below `tests/` in groups of one folder, but those alone that change what others would see; the groups
 * that take longest in the first half.
 */
export async function groupTestFiles(): Promise<string[][]> {
  const groups: string[][] = [];
  await collect("tests", groups);
  const isLong = ([file]: string[]) => LONG.includes(folderOf(file));
  const [long, others] = [groups.filter(isLong), groups.filter((files) => !isLong(files))];
  const early = long.flatMap((files, n) => [files, ...others.slice(n, n + 1)]);
  return [...early, ...others.slice(long.length)];
}

/** The folder of a test file, from `tests/` on. */
function folderOf(file: string): string {
  return file.split("/").slice(1, -1).join("/");
}

async function collect(folder: string, groups: string[][]): Promise<void> {
  const entries = await Array.fromAsync(Deno.readDir(new URL(folder, ROOT)));
  entries.sort((a, b) => a.name < b.name ? -1 : 1);
  const together: string[] = [];
  for (const { name, isDirectory } of entries) {
    const path = `${folder}/${name}`;
    if (isDirectory) await collect(path, groups);
    else if (!name.endsWith("_test.ts")) continue;
    else if (await isAlone(path)) groups.push([path]);
    else together.push(path);
  }
  const count = Math.ceil(together.length / SIZE);
  for (let n = 0; n < count; n++) groups.push(together.filter((_, i) => i % count === n));
}

async function isAlone(path: string): Promise<boolean> {
  return ALONE.test(await Deno.readTextFile(new URL(path, ROOT)));
}

/** Writes a module for each group into a folder; gives their paths. */
export async function writeGroups(folder: string, groups: readonly string[][]): Promise<string[]> {
  return await Promise.all(groups.map(async (files, n) => {
    const path = `${folder}/${folderOf(files[0]).replaceAll("/", "_")}_${n}.ts`;
    const lines = files.map((file) => `import "${new URL(file, ROOT).href}";\n`);
    await Deno.writeTextFile(path, lines.join(""));
    return path;
  }));
}
