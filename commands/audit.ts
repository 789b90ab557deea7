/** The command `audit`: recomputes the ledgers of realms and reports differences. @module */
import { parseArgs } from "node:util";
import { UsageError } from "../config/usages.ts";
import { replaceFlows } from "../db/audit/hourly_flows.ts";
import type { Database } from "../db/database.ts";
import type { RealmLocation } from "../db/pool_types.ts";
import { goThrough, reasonOf } from "../db/realms/realm_rounds.ts";
import { type RealmRow, selectRealm, selectRealms } from "../db/realms/realms.ts";
import { locking, reading } from "../db/transaction.ts";
import {
  checkLedger,
  type KeptHead,
  type LedgerAudit,
  STEPS,
} from "../domain/audit/ledger_check.ts";
import { DomainError } from "../domain/errors.ts";
import { isId } from "../domain/ids.ts";
import { notFound } from "../domain/permissions.ts";
import { countAllRealms, locationOf } from "../domain/realms/realms.ts";
import { archivedTransactions } from "../workers/archive/proofs.ts";
import type { CommandContext, Invocation } from "./context.ts";

/** The realm to audit (all unless named), and the head of its chain that was stored elsewhere. */
export interface AuditArguments {
  realm?: string;
  expect?: KeptHead;
  /** Whether what is only derived, the sums of transactions by the hour, is computed anew first. */
  rebuild?: boolean;
  /** Folder with the files of archived parts, over which the chain of hashes is recomputed too. */
  archive?: string;
}

/** Findings of the checker in a realm. */
export interface RealmAudit extends LedgerAudit {
  realm: string;
  name: string;
}

/** Audits all realms, or one; the exit code is 1 if there is a mismatch, or a realm that could not be audited. */
export async function audit(
  { database, progress, config }: CommandContext,
  { args }: Invocation,
): Promise<void> {
  const only = readAuditArguments(args);
  const { identityFile } = config.backup;
  const identities = only.archive === undefined || identityFile === null
    ? null
    : await Deno.readTextFile(identityFile);
  const one = only.realm !== undefined || only.expect !== undefined;
  const count = one ? 1 : await countAllRealms(database.platform);
  progress.part("Auditing", count * STEPS, "checks");
  const print = (lines: readonly string[]) =>
    progress.above(() => lines.forEach((line) => console.log(line)));
  const wrong: string[] = [];
  let [sound, steps] = [0, 0];
  const onSteps = (count: number) => {
    steps += count;
    progress.add(count);
  };
  const report = (found: RealmAudit) => {
    steps = 0;
    const lines = formatAudit(found);
    print(lines);
    if (found.mismatches.length > 0) wrong.push(lines.at(-1)!);
    else sound++;
  };
  const fail = ({ id, name }: RealmRow, error: unknown) => {
    const line = `realm ${name} (${id}): NOT AUDITED: ${reasonOf(error)}`;
    print([line]);
    wrong.push(line);
    progress.add(STEPS - steps);
    steps = 0;
  };
  const fails = one ? undefined : fail;
  await checkRealms(database, report, { ...only, identities, onSteps, fail: fails });
  progress.end();
  if (!one) print(formatRound(sound, wrong));
  if (wrong.length > 0) Deno.exitCode = 1;
}

/** Formats the end of an audit of all realms: how many are sound, and the verdicts of the others once more. */
export function formatRound(sound: number, wrong: readonly string[]): string[] {
  const count = sound + wrong.length;
  if (count === 0) return ["there is no realm in this database: nothing was audited"];
  if (wrong.length === 0) return count === 1 ? [] : [`${count} realms: all sound`];
  return [
    `${count} realms: ${sound} sound, ${wrong.length} not:`,
    ...wrong.map((line) => `  ${line}`),
  ];
}

/** The realms to check, and who is told what. */
export interface Checking extends AuditArguments {
  /** Keys that open the files of archived parts; null where there is none. */
  identities?: string | null;
  /** Told how many of the {@link STEPS} of each realm were done. */
  onSteps?: (count: number) => void;
  /** Told of a realm of several that could not be checked; without it the first one ends the work. */
  fail?: (row: RealmRow, error: unknown) => void;
}

/** Checks every realm, or one, one after another, and reports each as soon as it is checked. */
export async function checkRealms(
  database: Database,
  report: (audit: RealmAudit) => void,
  only: Checking = {},
): Promise<void> {
  const check = async (row: RealmRow) => {
    if (only.rebuild) await rebuildDerived(database, locationOf(row));
    const pool = database.realm(locationOf(row));
    const { archive: folder, identities = null } = only;
    const archived = folder === undefined
      ? undefined
      : archivedTransactions(pool, row.id, { folder, identities });
    const found = await checkLedger(pool, only.expect, only.onSteps, archived);
    report({ realm: row.id, name: row.name, ...found });
  };
  if (only.realm !== undefined) {
    const id = only.realm;
    const row = isId(id) ? await reading(database.platform, (db) => selectRealm(db, id)) : null;
    if (row === null) throw notFound("realm.not_found");
    return await check(row);
  }
  if (only.expect !== undefined) {
    const some = await reading(database.platform, (db) => selectRealms(db, null, 2));
    if (some.length === 1) return await check(some[0]);
    throw new DomainError("request.invalid", "a head belongs to one realm: name it with --realm");
  }
  await goThrough(database.platform, {
    serverOf: (row) => database.serverOf(locationOf(row)),
    poolOf: (row) => database.realm(locationOf(row)),
    work: check,
    fail(row, error) {
      if (only.fail === undefined) throw error;
      only.fail(row, error);
    },
  });
}

/** Computes anew what the rows of a realm derive from others; its owner alone may. */
async function rebuildDerived(database: Database, location: RealmLocation): Promise<void> {
  const owner = database.owner(location);
  try {
    await locking(owner, replaceFlows);
  } finally {
    await owner.sql.end({ timeout: 5 });
  }
}

/** Reads the arguments of the command. @throws {UsageError} */
export function readAuditArguments(args: readonly string[]): AuditArguments {
  const options = {
    realm: { type: "string" },
    expect: { type: "string" },
    rebuild: { type: "boolean" },
    archive: { type: "string" },
  } as const;
  try {
    const { values: { expect, ...rest } } = parseArgs({ args: [...args], options });
    if (rest.realm !== undefined && !isId(rest.realm)) {
      throw new TypeError(`${rest.realm} is no id of a realm`);
    }
    if (expect === undefined) return rest;
    const kept = /^(\d{1,16}):([0-9a-f]{64})$/.exec(expect);
    if (kept !== null) return { ...rest, expect: { seq: BigInt(kept[1]), hash: kept[2] } };
  } catch (cause) {
    throw new UsageError("audit", (cause as Error).message);
  }
  throw new UsageError("audit", "--expect is a head: <seq>:<hash>, as an earlier audit printed it");
}

/** Formats the findings: a line of JSON for each mismatch, and a verdict. */
export function formatAudit(
  { realm, name, links, archived, head, mismatches }: RealmAudit,
): string[] {
  const kinds = new Set(mismatches.map((mismatch) => mismatch.code));
  const sound = mismatches.length === 0;
  const verdict = sound ? `sound, head ${head}` : `FAILED: ${[...kinds].join(", ")}`;
  return [
    ...mismatches.map((mismatch) => JSON.stringify({ realm, ...mismatch })),
    `realm ${name} (${realm}): ${links} links, ${
      archived > 0 ? `${archived} of them archived and taken as they stand, ` : ""
    }${verdict}`,
  ];
}
