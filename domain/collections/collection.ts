/**
 * Collections: the shared logic of all generic routes. A collection declares its columns, how its
 * rows are read and shown, and its deletion; the rest is here, once.
 * @module
 */
import {
  countMatching,
  isVisible,
  listQuery,
  markDeleted,
  selectIds,
  type Selection,
  type Slice,
  type Source,
  type Visibility,
} from "../../db/collections/collection.ts";
import type { Db, Tx } from "../../db/database.ts";
import type { Columns, Condition, ListQuery } from "../../db/collections/filter.ts";
import type { Actor } from "../actor.ts";
import { answerable, openAnswer } from "../answers.ts";
import { DomainError, type ErrorCode } from "../errors.ts";
import { type Detail, withDetail } from "./detail.ts";
import { compares, invalidQuery, parseQuery } from "./filter.ts";
import { isId } from "../ids.ts";
import {
  pageOf,
  parseFields,
  parsePage,
  parseSearch,
  parseSort,
  parseWindow,
  pick,
} from "./list_parameters.ts";
import { assertMay, covers, notFound, rightsOf } from "../permissions.ts";
import { putRelations } from "./relations.ts";
import { scopeOf } from "./scope.ts";

/** Shows rows; `populate` names the relations that are shown in full. */
export type Shower<R> = (
  db: Db,
  actor: Actor,
  rows: R[],
  populate: ReadonlySet<string>,
) => Promise<Record<string, unknown>[]>;

/**
 * A field that holds the id of an entity. `populate` shows the entity in place of its id, where the
 * actor may read it. A field that is shown with `populate` alone may have its ids found, in the order of the rows.
 */
export type Relation<R> =
  & {
    /** Name of the collection that the entity belongs to. */
    of: string;
  }
  & (
    | { id: (row: R) => string | null }
    | { find: (db: Db, rows: R[]) => Promise<(string | null)[]> }
  );

/** The declaration of a collection. `Listed`: what its lists read of a row, which may be less than all. */
export interface Collection<R extends { id: string; owner: string | null }, Listed = R>
  extends Source {
  /** As it stands in paths: accounts, apps/deposit. */
  name: string;
  notFound: ErrorCode;
  /** Fields of the view, dotted into objects, in whose place `populate` shows an entity. */
  relations?: Readonly<Record<string, Relation<Listed>>>;
  /** The fields of its export as CSV; a collection without them has none. */
  exported?: readonly string[];
  /** Other names that `populate` takes; `show` is given those that were asked for. */
  populate?: readonly string[];
  /** Fields of the view that have no column. */
  fields: readonly string[];
  /** Refuses an id without a row with another code, where more is known of it than that. */
  gone?: { code: ErrorCode; refuse: (db: Db, id: string) => Promise<void> };
  /** Reads rows by their ids, in any order. */
  read(db: Db, ids: string[]): Promise<R[]>;
  /** Reads the rows of a part of a list in their order, with all that it shows: one statement. */
  readListed?(db: Db, list: ListQuery): Promise<Listed[]>;
  show: Shower<Listed>;
  detail?: Detail<R>;
  /** A row that the actor always sees, whatever its owner; null without. */
  ownId?(db: Db, actor: Actor): Promise<string | null>;
  /** Whether the row of {@link ownId} is only seen, and changed by its owner alone. */
  ownIsRead?: true;
  /** Whether a row counts as the actor's own whatever its owner, if the row itself tells. */
  isOwn?(actor: Actor, row: R): boolean;
  /** Whether transactions' scopes apply. */
  flows?: boolean;
  /** Whether every user of the realm sees all rows, or those of `within`. */
  shared?: boolean;
  /** The condition that rows meet which the actor sees; null: none. */
  within?(db: Db, actor: Actor): Promise<Condition | null>;
  /**
   * Rows without an owner. Lists show them to actors who may see them, if the query compares the
   * field with the value.
   */
  concealed?: { field: string; value: string; maySee: (actor: Actor) => boolean };
}

/** The part of a collection that finds single rows. */
export type Readable<R extends { id: string; owner: string | null }> = Pick<
  Collection<R>,
  "read" | "notFound" | "ownId" | "ownIsRead"
>;

/** A collection of any row type. */
// A list of collections does not use their row types.
// deno-lint-ignore no-explicit-any
export type AnyCollection = Collection<any>;

/** All collections by their names: where relations are resolved. */
export type Collections = ReadonlyMap<string, AnyCollection>;

/** A collection among all. */
export interface CollectionAmong {
  collection: AnyCollection;
  all: Collections;
  /** Is told the ids of entities of others that `populate` shows. */
  viewed: (ids: readonly string[]) => void;
}

/** The parameters of a request, as its query string gives them. */
export type Given = Partial<Record<string, string | string[]>>;

