/**
 * The manifest of a backup: what it holds, of which schema, and how each part of it is announced. A backup is
 * restored where the parts are those that this version knows, and nowhere else.
 * @module
 */
import { z } from "zod";
import { DomainError } from "../errors.ts";

const Uuid = z.uuid();
const Checksums = z.array(z.string().regex(/^[0-9a-f]{64}$/)).min(1).max(10_000);
const Name = z.string().min(1).max(63);
const Count = z.number().int().min(0);
const Sequences = z.array(
  z.object({ name: Name, last: z.string().regex(/^-?\d{1,20}$/), called: z.boolean() }),
).max(1_000);

/** The first part. */
export const Header = z.object({
  is: z.literal("header"),
  format: z.number().int(),
  backup: Uuid,
  kind: z.enum(["installation", "realm"]),
  /** Milliseconds. */
  made_at: Count,
  installation: Uuid,
  /** Fingerprint of the master key that the seeds are encrypted under; null where there is none yet. */
  master: z.string().max(200).nullable(),
  /** Realms that live in databases of their own and were left out on demand: the backup does not have their rows. */
  without: z.array(Uuid).max(100_000),
});
/** The first part. */
export type Header = z.infer<typeof Header>;

/** Begin of a realm's schema. */
export const RealmPart = z.object({
  is: z.literal("realm"),
  id: Uuid,
  name: z.string().max(100),
  schema: z.string().regex(/^realm_[0-9a-f]{32}$/),
  /** Number of the place that it was read from, and the address there, encrypted under the platform key; null: the platform's. */
  place: Count,
  address: z.base64().max(10_000).nullable(),
  /** Major version of PostgreSQL. */
  postgres: Count,
  migrations: Checksums,
  /** Head of its chain of hashes, `<seq>:<hash>`. */
  head: z.string().regex(/^\d{1,16}:[0-9a-f]{64}$/),
  /** Transactions and events that the chain had no link for yet. */
  waiting: Count,
  /** Bounds between the parts of its transactions and entries. */
  parts: z.array(Uuid).max(100_000).default([]),
  sequences: Sequences,
});
/** Begin of a realm's schema. */
export type RealmPart = z.infer<typeof RealmPart>;

/** Begin of the platform's schema, or of a realm's rows there. */
export const PlatformPart = z.object({
  is: z.literal("platform"),
  postgres: Count,
  migrations: Checksums,
  sequences: Sequences,
});
/** Begin of the platform's schema, or of a realm's rows there. */
export type PlatformPart = z.infer<typeof PlatformPart>;

/** Begin of a table. */
const TablePart = z.object({ is: z.literal("table"), name: Name, columns: z.array(Name).min(1) });
const TableEnd = z.object({ is: z.literal("end"), rows: Count, bytes: Count });
const Close = z.object({ is: z.literal("close") });

/** The last part. */
export const Trailer = z.object({
  is: z.literal("trailer"),
  realms: Count,
  tables: Count,
  rows: Count,
  bytes: Count,
});
/** The last part. */
export type Trailer = z.infer<typeof Trailer>;

/** A part of a backup that is no row. */
export const Part = z.discriminatedUnion("is", [
  ...[Header, RealmPart, PlatformPart] as const,
  ...[TablePart, TableEnd, Close, Trailer] as const,
]);
/** A part of a backup that is no row. */
export type Part = z.infer<typeof Part>;
/** Begin of a table. */
export type TablePart = z.infer<typeof TablePart>;

/** Number of this form of backups. */
export const FORMAT = 1;

/**
 * Refuses a part whose schema this version would not build the same, or whose rows come from another major version of
 * PostgreSQL.
 *
 * @param known checksums of this version's migrations
 * @param major of the server that is restored to
 * @throws {DomainError} request.invalid
 */
export function assertRestorable(
  what: string,
  part: Pick<RealmPart, "migrations" | "postgres">,
  { known, major }: { known: readonly string[]; major: number },
): void {
  if (part.postgres !== major) {
    refuse(`${what} comes from PostgreSQL ${part.postgres}, and this server is ${major}`);
  }
  const { migrations } = part;
  const stranger = migrations.findIndex((checksum, at) => checksum !== known[at]);
  if (stranger >= 0) {
    refuse(
      `${what} has a schema that this version does not know (migration ${stranger + 1} of ` +
        `${migrations.length}): restore it with the version that made it`,
    );
  }
}

/** Refuses a table whose columns are not those of the schema that was built. */
export function assertColumns(table: TablePart, columns: readonly string[] | undefined): void {
  if (columns !== undefined && columns.join() === table.columns.join()) return;
  refuse(`the table ${table.name} of the backup is not a table of this schema`);
}

/** Refuses. @throws {DomainError} request.invalid */
export function refuse(message: string): never {
  throw new DomainError("request.invalid", message);
}
