/**
 * Streams of events (server-sent events). A stream ends when its key does, when its caller reads no
 * more, and with the process; a caller goes on with the last id that it has seen.
 * @module
 */
import type { Actor } from "../../domain/actor.ts";
import type { Pool } from "../../domain/command.ts";
import {
  type EventAudience,
  type EventStream,
  filterOf,
  firstPart,
  isShown,
  printEvent,
} from "../../domain/webhooks/event_log.ts";
import { type EventFeed, openEventFeed } from "./event_feed.ts";
import type { Ending } from "./shutdown.ts";
import { openPlaces } from "./stream_places.ts";

/** What a stream is opened with. */
export interface StreamOptions {
  pool: Pool;
  user: string;
  /** Whether the caller reads the whole realm. */
  seesAll: boolean;
  asked: EventStream;
  /** The last event that the caller knows; null: it begins with the next one. */
  after: string | null;
  /** The caller with its present rights; null where its key has ended. */
  actorNow: () => Promise<Actor | null>;
  /** Called when the stream begins, and hourly: events are written for it. */
  note: () => Promise<void>;
  ending: Ending;
}

/** Some are left to those who read all of a realm. */
const takePlace = openPlaces({ kind: "streams", ofUser: 20, ofRealm: 500, ofHouse: 50 });
/** A key that has ended is noticed within this time. */
const CHECK_MS = 900;
const HEARTBEAT_MS = 15_000;
const NOTE_MS = 3_600_000;
/** A caller that reads nothing for so long has gone. */
const UNREAD_MAX_MS = 60_000;
const RETRY_MS = 2000;
/** Shortest pause where nothing is new. */
const PAUSE_MS = 20;

interface Stream {
  options: StreamOptions;
  feed: EventFeed;
  cursor: string;
  heartbeatAt: number;
  noteAt: number;
  ended: boolean;
  /** Ends the pause that it makes. */
  resume: () => void;
  /** Gives the place of the stream back; once. */
  leave: () => void;
}

/**
 * Opens a stream of events.
 *
 * @throws {DomainError} rate.limited, service.overloaded
 */
export async function openEventStream(
  options: StreamOptions,
): Promise<ReadableStream<Uint8Array>> {
  const { pool, user, seesAll } = options;
  const place = takePlace(pool, { user, isHouse: seesAll });
  const feed = openEventFeed(pool);
  const release = () => {
    place.leave();
    feed.leave();
  };
  try {
    await options.note();
    const cursor = options.after ?? await feed.head();
    return streamOf({ options, feed, cursor, release });
  } catch (error) {
    release();
    throw error;
  }
}

function streamOf(
  { options, feed, cursor, release }: Pick<Stream, "options" | "feed" | "cursor"> & {
    release: () => void;
  },
): ReadableStream<Uint8Array> {
  const at = performance.now();
  let unread: ReturnType<typeof setTimeout> | undefined;
  const stream: Stream = {
    ...{ options, feed, cursor, ended: false, resume: () => {} },
    ...{ heartbeatAt: at + HEARTBEAT_MS, noteAt: at + NOTE_MS },
    leave() {
      if (stream.ended) return;
      stream.ended = true;
      clearTimeout(unread);
      stream.resume();
      forget();
      release();
    },
  };
  let [close, forget] = [() => {}, () => {}];
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      close = () => {
        if (stream.ended) return;
        stream.leave();
        try {
          controller.close();
        } catch {
          // the caller has left meanwhile
        }
      };
      forget = options.ending.add(close); // which closes it at once where the end has begun
      if (stream.ended) return;
      controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\nid: ${cursor}\n\n`));
      unread = setTimeout(close, UNREAD_MAX_MS);
    },
    async pull(controller) {
      clearTimeout(unread);
      const text = await nextText(stream).catch(() => null);
      if (stream.ended) return;
      if (text === null) return close();
      controller.enqueue(encoder.encode(text));
      unread = setTimeout(close, UNREAD_MAX_MS);
    },
    cancel: () => stream.leave(),
  }, { highWaterMark: 1 });
}

/** Waits for the next events, or the next heartbeat; null where the stream ends. */
async function nextText(stream: Stream): Promise<string | null> {
  const { options, feed } = stream;
  while (!stream.ended) {
    const actor = await options.actorNow();
    if (actor === null) return null;
    const now = performance.now();
    if (now >= stream.noteAt) {
      stream.noteAt = now + NOTE_MS;
      await options.note();
    }
    const rows = firstPart(await feed.after(stream.cursor));
    const audience = filterOf(actor, options.asked);
    const text = rows.filter((row) => isShown(row, audience)).map((row) => blockOf(row, audience));
    stream.cursor = rows.at(-1)?.id ?? stream.cursor;
    if (text.length > 0) return text.join("");
    if (now >= stream.heartbeatAt) {
      stream.heartbeatAt = now + HEARTBEAT_MS;
      // The id passes over events that are not shown, so a caller that returns does not read them again.
      return `: still here\nid: ${stream.cursor}\n\n`;
    }
    if (rows.length > 0) continue;
    await pauseOf(stream);
    await feed.changed(stream.cursor, CHECK_MS);
  }
  return null;
}

/** Waits a little, or until the stream ends. */
async function pauseOf(stream: Stream): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  stream.resume = resolve;
  const timer = setTimeout(resolve, PAUSE_MS);
  await promise;
  clearTimeout(timer);
}

function blockOf(row: Parameters<typeof printEvent>[0], { reader }: EventAudience): string {
  return `id: ${row.id}\nevent: ${row.type}\ndata: ${printEvent(row, reader)}\n\n`;
}
