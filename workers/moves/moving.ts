/**
 * Moves a realm to another database while it is used. The rows are copied under a capture of changes, the
 * changes after them, round by round; then the old place is fenced, the last changes follow, and the directory
 * names the new place. Every step is recorded before it is taken, so the next call carries a move on that stopped.
 * All that takes as long as the realm is large runs before the fence or after the switch.
 * @module
 */
import type { Pool, Tx } from "../../db/database.ts";
import { codeOf, isUnanswered } from "../../db/errors.ts";
import {
  assertReachable,
  createRealmSchema,
  dropRealmSchema,
  enterSchema,
  migrateRealm,
} from "../../db/migrate.ts";
import { giveCutUp, selectPartBounds, shapeParts } from "../../db/ledger/parts.ts";
import {
  claimCapture,
  holdsCapture,
  installCapture,
  removeCapture,
  vacuumLogs,
} from "../../db/moves/capture.ts";
import { adoptFence, holdsFence, raiseFence, revokeAll } from "../../db/moves/fence.ts";
import {
  allowCopying,
  analyzeTables,
  countMigrations,
  selectTables,
} from "../../db/moves/tables.ts";
import {
  bareTarget,
  checkKey,
  inspectTarget,
  markTarget,
  selectMissingRules,
  selectUnchecked,
  type TargetState,
} from "../../db/moves/target.ts";
import { building, buildingIn, locking } from "../../db/transaction.ts";
import { checkLedger, STEPS } from "../../domain/audit/ledger_check.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Migrations } from "../../domain/realms/realms.ts";
import { findOld } from "./move_orders.ts";
import { assertUsable } from "./move_targets.ts";
import { type Move, type MoveOptions, type OrderOptions, overtaken } from "./move.ts";
import {
  assertSound,
  findTables,
  insisting,
  lockingAll,
  reach,
  round,
  type RoundReport,
  type Run,
  take,
  withRun,
} from "./run.ts";
import {
  assertNotLeft,
  assertNotOpened,
  assertSameMigrations,
  hasLeft,
  reopen,
  switchOver,
  takeBack,
} from "./switching.ts";

/** The result of a move. */
export interface MoveReport {
  /** Milliseconds in which the realm took no writes; null where an earlier run stopped them. */
  pauseMs: number | null;
  /** The work of the round in which the realm took none; null where an earlier run did it. */
  paused: RoundReport | null;
  rounds: number;
  /** The chain's last link, as `<seq>:<hash>`. */
  head: string;
  /** Whether the server that the realm has left did not answer any more: its copy there is not dropped by `--drop-old`. */
  isSourceLost: boolean;
}

/** A round that copied no more rows than this is followed by the switch. */
const FEW = 500;
/** Under steady load rounds do not get shorter than this many rows. */
const ROUNDS_MAX = 12;

/**
 * Carries a move on to its end.
 *
 * @throws {DomainError} request.invalid where the target cannot be used; internal where the copy differs, and the
 *   realm then works on in its old place
 */
export async function carryOn(options: MoveOptions, move: Move): Promise<MoveReport> {
  return await withRun(options, move, async (run) => {
    run.isSourceLost = move.step === "switched" && await isLost(run.source);
    if (!run.isSourceLost) await begin(run);
    const paused = move.step === "switched" ? {} : await leave(run);
    const head = await finish(run);
    const { rounds, isSourceLost } = run;
    return { pauseMs: null, paused: null, ...paused, rounds, head, isSourceLost };
  });
}

/** Whether no server answers there. */
async function isLost(pool: Pool): Promise<boolean> {
  try {
    await assertReachable(pool);
    return false;
  } catch (error) {
    return isUnanswered(error);
  }
}

async function begin(run: Run): Promise<void> {
  const { move } = run;
  await assertReachable(run.source);
  const isLeft = await hasLeft(run);
  if (!isLeft) await assertUsable(run, move, run);
  await findTables(run);
  if (isLeft || move.step !== "copying") await takeOver(run);
}

