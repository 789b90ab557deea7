/**
 * Exports as they are sent: text that is read while it is sent, part by part. Each part is read with the caller's
 * present rights. An export ends when its caller leaves or reads no more, when its key ends, and with the process.
 * @module
 */
import { type Db, onConnection, runCommand, runQuery } from "../../domain/command.ts";
import { type Actor, reachesRealm } from "../../domain/actor.ts";
import { DomainError } from "../../domain/errors.ts";
import { paging, withConcurrencyLimit } from "./concurrency_limit.ts";
import { openParts, type PartReader } from "./replica_reads.ts";
import type { Call, Reply } from "./route.ts";
import { openPlaces, type StreamPlace } from "./stream_places.ts";
import { openChargedWork } from "./charged_work.ts";

/** Reads one part of an export, with the rights that its caller has then. */
export type ReadPart = <T>(work: (db: Db, actor: Actor) => Promise<T>) => Promise<T>;

/** An export that is asked for. */
export interface Exporting<Plan extends { entity?: string }> {
  /** What is exported, as the audit trail and the file are named: transactions. */
  what: string;
  open: (db: Db) => Promise<Plan>;
  /** Writes it, piece by piece. */
  print: (plan: Plan, read: ReadPart) => AsyncGenerator<string>;
}

const takePlace = openPlaces({ kind: "exports", ofUser: 2, ofRealm: 10, ofHouse: 4 });
/** A caller that reads nothing for so long has gone. */
const UNREAD_MAX_MS = 60_000;
/**
 * A caller that is waited for so long in all, and reads fewer bytes in a second of that time, is slow: where others find no
 * place it gives way.
 */
const SLOW_MS = 30_000;
const SLOW_RATE = 16 * 1024;
/** Characters that are sent at once. */
const CHUNK = 64 * 1024;

/**
 * Begins an export: the audit trail says so before anything is sent.
 *
 * @throws {DomainError} rate.limited, service.overloaded, and what opening it refuses
 */
export async function sendExport<P, Q extends object, Plan extends { entity?: string }>(
  call: Call<P, Q, undefined>,
  { what, open, print }: Exporting<Plan>,
): Promise<Reply> {
  const { pool } = call.realm!;
  const place = takePlace(pool, { user: call.actor.user, isHouse: reachesRealm(call.actor) });
  try {
    const plan = await withConcurrencyLimit(pool, () => runQuery(pool, open), call.actor);
    await withConcurrencyLimit(pool, () => noteExport(call, what, plan.entity), call.actor);
    const parts = await openParts(call, pool);
    const pieces = print(plan, readerOf(call, parts.read));
    const stream = streamOf(pieces, { place, ending: call.services.ending });
    const headers = {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${what}.csv"`,
      ...parts.headers,
    };
    return { status: 200, body: "", stream, headers };
  } catch (error) {
    place.leave();
    throw error;
  }
}

async function noteExport<P, Q extends object>(
  call: Call<P, Q, undefined>,
  what: string,
  entity: string | undefined,
): Promise<void> {
  await runCommand(call.realm!.pool, call.actor, () => Promise.resolve({ id: entity }), {
    action: `${what}.export`,
    idempotency: null,
    fields: Object.keys(call.query),
    print: () => ({ status: 200, body: "" }),
  });
}

/**
 * Reads parts of an answer that may take long, each with the rights that the caller has by then. Their time is charged as
 * they are read.
 *
 * @throws {DomainError} auth.revoked
 */
export function readerOf<P, Q>(call: Call<P, Q, undefined>, read: PartReader): ReadPart {
  const { pool } = call.realm!;
  const usage = openChargedWork(call);
  return async (work) => {
    const actor = await call.actorNow();
    if (actor === null) throw new DomainError("auth.revoked", "the key has ended");
    const timed = (db: Db) => onConnection(db, (own) => usage.timed(() => work(own, actor)));
    return await paging(pool, () => read(timed), actor).finally(() => usage.charge());
  };
}

/** How an answer ends that is sent while it is read. */
export interface Ends {
  /** Given back at its end. */
  place?: StreamPlace;
  /** It breaks off when the process ends; unless given it goes on until the process has ended. */
  ending?: { add(leave: (reason: unknown) => void): () => void };
  /** The process's monotonic clock, in milliseconds. */
  now?: () => number;
}

/** Sends text while it is read: of an answer that its caller does not read nothing is held for long. */
export function streamOf(
  pieces: AsyncGenerator<string>,
  { place, ending, now = () => performance.now() }: Ends = {},
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const reader = openReader(now);
  let unread: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  let fail = (_reason: unknown) => {};
  let forget = () => {};
  const end = () => {
    if (ended) return;
    ended = true;
    clearTimeout(unread);
    forget();
    place?.leave();
    void pieces.return(undefined).catch(() => {});
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      // An export that breaks off ends without its last chunk, so that nobody takes it for whole.
      fail = (reason) => {
        if (ended) return;
        end();
        controller.error(reason);
      };
      if (ending !== undefined) forget = ending.add(fail); // at once where the end has begun
      const slow = "the reader is slow, and another one waits for its place";
      place?.holdFor({ isSlow: reader.isSlow, end: () => fail(new Error(slow)) });
      if (!ended) unread = setTimeout(() => fail(new Error("nobody reads")), UNREAD_MAX_MS);
    },
    async pull(controller) {
      clearTimeout(unread);
      reader.asked();
      try {
        const text = await chunkOf(pieces, () => ended);
        if (ended) return;
        if (text !== "") {
          const bytes = encoder.encode(text);
          reader.given(bytes.length);
          controller.enqueue(bytes);
        } else {
          end();
          controller.close();
        }
      } catch (error) {
        return fail(error);
      }
      if (!ended) unread = setTimeout(() => fail(new Error("nobody reads")), UNREAD_MAX_MS);
    },
    cancel: end,
  }, { highWaterMark: 0 });
}

/** Measures how fast an answer is read: by the time in which the reader is waited for. */
function openReader(
  now: () => number,
): { asked(): void; given(bytes: number): void; isSlow(): boolean } {
  let [sent, waitedMs] = [0, 0];
  let since: number | null = now(); // null while it waits for us
  const waited = () => waitedMs + (since === null ? 0 : now() - since);
  return {
    asked() {
      waitedMs = waited();
      since = null;
    },
    given(bytes) {
      sent += bytes;
      since = now();
    },
    isSlow: () => waited() > SLOW_MS && sent < SLOW_RATE * waited() / 1000,
  };
}

/** Takes pieces up to the size of a chunk; nothing at the end. */
async function chunkOf(pieces: AsyncGenerator<string>, hasEnded: () => boolean): Promise<string> {
  let text = "";
  while (text.length < CHUNK && !hasEnded()) {
    const { value, done } = await pieces.next();
    if (done) break;
    text += value;
  }
  return text;
}
