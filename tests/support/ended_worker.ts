/** Workers that end in the middle of their work. @module */
import { rejects } from "node:assert/strict";
import type { Checkpoint, OnCheckpoint } from "../../workers/sending/order_work.ts";

/** Has a worker begin, and ends it at a checkpoint, which it must reach. */
export async function endAt(
  step: Checkpoint,
  work: (onCheckpoint: OnCheckpoint) => Promise<unknown>,
): Promise<void> {
  const ended = work((passed) => {
    if (passed === step) throw new Error("the worker ended");
  });
  await rejects(ended, /the worker ended/);
}
