/** The command `archive`: old parts of a realm's ledger leave the database for files, and come back. @module */
import { parseArgs } from "node:util";
import { ConfigError } from "../config.ts";
import { UsageError } from "../config/usages.ts";
import { selectRealm } from "../db/realms/realms.ts";
import { reading } from "../db/transaction.ts";
import { isId } from "../domain/ids.ts";
import { notFound } from "../domain/permissions.ts";
import { locationOf } from "../domain/realms/realms.ts";
import {
  archiveOldest,
  type Archiving,
  attachNewest,
  dropArchived,
} from "../workers/archive/archiving.ts";
import type { CommandContext, Invocation } from "./context.ts";

const FLAGS = {
  before: { type: "string" },
  to: { type: "string" },
  plain: { type: "boolean" },
  drop: { type: "boolean" },
  attach: { type: "boolean" },
} as const;

/** What is asked for; `before` in milliseconds. */
export type ArchiveArguments =
  | { verb: "archive"; realm: string; before: number; folder: string; plain: boolean }
  | { verb: "drop"; realm: string; folder: string }
  | { verb: "attach"; realm: string };

/** Archives all parts that ended by a date, one after another; drops the tables of archived ones; or attaches the last one. */
export async function archive(context: CommandContext, { args }: Invocation): Promise<void> {
  const given = readArchiveArguments(args);
  const { database, progress, config: { backup } } = context;
  const row = await reading(database.platform, (db) => selectRealm(db, given.realm));
  if (row === null) throw notFound("realm.not_found");
  const location = locationOf(row);
  const owner = database.owner(location);
  const print = (line: string) => progress.above(() => console.log(line));
  try {
    if (given.verb === "attach") {
      const until = await attachNewest({ owner });
      return print(`The part until ${until} is back in the ledger: audit the realm.`);
    }
    const archiving: Archiving = {
      ...{ owner, progress, folder: given.folder, realm: { id: row.id, schema: location.schema } },
      recipients: given.verb === "drop" || given.plain ? [] : recipientsOf(backup.recipients),
      identities: backup.identityFile === null
        ? null
        : await Deno.readTextFile(backup.identityFile),
    };
    if (given.verb === "drop") {
      const dropped = await dropArchived(archiving);
      if (dropped.length === 0) return print("No archived part has tables that could be dropped.");
      for (const until of dropped) print(`The tables of the part until ${until} are dropped.`);
      return;
    }
    let count = 0;
    for (;; count++) {
      const done = await archiveOldest(archiving, given.before);
      if (done === null) break;
      print(JSON.stringify({ realm: row.id, ...done }));
    }
    if (count === 0) return print("No part of the ledger ended by then that is not archived.");
    print(`${count} parts archived; run \`audit --realm ${row.id} --archive ${given.folder}\`.`);
  } finally {
    progress.end();
    // Where a copy of rows was left before its end, the driver may wait for ever.
    await owner.sql.end({ timeout: 5 });
  }
}

function recipientsOf(recipients: readonly string[]): readonly string[] {
  if (recipients.length > 0) return recipients;
  throw new ConfigError([
    "BACKUP_RECIPIENTS is missing: the files are encrypted for them, or not at all with --plain",
  ]);
}

/** Reads the arguments of the command. @throws {UsageError} */
export function readArchiveArguments(args: readonly string[]): ArchiveArguments {
  try {
    const { values, positionals } = parseArgs({
      ...{ args: [...args], options: FLAGS, allowPositionals: true },
    });
    const [realm] = positionals;
    const { before, to, plain = false, drop, attach } = values;
    const verbs = [before !== undefined, drop, attach].filter(Boolean).length;
    if (positionals.length === 1 && isId(realm) && verbs === 1) {
      if (attach && to === undefined && !plain) return { verb: "attach", realm };
      if (drop && to !== undefined && !plain) return { verb: "drop", realm, folder: to };
      if (before !== undefined && to !== undefined) {
        return { verb: "archive", realm, before: timeOf(before), folder: to, plain };
      }
    }
  } catch (error) {
    throw new UsageError("archive", (error as Error).message);
  }
  throw new UsageError("archive");
}

/** The begin of a day, UTC, in milliseconds. */
function timeOf(date: string): number {
  const ms = Date.parse(`${date}T00:00:00Z`);
  // A day that a month does not have would be one of the next month.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== `${date}T00:00:00.000Z`) {
    throw new TypeError("--before is a date such as 2026-01-01");
  }
  return ms;
}
