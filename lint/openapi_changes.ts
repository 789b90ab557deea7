/**
 * Changes of the OpenAPI document that break a client: what it sends would be refused, or what it gets would no longer
 * be what it was told. Additions are allowed: operations, optional parameters and members, answers, values of a
 * response's enumeration (clients must bear values that they do not know).
 *
 * @module
 */

type Json = Record<string, unknown>;

/** Who writes a value: the client, who must not be refused, or the service, which must not surprise. */
type Side = "request" | "response";

/** Two documents, the schemas whose comparison was begun, and what was found. */
interface Comparison {
  readonly before: Json;
  readonly after: Json;
  readonly begun: Set<string>;
  readonly found: Set<string>;
}

const METHODS = ["get", "post", "put", "patch", "delete"];
/** Keywords of which a smaller value takes less, and those of which a greater one does. */
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
/** Keywords whose change narrows a request or widens a response in a way that cannot be judged. */
const FIXED = ["format", "pattern", "const", "multipleOf", "uniqueItems"];

/** Lists what a client of the document before could not bear in the one after; a line each. */
export function breakingChanges(before: Json, after: Json): string[] {
  const of: Comparison = { before, after, begun: new Set(), found: new Set() };
  const [old, now] = [operationsOf(before), operationsOf(after)];
  for (const [name, operation] of old) {
    const successor = now.get(name);
    if (successor === undefined) of.found.add(`${name}: is gone`);
    else compareOperations(of, name, operation, successor);
  }
  const [heard, hears] = [jsonOf(before.webhooks), jsonOf(after.webhooks)];
  for (const [name, hook] of Object.entries(heard)) {
    const successor = hears[name];
    if (successor === undefined) of.found.add(`webhook ${name}: is gone`);
    else {
      const bodies = [hook, successor].map((one) => jsonOf(jsonOf(one).post).requestBody);
      compareContents(of, `webhook ${name}`, bodies[0], bodies[1], "response");
    }
  }
  return [...of.found];
}

function operationsOf({ paths }: Json): Map<string, Json> {
  return new Map(
    Object.entries(jsonOf(paths)).flatMap(([path, item]) =>
      METHODS.filter((method) => jsonOf(item)[method] !== undefined).map((method) =>
        [`${method.toUpperCase()} ${path}`, jsonOf(jsonOf(item)[method])] as const
      )
    ),
  );
}

function compareOperations(of: Comparison, name: string, before: Json, after: Json): void {
  const { found } = of;
  if (before.operationId !== after.operationId) {
    found.add(`${name}: operationId was ${before.operationId}, is ${after.operationId}`);
  }
  compareParameters(of, name, before, after);
  const [asked, asks] = [before.requestBody, after.requestBody];
  const isRequired = (body: unknown, document: Json) =>
    jsonOf(resolve(document, body)).required === true;
  if (isRequired(asks, of.after) && !isRequired(asked, of.before)) {
    found.add(`${name}: a body is required`);
  }
  if (asked !== undefined) compareContents(of, `${name} body`, asked, asks, "request");
  for (const [status, answer] of Object.entries(jsonOf(before.responses))) {
    const successor = jsonOf(after.responses)[status];
    if (status >= "400") continue; // all are one shape, and its codes are a list that may grow
    if (successor === undefined) found.add(`${name}: no longer answers ${status}`);
    else compareContents(of, `${name} ${status}`, answer, successor, "response");
  }
}

function compareParameters(of: Comparison, name: string, before: Json, after: Json): void {
  const [old, now] = [parametersOf(of.before, before), parametersOf(of.after, after)];
  for (const [which, parameter] of old) {
    const successor = now.get(which);
    const at = `${name} ${which}`;
    if (successor === undefined) of.found.add(`${at}: is gone`);
    else {
      if (successor.required === true && parameter.required !== true) {
        of.found.add(`${at}: is required`);
      }
      compareSchemas(of, at, parameter.schema, successor.schema, "request");
    }
  }
  for (const [which, { required }] of now) {
    if (required === true && !old.has(which)) of.found.add(`${name} ${which}: is new and required`);
  }
}

function parametersOf(document: Json, { parameters }: Json): Map<string, Json> {
  return new Map(
    (parameters as unknown[] ?? []).map((one) => {
      const parameter = jsonOf(resolve(document, one));
      return [`${parameter.in} ${parameter.name}`, parameter];
    }),
  );
}

function compareContents(
  of: Comparison,
  at: string,
  before: unknown,
  after: unknown,
  side: Side,
): void {
  const old = jsonOf(jsonOf(resolve(of.before, before)).content);
  const now = jsonOf(jsonOf(resolve(of.after, after)).content);
  for (const [type, media] of Object.entries(old)) {
    if (now[type] === undefined) of.found.add(`${at}: no longer ${type}`);
    else compareSchemas(of, at, jsonOf(media).schema, jsonOf(now[type]).schema, side);
  }
}

