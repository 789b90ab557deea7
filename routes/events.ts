/** Routes of events: the stream, and the list to pull. @module */
import { z } from "zod";
import { runQuery } from "../domain/command.ts";
import { noteReader } from "../domain/realms/event_readers.ts";
import {
  assertKept,
  EventPage,
  EventStream,
  EventView,
  filterOf,
  keptMs,
  listEvents,
} from "../domain/webhooks/event_log.ts";
import { withConcurrencyLimit } from "./http/concurrency_limit.ts";
import { search } from "./http/execution.ts";
import { openEventStream } from "./http/event_stream.ts";
import { type AnyRoute, type Call, type Reply, route } from "./http/route.ts";

const TAG = "Events";
const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "x-accel-buffering": "no", // proxies pass events on as they come
};

/** The routes of events. */
export const eventRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/events",
    tag: TAG,
    operation: "streamEvents",
    summary: "Stream events as they happen",
    description: "Server-sent events that the caller may see, in the order of their ids: `data` " +
      "of each is an event as the list shows it. The header `last-event-id` goes on after an " +
      "event; without it only what is new is sent. A stream ends when its key does.",
    access: "user",
    query: EventStream,
    status: 200,
    answer: z.string(),
    type: "text/event-stream",
    resumes: true,
    errors: ["event.expired", "rate.limited"],
    handle: stream,
  }),
  route({
    method: "GET",
    path: "/v1/events/all",
    tag: TAG,
    operation: "findEvents",
    summary: "List events after one of them",
    description: "In the order of their ids: no id is ever followed later by a smaller one. " +
      "Events are kept for the realm's `webhooks.retention_days` (30), from the first reading on.",
    access: "user",
    query: EventPage,
    status: 200,
    answer: z.array(EventView),
    continues: { cursor: "id", mayBeShort: true },
    errors: ["event.expired"],
    handle: async (call) => {
      const { actor, query, realm } = call;
      await withConcurrencyLimit(realm!.pool, () => note(call), actor);
      const { reader, types, entity } = filterOf(actor, query);
      // Without a filter the page is read by the index alone.
      const searches = !reader.seesAll || types !== null || entity !== null;
      const of = { ...call, query: { limit: query.limit } };
      return await search(of, (db) => listEvents(db, actor, query), searches);
    },
  }),
];

async function stream(call: Call<unknown, EventStream, undefined>): Promise<Reply> {
  const { actor, realm, query, services: { ending } } = call;
  const after = call.headers.get("last-event-id") ?? query.after ?? null;
  await withConcurrencyLimit(realm!.pool, async () => {
    await note(call);
    if (after !== null) await runQuery(realm!.pool, (db) => assertKept(db, actor, after));
  }, actor);
  const seesAll = filterOf(actor, query).reader.seesAll;
  const opened = await openEventStream({
    ...{ pool: realm!.pool, user: actor.user, seesAll, asked: query, after, ending },
    actorNow: call.actorNow,
    note: () => note(call),
  });
  return { status: 200, body: "", stream: opened, headers: HEADERS };
}

/** Has all events written while somebody reads them. */
async function note<Q>({ realm, actor, services }: Call<unknown, Q, undefined>): Promise<void> {
  await noteReader(realm!.pool, services.now(), keptMs(actor.realm.eventDays));
}
