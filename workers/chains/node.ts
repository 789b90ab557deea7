/**
 * The nodes of one chain. Work is done by the first that answers properly, one that failed is asked
 * last for a while, and none is believed before it has shown that it is of the right network. Facts
 * that move money are asked of all of them.
 * @module
 */
import { ChainError } from "./chain.ts";
import { campOf, campsOf, hearAll, hearFew, type Hearing, unconfirmed } from "./quorum.ts";
import { type Call, type Endpoint, endpointOf, exchange, RpcError, type RpcLimits } from "./rpc.ts";

/** How to reach the nodes of a chain. */
export interface NodeSettings {
  /** Addresses in order of preference; user and password in them become basic authentication. */
  readonly urls: readonly string[];
  /** What an exchange may take, where it differs from the default. */
  readonly limits?: Partial<RpcLimits>;
  /** Milliseconds that a failed node is asked last, and by one at a time. */
  readonly restMs?: number;
  /** Nodes that must agree before value moves; 1 with one node, else 2, unless given. */
  readonly quorum?: number;
  /** Throws {@link ChainError} `wrong_chain` unless the node is of the expected network. */
  identify(peer: Peer): Promise<void>;
  /** Tells an error about the node ("rate limit", "header not found") from one about the question. */
  blamesNode?(error: RpcError): boolean;
}

/** What an operator may set of a chain's nodes. */
export type NodeOptions = Pick<NodeSettings, "limits" | "quorum">;

/** One node. */
export interface Peer {
  /** Host and port. */
  readonly name: string;
  /**
   * Asks one question.
   * @throws {RpcError} as the node answered
   * @throws {ChainError} `unavailable`, `wrong_chain`
   */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  /** Asks many; an error of a single question stands in its place. */
  batch(calls: readonly Call[]): Promise<(unknown | RpcError)[]>;
}

/** All nodes of a chain. */
export interface Nodes {
  /** Each node for itself, for questions where one witness is not enough. */
  readonly peers: readonly Peer[];
  /**
   * Does a piece of work with the first node that manages it. Answers are read inside the work, so
   * that nonsense counts as a failure of the node; and all of it sees one and the same node.
   * @throws {RpcError} as a node answered, if it is not the node that is to blame
   * @throws {ChainError} `unavailable`, `wrong_chain`, and whatever the work itself throws
   */
  ask<T>(work: (peer: Peer) => Promise<T>): Promise<T>;
  /** How many nodes must agree. */
  readonly quorum: number;
  /**
   * Does a piece of work with all nodes at once and gives the answer that as many of them agree on
   * as the quorum demands. Whoever contradicts them is reported and asked last for a while.
   *
   * @param keyOf the same text for answers that say the same
   * @param what for the message when too few agree
   * @param quiet tells nobody when too few agree: nodes may stand on different branches for a moment
   * @throws {ChainError} `unavailable` if too few agree, and `refused` if all say so
   */
  agree<T>(
    work: (peer: Peer) => Promise<T>,
    keyOf: (answer: T) => string,
    what: string,
    quiet?: boolean,
  ): Promise<T>;
  /** Does a piece of work with all nodes at once; at least one of them answers. */
  hear<T>(work: (peer: Peer) => Promise<T>): Promise<Hearing<T>>;
  /**
   * Does a piece of work with as many nodes as the quorum, and with further ones while some fail or
   * those that answered are not clear; at least one of them answers.
   */
  few<T>(
    work: (peer: Peer) => Promise<T>,
    isClear: (heard: Hearing<T>["heard"]) => boolean,
  ): Promise<Hearing<T>>;
  /** The same nodes, but work begins with another of them. */
  from(turn: number): Nodes;
  /** Reports that nodes contradict each other. */
  report(what: string): void;
  /** Lists the reports of the last ten minutes. */
  reports(): string[];
  /** Ends every call in flight and refuses further ones. */
  close(): void;
}

const LIMITS: RpcLimits = { timeoutMs: 15_000, bytesMax: 64 * 2 ** 20, exactNumbers: false };
const REST_MS = 30_000;
/** A node behind a name may be replaced; so it is asked again who it is. */
const IDENTITY_MS = 600_000;
const BATCH_MAX = 50;
/** Reports that are kept, and for how many milliseconds. */
const REPORTS_MAX = 20;
const REPORTED_MS = 600_000;
const PARALLEL = 8;

