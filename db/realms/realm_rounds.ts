/**
 * Work on one realm after the other, for commands that an operator waits for. A realm that fails stops no other, and a server that
 * cannot be reached is asked for none of its further realms.
 * @module
 */
import { codeOf } from "../errors.ts";
import type { Pool } from "../pool_types.ts";
import { reading, using } from "../transaction.ts";
import { assertReachable } from "../migrate.ts";
import { allRealms } from "./realm_pages.ts";
import { isUnreached } from "./realm_passes.ts";
import { type RealmRow, selectRealm } from "./realms.ts";

/** Work on each realm. */
export interface RealmRound {
  /** Names the server that a realm lives on. */
  serverOf: (row: RealmRow) => string;
  /** The connections that the work uses. */
  poolOf: (row: RealmRow) => Pool;
  work: (row: RealmRow) => Promise<void>;
  /** Ids of the only realms that are meant; undefined: all. */
  only?: readonly string[];
  /** Told of a realm whose work failed. */
  fail: (row: RealmRow, error: unknown) => void;
}

/** Does the work on all realms of the directory, and on those that are made meanwhile; the directory alone must answer. */
export async function goThrough(platform: Pool, round: RealmRound): Promise<void> {
  const lost = new Map<string, unknown>();
  for await (const { id } of allRealms(platform)) {
    if (round.only?.includes(id) === false) continue;
    // A page of the directory may be hours old when its last realm has its turn.
    const row = await reading(platform, (db) => selectRealm(db, id));
    if (row === null) continue;
    const server = round.serverOf(row);
    try {
      if (lost.has(server)) throw lost.get(server);
      await reach(round.poolOf(row));
      await round.work(row);
    } catch (error) {
      if (isUnreached(error)) lost.set(server, error);
      round.fail(row, error);
    }
  }
}

/** Fails where a database does not answer: the begin of a long transaction may never report it. */
async function reach(pool: Pool): Promise<void> {
  await using(pool, () => assertReachable(pool));
}

/** Says in a few words why work on a realm failed. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  return code === null || message.includes(code) ? message : `${message} (${code})`;
}
