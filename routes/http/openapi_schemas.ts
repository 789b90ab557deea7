/**
 * Schemas of the OpenAPI document: zod schemas as JSON Schema. Those with an id become components;
 * the schemas of entities cut down by `fields` and extended by `populate` are derived from them.
 * @module
 */
import { z } from "zod";

/** A JSON object. */
export type Json = Record<string, unknown>;
/** Whether a schema describes a request or an answer. */
export type Direction = "input" | "output";

const PREFIX = "#/components/schemas/";

/** Converts schemas and collects their components. */
export interface SchemaWriter {
  components: Record<string, Json>;
  /** A schema, or a reference to it where it has an id of its own. */
  write(schema: z.ZodType, direction: Direction): Json;
  /** The members of an object of parameters. */
  members(schema: z.ZodType): { properties: Record<string, Json>; required: string[] };
  /** The answer of a route that takes `fields`: each entity whole, or with those fields alone. */
  writeReduced(schema: z.ZodType): Json;
}

/** Begins a document's schemas. Each zod schema is converted once. */
export function createSchemaWriter(): SchemaWriter {
  const components: Record<string, Json> = {};
  const known = { input: new Map<z.ZodType, Json>(), output: new Map<z.ZodType, Json>() };

  function convert(schema: z.ZodType, direction: Direction): Json {
    const before = known[direction].get(schema);
    if (before !== undefined) return before;
    const { $schema: _, $defs = {}, ...rest } = z.toJSONSchema(schema, {
      io: direction,
      unrepresentable: "any",
      reused: "inline",
    }) as Json & { $defs?: Record<string, Json> };
    for (const [name, part] of Object.entries($defs)) {
      const { id: _id, ...plain } = part;
      components[name] ??= simplify(plain, direction) as Json;
    }
    const made = simplify(rest, direction) as Json;
    known[direction].set(schema, made);
    return made;
  }

  function write(schema: z.ZodType, direction: Direction): Json {
    if (schema instanceof z.ZodArray && schema.meta() === undefined && isPlain(schema)) {
      return { type: "array", items: write(schema.element as z.ZodType, direction) };
    }
    const { id, ...plain } = convert(schema, direction);
    if (typeof id !== "string") return plain;
    components[id] ??= plain;
    return refer(id);
  }

  function members(schema: z.ZodType) {
    const { properties = {}, required = [] } = convert(schema, "input");
    return { properties: properties as Record<string, Json>, required: required as string[] };
  }

  const reduce = createReducer(components);
  return { components, write, members, writeReduced: (schema) => reduce(write(schema, "output")) };
}

/** Derives the schemas of answers cut down by `fields`. */
function createReducer(components: Record<string, Json>): (schema: Json) => Json {
  return reduce;

  function reduce(schema: Json): Json {
    if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: schema.anyOf.map(reduce) };
    if (schema.type === "array") return { ...schema, items: reduce(schema.items as Json) };
    const name = nameOf(schema);
    if (name === null) return schema;
    const { properties = {} } = components[name] as { properties?: Record<string, Json> };
    const rows = properties.rows as { items: Json } | undefined;
    if (rows === undefined) return { anyOf: [schema, refer(partOf(name))] };
    if (rows.items.anyOf === undefined) rows.items = reduce(rows.items);
    return schema;
  }

  /** Creates the component of another one cut down by `fields`; returns its name. */
  function partOf(name: string): string {
    const part = `${name}Part`;
    if (components[part] !== undefined) return part;
    components[part] = {}; // an entity may hold one of its own kind
    components[part] = {
      ...optional(components[name]) as Json,
      description: `Those fields of ${name} that \`fields\` asks for.`,
    };
    return part;
  }

  /** A schema none of whose members must be there. */
  function optional(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(optional);
    if (typeof value !== "object" || value === null) return value;
    const name = nameOf(value as Json);
    if (name !== null) {
      return components[name]?.required === undefined ? value : refer(partOf(name));
    }
    const { required, ...rest } = value as Json;
    const kept = required === undefined || Array.isArray(required) ? rest : value;
    return Object.fromEntries(Object.entries(kept).map(([key, item]) => [key, optional(item)]));
  }
}

/** Whether a list has no bounds. */
function isPlain(schema: z.ZodArray): boolean {
  return (schema.def.checks ?? []).length === 0;
}

/** A reference to a component. */
function refer(name: string): Json {
  return { $ref: `${PREFIX}${name}` };
}

function nameOf(schema: Json): string | null {
  const { $ref } = schema;
  return typeof $ref === "string" && $ref.startsWith(PREFIX) ? $ref.slice(PREFIX.length) : null;
}

/** Removes empty keywords, and replaces our own markers by their schemas. */
function simplify(value: unknown, direction: Direction): unknown {
  if (Array.isArray(value)) return value.map((item) => simplify(item, direction));
  if (typeof value !== "object" || value === null) return value;
  const made: Json = {};
  for (const [key, item] of Object.entries(value)) {
    made[key] = key === "$ref" ? `${item}`.replace("#/$defs/", PREFIX) : simplify(item, direction);
  }
  // Answers may grow fields, and a bound that every integer has says nothing.
  if (direction === "output" && made.additionalProperties === false) {
    delete made.additionalProperties;
  }
  if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
  if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
  if (made.type === "array" && made.prefixItems !== undefined) made.items = false;
  // A type that was given by hand replaces the alternative forms beside it.
  if (typeof made.type === "string" && made.anyOf !== undefined) delete made.anyOf;
  if (Array.isArray(made.anyOf)) made.anyOf = made.anyOf.flatMap(formsOf);
  return typeof made.populated === "string" ? populated(made) : made;
}

/** The forms of a choice among the forms of another one. */
function formsOf(form: Json): Json[] {
  const { anyOf, description: _, ...rest } = form;
  return Array.isArray(anyOf) && Object.keys(rest).length === 0 ? anyOf : [form];
}

/** An id, or with `populate` the entity itself. */
function populated({ populated: name, description, ...plain }: Json): Json {
  const forms = Array.isArray(plain.anyOf) ? plain.anyOf : [plain];
  return {
    anyOf: [...forms, refer(`${name}`)],
    description: description ?? `The id; with \`populate\`, the ${`${name}`.toLowerCase()} itself.`,
  };
}
