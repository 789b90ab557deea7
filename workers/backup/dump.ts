/**
 * Writes a backup: each realm's schema, then the platform's, as of one moment in each database, beside traffic.
 * Nothing is written to the database.
 * @module
 */
import { selectHead } from "../../db/audit/hash_chain.ts";
import {
  selectAppliedChecksums,
  selectMajorVersion,
  selectSequences,
  type SizedTable,
  sumBytes,
} from "../../db/backup/catalog.ts";
import { copyOut } from "../../db/backup/copies.ts";
import { type BackedRealm, selectBackedRealms, selectIdentity } from "../../db/backup/directory.ts";
import { holdMoment, readMoment } from "../../db/backup/snapshots.ts";
import type { Database, Tx } from "../../db/database.ts";
import { selectPartBounds } from "../../db/ledger/parts.ts";
import { enterSchema } from "../../db/migrate.ts";
import {
  FORMAT,
  type Header,
  type RealmPart,
  refuse,
  type Trailer,
} from "../../domain/backup/manifests.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";
import type { Progress } from "../../progress.ts";
import type { FrameWriter } from "./frames.ts";
import { assertReadable, holdPlatform, readRealm, type Sources } from "./sources.ts";

/** What is backed up, and under which name. */
export interface DumpOptions {
  readonly database: Database;
  readonly secrets: Secrets;
  /** Id of the backup. */
  readonly backup: string;
  /** Id of the only realm; null: the installation. */
  readonly realm: string | null;
  /** Ids of realms with databases of their own that are left out. */
  readonly without: readonly string[];
  /** Milliseconds. */
  readonly at: number;
  /** Begins the file once the header is known. */
  readonly begin: (header: Header) => Promise<FrameWriter>;
  readonly progress: Progress;
}

/** What was written. */
export interface Dumped {
  readonly header: Header;
  readonly trailer: Trailer;
  readonly realms: readonly RealmPart[];
  /** Ids of the realms that were left out. */
  readonly without: readonly string[];
}

/** Tables of every schema that its migrations fill, and no backup. */
export const NOT_COPIED: readonly string[] = ["migrations"];
/**
 * Tables of the platform that say what its processes were doing: who holds which lease, which key pair a process signs with
 * (user keys end with the restore), which host has a record, what workers measured, which realm was half made or moving.
 * The last two name databases that a living installation may use: a realm that was finished after the backup would be dropped as
 * abandoned, and one that has moved since would be fenced, or have its rights taken, by the move that is carried on.
 */
export const OF_PROCESSES: readonly string[] = [
  ...NOT_COPIED,
  ...["leases", "signing_keys", "installation_witnesses", "realm_measurements"],
  ...["realm_provisioning", "realm_moves"],
];

interface Sums {
  realms: number;
  tables: number;
  rows: number;
  bytes: number;
}

/** Where rows are copied to. */
interface Into {
  frames: FrameWriter;
  sums: Sums;
  progress: Progress;
}

/** Writes a backup to frames. */
export async function dump(options: DumpOptions): Promise<Dumped> {
  const { database, secrets, realm, without, begin, progress } = options;
  const { builder } = database;
  return await holdMoment(builder, async (moment) => {
    const { header, realms } = await readDirectory(moment, options);
    const elsewhere = await assertReadable({ database, secrets }, realms);
    const frames = await begin(header);
    await frames.part(header);
    const schemas = realms.filter((one) => one.database_url_encrypted === null)
      .map((one) => one.schema_name);
    if (realm === null) schemas.push("platform");
    const size = await readMoment(builder, moment, (tx) => sumBytes(tx, schemas));
    const what = realms.length === 1 ? "Copying" : `Copying ${realms.length} realms`;
    progress.part(what, size + elsewhere, "bytes");
    const sums: Sums = { realms: 0, tables: 0, rows: 0, bytes: 0 };
    const into = { frames, sums, progress };
    const parts: RealmPart[] = [];
    for (const one of realms) {
      parts.push(await dumpRealm({ database, secrets, moment }, { realm: one, ...into }));
      sums.realms++;
    }
    await readMoment(builder, moment, (tx) => dumpPlatform(tx, realm, into));
    const trailer: Trailer = { is: "trailer", ...sums };
    await frames.part(trailer);
    return { header, trailer, realms: parts, without };
  });
}

