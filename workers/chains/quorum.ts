/**
 * Quorum: a fact that moves money is believed only if as many of the configured nodes as the quorum give
 * the same answer. Nodes that do not answer, or lag behind, abstain; nodes that contradict are reported.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { Balances } from "./observations.ts";

/** A node, as far as its name tells it apart. */
export interface Witness {
  /** Host and port. */
  readonly name: string;
}

/** The answer of one node. */
export interface Heard<T> {
  /** Who answered. */
  readonly peer: Witness;
  /** What it said. */
  readonly answer: T;
}

/** The answers of several nodes, and why others gave none. */
export interface Hearing<T> {
  /** In the order in which they came. */
  readonly heard: readonly Heard<T>[];
  /** One for each node that gave no answer. */
  readonly failures: readonly unknown[];
  /** Nodes whose answer was no longer waited for. */
  readonly late: readonly Witness[];
}

/** Tells whether answers suffice; then further ones are not waited for. */
export type Enough<T> = (heard: readonly Heard<T>[]) => boolean;

/**
 * Milliseconds at least that slower nodes are waited for once enough have answered, and how many times
 * as long as those took.
 */
const GRACE_MS = 1_000;
const GRACE_TIMES = 2;

/**
 * Asks nodes at once, and waits until all have answered or failed, or until enough have answered and
 * the others had some time more.
 *
 * @param atMostMs the others are not waited for beyond this time, whatever was answered
 */
export async function hearAll<T, Peer extends Witness>(
  peers: readonly Peer[],
  work: (peer: Peer) => Promise<T>,
  enough: Enough<T>,
  atMostMs: number | null = null,
): Promise<Hearing<T>> {
  const round = openRound(work);
  for (const peer of peers) round.ask(peer);
  await round.until(enough, atMostMs);
  return round.end();
}

/**
 * Asks as many nodes as the quorum, the first ones first, and further ones while some fail, those that
 * answered do not say the same, or one takes much longer than another.
 */
export async function hearFew<T, Peer extends Witness>(
  peers: readonly Peer[],
  work: (peer: Peer) => Promise<T>,
  { quorum, nextNodeAfterMs, isClear }: {
    readonly quorum: number;
    /** How long some are waited for before others are asked. */
    readonly nextNodeAfterMs: number;
    readonly isClear: Enough<T>;
  },
): Promise<Hearing<T>> {
  const round = openRound(work);
  const suffices: Enough<T> = (heard) => heard.length >= quorum && isClear(heard);
  for (let next = 0; next < peers.length;) {
    const told = round.heard.length;
    const lacking = told < quorum ? quorum - told : peers.length;
    for (const peer of peers.slice(next, next + lacking)) round.ask(peer);
    next += lacking;
    // While others are left to be asked, one that has answered is reason to wait no longer.
    const left = next < peers.length;
    await round.until(
      (heard) => suffices(heard) || (left && heard.length > told),
      left ? nextNodeAfterMs : null,
    );
    if (suffices(round.heard)) break;
  }
  return round.end();
}

/** Questions to nodes that are under way. */
interface Round<T, Peer> {
  /** The answers so far. */
  readonly heard: readonly Heard<T>[];
  /** Asks one more. */
  ask(peer: Peer): void;
  /** Waits until all have answered or failed, or until enough have and the others had their time. */
  until(enough: Enough<T>, atMostMs?: number | null): Promise<void>;
  /** Gives what came; what comes later is dropped. */
  end(): Hearing<T>;
}

function openRound<T, Peer extends Witness>(work: (peer: Peer) => Promise<T>): Round<T, Peer> {
  const heard: Heard<T>[] = [];
  const failures: unknown[] = [];
  const owing = new Set<Peer>();
  let changed = Promise.withResolvers<void>();
  function answered(peer: Peer): void {
    owing.delete(peer);
    changed.resolve();
    changed = Promise.withResolvers();
  }
  async function until(enough: Enough<T>, atMostMs: number | null = null): Promise<void> {
    const since = performance.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let grace = false;
    const over = Promise.withResolvers<"over">();
    const wait = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(over.resolve, ms, "over");
    };
    if (atMostMs !== null) wait(atMostMs);
    try {
      while (owing.size > 0) {
        if (!grace && enough(heard)) {
          grace = true;
          wait(Math.max(GRACE_MS, GRACE_TIMES * (performance.now() - since)));
        }
        if (await Promise.race([changed.promise, over.promise]) === "over") return;
      }
    } finally {
      clearTimeout(timer);
    }
  }
  return {
    heard,
    ask(peer) {
      owing.add(peer);
      work(peer).then((answer) => {
        heard.push({ peer, answer });
        answered(peer);
      }, (error) => {
        failures.push(error);
        answered(peer);
      });
    },
    until,
    end: () => ({ heard: [...heard], failures: [...failures], late: [...owing] }),
  };
}

/** Groups answers that say the same, the largest group first. */
export function groupsOf<T>(
  heard: readonly Heard<T>[],
  keyOf: (answer: T) => string,
): (readonly Heard<T>[])[] {
  const groups = new Map<string, Heard<T>[]>();
  for (const one of heard) {
    const key = keyOf(one.answer);
    groups.set(key, [...groups.get(key) ?? [], one]);
  }
  return [...groups.values()].toSorted((one, other) => other.length - one.length);
}

/** Gives the group that has the quorum and more members than any other; null if there is none. */
export function agreedGroupOf<T>(
  groups: readonly (readonly Heard<T>[])[],
  quorum: number,
): readonly Heard<T>[] | null {
  const [first, second] = groups;
  if (first === undefined || first.length < quorum) return null;
  return second !== undefined && second.length === first.length ? null : first;
}

/** Gives the height, count or price that as many nodes as the quorum have reached. */
export function reachedBy<Figure extends number | bigint>(
  figures: readonly Figure[],
  quorum: number,
): Figure {
  const sorted = figures.toSorted((one, other) => one < other ? 1 : one > other ? -1 : 0);
  return sorted[Math.min(quorum, sorted.length) - 1];
}

/**
 * Gives what as many nodes as the quorum say is held at least, and the newest block at which so many of
 * those that say so stand: a node that is far behind holds back nothing that the others tell.
 */
export function heldAtLeast(told: readonly Balances[], quorum: number): Balances {
  const amounts = told[0].amounts.map((_, at) =>
    reachedBy(told.map((one) => one.amounts[at]), quorum)
  );
  const heights = amounts.map((least, at) => {
    const holding = told.filter((one) => one.amounts[at] >= least);
    return reachedBy(holding.map(({ height }) => height), quorum);
  });
  return { height: Math.min(...heights), amounts };
}

/** Tells that too few nodes confirm something. */
export function unconfirmed(
  count: { readonly confirm: number; readonly nodes: number; readonly quorum: number },
  what: string,
  failures: readonly unknown[],
): ChainError {
  const said = failures.map((error) => error instanceof Error ? error.message : String(error));
  const why = said.length === 0 ? "" : `: ${said.join("; ")}`;
  return new ChainError(
    "unavailable",
    `${count.confirm} of ${count.nodes} nodes confirm ${what}, ${count.quorum} must${why}`,
  );
}
