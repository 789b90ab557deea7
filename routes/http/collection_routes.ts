/** The generic routes of a collection, made from its declaration. @module */
import { z } from "zod";
import {
  type AnyCollection,
  type CollectionAmong,
  countEntities,
  findEntities,
  getEntity,
  type Given,
  listEntities,
} from "../../domain/collections/collection.ts";
import {
  assertNoRange,
  type Export,
  exportHead,
  exportSlice,
  openExport,
} from "../../domain/collections/exports.ts";
import { queriesOf } from "../../domain/collections/collection_parameters.ts";
import type { TxFor } from "../../domain/command.ts";
import { LIMIT_MAX } from "../../domain/collections/list_parameters.ts";
import type { Actor } from "../../domain/actor.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import { COLLECTIONS } from "./collections.ts";
import { type Asked, command, type ExecutionOptions, query, search } from "./execution.ts";
import { type ReadPart, sendExport } from "./exports.ts";
import { noteViews } from "./read_notes.ts";
import { type AnyRoute, type Call, PAGES, type Reply, route } from "./route.ts";
import { acceptsJson } from "./validation.ts";

const ById = z.strictObject({ id: z.string() });

/** A change of an entity; it returns the entity's view. */
export type Change<Locked extends boolean = false> = (
  tx: TxFor<Locked>,
  actor: Actor,
  id: string,
) => Promise<Record<string, unknown>>;

/** The declaration of a collection's routes that only read. */
export interface ReadingRoutes {
  collection: AnyCollection;
  tag: string;
  /** In the singular, for summaries: "an account". */
  one: string;
  view: z.ZodType;
  /** A replica may find, list and count them: there may be very many, and nobody's rights are among them. */
  mayLag?: true;
}

/** The declaration of a collection's routes, with the options that its changes run with. */
export type CollectionRoutes<Locked extends boolean = false> =
  & ExecutionOptions<Locked>
  & ReadingRoutes
  & ChangingRoutes<Locked>;

/** The declaration of a collection's routes that remove and restore. */
export interface ChangingRoutes<Locked extends boolean> {
  remove?: Change<Locked>;
  restore?: Change<Locked>;
  /** Restoring takes a login of the last minutes. */
  restoreTakesLogin?: true;
  /** Codes that removing or restoring can answer besides the usual. */
  errors?: readonly ErrorCode[];
  /** Runs after a change was committed. */
  changed?: (call: Call<unknown, unknown, unknown>) => void;
}

/** The schema of a page of entities. */
export function pageView(view: z.ZodType): z.ZodType {
  return z.object({
    rows: z.array(view),
    total: z.number().int(),
    page: z.number().int(),
    pageSize: z.number().int(),
    totalPages: z.number().int(),
  }).meta({ id: `${view.meta()?.id}Page` });
}

/** A collection among all; what `populate` shows of others is noted. */
export function amongOf<P, Q extends object, B>(
  call: Call<P, Q, B>,
  collection: AnyCollection,
): CollectionAmong {
  return { collection, all: COLLECTIONS, viewed: (ids) => noteViews(call, ids) };
}

/** Makes find, list, count, get, and delete and undelete where the collection has them. */
export function collectionRoutes<Locked extends boolean = false>(
  of: CollectionRoutes<Locked>,
): AnyRoute[] {
  return [...readingRoutes(of), ...changingRoutes(of)];
}

function readingRoutes(of: ReadingRoutes): AnyRoute[] {
  const { collection, tag, one, view, mayLag } = of;
  const path = `/v1/${collection.name}`;
  const shared = { method: "GET", tag, access: "user", status: 200 } as const;
  const errors = ["permission.scope"] as const;
  const queries = queriesOf(collection);
  const counts = collection.counted === false;
  return [
    findRoute(of),
    route({
      ...shared,
      path,
      summary: `List page by page: each row is ${one}`,
      query: queries.list,
      answer: pageView(view),
      continues: PAGES,
      mayLag,
      errors,
      handle: (call) =>
        search(
          call,
          (db) => listEntities(db, call.actor, amongOf(call, collection), call.query),
          counts,
        ),
    }),
    route({
      ...shared,
      path: `${path}/count`,
      summary: "Count",
      query: queries.count,
      answer: z.number().int(),
      mayLag,
      errors,
      handle: (call) =>
        search(call, (db) => countEntities(db, call.actor, collection, call.query), counts),
    }),
    route({
      ...shared,
      path: `${path}/{id}`,
      summary: `Read ${one}`,
      params: ById,
      query: queries.get,
      answer: view,
      errors: [...errors, collection.notFound, ...(collection.gone ? [collection.gone.code] : [])],
      handle: (call) =>
        query(call, (db) => {
          const among = amongOf(call, collection);
          return getEntity(db, call.actor, among, call.params.id, call.query);
        }),
    }),
  ];
}

