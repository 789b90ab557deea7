/**
 * The parameters of the generic routes as schemas, for a collection's own fields. They take text as
 * query strings give it; list_parameters.ts and filter.ts read its meaning.
 * @module
 */
import { z } from "zod";
import type { Columns } from "../../db/collections/filter.ts";
import { type AnyCollection, populatable } from "./collection.ts";
import { ExportFields } from "./exports.ts";

const REACHES = ["own", "all", "-own", "-all"];
const FLOWS = ["incoming", "outgoing", "-incoming", "-outgoing"];
const SEARCHABLE: readonly Columns[string]["type"][] = ["text", "texts", "id", "json"];

/** The parameters of a collection's get, count, find and list. */
export interface CollectionQueries {
  get: z.ZodObject<{ fields: Names; scope: Names; populate: Names }, z.core.$strict>;
  count: z.ZodObject<CountShape, z.core.$strict>;
  find: z.ZodObject<FindShape, z.core.$strict>;
  /** Those of a find of a collection that is exported. */
  exporting: z.ZodObject<FindShape & typeof ExportFields, z.core.$strict>;
  list: z.ZodObject<ListShape, z.core.$strict>;
}

/** A text that may be left out. */
export type Text = z.ZodOptional<z.ZodString>;
/** Names that may be left out. */
export type Names = z.ZodOptional<z.ZodUnion<readonly [z.ZodString, z.ZodArray<z.ZodString>]>>;
/** Parameters of a count. */
export type CountShape = { query: Text; search: Text; searchFields: Names; scope: Names };
/** Parameters of every route that shows entities. */
export type ShownShape = CountShape & { fields: Names; sort: Names; populate: Names };
/** Parameters of a find. */
export type FindShape = ShownShape & { limit: Text; offset: Text; after: Text };
/** Parameters of a list. */
export type ListShape = ShownShape & { page: Text; pageSize: Text };

/** Pages, where they are asked for by number. */
export const PageFields: { page: Text; pageSize: Text } = {
  page: whole("Which page, from 1.", 1),
  pageSize: whole("Rows of a page; 10 unless given.", 1, 500),
};

/** Makes the parameters of a collection's routes. */
export function queriesOf(collection: AnyCollection): CollectionQueries {
  const { columns } = collection;
  const others: readonly string[] = collection.fields;
  const scope = names(
    "The owners, and deleted entities. Lists show the user's own entities unless `all` is given, " +
      "which takes a user of scope realm. `deleted` asks for deleted ones alone, `false` for both.",
    {
      enum: [...REACHES, ...collection.flows ? FLOWS : [], "deleted", "-deleted", "true", "false"],
    },
  );
  const named = populatable(collection);
  const populate = names(
    named.length === 0
      ? "Nothing of these can be populated."
      : "Relations that are shown whole in place of their ids.",
    { enum: [...named, "false"] },
  );
  const fields = names("Fields to answer with, dotted into objects; all unless given.", {
    pattern: patternOf([...Object.keys(columns), ...others], () => true),
  });
  const count: CountShape = {
    query: z.string().optional().meta({
      description: "A condition as JSON text: see the query language above.",
      contentMediaType: "application/json",
      example: '{"created_at":{"$gte":1767225600000}}',
    }),
    search: z.string().optional().meta({
      description: "Text that must be contained, in upper or lower case.",
      maxLength: 1000,
    }),
    searchFields: names("Fields that are searched; those of text unless given.", {
      pattern: patternOf(
        Object.keys(columns).filter((name) => SEARCHABLE.includes(columns[name].type)),
        (name) => columns[name].type === "json",
      ),
    }),
    scope,
  };
  const shown: ShownShape = {
    ...count,
    fields,
    sort: names("Fields in order, with `-` before one to descend; `created_at` unless given.", {
      pattern: patternOf(Object.keys(columns), (name) => columns[name].type === "json", "-?"),
    }),
    populate,
  };
  const find: FindShape = {
    ...shown,
    limit: whole("Most entities of the answer; 1000 unless given.", 0, 1000),
    offset: whole("Number of entities that are skipped first.", 0, 100_000),
    after: z.string().optional().meta({
      description: "The id of the last one before: paging without a bound.",
      format: "uuid",
    }),
  };
  return {
    get: z.strictObject({ fields, scope, populate }),
    count: z.strictObject(count),
    find: z.strictObject(find),
    exporting: z.strictObject({ ...find, ...ExportFields }),
    list: z.strictObject({ ...shown, ...PageFields }),
  };
}

/** Names, separated by commas or given several times. */
function names(description: string, items: { enum: string[] } | { pattern: string }): Names {
  return z.union([z.string(), z.array(z.string())]).optional().meta({
    description,
    type: "array",
    items: { type: "string", ...items },
    explode: false,
  });
}

/** A whole number as a query string gives it. */
function whole(description: string, minimum: number, maximum?: number): Text {
  return z.string().optional().meta({
    description,
    type: "integer",
    minimum,
    ...(maximum === undefined ? {} : { maximum }),
  });
}

/** Matches names of fields, and places inside those that are objects. */
function patternOf(
  fields: readonly string[],
  isObject: (name: string) => boolean,
  before = "",
): string {
  const plain = fields.filter((name) => !isObject(name));
  const objects = fields.filter(isObject);
  const names = (list: readonly string[]) => list.map((name) => name.replaceAll(".", "[.]"));
  const dotted = `(?:${names(objects).join("|")})(?:[.][^ ,]+)?`;
  return `^${before}(?:${[...names(plain), ...objects.length > 0 ? [dotted] : []].join("|")})$`;
}
