/** What a call throws: a problem that the service answered with, or that no answer came. @module */
import type { components } from "./schema.ts";

/** Every code of a problem. Later versions of the service may add some: have a `default` in a `switch`. */
export type ProblemCode = components["schemas"]["Problem"]["code"];

/** A fault of one field of a request. */
export interface FieldFault {
  /** JSON pointer into the body, or the name of a parameter. */
  readonly path: string;
  readonly message: string;
  /** Where `path` is a parameter: of the query, the path or the headers. */
  readonly in?: string;
}

/** How a request was sent. */
export interface Sent {
  readonly method: string;
  /** Path of the request, without its query. */
  readonly path: string;
  /** How often it was sent. */
  readonly attempts: number;
  /** The idempotency key of a write: the same request under the same key takes effect at most once in 7 days. */
  readonly idempotencyKey: string | null;
}

/** A problem that the service answered with (RFC 9457). Decide by `code`. */
export class ProblemError<Code extends string = ProblemCode> extends Error implements Sent {
  override readonly name = "ProblemError";
  readonly code: Code;
  readonly status: number;
  readonly title: string;
  /** For people. It may change. */
  readonly detail: string;
  /** Id of the request: the service's log has the same. */
  readonly instance: string;
  /** Address of a page that explains the code. */
  readonly type: string;
  readonly errors: readonly FieldFault[];
  /** Seconds after which the service wants to be asked again; null where it does not say. */
  readonly retryAfterS: number | null;
  readonly method: string;
  readonly path: string;
  readonly attempts: number;
  readonly idempotencyKey: string | null;

  constructor(problem: Problem, sent: Sent, retryAfterS: number | null) {
    super(`${sent.method} ${sent.path}: ${problem.code}: ${problem.detail}`);
    this.code = problem.code as Code;
    this.status = problem.status;
    this.title = problem.title;
    this.detail = problem.detail;
    this.instance = problem.instance;
    this.type = problem.type;
    this.errors = problem.errors ?? [];
    this.retryAfterS = retryAfterS;
    this.method = sent.method;
    this.path = sent.path;
    this.attempts = sent.attempts;
    this.idempotencyKey = sent.idempotencyKey;
  }
}

/** No answer of the service came: the network failed, a proxy answered in its place, or it took too long. */
export class ConnectionError extends Error implements Sent {
  override readonly name = "ConnectionError";
  readonly method: string;
  readonly path: string;
  readonly attempts: number;
  /** With this key the write can be sent again, for 7 days, without a second effect. */
  readonly idempotencyKey: string | null;
  /** Whether the request may have taken effect although no answer says so. */
  readonly mayHaveHappened: boolean;
  /** Status of what answered in the service's place; null where nothing did. */
  readonly status: number | null;

  constructor(why: string, sent: Sent, status: number | null, options: { cause?: unknown } = {}) {
    super(`${sent.method} ${sent.path}: ${why}`, options);
    this.method = sent.method;
    this.path = sent.path;
    this.attempts = sent.attempts;
    this.idempotencyKey = sent.idempotencyKey;
    this.mayHaveHappened = sent.method !== "GET";
    this.status = status;
  }
}

/** Body of a problem. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  instance: string;
  errors?: FieldFault[];
}

/**
 * Whether an error is a problem, of this code if one is given.
 *
 *     if (isProblem(error, "balance.insufficient")) …
 */
export function isProblem<Code extends ProblemCode = ProblemCode>(
  error: unknown,
  code?: Code,
): error is ProblemError<Code> {
  return error instanceof ProblemError && (code === undefined || error.code === code);
}

/** Reads the body of a problem; null where a text is none. */
export function readProblem(text: string): Problem | null {
  try {
    const body = JSON.parse(text);
    return typeof body?.code === "string" && typeof body.detail === "string" ? body : null;
  } catch {
    return null;
  }
}