/** Finds entities; as CSV, where the collection is exported. */
function findRoute({ collection, tag, one, view, mayLag }: ReadingRoutes): AnyRoute {
  const queries = queriesOf(collection);
  const declared = {
    method: "GET",
    path: `/v1/${collection.name}/all`,
    tag,
    summary: `Find: each answer is ${one}`,
    access: "user",
    status: 200,
    answer: z.array(view),
    continues: { cursor: "id", usual: LIMIT_MAX },
    mayLag,
  } as const;
  const errors = ["permission.scope"] as const;
  const find = <Q extends Asked>(call: Call<unknown, Q, undefined>, given: Given) => {
    const among = amongOf(call, collection);
    return search(call, (db) => findEntities(db, call.actor, among, given), false, LIMIT_MAX);
  };
  if (collection.exported === undefined) {
    return route({
      ...declared,
      query: queries.find,
      errors,
      handle: (call) => find(call, call.query),
    });
  }
  return route({
    ...declared,
    description:
      "As CSV (`format=csv`, or `accept: text/csv`) it is an export: all entities of a range of time of " +
      "at most 400 days, oldest first. It takes `from` and `to`, and neither `limit`, `offset`, `sort` " +
      "nor `populate`; `fields` are its columns. A user has two exports at once.",
    query: queries.exporting,
    alternatives: ["text/csv"],
    errors: [...errors, "rate.limited"],
    async handle(call) {
      const { format = acceptsJson(call.accept) ? "json" : "csv", from, to, ...given } = call.query;
      if (format === "csv") return await exportOf(call, collection, { given, from, to });
      assertNoRange({ from, to });
      return await find(call, given);
    },
  });
}

function exportOf<Q extends object>(
  call: Call<unknown, Q, undefined>,
  collection: AnyCollection,
  asked: { given: Given; from?: number; to?: number },
): Promise<Reply> {
  return sendExport(call, {
    what: collection.name,
    open: (db) => openExport(db, call.actor, collection, asked),
    print: printExport,
  });
}

async function* printExport(plan: Export, read: ReadPart): AsyncGenerator<string> {
  yield exportHead(plan);
  for (let after: string | null = plan.after; after !== null;) {
    const begin: string = after;
    const { lines, next } = await read((db, actor) => exportSlice(db, actor, plan, begin));
    yield* lines;
    after = next;
  }
}

function changingRoutes<Locked extends boolean>(of: CollectionRoutes<Locked>): AnyRoute[] {
  const path = `/v1/${of.collection.name}/{id}`;
  const shared = {
    tag: of.tag,
    access: "user",
    params: ById,
    status: 200,
    answer: of.view,
    errors: [of.collection.notFound, "permission.role", "permission.owner", ...of.errors ?? []],
  } as const;
  const handler =
    (change: Change<Locked>) => async (call: Call<{ id: string }, unknown, unknown>) => {
      const work = (tx: TxFor<Locked>) => change(tx, call.actor, call.params.id);
      const reply = await command<{ id: string }, unknown, unknown, Locked>(call, work, of);
      of.changed?.(call);
      return reply;
    };
  const routes: AnyRoute[] = [];
  if (of.remove !== undefined) {
    routes.push(route({
      ...shared,
      method: "DELETE",
      path,
      summary: `Delete ${of.one}; it can be restored`,
      handle: handler(of.remove),
    }));
  }
  if (of.restore !== undefined) {
    routes.push(route({
      ...shared,
      method: "POST",
      path: `${path}/undelete`,
      summary: `Restore ${of.one}`,
      ...(of.restoreTakesLogin === undefined ? {} : {
        freshLogin: true as const,
        description: "This takes a login of the last 10 minutes.",
      }),
      handle: handler(of.restore),
    }));
  }
  return routes;
}
