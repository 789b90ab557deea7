/**
 * The OpenAPI 3.1 document, generated from the routes' own declarations: the schemas that validate
 * are the schemas documented. It is made when it is first asked for, in steps between which other
 * requests are served.
 * @module
 */
import { z } from "zod";
import { operationId } from "./openapi_names.ts";
import { ALLOWANCE, createProblemWriter, problemSchema } from "./openapi_problems.ts";
import { createSchemaWriter, type Json, type SchemaWriter } from "./openapi_schemas.ts";
import { HEADERS, SECURITY, SECURITY_SCHEMES, SERVICE, TAGS } from "./openapi_texts.ts";
import { basePathOf } from "./request_targets.ts";
import {
  exampleOf,
  type Examples,
  exemplifyParameters,
  readExamples,
  shownIn,
} from "./openapi_examples.ts";
import { breathe, prepare, type Prepared, replyPrepared, UNCHANGED } from "./prepared_texts.ts";
import { type AnyRoute, route } from "./route.ts";
import { describeWebhooks } from "./openapi_webhooks.ts";
import type { Services } from "./services.ts";
import { tableOf, takesMatch } from "./preconditions.ts";

export type { Json };

/** Time that other requests wait for the document at most, plus one step. */
const SLICE_MS = 2;

/** The route of the document. */
export function openapiRoutes(routes: () => AnyRoute[]): AnyRoute[] {
  const documents = new WeakMap<Services, Promise<Prepared>>();
  function documentFor(services: Services): Promise<Prepared> {
    let document = documents.get(services);
    if (document === undefined) {
      document = makeText(routes(), basePathOf(services.config.baseUrl)).then(prepare);
      documents.set(services, document);
      document.catch(() => documents.delete(services));
    }
    return document;
  }
  return [
    route({
      method: "GET",
      path: "/v1/openapi.json",
      tag: "Operations",
      operation: "getOpenapi",
      summary: "Read this description of the API",
      access: "open",
      status: 200,
      answer: z.object({ openapi: z.string() }),
      others: UNCHANGED,
      errors: [],
      handle: async (call) => replyPrepared(call, await documentFor(call.services)),
    }),
  ];
}

/** Makes the document's text, with the examples. */
async function makeText(routes: readonly AnyRoute[], basePath: string): Promise<string> {
  const examples = await readExamples();
  return await inSlices(printing(routes, { basePath, examples }));
}

/** What a document has besides routes. */
export interface Surroundings {
  /** The path under which the service is reached. */
  basePath?: string;
  examples?: Examples;
}

/** Describes routes as an OpenAPI 3.1 document. */
export function describe(routes: readonly AnyRoute[], surroundings: Surroundings = {}): Json {
  const steps = describing(routes, surroundings);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Takes steps to their end and lets others have their turn between them. */
async function inSlices<T>(steps: Generator<void, T>): Promise<T> {
  for (let start = performance.now();;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() - start < SLICE_MS) continue;
    await breathe();
    start = performance.now();
  }
}

/** Prints a description as {@link describe} gives it. */
function* printing(
  routes: readonly AnyRoute[],
  surroundings: Surroundings,
): Generator<void, string> {
  return yield* print(yield* describing(routes, surroundings), 3);
}

/** Prints an object, its members in steps down to a depth. */
function* print(value: unknown, depth: number): Generator<void, string> {
  if (depth === 0 || typeof value !== "object" || value === null || Array.isArray(value)) {
    return JSON.stringify(value);
  }
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    members.push(`${JSON.stringify(name)}:${yield* print(member, depth - 1)}`);
    yield;
  }
  return `{${members.join()}}`;
}

