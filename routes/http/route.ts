/**
 * Declaration of a route: once, with the schemas that validate it, document it and type its
 * handler. The pipeline, the errors and the documentation read this declaration.
 * @module
 */
import type { z } from "zod";
import type { Actor, RequestActor } from "../../domain/actor.ts";
import type { IdempotencyClaim } from "../../domain/command.ts";
import type { Cost } from "../../domain/realms/usage.ts";
import type { DomainError, ErrorCode } from "../../domain/errors.ts";
import type { Claims } from "../../domain/security/user_keys.ts";
import type { RealmContext } from "../../domain/realms/context.ts";
import type { Services } from "./services.ts";
import type { LongBody } from "./validation.ts";
import type { Conditions } from "./preconditions.ts";
import type { RequestHeaders } from "./underlying_request.ts";

/** The kind of key that a route takes. */
export type Access =
  | "open"
  | "open or platform"
  | "application"
  | "user"
  | "platform"
  | "platform or user"
  | "provider";

/** A method that a route can have. */
export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** A validated request. */
export interface Call<P, Q, B> {
  services: Services;
  route: AnyRoute;
  requestId: string;
  /** Network address of the caller. */
  address: string;
  /** When the request arrived, in milliseconds since the epoch. */
  at: number;
  /** The application key, on routes that take one. */
  applicationKey: string;
  actor: RequestActor;
  /** The caller with the present rights of its key; null if the key is no longer valid. */
  actorNow: () => Promise<Actor | null>;
  /**
   * Asks whether the caller may still do what it was admitted for: null where that was asked just now, else the reason
   * why it may not, if there is one.
   */
  lostStanding: () => Promise<DomainError | null> | null;
  /** The claims of the user key; null for the operator. */
  claims: Claims | null;
  /** Null on routes of the platform. */
  realm: RealmContext | null;
  idempotency: IdempotencyClaim | null;
  /** Path and query, as they were sent. */
  target: string;
  /** The media types that the caller accepts. */
  accept: string | null;
  /** All headers. */
  headers: RequestHeaders;
  /** The seconds of `Prefer: wait`, where its route honours it; else 0. */
  preferWaitS: number;
  /** Aborted when the caller has gone or the process ends; read only where the handler waits. */
  signal: () => AbortSignal;
  /** The request's conditions on entity tags. */
  conditions: Conditions;
  params: P;
  query: Q;
  body: B;
}

/** The result of a handler, ready to be sent. */
export interface Reply {
  status: number;
  body: string;
  /** Sent in place of the body: bytes that are not text. */
  bytes?: Uint8Array<ArrayBuffer>;
  /** Sent in place of the body: text too long to be held at once. */
  stream?: ReadableStream<Uint8Array>;
  headers?: Record<string, string>;
  /** The path of what was made. */
  location?: string;
}

/** How a list goes on. */
export interface Continuation {
  /** The field of a row that the parameter `after` takes; without it the list has pages alone. */
  cursor?: string;
  /** Rows of an answer that is asked for without `limit`. */
  usual?: number;
  /** A part may have fewer rows than asked for although more follow: only an empty one is the end. */
  mayBeShort?: true;
  /** The parameter `page` counts the parts of an answer that is a list; at most so many rows are passed over. */
  pagesOver?: number;
}

/** Lists that have pages alone. */
export const PAGES: Continuation = {};

/** A route. */
export interface Route<P, Q, B> {
  method: Method;
  /** With parameters in braces, as OpenAPI writes them: /v1/accounts/{id}. */
  path: string;
  tag: string;
  summary: string;
  description?: string;
  /** Its name in the OpenAPI document, where method and path give no good one. */
  operation?: string;
  access: Access;
  /**
   * Takes a login of the last minutes and no machine key, for actions that a stolen key must not
   * do. Some routes require it for some bodies only.
   */
  freshLogin?: true | ((body: B) => boolean);
  /** Answers only at the host of the administrators' address, where that is another one. */
  admin?: true;
  /** The price in credits; that of a read or a write by its method unless given. */
  cost?: Cost;
  params?: z.ZodType<P>;
  query?: z.ZodType<Q>;
  body?: z.ZodType<B>;
  /** Greatest body in bytes; 1 MiB unless given. */
  bodyMax?: number;
  /** The parts of a body that holds very many items: it is read in slices. */
  long?: LongBody;
  /** Status and schema of the success. */
  status: number;
  answer: z.ZodType;
  /** Further answers that are no refusals, by status. */
  others?: Readonly<Record<number, { description: string; answer?: z.ZodType }>>;
  /** Path of what it made, where that can be read; `{made}` stands for its id. */
  makes?: string;
  /**
   * A replica may answer it, a little behind: a list, a statement, an export or a statistic. Nothing by which the
   * service decides is read there.
   */
  mayLag?: true;
  /** How its list goes on; a link leads to the next part. */
  continues?: Continuation;
  /** It will be removed; times in milliseconds since the epoch. */
  deprecated?: { since: number; sunset?: number };
  /** Whether the header `last-event-id` is honoured. */
  resumes?: true;
  /** Whether `Prefer: wait=N` is honoured. */
  waits?: true;
  /** Media type of the success; application/json unless given. */
  type?: string;
  /** Other media types that the success can be asked for in. */
  alternatives?: readonly string[];
  /** Codes that this route can answer besides those that every route can. */
  errors: readonly ErrorCode[];
  handle(call: Call<P, Q, B>): Promise<Reply>;
}

/** A route whose parameters are known to its own handler only; lists ignore them. */
// deno-lint-ignore no-explicit-any
export type AnyRoute = Route<any, any, any>;

/** Declares a route; the types of the handler's input follow from the schemas. */
export function route<P = Record<string, never>, Q = Record<string, never>, B = undefined>(
  declared: Route<P, Q, B>,
): Route<P, Q, B> {
  return declared;
}
