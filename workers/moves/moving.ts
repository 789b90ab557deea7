/**
 * Moves a realm to another database while it is used. The rows are copied under a capture of changes, the
 * changes after them, round by round; then the old place is fenced, the last changes follow, and the directory
 * names the new place. Every step is recorded before it is taken, so the next call carries a move on that stopped.
 * @module
 */
import type { Pool } from "../../db/database.ts";
import {
  assertReachable,
  createRealmSchema,
  dropRealmSchema,
  isFenced,
  migrateRealm,
  restateRights,
} from "../../db/migrate.ts";
import { installCapture, removeCapture } from "../../db/moves/capture.ts";
import { lowerFence, raiseFence, revokeAll } from "../../db/moves/fence.ts";
import { type MoveStep, takeMoveStep, updatePlace } from "../../db/realms/moves.ts";
import {
  adoptTarget,
  bareTarget,
  checkKey,
  completeTarget,
  copySequences,
  inspectTarget,
  lockTarget,
  markTarget,
  selectUnchecked,
  type TargetState,
} from "../../db/moves/target.ts";
import {
  allowCopying,
  analyzeTables,
  countMigrations,
  selectTables,
  type TableShape,
} from "../../db/moves/tables.ts";
import { isContention, isTimeout } from "../../db/errors.ts";
import { building, locking } from "../../db/transaction.ts";
import { checkLedger, STEPS } from "../../domain/audit/ledger_check.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Migrations } from "../../domain/realms/realms.ts";
import { assertUsable } from "./move_targets.ts";
import type { Move, MoveOptions, OrderOptions } from "./move.ts";
import { findOld } from "./move_orders.ts";
import { copyRound, type Round } from "./rounds.ts";

/** The result of a move. */
export interface MoveReport {
  /** Milliseconds in which the realm took no writes; null where an earlier run made the switch. */
  pauseMs: number | null;
  rounds: number;
  /** The chain's last link, as `<seq>:<hash>`. */
  head: string;
}

/** State of a run. */
interface Run extends MoveOptions {
  move: Move;
  /** Connections with all rights, one to each database. */
  source: Pool;
  target: Pool;
  tables: TableShape[];
  rounds: number;
}

/** A round that copied no more rows than this is followed by the switch. */
const FEW = 500;
/** Under steady load rounds do not get shorter than this many rows. */
const ROUNDS_MAX = 12;
const FENCE_TRIES_MAX = 25;

/**
 * Carries a move on to its end.
 *
 * @throws {DomainError} request.invalid where the target cannot be used; internal where the copy differs, and the
 *   realm then works on in its old place
 */
export async function carryOn(options: MoveOptions, move: Move): Promise<MoveReport> {
  const { database } = options;
  const run: Run = {
    ...options,
    move,
    source: database.owner(move.source),
    target: database.owner(move.target),
    tables: [],
    rounds: 0,
  };
  try {
    await assertUsable(options, move, run);
    run.tables = await building(run.source, (sql) => selectTables(sql, move.source.schema));
    let pauseMs: number | null = null;
    if (move.step !== "switched") {
      if (move.step === "copying") await copy(run);
      pauseMs = await change(run);
    }
    return { pauseMs, rounds: run.rounds, head: await finish(run) };
  } finally {
    await Promise.all([run.source.sql.end({ timeout: 5 }), run.target.sql.end({ timeout: 5 })]);
  }
}

/** Fills the target, and lets it follow the source. */
async function copy(run: Run): Promise<void> {
  const { move, source, migrations } = run;
  const { schema } = move.source;
  await reach(run, "copying");
  for (const table of run.tables) {
    // Each in a transaction of its own: writers wait for a moment only.
    await insisting(() => locking(source, (tx) => installCapture(tx, schema, table)));
  }
  if (await targetState(run) !== "loaded") {
    await prepareTarget(run, migrations);
    await reach(run, "prepared");
    run.progress?.part("Copying", run.tables.reduce((sum, { bytes }) => sum + bytes, 0), "bytes");
    await round(run, { whole: true, then: "loaded" });
    await building(run.target, (sql) => analyzeTables(sql, schema, run.tables));
  }
  await reach(run, "loaded");
  run.progress?.part("Catching up");
  await catchUp(run);
  run.progress?.part("Comparing");
  await round(run, { compare: "all" });
  run.progress?.part("Auditing the copy", STEPS, "checks");
  const { mismatches } = await checkLedger(run.target, undefined, run.progress?.add);
  if (mismatches.length > 0) {
    const found = mismatches.map(({ code }) => code).join(", ");
    throw new DomainError("internal", `the copy does not pass the audit: ${found}`);
  }
  await reach(run, "compared");
  await catchUp(run);
}

