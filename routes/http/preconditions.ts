/**
 * Entity tags (RFC 9110, section 8.8.3). A tag is the version of the row and a digest of the
 * answer: `If-Match` compares the version, which does not change with balances; `If-None-Match`
 * compares the whole tag, which covers `fields` and `populate`.
 * @module
 */
import { hash } from "node:crypto";
import type { Db, Tx } from "../../domain/command.ts";
import { DomainError } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { type Table, TABLES, versionOf } from "../../domain/versions.ts";
import type { RequestHeaders } from "./underlying_request.ts";

/** The tags in a request's conditions. */
export interface Conditions {
  /** Tags of `If-Match`, one of which must be that of the entity; null without. */
  match: readonly string[] | null;
  /** Tags of `If-None-Match`; null without. */
  noneMatch: readonly string[] | null;
}

/** The parts of a request that decide its tags. */
export interface Requested {
  route: { method: string; path: string };
  params: unknown;
  conditions: Conditions;
}

const NONE: Conditions = { match: null, noneMatch: null };
const MAKES = /^\/(deploy|register)$/;
const ACTION = new RegExp(
  "^/\\{id\\}(/(undelete|freeze|unfreeze|activate|deactivate|password|issue|destroy|speed-up|cancel))?$",
);
/** The table whose row a route shows or changes; null where it has no tags. */
export function tableOf({ method, path }: { method: string; path: string }): Table | null {
  const base = Object.keys(TABLES).find((base) => path === base || path.startsWith(`${base}/`));
  if (base === undefined) return null;
  const rest = path.slice(base.length);
  const makes = method === "POST" && (rest === "" || MAKES.test(rest)) &&
    base !== "/v1/transactions";
  return makes || ACTION.test(rest) ? TABLES[base] : null;
}

/** Whether a route changes an existing entity, which `If-Match` can be compared with. */
export function takesMatch(route: { method: string; path: string }): boolean {
  return route.method !== "GET" && route.path.includes("{id}") && tableOf(route) !== null;
}

const TAGS =
  /^\s*((W\/)?"[\x21\x23-\x7e\x80-\xff]*")\s*(,\s*(W\/)?"[\x21\x23-\x7e\x80-\xff]*"\s*)*$/;

/**
 * Reads the tags in a request's conditions. A condition that cannot be checked is refused, not
 * ignored.
 *
 * @throws {DomainError} request.invalid
 */
export function conditionsOf(
  route: { method: string; path: string },
  headers: RequestHeaders,
): Conditions {
  const match = tagsIn("if-match", headers.get("if-match"));
  const noneMatch = tagsIn("if-none-match", headers.get("if-none-match"));
  if (match === null && noneMatch === null) return NONE;
  if (match !== null && !takesMatch(route)) {
    throw invalid("if-match", "this route changes nothing that has a version");
  }
  if (noneMatch !== null && route.method !== "GET") {
    throw invalid("if-none-match", "this is for reading");
  }
  return { match, noneMatch };
}

function tagsIn(name: string, header: string | null): string[] | null {
  if (header === null) return null;
  if (header.trim() === "*") return ["*"];
  if (!TAGS.test(header)) throw invalid(name, "a list of entity tags, or * is expected");
  return header.match(/(W\/)?"[^"]*"/g)!;
}

function invalid(name: string, message: string): DomainError {
  return new DomainError("request.invalid", `${name}: ${message}`, {
    errors: [{ path: `/${name}`, message, in: "header" }],
  });
}

/** A change with its condition. */
export interface Conditional<T extends Tx> {
  /** The change, which compares `If-Match`. */
  work: (tx: T) => Promise<unknown>;
  /** Reads the version of what the work has changed, after it. */
  beside: (tx: Tx, view: unknown) => Promise<void>;
  /** The tag of an answer then, or null. */
  tag: (body: string) => string | null;
}

/** Makes a change conditional. */
export function conditional<T extends Tx>(
  { route, params, conditions }: Requested,
  work: (tx: T) => Promise<unknown>,
): Conditional<T> {
  const table = tableOf(route);
  if (table === null) return { work, beside: () => Promise.resolve(), tag: () => null };
  const { match } = conditions;
  let version: string | null = null;
  return {
    async work(tx) {
      const named = idIn(params);
      const before = match === null || named === null
        ? null
        : await versionOf(tx, table, named, true);
      const view = await work(tx);
      // Compared after the work, so an actor that may not see the entity learns nothing of its
      // version.
      if (match !== null && !matches(match, before)) {
        throw new DomainError(
          "version.conflict",
          "it was changed since this version: read it again",
        );
      }
      return view;
    },
    async beside(tx, view) {
      const id = idIn(params) ?? idIn(view);
      version = id === null ? null : await versionOf(tx, table, id);
    },
    tag: (body) => version === null ? null : tagOf(version, body),
  };
}

/** Reads an entity; its version is read first, so that a tag is never younger than its answer. */
export async function readTagged(
  db: Db,
  { route, params }: Requested,
  work: (db: Db) => Promise<unknown>,
): Promise<{ body: string; tag: string | null }> {
  const table = tableOf(route);
  const id = table === null ? null : idIn(params);
  const version = id === null ? null : await versionOf(db, table!, id);
  const body = JSON.stringify(await work(db));
  return { body, tag: version === null ? null : tagOf(version, body) };
}

/** Whether the caller already has this answer. */
export function isKnown({ noneMatch }: Conditions, tag: string | null): boolean {
  if (noneMatch === null || tag === null) return false;
  return noneMatch.some((given) => given === "*" || given.replace(/^W\//, "") === tag);
}

function matches(tags: readonly string[], version: string | null): boolean {
  if (version === null) return false;
  return tags.some((tag) => tag === "*" || (/^"([^."]*)\./.exec(tag)?.[1] === version));
}

function tagOf(version: string, body: string): string {
  return `"${version}.${hash("sha256", body, "hex").slice(0, 16)}"`;
}

function idIn(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  return typeof value.id === "string" && isId(value.id) ? value.id : null;
}
