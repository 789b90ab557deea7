/** The command `restore`: restores a backup, halts sending, and audits what it restored. @module */
import { parseArgs } from "node:util";
import { ConfigError } from "../config.ts";
import { UsageError } from "../config/usages.ts";
import { reading } from "../db/transaction.ts";
import { isInstalled } from "../db/realms/installation.ts";
import { reasonOf } from "../db/realms/realm_rounds.ts";
import { refuse } from "../domain/backup/manifests.ts";
import { isId } from "../domain/ids.ts";
import { STEPS } from "../domain/audit/ledger_check.ts";
import { assertEncoding, restateAll } from "../domain/realms/migrations.ts";
import { refuseOtherKey } from "../domain/security/platform_key.ts";
import { openSecrets } from "../domain/security/serving_secrets.ts";
import { decryptFrom } from "../workers/backup/envelope.ts";
import { type FrameReader, readFrames } from "../workers/backup/frames.ts";
import {
  checkBackup,
  haltOf,
  readHeader,
  type Restored,
  type RestoreOptions,
} from "../workers/backup/building.ts";
import type { Destination } from "../workers/backup/destinations.ts";
import { restoreInstallation } from "../workers/backup/restore.ts";
import { restoringAlone } from "../workers/backup/restore_lock.ts";
import { type RealmOptions, restoreRealm } from "../workers/backup/restore_realm.ts";
import { quarantineAll } from "../workers/installation/quarantine_all.ts";
import { type AuditArguments, checkRealms, formatAudit, readAuditArguments } from "./audit.ts";
import { listRealms } from "./backup.ts";
import { type CommandContext, failStart, type Invocation, StartError } from "./context.ts";
import { readAddress } from "./input.ts";

const FLAGS = {
  realm: { type: "string" },
  without: { type: "string", multiple: true },
  to: { type: "string" },
  expect: { type: "string" },
  stop: { type: "boolean" },
  "end-keys": { type: "boolean" },
  check: { type: "boolean" },
} as const;

/** What is asked for. */
export interface RestoreArguments {
  file: string;
  realm: string | null;
  without: readonly string[];
  to: Destination | undefined;
  expect: AuditArguments["expect"];
  /** Whether realms begin with stops. */
  stop: boolean;
  /** Whether machine keys end. */
  endKeys: boolean;
  check: boolean;
}

/** Restores a backup; the exit code is 1 where its audit finds a mismatch. */
export async function restore(context: CommandContext, { args }: Invocation): Promise<void> {
  const given = await readRestoreArguments(args);
  const { file, realm, without, check } = given;
  context.progress.part(check ? "Reading" : "Restoring", (await Deno.stat(file)).size, "bytes");
  const frames = await openBackup(context, file);
  const header = await readHeader(frames);
  if (check) {
    const read = await checkBackup(frames);
    context.progress.end();
    const lacks = header.without.length > 0 ? `, without the realms ${header.without}` : "";
    return report(context, read, `whole${lacks}${ofKey(frames)}`);
  }
  const whole = header.kind === "installation" && realm === null;
  if (!whole && without.length > 0) refuse("one realm is restored: there is none to leave out");
  await assertEncoding(context.database).catch(failStart);
  await restoringAlone(
    context.database,
    (lock) => restoreWith(context, given, { frames, header, lock }),
  );
}

/** Restores a backup while no other restore runs into the same database. */
async function restoreWith(
  context: CommandContext,
  { realm, without, to, expect, stop, endKeys }: RestoreArguments,
  opened: Pick<RestoreOptions, "frames" | "header" | "lock">,
): Promise<void> {
  const { database, migrations, log, progress, provisioning: { secrets } } = context;
  const { header } = opened;
  const tell = progress.note;
  const how = { at: Date.now(), tell, stop, endKeys };
  const options = { database, secrets, migrations, ...opened, ...how };
  const whole = header.kind === "installation" && realm === null;
  const restored = whole
    ? await restoreInstallation({ ...options, to: to ?? "platform", without })
    : await intoInstallation(context, { ...options, to }, realm);
  if (whole) await grantRights(context, without);
  const only = restored.realms.map(({ id }) => id);
  await quarantineAll(database, log, haltOf(header), { only });
  await auditRestored(context, restored, expect);
  progress.end();
  const stopped = stop ? ", and nothing moves or is signed until the stops are lifted" : "";
  const verdict = "restored; nothing is sent until `deno task reconcile` has ended";
  report(context, restored, `${verdict}${stopped}${ofKey(opened.frames)}`);
}

