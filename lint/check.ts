/**
 * `deno task check`: format, lint, types, dropped promises, docstrings, the lock files, licences, the
 * OpenAPI document, the drawn diagrams and known advisories, side by side, with every fault of all ten reported in one run.
 *
 * @module
 */

import ts from "typescript";
import { advisoryFaults } from "./advisories.ts";
import { licenceFaults } from "./licences.ts";
import { LOCKS } from "./locks.ts";
import { migrationFaults } from "./migrations.ts";
import { checkMarked, type MarkedCheck, ROOMY } from "./promises.ts";
import { answeredHelp } from "./usages.ts";

/** Result of one check; `output` is shown when it failed. */
interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly output: string;
  readonly durationMs: number;
}

const ROOT = new URL("../", import.meta.url);
const DOCUMENTED = [
  ...["routes/", "domain/", "db/", "workers/", "commands/", "launcher/", "config/"],
  ...["main.ts", "config.ts", "log.ts", "progress.ts", "tracing.ts"],
];
// Named, because `deno check .` would also read files that .gitignore leaves out.
const AROUND = ["tests/", "bench/", "lint/", "examples/", "client/"];
/** The layers around the service have packages of their own, which the service does not see. */
const AROUND_CONFIG = ["--config", "tests/deno.json"];
const TESTS = new URL("tests/", ROOT);

const CHECKS: Readonly<Record<string, () => Promise<string | null>>> = {
  format: () => deno("fmt", "--check"),
  lint: async () => await deno("lint") ?? await migrationFaults(),
  types: typeCheck,
  promises: async () => (await marked()).dropped,
  docs: docLint,
  lock: lockFaults,
  licences: licenceFaults,
  openapi: async () =>
    await deno(
      ...["run", ...AROUND_CONFIG, "--allow-read", "--allow-env"],
      ...["tests/support/openapi.ts", "--check"],
    ),
  drawings: async () =>
    await deno(
      ...["run", ...AROUND_CONFIG, "--allow-read", "--allow-env"],
      ...["tests/support/drawings.ts", "--check"],
    ),
  advisories: advisoryFaults,
};

/** Runs the checks of these names, or all; prints the failures, and gives the exit code. */
export async function check(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !Object.hasOwn(CHECKS, name));
  if (unknown.length > 0) {
    console.error(`there is no check ${unknown}: ${Object.keys(CHECKS).join(", ")}`);
    return 1;
  }
  const asked = Object.entries(CHECKS).filter(([name]) =>
    names.length === 0 || names.includes(name)
  );
  const findings = await Promise.all(asked.map(([name, run]) => measured(name, run)));
  for (const { name, ok, output } of findings) {
    if (!ok) console.error(`── ${name} ──\n${output.trim()}\n`);
  }
  for (const { name, ok, durationMs } of findings) {
    console.log(`${ok ? "ok    " : "FAILED"}  ${name.padEnd(10)}  ${durationMs} ms`);
  }
  return findings.every(({ ok }) => ok) ? 0 : 1;
}

/**
 * Tells whether a fault complains of a type that is private to a package, such as what `z.infer` or
 * a driver's namespace resolves to: nobody here could export it. A private type of ours is declared
 * in the very file that the fault names, whose text is `source`.
 */
export function blamesPackage(fault: string, source: string): boolean {
  const type = /^error\[private-type-ref\].* references private type '([^']+)'/.exec(fault)?.[1];
  if (!type) return false;
  const [name] = type.split(".");
  const declared = `^(declare |abstract )*((class|const|enum|function|interface|let) ${name}\\b`;
  return !new RegExp(`${declared}|type ${name} ?[<=])`, "m").test(source);
}

async function measured(name: string, run: () => Promise<string | null>): Promise<Finding> {
  const start = performance.now();
  const output = await run();
  const durationMs = Math.round(performance.now() - start);
  return { name, ok: output === null, output: output ?? "", durationMs };
}

/** Runs this same Deno; gives its output if it failed, else null. */
async function deno(...args: string[]): Promise<string | null> {
  const env = { NO_COLOR: "1", DENO_V8_FLAGS: ROOMY };
  const command = new Deno.Command(Deno.execPath(), { args, cwd: ROOT, env });
  const { success, stdout, stderr } = await command.output();
  const text = new TextDecoder();
  return success ? null : text.decode(stderr) + text.decode(stdout);
}

let ofMarked: Promise<MarkedCheck> | null = null;

/** Has the compiler read everything once, with the packages of the layers around. */
function marked(): Promise<MarkedCheck> {
  return ofMarked ??= sources([...DOCUMENTED, ...AROUND])
    .then((all) => checkMarked(ROOT, all, TESTS));
}

