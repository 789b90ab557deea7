/**
 * The link to the next part of a list (RFC 8288, `rel="next"`): the request's own target with another `page`, `after`
 * or `offset`, so that a client goes on without knowing which of them a list has.
 *
 * @module
 */
import { OFFSET_MAX } from "../../domain/collections/list_parameters.ts";
import { basePathOf } from "./request_targets.ts";
import type { Call, Continuation, Reply } from "./route.ts";

/** The path of a target, which begins with it. */
function pathOf(target: string): string {
  const end = target.indexOf("?");
  return end < 0 ? target : target.slice(0, end);
}

type Row = Readonly<Record<string, unknown>>;

/** Adds the link to an answer; nothing where nothing follows. */
export function withNext<P, Q, B>(call: Call<P, Q, B>, reply: Reply, view: unknown): Reply {
  const { continues } = call.route;
  if (continues === undefined || view === undefined || reply.status >= 400) return reply;
  const target = call.target;
  const path = pathOf(target);
  // Not those of a URL, which is parsed anew at each change of them.
  const asked = new URLSearchParams(target.slice(path.length));
  const change = Array.isArray(view) ? ofPart(continues, asked, view) : ofPage(
    continues,
    asked,
    view as PageView,
  );
  if (change === null) return reply;
  for (const name of ["page", "after", "offset"]) asked.delete(name);
  asked.set(...change);
  const next = `${basePathOf(call.services.config.baseUrl)}${path}?${asked}`;
  return { ...reply, headers: { ...reply.headers, link: `<${next}>; rel="next"` } };
}

interface PageView {
  rows: readonly Row[];
  page: number;
  pageSize: number;
  totalPages: number;
}

/** The parameter of the next page, or of what follows the last row where the request named a row. */
function ofPage(
  { cursor }: Continuation,
  asked: URLSearchParams,
  { rows, page, pageSize, totalPages }: PageView,
): [string, string] | null {
  if (asked.has("after") && cursor !== undefined) {
    return rows.length < pageSize ? null : ["after", `${rows.at(-1)![cursor]}`];
  }
  return page < totalPages ? ["page", `${page + 1}`] : null;
}

/** The parameter of what follows the last row; by its position where the answer leaves its cursor out. */
function ofPart(
  { cursor, usual, mayBeShort, pagesOver }: Continuation,
  asked: URLSearchParams,
  rows: readonly Row[],
): [string, string] | null {
  const limit = Number(asked.get("limit") || usual);
  if (rows.length === 0 || (rows.length < limit && !mayBeShort)) return null;
  if (pagesOver !== undefined) {
    const page = Number(asked.get("page") || 1);
    return page * limit > pagesOver ? null : ["page", `${page + 1}`];
  }
  const last = cursor === undefined ? undefined : rows.at(-1)![cursor];
  if (last !== undefined) return ["after", `${last}`];
  const offset = Number(asked.get("offset") || 0) + rows.length;
  return offset > OFFSET_MAX ? null : ["offset", `${offset}`];
}
