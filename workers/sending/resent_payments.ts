/**
 * The log of payments that are done, that the chain has lost, and that each pass sends again: one line for each answer of
 * nodes that is another than before.
 * @module
 */
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Broadcast } from "../chains/outgoing.ts";
import type { WorkerContext } from "../worker_context.ts";

/** Payments of which the last answer is kept; beyond that one may be logged again. */
const KEPT_MAX = 1_000;
/** The last answer to each, by its hash. */
const answered = new Map<string, string>();

/** Logs that a payment was sent again, unless nodes answered the same the last time. */
export function logResent(
  { log, actor }: WorkerContext,
  { chain, network }: NetworkKey,
  { order, hash }: { order: string; hash: string },
  { outcome, obstacle }: Pick<Broadcast, "outcome" | "obstacle">,
): void {
  const key = `${actor.realm.id} ${hash}`;
  const answer = `${outcome} ${obstacle}`;
  if (answered.get(key) === answer) return;
  if (answered.size >= KEPT_MAX) answered.clear();
  answered.set(key, answer);
  const told = { chain, network, order, hash, outcome, obstacle };
  log("warn", "a payment that is done, and that the chain has lost, is sent again", told);
}
