/**
 * What is logged of networks that cannot be scanned, and of tokens that tell no balances. A node that stays away fails each
 * poll, every few seconds: its failure is logged at once, when it changes, and after ever longer pauses; and once when the
 * network is scanned again.
 * @module
 */
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { ChainError } from "../chains/chain.ts";
import type { WorkerContext } from "../worker_context.ts";

/** The pause before an unchanged failure is logged for the second time; each next is twice as long. */
const PAUSE_MIN_MS = 60_000;
const PAUSE_MAX_MS = 3_600_000;

/** The failures of a network in a row. */
interface Failing {
  /** Without its numbers, such as heights, which differ each time. */
  text: string;
  since: number;
  polls: number;
  pauseMs: number;
  logAt: number;
}

/** What says where a network is scanned. */
export type Scanning = Pick<WorkerContext, "chains" | "realm" | "actor" | "log">;

const failing = new WeakMap<object, Map<string, Failing>>();

function keyOf({ realm }: Scanning, { chain, network }: ChainNetwork): string {
  return `${realm.id} ${chain} ${network}`;
}

/** Logs that a network could not be scanned, unless that was logged a while ago. */
export function logFailure(context: Scanning, place: ChainNetwork, error: Error): void {
  const { chains, actor: { at }, log } = context;
  const known = failing.get(chains) ?? new Map<string, Failing>();
  failing.set(chains, known);
  const text = error.message.replaceAll(/\d+/g, "#");
  const before = known.get(keyOf(context, place));
  const isNew = before?.text !== text;
  const now = before === undefined || isNew
    ? {
      text,
      since: before?.since ?? at,
      polls: before?.polls ?? 0,
      pauseMs: PAUSE_MIN_MS,
      logAt: at,
    }
    : before;
  known.set(keyOf(context, place), now);
  now.polls++;
  if (at < now.logAt) return;
  now.logAt = at + now.pauseMs;
  now.pauseMs = Math.min(PAUSE_MAX_MS, now.pauseMs * 2);
  const fields = { chain: place.chain, network: place.network, error };
  log("warn", "a chain cannot be scanned", { ...fields, polls: now.polls, since: now.since });
}

/** Logs that a network is scanned again, if it failed before. */
export function logRecovery(context: Scanning, place: ChainNetwork): void {
  const known = failing.get(context.chains);
  const before = known?.get(keyOf(context, place));
  if (before === undefined) return;
  known!.delete(keyOf(context, place));
  const { chain, network } = place;
  const { polls, since } = before;
  context.log("info", "a chain is scanned again", { chain, network, polls, since });
}

/** A token of the realm whose contract told no balance. */
export interface SilentToken {
  symbol: string;
  error: ChainError;
}

/** When silent tokens of a network were last logged, and how long none is from then on. */
interface Silence {
  at: number;
  pauseMs: number;
}

const silences = new WeakMap<object, Map<string, Silence>>();

/**
 * Logs that contracts of a network tell no balances, by one line for all, unless that was logged a while ago. Strangers wrote
 * them: which of them answer may change with each block.
 */
export function logSilentTokens(
  context: Scanning,
  place: ChainNetwork,
  silent: readonly SilentToken[],
): void {
  if (silent.length === 0) return;
  const { chains, actor: { at }, log } = context;
  const known = silences.get(chains) ?? new Map<string, Silence>();
  silences.set(chains, known);
  const before = known.get(keyOf(context, place));
  if (before !== undefined && at < before.at + before.pauseMs) return;
  const isLong = before !== undefined && at < before.at + 2 * PAUSE_MAX_MS;
  const pauseMs = isLong ? Math.min(PAUSE_MAX_MS, before.pauseMs * 2) : PAUSE_MIN_MS;
  known.set(keyOf(context, place), { at, pauseMs });
  const [{ symbol, error }] = silent;
  const fields = { chain: place.chain, network: place.network, symbol, error };
  log("warn", "token contracts give no balance", { ...fields, tokens: silent.length });
}
