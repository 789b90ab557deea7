/**
 * The common fields of all entities in the API: ids, times, free-form data, soft deletion. @module
 */
import { z } from "zod";
import { isAddressLike } from "./address_shapes.ts";
import { isDigits, writtenOutLength } from "./json.ts";
import { isId } from "./ids.ts";
import { foldName, isFoldable, isPlainName, TOO_LONG_FOLDED, UNPLAIN } from "./names.ts";

/** Greatest size of a free-form object, in bytes of its JSON text as UTF-8, with its numbers written out. */
const FREE_FORM_MAX = 65_536;

/** An id as a caller gives it: opaque; one in another form is not found. */
export const Id = z.string().min(1).max(100).meta({
  id: "Id",
  description: "An opaque identifier.",
  example: "01a1fb9d-f797-7000-8000-f205583ab8e1",
});

/** A free-form object of the caller's own. */
export const FreeForm = z.record(z.string(), z.unknown()).refine(
  (value) => !isDigits(value), // a number that is kept as written is an object in memory only
  "an object is expected",
).refine(
  (value) => jsonLength(value, FREE_FORM_MAX) <= FREE_FORM_MAX,
  "at most 64 KiB as JSON",
).meta({ id: "FreeForm", description: "A free-form object of at most 64 KiB." });

/** A boolean, or its name as text. */
export const Flag = z.union([z.boolean(), z.enum(["true", "false"])])
  .transform((value) => value === true || value === "true")
  .meta({ description: "A boolean; its name as a string is taken too.", type: "boolean" });

/** The parameter of a dry run: every rule is applied and nothing is stored. */
export const DryRun = z.strictObject({ dry_run: Flag.default(false) });

/** A time as a caller may give it: milliseconds since the epoch, as a number or as digits. */
export const Timestamp = z.union([
  z.number(),
  z.string().regex(/^\d{1,15}$/).transform((text) => parseInt(text, 10)),
], "milliseconds since the epoch are expected").pipe(
  z.number().int().min(0).max(253_402_300_799_999),
)
  .meta({
    description: "Milliseconds since the epoch.",
    type: "integer",
    minimum: 0,
    maximum: 253_402_300_799_999,
  });

/** The name of a user. */
export const NewUsername: z.ZodString = text(200).refine(isPlainName, UNPLAIN)
  .refine(isFoldable, TOO_LONG_FOLDED);

/** The name of a realm or of a machine key. */
export const Name: z.ZodString = text(100).refine(isPlainName, UNPLAIN);

/** An alias: a code that names an account or an identity. */
export const AliasCode: z.ZodString = text(200)
  // deno-lint-ignore no-control-regex -- the pattern matches control characters
  .regex(/^[^\s\x00-\x1f\x7f-\x9f]+$/, "blanks are not allowed")
  .refine(isPlainName, UNPLAIN)
  .refine(isFoldable, TOO_LONG_FOLDED)
  .refine((alias) => !isId(foldName(alias)), "an alias that reads like an id is not allowed")
  .refine(
    (alias) => !isAddressLike(alias, foldName(alias)),
    "an alias that reads like an address is not allowed",
  )
  .meta({
    id: "AliasCode",
    description: "Unique in the realm, for accounts and identities together, in any case of its " +
      "letters, and never in the form of an id or of an address. It is found as it was given.",
    example: "alice",
  });

/** Text that is not empty, of limited length. Nothing else is asked of a longer one: some questions take the square of its length. */
export function text(max: number): z.ZodString {
  return z.string().min(1).max(max, { abort: true });
}

/** The columns that every entity's row has. */
export interface EntityRow {
  id: string;
  owner: string | null;
  data: Record<string, unknown>;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

/** The fields that every entity's view ends with. */
export interface EntityView {
  owner: string | null;
  created_at: number;
  data: Record<string, unknown>;
  error: unknown;
  updated_at?: number;
  deleted?: boolean;
  deleted_at?: number;
}

/**
 * Shows the common fields; those without a meaning yet are left out. A change of the same moment may have been dated by
 * another clock than the creation.
 */
export function viewEntity(row: EntityRow): EntityView {
  return {
    owner: row.owner,
    created_at: row.created_at,
    data: row.data,
    error: row.error,
    ...(row.updated_at === null ? {} : { updated_at: Math.max(row.updated_at, row.created_at) }),
    ...(row.deleted_at === null ? {} : { deleted: true, deleted_at: row.deleted_at }),
  };
}

/** The error of an entity that failed after it was created; null otherwise. */
export const Failure: z.ZodType<unknown> = z.looseObject({
  code: z.string(),
  detail: z.string().optional(),
}).nullable().meta({ id: "Failure", description: "Why it failed later; null where it did not." });

/** The schema of an id in whose place `populate` puts the entity itself. */
export function idOf(entity: "Account" | "Identity" | "User"): z.ZodString {
  return z.string().meta({ populated: entity });
}

/** The schema of the common fields, for documentation. */
export const EntityFields = {
  owner: z.string().nullable(),
  created_at: z.number().int(),
  data: z.record(z.string(), z.unknown()),
  error: Failure,
  updated_at: z.number().int().optional(),
  deleted: z.boolean().optional(),
  deleted_at: z.number().int().optional(),
};

/** The bytes of a value's JSON text as UTF-8, with its numbers written out; where there are more than so many, any number beyond. */
export function jsonLength(value: unknown, most: number): number {
  if (typeof value === "string") return value.length > most ? value.length : textLength(value);
  if (typeof value !== "object" || value === null) return `${value}`.length;
  if (isDigits(value)) return writtenOutLength(value);
  let length = 1; // a bracket, then each member with a comma or the other bracket behind it
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && length <= most; i++) {
      length += 1 + jsonLength(value[i], most - length);
    }
    return Math.max(2, length);
  }
  const named = value as Record<string, unknown>;
  for (const name of Object.keys(named)) {
    length += textLength(name) + 2;
    if (length > most) return length;
    length += jsonLength(named[name], most - length);
  }
  return Math.max(2, length);
}

/** At least the bytes of a value's JSON text as UTF-8, without a look into its texts. */
export function jsonBound(value: unknown): number {
  if (typeof value === "string") return 6 * value.length + 2;
  if (typeof value !== "object" || value === null) return 24;
  if (isDigits(value)) return writtenOutLength(value);
  let bound = 2;
  if (Array.isArray(value)) {
    for (const item of value) bound += 1 + jsonBound(item);
    return bound;
  }
  const named = value as Record<string, unknown>;
  for (const name in named) bound += 6 * name.length + 4 + jsonBound(named[name]);
  return bound;
}

/** The bytes of a text in JSON, with its quotes. */
function textLength(text: string): number {
  let length = 2;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22 || c === 0x5c) length += 2;
    else if (c >= 0x20 && c < 0x80) length++;
    else if (c < 0x20) length += SHORT_ESCAPES.has(c) ? 2 : 6;
    else if (c < 0x800) length += 2;
    else if (c < 0xd800 || c > 0xdfff) length += 3;
    else if (text.codePointAt(i)! > 0xffff) { // both halves of a pair
      length += 4;
      i++;
    } else length += 6;
  }
  return length;
}

/** Backspace, tab, line feed, form feed, carriage return. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d]);