async function catchUp(run: Run): Promise<void> {
  for (let tries = 0; tries < ROUNDS_MAX; tries++) {
    if (await round(run, {}) <= FEW) return;
  }
}

/** Stops the writes, brings the last ones over, and switches; gives the milliseconds in between. */
async function change(run: Run): Promise<number> {
  const { move, database } = run;
  run.progress?.part("Switching");
  await Promise.all([run.source, run.target].map(assertReachable)); // connected when the pause begins
  let begun = performance.now();
  await take(run, ["copying", "fencing", "fenced"], "fencing");
  try {
    await reach(run, "fencing");
    await insisting(() => {
      begun = performance.now();
      return locking(run.source, (tx) => raiseFence(tx, move.source, run.tables, move.runner));
    });
    await take(run, ["fencing"], "fenced");
    await reach(run, "fenced");
    await assertSameMigrations(run);
    const state = await targetState(run);
    if (state === "empty") throw new DomainError("internal", "the copy is gone: begin again");
    if (state === "loaded") await round(run, { compare: "small", then: "complete" });
    await reach(run, "complete");
  } catch (error) {
    await takeBack(run, error).catch(() => {}); // else the next call does
    throw error;
  }
  const pauseMs = Math.round(performance.now() - begun);
  const { place, encryptedUrl } = move.target;
  await locking(database.builder, async (tx) => {
    const change = { from: ["fenced"], to: "switched", pauseMs } as const;
    if (!await takeMoveStep(tx, move, change)) throw overtaken();
    const to = { place, database_url_encrypted: encryptedUrl };
    const realm = { id: move.realm, schema_version: run.migrations.realm.length };
    if (!await updatePlace(tx, realm, to)) throw overtaken();
  });
  await reach(run, "switched");
  return pauseMs;
}

/** A migration that ran meanwhile may have changed tables that the copy has in their old form. */
async function assertSameMigrations({ source, move, migrations }: Run): Promise<void> {
  const count = await building(source, (sql) => countMigrations(sql, move.source.schema));
  if (count === migrations.realm.length) return;
  throw new DomainError("internal", "the realm was migrated meanwhile: begin again");
}

/** Opens the old place again. The order matters: no run switches to the copy once the fence may be down. */
async function takeBack(run: Run, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  await take(run, ["fencing", "fenced"], "copying", message);
  await reopen(run);
}

async function reopen({ move, source, migrations, database, tables }: Run): Promise<void> {
  await locking(source, async (tx) => {
    if (!await lowerFence(tx, move.source.schema, tables, move.runner)) throw overtaken();
    await restateRights(tx, migrations, move.source, database.logins);
  });
}

/** Does what can wait until the realm works in its new place. */
async function finish(run: Run): Promise<string> {
  const { move, source, target, tables } = run;
  const { schema } = move.source;
  run.progress?.part("Checking");
  for (const key of await building(target, (sql) => selectUnchecked(sql, schema))) {
    await insisting(() =>
      building(target, (sql) =>
        sql.begin(async (tx) => {
          await allowCopying(tx);
          await checkKey(tx, schema, key);
        }))
    );
  }
  await locking(target, (tx) => markTarget(tx, schema, null));
  run.progress?.part("Auditing", STEPS, "checks");
  const { mismatches, head } = await checkLedger(target, undefined, run.progress?.add);
  await locking(source, async (tx) => {
    await revokeAll(tx, move.source); // a start may have stated them again meanwhile
    await removeCapture(tx, schema, tables);
  });
  await take(run, ["switched"], "done");
  if (mismatches.length > 0) {
    const found = mismatches.map(({ code }) => code).join(", ");
    throw new DomainError("internal", `the realm has moved, and does not pass the audit: ${found}`);
  }
  return head;
}

/** Takes a move back that was not switched: the realm works on where it was, and the copy is dropped. */
export async function cancel(options: MoveOptions, move: Move): Promise<void> {
  const { database } = options;
  const run: Run = {
    ...options,
    move,
    source: database.owner(move.source),
    target: database.owner(move.target),
    tables: [],
    rounds: 0,
  };
  try {
    run.tables = await building(run.source, (sql) => selectTables(sql, move.source.schema));
    await take(run, ["copying", "fencing", "fenced"], "copying");
    await reopen(run);
    await locking(run.source, (tx) => removeCapture(tx, move.source.schema, run.tables));
    await locking(run.target, async (tx) => {
      const { mark } = await inspectTarget(tx, move.target.schema);
      if (mark?.move === move.id) await dropRealmSchema(tx, { ...move.target, role: null });
    });
    await take(run, ["copying"], "canceled");
  } finally {
    await Promise.all([run.source.sql.end({ timeout: 5 }), run.target.sql.end({ timeout: 5 })]);
  }
}

