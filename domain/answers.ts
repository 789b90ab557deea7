/**
 * The greatest size of an answer that lists entities: each may hold several free-form objects of 64
 * KiB. @module
 */
import { jsonBound, jsonLength } from "./entity.ts";
import { DomainError } from "./errors.ts";

/** Greatest size of a list, about. */
const ANSWER_MAX = 8 * 1024 * 1024;
/** Lists of so few rows are shown without measuring them. */
const ROWS_FEW = 10;

/**
 * Measures a list while it is built; the function returned tells whether a further row has room.
 */
export function openAnswer(): (view: unknown) => boolean {
  let size = 0; // of the views that were measured
  let bound = 0; // at least the size of all
  let unmeasured: unknown[] = [];
  return (view) => {
    bound += jsonBound(view);
    unmeasured.push(view);
    if (bound <= ANSWER_MAX) return true;
    for (const one of unmeasured) {
      if (size <= ANSWER_MAX) size += jsonLength(one, ANSWER_MAX - size);
    }
    unmeasured = [];
    bound = size;
    return size <= ANSWER_MAX;
  };
}

/**
 * Returns a list, unless it is too large for an answer.
 *
 * @throws {DomainError} query.invalid
 */
export function answerable<T>(views: T[], hasRoom = openAnswer()): T[] {
  if (views.length <= ROWS_FEW || views.every(hasRoom)) return views;
  const message = "the answer is larger than 8 MiB: ask for fewer rows, or for some fields of them";
  throw new DomainError("query.invalid", message);
}
