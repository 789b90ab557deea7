/**
 * Headers of an answer that follow from the declaration of its route: where the entity is that it made, and that the
 * route will be removed.
 *
 * @module
 */
import { basePathOf } from "./request_targets.ts";
import type { Call, Reply } from "./route.ts";

/** Views begin with their id: the text of a new entity need not be read. */
const ID_FIRST = /^\{"id":"([\w-]+)"/;
const pieces = new Map<string, readonly string[]>();

/** Adds what the route of a request says of its answer. */
export function described(reply: Reply, call: Call<unknown, unknown, unknown>): Reply {
  const { makes, deprecated } = call.route;
  const told = deprecated === undefined ? reply : withEnd(reply, deprecated);
  const { dry_run: isDry } = (call.query ?? {}) as { dry_run?: boolean };
  if (makes === undefined || reply.status !== 201 || isDry) return told;
  return withLocation(told, call, makes);
}

/** `Location` (RFC 9110, 10.2.2), below the service's own prefix. */
function withLocation(reply: Reply, call: Call<unknown, unknown, unknown>, makes: string): Reply {
  const id = ID_FIRST.exec(reply.body)?.[1] ?? (JSON.parse(reply.body) as { id: string }).id;
  const params = call.params as Readonly<Record<string, string>>;
  const [start, ...rest] = piecesOf(makes);
  let location = basePathOf(call.services.config.baseUrl) + start;
  for (let i = 0; i < rest.length; i += 2) {
    const value = rest[i] === "made" ? id : params[rest[i]];
    location += encodeURIComponent(value) + rest[i + 1];
  }
  return { ...reply, location };
}

/** Divides a path with parameters: a text, a parameter's name, a text, and so on. */
function piecesOf(path: string): readonly string[] {
  const known = pieces.get(path);
  if (known !== undefined) return known;
  const found = path.split(/\{(\w+)\}/);
  pieces.set(path, found); // of the declared routes, which are few
  return found;
}

/** `Deprecation` (RFC 9745) and `Sunset` (RFC 8594). */
function withEnd(reply: Reply, { since, sunset }: { since: number; sunset?: number }): Reply {
  const deprecation = `@${Math.trunc(since / 1000)}`;
  const end: Record<string, string> = sunset === undefined
    ? {}
    : { sunset: new Date(sunset).toUTCString() };
  return { ...reply, headers: { ...reply.headers, deprecation, ...end } };
}
