/**
 * Pool of the nodes of one chain. The first node that answers properly does a piece of work; a node that
 * failed, was slow or contradicted others is asked last for a while. Facts that move money need a quorum.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { KeptIdentity } from "./identity.ts";
import {
  inRanks,
  openSingle,
  type Peer,
  type PeerSettings,
  revocable,
  type Single,
} from "./peer.ts";
import {
  agreedGroupOf,
  type Enough,
  groupsOf,
  hearAll,
  type Heard,
  hearFew,
  type Hearing,
  unconfirmed,
  type Witness,
} from "./quorum.ts";
import { openReports } from "./node_reports.ts";
import { type Endpoint, endpointOf, RpcError, type RpcLimits } from "./rpc.ts";

export { allOf, type Peer } from "./peer.ts";

/** How to reach the nodes of a chain. */
export interface NodeSettings extends PeerSettings {
  /** Addresses in order of preference; user and password in them become basic authentication. */
  readonly urls: readonly string[];
  /** Limits of an exchange, where they differ from the defaults. */
  readonly limits?: Partial<RpcLimits>;
  /** Nodes that must agree before value moves; 1 with one node, else 2, unless given. */
  readonly quorum?: number;
  /** Milliseconds that one node is waited for before the next is asked too. */
  readonly nextNodeAfterMs?: number;
  /** Header for the key of a node whose address has a user and no password; else that is a user. */
  readonly keyHeader?: string;
  /** Tells an error about the node ("rate limit", "header not found") from one about the question. */
  blamesNode?(error: RpcError): boolean;
}

/** Settings of a chain's nodes that an operator may change. */
export type NodeOptions = Pick<NodeSettings, "limits" | "quorum"> & {
  /** First block of the main network, where the public one's is not expected; `any` for a local one. */
  readonly genesisHash?: string | null;
  /** Where it is kept which network the nodes are of, if several would do. */
  readonly kept?: KeptIdentity | null;
};

/** All nodes of a chain. */
export interface Nodes {
  /** Each node by itself, for questions where one witness is not enough. */
  readonly peers: readonly Peer[];
  /**
   * Does a piece of work with the first node that succeeds. Answers are read inside the work: a malformed
   * one counts as a failure of the node, and the whole work is done by one node.
   * @throws {RpcError} as a node answered, if the fault is not the node's
   * @throws {ChainError} `unavailable`, `wrong_chain`, and every error of the work itself
   */
  ask<T>(work: (peer: Peer) => Promise<T>): Promise<T>;
  /** How many nodes must agree. */
  readonly quorum: number;
  /**
   * Does a piece of work with all nodes at once and gives the answer that as many of them agree on
   * as the quorum demands. Nodes that contradict them are reported and asked last for a while.
   *
   * @param keyOf the same text for answers that say the same
   * @param what for the message when too few agree
   * @param quiet reports nothing when too few agree: nodes may be on different branches for a moment
   * @throws {ChainError} `unavailable` if too few agree, and `refused` if all say so
   */
  agree<T>(
    work: (peer: Peer) => Promise<T>,
    keyOf: (answer: T) => string,
    what: string,
    quiet?: boolean,
  ): Promise<T>;
  /**
   * Does a piece of work with all nodes at once; at least one of them answers.
   *
   * @param enough whether slower nodes need not be waited for; as many answers as the quorum, unless
   *   given
   */
  hear<T>(work: (peer: Peer) => Promise<T>, enough?: Enough<T>): Promise<Hearing<T>>;
  /**
   * Does a piece of work with as many nodes as the quorum, and with further ones while some fail or
   * those that answered are not clear; at least one of them answers.
   */
  few<T>(
    work: (peer: Peer) => Promise<T>,
    isClear: Enough<T>,
  ): Promise<Hearing<T>>;
  /** Does a piece of work with the nodes that were not asked yet, for a short time only. */
  others<T>(asked: readonly Witness[], work: (peer: Peer) => Promise<T>): Promise<Hearing<T>>;
  /** Moves nodes behind the others for a while. */
  trail(nodes: readonly Witness[]): void;
  /** The same nodes, but work begins with another of them. */
  from(turn: number): Nodes;
  /**
   * As many different nodes as the quorum, each by itself: work of each is done by that node alone, while work that merely
   * begins with another may end at the same. Those that neither rest nor trail come first.
   */
  apart(turn: number): Pick<Nodes, "ask">[];
  /** Reports that nodes contradict each other. */
  report(what: string): void;
  /** Lists the reports of the last ten minutes, newest first. */
  reports(): string[];
  /** Ends every call in flight and refuses further ones. */
  close(): void;
}

const LIMITS: RpcLimits = { timeoutMs: 15_000, bytesMax: 64 * 2 ** 20, exactNumbers: false };
/** Least wait for one node before the next is asked; a third of its time-out where that is longer. */
const NEXT_NODE_AFTER_MS = 5_000;

