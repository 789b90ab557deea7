/**
 * Known faults of the packages in the lock files. `deno task check` compares them with the list in
 * advisories.json, without the network; `deno task advisories` asks the registry for all that are known,
 * and reports where the registry does not answer.
 *
 * @module
 */
import { type LockedPackage, LOCKS, readPackages } from "./locks.ts";
import { answeredHelp } from "./usages.ts";

/** A list of advisories, and the allowances beside it. */
export interface Advisories {
  /** The day on which the list was brought up to date. */
  readonly collected: string;
  readonly advisories: readonly Advisory[];
  readonly allowed: readonly Allowance[];
}

/** A known fault of a package. */
export interface Advisory {
  readonly id: string;
  readonly package: string;
  readonly title: string;
  readonly ranges: readonly { readonly from: string; readonly below: string }[];
}

/** An advisory that was reviewed and does not affect us. */
export interface Allowance {
  readonly id: string;
  readonly package: string;
  readonly reason: string;
  /** The last day on which it holds, YYYY-MM-DD. */
  readonly until: string;
}

type Version = Pick<LockedPackage, "name" | "version">;

const FILE = new URL("advisories.json", import.meta.url);
const ROOT = new URL("../", import.meta.url);
/** Deno's messages when the registry does not answer. */
const AWAY = /^error: (error sending request|client error|dns error|operation timed out)/im;

/** Names the packages with a known fault; null where none has one. */
export async function advisoryFaults(): Promise<string | null> {
  const today = new Date().toISOString().slice(0, 10);
  const faults = findFaults(await readAdvisories(), await readPackages(LOCKS), today);
  return faults.length === 0 ? null : faults.join("\n");
}

/** Finds the packages that an advisory names, and the allowances that have run out. */
export function findFaults(
  { advisories, allowed }: Advisories,
  packages: readonly Version[],
  today: string,
): string[] {
  const faults: string[] = [];
  for (const { id, package: name, title, ranges } of advisories) {
    for (const one of packages) {
      if (one.name !== name || !ranges.some((range) => isIn(one.version, range))) continue;
      const allowance = allowed.find((entry) => entry.id === id && entry.package === name);
      if (allowance !== undefined && allowance.until >= today) continue;
      const over = allowance === undefined ? "" : `, allowed until ${allowance.until}`;
      faults.push(`${name}@${one.version}: ${id}, ${title}${over}`);
    }
  }
  return faults;
}

function isIn(version: string, { from, below }: { from: string; below: string }): boolean {
  return compare(version, from) >= 0 && compare(version, below) < 0;
}

/** Compares versions; one before a release is smaller than the release. */
function compare(a: string, b: string): number {
  const [[one, early], [other, earlier]] = [a, b].map((text): [number[], string | undefined] => {
    const [numbers, before] = text.split("+")[0].split(/-(.*)/);
    return [numbers.split(".").map(Number), before];
  });
  for (let at = 0; at < 3; at++) {
    if (one[at] !== other[at]) return one[at] - other[at];
  }
  return Number(early === undefined) - Number(earlier === undefined);
}

async function readAdvisories(): Promise<Advisories> {
  return JSON.parse(await Deno.readTextFile(FILE));
}

/** Asks the registry about each lock file; gives the exit code. */
async function askRegistry(): Promise<number> {
  const { allowed, collected } = await readAdvisories();
  const ignored = allowed.map(({ id }) => id);
  let code = 0;
  for (const lock of LOCKS) {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["audit", "--lock", lock, ...ignored.length > 0 ? [`--ignore=${ignored}`] : []],
      cwd: ROOT,
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder();
    const said = `${text.decode(stdout)}${text.decode(stderr)}`.trim();
    if (success) console.log(`ok       ${lock}`);
    else if (AWAY.test(said)) {
      console.log(`skipped  ${lock}: the registry could not be asked; the list is of ${collected}`);
    } else {
      console.log(`FAILED   ${lock}\n${said}`);
      code = 1;
    }
  }
  return code;
}

if (import.meta.main && !answeredHelp("advisories")) {
  askRegistry().then((code) => Deno.exit(code), (error) => {
    console.error(error);
    Deno.exit(1);
  });
}
