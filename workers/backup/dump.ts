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
  selectTables,
  sumBytes,
} from "../../db/backup/catalog.ts";
import { copyOut } from "../../db/backup/copies.ts";
import {
  type BackedRealm,
  ownedLocation,
  selectBackedRealms,
  selectIdentity,
} from "../../db/backup/directory.ts";
import { holdMoment, readMoment, readOnce } from "../../db/backup/snapshots.ts";
import type { Database, Tx } from "../../db/database.ts";
import { enterSchema } from "../../db/migrate.ts";
import { FORMAT, type Header, refuse, type Trailer } from "../../domain/backup/manifests.ts";
import type { Progress } from "../../progress.ts";
import type { FrameWriter } from "./frames.ts";

/** What is backed up, and under which name. */
export interface DumpOptions {
  readonly database: Database;
  /** Id of the backup. */
  readonly backup: string;
  /** Id of the only realm; null: the installation. */
  readonly realm: string | null;
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
  /** By id of the realm, the head of its chain of hashes, `<seq>:<hash>`. */
  readonly heads: ReadonlyMap<string, string>;
}

/** Tables of every schema that its migrations fill, and no backup. */
export const NOT_COPIED: readonly string[] = ["migrations"];
/**
 * Tables of the platform that say what its processes were doing: who holds which lease, which key pair a process signs with
 * (user keys end with the restore), which host has a record, and which realm was half made. The last would be dropped in a
 * database of its own as abandoned, though it may have been finished after the backup.
 */
export const OF_PROCESSES: readonly string[] = [
  ...NOT_COPIED,
  ...["leases", "signing_keys", "installation_witnesses", "realm_provisioning"],
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
  const { database, backup, realm, at, begin, progress } = options;
  const { builder } = database;
  return await holdMoment(builder, async (moment) => {
    const { identity, realms } = await readMoment(
      builder,
      moment,
      async (tx) => ({
        identity: await selectIdentity(tx),
        realms: await selectBackedRealms(tx, realm),
      }),
    );
    if (identity === null) refuse("this database holds no installation");
    if (realm !== null && realms.length === 0) {
      refuse(`there is no realm ${realm}`);
    }
    const header: Header = {
      is: "header",
      format: FORMAT,
      backup,
      kind: realm === null ? "installation" : "realm",
      made_at: at,
      installation: identity.id,
      master: identity.master,
    };
    const frames = await begin(header);
    await frames.part(header);
    const schemas = realms.map((one) => one.schema_name);
    if (realm === null) schemas.push("platform");
    const size = await readMoment(builder, moment, (tx) => sumBytes(tx, schemas));
    progress.part(
      realms.length === 1 ? "Copying" : `Copying ${realms.length} realms`,
      size,
      "bytes",
    );
    const sums: Sums = { realms: 0, tables: 0, rows: 0, bytes: 0 };
    const heads = new Map<string, string>();
    for (const one of realms) {
      heads.set(
        one.id,
        await dumpRealm(database, moment, { realm: one, frames, sums, progress }),
      );
      sums.realms++;
    }
    await readMoment(
      builder,
      moment,
      (tx) => dumpPlatform(tx, realm, { frames, sums, progress }),
    );
    const trailer: Trailer = { is: "trailer", ...sums };
    await frames.part(trailer);
    return { header, trailer, heads };
  });
}

/** Writes a realm's schema, as of the moment where it is in the platform's database. */
async function dumpRealm(
  database: Database,
  moment: string,
  of: Into & { realm: BackedRealm },
): Promise<string> {
  const work = (tx: Tx) => dumpRealmSchema(tx, of);
  if (of.realm.database_url_encrypted === null) {
    return await readMoment(database.builder, moment, work);
  }
  const owner = database.owner(ownedLocation(of.realm));
  try {
    return await readOnce(owner, work);
  } finally {
    await owner.sql.end();
  }
}

async function dumpRealmSchema(
  tx: Tx,
  { realm, ...into }: Into & { realm: BackedRealm },
): Promise<string> {
  const schema = realm.schema_name;
  await enterSchema(tx, schema);
  const { seq, hash, unsealed } = await selectHead(tx);
  const head = `${seq}:${hash}`;
  await into.frames.part({
    is: "realm",
    id: realm.id,
    name: realm.name,
    schema,
    postgres: await selectMajorVersion(tx),
    migrations: await selectAppliedChecksums(tx),
    head,
    waiting: Number(unsealed),
    sequences: await selectSequences(tx, schema),
  });
  await dumpTables(tx, schema, { ...into, without: NOT_COPIED });
  return head;
}

/** Writes the platform's schema; of one realm, the rows that the realm cannot be without. */
async function dumpPlatform(
  tx: Tx,
  realm: string | null,
  into: Into,
): Promise<void> {
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
  of: Into & { without: readonly string[]; only?: ReadonlyMap<string, string> },
): Promise<void> {
  const { frames, sums, progress, without, only } = of;
  for (const { bytes, ...table } of await selectTables(tx, schema)) {
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
