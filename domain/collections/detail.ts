/** What the own route of one entity shows beyond lists. @module */
import type { Columns } from "../../db/collections/filter.ts";
import type { Db } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { parseFields } from "./list_parameters.ts";

/** An entity as it is shown. */
export type View = Record<string, unknown>;

/** What one entity shows beyond lists; it is read only where one of its fields is asked for. */
export interface Detail<R> {
  fields: readonly string[];
  show: (db: Db, actor: Actor, row: R) => Promise<View>;
}

/** A collection as far as its details need it. */
export interface Detailed<R> {
  columns: Columns;
  fields: readonly string[];
  detail?: Detail<R>;
  show: (db: Db, actor: Actor, rows: R[], populate: ReadonlySet<string>) => Promise<View[]>;
}

/** Has the rows of a collection shown with their details, as far as `fields` names them. */
export function withDetail<R, C extends Detailed<R>, A extends { collection: C }>(
  among: A,
  fields: unknown,
): A {
  const { collection } = among;
  const { detail } = collection;
  if (detail === undefined) return among;
  const asked = parseFields(collection.columns, fields, collection.fields);
  const heads = asked?.map((name) => name.split(".")[0]) ?? detail.fields;
  if (!heads.some((name) => detail.fields.includes(name))) return among;
  const show: Detailed<R>["show"] = async (db, actor, rows, populate) => {
    const views = await collection.show(db, actor, rows, populate);
    for (const [at, row] of rows.entries()) {
      Object.assign(views[at], await detail.show(db, actor, row));
    }
    return views;
  };
  return { ...among, collection: { ...collection, show } };
}