/**
 * Finds entities: at most 1000 from an offset, or after one of them.
 *
 * @throws {DomainError} query.invalid, permission.scope
 */
export async function findEntities(
  db: Db,
  actor: Actor,
  among: CollectionAmong,
  given: Given,
): Promise<Record<string, unknown>[]> {
  const selection = await selectionOf(db, actor, among.collection, given);
  const sort = parseSort(among.collection.columns, given.sort);
  const how = { selection, slice: { sort, ...parseWindow(given) }, given };
  const views = await showSlice(db, actor, among, how);
  if (views === null) throw invalidQuery("/after", "there is no such entity to begin after");
  return views;
}

/**
 * Lists one page of entities and says how many there are.
 *
 * @throws {DomainError} query.invalid, permission.scope
 */
export async function listEntities(
  db: Db,
  actor: Actor,
  among: CollectionAmong,
  given: Given,
): Promise<Record<string, unknown>> {
  const { collection } = among;
  const selection = await selectionOf(db, actor, collection, given);
  const sort = parseSort(collection.columns, given.sort);
  const page = parsePage(given);
  const total = await countMatching(db, collection, selection);
  const how = { selection, slice: { sort, ...page, after: null }, given };
  const rows = page.offset < total
    ? await showSlice(db, actor, among, how)
    : await showAll(db, actor, among, [], given);
  return { ...pageOf(page, rows!, total) };
}

/**
 * Counts entities.
 *
 * @throws {DomainError} query.invalid, permission.scope
 */
export async function countEntities(
  db: Db,
  actor: Actor,
  collection: AnyCollection,
  given: Given,
): Promise<number> {
  return await countMatching(db, collection, await selectionOf(db, actor, collection, given));
}

/**
 * Gets one entity. Without a scope, any that the actor may see and that is not deleted.
 *
 * @throws {DomainError} the collection's not-found code, query.invalid, permission.scope
 */
export async function getEntity(
  db: Db,
  actor: Actor,
  among: CollectionAmong,
  id: string,
  given: Given,
): Promise<Record<string, unknown>> {
  const { collection } = among;
  const visibility = await visibilityOf(db, actor, collection, given, null);
  const found = isId(id) && await isVisible(db, collection, visibility, id);
  if (!found) {
    if (isId(id)) await collection.gone?.refuse(db, id);
    throw notFound(collection.notFound);
  }
  return (await showAll(db, actor, withDetail(among, given.fields), [id], given))[0];
}

