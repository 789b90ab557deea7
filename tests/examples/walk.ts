/**
 * A walk through the API: requests by the names of their operations, sent to the service over HTTP, and the first
 * exchange of each operation kept as its example.
 *
 * @module
 */
import { request as httpRequest } from "node:http";
import { equal, ok } from "node:assert/strict";
import type { Example, Examples } from "../../routes/http/openapi_examples.ts";
import { operationId } from "../../routes/http/openapi_names.ts";
import type { AnyRoute } from "../../routes/http/route.ts";
import { allRoutes } from "../../routes/http/route_list.ts";
import type { Others } from "./others.ts";
import { openStableValues } from "./stable_values.ts";

// Answers are looked into freely.
// deno-lint-ignore no-explicit-any
export type Json = any;

/** A request. */
export interface Asked {
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  body?: unknown;
  /** The key that it is sent with; the administrator's unless given. */
  key?: string | null;
  headers?: Readonly<Record<string, string>>;
  /** The status that is expected; that of the operation's success unless given. */
  status?: number;
  /** Members of the answer that differ from run to run beyond their form, and what the example shows there. */
  settle?: Readonly<Record<string, unknown>>;
  /** The part of the answer that the example shows. */
  show?: (body: Json) => unknown;
  /** Name of a further example of the operation: a status or a media type. */
  as?: string;
  /** No example: it only prepares others. */
  aside?: true;
  /** Others have tried it before. */
  attempted?: true;
}

/** A walk. */
export interface Walk {
  /** Sends a request and gives the answer's body. */
  ask(operation: string, asked?: Asked): Promise<Json>;
  /** Has others try a request before it is sent; `ask` does so where it was not done. */
  attempt(operation: string, asked: Asked): Promise<void>;
  /** Asks for a list as page, whole, and count, and for one of it; gives the last. */
  browse(names: { many: string; one: string; id: string; key?: string }): Promise<Json>;
  /** Gives the examples of the walk. */
  examples(): Examples;
}

/** Where a walk goes. */
export interface Way {
  readonly url: string;
  /** The key of the administrator. */
  readonly key: string;
  readonly start: number;
  /** Those who may not do what the walk does. */
  readonly others: Pick<Others, "attempt">;
  /** Addresses that are the same in every run. */
  readonly constants: readonly string[];
  /** Texts of the tests, and what stands for them. */
  readonly words: Readonly<Record<string, string>>;
}

const ROUTES = new Map(allRoutes().map((route) => [operationId(route), route]));
/** Rows of a list that an example shows, and items of a plain list. */
const ROWS = 1;
const ITEMS = 3;
const TEXT = 2000;

/** Begins a walk. */
export function beginWalk(way: Way): Walk {
  const stable = openStableValues(way.start, way.constants, way.words);
  const kept: Record<string, Example> = {};
  const times = new Map<string, number>();

  function keep(operation: string, asked: Asked, answer: { status: number; body: unknown }): void {
    const n = (times.get(operation) ?? 0) + 1;
    times.set(operation, n);
    const place = n === 1 ? operation : `${operation} ${n}`;
    const { path, query, body } = asked;
    const example = {
      ...(path === undefined ? {} : { path: stable.of(`${place}/path`, path) }),
      ...(query === undefined ? {} : { query: stable.of(`${place}/query`, query) }),
      ...(body === undefined ? {} : { body: stable.of(`${place}/body`, body) }),
      status: answer.status,
      answer: shortened(stable.of(`${place}/answer`, answer.body)),
    } as Example;
    const name = asked.as === undefined ? operation : `${operation} ${asked.as}`;
    if (asked.aside || Object.hasOwn(kept, name)) return;
    for (const [where, value] of Object.entries(asked.settle ?? {})) {
      settle(example.answer, where.split("."), value, `${name}: ${where}`);
    }
    kept[name] = example;
  }

  async function attempt(operation: string, asked: Asked): Promise<void> {
    const route = ROUTES.get(operation);
    ok(route, operation);
    const { path = {}, query = {}, body } = asked;
    const target = (at: typeof path) => targetOf(route, at, query);
    await way.others.attempt({ operation, route, path, target, body });
  }

  async function ask(operation: string, asked: Asked = {}): Promise<Json> {
    const route = ROUTES.get(operation);
    ok(route, operation);
    if (!asked.attempted) await attempt(operation, asked);
    const { path = {}, query = {} } = asked;
    const target = targetOf(route, path, query);
    const answer = await send(way, asked, { method: route.method, target });
    equal(answer.status, asked.status ?? route.status, `${operation}: ${answer.text}`);
    if (route.makes !== undefined && answer.status === 201 && !("dry_run" in query)) {
      const { location } = answer;
      ok(location, `${operation} tells no location`);
      const read = await send(way, { key: asked.key }, { method: "GET", target: location });
      equal(read.body.id, answer.body.id, `${operation}: ${read.text}`);
    }
    const { show = (body) => body } = asked;
    keep(operation, asked, { status: answer.status, body: show(answer.body) });
    return answer.body;
  }

  return {
    ask,
    attempt,
    async browse({ many, one, id, key }) {
      const query = { query: JSON.stringify({ id }) };
      await ask(`list${many}`, { query, key });
      await ask(`find${many}`, { query, key });
      await ask(`count${many}`, { query, key });
      return await ask(`get${one}`, { path: { id }, key });
    },
    examples: () => kept,
  };
}

