/**
 * Sending a request until it is answered: with the key, under an idempotency key, and again where the service or the
 * network could not do it now.
 *
 * @module
 */
import { parseExactly } from "./exact_json.ts";
import { ConnectionError, type Problem, ProblemError, readProblem, type Sent } from "./problems.ts";
import { AMOUNTS, UNREPEATABLE } from "./wire.ts";

/** What a client is made with. */
export interface ClientOptions {
  /** Address of the service, with the path in front of `/v1` if there is one. */
  readonly url: string;
  /**
   * The key: of a login, of a machine, of the application or of the operator. A function is asked before each call, and
   * once for all repeats of it: idempotency keys belong to a user, so it must give keys of one and the same user.
   */
  readonly key?: string | (() => string | Promise<string>);
  /** Repeats of a request at most; 5 unless given. */
  readonly retries?: number;
  /** Milliseconds that one attempt may take; 90 000 unless given. */
  readonly timeoutMs?: number;
  /** Milliseconds to wait before a repeat at most, 60 000 unless given: if the service asks for more, its answer is thrown. */
  readonly waitMaxMs?: number;
  /** Stands for the runtime's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** A request. */
export interface Outgoing {
  readonly method: string;
  readonly url: string;
  /** Its path as the document writes it: `/v1/accounts/{id}`. */
  readonly route: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A whole answer that is no problem. */
export interface Taken {
  readonly response: Response;
  /** Of JSON the value, with amounts as text; else the text. */
  readonly value: unknown;
}

/** Sends requests. */
export interface Sender {
  /** Address of the service without a slash at its end. */
  readonly base: string;
  readonly retries: number;
  readonly waitMaxMs: number;
  /**
   * Sends a request, repeats it where that is safe, and reads the whole answer.
   *
   * @throws {ProblemError} what the service answered
   * @throws {ConnectionError} where no answer came
   */
  send(request: Outgoing): Promise<Taken>;
  /**
   * Sends a GET once, and gives the answer as soon as it begins.
   *
   * @throws {ProblemError | ConnectionError} as {@link Sender.send}
   */
  open(request: Outgoing): Promise<Response>;
}

/** What came of an attempt that was not answered as it should be. */
type Failure =
  & { readonly retryAfterS: number | null; readonly mayPass: boolean }
  & ({ readonly problem: Problem } | { readonly why: string; status?: number; cause?: unknown });

const RETRIES = 5;
/** Longer than the service lets a request take. */
const TIMEOUT_MS = 90_000;
const WAIT_MAX_MS = 60_000;
const FIRST_WAIT_MS = 1000;
/** A timer of more would end at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;
/** What ends by itself, whether the service says it or a proxy in front of it. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
/** Waits for an operator, who takes longer than any repeat. */
const LASTING = "chain.quarantined";

/**
 * Opens the sending part of a client.
 *
 * @throws {TypeError} where the address cannot be one
 */
export function openSender(options: ClientOptions): Sender {
  const { retries = RETRIES, timeoutMs = TIMEOUT_MS, waitMaxMs = WAIT_MAX_MS } = options;
  const fetch = options.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init));
  const prepare = async (request: Outgoing): Promise<Headers> => {
    const headers = new Headers(request.headers);
    const key = typeof options.key === "function" ? await options.key() : options.key;
    if (key !== undefined) headers.set("x-api-key", checkedKey(key));
    if (takesKey(request) && !headers.has("idempotency-key")) {
      headers.set("idempotency-key", newIdempotencyKey());
    }
    return headers;
  };
  const attempt = <T>(
    request: Outgoing,
    headers: Headers,
    read: (response: Response) => Promise<T>,
  ): Promise<T | Failure> =>
    within(timeoutMs, request.signal, async (signal) => {
      const { method, url, body } = request;
      // A redirect would take the key to wherever it leads.
      return await read(await fetch(url, { method, headers, body, signal, redirect: "manual" }));
    });
  return {
    ...{ base: baseOf(options.url), retries, waitMaxMs },
    async send(request) {
      const headers = await prepare(request);
      for (let attempts = 1;; attempts++) {
        const outcome = await attempt(request, headers, (one) => readAnswer(request, one));
        if ("response" in outcome) return outcome;
        const mayRepeat = outcome.mayPass && attempts <= retries && isRepeatable(request);
        const waitMs = waitBefore(attempts, outcome.retryAfterS, waitMaxMs);
        if (!mayRepeat || waitMs === null) throw errorOf(outcome, request, headers, attempts);
        await pause(waitMs, request.signal);
      }
    },
    async open(request) {
      const headers = await prepare(request);
      const read = async (one: Response) => one.ok ? one : await readFailure(one);
      const outcome = await attempt(request, headers, read);
      if (outcome instanceof Response) return outcome;
      throw errorOf(outcome, request, headers, 1);
    },
  };
}

/** Whether what was thrown may be gone when the same is asked again. */
export function mayPass(error: unknown): boolean {
  if (error instanceof ProblemError) return PASSING.has(error.status) && error.code !== LASTING;
  return error instanceof ConnectionError && (error.status === null || PASSING.has(error.status));
}

/**
 * Milliseconds to wait before the next attempt; null where the service asks for more than is waited. A random part
 * keeps callers apart who were refused together.
 */
