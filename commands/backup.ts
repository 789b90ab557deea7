/** The command `backup`: writes an encrypted backup of the installation, or of one realm. @module */
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { ConfigError } from "../config.ts";
import { UsageError } from "../config/usages.ts";
import type { RealmPart } from "../domain/backup/manifests.ts";
import { isId, newId } from "../domain/ids.ts";
import { nameServer } from "../domain/realms/realm_locations.ts";
import type { Secrets } from "../domain/security/serving_secrets.ts";
import { encryptTo, type Entrance, newKey } from "../workers/backup/envelope.ts";
import { beginFile, type Draft, keepNewest, nameOf, scopeOf } from "../workers/backup/files.ts";
import { dump, type Dumped } from "../workers/backup/dump.ts";
import { writeFrames } from "../workers/backup/frames.ts";
import type { CommandContext, Invocation } from "./context.ts";
import { writeSecret } from "./output.ts";

const FLAGS = {
  realm: { type: "string" },
  without: { type: "string", multiple: true },
  keep: { type: "string" },
  "new-key": { type: "boolean" },
} as const;
const KEEP_MAX = 10_000;

/** What is asked for. */
export interface BackupArguments {
  realm: string | null;
  without: readonly string[];
  keep: number | null;
}

/** Writes a backup and prints its manifest. */
export async function backup(context: CommandContext, { args }: Invocation): Promise<void> {
  const { realm, without, keep } = readBackupArguments(args);
  const { folder, recipients } = context.config.backup;
  if (recipients.length === 0) {
    throw new ConfigError(["BACKUP_RECIPIENTS is missing; `backup --new-key` draws a key"]);
  }
  const into = folder ?? join(context.config.dataDir, "backups");
  const { path, dumped } = await writeBackup(context, { realm, without, into });
  const { header, trailer, realms } = dumped;
  const { backup, kind, made_at } = header;
  const scope = scopeOf(header, realm);
  const removed = keep === null
    ? []
    : await keepNewest(into, { scope, count: keep, made: basename(path) });
  const made = new Date(made_at).toISOString();
  const { is: _, ...sums } = trailer;
  const size = (await Deno.stat(path)).size;
  const report = { path, backup, kind, made_at: made, size, ...sums };
  const listed = listRealms(realms, context.provisioning.secrets);
  console.log(JSON.stringify({ ...report, ...listed, without, removed }, null, 2));
}

/** Writes a file that has its name only once it is whole. */
async function writeBackup(
  { database, provisioning: { secrets }, config, progress }: CommandContext,
  { realm, without, into }: Pick<BackupArguments, "realm" | "without"> & { into: string },
): Promise<{ path: string; dumped: Dumped }> {
  const at = Date.now();
  const id = newId(at);
  const file: { draft?: Draft; entrance?: Entrance } = {};
  try {
    const dumped = await dump({
      database,
      secrets,
      backup: id,
      realm,
      without,
      at,
      progress,
      async begin(header) {
        const name = nameOf(scopeOf(header, realm), at, id);
        const draft = file.draft = await beginFile(into, name);
        const entrance = file.entrance = await encryptTo(config.backup.recipients, draft.sink);
        return writeFrames(entrance, secrets, id);
      },
    });
    progress.end();
    await file.entrance!.close();
    return { path: await file.draft!.keep(), dumped };
  } catch (error) {
    await file.entrance?.abort(error);
    await file.draft?.discard();
    throw error;
  }
}

/** Heads of realms, and host, port and database of those that have one of their own. */
export function listRealms(
  realms: readonly RealmPart[],
  secrets: Secrets,
): { heads: Record<string, string>; elsewhere: Record<string, string> } {
  const away = realms.filter(({ address }) => address !== null);
  return {
    heads: Object.fromEntries(realms.map(({ id, head }) => [id, head])),
    elsewhere: Object.fromEntries(
      away.map(({ id, address }) => [id, nameServer(secrets, id, Uint8Array.fromBase64(address!))]),
    ),
  };
}

/** The key goes to the output, whose file the operator chooses; the recipient is for the settings. */
export async function printKey(): Promise<void> {
  const { file, recipient } = await newKey();
  console.error(`BACKUP_RECIPIENTS=${recipient}`);
  await writeSecret(file);
}

/** Reads the arguments of the command. @throws {UsageError} */
export function readBackupArguments(args: readonly string[]): BackupArguments {
  try {
    const { values } = parseArgs({ args: [...args], options: FLAGS });
    const { realm = null, without = [], keep = null } = values;
    if (values["new-key"]) throw new TypeError("--new-key stands alone");
    for (const id of [realm ?? [], without].flat()) {
      if (!isId(id)) throw new TypeError(`${id} is no id of a realm`);
    }
    if (realm !== null && without.length > 0) throw new TypeError("--realm stands alone");
    const count = keep === null ? null : Number(keep);
    if (count !== null && !(/^[1-9]\d*$/.test(keep!) && count <= KEEP_MAX)) {
      throw new TypeError(`--keep is a number from 1 to ${KEEP_MAX}`);
    }
    return { realm, without: [...new Set(without)], keep: count };
  } catch (error) {
    throw new UsageError("backup", (error as Error).message);
  }
}
