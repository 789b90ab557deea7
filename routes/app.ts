/**
 * The app: every route behind the same doors, in the same order. Request id, key, body, validation,
 * handler; and one place where what was thrown becomes a problem.
 * @module
 */
import { type Context, Hono } from "hono";
import { DomainError } from "../domain/errors.ts";
import { failureOf } from "../domain/failures.ts";
import { newId } from "../domain/ids.ts";
import { type Authenticator, openAuthenticator } from "./auth.ts";
import { claimOf } from "./door.ts";
import { problemOf, PROBLEMS } from "./errors.ts";
import type { AnyRoute, Call, Reply } from "./route.ts";
import { allRoutes } from "./routes.ts";
import type { Services } from "./services.ts";
import {
  acceptsJson,
  BODY_MAX,
  check,
  parseBody,
  preferWait,
  queryOf,
  readBody,
  safeRequestId,
} from "./validation.ts";

/** Answers one request, which came from a network address. */
export type App = (request: Request, address: string) => Promise<Response> | Response;

/** Headers of every answer: nothing is cached, sniffed, framed or told to others. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};
const JSON_HEADERS = { ...HEADERS, "content-type": "application/json" };
const PROBLEM_HEADERS = { ...HEADERS, "content-type": "application/problem+json" };

type Env = { Bindings: { address: string } };

/** Builds the app. */
export function createApp(services: Services, platformKey: string): App {
  const authenticator = openAuthenticator(services, platformKey);
  const hono = new Hono<Env>({ strict: false });
  const methods = new Map<string, string[]>();
  for (const route of allRoutes()) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ":$1");
    const serve = createServer(services, authenticator, route);
    hono.on(route.method, path, serve);
    methods.set(path, [...methods.get(path) ?? [], route.method]);
  }
  for (const [path, allowed] of methods) {
    hono.all(path, (c) => {
      const answer = problem(
        services,
        requestIdOf(c.req.raw.headers, services),
        new DomainError("method.not_allowed", `this path takes ${allowed.join(", ")}`),
      );
      answer.headers.set("allow", allowed.join(", "));
      return answer;
    });
  }
  hono.notFound((c) =>
    problem(
      services,
      requestIdOf(c.req.raw.headers, services),
      new DomainError("route.not_found", "no route has this path"),
    )
  );
  return (request, address) => hono.fetch(request, { address });
}

/** Makes the handler that leads a request of one route through all doors. */
function createServer(services: Services, authenticator: Authenticator, route: AnyRoute) {
  return async (c: Context<Env>): Promise<Response> => {
    const request = c.req.raw;
    const requestId = requestIdOf(request.headers, services);
    const start = performance.now();
    let code: string | null = null;
    let status = 0;
    let who = "";
    try {
      const reply = await answer(c, requestId, (caller) => who = caller);
      status = reply.status;
      return send(reply, requestId);
    } catch (error) {
      const known = translate(services, error, requestId);
      code = known.code;
      status = PROBLEMS[known.code].status;
      return problem(services, requestId, known);
    } finally {
      services.log(status >= 500 ? "error" : "debug", "request", {
        request_id: requestId,
        actor: who,
        route: `${route.method} ${route.path}`,
        status,
        code,
        duration_ms: Math.round((performance.now() - start) * 10) / 10,
      });
    }
  };

  async function answer(
    c: Context<Env>,
    requestId: string,
    tell: (caller: string) => void,
  ): Promise<Reply> {
    const request = c.req.raw;
    const { headers } = request;
    const accept = headers.get("accept");
    if (!acceptsJson(accept) && !route.alternatives?.some((type) => accept!.includes(type))) {
      throw new DomainError("request.not_acceptable", "answers are application/json");
    }
    const arrival = { at: services.now(), requestId, address: c.env.address };
    const given = authenticator.authenticate(headers, route.access, arrival);
    const caller = given instanceof Promise ? await given : given;
    tell(caller.actor.user || caller.actor.kind);
    const keyed = route.method === "POST" || route.method === "PATCH";
    const text = request.method === "GET" || request.method === "HEAD"
      ? ""
      : await readBody(request, route.bodyMax ?? BODY_MAX);
    const path = c.req.path;
    const call: Call<unknown, unknown, unknown> = {
      services,
      route,
      ...arrival,
      ...caller,
      idempotency: keyed
        ? claimOf(headers.get("idempotency-key"), caller.actor.user || caller.actor.kind, {
          method: route.method,
          path,
          body: text,
        })
        : null,
      preferWaitS: preferWait(headers.get("prefer")),
      params: route.params === undefined ? {} : check(route.params, c.req.param(), "query.invalid"),
      query: checkQuery(route, request.url),
      body: route.body === undefined
        ? refuseBody(text)
        : check(route.body, parseBody(text), "request.invalid"),
    };
    return await route.handle(call);
  }
}

function checkQuery(route: AnyRoute, url: string): unknown {
  const given = queryOf(url);
  if (route.query !== undefined) return check(route.query, given, "query.invalid");
  const [unknown] = Object.keys(given);
  if (unknown === undefined) return {};
  const message = "unknown parameter";
  throw new DomainError("query.invalid", `${unknown.slice(0, 100)}: ${message}`, {
    errors: [{ path: unknown.slice(0, 100), message }],
  });
}

function refuseBody(text: string): undefined {
  if (text.trim() === "" || text.trim() === "{}") return undefined;
  throw new DomainError("request.invalid", "this route takes no body", {
    errors: [{ path: "", message: "no body is expected" }],
  });
}

/** Says what an error means to the caller; what is unknown is logged and stays inside. */
function translate(services: Services, error: unknown, requestId: string): DomainError {
  const known = failureOf(error);
  if (known !== null) return known;
  services.log("error", "unexpected error", {
    request_id: requestId,
    error,
    stack: error instanceof Error ? error.stack : undefined,
  });
  return new DomainError("internal", "something went wrong; the request id helps to find it");
}

function send(reply: Reply, requestId: string): Response {
  const base = reply.status >= 400 ? PROBLEM_HEADERS : JSON_HEADERS;
  return new Response(reply.stream ?? reply.body, {
    status: reply.status,
    headers: { ...base, "x-request-id": requestId, ...reply.headers },
  });
}

function problem(services: Services, requestId: string, error: DomainError): Response {
  const body = problemOf(error, services.config.baseUrl, requestId);
  const headers: Record<string, string> = { ...PROBLEM_HEADERS, "x-request-id": requestId };
  if (error.extra.retryAfterS !== undefined) headers["retry-after"] = `${error.extra.retryAfterS}`;
  if (body.status === 401) headers["www-authenticate"] = 'ApiKey realm="purser"';
  return new Response(JSON.stringify(body), { status: body.status, headers });
}

function requestIdOf(headers: Headers, services: Services): string {
  return safeRequestId(headers.get("x-request-id")) ?? newId(services.now());
}