/** Brings the realm to its new place, as far as it is not there. */
async function leave(run: Run): Promise<Partial<MoveReport>> {
  const { move } = run;
  if (await hasLeft(run)) {
    // The directory may have lost the step that it had.
    if (move.step !== "fenced") await take(run, ["copying", "fencing"], "fenced");
    await switchOver(run, null);
    return {};
  }
  if (move.step !== "copying") {
    if (move.step === "fenced" && await targetState(run) === "complete") {
      await switchOver(run, null);
      return {};
    }
    await assertNotOpened(run);
    // An earlier run has ended under the fence: the realm works again while the copy catches up.
    await takeBack(run, null);
  }
  await copy(run);
  return await change(run);
}

/** Keeps other runs from taking over what is noted until the transaction ends. @throws {DomainError} where one has */
async function assertNoting(tx: Tx, { move: { source, runner } }: Run): Promise<void> {
  if (!await holdsCapture(tx, { schema: source.schema, runner, lock: true })) throw overtaken();
}

/** Makes the notes this run's, and the fence where an earlier one has raised it: none raises it afterwards. */
async function takeOver({ move, source }: Run): Promise<void> {
  const { runner, source: { schema } } = move;
  await lockingAll(source, (tx) => claimCapture(tx, schema, runner));
  await lockingAll(source, (tx) => adoptFence(tx, schema, runner));
}

/** Fills the target, and lets it follow the source. */
async function copy(run: Run): Promise<void> {
  const { move, source, migrations } = run;
  const { schema } = move.source;
  await reach(run, "copying");
  // A run that slept since its order must not take over what another move notes here.
  await take(run, ["copying"], "copying");
  await takeOver(run);
  await assertNotLeft(run); // nor does any other run leave it now
  await assertNotOpened(run);
  for (const table of run.tables) {
    // Each in a transaction of its own: writers wait for a moment only.
    await insisting(() =>
      locking(source, async (tx) => {
        await assertNoting(tx, run);
        await installCapture(tx, schema, table);
      })
    );
  }
  await lockingAll(source, (tx) => giveCutUp(tx, schema));
  await reach(run, "noting");
  await take(run, ["copying"], "copying");
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
  await round(run, { compare: true });
  run.progress?.part("Auditing the copy", STEPS, "checks");
  const { mismatches, ends } = await checkLedger(run.target, undefined, run.progress?.add);
  assertSound(mismatches, "the copy does not pass the audit");
  run.ends = ends;
  await reach(run, "compared");
  await catchUp(run);
}

async function catchUp(run: Run): Promise<void> {
  const { schema } = run.move.source;
  for (let tries = 0; tries < ROUNDS_MAX; tries++) {
    const { noted } = await round(run, {});
    await building(run.source, (sql) => vacuumLogs(sql, schema, run.tables));
    if (noted <= FEW) return;
  }
}

/** Stops the writes, brings the last ones over, and switches. */
async function change(run: Run): Promise<Pick<MoveReport, "pauseMs" | "paused">> {
  const { move, source, target } = run;
  const { schema } = move.source;
  run.progress?.part("Switching");
  // What is known before costs no time under the fence; this also connects.
  const rules = await selectMissingRules({ source: source.sql, target: target.sql, schema });
  let begun = performance.now();
  await take(run, ["copying"], "fencing");
  try {
    await reach(run, "fencing");
    await insisting(() => {
      begun = performance.now();
      return locking(source, async (tx) => {
        await assertNoting(tx, run); // another run may have taken the move back, or ended it
        await raiseFence(tx, move.source, run.tables, move.runner);
      });
    });
    await take(run, ["fencing"], "fenced");
    await reach(run, "fenced");
    await assertSameMigrations(run);
    const paused = await round(run, { last: true, then: "complete", rules });
    await reach(run, "complete");
    return { pauseMs: await switchOver(run, begun), paused };
  } catch (error) {
    if (move.step !== "switched") await takeBack(run, error).catch(() => {}); // else the next call does
    throw error;
  }
}

