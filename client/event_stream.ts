/** Reading the stream of events: opened again when it ends, after the last event that was read. @module */
import { createParser } from "eventsource-parser";
import { parseExactly } from "./exact_json.ts";
import type { EventType, PurserEvent } from "./operations.ts";
import { ConnectionError, ProblemError } from "./problems.ts";
import { mayPass, type Outgoing, pause, type Sender, waitBefore } from "./sending.ts";
import { EVENT_AMOUNTS } from "./wire.ts";

/** Which events are read. */
export interface EventOptions<T extends EventType = EventType> {
  /** Types of events; all unless given. */
  readonly types?: readonly T[];
  /** Events about this entity alone. */
  readonly entity?: string;
  /** The last event that is known: reading goes on after it. Without it only what is new is read. */
  readonly after?: string;
  readonly signal?: AbortSignal;
  /** Milliseconds without a byte after which the connection counts as lost; 45 000 unless given, thrice the heartbeat. */
  readonly silenceMaxMs?: number;
}

/** A block of the stream: an event, or an id alone that passes over events of others. */
interface Block {
  readonly id: string | null;
  readonly data: string | null;
}

const PATH = "/v1/events";
const SILENCE_MAX_MS = 45_000;
const DATA_AMOUNTS = EVENT_AMOUNTS.map((path) => `data.${path}`);

/**
 * Reads events, each once and without a gap, until the caller ends the iteration. Connections that fail are opened
 * again; so is one whose key has ended, with the key that the client's function gives then.
 *
 * @throws {ProblemError} what no repeat mends, such as `event.expired` and `auth.expired`
 * @throws {ConnectionError} where the service could not be reached again
 */
export async function* readEvents<T extends EventType>(
  sender: Sender,
  options: EventOptions<T>,
): AsyncGenerator<PurserEvent<T>, void, undefined> {
  const { signal, silenceMaxMs = SILENCE_MAX_MS } = options;
  let after = options.after ?? null;
  for (let failures = 0;;) {
    let failure: unknown = null;
    const blocks = blocksOf(sender, requestFor(sender, options, after), silenceMaxMs);
    try {
      for (;;) {
        let next: IteratorResult<Block>;
        try {
          next = await blocks.next();
        } catch (error) {
          failure = error;
          break;
        }
        if (next.done) break;
        failures = 0;
        const { id, data } = next.value;
        after = id ?? after;
        if (data !== null) yield parseExactly(data, DATA_AMOUNTS) as PurserEvent<T>;
      }
    } finally {
      await blocks.return();
    }
    signal?.throwIfAborted();
    if (failure !== null && (!mayPass(failure) || ++failures > sender.retries)) throw failure;
    const retryAfterS = failure instanceof ProblemError ? failure.retryAfterS : null;
    const waitMs = waitBefore(Math.max(1, failures), retryAfterS, sender.waitMaxMs);
    if (waitMs === null) throw failure;
    await pause(waitMs, signal);
  }
}

function requestFor(
  sender: Sender,
  { types = [], entity, signal }: EventOptions,
  after: string | null,
): Outgoing {
  const query = new URLSearchParams(types.map((type) => ["type", type]));
  if (entity !== undefined) query.set("entity", entity);
  const headers = new Headers({ accept: "text/event-stream" });
  if (after !== null) headers.set("last-event-id", after);
  const url = `${sender.base}${PATH}${query.size > 0 ? `?${query}` : ""}`;
  return { method: "GET", url, route: PATH, headers, body: undefined, signal };
}

/** Opens the stream once, and reads its blocks until it ends. */
async function* blocksOf(
  sender: Sender,
  request: Outgoing,
  silenceMaxMs: number,
): AsyncGenerator<Block, void, undefined> {
  const response = await sender.open(request);
  const reader = response.body!.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  request.signal?.addEventListener("abort", stop);
  const waiting: Block[] = [];
  const parser = createParser({
    // It comes at the end of a block, before the block's event.
    onId: (id) => void waiting.push({ id, data: null }),
    onEvent: ({ id, data }) =>
      void (id === undefined
        ? waiting.push({ id: null, data })
        : waiting.splice(-1, 1, { id, data })),
  });
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, silenceMaxMs, request);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* waiting.splice(0);
    }
  } finally {
    request.signal?.removeEventListener("abort", stop);
    await reader.cancel().catch(() => {});
  }
}

/** Reads the next bytes; a connection that is silent for too long, or breaks, has no answer. */
async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMaxMs: number,
  { method, url }: Outgoing,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  const sent = { method, path: new URL(url).pathname, attempts: 1, idempotencyKey: null };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new ConnectionError(`silent for ${silenceMaxMs} ms`, sent, null)),
      silenceMaxMs,
    );
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } catch (cause) {
    if (cause instanceof ConnectionError) throw cause;
    throw new ConnectionError("the stream broke", sent, null, { cause });
  } finally {
    clearTimeout(timer);
  }
}
