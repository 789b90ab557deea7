/**
 * The OpenAPI 3.1 document, made from the routes' own declarations the first time it is asked for:
 * what validates is what is documented.
 * @module
 */
import { z } from "zod";
import type { ErrorCode } from "../domain/errors.ts";
import { PROBLEMS } from "./errors.ts";
import { type AnyRoute, route } from "./route.ts";

/** A JSON object. */
export type Json = Record<string, unknown>;

/** Codes that any route can answer. */
const COMMON: readonly ErrorCode[] = [
  "query.invalid",
  "request.not_acceptable",
  "rate.limited",
  "internal",
  "service.overloaded",
];
const KEYED: readonly ErrorCode[] = [
  "auth.missing",
  "auth.invalid",
  "auth.expired",
  "auth.revoked",
  "credits.exhausted",
];
const WITH_BODY: readonly ErrorCode[] = [
  "request.malformed",
  "request.invalid",
  "request.too_large",
  "request.media_type",
];

/** The route of the document. */
export function openapiRoutes(routes: () => AnyRoute[]): AnyRoute[] {
  let text: string | null = null;
  return [
    route({
      method: "GET",
      path: "/v1/openapi.json",
      tag: "Operations",
      summary: "Read this description of the API",
      access: "open",
      status: 200,
      answer: z.object({ openapi: z.string() }),
      errors: [],
      handle: ({ services }) => {
        text ??= JSON.stringify(describe(routes(), services.config.baseUrl));
        return Promise.resolve({ status: 200, body: text });
      },
    }),
  ];
}

/** Describes routes as an OpenAPI 3.1 document. */
export function describe(routes: readonly AnyRoute[], baseUrl: string): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const each of routes) {
    paths[each.path] ??= {};
    paths[each.path][each.method.toLowerCase()] = operation(each, schemas);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Purser",
      version: "1.0.0",
      description: "Digital-asset accounting: a double-entry ledger with wallets on blockchains.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: baseUrl }],
    tags: [...new Set(routes.map((each) => each.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { ...schemas, Problem: problemSchema() },
      securitySchemes: {
        key: { type: "apiKey", in: "header", name: "x-api-key" },
        bearer: { type: "http", scheme: "bearer" },
      },
    },
  };
}

function operation(each: AnyRoute, schemas: Json): Json {
  return {
    operationId: operationId(each),
    tags: [each.tag],
    summary: each.summary,
    ...(each.description === undefined ? {} : { description: each.description }),
    security: each.access === "open" ? [] : [{ key: [] }, { bearer: [] }],
    parameters: [
      ...parameters(each.params, "path", schemas),
      ...parameters(each.query, "query", schemas),
      ...headerParameters(each),
    ],
    ...(each.body === undefined ? {} : {
      requestBody: {
        required: each.method !== "GET",
        content: { "application/json": { schema: schemaOf(each.body, "input", schemas) } },
      },
    }),
    responses: {
      [each.status]: {
        description: "Success",
        content: {
          [each.type ?? "application/json"]: {
            schema: schemaOf(each.answer, "output", schemas),
          },
          ...Object.fromEntries(
            (each.alternatives ?? []).map((type) => [type, { schema: { type: "string" } }]),
          ),
        },
      },
      ...problemResponses(each),
    },
  };
}

function operationId(each: AnyRoute): string {
  const words = each.path.replace(/^\/v1\//, "").split(/[^A-Za-z0-9]+/).filter((word) => word);
  return [each.method.toLowerCase(), ...words].map((word, i) =>
    i === 0 ? word : word[0].toUpperCase() + word.slice(1)
  ).join("");
}

function parameters(schema: z.ZodType | undefined, where: string, schemas: Json): Json[] {
  if (schema === undefined) return [];
  const object = jsonSchema(schema, "input", schemas) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(object.properties ?? {}).map(([name, { description, ...rest }]) => ({
    name,
    in: where,
    required: where === "path" || (object.required ?? []).includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }));
}

function headerParameters(each: AnyRoute): Json[] {
  if (each.method !== "POST" && each.method !== "PATCH") return [];
  return [{
    name: "idempotency-key",
    in: "header",
    required: false,
    description: "A repeat with the same key gets the same answer and changes nothing.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  }];
}

function problemResponses(each: AnyRoute): Json {
  const codes = new Set<ErrorCode>([...COMMON, ...each.errors]);
  if (each.access !== "open") { for (const code of KEYED) codes.add(code); }
  if (each.body !== undefined) { for (const code of WITH_BODY) codes.add(code); }
  if (each.method === "POST" || each.method === "PATCH") codes.add("idempotency.key_reused");
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...byStatus.get(status) ?? [], code]);
  }
  return Object.fromEntries(
    [...byStatus].sort(([a], [b]) => a - b).map(([status, list]) => [status, {
      description: list.map((code) => `\`${code}\`: ${PROBLEMS[code].help}`).join("\n\n"),
      content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
    }]),
  );
}

/** A schema as JSON Schema; one with an id of its own becomes a component and a reference. */
function schemaOf(schema: z.ZodType, io: "input" | "output", schemas: Json): Json {
  const { id, ...plain } = jsonSchema(schema, io, schemas);
  if (typeof id !== "string") return plain;
  schemas[id] = plain;
  return { $ref: `#/components/schemas/${id}` };
}

/** A schema as JSON Schema, its parts with an id of their own as components. */
function jsonSchema(schema: z.ZodType, io: "input" | "output", schemas: Json): Json {
  const { $schema: _, $defs, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    reused: "inline",
    override: ({ jsonSchema: made }) => {
      // Answers may grow fields, and a bound that every integer has says nothing.
      if (io === "output" && made.additionalProperties === false) delete made.additionalProperties;
      if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
      if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
    },
  }) as Json & { $defs?: Record<string, Json> };
  for (const [name, definition] of Object.entries($defs ?? {})) {
    const { id: _id, ...plain } = definition;
    schemas[name] = rewrite(plain);
  }
  return rewrite(rest);
}

/** Points references at the document's components. */
function rewrite(value: Json): Json {
  return JSON.parse(JSON.stringify(value).replaceAll("#/$defs/", "#/components/schemas/")) as Json;
}

function problemSchema(): Json {
  return {
    type: "object",
    description: "What went wrong (RFC 9457). Clients switch on `code`.",
    required: ["type", "title", "status", "detail", "code", "instance"],
    properties: {
      type: { type: "string", format: "uri" },
      title: { type: "string" },
      status: { type: "integer" },
      detail: { type: "string" },
      code: { type: "string", enum: Object.keys(PROBLEMS) },
      instance: { type: "string", description: "The request id." },
      errors: {
        type: "array",
        items: {
          type: "object",
          properties: { path: { type: "string" }, message: { type: "string" } },
        },
      },
      index: { type: "integer", description: "Position of the refused item in a batch." },
    },
  };
}
