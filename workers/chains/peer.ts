/**
 * One node of a chain. Before its first question it must prove that it is of the right network; after it
 * failed, was slow or contradicted others it is asked last for a while.
 * @module
 */
import { ChainError } from "./chain.ts";
import {
  type Call,
  type Endpoint,
  exchange,
  request,
  type Resource,
  RpcError,
  type RpcLimits,
  TooLarge,
} from "./rpc.ts";

/** One node. */
export interface Peer {
  /** Host and port, and a number where several nodes have the same. */
  readonly name: string;
  /**
   * Asks one question.
   * @throws {RpcError} as the node answered
   * @throws {ChainError} `unavailable`, `wrong_chain`
   */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  /** Asks many; an error of a single question stands in its place. */
  batch(calls: readonly Call[]): Promise<(unknown | RpcError)[]>;
  /**
   * Asks as `batch` does, for questions that a node answers at once, and no contract does. What one task asks so goes in
   * one request, whoever asks it, and each question of it is asked once: a request costs more than its questions.
   */
  join(calls: readonly Call[]): Promise<(unknown | RpcError)[]>;
  /**
   * Asks for one resource of a node that speaks plain HTTP with JSON.
   * @throws {RpcError} as the node refused it
   * @throws {ChainError} `unavailable`, `wrong_chain`
   */
  request(resource: Resource): Promise<unknown>;
}

/** Settings of a connection to a node. */
export interface PeerSettings {
  /** Milliseconds that a node which failed, was slow or contradicted others is asked last. */
  readonly restMs?: number;
  /**
   * Throws {@link ChainError} `wrong_chain` unless the node is of the expected network, and `unavailable` where the
   * nodes do not agree which one that is.
   */
  identify(peer: Peer, witnesses: IdentityWitnesses): Promise<void>;
}

/** Settings of one node among the others of its chain. */
export interface SingleSettings extends Pick<PeerSettings, "restMs"> {
  /** As that of all, with the nodes that decide. */
  identify(peer: Peer): Promise<void>;
}

/** Those that decide together which network they are of. */
export interface IdentityWitnesses {
  /** All nodes of the chain, in order of preference, none of which has proven its network yet. */
  readonly peers: readonly Peer[];
  /** How many of them must agree. */
  readonly quorum: number;
}

/** A node with the state by which the pool chooses between several. */
export interface Single extends Peer {
  /** The same node, which is asked without having proven its network. */
  readonly unproven: Peer;
  /** Until then it rests after a failure: it is asked last, by one request at a time. */
  restsUntil: number;
  /** Until then it is asked after the others, because it was slow or contradicted them. */
  trailsUntil: number;
  /** Makes it rest for a while. */
  rest(fault: ChainError): void;
  /** Moves it behind the others for a while. */
  trail(): void;
}

/** Work on nodes that can be ended from outside: it then asks no further question. */
export interface RevocableWork<T> {
  /** Does the work with a node. */
  work(single: Single): Promise<T>;
  /** Ends the work: a node that still owes an answer gets no further question. */
  end(): void;
}

/** Milliseconds that a node rests, or trails. */
const REST_MS = 30_000;
/** The longest rest that a node may ask for by `Retry-After`. */
const RETRY_AFTER_MAX_MS = 600_000;
/** The server behind a name may be replaced; the node must prove its network again after this time. */
const IDENTITY_MS = 600_000;
/** A node that refused a batch is asked no other for this time: it may take none, or have refused that one. */
const SINGLY_MS = 600_000;
const BATCH_MAX = 50;
const PARALLEL = 8;

/** Makes work revocable. */
export function revocable<T>(work: (peer: Peer) => Promise<T>): RevocableWork<T> {
  let over = false;
  function assertInUse(name: string): void {
    if (over) throw new ChainError("unavailable", `${name} is not waited for any more`);
  }
  function wrapped(single: Single): Peer {
    const { name } = single;
    return {
      name,
      call: async (method, params) => {
        assertInUse(name);
        return await single.call(method, params);
      },
      batch: async (calls) => {
        const answers: unknown[] = [];
        while (answers.length < calls.length) {
          assertInUse(name);
          const { length } = answers;
          answers.push(...await single.batch(calls.slice(length, length + BATCH_MAX)));
        }
        return answers;
      },
      join: async (calls) => {
        assertInUse(name);
        return await single.join(calls);
      },
      request: async (resource) => {
        assertInUse(name);
        return await single.request(resource);
      },
    };
  }
  return { work: (single) => work(wrapped(single)), end: () => void (over = true) };
}

/** Sorts nodes: those that neither rest nor trail, those that trail, and those that rest. */
export function inRanks(singles: readonly Single[]): [Single[], Single[], Single[]] {
  const now = performance.now();
  const awake = singles.filter(({ restsUntil }) => restsUntil <= now);
  return [
    awake.filter(({ trailsUntil }) => trailsUntil <= now),
    awake.filter(({ trailsUntil }) => trailsUntil > now),
    singles.filter(({ restsUntil }) => restsUntil > now),
  ];
}