function targetOf(
  route: AnyRoute,
  path: NonNullable<Asked["path"]>,
  query: NonNullable<Asked["query"]>,
): string {
  const target = route.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]));
  const search = Object.entries(query).map(([name, value]) =>
    `${name}=${encodeURIComponent(value)}`
  ).join("&");
  return target + (search === "" ? "" : `?${search}`);
}

async function send(
  { url, key: administrator }: Way,
  { key = administrator, body, headers = {} }: Asked,
  { method, target }: { method: string; target: string },
): Promise<{ status: number; location: string | null; text: string; body: Json }> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const all = {
    ...(key === null ? {} : { "x-api-key": key }),
    ...(text === undefined ? {} : {
      "content-type": "application/json",
      "content-length": `${new TextEncoder().encode(text).length}`,
    }),
    ...headers,
  };
  // The platform's fetch() has no body with GET.
  const { promise, resolve, reject } = Promise.withResolvers<
    { status: number; headers: Record<string, unknown>; text: string }
  >();
  const sent = httpRequest(
    `${url}${target}`,
    { method, headers: all, agent: false },
    (response) => {
      const chunks: Uint8Array[] = [];
      response.on("data", (chunk: Uint8Array) => {
        chunks.push(chunk);
        // A stream of events has no end.
        if (`${response.headers["content-type"]}`.startsWith("text/event-stream")) {
          const soFar = new TextDecoder().decode(new Uint8Array(chunks.flatMap((one) => [...one])));
          if (/^data: .*\n\n/m.test(soFar)) response.destroy();
        }
      });
      response.on("close", () =>
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          text: new TextDecoder().decode(new Uint8Array(chunks.flatMap((one) => [...one]))),
        }));
    },
  );
  sent.on("error", reject);
  sent.end(text);
  const answer = await promise;
  const isJson = /json/.test(`${answer.headers["content-type"] ?? ""}`);
  return {
    status: answer.status,
    location: (answer.headers.location as string | undefined) ?? null,
    text: answer.text,
    body: isJson ? JSON.parse(answer.text) : answer.text,
  };
}

/** An answer with the first rows of its lists alone, and the beginnings of its texts. */
function shortened(value: unknown): unknown {
  if (typeof value === "string") {
    return value.split("\r\n").slice(0, ROWS + 1).join("\r\n").slice(0, TEXT);
  }
  if (Array.isArray(value)) {
    const rows = value.every((one) => typeof one === "object" && one !== null);
    return value.slice(0, rows ? ROWS : ITEMS).map(shortened);
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]));
}

/** Puts a value in the place of another of the same kind. */
function settle(answer: Json, [name, ...rest]: string[], value: unknown, where: string): void {
  if (rest.length > 0) return settle(answer?.[name], rest, value, where);
  ok(answer !== undefined && answer !== null && name in answer, `${where} is not in the answer`);
  if (answer[name] !== null) equal(typeof answer[name], typeof value, where);
  answer[name] = value;
}
