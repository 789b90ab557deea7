/** The end of stored answers after their time: row by row, or in a large realm as a whole generation. @module */
import type { Pool } from "../../db/database.ts";
import { codeOf, isContention } from "../../db/errors.ts";
import { type Renewal, renewAnswers, selectKeptSizes } from "../../db/kept_answers.ts";
import { building, reading } from "../../db/transaction.ts";
import { sleep } from "../timers.ts";

/** A try waits for locks for moments only, because postings wait behind it. */
const TRIES_MAX = 25;
const PAUSE_MAX_MS = 400;
/** The server's code for a lock that was not had in time. */
const LOCK_NOT_HAD = "55P03";

/** How the old answers of a realm are ended. */
export interface AnswersEnd {
  /** What a new generation did; null: none began. */
  renewal: Renewal;
  /** Whether the current answers are so few that the old ones are deleted row by row. */
  byRow: boolean;
}

/**
 * Begins a new generation of answers, where the current one has about so many rows, and all of the one before are past
 * their time. An earlier generation past its time is emptied in any case.
 *
 * @throws {Error} where the locks were not had in many tries
 */
export async function renewOldAnswers(
  pool: Pool,
  rows: number,
  signal: AbortSignal,
): Promise<AnswersEnd> {
  const sizes = await reading(pool, selectKeptSizes);
  const byRow = sizes.rows < rows;
  if (byRow && !sizes.isEarlierKept) return { renewal: null, byRow };
  for (let tries = 1;; tries++) {
    try {
      return { renewal: await building(pool, (sql) => renewAnswers(pool, sql, rows)), byRow };
    } catch (error) {
      if (
        signal.aborted || tries >= TRIES_MAX ||
        !(codeOf(error) === LOCK_NOT_HAD || isContention(error))
      ) {
        throw error;
      }
      await sleep(Math.random() * PAUSE_MAX_MS, signal);
    }
  }
}