/**
 * Type-checks everything. That the compiler has found nothing in the marked copy of it is enough, as far as the service
 * has the same packages and options by itself; else everything is read as it stands.
 */
async function typeCheck(): Promise<string | null> {
  const service = await sources(DOCUMENTED);
  const [{ clean }, alike] = await Promise.all([marked(), serviceFaults(service)]);
  if (alike !== null || clean) return alike;
  console.log("types are checked once more, because marks of promises cost narrowing");
  const around = await sources(AROUND);
  return await deno("check", ...service) ?? await deno("check", ...AROUND_CONFIG, ...around);
}

/** Says what the service would see otherwise under its own configuration than under that of the layers around. */
async function serviceFaults(service: readonly string[]): Promise<string | null> {
  const [own, around] = await Promise.all(
    ["deno.json", "tests/deno.json"].map(async (name) =>
      JSON.parse(await Deno.readTextFile(new URL(name, ROOT)))
    ),
  );
  const differing = ["compilerOptions", "unstable"].filter((key) =>
    JSON.stringify(own[key]) !== JSON.stringify(around[key])
  ).concat(Object.keys(own.imports).filter((name) => own.imports[name] !== around.imports[name]));
  const faults = differing.map((key) => `deno.json and tests/deno.json differ in ${key}`);
  for (const name of service) {
    const { importedFiles } = ts.preProcessFile(await Deno.readTextFile(new URL(name, ROOT)));
    for (const { fileName } of importedFiles) {
      const isFound = /^(node:|\.\.?\/)/.test(fileName) || packageOf(fileName) in own.imports;
      if (!isFound) faults.push(`${name}: ${fileName} is no package of deno.json`);
    }
  }
  return faults.length === 0 ? null : faults.join("\n");
}

/** The package that an import begins with. */
function packageOf(name: string): string {
  return name.split("/").slice(0, name.startsWith("@") ? 2 : 1).join("/");
}

async function docLint(): Promise<string | null> {
  const files = await sources(DOCUMENTED);
  const said = files.length === 0 ? null : await deno("doc", "--lint", ...files);
  if (said === null) return null;
  const faults = said.split(/\n(?=error)/).filter((part) => part.startsWith("error["));
  const counted = Number(/Found (\d+) documentation lint error/.exec(said)?.[1]);
  if (faults.length !== counted) return said;
  const ours: string[] = [];
  for (const fault of faults) {
    const file = /--> (.+?):\d+:\d+/.exec(fault)?.[1];
    // A field is explained by its interface unless it has a unit or a meaning to add.
    const member = /^error\[missing-jsdoc\]/.test(fault) && /^ *\d+ \| {2,}\S/m.test(fault);
    // A zod schema's type is the schema itself: written out, it would be the schema said twice.
    const schema = /^error\[missing-explicit-type\]/.test(fault) && /= z\.|Schema\(/.test(fault);
    const excused = member || schema || file && blamesPackage(fault, await Deno.readTextFile(file));
    if (!excused) ours.push(fault.trim());
  }
  if (ours.length === 0) return null;
  return `${ours.join("\n\n")}\n\n${ours.length} documentation faults`;
}

async function lockFaults(): Promise<string | null> {
  for (const name of LOCKS) {
    const lock = await Deno.readTextFile(new URL(name, ROOT));
    // A registry that is not the default one leaves its address on every package fetched from it.
    const named = lock.split("\n").filter((line) => /"tarb[a]ll"|https?:\/\//.test(line));
    if (named.length > 0) {
      return `${name} names ${named.length} addresses, the first:\n${named[0].trim()}`;
    }
  }
  return null;
}

/** Lists all modules under folders (names that end with a slash) and the files named. */
export async function sources(paths: readonly string[]): Promise<string[]> {
  return (await Promise.all(paths.map(sourcesUnder))).flat();
}

/** Lists the modules of a folder, or the one file; a room that is still empty has none. */
async function sourcesUnder(path: string): Promise<string[]> {
  const info = await Deno.stat(new URL(path, ROOT)).catch(() => null);
  if (info === null) return [];
  if (info.isFile) return [path];
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(path, ROOT))) {
    if (isDirectory) found.push(...await sourcesUnder(`${path}${name}/`));
    else if (name.endsWith(".ts") && !name.endsWith(".d.ts")) found.push(path + name); // no built ones
  }
  return found.sort();
}

if (import.meta.main && !answeredHelp("check")) Deno.exitCode = await check(Deno.args);
