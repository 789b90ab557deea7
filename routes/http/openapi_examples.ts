/**
 * Examples of the OpenAPI document: a real exchange of each operation, which a test repeats and compares. They are read
 * when the document is first made.
 * @module
 */
import type { Json } from "./openapi_schemas.ts";

/** An exchange, whose ids, times and secrets are made up. */
export interface Example {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
  readonly status: number;
  readonly answer: unknown;
}

/**
 * Examples by the name of their operation. After it, and a blank, stands the status or the media type of a further
 * answer.
 */
export type Examples = Readonly<Record<string, Example>>;

/** Reads the examples. */
export async function readExamples(): Promise<Examples> {
  const { default: text } = await import("./examples.json", { with: { type: "text" } });
  return JSON.parse(text);
}

/** The member of a media type, or of a parameter, that shows a value; none where there is none. */
export function exampleOf(value: unknown): Json {
  return value === undefined ? {} : { example: value };
}

/** Shows what the examples give for parameters that one operation alone has. */
export function exemplifyParameters(
  paths: Readonly<Record<string, Json>>,
  examples: Examples,
): void {
  for (const path of Object.values(paths)) {
    for (const one of Object.values(path) as { operationId: string; parameters: Json[] }[]) {
      const { [one.operationId]: example } = examples;
      for (const parameter of one.parameters) {
        const given = parameter.in === "path" ? example?.path : example?.query;
        Object.assign(parameter, exampleOf(given?.[`${parameter.name}`]));
      }
    }
  }
}

/** Finds what the example of an answer shows of a schema, alone or in a list, by the schema's name. */
export function shownIn(paths: Readonly<Record<string, Json>>): (schema: Json) => unknown {
  const shown = new Map<unknown, unknown>();
  for (const path of Object.values(paths)) {
    for (const { responses } of Object.values(path) as { responses: Record<string, Json> }[]) {
      for (const { content } of Object.values(responses) as { content?: Record<string, Json> }[]) {
        const { schema = {}, example } = content?.["application/json"] ?? {};
        const value = Array.isArray(example) ? example[0] : example;
        const name = entityOf(schema as Shape);
        if (name !== undefined && value !== undefined && !shown.has(name)) shown.set(name, value);
      }
    }
  }
  return (schema) => shown.get(schema.$ref);
}

interface Shape {
  readonly $ref?: string;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
}

/** The entity that an answer shows: where `fields` may reduce it, the whole one is the first. */
function entityOf({ $ref, items, anyOf }: Shape): string | undefined {
  return $ref ?? (items ? entityOf(items) : anyOf?.[0] && entityOf(anyOf[0]));
}
