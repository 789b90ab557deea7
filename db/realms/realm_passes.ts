/**
 * Work on many realms: some at once on each server, and no realm waits for another server. A realm whose tables are in
 * use is put back behind the others; one server that does not answer ends the work on its realms alone.
 * @module
 */
import { codeOf, Contention, isContention, isDisconnect, isTimeout } from "../errors.ts";
import { MIGRATIONS_AT_ONCE } from "../realm_pools.ts";
import type { RealmRow } from "./realms.ts";

/** Work on each of many realms. */
export interface RealmPass {
  /** Names the server that a realm lives on. */
  serverOf: (row: RealmRow) => string;
  /** The work on one realm; what fails in passing is tried again. */
  work: (row: RealmRow) => Promise<void>;
  /** Told of a realm whose work is given up. */
  fail: (row: RealmRow, error: unknown) => void;
  /** Told of each realm that is done or given up. */
  settle: () => void;
}

/** Most tries of a realm, and of a server; the pauses between them grow. */
const TRIES_MAX = 5;
const PAUSE_MS = 250;
/** Codes of a server that cannot be reached. */
const UNREACHED = ["ECONNREFUSED", "ENOTFOUND", "CONNECT_TIMEOUT"];

interface Server {
  /** Realms that were not tried yet, in their order. */
  fresh: RealmRow[];
  /** Realms to try again, with the number of their tries and the earliest time of the next. */
  later: { row: RealmRow; tries: number; dueAt: number }[];
  /** How many are in work, or wait for their next try. */
  running: number;
  /** The error after which nothing more is tried there; undefined while it answers. */
  lost?: unknown;
}

/** Does the work on all realms; ends when each is done or given up. */
export async function passOver(rows: AsyncIterable<RealmRow>, pass: RealmPass): Promise<void> {
  const servers = new Map<string, Server>();
  const runs: Promise<void>[] = [];
  try {
    for await (const row of rows) {
      const name = pass.serverOf(row);
      const server = servers.get(name) ?? { fresh: [], later: [], running: 0 };
      servers.set(name, server);
      server.fresh.push(row);
      if (server.running < MIGRATIONS_AT_ONCE) runs.push(workThrough(server, pass));
    }
  } finally {
    await Promise.all(runs);
  }
}

/** Takes realms of a server one by one, until none is left. */
async function workThrough(server: Server, pass: RealmPass): Promise<void> {
  server.running++;
  try {
    for (let next = take(server); next !== null; next = take(server)) {
      await pause(next.dueAt - performance.now());
      await attempt(server, next, pass);
    }
  } finally {
    server.running--;
  }
}

function take({ fresh, later }: Server): Server["later"][number] | null {
  const row = fresh.shift();
  if (row !== undefined) return { row, tries: 0, dueAt: 0 };
  later.sort((a, b) => a.dueAt - b.dueAt);
  return later.shift() ?? null;
}

async function attempt(
  server: Server,
  { row, tries }: Server["later"][number],
  { work, fail, settle }: RealmPass,
): Promise<void> {
  try {
    await whileReached(server, () => work(row));
  } catch (error) {
    if (tries + 1 < TRIES_MAX && isPassing(error)) {
      const dueAt = performance.now() + PAUSE_MS * 2 ** (tries + 1);
      server.later.push({ row, tries: tries + 1, dueAt });
      return;
    }
    fail(row, error);
  }
  settle();
}

/** Runs the work, again where the server was not reached; then the server counts as lost. */
async function whileReached(server: Server, work: () => Promise<void>): Promise<void> {
  for (let tries = 1;; tries++) {
    if (server.lost !== undefined) throw server.lost;
    try {
      return await work();
    } catch (error) {
      if (!isUnreached(error)) throw error;
      if (tries >= TRIES_MAX) server.lost = error;
      else await pause(PAUSE_MS * 2 ** tries);
    }
  }
}

/** Whether the same may pass at another try: tables in use, no free connection, one that was lost, two changes of a row. */
function isPassing(error: unknown): boolean {
  if (error instanceof Contention || isTimeout(error) || isContention(error)) return true;
  if (codeOf(error) === "XX000") return /tuple concurrently/.test((error as Error).message);
  return isDisconnect(error) && !isUnreached(error);
}

/** Whether a server could not be reached at all. */
export function isUnreached(error: unknown): boolean {
  return UNREACHED.includes(codeOf(error) ?? "");
}

function pause(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}