/** Reads what is to be backed up. */
async function readDirectory(
  moment: string,
  { database, backup, realm, without, at }: DumpOptions,
): Promise<{ header: Header; realms: BackedRealm[] }> {
  const { identity, all } = await readMoment(database.builder, moment, async (tx) => ({
    identity: await selectIdentity(tx),
    all: await selectBackedRealms(tx, realm),
  }));
  if (identity === null) refuse("this database holds no installation");
  if (realm !== null && all.length === 0) refuse(`there is no realm ${realm}`);
  for (const id of without) {
    const one = all.find((each) => each.id === id);
    if (one === undefined) refuse(`there is no realm ${id} to leave out`);
    if (one.database_url_encrypted === null) {
      refuse(`the realm ${id} has no database of its own: no backup leaves it out`);
    }
  }
  const header: Header = {
    is: "header",
    format: FORMAT,
    backup,
    kind: realm === null ? "installation" : "realm",
    made_at: at,
    installation: identity.id,
    master: identity.master,
    without: [...without],
  };
  return { header, realms: all.filter(({ id }) => !without.includes(id)) };
}

/** Writes a realm's schema, as of the moment where it is in the platform's database. */
async function dumpRealm(
  sources: Sources,
  { realm, ...into }: Into & { realm: BackedRealm },
): Promise<RealmPart> {
  return await readRealm(sources, realm, async (tx, source, tables) => {
    const schema = realm.schema_name;
    await enterSchema(tx, schema);
    const { seq, hash, unsealed } = await selectHead(tx);
    const part: RealmPart = {
      is: "realm",
      id: realm.id,
      name: realm.name,
      schema,
      place: source.place,
      address: source.database_url_encrypted?.toBase64() ?? null,
      postgres: await selectMajorVersion(tx),
      migrations: await selectAppliedChecksums(tx),
      head: `${seq}:${hash}`,
      waiting: Number(unsealed),
      parts: await selectPartBounds(tx),
      sequences: await selectSequences(tx, schema),
    };
    await into.frames.part(part);
    await dumpTables(tx, schema, { ...into, tables, without: NOT_COPIED });
    return part;
  });
}

/** Writes the platform's schema; of one realm, the rows that the realm cannot be without. */
async function dumpPlatform(
  tx: Tx,
  realm: string | null,
  into: Into,
): Promise<void> {
  const tables = await holdPlatform(tx, OF_PROCESSES);
  await enterSchema(tx, "platform");
  await into.frames.part({
    is: "platform",
    postgres: await selectMajorVersion(tx),
    migrations: await selectAppliedChecksums(tx),
    sequences: await selectSequences(tx, "platform"),
  });
  const only = realm === null ? undefined : rowsOf(realm);
  await dumpTables(tx, "platform", {
    ...into,
    tables,
    without: OF_PROCESSES,
    only,
  });
}

/**
 * The rows of the platform that belong to a realm, by table, as conditions of SQL; those of a table come before those that
 * refer to them.
 */
export function rowsOf(realm: string): ReadonlyMap<string, string> {
  const quoted = `'${realm.replaceAll("'", "''")}'`;
  return new Map([
    [
      "tiers",
      `name in (select tier from platform.realms where id = ${quoted})`,
    ],
    ["realms", `id = ${quoted}`],
    ["application_keys", `realm = ${quoted}`],
    ["usage", `realm = ${quoted}`],
  ]);
}

async function dumpTables(
  tx: Tx,
  schema: string,
  of: Into & {
    tables: readonly SizedTable[];
    without: readonly string[];
    only?: ReadonlyMap<string, string>;
  },
): Promise<void> {
  const { frames, sums, progress, tables, without, only } = of;
  for (const { bytes, ...table } of tables) {
    if (
      without.includes(table.name) ||
      (only !== undefined && !only.has(table.name))
    ) continue;
    await frames.part({ is: "table", ...table });
    const copied = await frames.rows(
      counted(copyOut(tx, schema, table, only?.get(table.name)), bytes, progress),
    );
    sums.tables++;
    sums.rows += copied.rows;
    sums.bytes += copied.bytes;
  }
  await frames.part({ is: "close" });
}

/** Counts a table as its bytes on the disk, of which the whole is known beforehand. */
async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  bytes: number,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const chunk of chunks) {
    const count = Math.min(left, chunk.length);
    left -= count;
    progress.add(count);
    yield chunk;
  }
  progress.add(left);
}