/** Opens the nodes of a chain. Nothing is asked yet. */
export function openNodes(settings: NodeSettings): Nodes {
  if (settings.urls.length === 0) throw new ChainError("unavailable", "no node is configured");
  const closing = new AbortController();
  const limits = { ...LIMITS, ...settings.limits };
  const singles = settings.urls.map((url) =>
    openSingle(endpointOf(url), settings, limits, closing)
  );
  const quorum = settings.quorum ?? Math.min(2, singles.length);
  const reports = new Map<string, number>();
  function report(what: string): void {
    recent();
    if (reports.size < REPORTS_MAX) reports.set(what, performance.now() + REPORTED_MS);
  }
  function recent(): string[] {
    for (const [what, until] of reports) if (until < performance.now()) reports.delete(what);
    return [...reports.keys()];
  }
  function starting(turn: number): Nodes {
    const first = turn % singles.length;
    const ordered = [...singles.slice(first), ...singles.slice(0, first)];
    return {
      peers: singles,
      quorum,
      ask: (work) => firstAnswer(ordered, settings, work),
      agree: (work, keyOf, what, quiet = false) =>
        agreed(singles, { quorum, report, work, keyOf, what, quiet }),
      hear: (work) => hearing(singles, work, ({ length }) => length >= quorum),
      few: async (work, isClear) => {
        const found = await hearFew(wakefulFirst(ordered), resting(work), quorum, isClear);
        if (found.heard.length > 0) return found;
        throw faultOf(found.failures);
      },
      from: starting,
      report,
      reports: recent,
      close: () => closing.abort(),
    };
  }
  return starting(0);
}

/** Asks those that do not rest; the others only if none of those answers. */
async function hearing<T>(
  singles: readonly Single[],
  work: (peer: Peer) => Promise<T>,
  enough: (heard: Hearing<T>["heard"]) => boolean,
): Promise<Hearing<T>> {
  const now = performance.now();
  const awake = singles.filter((single) => single.restsUntil <= now);
  const resting = singles.filter((single) => single.restsUntil > now);
  const failures: unknown[] = [];
  for (const some of [awake, resting]) {
    const found = await hearAll(some, work, enough);
    failures.push(...found.failures);
    if (found.heard.length > 0) return { ...found, failures };
  }
  throw faultOf(failures);
}

function faultOf(failures: readonly unknown[]): unknown {
  const fault = failures.find((one) => one instanceof ChainError && one.fault !== "unavailable");
  return fault ?? worst(failures);
}

/** A node that fails at a piece of work is asked last for a while. */
function resting<T>(work: (peer: Peer) => Promise<T>): (single: Single) => Promise<T> {
  return async (single) => {
    try {
      return await work(single);
    } catch (error) {
      if (error instanceof ChainError) single.rest(error);
      throw error;
    }
  };
}

function wakefulFirst(singles: readonly Single[]): Single[] {
  const now = performance.now();
  const rests = (single: Single) => single.restsUntil > now;
  return [...singles.filter((one) => !rests(one)), ...singles.filter(rests)];
}

async function agreed<T>(
  singles: readonly Single[],
  of: {
    readonly quorum: number;
    readonly report: (what: string) => void;
    readonly work: (peer: Peer) => Promise<T>;
    readonly keyOf: (answer: T) => string;
    readonly what: string;
    readonly quiet: boolean;
  },
): Promise<T> {
  const { quorum, report, work, keyOf, what, quiet } = of;
  const { heard, failures } = await hearing(
    singles,
    work,
    (some) => campOf(campsOf(some, keyOf), quorum) !== null,
  );
  const camps = campsOf(heard, keyOf);
  const camp = campOf(camps, quorum);
  if (camps.length > 1 && !(quiet && camp === null)) {
    report(`${heard.map(({ peer }) => peer.name).join(", ")} contradict each other on ${what}`);
  }
  if (camp === null) {
    const count = { confirm: camps[0].length, nodes: singles.length, quorum };
    throw unconfirmed(count, what, failures);
  }
  for (const { peer } of camps.slice(1).flat()) {
    const single = singles.find((one) => one === peer);
    single?.rest(new ChainError("unavailable", `${peer.name} contradicted the others`));
  }
  return camp[0].answer;
}

