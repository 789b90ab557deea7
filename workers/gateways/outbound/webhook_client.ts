/**
 * Sends requests to the receivers of webhooks over HTTP/1.1. Connections go to addresses that were
 * checked and are reused, redirects are not followed, answers are read up to a bound.
 * @module
 */
import type { Socket } from "node:net";
import { targetFault } from "../../../domain/webhooks/targets.ts";
import { connectChecked, type ConnectionOptions, type Endpoint } from "./checked_connections.ts";
import { type HttpAnswer, openAnswerReader } from "./http_answers.ts";
import { openIdleConnections } from "./idle_connections.ts";
import { openParted, type PartedConnection } from "./parted_connections.ts";
import { CLOSED, faultOf, WebhookFault } from "./webhook_fault.ts";

/** What a receiver answered. */
export interface WebhookAnswer {
  status: number;
  /** Its first 1024 bytes. */
  body: string;
}

/** What is sent to a receiver. */
export interface WebhookMessage {
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Sends requests, and keeps connections to their hosts. */
export interface WebhookClient {
  /**
   * Posts a body.
   *
   * @throws {WebhookFault} no answer came
   */
  post(url: string, message: WebhookMessage): Promise<WebhookAnswer>;
  /** Closes all connections; requests under way fail. */
  close(): void;
}

/** Options of a client. */
export interface WebhookClientOptions extends ConnectionOptions {
  /** Longest time of a request, with the connection and the answer. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;
const PORTS = { "http:": 80, "https:": 443 } as const;

/** A request under way, which can be ended. */
interface Request {
  /** Why it was ended; null: it was not. */
  ended: WebhookFault | null;
  end(fault: string): void;
  /** Called once when it is ended. */
  onEnd: () => void;
}

/** Opens a client. */
export function openWebhookClient(options: WebhookClientOptions): WebhookClient {
  const { allowPrivate, timeoutMs = TIMEOUT_MS } = options;
  const idle = openIdleConnections();
  const running = new Set<Request>();
  let isClosed = false;

  async function exchangeAt(
    at: Endpoint & { key: string },
    bytes: Uint8Array,
    request: Request,
  ): Promise<HttpAnswer> {
    const known = idle.take(at.key);
    if (known !== null) {
      const answer = await exchange(known, bytes, request);
      // A receiver may close an idle connection at any moment: nothing says that it read the request.
      if (answer !== null) return release(at.key, known, answer);
      known.close();
    }
    const fresh = openParted(await connect(at, options, request));
    const answer = await exchange(fresh, bytes, request);
    if (answer !== null) return release(at.key, fresh, answer);
    fresh.close();
    throw request.ended ?? new WebhookFault(CLOSED);
  }

  function release(key: string, connection: PartedConnection, answer: HttpAnswer): HttpAnswer {
    idle.keep(key, connection, isClosed ? 0 : answer.idleMs);
    return answer;
  }

  return {
    async post(text, message) {
      const fault = targetFault(text, { allowPrivate });
      if (fault !== null) throw new WebhookFault(`the address is refused: ${fault}`);
      if (isClosed) throw new WebhookFault(CLOSED);
      const url = new URL(text);
      const request = openRequest();
      running.add(request);
      const late = `no answer came within ${Math.ceil(timeoutMs / 1000)} s`;
      const timer = setTimeout(() => request.end(late), timeoutMs);
      try {
        const { status, body } = await exchangeAt(endpointOf(url), print(url, message), request);
        return { status, body: legible(body) };
      } catch (error) {
        throw request.ended ?? faultOf(error);
      } finally {
        clearTimeout(timer);
        running.delete(request);
      }
    },
    close() {
      isClosed = true;
      for (const request of [...running]) request.end(CLOSED);
      idle.close();
    },
  };
}

function openRequest(): Request {
  const request: Request = {
    ended: null,
    onEnd: () => {},
    end(fault) {
      if (request.ended !== null) return;
      request.ended = new WebhookFault(fault);
      request.onEnd();
    },
  };
  return request;
}

function endpointOf({ protocol, hostname, host, port }: URL): Endpoint & { key: string } {
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? PORTS[protocol as keyof typeof PORTS] : parseInt(port, 10),
    isTls: protocol === "https:",
    key: `${protocol}//${host}`,
  };
}

const ENCODER = new TextEncoder();

/** The bytes of a request. */
function print({ host, pathname, search }: URL, { headers, body }: WebhookMessage): Uint8Array {
  const content = ENCODER.encode(body);
  let head = `POST ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (/[\r\n\0]/.test(value)) throw new WebhookFault("a header would not be one");
    head += `${name}: ${value}\r\n`;
  }
  const start = ENCODER.encode(`${head}content-length: ${content.length}\r\n\r\n`);
  const bytes = new Uint8Array(start.length + content.length);
  bytes.set(start);
  bytes.set(content, start.length);
  return bytes;
}

/** Connects; gives up when the request is ended, whatever still resolves or connects. */
async function connect(
  at: Endpoint,
  options: ConnectionOptions,
  request: Request,
): Promise<Socket> {
  const ending = new AbortController();
  const ended = Promise.withResolvers<never>();
  request.onEnd = () => {
    ending.abort();
    ended.reject(request.ended);
  };
  if (request.ended !== null) throw request.ended;
  const connecting = connectChecked(at, options, ending.signal);
  connecting.then((late) => request.ended !== null && late.destroy(), () => {});
  return await Promise.race([connecting, ended.promise]);
}

/**
 * Sends a request and reads its answer; null where the connection ended before any of it came.
 *
 * @throws {WebhookFault} the answer is none; the connection is closed
 */
async function exchange(
  connection: PartedConnection,
  bytes: Uint8Array,
  request: Request,
): Promise<HttpAnswer | null> {
  request.onEnd = () => connection.close();
  if (request.ended !== null) connection.close();
  let isWritten = false;
  // A receiver may answer before it has read everything: its answer counts, and not what the write says.
  connection.write(bytes).then(() => isWritten = true, () => {});
  const reader = openAnswerReader();
  let isBegun = false;
  try {
    for (;;) {
      const part = await connection.read();
      if (part === null && !isBegun) return null;
      isBegun = true;
      const answer = part === null ? reader.end() : reader.take(part);
      if (answer !== null) return isWritten ? answer : { ...answer, idleMs: 0 };
    }
  } catch (error) {
    connection.close();
    if (request.ended !== null || isBegun) throw request.ended ?? error;
    return null;
  }
}

const DECODER = new TextDecoder();

/** The text of a body, without control characters. */
function legible(bytes: Uint8Array): string {
  const text = DECODER.decode(bytes);
  // deno-lint-ignore no-control-regex -- the pattern matches control characters
  return text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "\ufffd");
}
