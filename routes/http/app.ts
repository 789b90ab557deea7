/**
 * The app: one pipeline for every route. Request id, key, limits, body, validation, handler; and one
 * place where a thrown error becomes a problem.
 * @module
 */
import { Hono } from "hono";
import { reachesRealm } from "../../domain/actor.ts";
import { assertFreshLogin } from "../../domain/identity/api_keys.ts";
import { DomainError } from "../../domain/errors.ts";
import { failureOf } from "../../domain/failures.ts";
import { encodeLong, isLong } from "../../domain/slices.ts";
import {
  type Authenticator,
  type Caller,
  confirmCaller,
  openAuthenticator,
  type RequestMeta,
} from "./authentication.ts";
import { callerAddress, isTrusted, readNetworks } from "./caller_address.ts";
import { callOf, NO_PARAMS, sharedOf } from "./calls.ts";
import { PROBLEMS } from "./problems.ts";
import { assertSigned, isKnownProvider } from "./provider_authentication.ts";
import { announcesBody } from "./body_streams.ts";
import { uncoverBody } from "./get_request_body.ts";
import { withReadNotes } from "./read_notes.ts";
import { withWriteNotes } from "./replica_reads.ts";
import { isTracing, traced } from "../../tracing.ts";
import { type Leaving, watchLeaving } from "./shutdown.ts";
import { logRequest } from "./request_log.ts";
import { openCors } from "./cors.ts";
import { compressed, isCompressible } from "./compression.ts";
import { described } from "./answer_headers.ts";
import { methodsOf, noRoute, openUnrouted, requestIdOf, tellMethods } from "./unrouted.ts";
import { requestMetricsOf } from "./request_metrics.ts";
import type { LimitHeaders } from "./rate_limits.ts";
import { problem, send, withoutBody } from "./responses.ts";
import type { Access, AnyRoute, Call, Reply } from "./route.ts";
import { allRoutes } from "./route_list.ts";
import { type BodyHold, openBodyHold, openWebhookHold, SMALL } from "./body_memory.ts";
import type { Services } from "./services.ts";
import { admit, admitAgain, type CallerReading, openStanding } from "./standing.ts";
import { type RequestHeaders, requestHeaders } from "./underlying_request.ts";
import { authorityOf, hostOf, pathOf, withoutPort } from "./request_targets.ts";
import {
  accepts,
  acceptsJson,
  arrivedText,
  BODY_MAX,
  isHost,
  readBody,
  type Reading,
  readLong,
} from "./validation.ts";

/** Answers one request, over a connection from a network address. */
export type App = (request: Request, connection: string) => Promise<Response> | Response;

/** Where a request comes from. */
interface Origin {
  headers: RequestHeaders;
  /** Network address of the caller. */
  address: string;
  /** The caller's trace, which only a trusted proxy can give. */
  traceparent: string | null;
}

type Env = { Bindings: Origin };
/** The parameters of a path. */
type Params = Record<string, string>;
/** Runs the pipeline for a request of one route. */
type Serve = (request: Request, origin: Origin, params: Params) => Promise<Response>;

/** Builds the app. */
export function createApp(services: Services, platformKey: string): App {
  const authenticator = openAuthenticator(services, platformKey);
  const proxies = readNetworks(services.config.trustedProxies);
  const unrouted = openUnrouted(services);
  const hono = new Hono<Env>({ strict: false });
  const methods = new Map<string, string[]>();
  const fixed = new Map<string, Serve>(); // paths without parameters need no router
  for (const route of allRoutes()) {
    const serve = createServer(services, authenticator, route);
    for (const spelling of spellingsOf(route.path)) {
      const path = spelling.replaceAll(/\{(\w+)\}/g, ":$1");
      if (path === spelling) fixed.set(`${route.method} ${path}`, serve);
      hono.on(
        route.method,
        path,
        (c) => serve(c.req.raw, c.env, c.req.param()),
      );
      const allowed = methods.get(path) ?? [];
      if (!allowed.includes(route.method)) methods.set(path, [...allowed, route.method]);
    }
  }
  for (const [path, declared] of methods) {
    const allowed = methodsOf(declared);
    hono.options(path, (c) => tellMethods(services, c.req.raw, allowed));
    hono.all(path, (c) => {
      const refused = new DomainError("method.not_allowed", `this path takes ${allowed}`);
      const answer = unrouted(c.req.raw, c.env.address, refused);
      answer.headers.set("allow", allowed);
      return answer;
    });
  }
  hono.notFound((c) => unrouted(c.req.raw, c.env.address, noRoute()));
  const app: App = (request, connection) => {
    const headers = requestHeaders(request);
    let address: string;
    try {
      address = callerAddress(headers, connection, proxies);
    } catch (error) {
      return unrouted(request, connection, error as DomainError);
    }
    // The URL is built from Host: an invalid one would select another route than the path does. A
    // target that names a host must name the same one.
    const authority = authorityOf(request.url);
    const host = headers.get("host") ?? authority;
    if (!isHost(host) || host !== authority && withoutPort(host) !== withoutPort(authority)) {
      const refused = new DomainError("request.malformed", "Host is not a host, or another one");
      return unrouted(request, address, refused);
    }
    if (request.method === "HEAD" && announcesBody(request)) {
      const refused = new DomainError("request.malformed", "a HEAD has no body");
      return unrouted(request, address, refused);
    }
    const isHead = request.method === "HEAD";
    const asked = isHead ? new Request(request, { method: "GET" }) : request;
    const serve = fixed.get(`${asked.method} ${pathOf(asked.url)}`);
    const given = isTracing() && isTrusted(connection, proxies) ? headers.get("traceparent") : null;
    const origin = { headers, address, traceparent: given };
    const answer = serve === undefined
      ? hono.fetch(asked, origin)
      : serve(asked, origin, NO_PARAMS);
    return isHead ? withoutBody(answer) : answer;
  };
  const cors = openCors(services.config.corsOrigins);
  if (cors === null) return app;
  return async (request, connection) => {
    const asked = { method: request.method, headers: requestHeaders(request) };
    return cors(asked, await app(request, connection));
  };
}

