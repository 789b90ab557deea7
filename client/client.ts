/**
 * Client of the Purser API.
 *
 *     const purser = createClient({ url: "https://purser.example", key });
 *     const account = await purser.get("/v1/accounts/{id}", { path: { id } });
 *
 * Every call is typed by the OpenAPI document. Amounts are texts with every digit. Writes carry an idempotency key and are
 * repeated under it, so that a lost answer makes no second payment.
 *
 * @module
 */
import createFetchClient from "openapi-fetch";
import { type EventOptions, readEvents } from "./event_stream.ts";
import type {
  Answer,
  EventData,
  EventType,
  Input,
  InputOf,
  Item,
  ListPath,
  Method,
  Operation,
  PathOf,
  PurserEvent,
  WebhookEvent,
  WholeAnswer,
} from "./operations.ts";
import { readParts } from "./paging.ts";
import { ConnectionError, isProblem, type ProblemCode, ProblemError } from "./problems.ts";
import type { components } from "./schema.ts";
import { type ClientOptions, openSender, type Sender, type Taken } from "./sending.ts";

export { ConnectionError, isProblem, ProblemError };
export type {
  Answer,
  ClientOptions,
  EventData,
  EventOptions,
  EventType,
  Input,
  Item,
  ListPath,
  Method,
  Operation,
  PathOf,
  ProblemCode,
  PurserEvent,
  WebhookEvent,
  WholeAnswer,
};
/** The schemas of the document by their names: `Schemas["Account"]`. */
export type Schemas = components["schemas"];

/** Fields were chosen: the answer has parts of entities. */
type Chosen = { readonly query: { readonly fields: readonly string[] } };

/** The answer is asked for as a text. */
type Printed = { readonly query: { readonly format: "csv" } };

/** A call of one method. It gives the body of the answer, and throws {@link ProblemError} or {@link ConnectionError}. */
export interface Call<M extends Method> {
  <P extends PathOf<M>>(path: P, input: Input<Operation<P, M>> & Printed): Promise<string>;
  <P extends PathOf<M>>(
    path: P,
    input: Input<Operation<P, M>> & Chosen,
  ): Promise<Answer<Operation<P, M>>>;
  <P extends PathOf<M>>(
    path: P,
    ...input: InputOf<Operation<P, M>>
  ): Promise<WholeAnswer<Operation<P, M>>>;
}

/** A client. */
export interface Purser {
  readonly get: Call<"get">;
  readonly post: Call<"post">;
  readonly put: Call<"put">;
  readonly patch: Call<"patch">;
  readonly delete: Call<"delete">;
  /** As the methods above, and gives the answer's headers too: `etag`, `location`, `x-request-id`. */
  request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    input: Input<Operation<P, M>> & Printed,
  ): Promise<{ data: string; status: number; headers: Headers }>;
  request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...input: InputOf<Operation<P, M>>
  ): Promise<{ data: WholeAnswer<Operation<P, M>>; status: number; headers: Headers }>;
  /** Reads a list to its end, item by item. */
  items<P extends ListPath>(
    path: P,
    ...input: InputOf<Operation<P, "get">>
  ): AsyncGenerator<Item<WholeAnswer<Operation<P, "get">>>, void, undefined>;
  /** Reads a list to its end, part by part. */
  pages<P extends ListPath>(
    path: P,
    ...input: InputOf<Operation<P, "get">>
  ): AsyncGenerator<Item<WholeAnswer<Operation<P, "get">>>[], void, undefined>;
  /**
   * Reads events as they happen, each once and without a gap, over lost connections and new keys, until the loop is
   * left. Keep the `id` of the last event that you have worked off, and go on with `after`.
   */
  events<T extends EventType = EventType>(
    options?: EventOptions<T>,
  ): AsyncGenerator<PurserEvent<T>, void, undefined>;
}

/** The input of a call, whichever. */
interface AnyInput {
  readonly path?: Record<string, unknown>;
  readonly query?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Makes a call; the query of a link stands for that of the input. */
type Run = (
  method: Method,
  route: string,
  input?: AnyInput,
  query?: string | null,
) => Promise<Taken>;

/**
 * Makes a client.
 *
 * @throws {TypeError} where the address of the service cannot be one
 */
export function createClient(options: ClientOptions): Purser {
  const sender = openSender(options);
  const run = runnerOf(sender);
  const call = (method: Method) => async (route: string, input?: AnyInput) =>
    (await run(method, route, input)).value;
  const parts = (route: string, input?: AnyInput) =>
    readParts((query) => run("get", route, input, query));
  const client = {
    get: call("get"),
    post: call("post"),
    put: call("put"),
    patch: call("patch"),
    delete: call("delete"),
    async request(method: Method, route: string, input?: AnyInput) {
      const { value: data, response: { status, headers } } = await run(method, route, input);
      return { data, status, headers };
    },
    async *items(route: string, input?: AnyInput) {
      for await (const part of parts(route, input)) yield* part;
    },
    pages: parts,
    events: (of: EventOptions = {}) => readEvents(sender, of),
  };
  return client as unknown as Purser;
}

/** What openapi-fetch does here: a request from a route, its parameters and its body. */
interface FetchClient {
  request(method: string, route: string, init: Record<string, unknown>): Promise<unknown>;
}

function runnerOf(sender: Sender): Run {
  const client = createFetchClient({
    baseUrl: sender.base,
    pathSerializer,
  }) as unknown as FetchClient;
  return async (method, route, { path, query, header, body, signal } = {}, linked = null) => {
    let taken: Taken | null = null;
    await client.request(method, route, {
      params: { path, query, header },
      body,
      parseAs: "stream", // the answer was read by then
      ...(linked === null ? {} : { querySerializer: () => linked }),
      async fetch(request: Request) {
        const text = body === undefined ? undefined : await request.text();
        const { url, headers } = request;
        const sent = { method: method.toUpperCase(), url, route, headers, body: text, signal };
        taken = await sender.send(sent);
        return taken.response;
      },
    });
    return taken!;
  };
}

/**
 * Fills the parameters of a path in.
 *
 * @throws {TypeError} where one would lead to another route: an empty one, or one of dots alone
 */
function pathSerializer(route: string, params: Record<string, unknown> = {}): string {
  return route.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    const text = typeof value === "string" || typeof value === "number" ? `${value}` : "";
    if (/^\.{0,2}$/.test(text)) throw new TypeError(`${route}: ${name} is missing, or no id`);
    return encodeURIComponent(text);
  });
}
