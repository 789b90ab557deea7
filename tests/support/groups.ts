/**
 * Modules that each import several test files, and have a process and databases of their own. A process for each file
 * would read and warm the whole service again: two to four seconds of a processor, four hundred times.
 *
 * @module
 */

const ROOT = new URL("../../", import.meta.url);
/** Files of a group: fewer use the processors evenly, more are read faster. */
const SIZE = 20;
/** Folders with no more files share groups: a process takes as long to read the service as their tests take. */
const FEW = 8;
/**
 * Folders whose groups take minutes. They begin early, or one of them would be left alone at the end, and in turn with
 * others: the former wait for processes that they started, the latter need the processors.
 */
const LONG = ["backup", "moves", "process", "process/crash", "recovery", "sending", "withdrawals"];
/** What concerns the whole process: hooks around all of its tests, settings of assets, which apply once. */
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
 * The test files below `tests/` in groups of one folder, or of several with few files, but those alone that change what
 * others would see; the groups that take longest, and those of several folders, in the first half.
 */
export async function groupTestFiles(): Promise<string[][]> {
  const groups: string[][] = [];
  const few: string[] = [];
  await collect("tests", groups, few);
  const isLong = ([file]: string[]) => LONG.includes(folderOf(file));
  const long = [...split(few), ...groups.filter(isLong)];
  const others = await mostRealmsFirst(groups.filter((files) => !isLong(files)));
  const early = long.flatMap((files, n) => [files, ...others.slice(n, n + 1)]);
  return [...early, ...others.slice(long.length)];
}

/** Sorts groups by how many realms they make, which tells roughly how long they take: short ones fill the end of a run. */
async function mostRealmsFirst(groups: string[][]): Promise<string[][]> {
  const guesses = await Promise.all(groups.map(guessRealms));
  return groups.map((files, n) => ({ files, guess: guesses[n] }))
    .sort((a, b) => b.guess - a.guess)
    .map(({ files }) => files);
}

/** The folder of a test file, from `tests/` on. */
function folderOf(file: string): string {
  return file.split("/").slice(1, -1).join("/");
}

/**
 * Collects the files of a folder and of those below it.
 *
 * @param few is given those of folders with few files
 */
async function collect(folder: string, groups: string[][], few: string[]): Promise<void> {
  const entries = await Array.fromAsync(Deno.readDir(new URL(folder, ROOT)));
  entries.sort((a, b) => a.name < b.name ? -1 : 1);
  const together: string[] = [];
  for (const { name, isDirectory } of entries) {
    const path = `${folder}/${name}`;
    if (isDirectory) await collect(path, groups, few);
    else if (!name.endsWith("_test.ts")) continue;
    else if (await isAlone(path)) groups.push([path]);
    else together.push(path);
  }
  const isFew = together.length <= FEW && !LONG.includes(folderOf(`${folder}/`));
  if (isFew) few.push(...together);
  else groups.push(...split(together));
}

/** Splits files evenly: neighbours, which often are alike, go apart. */
function split(files: readonly string[]): string[][] {
  const count = Math.ceil(files.length / SIZE);
  return Array.from({ length: count }, (_, n) => files.filter((_, i) => i % count === n));
}

async function isAlone(path: string): Promise<boolean> {
  return ALONE.test(await Deno.readTextFile(new URL(path, ROOT)));
}

/** Test files that run in one process. */
export interface Group {
  name: string;
  /** Its module, whose name ends with the number of the group. */
  path: string;
  files: readonly string[];
}

/** Writes a module for each group into a folder. */
export async function writeGroups(into: string, groups: readonly string[][]): Promise<Group[]> {
  return await Promise.all(groups.map(async (files, n) => {
    const folders = new Set(files.map(folderOf));
    const folder = folders.size > 1 ? "several" : folderOf(files[0]).replaceAll("/", "_");
    const name = `${folder}_${n}`;
    return await writeModule(into, { name, files });
  }));
}

/** Writes a module for each file of a group, which has the group's databases. */
export async function writeAlone(folder: string, group: Group): Promise<Group[]> {
  return await Promise.all(group.files.map(async (file) => {
    const inside = await Deno.makeTempDir({ dir: folder });
    return await writeModule(inside, { name: group.name, files: [file] });
  }));
}

/** The variable with the path of a list of titles: tests that `due_tests.ts` leaves out. */
export const HAD_TURN = "TEST_HAD_TURN";

/** Writes a group's module once more, for the tests that have not had their turn; and says with what it is run. */
export async function writeAgain(
  folder: string,
  group: Group,
  hadTurn: readonly string[],
): Promise<{ module: string; env: Record<string, string> }> {
  const inside = await Deno.makeTempDir({ dir: folder });
  const titles = `${inside}/had_turn.json`;
  await Deno.writeTextFile(titles, JSON.stringify(hadTurn));
  const first = new URL("due_tests.ts", import.meta.url).href;
  const { path } = await writeModule(inside, group, first);
  return { module: path, env: { [HAD_TURN]: titles } };
}

async function writeModule(
  folder: string,
  { name, files }: Pick<Group, "name" | "files">,
  ...first: string[]
): Promise<Group> {
  const path = `${folder}/${name}.ts`;
  const databases = new URL("group_databases.ts", import.meta.url).href;
  const urls = [...first, databases, ...files.map((file) => new URL(file, ROOT).href)];
  await Deno.writeTextFile(path, urls.map((url) => `import "${url}";\n`).join(""));
  return { name, path, files };
}