function compareSchemas(
  of: Comparison,
  at: string,
  before: unknown,
  after: unknown,
  side: Side,
): void {
  const key = JSON.stringify([side, before, after]);
  if (typeof jsonOf(before).$ref === "string") {
    if (of.begun.has(key)) return; // it may be part of itself
    of.begun.add(key);
  }
  const [old, now] = [resolve(of.before, before), resolve(of.after, after)].map(jsonOf);
  const narrower = side === "request" ? [old, now] : [now, old];
  compareTypes(of, at, narrower, side);
  compareBounds(of, at, narrower, { old, now });
  compareMembers(of, at, { old, now }, side);
  if (old.items !== undefined) compareSchemas(of, `${at}[]`, old.items, now.items ?? {}, side);
  const [rest, left] = [old.additionalProperties, now.additionalProperties];
  if (side === "request" && left === false && rest !== false) {
    of.found.add(`${at}: takes no further members`);
  }
  if (isSchema(rest) && isSchema(left)) compareSchemas(of, `${at}{}`, rest, left, side);
  for (const word of ["anyOf", "oneOf", "allOf"]) compareForms(of, at, word, { old, now }, side);
}

/** Types and enumerated values: the second of `narrower` must take all that the first has. */
function compareTypes(of: Comparison, at: string, narrower: Json[], side: Side): void {
  const [types, known] = narrower.map(({ type }) => type === undefined ? null : [type].flat());
  const lost = known === null
    ? []
    : types === null
    ? ["any"]
    : types.filter((one) =>
      !known.includes(one) && !(one === "integer" && known.includes("number"))
    );
  if (lost.length > 0) {
    of.found.add(`${at}: type ${lost} ${side === "request" ? "is refused" : "is new"}`);
  }
  if (side === "response") return; // a further value is an addition
  const [had, has] = narrower.map((one) => one.enum as unknown[] | undefined);
  if (has === undefined) return;
  const gone = had?.filter((one) => !has.includes(one)) ?? ["any other"];
  if (gone.length > 0) of.found.add(`${at}: ${gone.join(", ")} is refused`);
}

function compareBounds(
  of: Comparison,
  at: string,
  [wide, narrow]: Json[],
  { old, now }: { old: Json; now: Json },
): void {
  for (const word of UPPER) {
    const [most, allowed] = [wide[word] ?? Infinity, narrow[word] ?? Infinity];
    if (Number(allowed) < Number(most)) {
      of.found.add(`${at}: ${word} was ${old[word]}, is ${now[word]}`);
    }
  }
  for (const word of LOWER) {
    const [least, allowed] = [wide[word] ?? -Infinity, narrow[word] ?? -Infinity];
    if (Number(allowed) > Number(least)) {
      of.found.add(`${at}: ${word} was ${old[word]}, is ${now[word]}`);
    }
  }
  for (const word of FIXED) {
    if (narrow[word] !== undefined && narrow[word] !== wide[word]) {
      of.found.add(`${at}: ${word} was ${old[word]}, is ${now[word]}`);
    }
  }
}

function compareMembers(
  of: Comparison,
  at: string,
  { old, now }: { old: Json; now: Json },
  side: Side,
): void {
  const [had, has] = [jsonOf(old.properties), jsonOf(now.properties)];
  const [needed, needs] = [old.required, now.required].map((list) => list as string[] ?? []);
  for (const [name, member] of Object.entries(had)) {
    if (has[name] !== undefined) compareSchemas(of, `${at}.${name}`, member, has[name], side);
    else of.found.add(`${at}.${name}: is gone`);
  }
  const lost = side === "request"
    ? needs.filter((name) => !needed.includes(name))
    : needed.filter((name) => !needs.includes(name));
  for (const name of lost) {
    of.found.add(`${at}.${name}: is ${side === "request" ? "required" : "no longer always there"}`);
  }
}

/** Alternatives and parts, by their names or their order: none that a request used may go. */
function compareForms(
  of: Comparison,
  at: string,
  word: string,
  { old, now }: { old: Json; now: Json },
  side: Side,
): void {
  const [had, has] = [old[word], now[word]].map((list) => list as Json[] | undefined);
  if (had === undefined) {
    const isNarrowed = has !== undefined && (side === "request" || word !== "allOf");
    if (isNarrowed) of.found.add(`${at}: ${word} is new`);
    return;
  }
  const left = [...has ?? []];
  had.forEach((form, i) => {
    const same = left.findIndex((one) => nameOf(one) === nameOf(form));
    const [successor] = same >= 0 ? left.splice(same, 1) : [undefined];
    if (successor === undefined) of.found.add(`${at}: ${word} ${nameOf(form)} is gone`);
    else compareSchemas(of, `${at}|${i + 1}`, form, successor, side);
  });
  const isGrown = word === "allOf" ? side === "request" : side === "response";
  if (isGrown) { for (const form of left) of.found.add(`${at}: ${word} ${nameOf(form)} is new`); }
}

/** What tells one alternative from another: its name, its constants, or its type and required members. */
function nameOf(form: Json): string {
  if (typeof form.$ref === "string") return form.$ref.split("/").at(-1)!;
  const constants = Object.entries(jsonOf(form.properties))
    .filter(([, member]) => jsonOf(member).const !== undefined)
    .map(([name, member]) => `${name} ${jsonOf(member).const}`);
  return constants.join(", ") || JSON.stringify([form.type, form.const, form.required]);
}

function resolve(document: Json, given: unknown): unknown {
  const { $ref } = jsonOf(given);
  if (typeof $ref !== "string") return given;
  const parts = $ref.slice(2).split("/").map((part) =>
    part.replaceAll("~1", "/").replaceAll("~0", "~")
  );
  return resolve(document, parts.reduce<unknown>((at, part) => jsonOf(at)[part], document));
}

function isSchema(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function jsonOf(value: unknown): Json {
  return typeof value === "object" && value !== null ? value as Json : {};
}
