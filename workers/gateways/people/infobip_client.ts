/**
 * Requests to Infobip's people API: limited in time and size, without redirects. A refusal is told
 * with the provider's own code; neither key, address nor body is part of any message.
 * @module
 */
import { DomainError } from "../../../domain/errors.ts";
import { parseStoredJson } from "../../../domain/json.ts";

/** The account at Infobip. */
export interface InfobipAccount {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** A request to the people API. */
export interface PeopleRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: unknown;
}

/** The refusal of a request: its status, and the provider's code. */
export class PeopleRefusal extends Error {
  override readonly name = "PeopleRefusal";

  /** Makes a refusal. */
  constructor(readonly status: number, readonly code: string) {
    super(`the customer-data platform answered ${status}${code === "" ? "" : ` ${code}`}`);
  }
}

/** Sends requests to the people API. */
export type PeopleClient = (request: PeopleRequest) => Promise<unknown>;

const TIMEOUT_MS = 10_000;
const SIZE_MAX = 8 * 1024 * 1024;
const PAUSE_S = 5;
/** Longest pause that the provider may ask for. */
const PAUSE_MAX_S = 3600;

/** Prepares requests to an account. */
export function openPeopleClient(
  { baseUrl, apiKey }: InfobipAccount,
  timeoutMs = TIMEOUT_MS,
): PeopleClient {
  return async ({ method, path, query = {}, body }) => {
    const parameters = new URLSearchParams(query);
    const url = `${baseUrl}${path}${parameters.size === 0 ? "" : `?${parameters}`}`;
    try {
      const response = await fetch(url, {
        method,
        headers: {
          accept: "application/json",
          authorization: `App ${apiKey}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMs),
      });
      const answer = jsonOf(await readText(response));
      if (response.ok) return answer;
      throw refusalOf(response, answer);
    } catch (error) {
      if (error instanceof DomainError || error instanceof PeopleRefusal) throw error;
      if (error instanceof DOMException && error.name === "TimeoutError") {
        throw unavailable("upstream.timeout", "the customer-data platform did not answer in time");
      }
      throw unavailable("upstream.failed", "the customer-data platform could not be reached");
    }
  };
}

function refusalOf({ status, headers }: Response, answer: unknown): Error {
  const code = codeIn(answer);
  // 40902: the profile was changed at the same moment.
  if (status === 429 || status >= 500 || code === "40902") {
    const message = new PeopleRefusal(status, code).message;
    const after = /^\d{1,6}$/.test(headers.get("retry-after") ?? "")
      ? Number(headers.get("retry-after"))
      : 0;
    const retryAfterS = Math.min(PAUSE_MAX_S, Math.max(PAUSE_S, after));
    return new DomainError("upstream.failed", message, { retryAfterS });
  }
  return new PeopleRefusal(status, code);
}

/** An outage: the same request may pass later. */
function unavailable(code: "upstream.failed" | "upstream.timeout", message: string): DomainError {
  return new DomainError(code, message, { retryAfterS: PAUSE_S });
}

/** The code of an error: a word or number of the provider's own. Its text may repeat what was sent. */
function codeIn(answer: unknown): string {
  const exception = member(member(answer, "requestError"), "serviceException");
  const code = member(exception, "messageId") ?? member(answer, "errorCode");
  return /^[A-Z0-9_]{1,60}$/.test(`${code}`) ? `${code}` : "";
}

/** A member of an object; undefined without. */
export function member(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body ?? []) { // leaving the loop cancels the rest
    size += chunk.byteLength;
    if (size > SIZE_MAX) throw new DomainError("upstream.failed", "the platform answered too much");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function jsonOf(text: string): unknown {
  try {
    return parseStoredJson(text);
  } catch {
    return null;
  }
}
