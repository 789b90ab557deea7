/**
 * Quorum: a fact that moves money is believed only if as many of the configured nodes as the quorum give
 * the same answer. Nodes that do not answer, or lag behind, abstain; nodes that contradict are reported.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { Balances } from "./observations.ts";

/** A node, identified by its name. */
export interface Witness {
  /** Host and port. */
  readonly name: string;
}

/** The answer of one node. */
export interface Heard<T> {
  /** The node. */
  readonly peer: Witness;
  /** Its answer. */
  readonly answer: T;
}

/** The answers of several nodes, and the errors of the others. */
export interface Hearing<T> {
  /** In the order in which they came. */
  readonly heard: readonly Heard<T>[];
  /** One for each node that gave no answer. */
  readonly failures: readonly unknown[];
  /** Nodes that had not answered when waiting ended. */
  readonly late: readonly Witness[];
}

/** Tells whether the answers suffice; then the pool waits for no further ones. */
export type Enough<T> = (heard: readonly Heard<T>[]) => boolean;

/**
 * Least milliseconds to wait for slower nodes once enough have answered, and a factor on the time
 * that those took.
 */
const GRACE_MS = 1_000;
const GRACE_TIMES = 2;

/**
 * Asks nodes at once, and waits until all have answered or failed, or until enough have answered and
 * the rest had their extra time.
 *
 * @param atMostMs the longest wait for the rest, whatever was answered
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
 * Asks as many nodes as the quorum, in order of preference, and further ones while some fail, the
 * answers differ, or one takes much longer than another.
 */
export async function hearFew<T, Peer extends Witness>(
  peers: readonly Peer[],
  work: (peer: Peer) => Promise<T>,
  { quorum, nextNodeAfterMs, isClear }: {
    readonly quorum: number;
    /** Milliseconds to wait for some before others are asked. */
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
    // While further nodes can be asked, one answer is reason enough to stop waiting.
    const left = next < peers.length;
    await round.until(
      (heard) => suffices(heard) || (left && heard.length > told),
      left ? nextNodeAfterMs : null,
    );
    if (suffices(round.heard)) break;
  }
  return round.end();
}

/** Questions under way to several nodes. */
interface Round<T, Peer> {
  /** The answers so far. */
  readonly heard: readonly Heard<T>[];
  /** Asks one more node. */
  ask(peer: Peer): void;
  /** Waits until all have answered or failed, or until enough have and the rest had their extra time. */
  until(enough: Enough<T>, atMostMs?: number | null): Promise<void>;
  /** Gives the answers so far; later ones are dropped. */
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

/** Groups equal answers, the largest group first. */
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

/** Gives the largest height, count or price that as many nodes as the quorum have reached. */
export function reachedBy<Figure extends number | bigint>(
  figures: readonly Figure[],
  quorum: number,
): Figure {
  const sorted = figures.toSorted((one, other) => one < other ? 1 : one > other ? -1 : 0);
  return sorted[Math.min(quorum, sorted.length) - 1];
}

/**
 * Whether the figure that as many nodes as the quorum have reached is near what the nodes tell: no more of them are far
 * beyond it than need not agree. Of two nodes one that tells a figure of long ago would else decide alone, because the
 * other has reached that too.
 *
 * @param apart how far figures of nodes that follow the same chain lie apart at most
 */
export function isReachedBy(figures: readonly number[], quorum: number, apart: number): boolean {
  if (figures.length < quorum) return false;
  const reached = reachedBy(figures, quorum);
  return figures.filter((one) => one - reached > apart).length <= figures.length - quorum;
}

/**
 * Whether more nodes than need not agree tell far more than the price that as many as the quorum have reached: of two
 * nodes one that tells too little would else decide alone. Where fewer do, that price is one that others bear out.
 *
 * @param times how many times as much prices of nodes that follow the same chain are at most
 */
export function areApart(prices: readonly bigint[], quorum: number, times: bigint): boolean {
  const reached = reachedBy(prices, quorum);
  return prices.filter((one) => one > times * reached).length > prices.length - quorum;
}

/**
 * Gives the amounts that as many nodes as the quorum confirm at least, and the newest block that so
 * many of these nodes have reached: a node that is far behind does not hold back the others' answers.
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

/** Makes the error for nodes whose newest blocks lie far apart, and reports them. */
export function farApart(
  nodes: { report(what: string): void },
  heard: readonly Heard<unknown>[],
): ChainError {
  const names = heard.map(({ peer }) => peer.name).join(", ");
  const why = `the newest blocks of nodes lie far apart (asked: ${names})`;
  nodes.report(why);
  return new ChainError("unavailable", why);
}

/** Makes the error for a fact that too few nodes confirm. */
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
