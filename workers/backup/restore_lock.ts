/** One restore at a time for a platform's database: the lock of the whole command, and of each of its steps. @module */
import { ownedLocation } from "../../db/backup/directory.ts";
import {
  holdsRestore,
  keepRestoresAway,
  lockStep,
  selectRestoreHolder,
  selectServing,
  takeRestore,
} from "../../db/backup/restore_lock.ts";
import { rebuild } from "../../db/backup/snapshots.ts";
import type { Database, Pool, Tx } from "../../db/database.ts";
import { assertReachable } from "../../db/migrate.ts";
import { reading } from "../../db/transaction.ts";
import { refuse } from "../../domain/backup/manifests.ts";

/** The lock of a restore that runs. */
export interface RestoreLock {
  /**
   * Runs one transaction of the restore; none other builds there meanwhile, one of a process that was killed neither.
   *
   * @param schema names what is built, where that is another database than the platform's
   * @throws {DomainError} request.invalid where another one does, or this restore has lost its lock
   */
  step<T>(pool: Pool, work: (tx: Tx) => Promise<T>, schema?: string): Promise<T>;
}

const PLATFORM = ownedLocation({
  id: "platform",
  schema_name: "platform",
  database_url_encrypted: null,
});
/** A step whose process was killed ends with its statement. */
const STEP_WAIT_MS = 10_000;

/**
 * Runs a restore while no other one runs into the platform's database.
 *
 * @throws {DomainError} request.invalid where one does, or an installation is being made there
 */
export async function restoringAlone<T>(
  database: Database,
  work: (lock: RestoreLock) => Promise<T>,
): Promise<T> {
  const { builder } = database;
  const take = async (tx: Tx) => {
    const pid = await takeRestore(tx);
    if (pid === null) refuse(await occupied(builder));
    return pid;
  };
  return await holding(database, take, (pid) =>
    work({
      step: (pool, build, schema = "platform") => step({ builder, pid, pool }, schema, build),
    }));
}

/**
 * Makes an installation in an empty database, into which nothing is restored meanwhile.
 *
 * @throws {DomainError} request.invalid where a restore runs
 */
export async function makingAlone<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const take = async (tx: Tx) => {
    if (!await keepRestoresAway(tx)) refuse(await occupied(database.builder));
  };
  return await holding(database, take, work);
}

/** Runs work while a session of its own holds what it took. The lock of a session that is lost is lost: steps ask for it. */
async function holding<L, T>(
  database: Database,
  take: (tx: Tx) => Promise<L>,
  work: (lock: L) => Promise<T>,
): Promise<T> {
  const owner = database.owner(PLATFORM);
  const taken = Promise.withResolvers<L>();
  const over = Promise.withResolvers<void>();
  try {
    await assertReachable(owner);
    rebuild(owner, async (tx) => {
      taken.resolve(await take(tx));
      await over.promise;
    }).catch(taken.reject);
    return await work(await taken.promise);
  } finally {
    over.resolve();
    await owner.sql.end({ timeout: 5 });
  }
}

async function occupied(builder: Pool): Promise<string> {
  const holder = await reading(builder, selectRestoreHolder);
  const who = holder === null ? "" : ` (session ${holder.pid} of ${holder.login ?? "a login"})`;
  return `a restore runs into this database, or an installation is being made there${who}:` +
    " nothing was changed; try again when that has ended";
}

async function step<T>(
  { builder, pid, pool }: { builder: Pool; pid: number; pool: Pool },
  schema: string,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const assertHeld = async () => {
    if (await reading(builder, (db) => holdsRestore(db, pid))) return;
    refuse("the session that kept other restores away was lost: this restore is given up");
  };
  return await rebuild(pool, async (tx) => {
    const other = await lockStep(tx, schema, STEP_WAIT_MS);
    if (other !== null) {
      refuse(
        `a step of another restore, or of one that was killed, still runs in session ${other.pid} of` +
          ` that server: run this one when it has ended, or end it by pg_terminate_backend(${other.pid})`,
      );
    }
    await assertHeld();
    const result = await work(tx);
    await assertHeld();
    return result;
  });
}

/** Names the processes that are connected to the platform's database; null where there are none. */
export async function findServing({ builder }: Database): Promise<string | null> {
  const found = await reading(builder, selectServing);
  if (found.length === 0) return null;
  return found.map(({ name, count }) => `${count} × ${name}`).join(", ");
}