/** Takes the answers of a batch, or throws the first error among them. */
export function allOf(answers: readonly (unknown | RpcError)[]): unknown[] {
  for (const answer of answers) if (answer instanceof RpcError) throw answer;
  return [...answers];
}

/** Opens a node. Nothing is asked yet. */
export function openSingle(
  endpoint: Endpoint,
  { restMs = REST_MS, identify }: SingleSettings,
  limits: RpcLimits,
  closing: AbortController,
): Single {
  let knownUntil = -Infinity;
  const ask: Ask = (calls) => exchange(endpoint, calls, limits, closing.signal);
  const batch = batcher(ask);
  const raw: Peer = {
    name: endpoint.name,
    call: async (method, params) => allOf(await ask([{ method, params }]))[0],
    batch,
    join: sharer(batch),
    request: (resource) => request(endpoint, resource, limits, closing.signal),
  };
  let fault: ChainError | null = null;
  let probed = false;
  const single: Single = {
    name: endpoint.name,
    unproven: raw,
    restsUntil: -Infinity,
    trailsUntil: -Infinity,
    call: (method, params) => probing(() => raw.call(method, params)),
    batch: (calls) => probing(() => calls.length === 0 ? Promise.resolve([]) : raw.batch(calls)),
    join: (calls) => probing(() => calls.length === 0 ? Promise.resolve([]) : raw.join(calls)),
    request: (resource) => probing(() => raw.request(resource)),
    rest(because) {
      fault = because;
      const asked = Math.min(because.retryAfterMs ?? 0, RETRY_AFTER_MAX_MS);
      single.restsUntil = performance.now() + Math.max(restMs, asked);
    },
    trail() {
      single.trailsUntil = performance.now() + restMs;
    },
  };
  /**
   * Of several requests to a resting node one waits for it; the others fail at once with its last
   * error.
   */
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
        await identify(raw);
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

/**
 * Asks in batches; a node that takes no batches gets several single questions at a time, for a while: then one batch
 * tries again. A batch whose answers are too large together is asked in halves: strangers fill blocks, and sixteen may
 * be asked for at once.
 */
function batcher(ask: Ask): Ask {
  let singlyUntil: number | null = null;
  let trying = false;
  /** Asks in one request; null where the node takes no batches, or another batch is finding that out. */
  async function together(calls: readonly Call[]): Promise<(unknown | RpcError)[] | null> {
    const again = singlyUntil !== null;
    if (singlyUntil !== null && (trying || performance.now() < singlyUntil)) return null;
    trying = again;
    try {
      const answers = await ask(calls);
      if (calls.length > 1) singlyUntil = null;
      return answers;
    } catch (error) {
      if (error instanceof TooLarge || !(error instanceof RpcError)) throw error;
      if (calls.length > 1) singlyUntil = performance.now() + SINGLY_MS;
      return null;
    } finally {
      if (again) trying = false;
    }
  }
  return async (calls) => {
    const answers: unknown[] = [];
    let most = BATCH_MAX;
    while (answers.length < calls.length) {
      const at = answers.length;
      const some = calls.slice(at, at + most);
      try {
        const told = await together(some);
        if (told !== null) answers.push(...told);
        else {
          const single = calls.slice(at, at + PARALLEL).map((call) => ask([call]));
          answers.push(...(await settleAll(single)).flat());
        }
      } catch (error) {
        if (!(error instanceof TooLarge) || some.length < 2) throw error;
        most = Math.floor(some.length / 2);
      }
    }
    return answers;
  };
}

/** Questions that go in one request. */
interface SharedRequest {
  readonly calls: Call[];
  /** Their places, by their texts. */
  readonly places: Map<string, number>;
  readonly answers: Promise<(unknown | RpcError)[]>;
  askers: number;
}

/**
 * Asks together what one task asks, each question once, in batches that are no larger than others. Where the node fails,
 * or refuses them as a whole, each asks for itself: that may be about a question of another.
 */
function sharer(ask: Ask): Ask {
  let open: SharedRequest | null = null;
  function begin(): SharedRequest {
    const calls: Call[] = [];
    const answers = Promise.resolve().then(() => {
      if (open?.calls === calls) open = null;
      return ask(calls);
    });
    return { calls, places: new Map(), answers, askers: 0 };
  }
  return async (calls) => {
    const texts = calls.map((call) => JSON.stringify(call));
    const known = open?.places;
    const more = texts.filter((text) => !known?.has(text)).length;
    if (open === null || open.calls.length + more > BATCH_MAX) open = begin();
    const shared = open;
    const { places, calls: asked } = shared;
    shared.askers++;
    const mine = calls.map((call, at) => {
      const place = places.get(texts[at]) ?? asked.push(call) - 1;
      places.set(texts[at], place);
      return place;
    });
    try {
      const given = await shared.answers;
      return mine.map((place) => given[place]);
    } catch (error) {
      if (shared.askers === 1) throw error;
      return await ask(calls);
    }
  };
}

/** Waits for all, then throws the error of the first failure: no promise stays unhandled. */
async function settleAll<T>(asked: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(asked);
  return settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}