export function waitBefore(
  attempts: number,
  retryAfterS: number | null,
  waitMaxMs: number,
): number | null {
  if (retryAfterS === null) {
    const waitMs = FIRST_WAIT_MS * 2 ** (attempts - 1) * (1 + Math.random() / 2);
    return Math.min(waitMs, waitMaxMs);
  }
  const askedMs = retryAfterS * 1000;
  return askedMs > waitMaxMs ? null : askedMs + Math.random() * FIRST_WAIT_MS;
}

/**
 * Waits.
 *
 * @throws the reason of the signal, at once, when it is aborted
 */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, Math.min(ms, TIMER_MAX_MS));
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
    signal?.addEventListener("abort", done);
  });
  signal?.throwIfAborted();
}

/** Reads the address of the service. */
function baseOf(url: string): string {
  // It may hold a password by mistake, which no message repeats.
  if (!URL.canParse(url)) throw new TypeError("the address of the service is not a URL");
  const { protocol, username, password, origin, pathname, search, hash } = new URL(url);
  if (!/^https?:$/.test(protocol) || `${username}${password}${search}${hash}` !== "") {
    throw new TypeError("the address of the service is http(s)://host, and a path at most");
  }
  return origin + pathname.replace(/\/+$/, "");
}

/** Refuses a text that cannot be a key before the runtime does, whose message would repeat it. */
function checkedKey(key: string): string {
  if (typeof key !== "string" || !/^[!-~]+$/.test(key)) {
    throw new TypeError("the key is empty, or has characters that no key has");
  }
  return key;
}

function newIdempotencyKey(): string {
  // Not randomUUID(), which a page without https does not have.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Whether a request takes an idempotency key. */
function takesKey(request: Outgoing): boolean {
  return /^(POST|PATCH)$/.test(request.method) && isRepeatable(request);
}

/** Whether a second request like this one does nothing that the first did not do. */
function isRepeatable(request: Outgoing): boolean {
  return !UNREPEATABLE.includes(nameOf(request));
}

function nameOf({ method, route }: Outgoing): string {
  return `${method.toLowerCase()} ${route}`;
}

/** Makes one attempt. What the network throws is a failure; only the caller's own end is thrown. */
async function within<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T | Failure> {
  signal?.throwIfAborted();
  const ended = new AbortController();
  const end = () => ended.abort(signal!.reason);
  signal?.addEventListener("abort", end);
  let why = "no answer";
  const timer = setTimeout(() => {
    why = `no answer in ${timeoutMs} ms`;
    ended.abort();
  }, timeoutMs);
  try {
    return await attempt(ended.signal);
  } catch (cause) {
    signal?.throwIfAborted();
    return { why, cause, retryAfterS: null, mayPass: true };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

async function readAnswer(request: Outgoing, response: Response): Promise<Taken | Failure> {
  if (response.status === 304 && request.headers.has("if-none-match")) {
    return { response, value: undefined };
  }
  if (!response.ok) return await readFailure(response);
  const text = await response.text();
  if (!isJson(response)) {
    // A page of whoever stands in front of the service says nothing of what became of the request.
    if (!mayBeText(request, response)) {
      return { why: "an answer that is not the service's", retryAfterS: null, mayPass: true };
    }
    return { response, value: text };
  }
  try {
    return { response, value: parseExactly(text, AMOUNTS[nameOf(request)]) };
  } catch (cause) {
    // Half an answer, or a page of a proxy: the service's own was lost.
    return { why: "an answer that is no JSON", cause, retryAfterS: null, mayPass: true };
  }
}

async function readFailure(response: Response): Promise<Failure> {
  const { status, headers } = response;
  const retryAfterS = secondsOf(headers.get("retry-after"));
  const problem = isJson(response) ? readProblem(await response.text()) : null;
  if (problem === null) {
    await response.body?.cancel().catch(() => {});
    const why = status === 0 || status >= 300 && status < 400
      ? "a redirect, which is not followed"
      : `an answer ${status} that is not the service's`;
    return { why, status, retryAfterS, mayPass: PASSING.has(status) };
  }
  // A refusal that is kept under the key is the answer to every repeat.
  const isKept = headers.get("idempotency-replayed") === "true";
  const passes = PASSING.has(status) && problem.code !== LASTING && !isKept;
  return { problem: { ...problem, status }, retryAfterS, mayPass: passes };
}

/** Whether a route may answer with a text: exports and measurements do, and pages outside of the API. */
function mayBeText({ method, route }: Outgoing, { headers }: Response): boolean {
  const isPage = /^text\/html\b/i.test(headers.get("content-type") ?? "");
  return method === "GET" && !(isPage && route.startsWith("/v1/"));
}

function isJson({ headers }: Response): boolean {
  return /^application\/(problem\+)?json\b/i.test(headers.get("content-type") ?? "");
}

/** Seconds of `retry-after`, which is a number or a date. */
function secondsOf(text: string | null): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

function errorOf(
  failure: Failure,
  { method, url }: Outgoing,
  headers: Headers,
  attempts: number,
): ProblemError | ConnectionError {
  const path = new URL(url).pathname;
  const idempotencyKey = headers.get("idempotency-key");
  const sent: Sent = { method, path, attempts, idempotencyKey };
  if ("problem" in failure) return new ProblemError(failure.problem, sent, failure.retryAfterS);
  const { why, status = null, cause } = failure;
  return new ConnectionError(why, sent, status, cause === undefined ? {} : { cause });
}
