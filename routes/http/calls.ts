/** Calls: what a handler is given of a request, read and validated. @module */
import type { RequestActor } from "../../domain/actor.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Caller, RequestMeta } from "./authentication.ts";
import { claimOf } from "./idempotency_keys.ts";
import { conditionsOf } from "./preconditions.ts";
import { pathStart } from "./request_targets.ts";
import type { AnyRoute, Call } from "./route.ts";
import type { Services } from "./services.ts";
import { actorNow, lostStanding, type Standing } from "./standing.ts";
import type { RequestHeaders } from "./underlying_request.ts";
import { check, faultyParameter, parseBody, preferWait, queryOf } from "./validation.ts";

/** The parameters of a path without any. */
export const NO_PARAMS: Record<string, string> = {};

/** The parts of a request that are known already. */
export type ReadParts = Pick<Call<Record<string, string>, 0, 0>, "params" | "signal" | "accept"> & {
  headers: RequestHeaders;
  standing: Standing;
  text: string;
  /** The parts of it that were read already. */
  long: unknown;
};

/** What all requests of a route share. */
export interface SharedParts {
  services: Services;
  route: AnyRoute;
  settings: RequestActor["settings"];
}

/** Makes it once. */
export function sharedOf(services: Services, route: AnyRoute): SharedParts {
  const { chains, hotFeeMaxFactor, webhooks } = services.config;
  return { services, route, settings: { chains, hotFeeMaxFactor, webhooks } };
}

/** Reads and validates a request. */
export function callOf(
  { services, route, settings }: SharedParts,
  request: Request,
  meta: RequestMeta,
  caller: Caller,
  { headers, accept, params, text, long, signal, standing }: ReadParts,
): Call<unknown, unknown, unknown> {
  const actor = { ...caller.actor, at: meta.at, settings };
  const keyed = route.method === "POST" || route.method === "PATCH";
  const target = request.url.slice(pathStart(request.url));
  return {
    services,
    route,
    requestId: meta.requestId,
    address: meta.address,
    at: meta.at,
    applicationKey: caller.applicationKey,
    actor,
    actorNow: () => actorNow(standing),
    lostStanding: () => lostStanding(standing),
    claims: caller.claims,
    realm: caller.realm,
    idempotency: keyed
      ? claimOf(headers.get("idempotency-key"), {
        actor,
        method: route.method,
        path: target,
        body: text,
      })
      : null,
    target,
    accept,
    headers,
    preferWaitS: route.waits ? preferWait(headers.get("prefer")) : 0,
    signal,
    conditions: conditionsOf(route, headers),
    params: route.params === undefined
      ? NO_PARAMS
      : check(route.params, params, "query.invalid", "path"),
    query: checkQuery(route, request.url),
    body: route.body === undefined
      ? refuseBody(text)
      : long ?? check(route.body, parseBody(text), "request.invalid"),
  };
}

function checkQuery(route: AnyRoute, url: string): unknown {
  const given = queryOf(url);
  if (route.query !== undefined) return check(route.query, given, "query.invalid", "query");
  const [unknown] = Object.keys(given);
  if (unknown === undefined) return {};
  throw faultyParameter(unknown, "unknown parameter");
}

function refuseBody(text: string): undefined {
  if (text.trim() === "" || text.trim() === "{}") return undefined;
  throw new DomainError("request.invalid", "this route takes no body", {
    errors: [{ path: "", message: "no body is expected" }],
  });
}
