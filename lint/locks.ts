/**
 * Reader of the lock files: the packages that each names, with their digests and dependencies.
 *
 * @module
 */

const ROOT = new URL("../", import.meta.url);

/** Lock files: of the service, of the embedded PostgreSQL, of the tests. */
export const LOCKS = ["deno.lock", "db/embedded.deno.lock", "tests/deno.lock"];
/** Lock files of the shipped parts. */
export const SHIPPED: readonly string[] = LOCKS.slice(0, 2);

/** A package as a lock file names it. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** SHA-512, hexadecimal. */
  readonly sha512: string;
  /** Keys (`name@version`) of its dependencies. */
  readonly needs: readonly string[];
}

interface Lock {
  npm: Record<string, Entry>;
  specifiers: Record<string, string>;
}

interface Entry {
  integrity: string;
  dependencies?: string[];
  optionalDependencies?: string[];
}

/** Gives the key of a package: `name@version`, without the peers that a lock file adds. */
export function keyOf({ name, version }: Pick<LockedPackage, "name" | "version">): string {
  return `${name}@${version}`;
}

/** Reads the packages of lock files, each once, in the order of their keys. */
export async function readPackages(locks: readonly string[]): Promise<LockedPackage[]> {
  const found = new Map<string, LockedPackage>();
  for (const lock of locks) {
    for (const one of packagesOf(JSON.parse(await Deno.readTextFile(new URL(lock, ROOT))))) {
      found.set(keyOf(one), one);
    }
  }
  return [...found.values()].sort((a, b) => keyOf(a) < keyOf(b) ? -1 : 1);
}

/** Gives the keys of the packages that a configuration itself imports. */
export async function readImports(locks: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const lock of locks) {
    const { specifiers }: Lock = JSON.parse(await Deno.readTextFile(new URL(lock, ROOT)));
    for (const [specifier, resolved] of Object.entries(specifiers)) {
      const name = /^npm:(@?[^@]+)@/.exec(specifier)![1];
      found.add(`${name}@${resolved.split("_")[0]}`);
    }
  }
  return [...found].sort();
}

function packagesOf({ npm }: Lock): LockedPackage[] {
  const keys = Object.keys(npm);
  return Object.entries(npm).map(([key, entry]) => {
    const { name, version } = parted(key);
    const needed = [...entry.dependencies ?? [], ...entry.optionalDependencies ?? []];
    return {
      name,
      version,
      sha512: hexOf(entry.integrity),
      // A name alone stands where the lock file knows one version of it.
      needs: needed.map((text) => keyOf(parted(npm[text] ? text : keyNamed(keys, text)))).sort(),
    };
  });
}

function keyNamed(keys: readonly string[], text: string): string {
  const found = keys.filter((key) => key.startsWith(`${text}@`) || key.startsWith(`${text}_`));
  if (found.length !== 1) throw new Error(`the lock file does not say which ${text} is meant`);
  return found[0];
}

function parted(key: string): { name: string; version: string } {
  const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(key)!;
  return { name, version };
}

function hexOf(integrity: string): string {
  const text = /^sha512-(.+)$/.exec(integrity)?.[1];
  if (text === undefined) throw new Error(`no SHA-512: ${integrity}`);
  return Array.from(atob(text), (one) => one.charCodeAt(0).toString(16).padStart(2, "0")).join("");
}
