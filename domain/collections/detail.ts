/** What the own route of one entity shows beyond lists. @module */
import type { Columns } from "../../db/collections/filter.ts";
import type { Db } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { parseFields } from "./list_parameters.ts";

type View = Record<string, unknown>;

/** What one entity shows beyond lists; it is read only where one of its fields is asked for. */
export interface Detail<R> {
  fields: readonly string[];
  show: (db: Db, actor: Actor, row: R) => Promise<View>;
}

interface Detailed<R> {
  columns: Columns;
  fields: readonly string[];
  detail?: Detail<R>;
  show: (db: Db, actor: Actor, rows: R[], populate: ReadonlySet<string>) => Promise<View[]>;
}

/** Gives a collection whose rows are shown with their details, as far as `fields` names them. */
export function withDetail<R, C extends Detailed<R>>(collection: C, fields: unknown): C {
  const { detail } = collection;
  if (detail === undefined) return collection;
  const asked = parseFields(collection.columns, fields, collection.fields);
  const heads = asked?.map((name) => name.split(".")[0]) ?? detail.fields;
  if (!heads.some((name) => detail.fields.includes(name))) return collection;
  return {
    ...collection,
    async show(db, actor, rows, populate) {
      const views = await collection.show(db, actor, rows, populate);
      for (const [at, row] of rows.entries()) {
        Object.assign(views[at], await detail.show(db, actor, row));
      }
      return views;
    },
  };
}
