/** The log of events as readers see it: a page after an event, and what a reader may see of it. @module */
import { z } from "zod";
import {
  type EventRow,
  selectEventPage,
  selectEvents,
  selectForgotten,
  selectLastEvent,
} from "../../db/events.ts";
import type { Db } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { invalidQuery } from "../collections/filter.ts";
import { answerable } from "../answers.ts";
import { Id } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { ADMIN_EVENTS, EVENT_TYPES } from "../events.ts";
import { idTime, isId } from "../ids.ts";
import { parseStoredJson } from "../json.ts";
import { isRealmAdmin, rightsOf } from "../permissions.ts";
import { type EventReader, maySee, payloadFor } from "./messages.ts";

export type { EventRow };

const TypeName = z.enum([...EVENT_TYPES, "webhook.test"]);
const Types = z.union([TypeName, z.array(TypeName).max(50)]).optional()
  .meta({ description: "Events of this type; it may be repeated." });

/** Which events a stream shows. */
export const EventStream = z.strictObject({
  type: Types,
  entity: Id.optional().meta({ description: "Events about this entity." }),
  after: Id.optional().meta({ description: "Stands for the header last-event-id." }),
});
/** Which events a stream shows. */
export type EventStream = z.infer<typeof EventStream>;

/** Which events a page shows. */
export const EventPage = z.strictObject({
  type: Types,
  entity: Id.optional().meta({ description: "Events about this entity." }),
  after: Id.optional().meta({
    description: "The last event that is known; from the oldest kept one unless given.",
  }),
  limit: z.string().regex(/^([1-9]\d{0,2}|1000)$/, "from 1 to 1000 is allowed").optional().meta({
    type: "integer",
    minimum: 1,
    maximum: 1000,
  }),
});
/** Which events a page shows. */
export type EventPage = z.infer<typeof EventPage>;

/** An event as shown. */
export const EventView = z.object({
  id: z.string(),
  type: z.string(),
  timestamp: z.string().meta({ description: "When it happened (ISO 8601).", format: "date-time" }),
  entity: z.string().meta({ description: "The entity that it is about." }),
  data: z.record(z.string(), z.unknown()).meta({
    description: "The entity as its route shows it, or its id alone beyond 20 kB.",
  }),
  owner: z.string().nullable(),
  created_at: z.number().int(),
}).meta({ id: "Event" });

/** The cursor of a log without events. */
const NONE = "00000000-0000-7000-8000-000000000000";
const LIMIT = "100";
/** Payloads that a stream holds for a caller that reads slowly, without the last one. */
const PART_BYTES = 65_536;
/** What clocks may be apart. */
const AHEAD_MS = 60_000;

/** Which events are shown to whom. */
export interface EventAudience {
  reader: EventReader;
  types: readonly string[] | null;
  entity: string | null;
}

/** Reads which events an actor asks for, and may see. */
export function filterOf(actor: Actor, { type, entity }: EventStream): EventAudience {
  return {
    reader: {
      user: actor.user,
      seesAll: rightsOf(actor).read === "all",
      isAdmin: isRealmAdmin(actor),
    },
    types: type === undefined ? null : [type].flat(),
    entity: entity ?? null,
  };
}

/**
 * Lists events after one of them, in the order in which they were published.
 *
 * @throws {DomainError} query.invalid, event.expired
 */
export async function listEvents(
  db: Db,
  actor: Actor,
  { limit = LIMIT, after, ...asked }: EventPage,
): Promise<Record<string, unknown>[]> {
  if (after !== undefined) await assertKept(db, actor, after);
  const { reader, types, entity } = filterOf(actor, asked);
  if (entity !== null && !isId(entity)) return [];
  const rows = await selectEvents(db, {
    ...{ types, entity },
    viewer: reader.seesAll ? null : reader.user,
    hidden: reader.isAdmin ? [] : ADMIN_EVENTS,
    after: after ?? NONE,
    limit: parseInt(limit, 10),
  });
  return answerable(rows.map((row) => viewEvent(row, reader)));
}

/**
 * Refuses a cursor behind which events may have been deleted, or that no event has reached: those that
 * come would be smaller, and never be shown.
 *
 * @throws {DomainError} query.invalid, event.expired
 */
export async function assertKept(db: Db, { realm, at }: Actor, after: string): Promise<void> {
  if (!isId(after)) throw invalidQuery("/after", "the id of an event is expected");
  if (after === NONE) return;
  const time = idTime(after);
  // Events may have been deleted while they were kept for fewer days than now.
  if (time < at - keptMs(realm.eventDays) || after < await selectForgotten(db)) {
    throw new DomainError(
      "event.expired",
      "events after this one may have been deleted: read what changed, and go on with the newest",
    );
  }
  // After a restore a reader may know an event that was lost: it is greater than the last one, and past.
  if (time > at + AHEAD_MS && after > await selectLastEvent(db)) {
    throw invalidQuery("/after", "no event has come so far");
  }
}

/** The id of the newest event. */
export async function lastEvent(db: Db): Promise<string> {
  return await selectLastEvent(db);
}

/** Reads a part of the published events after one of them, whoever may see them. */
export async function readEvents(db: Db, after: string, limit: number): Promise<EventRow[]> {
  return await selectEventPage(db, { after, limit, bytes: PART_BYTES });
}

/** The first of some events, as far as they go out together: at least one. */
export function firstPart(rows: readonly EventRow[]): readonly EventRow[] {
  let bytes = 0;
  const end = rows.findIndex(({ payload }) => (bytes += payload.length) >= PART_BYTES);
  return end < 0 ? rows : rows.slice(0, end + 1);
}

/** Whether an event is shown. */
export function isShown(row: EventRow, { reader, types, entity }: EventAudience): boolean {
  if (types !== null && !types.includes(row.type)) return false;
  if (entity !== null && row.entity !== entity) return false;
  return maySee(reader, row);
}

/** Shows an event. */
function viewEvent(row: EventRow, reader: EventReader): Record<string, unknown> {
  return { ...headOf(row), data: parseStoredJson(payloadFor(row, reader)), ...footOf(row) };
}

/** Prints an event as {@link viewEvent} shows it. */
export function printEvent(row: EventRow, reader: EventReader): string {
  const [head, foot] = [JSON.stringify(headOf(row)), JSON.stringify(footOf(row))];
  return `${head.slice(0, -1)},"data":${payloadFor(row, reader)},${foot.slice(1)}`;
}

function headOf({ id, type, entity, created_at }: EventRow) {
  return { id, type, timestamp: new Date(created_at).toISOString(), entity };
}

function footOf({ owner, created_at }: EventRow) {
  return { owner, created_at };
}

const DAY_MS = 24 * 3_600_000;
/** Days that events are kept unless the realm's settings say otherwise. */
const DAYS = 30;

/** How long events are kept, in milliseconds. */
export function keptMs(days: number | undefined): number {
  return (days ?? DAYS) * DAY_MS;
}