/** Has a node's refusal count as no answer; work that understands a refusal catches it itself. */
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
  };
}

/** Takes the answers of a batch, or throws the first error among them. */
export function allOf(answers: readonly (unknown | RpcError)[]): unknown[] {
  for (const answer of answers) if (answer instanceof RpcError) throw answer;
  return [...answers];
}

interface Single extends Peer {
  restsUntil: number;
  /** Has it asked last for a while, and by one at a time. */
  rest(fault: ChainError): void;
}

function openSingle(
  endpoint: Endpoint,
  settings: NodeSettings,
  limits: RpcLimits,
  closing: AbortController,
): Single {
  let knownUntil = -Infinity;
  const ask: Ask = (calls) => exchange(endpoint, calls, limits, closing.signal);
  const raw: Peer = {
    name: endpoint.name,
    call: async (method, params) => allOf(await ask([{ method, params }]))[0],
    batch: batcher(ask),
  };
  let fault: ChainError | null = null;
  let probed = false;
  const single: Single = {
    name: endpoint.name,
    restsUntil: -Infinity,
    call: (method, params) => probing(() => raw.call(method, params)),
    batch: (calls) => probing(() => calls.length === 0 ? Promise.resolve([]) : raw.batch(calls)),
    rest(because) {
      fault = because;
      single.restsUntil = performance.now() + (settings.restMs ?? REST_MS);
    },
  };
  /** Of those who ask a resting node one waits for it; the others hear at once why it rests. */
  async function probing<T>(work: () => Promise<T>): Promise<T> {
    const probe = performance.now() < single.restsUntil;
    if (probe && probed) throw fault;
    if (probe) probed = true;
    try {
      return await proven(work);
    } finally {
      if (probe) probed = false;
    }
  }
  async function proven<T>(work: () => Promise<T>): Promise<T> {
    try {
      if (performance.now() >= knownUntil) {
        await settings.identify(raw);
        knownUntil = performance.now() + IDENTITY_MS;
      }
      const answer = await work();
      single.restsUntil = -Infinity;
      return answer;
    } catch (error) {
      if (error instanceof ChainError) {
        knownUntil = -Infinity; // after a failure another node may stand behind the name
        single.rest(error);
      }
      throw error;
    }
  }
  return single;
}

type Ask = (calls: readonly Call[]) => Promise<(unknown | RpcError)[]>;

/** Asks in batches; of a node that takes none, several single questions at a time. */
function batcher(ask: Ask): Ask {
  let batches = true;
  return async (calls) => {
    const answers: unknown[] = [];
    while (answers.length < calls.length) {
      const at = answers.length;
      try {
        if (batches) answers.push(...await ask(calls.slice(at, at + BATCH_MAX)));
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        batches = false;
      }
      if (batches) continue;
      const some = calls.slice(at, at + PARALLEL).map((call) => ask([call]));
      answers.push(...(await settleAll(some)).flat());
    }
    return answers;
  };
}

/** Waits for all, then throws what the first failure threw: no promise is left without a reader. */
async function settleAll<T>(asked: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(asked);
  return settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

async function firstAnswer<T>(
  singles: readonly Single[],
  settings: NodeSettings,
  work: (peer: Peer) => Promise<T>,
): Promise<T> {
  const failures: unknown[] = [];
  for (const single of wakefulFirst(singles)) {
    try {
      const answer = await work(single);
      single.restsUntil = -Infinity;
      return answer;
    } catch (error) {
      if (!isNodeFault(error, settings)) throw error;
      failures.push(error);
      // A node that says no to one question may well answer the next.
      if (error instanceof ChainError) single.rest(error);
    }
  }
  throw worst(failures);
}

function isNodeFault(error: unknown, settings: NodeSettings): boolean {
  if (error instanceof RpcError) return settings.blamesNode?.(error) ?? false;
  return error instanceof ChainError &&
    (error.fault === "unavailable" || error.fault === "wrong_chain");
}

/** One error for several: a wrong network first, for no waiting heals it. */
function worst(failures: readonly unknown[]): unknown {
  const wrong = failures.find((error) =>
    error instanceof ChainError && error.fault === "wrong_chain"
  );
  if (wrong !== undefined) return wrong;
  const said = failures.map((error) => error instanceof Error ? error.message : String(error));
  return new ChainError("unavailable", said.join("; "));
}
