/**
 * Requests to services of others: limited in time and size, without redirects. Errors name the
 * service and say nothing of the request, which may hold personal data or a key.
 * @module
 */

/** A service did not do what it was asked. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";

  /**
   * Makes an error; `message` is shown to callers.
   *
   * @param kind `refused`: the same request will be refused again; `failed`: a later one may pass;
   *   `settings`: every request is refused until the operator mends the key, the sender or the account
   * @param pauseMs the pause that the service asked for
   * @param isKnown of `settings`: the service has taken note of the message's id
   */
  constructor(
    message: string,
    readonly kind: "refused" | "failed" | "settings",
    readonly pauseMs = 0,
    readonly isKnown = false,
  ) {
    super(message);
  }
}

/** A request to a service. */
export interface OutboundRequest {
  /** Name of the service, for messages. */
  service: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | FormData;
  signal: AbortSignal;
}

/** The answer of a service. */
export interface OutboundAnswer {
  status: number;
  /** The JSON of the body; null where it is none. */
  json: unknown;
  /** What `retry-after` says, in milliseconds; 0 without. */
  pauseMs: number;
}

const TIMEOUT_MS = 15_000;
const SIZE_MAX = 256 * 1024;
const PAUSE_MAX_MS = 3_600_000;

/**
 * Posts to a service and reads its answer, whatever its status.
 *
 * @throws {GatewayError} `failed` where there was no answer; the service may have done it all the same
 */
export async function post(request: OutboundRequest): Promise<OutboundAnswer> {
  const { service, url, headers, body, signal } = request;
  try {
    const response = await fetch(url, {
      ...{ method: "POST", headers, body },
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const text = await readText(service, response);
    return {
      status: response.status,
      json: jsonOf(text),
      pauseMs: pauseOf(response.headers.get("retry-after")),
    };
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    throw new GatewayError(
      isLate ? `${service} did not answer in time` : `${service} could not be reached`,
      "failed",
    );
  }
}

async function readText(service: string, response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body ?? []) { // leaving the loop cancels the rest
    size += chunk.byteLength;
    if (size > SIZE_MAX) throw new GatewayError(`${service} answered too much`, "failed");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function pauseOf(header: string | null): number {
  const seconds = /^\d{1,6}$/.test(header ?? "") ? Number(header) : 0;
  return Math.min(PAUSE_MAX_MS, seconds * 1000);
}