/** Does what can wait until the realm works in its new place. */
async function finish(run: Run): Promise<string> {
  const { target } = run;
  const { schema } = run.move.source;
  run.progress?.part("Checking");
  for (const key of await building(target, (sql) => selectUnchecked(sql, schema))) {
    await insisting(() =>
      buildingIn(target, async (tx) => {
        await allowCopying(tx);
        await checkKey(tx, schema, key);
      })
    );
  }
  await locking(target, (tx) => markTarget(tx, schema, null));
  run.progress?.part("Auditing", STEPS, "checks");
  const { mismatches, head } = await checkLedger(target, undefined, run.progress?.add);
  await reach(run, "leaving");
  if (!run.isSourceLost) await leaveSource(run);
  await take(run, ["switched"], "done");
  assertSound(mismatches, "the realm has moved, and does not pass the audit");
  return head;
}

async function leaveSource({ move, source, tables }: Run): Promise<void> {
  const { schema } = move.source;
  await lockingAll(source, async (tx) => {
    // Since this run slept the realm may have been moved, or restored, to where it was.
    if (!await holdsFence(tx, schema, move.runner)) throw overtaken();
    await revokeAll(tx, move.source); // a start may have stated them again meanwhile
    await removeCapture(tx, schema, tables);
  });
}

/**
 * Takes a move back that was not switched: the realm works on where it was, and the copy is dropped.
 *
 * @returns the code of the error with which the target could not be reached, so that the copy stays there; null where it
 *   is dropped
 */
export async function cancel(options: MoveOptions, move: Move): Promise<string | null> {
  return await withRun(options, move, async (run) => {
    const { source } = run;
    const { schema } = move.source;
    await findTables(run);
    await takeOver(run);
    await assertNotLeft(run);
    if (await refusalOf(run.target) === null) await assertNotOpened(run);
    await take(run, ["copying", "fencing", "fenced"], "copying");
    await reopen(run);
    await lockingAll(source, (tx) => removeCapture(tx, schema, run.tables));
    const left = await dropCopy(run);
    await take(run, ["copying"], "canceled");
    return left;
  });
}

/** The code of the error with which a database cannot be reached; null where it can. */
async function refusalOf(pool: Pool): Promise<string | null> {
  try {
    await assertReachable(pool);
    return null;
  } catch (error) {
    const code = codeOf(error);
    if (code === null) throw error;
    return code;
  }
}

/** Drops the copy in the target. One that is lost must not keep the realm from ever moving elsewhere. */
async function dropCopy({ move, target }: Run): Promise<string | null> {
  const code = await refusalOf(target);
  if (code !== null) return code;
  await locking(target, async (tx) => {
    const { mark } = await inspectTarget(tx, move.target.schema);
    if (mark?.move === move.id) await dropRealmSchema(tx, { ...move.target, role: null });
  });
  return null;
}

/**
 * Drops the copy that a realm's last move has left behind.
 *
 * @throws {DomainError} request.invalid where there is none
 */
export async function dropOld(options: OrderOptions, realm: string): Promise<void> {
  const { source: old, runner } = await findOld(options, realm);
  const source = options.database.owner(old);
  try {
    await locking(source, async (tx) => {
      // A schema without the fence of that very move is somebody's: another one may have brought the realm back here.
      if (!await holdsFence(tx, old.schema, runner)) {
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
  const { move, source, target, database } = run;
  const bounds = await locking(source, async (tx) => {
    await enterSchema(tx, move.source.schema);
    return await selectPartBounds(tx);
  });
  await buildingIn(target, async (tx) => {
    const { mark, occupied } = await inspectTarget(tx, move.target.schema);
    if (occupied && mark?.move !== move.id) throw overtaken();
    if (occupied) await dropRealmSchema(tx, { ...move.target, role: null });
    await createRealmSchema(tx, move.target, database.logins);
    await migrateRealm(tx, migrations, move.target);
    await enterSchema(tx, move.target.schema);
    await shapeParts(tx, bounds); // the source's stay while its changes are captured
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
