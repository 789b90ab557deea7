/**
 * Agreement of nodes: a fact that moves money is believed only if as many of the configured nodes as
 * the quorum say the same. Nodes that do not answer, or are not that far, abstain; those that say
 * otherwise are reported.
 * @module
 */
import { ChainError } from "./chain.ts";

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
}

/** Milliseconds that slower nodes are waited for once enough have answered. */
const GRACE_MS = 1_000;

/**
 * Asks nodes at once, and waits until all have answered or failed, or until enough have answered and
 * the others had a moment more.
 */
export async function hearAll<T, Peer extends Witness>(
  peers: readonly Peer[],
  work: (peer: Peer) => Promise<T>,
  enough: (heard: readonly Heard<T>[]) => boolean,
): Promise<Hearing<T>> {
  const heard: Heard<T>[] = [];
  const failures: unknown[] = [];
  const grace = Promise.withResolvers<void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;
  const asked = peers.map(async (peer) => {
    try {
      heard.push({ peer, answer: await work(peer) });
    } catch (error) {
      failures.push(error);
    }
    if (!over && timer === undefined && enough(heard)) timer = setTimeout(grace.resolve, GRACE_MS);
  });
  try {
    await Promise.race([Promise.all(asked), grace.promise]);
  } finally {
    clearTimeout(timer);
    over = true;
  }
  return { heard: [...heard], failures: [...failures] };
}

/**
 * Asks as many nodes as the quorum, the first ones first, and further ones while some fail or those
 * that answered do not say the same.
 */
export async function hearFew<T, Peer extends Witness>(
  peers: readonly Peer[],
  work: (peer: Peer) => Promise<T>,
  quorum: number,
  isClear: (heard: readonly Heard<T>[]) => boolean,
): Promise<Hearing<T>> {
  const heard: Heard<T>[] = [];
  const failures: unknown[] = [];
  for (let next = 0; next < peers.length;) {
    if (heard.length >= quorum && isClear(heard)) break;
    const lacking = heard.length < quorum ? quorum - heard.length : peers.length;
    const found = await hearAll(peers.slice(next, next + lacking), work, () => false);
    next += lacking;
    heard.push(...found.heard);
    failures.push(...found.failures);
  }
  return { heard, failures };
}

/** Groups answers that say the same, the largest group first. */
export function campsOf<T>(
  heard: readonly Heard<T>[],
  keyOf: (answer: T) => string,
): (readonly Heard<T>[])[] {
  const camps = new Map<string, Heard<T>[]>();
  for (const one of heard) {
    const key = keyOf(one.answer);
    camps.set(key, [...camps.get(key) ?? [], one]);
  }
  return [...camps.values()].toSorted((one, other) => other.length - one.length);
}

/** Gives the group that has the quorum and more members than any other; null if there is none. */
export function campOf<T>(
  camps: readonly (readonly Heard<T>[])[],
  quorum: number,
): readonly Heard<T>[] | null {
  const [first, second] = camps;
  if (first === undefined || first.length < quorum) return null;
  return second !== undefined && second.length === first.length ? null : first;
}

/** Gives the height, or count, that as many nodes as the quorum have reached. */
export function reachedBy(figures: readonly number[], quorum: number): number {
  const sorted = figures.toSorted((one, other) => other - one);
  return sorted[Math.min(quorum, sorted.length) - 1];
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
