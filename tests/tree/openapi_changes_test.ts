/** What counts as a change of the OpenAPI document that breaks clients. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { breakingChanges } from "../../lint/openapi_changes.ts";

type Json = Record<string, unknown>;

/** A small document: one operation that sends and gets the shared schema. */
function document(): Json {
  return structuredClone({
    paths: {
      "/v1/things": {
        post: {
          operationId: "createThing",
          parameters: [
            { name: "mode", in: "query", required: false, schema: { enum: ["a", "b"] } },
            { $ref: "#/components/parameters/page" },
          ],
          requestBody: { required: false, content: jsonContent("#/components/schemas/NewThing") },
          responses: {
            201: { description: "", content: jsonContent("#/components/schemas/Thing") },
            400: { description: "", content: jsonContent("#/components/schemas/Problem") },
          },
        },
      },
      "/v1/others": { get: { operationId: "listOthers", responses: {} } },
    },
    webhooks: {
      "thing.made": {
        post: { requestBody: { content: jsonContent("#/components/schemas/Spot") } },
      },
    },
    components: {
      parameters: {
        page: { name: "page", in: "query", schema: { type: "integer", minimum: 1, maximum: 500 } },
      },
      schemas: {
        NewThing: {
          type: "object",
          additionalProperties: false,
          required: ["name"],
          properties: {
            name: { type: "string", maxLength: 100 },
            size: { type: ["integer", "null"] },
            place: { anyOf: [{ $ref: "#/components/schemas/Spot" }, { type: "string" }] },
          },
        },
        Thing: {
          type: "object",
          required: ["id", "state"],
          properties: {
            id: { type: "string" },
            state: { type: "string", enum: ["NEW", "DONE"] },
            inside: { $ref: "#/components/schemas/Thing" }, // it is part of itself
            kind: { anyOf: [{ type: "string" }, { type: "null" }] },
          },
        },
        Spot: { type: "object", properties: { town: { type: "string" } } },
        Problem: { type: "object", properties: { code: { enum: ["x"] } } },
      },
    },
  });
}

function jsonContent($ref: string): Json {
  return { "application/json": { schema: { $ref } } };
}

// The documents of these tests are plain JSON, whose shape the test itself has written.
// deno-lint-ignore no-explicit-any
type Change = (document: any) => void;

const CREATE = "POST /v1/things";
const BREAKING: readonly (readonly [string, Change])[] = [
  ["GET /v1/others: is gone", (d) => delete d.paths["/v1/others"]],
  [
    "GET /v1/others: operationId was listOthers, is others",
    (d) => d.paths["/v1/others"].get.operationId = "others",
  ],
  [`${CREATE}: a body is required`, (d) => postOf(d).requestBody.required = true],
  [`${CREATE}: no longer answers 201`, (d) => delete postOf(d).responses[201]],
  [`${CREATE} query mode: is gone`, (d) => postOf(d).parameters.shift()],
  [`${CREATE} query mode: is required`, (d) => postOf(d).parameters[0].required = true],
  [`${CREATE} query mode: a is refused`, (d) => postOf(d).parameters[0].schema.enum.shift()],
  [
    `${CREATE} header if-match: is new and required`,
    (d) => postOf(d).parameters.push({ name: "if-match", in: "header", required: true }),
  ],
  [
    `${CREATE} query page: maximum was 500, is 100`,
    (d) => d.components.parameters.page.schema.maximum = 100,
  ],
  [
    `${CREATE} query page: minimum was 1, is 2`,
    (d) => d.components.parameters.page.schema.minimum = 2,
  ],
  [`${CREATE} body.size: is gone`, (d) => delete d.components.schemas.NewThing.properties.size],
  [`${CREATE} body.size: is required`, (d) => d.components.schemas.NewThing.required.push("size")],
  [
    `${CREATE} body.size: type null is refused`,
    (d) => d.components.schemas.NewThing.properties.size.type = "integer",
  ],
  [
    `${CREATE} body.name: pattern was undefined, is ^a`,
    (d) => d.components.schemas.NewThing.properties.name.pattern = "^a",
  ],
  [
    `${CREATE} body.place: anyOf Spot is gone`,
    (d) => d.components.schemas.NewThing.properties.place.anyOf.shift(),
  ],
  [`${CREATE} 201.state: is gone`, (d) => delete d.components.schemas.Thing.properties.state],
  [
    `${CREATE} 201.state: is no longer always there`,
    (d) => d.components.schemas.Thing.required.pop(),
  ],
  [
    `${CREATE} 201.id: type integer is new`,
    (d) => d.components.schemas.Thing.properties.id.type = ["string", "integer"],
  ],
  [
    `${CREATE} 201.kind: anyOf ["integer",null,null] is new`,
    (d) => d.components.schemas.Thing.properties.kind.anyOf.push({ type: "integer" }),
  ],
  [
    `${CREATE} 201: no longer application/json`,
    (d) => postOf(d).responses[201].content = { "text/csv": {} },
  ],
  ["webhook thing.made: is gone", (d) => delete d.webhooks["thing.made"]],
  [
    "webhook thing.made.town: is gone",
    (d) => delete d.components.schemas.Spot.properties.town,
  ],
];

const ADDITIONS: readonly (readonly [string, Change])[] = [
  ["an operation", (d) => d.paths["/v1/more"] = { get: { operationId: "more" } }],
  [
    "an optional parameter",
    (d) => postOf(d).parameters.push({ name: "x", in: "query", schema: {} }),
  ],
  ["a value that is taken", (d) => postOf(d).parameters[0].schema.enum.push("c")],
  [
    "a member that may be sent",
    (d) => d.components.schemas.NewThing.properties.colour = { type: "string" },
  ],
  ["a member that comes back", (d) => d.components.schemas.Thing.properties.made = {}],
  ["a value that comes back", (d) => d.components.schemas.Thing.properties.state.enum.push("ON")],
  ["a member that is always there", (d) => d.components.schemas.Thing.required.push("kind")],
  ["a longer text", (d) => d.components.schemas.NewThing.properties.name.maxLength = 200],
  ["a wider number", (d) => d.components.parameters.page.schema.maximum = 1000],
  ["an answer", (d) => postOf(d).responses[202] = { description: "" }],
  ["another code of a problem", (d) => d.components.schemas.Problem.properties.code.enum = ["y"]],
];

// deno-lint-ignore no-explicit-any -- as above
function postOf(document: any): any {
  return document.paths["/v1/things"].post;
}

for (const [line, change] of BREAKING) {
  Deno.test(`a change of the document breaks clients: ${line}`, () => {
    const after = document();
    change(after);
    const found = breakingChanges(document(), after);
    ok(found.includes(line), found.join("\n"));
  });
}

for (const [what, change] of ADDITIONS) {
  Deno.test(`an addition to the document breaks nobody: ${what}`, () => {
    const after = document();
    change(after);
    deepEqual(breakingChanges(document(), after), []);
  });
}

Deno.test("the document that is kept breaks no client of itself, and describes more than two hundred operations", async () => {
  const text = await Deno.readTextFile(new URL("../../client/openapi.json", import.meta.url));
  const kept = JSON.parse(text);
  deepEqual(breakingChanges(kept, kept), []);
  const operations = Object.values(kept.paths as Json).flatMap((path) => Object.keys(path as Json));
  equal(operations.length > 200, true, `${operations.length}`);
});
