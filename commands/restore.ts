/** The command `restore`: restores a backup, halts sending, and audits what it restored. @module */
import { parseArgs } from "node:util";
import { ConfigError } from "../config.ts";
import { reading } from "../db/transaction.ts";
import { isInstalled } from "../db/realms/installation.ts";
import { refuse } from "../domain/backup/manifests.ts";
import { isId } from "../domain/ids.ts";
import { STEPS } from "../domain/audit/ledger_check.ts";
import { assertEncoding, restateAll } from "../domain/realms/migrations.ts";
import { refuseOtherKey } from "../domain/security/platform_key.ts";
import { decryptFrom } from "../workers/backup/envelope.ts";
import { type FrameReader, readFrames } from "../workers/backup/frames.ts";
import {
  checkBackup,
  haltOf,
  readHeader,
  type Restored,
  restoreInstallation,
  type RestoreOptions,
  restoreRealm,
} from "../workers/backup/restore.ts";
import { quarantineAll } from "../workers/installation/quarantine_all.ts";
import { type AuditArguments, checkRealms, formatAudit, readAuditArguments } from "./audit.ts";
import { type CommandContext, failStart, type Invocation, StartError } from "./context.ts";

const USAGE =
  "usage: restore <file> [--realm <id>] [--expect <seq>:<hash>], or restore <file> --check";
const FLAGS = {
  realm: { type: "string" },
  expect: { type: "string" },
  check: { type: "boolean" },
} as const;

interface RestoreArguments {
  file: string;
  realm: string | null;
  expect: AuditArguments["expect"];
  check: boolean;
}

/** Restores a backup; the exit code is 1 where its audit finds a mismatch. */
export async function restore(context: CommandContext, { args }: Invocation): Promise<void> {
  const { file, realm, expect, check } = argumentsOf(args);
  context.progress.part(check ? "Reading" : "Restoring", (await Deno.stat(file)).size, "bytes");
  const frames = await openBackup(context, file);
  const header = await readHeader(frames);
  if (check) {
    const read = await checkBackup(frames);
    context.progress.end();
    return report(read, "whole");
  }
  const whole = header.kind === "installation" && realm === null;
  const { database, migrations, log, progress } = context;
  const tell = progress.note;
  const options = { database, migrations, frames, header, at: Date.now(), tell };
  await assertEncoding(database).catch(failStart);
  const restored = whole
    ? await restoreInstallation(options)
    : await intoInstallation(context, options, realm);
  if (whole) {
    const left = await restateAll(database, migrations, log, { every: true, progress });
    if (left.length > 0) throw new StartError(`restored, but without rights: ${left}`);
  }
  await quarantineAll(database, log, haltOf(header), restored.realms.map(({ id }) => id));
  await auditRestored(context, restored, expect);
  progress.end();
  report(restored, "restored; nothing is sent until `deno task reconcile` has ended");
}

/** Opens a file as a backup of a holder of the platform key. */
async function openBackup(
  { config, provisioning: { secrets }, progress }: CommandContext,
  path: string,
): Promise<FrameReader> {
  const { identityFile } = config.backup;
  if (identityFile === null) throw new ConfigError(["BACKUP_IDENTITY_FILE is missing"]);
  const identities = await Deno.readTextFile(identityFile);
  const file = await Deno.open(path);
  const counted = file.readable.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        progress.add(chunk.length);
        controller.enqueue(chunk);
      },
    }),
  );
  return readFrames(await decryptFrom(counted, identities), secrets);
}

async function intoInstallation(
  { database, provisioning: { secrets } }: CommandContext,
  options: RestoreOptions,
  realm: string | null,
): Promise<Restored> {
  if (!await reading(database.builder, isInstalled)) {
    refuse("a realm is restored into an installation: start one here first (`deno task migrate`)");
  }
  await refuseOtherKey(database.builder, secrets).catch(failStart);
  return await restoreRealm(options, realm);
}

/** Audits each realm that was restored, against the head that was kept elsewhere, or that of the manifest. */
async function auditRestored(
  { database, progress }: CommandContext,
  { realms }: Restored,
  expect: AuditArguments["expect"],
): Promise<void> {
  if (expect !== undefined && realms.length !== 1) {
    const why = "a head belongs to one realm: `deno task audit --realm … --expect …`";
    throw new StartError(`restored, but not audited: ${why}`);
  }
  progress.part("Auditing", realms.length * STEPS, "checks");
  for (const { id, head } of realms) {
    const kept = expect ?? readAuditArguments(["--expect", head]).expect;
    await checkRealms(database, (found) => {
      formatAudit(found).forEach(progress.note);
      if (found.mismatches.length > 0) Deno.exitCode = 1;
    }, { realm: id, expect: kept, onSteps: progress.add });
  }
}

function report({ realms, trailer }: Restored, verdict: string): void {
  const { is: _, ...sums } = trailer;
  const heads = Object.fromEntries(realms.map(({ id, head }) => [id, head]));
  const sound = Deno.exitCode === 0;
  const verdicts = sound ? verdict : `${verdict}; the audit FAILED`;
  console.log(JSON.stringify({ verdict: verdicts, ...sums, heads }, null, 2));
}

function argumentsOf(args: readonly string[]): RestoreArguments {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: FLAGS,
      allowPositionals: true,
    });
    const { realm = null, expect, check = false } = values;
    if (positionals.length !== 1 || args[0] !== positionals[0]) {
      throw new TypeError("the file is named first");
    }
    if (realm !== null && !isId(realm)) throw new TypeError(`${realm} is no id of a realm`);
    const kept = expect === undefined ? undefined : readAuditArguments(["--expect", expect]).expect;
    return { file: positionals[0], realm, expect: kept, check };
  } catch (error) {
    throw new ConfigError([(error as Error).message, USAGE]);
  }
}