/** Tells what to do where the secrets in a backup are encrypted under the platform key before the present one. */
function ofKey(frames: FrameReader): string {
  if (!frames.isOfPreviousKey()) return "";
  return ". It was made under PLATFORM_KEY_PREVIOUS: start every process with both keys and run" +
    " `deno task rotate-platform-key`; until then one-time passwords, webhooks' secrets and persons' data of" +
    " it open with both alone";
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
  const present = openSecrets(config.platformKey!);
  return readFrames(await decryptFrom(counted, identities), secrets, present);
}

/** States the rights of all realms. One that was not restored, and is not reached, gets its own when it is migrated. */
async function grantRights(
  { database, migrations, log, progress }: CommandContext,
  without: readonly string[],
): Promise<void> {
  const failed = await restateAll(database, migrations, log, { every: true, progress });
  const left = failed.filter((id) => !without.includes(id));
  if (left.length > 0) {
    throw new StartError(
      `restored, but without rights: ${left}; run \`deno task migrate\` when their servers answer`,
    );
  }
}

async function intoInstallation(
  { database, provisioning: { secrets } }: CommandContext,
  options: RealmOptions,
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
  for (const { id, name, head } of realms) {
    const kept = expect ?? readAuditArguments(["--expect", head]).expect;
    await checkRealms(database, (found) => {
      formatAudit(found).forEach(progress.note);
      if (found.mismatches.length > 0) Deno.exitCode = 1;
    }, { realm: id, expect: kept, onSteps: progress.add }).catch((error) => {
      progress.note(`realm ${name} (${id}): NOT AUDITED: ${reasonOf(error)}`);
      Deno.exitCode = 1;
    });
  }
}

function report(
  { provisioning: { secrets } }: CommandContext,
  { realms, trailer }: Restored,
  verdict: string,
): void {
  const { is: _, ...sums } = trailer;
  const sound = Deno.exitCode === 0;
  const verdicts = sound ? verdict : `${verdict}; the audit FAILED`;
  const listed = listRealms(realms, secrets);
  const stopped = realms.filter(({ stops }) => stops !== null);
  const stops = Object.fromEntries(stopped.map(({ id, stops }) => [id, stops]));
  const keyed = realms.flatMap(({ id, keys }) => keys === null ? [] : [[id, keys] as const]);
  const all = {
    ...{ verdict: verdicts, ...sums, ...listed },
    ...(stopped.length > 0 ? { stops } : {}),
    ...(keyed.length > 0 ? { machine_keys: Object.fromEntries(keyed) } : {}),
  };
  console.log(JSON.stringify(all, null, 2));
}

/** Reads the arguments of the command. @throws {UsageError} */
export async function readRestoreArguments(args: readonly string[]): Promise<RestoreArguments> {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: FLAGS,
      allowPositionals: true,
    });
    const { realm = null, without = [], to, expect, stop = false, check = false } = values;
    const { "end-keys": endKeys = false } = values;
    if (positionals.length !== 1 || args[0] !== positionals[0]) {
      throw new TypeError("the file is named first");
    }
    for (const id of [realm ?? [], without].flat()) {
      if (!isId(id)) throw new TypeError(`${id} is no id of a realm`);
    }
    if (realm !== null && without.length > 0) throw new TypeError("--realm stands alone");
    if (stop && check) throw new TypeError("--check restores nothing: there is nothing to stop");
    if (endKeys && check) throw new TypeError("--check restores nothing: there is no key to end");
    const kept = expect === undefined ? undefined : readAuditArguments(["--expect", expect]).expect;
    const [file] = positionals;
    return {
      file,
      realm,
      without,
      to: await destinationOf(to),
      expect: kept,
      stop,
      endKeys,
      check,
    };
  } catch (error) {
    throw new UsageError("restore", (error as Error).message);
  }
}

/** Reads a destination; no message shows the address, which has a password. */
async function destinationOf(text: string | undefined): Promise<Destination | undefined> {
  if (text === undefined || text === "platform" || text === "origin") return text;
  return { address: await readAddress("--to", text) };
}
