/** What a preallocation makes of the log of an embedded server. @module */
import postgres from "postgres";
import { type EmbeddedOptions, startEmbedded } from "../../db/embedded/embedded.ts";
import { preallocateLater } from "../../db/embedded/wal_segments.ts";

/** The segment of the log that is written, and how many lie ready behind it. */
export interface Segments {
  written: string;
  ahead: number;
}

/**
 * Starts a server, preallocates its log and stops it.
 *
 * @param roomMin free bytes of the disk without which nothing is preallocated
 */
export async function preallocated(
  options: EmbeddedOptions,
  roomMin = 0,
): Promise<{ before: Segments; after: Segments }> {
  await using db = await startEmbedded(options);
  const sql = postgres(db.superuserUrl, { max: 1, onnotice: () => {} });
  try {
    const before = await segmentsOf(sql);
    await preallocateLater(db, { delayMs: 0, pauseMs: 0, roomMin }).done;
    return { before, after: await segmentsOf(sql) };
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function segmentsOf(sql: postgres.Sql): Promise<Segments> {
  const [{ written, ahead }] = await sql<Segments[]>`
    select written, (select count(name)::int from pg_ls_waldir()
      where name ~ '^[0-9A-F]{24}$' and name > written) as ahead
    from pg_walfile_name(pg_current_wal_insert_lsn()) written`;
  return { written, ahead };
}
