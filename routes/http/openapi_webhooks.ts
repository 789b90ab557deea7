/** The part `webhooks` of the OpenAPI document: what the service sends to receivers. @module */
import { EVENT_SCHEMAS } from "../../domain/webhooks/event_schemas.ts";
import { exampleOf } from "./openapi_examples.ts";
import type { Json, SchemaWriter } from "./openapi_schemas.ts";

const EXAMPLE_TIME = "2026-01-01T00:00:00.000Z";
const TEXT = { type: "string" };
/** Headers of each delivery (Standard Webhooks). */
const PARAMETERS: readonly Json[] = [
  header("webhook-id", "The id of the event. Repeats have the same: receivers drop them."),
  header("webhook-timestamp", "When it was sent, in seconds since the epoch."),
  header("webhook-signature", "Signatures, parted by blanks: one of them must be the receiver's."),
];
const RESPONSES: Json = {
  "2XX": { description: "It was taken. Any other answer, or none in 10 s: it is sent again." },
  "410": { description: "The receiver is gone for ever: the webhook is deactivated." },
};

function header(name: string, description: string): Json {
  return { name, in: "header", required: true, description, schema: TEXT };
}

/** Describes what is sent for each event. `shown` gives what a route's example shows of a schema, if any does. */
export function describeWebhooks(
  schemas: SchemaWriter,
  shown: (schema: Json) => unknown = () => undefined,
): Json {
  const described: Json = {};
  for (const [type, { summary, data }] of Object.entries(EVENT_SCHEMAS)) {
    const whole = schemas.write(data, "output");
    described[type] = {
      post: {
        operationId: `on${type.split(/[._]/).map(capitalised).join("")}`,
        tags: ["Events"],
        summary,
        security: [], // A delivery carries no key: its signature says who sent it.
        parameters: PARAMETERS,
        requestBody: {
          required: true,
          content: {
            "application/json": { schema: bodyOf(type, whole), ...exampleFor(type, shown(whole)) },
          },
        },
        responses: RESPONSES,
      },
    };
  }
  return described;
}

/** An event of an entity that some route shows. */
function exampleFor(type: string, data: unknown): Json {
  return exampleOf(data === undefined ? undefined : { type, timestamp: EXAMPLE_TIME, data });
}

function bodyOf(type: string, data: Json): Json {
  return {
    type: "object",
    required: ["type", "timestamp", "data"],
    properties: {
      type: { const: type },
      timestamp: { ...TEXT, format: "date-time", description: "When it happened." },
      data: {
        anyOf: [data, {
          type: "object",
          description: "The id alone, where the whole exceeds 20 kB.",
          required: ["id"],
          properties: { id: TEXT },
          additionalProperties: false,
        }],
      },
    },
  };
}

function capitalised(word: string): string {
  return word[0].toUpperCase() + word.slice(1);
}
