/**
 * The nodes of one chain, asked in order: the first that answers properly counts, one that failed is
 * asked last for a while, and none is believed before it has shown that it is of the right network.
 * @module
 */
import { ChainError } from "./chain.ts";
import { type Call, type Endpoint, endpointOf, exchange, RpcError, type RpcLimits } from "./rpc.ts";

/** How to reach the nodes of a chain. */
export interface NodeSettings {
  /** Addresses in order of preference; user and password in them become basic authentication. */
  readonly urls: readonly string[];
  /** What an exchange may take, where it differs from the default. */
  readonly limits?: Partial<RpcLimits>;
  /** Milliseconds that a failed node is asked last, and by one at a time. */
  readonly restMs?: number;
  /** Throws {@link ChainError} `wrong_chain` unless the node is of the expected network. */
  identify(peer: Peer): Promise<void>;
  /** Tells an error about the node ("rate limit", "header not found") from one about the question. */
  blamesNode?(error: RpcError): boolean;
}

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
  /** Ends every call in flight and refuses further ones. */
  close(): void;
}

const LIMITS: RpcLimits = { timeoutMs: 15_000, bytesMax: 64 * 2 ** 20, exactNumbers: false };
const REST_MS = 30_000;
/** A node behind a name may be replaced; so it is asked again who it is. */
const IDENTITY_MS = 600_000;
const BATCH_MAX = 50;
const PARALLEL = 8;

/** Opens the nodes of a chain. Nothing is asked yet. */
export function openNodes(settings: NodeSettings): Nodes {
  if (settings.urls.length === 0) throw new ChainError("unavailable", "no node is configured");
  const closing = new AbortController();
  const limits = { ...LIMITS, ...settings.limits };
  const singles = settings.urls.map((url) =>
    openSingle(endpointOf(url), settings, limits, closing)
  );
  return {
    peers: singles,
    ask: (work) => firstAnswer(singles, settings, work),
    close: () => closing.abort(),
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
  const now = performance.now();
  const awake = singles.filter((single) => single.restsUntil <= now);
  const resting = singles.filter((single) => single.restsUntil > now);
  const failures: unknown[] = [];
  for (const single of [...awake, ...resting]) {
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
