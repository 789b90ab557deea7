/**
 * Preallocates segments of the write-ahead log. A commit that needs a new segment waits until 16 MB
 * of zeros are on the disk; segments that a checkpoint recycles are there already. A new cluster has
 * none of these, so some are used up in the background, with pauses, and a checkpoint recycles them.
 *
 * As a program it does so on the server whose address it reads as JSON from standard input: the process that
 * starts PostgreSQL need not load a driver.
 *
 * @module
 */
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Segments that there are afterwards, unless the server keeps fewer: half a gigabyte, of some 400 000 transfers. */
const SEGMENTS = 32;
/** The server starts to be used first, and short runs do not pay for this. */
const DELAY_MS = 10_000;
/** Between two segments, so commits wait for one at most. */
const PAUSE_MS = 200;

/** Room on the disk without which nothing is preallocated: a server whose log finds no room stops. */
const ROOM_MIN = 4 * 1024 ** 3;

/** Address of a server, for its superuser. */
interface Target {
  port: number;
  password: string;
  pauseMs: number;
  /** Folder of the log. */
  folder: string;
  /** Least free bytes of its disk. */
  roomMin: number;
}

/** When and how a log is preallocated. */
export interface PreallocationOptions {
  delayMs?: number;
  pauseMs?: number;
  roomMin?: number;
}

/** Preallocates the log of a server in the background. What this returns ends it. */
export function preallocateLater(
  { superuserUrl, clusterDir }: { superuserUrl: string; clusterDir: string },
  { delayMs = DELAY_MS, pauseMs = PAUSE_MS, roomMin = ROOM_MIN }: PreallocationOptions = {},
): { done: Promise<void>; stop: () => Promise<void> } {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let child: Deno.ChildProcess | null = null;
  const { port, password } = new URL(superuserUrl);
  const folder = join(clusterDir, "pgdata", "pg_wal");
  const timer = setTimeout(() => {
    try {
      child = spawn({ port: Number(port), password, pauseMs, folder, roomMin });
      child.status.then(() => resolve(), () => resolve());
    } catch (error) { // the service needs none of this
      tellFailure(error);
      resolve();
    }
  }, delayMs);
  return {
    done,
    async stop() {
      clearTimeout(timer);
      if (child === null) return;
      try {
        child.kill("SIGKILL");
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // Deno says so of a process that has ended
      }
      await child.status;
    },
  };
}

function spawn(target: Target): Deno.ChildProcess {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--cached-only"],
      ...[
        `--allow-net=127.0.0.1:${target.port}`,
        "--allow-env=PG*",
        "--allow-sys=statfs",
        `--allow-read=${target.folder.replaceAll(",", ",,")}`,
        fileURLToPath(import.meta.url),
      ],
    ],
    stdin: "piped",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  writer.write(new TextEncoder().encode(JSON.stringify(target)))
    .then(() => writer.close())
    .catch(() => {}); // it has ended, and said why
  return child;
}

/** Uses segments up until there are enough of them, and has them recycled. */
async function preallocate(target: Target): Promise<void> {
  const { port, password, pauseMs, folder, roomMin } = target;
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < roomMin) return;
  const { default: postgres } = await import("postgres");
  const sql = postgres({
    ...{ host: "127.0.0.1", port, user: "postgres", password, database: "postgres" },
    ...{ max: 1, connect_timeout: 30 },
  });
  try {
    const [{ used, ahead, kept }] = await sql<{ used: number; ahead: number; kept: number }[]>`
      select count(name) filter (where name <= newest)::int as used,
        count(name) filter (where name > newest)::int as ahead,
        (pg_size_bytes(current_setting('min_wal_size'))
          / pg_size_bytes(current_setting('wal_segment_size')))::int as kept
      from pg_ls_waldir(), pg_walfile_name(pg_current_wal_insert_lsn()) newest
      where name ~ '^[0-9A-F]{24}$'`;
    const wanted = Math.min(SEGMENTS, kept); // what is not kept would be made anew at each start
    if (used + ahead >= wanted) return;
    // Those that lie ahead are used up first.
    for (let i = used; i < wanted; i++) {
      await sql`select pg_logical_emit_message(false, 'purser', '')`; // an empty segment is not left
      await sql`select pg_switch_wal()`;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    await sql`checkpoint`;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

if (import.meta.main) {
  new Response(Deno.stdin.readable).json().then(preallocate).catch((error) => {
    tellFailure(error);
    Deno.exit(1);
  });
}

function tellFailure(error: unknown): void {
  const text = `the write-ahead log was not preallocated: ${error}\n`;
  Deno.stderr.writeSync(new TextEncoder().encode(text));
}
