/** A run that carries a move on: its connections, the steps that it records, and its rounds. @module */
import type { Pool, Tx } from "../../db/database.ts";
import { isContention, isTimeout } from "../../db/errors.ts";
import { allowCopying, countReads, selectTables, type TableShape } from "../../db/moves/tables.ts";
import {
  adoptTarget,
  completeTarget,
  copySequences,
  lockTarget,
  markTarget,
  type TargetState,
} from "../../db/moves/target.ts";
import { type MoveStep, takeMoveStep } from "../../db/realms/moves.ts";
import { building, buildingIn, locking } from "../../db/transaction.ts";
import { type ChainEnds, checkAdded, type Mismatch } from "../../domain/audit/ledger_check.ts";
import { DomainError } from "../../domain/errors.ts";
import { type Move, type MoveOptions, overtaken } from "./move.ts";
import { copyRound, type Round } from "./rounds.ts";

/** State of a run. */
export interface Run extends MoveOptions {
  move: Move;
  /** Connections with all rights, one to each database. */
  source: Pool;
  target: Pool;
  /** Whether the server that the realm has left is gone. */
  isSourceLost: boolean;
  tables: TableShape[];
  rounds: number;
  /** How far the chains of the copy were recomputed; null before its audit. */
  ends: ChainEnds | null;
}

/** The work of a round. */
export interface RoundReport {
  /** Changed rows that were noted, roughly. */
  noted: number;
  /** Rows that were read for it, on both sides together. */
  read: number;
}

const TRIES_MAX = 25;

/** Runs work with connections to both places of a move. */
export async function withRun<T>(
  options: MoveOptions,
  move: Move,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  const { database } = options;
  const [source, target] = [database.owner(move.source), database.owner(move.target)];
  try {
    const begun = { isSourceLost: false, tables: [], rounds: 0, ends: null };
    return await work({ ...options, move, source, target, ...begun });
  } finally {
    await Promise.all([source, target].map(({ sql }) => sql.end({ timeout: 5 })));
  }
}

/** Reads the tables that move. */
export async function findTables(run: Run): Promise<void> {
  run.tables = await building(run.source, (sql) => selectTables(sql, run.move.source.schema));
}

/**
 * Records a step, if this run still carries the move on.
 *
 * @throws {DomainError} request.invalid
 */
export async function take(
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

/** Tells of a step. */
export async function reach({ onStep }: Run, step: string): Promise<void> {
  await onStep?.(step);
}

/** Repeats what waits for locks that are in use. */
export async function insisting(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      await work();
      return;
    } catch (error) {
      if (tries >= TRIES_MAX || !(isTimeout(error) || isContention(error))) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 100));
    }
  }
}

/** Takes locks of many tables, and again where others have them, or wait for each other in another order. */
export async function lockingAll(pool: Pool, work: (tx: Tx) => Promise<void>): Promise<void> {
  await insisting(() => locking(pool, work));
}

/** Copies what has changed since the last round, or everything, and recomputes what was added to the chains. */
export async function round(
  run: Run,
  { then, rules, ...how }: Pick<Round, "whole" | "compare" | "last"> & {
    /** The state of the target afterwards, where it is another. */
    then?: TargetState;
    /** Gives a target that becomes complete its triggers and foreign keys. */
    rules?: string;
  },
): Promise<RoundReport> {
  const { move, source, target, tables } = run;
  const { schema } = move.source;
  run.rounds++;
  let read = 0;
  const finish = async (reads: Tx, writes: Tx) => {
    if (run.ends !== null) run.ends = await recomputeAdded(writes, run.ends);
    if (rules !== undefined) {
      const both = { source: reads, target: writes, schema };
      await copySequences(both);
      await adoptTarget(both);
      await completeTarget(writes, rules);
    }
    if (then !== undefined) await markTarget(writes, schema, { ...move, state: then });
  };
  const noted = await buildingIn(source, async (reads) => {
    await allowCopying(reads);
    return await copyRound(
      {
        ...{ source: reads, schema, runner: move.runner, tables },
        ...{ onBytes: run.progress?.add, ...how },
      },
      (work) =>
        buildingIn(target, async (writes) => {
          await allowCopying(writes);
          if (await lockTarget(writes, schema, move.runner) === null) throw overtaken();
          const count = () => countBoth(reads, writes, schema);
          const before = await count();
          await work(writes);
          await finish(reads, writes);
          read = await count() - before;
        }),
    );
  }, "repeatable read");
  return { noted, read };
}

async function countBoth(source: Tx, target: Tx, schema: string): Promise<number> {
  const counts = await Promise.all([source, target].map((tx) => countReads(tx, schema)));
  return counts[0] + counts[1];
}

async function recomputeAdded(tx: Tx, from: ChainEnds): Promise<ChainEnds> {
  const { ends, mismatches } = await checkAdded(tx, from);
  assertSound(mismatches, "the copy does not pass the audit");
  return ends;
}

/** Refuses to go on where an audit found something. @throws {DomainError} internal */
export function assertSound(mismatches: readonly Mismatch[], message: string): void {
  if (mismatches.length === 0) return;
  throw new DomainError("internal", `${message}: ${mismatches.map(({ code }) => code).join(", ")}`);
}
