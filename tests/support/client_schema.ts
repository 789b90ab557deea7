/**
 * What the client takes from the OpenAPI document: the types of every route (openapi-typescript), and the few facts
 * that its runtime needs. Amounts are text there, so that no digit is lost in a double; other numbers stay numbers.
 *
 * @module
 */
import openapiTS, { astToString } from "openapi-typescript";

/** A part of the document; looked into freely here. */
// deno-lint-ignore no-explicit-any
type Part = any;

const METHODS = ["get", "post", "put", "patch", "delete"];

const TYPES_HEADER = `/**
 * The routes of the service as types. Written by \`deno task openapi\`: do not edit.
 *
 * @module
 */

`;

/** Writes the types of every route, webhook and schema. */
export async function printTypes(document: Part): Promise<string> {
  const nodes = await openapiTS(JSON.stringify(typedForm(document)), {
    alphabetize: false,
    // A member with a default may be left out of a request.
    defaultNonNullable: false,
    silent: true,
  });
  return TYPES_HEADER + astToString(nodes).replace(/[ \t]+$/gm, "");
}

/** Writes what the runtime of the client needs of the document. */
export function printFacts(document: Part): string {
  const { code } = document.components.schemas.Problem.properties;
  const amounts: Record<string, string[]> = {};
  const unrepeatable: string[] = [];
  for (const [path, item] of Object.entries<Part>(document.paths)) {
    for (const method of METHODS.filter((one) => item[one] !== undefined)) {
      const found = new Set<string>();
      for (const answer of answersOf(document, item[method])) {
        find(document, answer, isAmount, [], found);
      }
      if (path === "/v1/events/all") {
        for (const one of eventAmounts(document)) found.add(`*.data.${one}`);
      }
      if (found.size > 0) amounts[`${method} ${path}`] = [...found].sort();
      const isKeyed = (item[method].parameters ?? []).some((one: Part) =>
        resolve(document, one).name === "idempotency-key"
      );
      if (/post|patch/.test(method) && !isKeyed) unrepeatable.push(`${method} ${path}`);
    }
  }
  return `/**
 * What the runtime needs of the OpenAPI document. Written by \`deno task openapi\`: do not edit.
 *
 * @module
 */

/** Where the answers of routes have amounts as JSON numbers, whose digits are kept as text: \`*\` is every item of a list. */
export const AMOUNTS: Readonly<Record<string, readonly string[]>> = ${printed(amounts)};

/** Where the data of events have such amounts. */
export const EVENT_AMOUNTS: readonly string[] = ${printed(eventAmounts(document))};

/** Writes that take no idempotency key, and are therefore sent once. */
export const UNREPEATABLE: readonly string[] = ${printed(unrepeatable)};

/** Every code of a problem. */
export const PROBLEM_CODES = ${printed(code.enum)} as const;
`;
}

function printed(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** The document as types should say it: amounts are text, and only answers that are returned have a type. */
function typedForm(document: Part): Part {
  const copy = structuredClone(document);
  amountsAsText(copy);
  Object.values<Part>(copy.components.schemas).forEach(oneOfAsUnion);
  for (const item of Object.values<Part>(copy.paths)) {
    for (const method of METHODS) {
      const answers = item[method]?.responses;
      for (const status of Object.keys(answers ?? {})) {
        // Problems are thrown, and their codes are one type.
        if (!status.startsWith("2")) delete answers[status];
        else delete answers[status].headers;
      }
    }
  }
  const used = JSON.stringify(copy.paths);
  const { responses } = copy.components;
  for (const name of Object.keys(responses)) {
    if (used.includes(`"#/components/responses/${name}"`)) delete responses[name].headers;
    else delete responses[name];
  }
  delete copy.components.headers;
  return copy;
}

/** Makes every schema of an amount one of a text, wherever it stands. */
function amountsAsText(part: Part): void {
  if (typeof part !== "object" || part === null) return;
  if (Array.isArray(part)) return part.forEach(amountsAsText);
  if (part.oneOf?.some(isAmount)) {
    Object.assign(part, { type: "string", description: "An exact decimal." });
    delete part.oneOf;
  } else if (isAmount(part)) {
    part.type = part.type === "number" ? "string" : ["string", "null"];
    for (const bound of ["minimum", "maximum", "exclusiveMinimum"]) delete part[bound];
    part.description ??= "An exact decimal.";
  }
  Object.values(part).forEach(amountsAsText);
}

/** Makes a schema that demands one of some members a union, each of which has the one and none of the others. */
function oneOfAsUnion(schema: Part): void {
  const { oneOf, properties = {} } = schema;
  if (!oneOf?.every((one: Part) => Object.keys(one).join() === "required")) return;
  const rivals: string[] = oneOf.flatMap(({ required }: Part) => required);
  if (new Set(rivals).size < rivals.length) return;
  schema.oneOf = oneOf.map(({ required }: Part) => ({
    type: "object",
    properties: Object.fromEntries(
      rivals.map((name) => [name, required.includes(name) ? properties[name] : false]),
    ),
    required,
  }));
  for (const name of rivals) delete properties[name];
}

/** Whether a schema is that of an amount as a JSON number: whole numbers have a type of their own. */
function isAmount({ type, const: constant }: Part): boolean {
  return [type].flat().includes("number") && constant === undefined;
}

/** Collects the paths of what is wanted below a schema. */
function find(
  document: Part,
  part: Part,
  isWanted: (schema: Part) => boolean,
  path: readonly string[],
  found: Set<string>,
  through: readonly string[] = [],
): void {
  const { $ref: ref } = part;
  if (through.includes(ref)) return;
  const below = (one: Part, ...names: string[]) =>
    find(document, one, isWanted, [...path, ...names], found, ref ? [...through, ref] : through);
  if (ref !== undefined) return below(resolve(document, part));
  if (isWanted(part)) found.add(path.join("."));
  for (const one of [...part.anyOf ?? [], ...part.oneOf ?? [], ...part.allOf ?? []]) below(one);
  if (part.items !== undefined) below(part.items, "*");
  for (const [name, one] of Object.entries<Part>(part.properties ?? {})) below(one, name);
}

/** Paths of amounts in the data of events, whichever their type. */
function eventAmounts(document: Part): string[] {
  const found = new Set<string>();
  const counts = new Set<string>();
  for (const { post } of Object.values<Part>(document.webhooks)) {
    const { data } = post.requestBody.content["application/json"].schema.properties;
    find(document, data, isAmount, [], found);
    find(document, data, ({ type }) => [type].flat().includes("integer"), [], counts);
  }
  const both = [...found].find((path) => counts.has(path));
  if (both !== undefined) throw new Error(`${both} is an amount in one event, a count in another`);
  return [...found].sort();
}

/** Schemas of the JSON that an operation answers with. */
function answersOf(document: Part, operation: Part): Part[] {
  return Object.entries<Part>(operation.responses)
    .filter(([status]) => status.startsWith("2"))
    .map(([, answer]) => resolve(document, answer).content?.["application/json"]?.schema)
    .filter((schema) => schema !== undefined);
}

function resolve(document: Part, part: Part): Part {
  if (part.$ref === undefined) return part;
  const path = part.$ref.slice(2).split("/");
  return path.reduce((at: Part, name: string) => at[name], document);
}
