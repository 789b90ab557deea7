/** What is wrong with a value of a request, in the words of every other message: what is expected there. @module */
import type { z } from "zod";
import type { Fault } from "../../domain/errors.ts";
import { isDigits } from "../../domain/json.ts";

type Issue = z.core.$ZodIssue;

const AN_OBJECT = "an object is expected";

/** The types of JSON, by the names that schemas have for them. */
const TYPES: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  null: "null",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a text",
  tuple: "a list",
};

const FORMATS: Readonly<Record<string, string>> = {
  date: "a day (YYYY-MM-DD)",
  datetime: "a time (ISO 8601)",
  email: "an e-mail address",
  guid: "an id",
  url: "an address (URL)",
  uuid: "an id",
};

/** Says what a schema expects that has no message of its own; undefined leaves it to the schema's package. */
export function explain(issue: z.core.$ZodRawIssue): string | undefined {
  const what = expectedBy(issue as Issue);
  if (what === undefined) return undefined;
  const is = `${what} is expected`;
  return issue.input === undefined && isOfType(issue as Issue) ? `missing: ${is}` : is;
}

/** Whether it tells of a wrong type or option: one of a value that is not there says that first. */
function isOfType({ code }: Issue): boolean {
  return code === "invalid_type" || code === "invalid_value" || code === "invalid_union";
}

function expectedBy(issue: Issue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return TYPES[issue.expected];
    case "invalid_value":
      return oneOf(issue.values.map(String));
    case "invalid_format":
      return issue.format === "regex"
        ? `a text of the form ${"pattern" in issue ? issue.pattern : ""}`
        : FORMATS[issue.format];
    case "too_small":
      return sized(issue.origin, "at least", issue.minimum, issue.inclusive);
    case "too_big":
      return sized(issue.origin, "at most", issue.maximum, issue.inclusive);
    case "invalid_union":
      return anyOf(issue.errors);
  }
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? values[0] : `one of ${values.join(", ")}`;
}

/** What one of several schemas expects, where each complains of the value itself. */
function anyOf(branches: readonly (readonly Issue[])[]): string {
  const all = branches.map(([first]) => first?.path.length === 0 ? expectedBy(first) : undefined);
  if (all.length === 0 || all.includes(undefined)) return "a value of another form";
  const named = new Set(all);
  // A flag is a boolean or its name.
  if (named.has(TYPES.boolean)) named.delete("one of true, false");
  return [...named].join(" or ");
}

function sized(
  origin: string,
  bound: "at least" | "at most",
  size: number | bigint,
  isInclusive = true,
): string {
  if (origin === "string") {
    if (bound === "at least" && Number(size) === 1) return "a text that is not empty";
    return `a text of ${bound} ${counted(size, "character")}`;
  }
  if (origin === "array") {
    if (bound === "at least" && Number(size) === 1) return "a list that is not empty";
    return `a list of ${bound} ${counted(size, "item")}`;
  }
  if (isInclusive) return `a number of ${bound} ${size}`;
  return `a number ${bound === "at least" ? "above" : "below"} ${size}`;
}

function counted(size: number | bigint, noun: string): string {
  return `${size} ${noun}${Number(size) === 1 ? "" : "s"}`;
}

/**
 * Lists the first faults only: no caller mends more at once, and a body can hold a hundred thousand.
 *
 * @param value what was checked
 * @param where it is in the request, where it is no body
 */
export function faultsIn(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  max: number,
  where?: Fault["in"],
): Fault[] {
  const faults = new Map<string, Fault>();
  const unknown = where === undefined ? "unknown field" : "unknown parameter";
  for (const issue of issues) {
    for (const fault of faultsOf(issue, value, { unknown, max })) {
      if (faults.size >= max) return [...faults.values()];
      faults.set(`${fault.path} ${fault.message}`, fault);
    }
  }
  return [...faults.values()];
}

function faultsOf(
  issue: Issue,
  value: unknown,
  { unknown, max }: { unknown: string; max: number },
): Fault[] {
  const number = numberOnTheWay(issue, value);
  if (number !== null) return [{ path: pointer(number), message: AN_OBJECT }];
  const path = pointer(issue.path);
  if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
  return issue.keys.slice(0, max).map((key) => ({
    path: `${path}${pointer([key])}`,
    message: unknown,
  }));
}

/**
 * The place of a number that a schema has looked into: one that is kept as it was written is an object of ours,
 * whose members concern no caller. Null where there is none.
 */
function numberOnTheWay({ code, path }: Issue, value: unknown): PropertyKey[] | null {
  let at = value;
  for (let depth = 0; depth < path.length; depth++) {
    if (isDigits(at)) return path.slice(0, depth);
    at = (at as Record<PropertyKey, unknown> | null | undefined)?.[path[depth]];
  }
  return code === "unrecognized_keys" && isDigits(at) ? path : null;
}

/** Writes a JSON pointer. */
export function pointer(path: readonly PropertyKey[]): string {
  return path.map((part) =>
    `/${String(part).slice(0, 100).replaceAll("~", "~0").replaceAll("/", "~1")}`
  ).join("");
}