/** Finds a living row that the actor may see; null where there is none. */
export async function findVisible<R extends { id: string; owner: string | null }>(
  db: Db,
  actor: Actor,
  collection: Readable<R>,
  id: string,
): Promise<R | null> {
  try {
    return await rowFor(db, actor, collection, id, "read");
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

/**
 * Finds a living row on which the actor may do this.
 *
 * @param path a JSON pointer to the field of the body that names it; none where the URL does
 * @throws {DomainError} the collection's not-found code, permission.role, permission.owner
 */
export async function rowFor<R extends { id: string; owner: string | null }>(
  db: Db,
  actor: Actor,
  collection: Readable<R>,
  id: string,
  act: "read" | "write" | "delete" | "deleteUser" | "undelete",
  path?: string,
): Promise<R> {
  const [row] = isId(id) ? await collection.read(db, [id]) : [];
  if (row === undefined) throw notFound(collection.notFound, path);
  const own = row.owner !== actor.user && await collection.ownId?.(db, actor) === row.id;
  const thing = { owner: own ? actor.user : row.owner, what: collection.notFound, path };
  assertMay(actor, act, thing);
  const isOthers = own && act !== "read" && !covers(rightsOf(actor)[act], actor, row.owner);
  if (isOthers && collection.ownIsRead) {
    throw new DomainError("permission.owner", "this belongs to another user");
  }
  const gone = "deleted_at" in row && row.deleted_at !== null;
  if (gone && act !== "undelete") throw notFound(collection.notFound, path);
  return row;
}

/** Marks an entity deleted or restored, and shows it. */
export async function setDeleted(
  tx: Tx,
  actor: Actor,
  collection: AnyCollection,
  id: string,
  deleted: boolean,
): Promise<Record<string, unknown>> {
  await markDeleted(tx, collection.table, id, deleted ? actor.at : null, actor.at);
  const rows = await collection.read(tx, [id]);
  return (await collection.show(tx, actor, rows, new Set()))[0];
}

/** A column of text. */
export function textColumn(column: string, nullable = false): Columns[string] {
  return { column, type: "text", nullable };
}

/** The columns that every entity has. */
export const ENTITY_COLUMNS: Columns = {
  id: { column: "id", type: "id" },
  owner: { column: "owner", type: "id", nullable: true },
  created_at: { column: "created_at", type: "time", inId: true },
};

/** The columns of an entity that a caller can change and delete. */
export const MUTABLE_COLUMNS: Columns = {
  ...ENTITY_COLUMNS,
  data: { column: "data", type: "json" },
  updated_at: { column: "updated_at", type: "time", nullable: true },
  deleted_at: { column: "deleted_at", type: "time", nullable: true },
};

async function selectionOf(db: Db, actor: Actor, collection: AnyCollection, given: Given) {
  const condition = parseQuery(collection.columns, given.query);
  return {
    visibility: await visibilityOf(db, actor, collection, given, condition),
    condition,
    search: parseSearch(collection.columns, given.search, given.searchFields),
  };
}

/** Returns the reach of a request; `asked` is its condition, null if it names the row itself. */
export async function visibilityOf(
  db: Db,
  actor: Actor,
  collection: AnyCollection,
  given: Given,
  asked: Condition | null,
): Promise<Visibility> {
  const { flows = false, shared = false } = collection;
  const { reaches, deleted } = scopeOf(actor, given.scope, { flows, shared, one: asked === null });
  const ownId = reaches.has("own") ? await collection.ownId?.(db, actor) ?? null : null;
  const { concealed = null } = collection;
  const isAsked = concealed !== null &&
    (asked === null || compares(asked, concealed.field, concealed.value));
  return {
    reaches: [...reaches],
    user: actor.user,
    ownId,
    deleted,
    concealed: concealed && {
      rows: { op: "eq", at: { field: concealed.field, path: [] }, value: concealed.value },
      shown: isAsked && concealed.maySee(actor),
    },
    within: await collection.within?.(db, actor) ?? null,
  };
}

/** Rows that are read at once: each may come with several free-form objects. */
const READ_AT_ONCE = 200;

/** Reads and shows a part of a list; null if there is no row to begin after. */
async function showSlice(
  db: Db,
  actor: Actor,
  among: CollectionAmong,
  { selection, slice, given }: { selection: Selection; slice: Slice; given: Given },
): Promise<Record<string, unknown>[] | null> {
  const { collection } = among;
  if (collection.readListed === undefined || slice.limit > READ_AT_ONCE) {
    const ids = await selectIds(db, collection, selection, slice);
    return ids === null ? null : await showAll(db, actor, among, ids, given);
  }
  const list = await listQuery(db, collection, selection, slice);
  if (list === null) return null;
  const how = howToShow(collection, given);
  return await showRows(db, actor, among, await collection.readListed(db, list), how);
}

/** Reads and shows rows in the order of their ids, cut down to the fields asked for. */
async function showAll(
  db: Db,
  actor: Actor,
  among: CollectionAmong,
  ids: string[],
  given: Given,
): Promise<Record<string, unknown>[]> {
  const how = howToShow(among.collection, given);
  const shown: Record<string, unknown>[] = [];
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const part = ids.slice(from, from + READ_AT_ONCE);
    const rows: { id: string }[] = await among.collection.read(db, part);
    const byId = new Map(rows.map((row) => [row.id, row]));
    const sorted = part.flatMap((id) => byId.get(id) ?? []);
    shown.push(...await showRows(db, actor, among, sorted, how));
  }
  return shown;
}

/** The fields of rows that are shown, the relations shown in full, and the room left in the answer. */
function howToShow(collection: AnyCollection, given: Given) {
  return {
    fields: parseFields(collection.columns, given.fields, collection.fields),
    populate: populateOf(collection, given.populate),
    hasRoom: openAnswer(),
  };
}

async function showRows(
  db: Db,
  actor: Actor,
  { collection, all, viewed }: CollectionAmong,
  rows: { id: string }[],
  { fields, populate, hasRoom }: ReturnType<typeof howToShow>,
): Promise<Record<string, unknown>[]> {
  const views = await collection.show(db, actor, rows as never, populate);
  await putRelations(db, actor, { collection, all, viewed, populate }, { rows, views });
  const kept = fields === null ? views : views.map((view) => pick(view, fields));
  return answerable(kept, hasRoom);
}

/** Names that `populate` takes. */
export function populatable(collection: AnyCollection): string[] {
  return [...collection.populate ?? [], ...Object.keys(collection.relations ?? {})];
}

function populateOf(collection: AnyCollection, given: unknown): ReadonlySet<string> {
  const names = [given ?? []].flat().flatMap((part) => `${part}`.split(/[\s,]+/))
    .filter((name) => name !== "" && name !== "false");
  for (const name of names) {
    if (populatable(collection).includes(name)) continue;
    throw invalidQuery("/populate", `${JSON.stringify(name.slice(0, 60))} cannot be populated`);
  }
  return new Set(names);
}
