/** The parameters of lists of profiles: the platform's filters beside a limit and a page. @module */
import { z } from "zod";
import { invalidQuery } from "../collections/filter.ts";
import type { DomainError } from "../errors.ts";
import { isDigits } from "../json.ts";
import type { ProfileQuery } from "./provider.ts";

const LIMIT_MAX = 1000;
/** Rows of a page that is asked for without `limit`. */
export const LIMIT_DEFAULT = 20;
/** Rows that a page may lie behind. */
export const ROWS_MAX = 100_000;
const FILTERS_MAX = 20;

/** Parameters of a list of profiles. */
export const ProfileParameters = z.object({
  limit: z.string().optional().meta({
    description: "Rows of a page; 20 unless given.",
    ...{ type: "integer", minimum: 1, maximum: LIMIT_MAX },
  }),
  page: z.string().optional().meta({
    description: "Which page, from 1.",
    ...{ type: "integer", minimum: 1 },
  }),
  filter: z.string().optional().meta({
    description: "A condition in the platform's own language, as JSON text.",
    contentMediaType: "application/json",
  }),
}).catchall(z.string());
/** Parameters of a list of profiles. */
export type ProfileParameters = z.infer<typeof ProfileParameters>;

/** Reads the parameters of a list. @throws {DomainError} query.invalid */
export function readProfileQuery(
  { limit, page, filter, ...filters }: ProfileParameters,
): ProfileQuery {
  const size = whole("/limit", limit, LIMIT_DEFAULT, LIMIT_MAX);
  const number = whole("/page", page, 1, Number.MAX_SAFE_INTEGER);
  if ((number - 1) * size > ROWS_MAX) {
    throw invalidQuery("/page", `at most ${ROWS_MAX} rows are passed over`);
  }
  if (Object.keys(filters).length > FILTERS_MAX) {
    throw invalidQuery("", `at most ${FILTERS_MAX} filters are expected`);
  }
  for (const [name, value] of Object.entries(filters)) {
    if (name.length > 300 || `${value}`.length > 4096) {
      throw invalidQuery("", "a filter is too long");
    }
  }
  return {
    filters: filters as Record<string, string>,
    ...readFilter(filter),
    limit: size,
    page: number,
  };
}

function readFilter(text: string | undefined): { filter: unknown } {
  if (text === undefined) return { filter: null };
  try {
    return { filter: parseFilter(JSON.parse(text)) };
  } catch (error) {
    if (error instanceof SyntaxError) throw invalidQuery("/filter", "JSON is expected");
    throw error;
  }
}

/** A field and the value that it is asked to have. */
export type Condition = readonly [name: string, value: string];

/**
 * The conditions that the own tables understand: fields that equal values, all of them.
 *
 * @throws {DomainError} query.invalid
 */
export function conditionsOf(filter: unknown, path = "/filter"): Condition[] {
  if (filter === null || filter === undefined) return [];
  if (typeof filter !== "object" || Array.isArray(filter) || isDigits(filter)) {
    throw misunderstood();
  }
  return Object.entries(filter).flatMap(([name, value]): Condition[] => {
    if (name === "#and" && Array.isArray(value)) {
      return value.flatMap((one) => conditionsOf(one, path));
    }
    if (name === "#eq") return conditionsOf(value, path);
    if (name.startsWith("#")) throw misunderstood();
    if (typeof value === "object" && !isDigits(value)) {
      throw invalidQuery(path, "a value is expected for each field");
    }
    return [[name, `${value}`]];
  });
}

function misunderstood(): DomainError {
  return invalidQuery("/filter", "an object of fields and values, #eq or #and is expected");
}

/**
 * Checks a condition in the platform's language: an object, neither large nor deep.
 *
 * @throws {DomainError} query.invalid
 */
export function parseFilter(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidQuery("/filter", "an object is expected");
  }
  if (JSON.stringify(value).length > 4096 || depthOf(value) > 8) {
    throw invalidQuery("/filter", "at most 4096 characters, 8 deep, are expected");
  }
  return value;
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function whole(path: string, text: string | undefined, usual: number, max: number): number {
  if (text === undefined) return usual;
  if (/^[1-9]\d{0,15}$/.test(text) && Number(text) <= max) return Number(text);
  throw invalidQuery(path, `a whole number from 1 to ${max} is expected`);
}
