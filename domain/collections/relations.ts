/**
 * Relations: puts whole entities in the place of their ids, where the actor may read them. One
 * statement reads all entities of a collection, however many rows and fields name them.
 * @module
 */
import type { Db } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { mayRead } from "../permissions.ts";

/** An entity as shown. */
export type View = Record<string, unknown>;

/** A field of an entity of the collection `of`: its row holds the id, or the ids are found for some rows. */
export interface Relation {
  of: string;
  // deno-lint-ignore no-explicit-any -- rows of any collection
  id?: (row: any) => string | null;
  // deno-lint-ignore no-explicit-any -- rows of any collection
  find?: (db: Db, rows: any[]) => Promise<(string | null)[]>;
}

/**
 * The part of a collection that is needed here; `collection.ts`, which imports this file, declares
 * the whole.
 */
export interface Related {
  relations?: Readonly<Record<string, Relation>>;
  read(db: Db, ids: string[]): Promise<{ id: string; owner: string | null }[]>;
  // deno-lint-ignore no-explicit-any -- rows of any collection
  isOwn?(actor: Actor, row: any): boolean;
  concealed?: { field: string; value: string; maySee: (actor: Actor) => boolean };
  // deno-lint-ignore no-explicit-any -- rows of any collection
  show: (db: Db, actor: Actor, rows: any[], populate: ReadonlySet<string>) => Promise<View[]>;
}

/** A collection among all, by their names. */
export interface RelatedAmong {
  collection: Related;
  all: ReadonlyMap<string, Related>;
  /** Is told the ids of entities of others that are shown whole. */
  viewed: (ids: readonly string[]) => void;
}

/** Rows with their views, in the same order. */
export interface Shown {
  rows: readonly unknown[];
  views: View[];
}

/** Puts the entities of those relations that are to be populated into the views of their rows. */
export async function putRelations(
  db: Db,
  actor: Actor,
  { collection, all, viewed, populate }: RelatedAmong & { populate: ReadonlySet<string> },
  { rows, views }: Shown,
): Promise<void> {
  const relations: [string, Relation][] = Object.entries(collection.relations ?? {});
  const asked = relations.filter(([field]) => populate.has(field));
  for (const name of new Set(asked.map(([, relation]) => relation.of))) {
    const ofOne: [string, (string | null)[]][] = [];
    for (const [field, relation] of asked) {
      if (relation.of === name) ofOne.push([field, await idsOf(db, relation, rows)]);
    }
    const ids = new Set(ofOne.flatMap(([, found]) => found.flatMap((id) => id ?? [])));
    const target = all.get(name);
    if (target === undefined) throw new TypeError(`there is no collection ${name}`);
    const whole = await readWhole(db, actor, target, [...ids]);
    viewed([...whole].flatMap(([id, { owner }]) => owner === actor.user ? [] : [id]));
    for (const [field, found] of ofOne) {
      found.forEach((id, i) => {
        const entity = whole.get(id ?? "");
        if (entity !== undefined) put(views[i], field, entity);
      });
    }
  }
}

/** The ids that a relation names in rows, in their order. */
async function idsOf(
  db: Db,
  { id, find }: Relation,
  rows: readonly unknown[],
): Promise<(string | null)[]> {
  return id === undefined ? await find!(db, [...rows]) : rows.map(id);
}

/** The views of those entities that the actor may read, by their ids. */
async function readWhole(
  db: Db,
  actor: Actor,
  collection: Related,
  ids: string[],
): Promise<ReadonlyMap<string, View>> {
  if (ids.length === 0) return new Map();
  const rows: { id: string; owner: string | null }[] = await collection.read(db, ids);
  const { concealed } = collection;
  const isConcealed = (row: object) =>
    concealed !== undefined && concealed.value === (row as View)[concealed.field] &&
    !concealed.maySee(actor);
  const readable = rows.filter((row) =>
    collection.isOwn?.(actor, row) || (mayRead(actor, row.owner) && !isConcealed(row))
  );
  const views = await collection.show(db, actor, readable, new Set());
  return new Map(readable.map((row, i) => [row.id, views[i]]));
}

/** Puts an entity at a field that may be dotted into an object. */
function put(view: View, field: string, entity: View): void {
  const [head, rest] = field.split(".");
  view[head] = rest === undefined ? entity : { ...view[head] as View, [rest]: entity };
}