/** A path as declared, and with its nouns in the singular: both are the same route. */
function spellingsOf(path: string): string[] {
  const singular = path.replace(/^\/v1\/accounts(?=\/|$)/, "/v1/account")
    .replace(/^(\/v1\/identities)\/companies(?=\/|$)/, "$1/company");
  return singular === path ? [path] : [path, singular];
}

/** The host where administrators' routes answer; null where they answer everywhere. */
function adminHost({ config }: Services): string | null {
  const { hostname } = new URL(config.adminUrl);
  return hostname === new URL(config.baseUrl).hostname ? null : hostname.replace(/\.$/, "");
}

function createServer(
  services: Services,
  authenticator: Authenticator,
  route: AnyRoute,
): Serve {
  const name = `${route.method} ${route.path}`;
  const elsewhere = adminHost(services);
  const types = [route.type ?? [], route.alternatives ?? []].flat();
  const counts = requestMetricsOf(services).of(route.method, route.path);
  const handle = withWriteNotes(services, route, withReadNotes(services, route));
  const shared = sharedOf(services, route);
  const cost = route.cost ?? (route.method === "GET" ? "read" : "write");

  async function answer(request: Request, { address, headers }: Origin, params: Params) {
    const requestId = requestIdOf(headers, services);
    const start = performance.now();
    let code: string | null = null;
    let status = 0, who = "";
    let limits: LimitHeaders | undefined;
    let leaving: Leaving | undefined; // watched where somebody waits for it
    const signal = () => (leaving ??= watchLeaving(request, services.ending)).signal;
    let hold: BodyHold | undefined;
    try {
      if (route.admin && elsewhere !== null && hostOf(request.url) !== elsewhere) {
        throw noRoute();
      }
      const accept = acceptable(headers.get("accept"), types);
      const meta = { at: services.now(), requestId, address };
      const asked = { headers, access: route.access, meta };
      const standing = openStanding(services.now, readingOf(authenticator, asked));
      const given = admit(standing);
      const first = given instanceof Promise ? await given : given;
      who = first.actor.user || (first.actor.kind === "user" ? "" : first.actor.kind); // nobody: none
      const charged = { cost, isHouse: reachesRealm(first.actor) };
      const left = first.realm === null ? undefined : services.limits.admit(first.realm, charged);
      limits = left instanceof Promise ? await left : left;
      const onSize = (size: number) => hold = grown(size, hold, [services, route, first, address]);
      const body = textOf(route, request, { ending: services.ending, onSize, headers });
      const text = body instanceof Promise ? await body : body;
      if (route.access === "provider") assertSigned(services, headers, text, meta);
      const turn = hold?.turn(signal);
      if (turn !== undefined) await turn;
      const long = route.long === undefined ? undefined : await readLong(text, route.long);
      const known = admitAgain(standing); // its key may have ended while the body came
      const caller = known instanceof Promise ? await known : known;
      const whole = { ...meta, at: timeOf(services, caller) };
      const parts = { headers, accept, params, text, long, standing, signal };
      const call = callOf(shared, request, whole, caller, parts);
      assertFresh(call);
      const made = finished(await handle(call), call);
      const reply = made instanceof Promise ? await made : made;
      status = reply.status;
      return send(reply, requestId, limits);
    } catch (error) {
      const known = translate(services, error, requestId);
      code = known.code;
      status = PROBLEMS[known.code].status;
      return problem(services, requestId, known, limits);
    } finally {
      hold?.leave();
      leaving?.forget();
      const ms = performance.now() - start;
      counts.note(status, ms / 1000);
      const duration_ms = Math.round(ms * 10) / 10;
      const fields = { request_id: requestId, actor: who, route: name, status, code, duration_ms };
      logRequest(services, fields);
    }
  }
  return inTraces(route, answer);
}

