/**
 * Fetches the npm packages of a lock file before any code needs them, and shows the
 * progress. A package that is present costs one read of the disk. No package is loaded by this module.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { openProgress, type Progress } from "../progress.ts";

/** Packages that are fetched together: those of a lock file, by the configuration beside it. */
export interface PackageSet {
  /** Name for people: `PostgreSQL 18.4`. */
  readonly title: string;
  /** The configuration that imports them. */
  readonly config: URL;
  /** The lock file with their digests. */
  readonly lock: URL;
}

/** One package of a lock file. */
export interface Package {
  readonly name: string;
  readonly version: string;
}

interface LockEntry {
  os?: string[];
  cpu?: string[];
}

const EVERY_MS = 500;
const OS: Readonly<Record<string, string>> = { windows: "win32" };
const CPU: Readonly<Record<string, string>> = { x86_64: "x64", aarch64: "arm64" };

/**
 * Fetches the missing packages of a set.
 *
 * @throws {Error} with Deno's message, where that fails
 */
export async function fetchPackages(
  set: PackageSet,
  progress: Progress = openProgress(),
): Promise<void> {
  const missing = await missingOf(await packagesOf(set));
  if (missing.length === 0) return;
  const begun = performance.now();
  const waiting = new Set(missing);
  let bytes = 0;
  const measure = async () => {
    for (const one of waiting) {
      if (!await isHere(one)) continue;
      waiting.delete(one);
      bytes += await sizeOf(folderOf(one)!);
      progress.add(1);
    }
    progress.add(0);
  };
  progress.part(`Fetching ${set.title}`, missing.length, "packages");
  const installing = install(set);
  installing.catch(() => {}); // it may fail during a measurement, and is awaited after it
  try {
    for (let done = false; !done;) {
      const timer = Promise.withResolvers<boolean>();
      const id = setTimeout(timer.resolve, EVERY_MS, false);
      done = await Promise.race([installing.then(() => true), timer.promise]).finally(() =>
        clearTimeout(id)
      );
      await measure();
    }
  } finally {
    progress.end();
  }
  const took = Math.round((performance.now() - begun) / 1000);
  progress.note(
    `Fetched ${set.title}: ${missing.length} packages, ${
      Math.round(bytes / 1e5) / 10
    } MB in ${took} s`,
  );
}

/** Lists the packages of a set that this platform needs. */
export async function packagesOf(set: PackageSet): Promise<Package[]> {
  const lock: { npm?: Record<string, LockEntry> } = JSON.parse(await Deno.readTextFile(set.lock));
  return Object.entries(lock.npm ?? {}).filter(([, entry]) => fits(entry)).map(([key]) => {
    // The part after an underscore names the peers that a package was resolved with.
    const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(key)!;
    return { name, version };
  });
}

/** Gives the folder of a package in Deno's cache, whether or not it exists yet. */
export function folderOf({ name, version }: Package): string | null {
  const driver = import.meta.resolve("postgres");
  const cache = /^(file:.*\/)postgres\/\d+\.\d+\.\d+\//.exec(driver)?.[1];
  return cache === undefined ? null : fileURLToPath(`${cache}${name}/${version}`);
}

function fits({ os, cpu }: LockEntry): boolean {
  const { os: system, arch } = Deno.build;
  return (os === undefined || os.includes(OS[system] ?? system)) &&
    (cpu === undefined || cpu.includes(CPU[arch] ?? arch));
}

async function missingOf(packages: readonly Package[]): Promise<Package[]> {
  const here = await Promise.all(packages.map(isHere));
  return packages.filter((_, at) => !here[at]);
}

async function isHere(one: Package): Promise<boolean> {
  const folder = folderOf(one);
  if (folder === null) return false;
  try {
    return (await Deno.stat(folder)).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Lets Deno fetch a set: it checks every digest of the lock file, and runs no script of a package. */
async function install({ config, lock }: PackageSet): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["install", "--frozen", "--config", fileURLToPath(config), "--lock", fileURLToPath(lock)],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (success) return;
  const said = new TextDecoder().decode(stderr).split("\n")
    .filter((text) => !text.startsWith("Download ")).join("\n").trim();
  throw new Error(`The packages could not be fetched: ${said}`);
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory, isFile } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) bytes += await sizeOf(path);
    else if (isFile) bytes += (await Deno.stat(path)).size;
  }
  return bytes;
}