/** The nodes, and how they are asked. */
interface Pool {
  readonly singles: readonly Single[];
  readonly settings: NodeSettings;
  readonly quorum: number;
  readonly nextNodeAfterMs: number;
  report(what: string): void;
}

/** Opens the nodes of a chain. Nothing is asked yet. */
export function openNodes(settings: NodeSettings): Nodes {
  if (settings.urls.length === 0) throw new ChainError("unavailable", "no node is configured");
  const closing = new AbortController();
  const limits = { ...LIMITS, ...settings.limits };
  const quorum = settings.quorum ?? Math.min(2, settings.urls.length);
  const { restMs } = settings;
  const identify = (peer: Peer) =>
    settings.identify(peer, { peers: singles.map(({ unproven }) => unproven), quorum });
  const singles: readonly Single[] = endpointsOf(settings).map((endpoint) =>
    openSingle(endpoint, { restMs, identify }, limits, closing)
  );
  const nextNodeAfterMs = settings.nextNodeAfterMs ??
    Math.max(NEXT_NODE_AFTER_MS, limits.timeoutMs / 3);
  const { report, recent } = openReports();
  const pool: Pool = { singles, settings, quorum, nextNodeAfterMs, report };
  function turned(turn: number): Single[] {
    const first = turn % singles.length;
    return [...singles.slice(first), ...singles.slice(0, first)];
  }
  function starting(turn: number): Nodes {
    const ordered = turned(turn);
    return {
      peers: singles,
      quorum,
      ask: (work) => firstAnswer(pool, ordered, work),
      agree: (work, keyOf, what, quiet = false) => agreed(pool, { work, keyOf, what, quiet }),
      hear: (work, enough = ({ length }) => length >= quorum) => hearing(pool, work, enough),
      few: (work, isClear) => fewOf(pool, ordered, work, isClear),
      others: (asked, work) => othersOf(pool, asked, work),
      trail: (nodes) => trail(pool, nodes),
      from: starting,
      apart: (of) =>
        inRanks(turned(of)).flat().slice(0, quorum).map((one) => ({
          ask: (work) => firstAnswer(pool, [one], work),
        })),
      report,
      reports: recent,
      close: () => closing.abort(),
    };
  }
  return starting(0);
}

/** Reads addresses; nodes of the same host and port are told apart by a number. */
function endpointsOf({ urls, keyHeader }: NodeSettings): Endpoint[] {
  const seen = new Map<string, number>();
  return urls.map((url) => {
    const endpoint = endpointOf(url, keyHeader);
    const before = seen.get(endpoint.name) ?? 0;
    seen.set(endpoint.name, before + 1);
    return before === 0 ? endpoint : { ...endpoint, name: `${endpoint.name} (${before + 1})` };
  });
}

/**
 * Asks the nodes that neither rest nor trail; then those that trail, then those that rest, until the
 * answers suffice.
 */
async function hearing<T>(
  pool: Pool,
  work: (peer: Peer) => Promise<T>,
  enough: Enough<T>,
): Promise<Hearing<T>> {
  const heard: Heard<T>[] = [];
  const failures: unknown[] = [];
  const late: Witness[] = [];
  for (const some of inRanks(pool.singles)) {
    if (some.length === 0 || enough(heard)) continue;
    const before = [...heard];
    const task = revocable(work);
    const found = await hearAll(some, task.work, (more) => enough([...before, ...more]));
    task.end();
    heard.push(...found.heard);
    failures.push(...found.failures);
    late.push(...found.late);
  }
  trail(pool, late);
  if (heard.length === 0) throw faultOf(failures);
  return { heard, failures, late };
}

/** Moves nodes behind the others for a while. */
function trail({ singles }: Pool, nodes: readonly Witness[]): void {
  for (const single of singles) if (nodes.includes(single)) single.trail();
}

async function fewOf<T>(
  pool: Pool,
  ordered: readonly Single[],
  work: (peer: Peer) => Promise<T>,
  isClear: Enough<T>,
): Promise<Hearing<T>> {
  const { quorum, nextNodeAfterMs } = pool;
  const task = revocable(work);
  const found = await hearFew(inRanks(ordered).flat(), resting(task.work), {
    quorum,
    nextNodeAfterMs,
    isClear,
  });
  task.end();
  trail(pool, found.late);
  if (found.heard.length > 0) return found;
  throw faultOf(found.failures);
}

async function othersOf<T>(
  pool: Pool,
  asked: readonly Witness[],
  work: (peer: Peer) => Promise<T>,
): Promise<Hearing<T>> {
  const now = performance.now();
  const others = pool.singles.filter((one) => !asked.includes(one) && one.restsUntil <= now);
  const task = revocable(work);
  const found = await hearAll(others, task.work, () => false, pool.nextNodeAfterMs);
  task.end();
  trail(pool, found.late);
  return found;
}