/**
 * Drops the copy that a realm's last move has left behind.
 *
 * @throws {DomainError} request.invalid where there is none
 */
export async function dropOld(options: OrderOptions, realm: string): Promise<void> {
  const old = await findOld(options, realm);
  const source = options.database.owner(old);
  try {
    await locking(source, async (tx) => {
      // A schema without the fence is somebody's: nothing here can tell that it is a copy.
      if (!await isFenced(tx, old.schema)) {
        throw new DomainError("request.invalid", "the old place has no fenced copy of this realm");
      }
      await dropRealmSchema(tx, { ...old, role: null });
    });
  } finally {
    await source.sql.end({ timeout: 5 });
  }
}

/** Makes the target anew: empty, without triggers and foreign keys. */
async function prepareTarget(run: Run, migrations: Migrations): Promise<void> {
  const { move, target, database } = run;
  await target.sql.begin(async (tx) => {
    const { mark, occupied } = await inspectTarget(tx, move.target.schema);
    if (occupied && mark?.move !== move.id) throw overtaken();
    if (occupied) await dropRealmSchema(tx, { ...move.target, role: null });
    await createRealmSchema(tx, move.target, database.logins);
    await migrateRealm(tx, migrations, move.target);
    // Migrations have filled some tables.
    await bareTarget(tx, move.target.schema, await selectTables(tx, move.target.schema));
    await markTarget(tx, move.target.schema, { ...move, state: "empty" });
  });
}

/** Takes the target over from an earlier run; tells how far it is. */
async function targetState(run: Run): Promise<TargetState> {
  const { move, target, migrations } = run;
  return await locking(target, async (tx) => {
    const { mark, occupied } = await inspectTarget(tx, move.target.schema);
    if (!occupied || mark === null) return "empty";
    const count = await countMigrations(tx, move.target.schema);
    // One that was completed, and not switched to, has triggers; one of fewer migrations has other tables.
    const usable = mark.state === "loaded"
      ? count === migrations.realm.length
      : run.move.step === "fenced";
    const state = usable ? mark.state : "empty";
    await markTarget(tx, move.target.schema, { ...move, state });
    return state;
  });
}

/** Copies what has changed since the last round, or everything; gives the number of rows noted. */
async function round(
  run: Run,
  { then, ...how }: Pick<Round, "whole" | "compare"> & { then?: TargetState },
): Promise<number> {
  const { move, source, target, tables } = run;
  const { schema } = move.source;
  run.rounds++;
  return await building(
    source,
    (from) =>
      from.begin("isolation level repeatable read", async (reads) => {
        await allowCopying(reads);
        return await copyRound(
          { source: reads, schema, tables, onBytes: run.progress?.add, ...how },
          (work) =>
            building(target, (to) =>
              to.begin(async (writes) => {
                await allowCopying(writes);
                if (await lockTarget(writes, schema, move.runner) === null) throw overtaken();
                await work(writes);
                if (then === "complete") {
                  const both = { source: reads, target: writes, schema };
                  await copySequences(both);
                  await adoptTarget(both);
                  await completeTarget(both);
                }
                if (then !== undefined) await markTarget(writes, schema, { ...move, state: then });
              })),
        );
      }),
  ) as number;
}

async function take(
  { move, database }: Run,
  from: readonly MoveStep[],
  to: MoveStep,
  error: string | null = null,
): Promise<void> {
  const taken = await locking(
    database.builder,
    (tx) => takeMoveStep(tx, move, { from, to, error }),
  );
  if (!taken) throw overtaken();
  move.step = to;
}

async function reach({ onStep }: Run, step: string): Promise<void> {
  await onStep?.(step);
}

/** Repeats what waits for locks that are in use. */
async function insisting(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      await work();
      return;
    } catch (error) {
      if (tries >= FENCE_TRIES_MAX || !(isTimeout(error) || isContention(error))) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 100));
    }
  }
}

function overtaken(): DomainError {
  return new DomainError("request.invalid", "another run carries this move on");
}
