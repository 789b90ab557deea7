/**
 * Sends requests to the receivers of webhooks. A name is resolved once, every address that it gives
 * is checked, and the connection goes to one of those: no second resolution can lead elsewhere.
 * Redirects are not followed, answers are read up to a bound, connections are reused.
 * @module
 */
import { lookup } from "node:dns";
import http from "node:http";
import https from "node:https";
import {
  isPublicAddress,
  targetFault,
  type TargetRules,
} from "../../../domain/webhooks/targets.ts";

/** What a receiver answered. */
export interface WebhookAnswer {
  status: number;
  /** Its first 1024 bytes. */
  body: string;
}

/** A request did not lead to an answer; the message says why. */
export class WebhookFault extends Error {
  override readonly name = "WebhookFault";

  /** @param stale whether a connection of an earlier request ended before the answer began */
  constructor(message: string, readonly stale = false) {
    super(message);
  }
}

/** Sends requests, and keeps connections to their hosts. */
export interface WebhookClient {
  /**
   * Posts a body.
   *
   * @throws {WebhookFault} no answer came
   */
  post(url: string, message: { headers: Record<string, string>; body: string }): Promise<
    WebhookAnswer
  >;
  close(): void;
}

/** Resolves a name to its addresses. */
export type Resolve = (
  host: string,
  done: (error: Error | null, addresses: { address: string; family: number }[]) => void,
) => void;

/** Options of a client. */
export interface WebhookClientOptions extends TargetRules {
  /** Longest time of a request, with the connection and the answer. */
  timeoutMs?: number;
  /** The system's resolver, unless given. */
  resolve?: Resolve;
}

const TIMEOUT_MS = 10_000;
/** What is read of an answer, and what of that is kept. */
const READ_MAX = 65_536;
const KEPT_MAX = 1024;
/** Answers of the statuses 1xx that are read. */
const HINTS_MAX = 10;
/** A smaller status is none of HTTP. */
const STATUS_MIN = 200;
const IDLE_MS = 30_000;
const IDLE_SOCKETS_MAX = 64;

const resolveBySystem: Resolve = (host, done) => lookup(host, { all: true }, done);

/** Opens a client. */
export function openWebhookClient(options: WebhookClientOptions): WebhookClient {
  const { allowPrivate, timeoutMs = TIMEOUT_MS, resolve = resolveBySystem } = options;
  const agentOptions = {
    keepAlive: true,
    maxFreeSockets: IDLE_SOCKETS_MAX,
    timeout: IDLE_MS,
    lookup: checkedLookup(resolve, allowPrivate),
  };
  const agents = {
    "http:": new http.Agent(agentOptions as http.AgentOptions),
    "https:": new https.Agent(agentOptions as https.AgentOptions),
  };

  async function post(
    url: string,
    message: { headers: Record<string, string>; body: string },
  ): Promise<WebhookAnswer> {
    const fault = targetFault(url, { allowPrivate });
    if (fault !== null) throw new WebhookFault(`the address is refused: ${fault}`);
    const isPlain = new URL(url).protocol === "http:";
    const given = { ...message, timeoutMs, agent: agents[isPlain ? "http:" : "https:"] };
    const until = performance.now() + timeoutMs;
    try {
      return await send(isPlain ? http.request : https.request, url, given);
    } catch (error) {
      if (!(error instanceof WebhookFault)) throw new WebhookFault(faultOf(error as Error));
      // A receiver may close an idle connection at any moment: then nothing was read of the request.
      if (!error.stale) throw error;
      const left = Math.max(1, until - performance.now());
      return await send(isPlain ? http.request : https.request, url, { ...given, timeoutMs: left });
    }
  }

  return {
    post,
    close() {
      agents["http:"].destroy();
      agents["https:"].destroy();
    },
  };
}

/** Resolves a name and refuses it where any of its addresses is not public. */
function checkedLookup(resolve: Resolve, allowPrivate: boolean) {
  return (
    host: string,
    options: { all?: boolean },
    done: (error: Error | null, address?: unknown, family?: number) => void,
  ): void => {
    resolve(host, (error, addresses) => {
      if (error !== null) return done(new WebhookFault("its name has no address"));
      const refused = !allowPrivate &&
        addresses.some(({ address }) => !isPublicAddress(address));
      if (addresses.length === 0) return done(new WebhookFault("its name has no address"));
      if (refused) return done(new WebhookFault("its name leads to an address that is refused"));
      if (options.all) return done(null, addresses);
      done(null, addresses[0].address, addresses[0].family);
    });
  };
}

interface Given {
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  agent: http.Agent | https.Agent;
}

function send(
  request: typeof http.request,
  url: string,
  { headers, body, timeoutMs, agent }: Given,
): Promise<WebhookAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<WebhookAnswer>();
  const bytes = new TextEncoder().encode(body);
  const sent = request(url, {
    method: "POST",
    agent: agent as http.Agent,
    headers: { ...headers, "content-length": `${bytes.length}` },
  });
  const end = (error: WebhookFault) => {
    reject(error);
    sent.destroy();
  };
  const timer = setTimeout(
    () => end(new WebhookFault(`no answer came within ${Math.ceil(timeoutMs / 1000)} s`)),
    timeoutMs,
  );
  let isAnswered = false;
  sent.on("error", (error: Error & { code?: string }) => {
    end(new WebhookFault(faultOf(error), sent.reusedSocket && !isAnswered));
  });
  let hints = 0;
  const hint = () => {
    if (++hints > HINTS_MAX) end(new WebhookFault("too many answers came before the answer"));
  };
  sent.on("continue", hint);
  sent.on("information", hint);
  sent.on("response", (answer) => {
    isAnswered = true;
    readAnswer(answer).then(resolve, end);
  });
  sent.end(bytes);
  return promise.finally(() => clearTimeout(timer));
}

/** Reads an answer up to the bound; a longer one ends its connection. */
async function readAnswer(answer: http.IncomingMessage): Promise<WebhookAnswer> {
  const kept = new Uint8Array(KEPT_MAX);
  let [length, read] = [0, 0];
  const { statusCode: status = 0 } = answer;
  if (status < STATUS_MIN) {
    answer.destroy();
    throw new WebhookFault("the answer was not HTTP");
  }
  try {
    for await (const chunk of answer as AsyncIterable<Uint8Array>) {
      const part = chunk.subarray(0, KEPT_MAX - length);
      kept.set(part, length);
      length += part.length;
      read += chunk.length;
      if (read > READ_MAX) break;
    }
  } catch (error) {
    throw new WebhookFault(faultOf(error as Error));
  }
  const text = new TextDecoder().decode(kept.subarray(0, length));
  // deno-lint-ignore no-control-regex -- the pattern matches control characters
  const body = text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "\ufffd");
  return { status, body };
}

/** What went wrong, without the address: it may hold a secret of the receiver. */
function faultOf(error: Error & { code?: string }): string {
  if (error instanceof WebhookFault) return error.message;
  const { code = "" } = error;
  if (code === "ECONNREFUSED") return "the connection was refused";
  if (/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(code)) return "the connection was closed";
  if (/CERT|TLS|SSL/i.test(`${code} ${error.message}`)) return "the certificate was not accepted";
  if (/^HPE_/.test(code)) return "the answer was not HTTP";
  return /^[A-Z_]{3,40}$/.test(code) ? `the connection failed (${code})` : "the connection failed";
}