/** How the caller of a request is read, at a time. */
function readingOf(
  authenticator: Authenticator,
  { headers, access, meta }: { headers: RequestHeaders; access: Access; meta: RequestMeta },
): CallerReading {
  return {
    read: (at) => authenticator.authenticate(headers, access, { ...meta, at }),
    confirm: (caller, at) => confirmCaller(caller, headers, { ...meta, at }),
  };
}

/** Takes what a body of this size needs; a small one needs nothing. @throws {DomainError} service.overloaded */
function grown(
  size: number,
  hold: BodyHold | undefined,
  of: [services: Services, route: AnyRoute, first: Caller, address: string],
): BodyHold | undefined {
  if (size <= SMALL) return hold;
  const [services, route, { realm, actor }, address] = of;
  const { platform } = services;
  // Where the realm is not known yet, it is a part of the platform's.
  const one = hold ??
    (route.access === "provider"
      ? openWebhookHold(platform, { address, isKnown: isKnownProvider(services, address) })
      : openBodyHold(realm?.pool ?? platform, { ...actor, address }));
  one.grow(size);
  return one;
}

/** Answers the requests of a route, each as a span where traces are on. */
function inTraces(
  { method, path }: AnyRoute,
  answer: Serve,
): Serve {
  const attributes = { "http.request.method": method, "http.route": path };
  return (request, origin, params) =>
    isTracing()
      ? traced(
        `${method} ${path}`,
        { attributes, kind: "server", traceparent: origin.traceparent },
        () => answer(request, origin, params),
      )
      : answer(request, origin, params);
}

/** Reads the body of a request; one that came with its headers without a wait. */
function textOf(route: AnyRoute, request: Request, reading: Reading): Promise<string> | string {
  if (route.body === undefined && request.method === "GET") return "";
  const max = route.bodyMax ?? BODY_MAX;
  const asked = uncoverBody(request);
  return arrivedText(asked, max, reading) ?? readBody(asked, max, reading);
}

/** The time of a request whose body has come: some take long. */
function timeOf({ now }: Services, { realm }: Caller): number {
  const at = now();
  return realm?.time(at) ?? at;
}

/** @throws {DomainError} request.not_acceptable */
function acceptable(accept: string | null, types: readonly string[]): string | null {
  if (acceptsJson(accept) || accepts(accept, types)) return accept;
  throw new DomainError(
    "request.not_acceptable",
    `answers are ${types.join(", ") || "application/json"}`,
  );
}

/** The operator has no login, and its key is no machine key. */
function assertFresh({ route, actor, claims, body, at }: Call<unknown, unknown, unknown>): void {
  const { freshLogin } = route;
  if (freshLogin === undefined || actor.kind === "operator") return;
  if (freshLogin === true || freshLogin(body)) assertFreshLogin(claims, at);
}

/** Turns an error into a problem; unknown errors are logged and not shown. */
function translate(services: Services, error: unknown, requestId: string): DomainError {
  const known = failureOf(error);
  if (known !== null) {
    if (known !== error) services.log("warn", "not served", { request_id: requestId, error });
    return known;
  }
  services.log("error", "unexpected error", {
    request_id: requestId,
    error,
    stack: error instanceof Error ? error.stack : undefined,
  });
  return new DomainError("internal", "something went wrong; the request id helps to find it");
}

/** An answer as it is sent: with what its route says of it, a long one in its bytes, a large one compressed. */
function finished(given: Reply, call: Call<unknown, unknown, unknown>): Reply | Promise<Reply> {
  const reply = described(given, call);
  if (!isLong(reply.body) && !isCompressible(reply)) return reply;
  return encoded(reply, call.headers.get("accept-encoding"));
}

async function encoded(reply: Reply, accept: string | null): Promise<Reply> {
  const whole = isLong(reply.body)
    ? { ...reply, bytes: reply.bytes ?? await encodeLong(reply.body) }
    : reply;
  return isCompressible(whole) ? await compressed(whole, accept) : whole;
}
