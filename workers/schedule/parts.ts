/** Cuts the parts of a realm's transactions and entries when the newest has become large. @module */
import type { Pool } from "../../db/database.ts";
import {
  analyzeParts,
  attachParts,
  boundParts,
  inStep,
  PARTED,
  selectPartsState,
  unboundParts,
  validatePart,
} from "../../db/ledger/parts.ts";
import { isTimeout } from "../../db/errors.ts";
import { reading } from "../../db/transaction.ts";
import { idFrom } from "../../domain/ids.ts";
import type { WorkerContext } from "../worker_context.ts";

const DAY_MS = 86_400_000;
/** A cut is prepared at least so long before its time comes, and given up if it is not done by then. */
const AHEAD_MIN_MS = DAY_MS;
const GIVEN_UP_MS = DAY_MS / 2;

/** When parts are cut. */
export interface CutOptions {
  /** Rows of transactions from which on the newest part is ended. */
  rowsMax: number;
  /** Gives the time of the cut that is prepared at a time; both in milliseconds. */
  boundAfter?: (now: number) => number;
  /** How long before its time a cut that is not done is given up, in milliseconds. */
  givenUpMs?: number;
  /** Told of each step that is done; a test ends the work there. */
  onStep?: (step: string) => void;
}

/**
 * Carries the cut of the newest part on as far as it goes, or begins one. Whatever step was the last of an earlier
 * process, the next call goes on behind it.
 */
export async function cutParts(
  { pool, log }: Pick<WorkerContext, "pool" | "log">,
  { rowsMax, boundAfter = nextBound, givenUpMs = GIVEN_UP_MS, onStep = () => {} }: CutOptions,
): Promise<void> {
  const state = await reading(pool, selectPartsState);
  if (state.stale) await refreshFigures(pool);
  if (state.bound !== null && state.bound - state.at < givenUpMs) {
    return await giveUp(pool, log, new Date(state.bound).toISOString());
  }
  if (state.moving || (state.bound === null && state.rows < rowsMax)) return;
  try {
    if (state.bound === null) {
      await inStep(pool, (tx) => boundParts(tx, idFrom(boundAfter(state.at))));
      onStep("bound");
    }
    if (!state.validated) {
      for (const table of PARTED) {
        await inStep(pool, (tx) => validatePart(tx, table));
        onStep(`validated ${table}`);
      }
    }
    await inStep(pool, attachParts);
    onStep("attached");
  } catch (error) {
    // Readers of long standing have the tables: the next round tries again.
    if (!isTimeout(error)) throw error;
    log("info", "a cut of the ledger's parts waits for other transactions");
    return;
  }
  await refreshFigures(pool);
  log("info", "the newest parts of transactions and entries were ended, and others begun");
}

/** Takes the demand of a cut back: from the bound on it would refuse postings. */
async function giveUp(pool: Pool, log: WorkerContext["log"], bound: string): Promise<void> {
  try {
    await inStep(pool, unboundParts);
    log("warn", "a cut of the ledger's parts was given up: it was not done in time");
  } catch (error) {
    if (!isTimeout(error)) throw error;
    const message =
      "a cut of the ledger's parts waits for other transactions, and refuses postings from its bound on";
    log("error", message, { bound });
  }
}

/** Vacuum may have a part just now: the figures are taken later then. */
async function refreshFigures(pool: Pool): Promise<void> {
  await inStep(pool, analyzeParts).catch((error) => {
    if (!isTimeout(error)) throw error;
  });
}

/** The first midnight, UTC, that is at least a day away. */
export function nextBound(now: number): number {
  return Math.ceil((now + AHEAD_MIN_MS) / DAY_MS) * DAY_MS;
}