/** Describes one route in a few steps. */
function* describing(
  routes: readonly AnyRoute[],
  { basePath = "", examples = {} }: Surroundings,
): Generator<void, Json> {
  const schemas = createSchemaWriter();
  const problems = createProblemWriter(headersOf);
  const paths: Record<string, Json> = {};
  for (const each of routes) {
    const asked = operation(each, schemas, examples);
    yield;
    const answered = successes(each, schemas, examples);
    yield;
    const { [each.path]: before } = paths;
    const responses = { ...answered, ...problems.write(each) };
    paths[each.path] = { ...before, [each.method.toLowerCase()]: { ...asked, responses } };
    yield;
  }
  const webhooks = describeWebhooks(schemas, shownIn(paths));
  yield;
  const parameters = yield* shareParameters(paths);
  exemplifyParameters(paths, examples);
  yield;
  const responses = yield* shareResponses(paths);
  return {
    openapi: "3.1.0",
    info: SERVICE,
    servers: [{ url: basePath === "" ? "/" : basePath }],
    tags: [...new Set(routes.map((each) => each.tag))]
      .map((name) => ({ name, description: TAGS[name] })),
    paths,
    webhooks,
    components: {
      schemas: { ...schemas.components, Problem: problemSchema() },
      responses: { ...responses, ...problems.components },
      parameters,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function operation(each: AnyRoute, schemas: SchemaWriter, examples: Examples): Json {
  const name = operationId(each);
  return {
    operationId: name,
    tags: [each.tag],
    summary: each.summary,
    ...(each.description === undefined ? {} : { description: each.description }),
    ...(each.deprecated === undefined ? {} : { deprecated: true }),
    security: SECURITY[each.access],
    parameters: [
      ...parametersOf(each.params, "path", schemas),
      ...parametersOf(each.query, "query", schemas),
      ...headerParameters(each),
    ],
    ...(each.body === undefined ? {} : {
      requestBody: {
        required: each.method !== "GET" && !each.body.safeParse({}).success,
        content: {
          "application/json": {
            schema: schemas.write(each.body, "input"),
            ...exampleOf(examples[name]?.body),
          },
        },
      },
    }),
  };
}

/** The answers that are no refusals. */
function successes(each: AnyRoute, schemas: SchemaWriter, examples: Examples): Json {
  const name = operationId(each);
  const reduced = each.query !== undefined && "fields" in schemas.members(each.query).properties;
  const schema = reduced ? schemas.writeReduced(each.answer) : schemas.write(each.answer, "output");
  const content = {
    [each.type ?? "application/json"]: { schema, ...exampleOf(examples[name]?.answer) },
    ...Object.fromEntries(
      (each.alternatives ?? []).map((type) => [type, {
        schema: { type: "string" },
        ...exampleOf(examples[`${name} ${type}`]?.answer),
      }]),
    ),
  };
  const headers = headersOf(successHeaders(each));
  const found: Json = { [each.status]: { description: "Success", headers, content } };
  if (each.method === "GET" && tableOf(each) !== null) {
    found[304] = { description: "The client has this answer: `if-none-match` names it.", headers };
  }
  for (const [status, { description, answer }] of Object.entries(each.others ?? {})) {
    found[status] = {
      description,
      headers,
      ...(answer === undefined ? {} : {
        content: {
          "application/json": {
            schema: schemas.write(answer, "output"),
            ...exampleOf(examples[`${name} ${status}`]?.answer),
          },
        },
      }),
    };
  }
  return found;
}

function successHeaders(each: AnyRoute): string[] {
  const names = ["x-request-id"];
  const isCounted = each.access === "user" || each.access === "application";
  if (isCounted && each.cost !== "none") names.push(...ALLOWANCE);
  if (isKeyed(each)) names.push("idempotency-replayed");
  if (each.waits) names.push("preference-applied");
  if (tableOf(each) !== null) names.push("etag");
  if (each.makes !== undefined) names.push("location");
  if (each.continues !== undefined) names.push("link");
  if (each.mayLag) names.push("replica-lag");
  if (each.deprecated !== undefined) names.push("deprecation", "sunset");
  return names;
}

function headersOf(names: readonly string[]): Json {
  return Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

function parametersOf(
  schema: z.ZodType | undefined,
  where: "path" | "query",
  schemas: SchemaWriter,
): Json[] {
  if (schema === undefined) return [];
  const { properties, required } = schemas.members(schema);
  return Object.entries(properties).map(([name, { description, explode, ...rest }]) => ({
    name,
    in: where,
    required: where === "path" || (required.includes(name) && rest.default === undefined),
    ...(description === undefined ? {} : { description }),
    ...(explode === undefined ? {} : { style: "form", explode }),
    schema: rest,
  }));
}

function isKeyed({ method, access }: AnyRoute): boolean {
  return (method === "POST" || method === "PATCH") && access !== "application";
}

function headerParameters(each: AnyRoute): Json[] {
  const found: Json[] = [];
  if (isKeyed(each)) {
    found.push({
      name: "idempotency-key",
      in: "header",
      required: false,
      description: "A repeat with the same key gets the same answer and changes nothing; also a " +
        "refusal is kept. Kept for 7 days.",
      schema: { type: "string", pattern: "^[!-~]{1,255}$" },
    });
  }
  if (takesMatch(each)) {
    found.push({
      name: "if-match",
      in: "header",
      required: false,
      description: "`etag` of the version that is to be changed; another one is refused with 409.",
      schema: { type: "string" },
    });
  }
  if (each.method === "GET" && tableOf(each) !== null) {
    found.push({
      name: "if-none-match",
      in: "header",
      required: false,
      description: "`etag` of an answer that is known: 304 where it would be the same.",
      schema: { type: "string" },
    });
  }
  if (each.resumes) {
    found.push({
      name: "last-event-id",
      in: "header",
      required: false,
      description: "The last event that is known; the stream goes on after it.",
      schema: { type: "string" },
    });
  }
  if (each.mayLag) {
    found.push({
      name: "prefer",
      in: "header",
      required: false,
      description: "`read=primary`: no replica answers, so the answer shows all that was written.",
      schema: { type: "string", pattern: "^read=primary$" },
    });
  }
  if (each.waits) {
    found.push({
      name: "prefer",
      in: "header",
      required: false,
      description: "`wait=N`, from 1 to 30 seconds: answers when the entity is ready, or then.",
      schema: { type: "string", pattern: "^wait=[0-9]{1,2}$" },
    });
  }
  return found;
}

/** Puts parameters that several operations have into components. */
function* shareParameters(paths: Record<string, Json>): Generator<void, Record<string, Json>> {
  const slots: Slot[] = [];
  for (const path of Object.values(paths)) {
    for (const each of Object.values(path) as { parameters: Json[] }[]) {
      each.parameters.forEach((one, at) => slots.push({ of: each.parameters, at, one }));
    }
  }
  return yield* share(slots, "parameters", ({ name }) => `${name}`);
}

/** Puts answers that several operations have into components. */
function* shareResponses(paths: Record<string, Json>): Generator<void, Record<string, Json>> {
  const slots: Slot[] = [];
  for (const path of Object.values(paths)) {
    for (const { responses } of Object.values(path) as { responses: Record<string, Json> }[]) {
      for (const [at, one] of Object.entries(responses)) {
        if (one.$ref === undefined) slots.push({ of: responses, at, one });
      }
    }
  }
  return yield* share(slots, "responses", answerName);
}

/** The position of a value that may be shared. */
interface Slot {
  of: Json[] | Record<string, Json>;
  at: number | string;
  one: Json;
}

/** Moves values that stand more than once into components of their own. */
function* share(
  slots: readonly Slot[],
  kind: string,
  nameOf: (one: Json) => string,
): Generator<void, Record<string, Json>> {
  const uses = new Map<string, Slot[]>();
  for (const slot of slots) {
    const key = JSON.stringify(slot.one);
    uses.set(key, [...uses.get(key) ?? [], slot]);
    yield;
  }
  const shared: Record<string, Json> = {};
  for (const used of uses.values()) {
    if (used.length < 2) continue;
    const [{ one }] = used;
    const plain = nameOf(one);
    let name = plain;
    for (let n = 2; shared[name] !== undefined; n++) name = `${plain}${n}`;
    shared[name] = one;
    for (const { of, at } of used) {
      (of as Record<string, Json>)[at] = { $ref: `#/components/${kind}/${name}` };
    }
  }
  return shared;
}

/** Names an answer by its schema. */
function answerName({ content }: Json): string {
  const [media] = Object.values((content ?? {}) as Record<string, { schema: Json }>);
  return nameOfSchema(media?.schema ?? {});
}

function nameOfSchema(schema: Json): string {
  if (typeof schema.$ref === "string") return schema.$ref.split("/").at(-1)!;
  if (schema.type === "array") return `${nameOfSchema(schema.items as Json)}List`;
  const [form] = (schema.anyOf ?? []) as Json[];
  if (form !== undefined) return `${nameOfSchema(form)}Reduced`;
  return schema.type === "integer" ? "Count" : "Answer";
}