function faultOf(failures: readonly unknown[]): unknown {
  const fault = failures.find((one) => one instanceof ChainError && one.fault !== "unavailable");
  return fault ?? worst(failures);
}

/** Wraps work: a node that fails at it is asked last for a while. */
function resting<T>(work: (single: Single) => Promise<T>): (single: Single) => Promise<T> {
  return async (single) => {
    try {
      return await work(single);
    } catch (error) {
      if (error instanceof ChainError) single.rest(error);
      throw error;
    }
  };
}

async function agreed<T>(
  pool: Pool,
  of: {
    readonly work: (peer: Peer) => Promise<T>;
    readonly keyOf: (answer: T) => string;
    readonly what: string;
    readonly quiet: boolean;
  },
): Promise<T> {
  const { work, keyOf, what, quiet } = of;
  const { quorum, singles, report } = pool;
  const { heard, failures } = await hearing(
    pool,
    work,
    (some) => agreedGroupOf(groupsOf(some, keyOf), quorum) !== null,
  );
  const groups = groupsOf(heard, keyOf);
  const group = agreedGroupOf(groups, quorum);
  if (groups.length > 1 && !(quiet && group === null)) {
    report(`${heard.map(({ peer }) => peer.name).join(", ")} contradict each other on ${what}`);
  }
  if (group === null) {
    const count = { confirm: groups[0].length, nodes: singles.length, quorum };
    throw unconfirmed(count, what, failures);
  }
  trail(pool, groups.slice(1).flat().map(({ peer }) => peer));
  return group[0].answer;
}

/** Makes a node's refusal count as no answer; work that understands a refusal catches it itself. */
export function plainRefusals(nodes: Nodes): Nodes {
  async function asked<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof RpcError) throw new ChainError("unavailable", error.message);
      throw error;
    }
  }
  return {
    ...nodes,
    ask: (work) => asked(nodes.ask(work)),
    from: (turn) => plainRefusals(nodes.from(turn)),
    apart: (turn) => nodes.apart(turn).map(({ ask }) => ({ ask: (work) => asked(ask(work)) })),
  };
}

/** Result of a piece of work with one node. */
type Outcome<T> =
  & { readonly single: Single }
  & ({ readonly answer: T } | { readonly error: unknown });

async function firstAnswer<T>(
  { settings, nextNodeAfterMs }: Pool,
  ordered: readonly Single[],
  work: (peer: Peer) => Promise<T>,
): Promise<T> {
  const waiting = inRanks(ordered).flat();
  const asked = new Map<Single, Promise<Outcome<T>>>();
  const failures: unknown[] = [];
  let held: ChainError | null = null;
  const task = revocable(work);
  try {
    while (waiting.length > 0 || asked.size > 0) {
      const next = waiting.shift();
      if (next !== undefined) asked.set(next, outcomeOf(next, task.work));
      const outcome = await firstOf(
        [...asked.values()],
        waiting.length > 0 ? nextNodeAfterMs : null,
      );
      // The next node is asked too, and the first answer counts.
      if (outcome === null) continue;
      const { single } = outcome;
      const slower = [...asked.keys()].slice(0, [...asked.keys()].indexOf(single));
      asked.delete(single);
      if ("answer" in outcome) {
        for (const one of slower) one.trail();
        single.restsUntil = -Infinity;
        return outcome.answer;
      }
      const { error } = outcome;
      if (error instanceof ChainError && error.fault === "held") {
        held ??= error; // one that is less busy may answer
        continue;
      }
      if (!isNodeFault(error, settings)) throw error;
      failures.push(error);
      // A node that refuses one question may well answer the next.
      if (error instanceof ChainError) single.rest(error);
    }
  } finally {
    task.end();
  }
  throw held ?? worst(failures);
}

async function outcomeOf<T>(
  single: Single,
  work: (single: Single) => Promise<T>,
): Promise<Outcome<T>> {
  try {
    return { single, answer: await work(single) };
  } catch (error) {
    return { single, error };
  }
}

/** Gives the first result; null if none comes in time. */
async function firstOf<T>(promises: readonly Promise<T>[], ms: number | null): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = ms === null ? undefined : setTimeout(late.resolve, ms, null);
  try {
    return await Promise.race([...promises, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function isNodeFault(error: unknown, settings: NodeSettings): boolean {
  if (error instanceof RpcError) return settings.blamesNode?.(error) ?? false;
  return error instanceof ChainError &&
    (error.fault === "unavailable" || error.fault === "wrong_chain");
}

/** Picks one error of several: a wrong network first, because waiting does not mend it. */
function worst(failures: readonly unknown[]): unknown {
  const wrong = failures.find((error) =>
    error instanceof ChainError && error.fault === "wrong_chain"
  );
  if (wrong !== undefined) return wrong;
  const said = failures.map((error) => error instanceof Error ? error.message : String(error));
  return new ChainError("unavailable", said.join("; "));
}
