/** The OpenAPI document as the fuzzer reads it, and the judge of answers against it. @module */
import addFormats from "ajv-formats";
import Ajv from "ajv/dist/2020.js";

// Documents and answers are looked into freely.
// deno-lint-ignore no-explicit-any
export type Json = any;

/** An operation with everything that it refers to. */
export interface Operation {
  id: string;
  method: string;
  path: string;
  parameters: { name: string; in: string; required: boolean; schema: Json }[];
  /** The schema of its body; null without one. */
  body: Json;
  bodyRequired: boolean;
  responses: Record<string, { content?: Record<string, { schema: Json }> }>;
}

/** Judges values by the document's schemas. */
export interface Judge {
  /** The fault of an answer; null if there is none. */
  answer(schema: Json, value: unknown, reduced: boolean): string | null;
  accepts(schema: Json, value: unknown): boolean;
}

/** The media type of answers without an end. */
const STREAM = "text/event-stream";

/** Lists the operations of a document that end. */
export function operationsOf(document: Json): Operation[] {
  const resolve = (one: Json) => one.$ref === undefined ? one : at(document, one.$ref);
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters.map(resolve),
      body: operation.requestBody?.content["application/json"].schema ?? null,
      bodyRequired: operation.requestBody?.required ?? false,
      responses: Object.fromEntries(
        Object.entries<Json>(operation.responses).map(([status, one]) => [status, resolve(one)]),
      ),
    }))
  ).filter(({ responses }) => responses["200"]?.content?.[STREAM] === undefined);
}

/** Resolves a reference of the document. */
export function at(document: Json, reference: string): Json {
  return reference.slice(2).split("/").reduce((found, name) => found[name], document);
}

/** Begins to judge. Where `fields` was not asked for, an answer must be whole. */
export function judgeOf(document: Json): Judge {
  const whole = compilerOf(JSON.parse(withoutParts(JSON.stringify(document))));
  const reduced = compilerOf(document);
  const input = compilerOf(document);
  return {
    answer(schema, value, cut) {
      const text = JSON.stringify(schema);
      const validate = cut ? reduced(text) : whole(withoutParts(text));
      if (validate(value)) return null;
      const [fault] = validate.errors!;
      return `${fault.instancePath.replaceAll(/\d+/g, "N")} ${fault.message}` +
        (fault.params?.allowedValues === undefined ? "" : ` ${fault.params.allowedValues}`);
    },
    accepts: (schema, value) => input(JSON.stringify(schema))(value),
  };
}

/** Takes the choice of a part of an entity away. */
function withoutParts(text: string): string {
  return text.replaceAll(
    /\{"anyOf":\[(\{"\$ref":"#\/components\/schemas\/(\w+)"\}),\{"\$ref":"#\/components\/schemas\/\2Part"\}\]\}/g,
    "$1",
  );
}

function compilerOf(document: Json): (schema: string) => Json {
  const ajv = new (Ajv as Json)({ strict: false, validateFormats: true, allErrors: false });
  (addFormats as Json)(ajv);
  const rebased = (text: string) => text.replaceAll('"#/components/', '"document#/components/');
  const components = JSON.parse(rebased(JSON.stringify(document.components)));
  ajv.addSchema({ $id: "document", components });
  const known = new Map<string, Json>();
  return (schema) => {
    const validate = known.get(schema) ?? ajv.compile(JSON.parse(rebased(schema)));
    known.set(schema, validate);
    return validate;
  };
}
