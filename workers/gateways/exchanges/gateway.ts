/**
 * The gateway of exchanges: runs the client library in an isolated thread for each exchange, whose
 * rights are the hosts of that exchange and nothing else. A thread that answers too late is ended.
 * @module
 */
import type { ExchangeCurrency } from "../../../domain/exchanges/exchange_assets.ts";
import { findExchange } from "../../../domain/exchanges/exchange_list.ts";
import type { ExchangeEnd } from "../../../domain/exchanges/transfer_ends.ts";
import type { NamedAddress } from "../../../domain/exchanges/transfer_payment.ts";
import {
  type ExchangeAccount,
  ExchangeError,
  type ExchangeFault,
  type ExchangeGateway,
} from "../../exchange_gateway.ts";
import { z } from "zod";
import { type ExchangeReply, type ExchangeRequest, REPLIES } from "./protocol.ts";

/** Settings of the gateway. */
export interface GatewayOptions {
  /** Other addresses of exchanges, by their id. */
  readonly urls: Readonly<Record<string, string>>;
  /** Milliseconds for a call. */
  readonly timeoutMs?: number;
}

/** A timer; libraries of types disagree about it. */
type Timer = ReturnType<typeof setTimeout>;

interface Pending {
  account: string;
  call: ExchangeRequest["call"];
  resolve(value: unknown): void;
  reject(error: Error): void;
  timer: Timer;
}

/** An isolated thread, and the calls that wait for it. */
interface Thread {
  worker: Worker;
  /** When it last gave an answer. */
  answeredAt: number;
  pending: Map<number, Pending>;
  idle: Timer | undefined;
}

const Fault = z.enum(["key", "refused", "timeout", "unknown"]);
const TIMEOUT_MS = 60_000;
/** A thread without calls is ended. */
const IDLE_MS = 120_000;
const CALLS_MAX = 100;
/** Calls of one account: others are not to wait for them. */
const ACCOUNT_CALLS_MAX = 5;
/** The library asks for these while it is loaded; they are not set. */
const ENV = ["WS_NO_BUFFER_UTIL", "WS_NO_UTF_8_VALIDATE"];

/** Opens the gateway; no thread is started yet. */
export function openExchangeGateway(options: GatewayOptions): ExchangeGateway {
  const threads: Threads = new Map();
  let count = 0;
  async function ask<T>(
    { id: account, exchange, credentials }: ExchangeAccount,
    call: ExchangeRequest["call"],
    args: ExchangeRequest["args"] = {},
  ): Promise<T> {
    const url = Object.hasOwn(options.urls, exchange) ? options.urls[exchange] : null;
    const thread = threadOf(threads, exchange, url);
    assertFree(thread, account, call);
    clearTimeout(thread.idle);
    const id = ++count;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const since = performance.now();
    const timer = setTimeout(() => {
      // A thread that answers others is sound: this call alone is late, for the exchange or in its queue.
      if (thread.answeredAt < since) endThread(threads, exchange, "timeout", LATE);
      else settle(thread, { id, fault: "timeout", message: LATE });
    }, options.timeoutMs ?? TIMEOUT_MS);
    thread.pending.set(id, { account, call, resolve, reject, timer });
    const request: ExchangeRequest = { id, account, exchange, credentials, url, call, args };
    thread.worker.postMessage(request);
    return await promise as T;
  }
  return {
    currencies: (account) => ask<ExchangeCurrency[]>(account, "currencies"),
    depositAddress: (account, of) => ask<NamedAddress>(account, "depositAddress", { ...of }),
    withdraw: (account, payment) => ask<ExchangeEnd>(account, "withdraw", { ...payment }),
    withdrawals: (account, of) => ask<ExchangeEnd[]>(account, "withdrawals", { ...of }),
    deposits: (account, of) => ask<ExchangeEnd[]>(account, "deposits", { ...of }),
    close() {
      for (const exchange of [...threads.keys()]) endThread(threads, exchange, "unknown", ENDED);
    },
  };
}

/** Running threads by the id of their exchange. */
type Threads = Map<string, Thread>;

const LATE = "the exchange gave no answer";
const ENDED = "the exchange is not asked any more";

/** Refuses a call that would wait too long. A payment was looked up before, so there are few of them. */
function assertFree({ pending }: Thread, account: string, call: ExchangeRequest["call"]): void {
  if (call === "withdraw") return;
  const own = [...pending.values()].filter((one) => one.account === account).length;
  if (pending.size >= CALLS_MAX || own >= ACCOUNT_CALLS_MAX) {
    throw new ExchangeError("timeout", "too many calls wait for the exchange");
  }
}

/** Gives the thread of an exchange, which is started if there is none. */
function threadOf(threads: Threads, exchange: string, url: string | null): Thread {
  const known = threads.get(exchange);
  if (known !== undefined) return known;
  const worker = startThread(exchange, url);
  const thread: Thread = { worker, answeredAt: 0, pending: new Map(), idle: undefined };
  worker.onmessage = ({ data }: MessageEvent<ExchangeReply>) => {
    thread.answeredAt = performance.now();
    settle(thread, data);
    if (thread.pending.size > 0) return;
    const idle = setTimeout(() => endThread(threads, exchange, "unknown", ENDED), IDLE_MS);
    Deno.unrefTimer(idle);
    thread.idle = idle;
  };
  worker.onerror = (event) => {
    event.preventDefault();
    if (threads.get(exchange) !== thread) return;
    endThread(threads, exchange, "unknown", "the exchange's client failed");
  };
  threads.set(exchange, thread);
  return thread;
}

/** The library's code is not trusted: neither are the forms of its answers. */
function faultOf(told: unknown): ExchangeFault {
  const fault = Fault.safeParse(told);
  return fault.success ? fault.data : "unknown";
}

function settle(thread: Thread, reply: ExchangeReply): void {
  const waiting = thread.pending.get(reply.id);
  if (waiting === undefined) return;
  thread.pending.delete(reply.id);
  clearTimeout(waiting.timer);
  if (!("value" in reply)) {
    waiting.reject(new ExchangeError(faultOf(reply.fault), `${reply.message}`.slice(0, 500)));
    return;
  }
  const read = REPLIES[waiting.call].safeParse(reply.value);
  if (read.success) waiting.resolve(read.data);
  else waiting.reject(new ExchangeError("unknown", "the answer of the exchange is out of form"));
}

/** Ends the thread of an exchange; all its calls fail. */
function endThread(
  threads: Threads,
  exchange: string,
  fault: ExchangeFault,
  message: string,
): void {
  const thread = threads.get(exchange);
  if (thread === undefined) return;
  threads.delete(exchange);
  clearTimeout(thread.idle);
  thread.worker.terminate();
  for (const { reject, timer } of thread.pending.values()) {
    clearTimeout(timer);
    reject(new ExchangeError(fault, message));
  }
}

function startThread(exchange: string, url: string | null): Worker {
  const listed = findExchange(exchange);
  if (listed === null) {
    throw new ExchangeError("refused", "the exchange is not supported");
  }
  const net = url === null ? listed.hosts.map((host) => `${host}:443`) : [hostOf(url)];
  try {
    return new Worker(new URL("./isolated.ts", import.meta.url), {
      type: "module",
      name: `exchange ${exchange}`,
      deno: {
        permissions: {
          ...{ net, env: ENV, read: false, write: false, run: false },
          ...{ ffi: false, sys: false, import: false },
        },
      },
    });
  } catch {
    const why = "this process has no right to reach the exchange: its rights are in rights.md";
    throw new ExchangeError("refused", why);
  }
}

function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}
