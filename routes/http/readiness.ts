/** Requests that are answered once what they made is ready (RFC 7240, `Prefer: wait`). @module */
import type { Actor } from "../../domain/actor.ts";
import { type Db, type Pool, runQuery } from "../../domain/command.ts";
import { DomainError } from "../../domain/errors.ts";
import { failureOf } from "../../domain/failures.ts";
import { withConcurrencyLimit } from "./concurrency_limit.ts";
import type { Call, Reply } from "./route.ts";
import { type Among, becomesReady } from "./waiting.ts";

/** How to find that an entity is ready, and its view for an actor that may see it. */
export interface Readiness {
  among: Among;
  /** The view; the refusal that became of the entity meanwhile, as a value; or null, where nothing is to be shown. */
  view: (db: Db, actor: Actor, id: string) => Promise<unknown | null>;
}

/** Answers when the entity has become ready, or with its first state when the time is up. */
export async function waitUntilReady<P, Q, B>(
  call: Call<P, Q, B>,
  pool: Pool,
  reply: Reply,
  { among, view }: Readiness,
): Promise<Reply> {
  const { id } = JSON.parse(reply.body) as { id: string };
  const wait = { among, id, forMs: call.preferWaitS * 1000, signal: call.signal() };
  const isReady = await becomesReady(pool, wait);
  if (isReady === null) return reply;
  const headers = { ...reply.headers, "preference-applied": `wait=${call.preferWaitS}` };
  // Its rights may have changed since it began to wait, and its key may have ended.
  const read = async () => {
    const actor = isReady ? await actorOf(call) : null;
    if (actor === null) return null;
    return await withConcurrencyLimit(
      pool,
      () => runQuery(pool, (db) => view(db, actor, id)),
      actor,
    );
  };
  // What it asked for is done: where its present state cannot be read now, or may not be seen, it gets the first one.
  const shown = await read().catch((error) => {
    if (failureOf(error) === null) throw error;
    return null;
  });
  if (shown instanceof DomainError) throw shown; // what it made was refused meanwhile: that is its answer
  if (shown === null) return { ...reply, headers };
  const { etag: _before, ...rest }: Record<string, string> = headers;
  return { ...reply, body: JSON.stringify(shown), headers: rest };
}

/** The caller with its present rights; null where its key has ended, and where nobody can tell now. */
async function actorOf<P, Q, B>({ actorNow }: Call<P, Q, B>): Promise<Actor | null> {
  return await actorNow().catch((error) => {
    if (failureOf(error) === null) throw error;
    return null;
  });
}
