/** The command `backup`: writes an encrypted backup of the installation, or of one realm. @module */
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { ConfigError } from "../config.ts";
import { isId, newId } from "../domain/ids.ts";
import { encryptTo, newKey } from "../workers/backup/envelope.ts";
import { beginFile, type Draft, keepNewest, nameOf, scopeOf } from "../workers/backup/files.ts";
import { dump, type Dumped } from "../workers/backup/dump.ts";
import { writeFrames } from "../workers/backup/frames.ts";
import type { CommandContext, Invocation } from "./context.ts";

const USAGE = "usage: backup [--realm <id>] [--keep <count>], or backup --new-key > <file>";
const FLAGS = {
  realm: { type: "string" },
  keep: { type: "string" },
  "new-key": { type: "boolean" },
} as const;
const KEEP_MAX = 10_000;

interface BackupArguments {
  realm: string | null;
  keep: number | null;
  newKey: boolean;
}

/** Writes a backup and prints its manifest; or draws a key for backups. */
export async function backup(context: CommandContext, { args }: Invocation): Promise<void> {
  const { realm, keep, newKey: draws } = argumentsOf(args);
  if (draws) return await printKey();
  const { folder, recipients } = context.config.backup;
  if (recipients.length === 0) {
    throw new ConfigError(["BACKUP_RECIPIENTS is missing; `backup --new-key` draws a key"]);
  }
  const into = folder ?? join(context.config.dataDir, "backups");
  const { path, dumped } = await writeBackup(context, { realm, into });
  const { header: { backup, kind, installation, made_at }, trailer, heads } = dumped;
  const scope = scopeOf(kind, realm ?? installation);
  const removed = keep === null
    ? []
    : await keepNewest(into, { scope, count: keep, made: basename(path) });
  const made = new Date(made_at).toISOString();
  const { is: _, ...sums } = trailer;
  const size = (await Deno.stat(path)).size;
  const report = { path, backup, kind, made_at: made, size, ...sums };
  console.log(JSON.stringify({ ...report, heads: Object.fromEntries(heads), removed }, null, 2));
}

/** Writes a file that has its name only once it is whole. */
async function writeBackup(
  { database, provisioning: { secrets }, config, progress }: CommandContext,
  { realm, into }: { realm: string | null; into: string },
): Promise<{ path: string; dumped: Dumped }> {
  const at = Date.now();
  const id = newId(at);
  const file: { draft?: Draft; pipe?: Awaited<ReturnType<typeof encryptTo>> } = {};
  try {
    const dumped = await dump({
      database,
      backup: id,
      realm,
      at,
      progress,
      async begin({ kind, installation }) {
        const name = nameOf(scopeOf(kind, realm ?? installation), at, id);
        const draft = file.draft = await beginFile(into, name);
        const pipe = file.pipe = await encryptTo(config.backup.recipients, draft.sink);
        return writeFrames(pipe.writer, secrets, id);
      },
    });
    progress.end();
    await file.pipe!.writer.close();
    await file.pipe!.done;
    return { path: await file.draft!.keep(), dumped };
  } catch (error) {
    await file.pipe?.writer.abort(error).catch(() => {});
    await file.pipe?.done.catch(() => {});
    await file.draft?.discard();
    throw error;
  }
}

/** The key goes to the output, whose file the operator chooses; the recipient is for the settings. */
async function printKey(): Promise<void> {
  const { file, recipient } = await newKey();
  console.error(`BACKUP_RECIPIENTS=${recipient}`);
  await Deno.stdout.write(new TextEncoder().encode(file));
}

function argumentsOf(args: readonly string[]): BackupArguments {
  try {
    const { values } = parseArgs({ args: [...args], options: FLAGS });
    const { realm = null, keep = null, "new-key": draws = false } = values;
    if (realm !== null && !isId(realm)) throw new TypeError(`${realm} is no id of a realm`);
    const count = keep === null ? null : Number(keep);
    if (count !== null && !(/^[1-9]\d*$/.test(keep!) && count <= KEEP_MAX)) {
      throw new TypeError(`--keep is a number from 1 to ${KEEP_MAX}`);
    }
    return { realm, keep: count, newKey: draws };
  } catch (error) {
    throw new ConfigError([(error as Error).message, USAGE]);
  }
}
