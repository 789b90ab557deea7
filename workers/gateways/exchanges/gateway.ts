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
  /** Exchanges that are asked at once. */
  readonly threadsMax?: number;
  /** Milliseconds that a call waits for others to end. */
  readonly waitMs?: number;
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
/** Each thread holds the client library, some 80 MB; callers choose for which exchanges there are any. */
const THREADS_MAX = 4;
const WAIT_MS = 30_000;
const CALLS_MAX = 100;
/** Calls of one account: others are not to wait for them. */
const ACCOUNT_CALLS_MAX = 5;
/** The library asks for these while it is loaded; they are not set. */
const ENV = ["WS_NO_BUFFER_UTIL", "WS_NO_UTF_8_VALIDATE"];

/** Opens the gateway; no thread is started yet. */
export function openExchangeGateway(options: GatewayOptions): ExchangeGateway {
  const { threadsMax = THREADS_MAX, waitMs = WAIT_MS } = options;
  const threads: Threads = { running: new Map(), waiting: new Set() };
  let count = 0;
  let isClosed = false;
  async function ask<T>(
    { id: account, exchange, credentials }: ExchangeAccount,
    call: ExchangeRequest["call"],
    args: ExchangeRequest["args"] = {},
  ): Promise<T> {
    const url = Object.hasOwn(options.urls, exchange) ? options.urls[exchange] : null;
    // A payment that waits was asked for by its mark, and would be in doubt: it takes a thread of its own.
    const until = performance.now() + waitMs;
    while (call !== "withdraw" && !hasRoom(threads, exchange, threadsMax)) {
      await turnOf(threads, until);
    }
    if (isClosed && call !== "withdraw") throw new ExchangeError("timeout", ENDED);
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
      wakeWaiting(threads);
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
      isClosed = true;
      for (const exchange of [...threads.running.keys()]) {
        endThread(threads, exchange, "unknown", ENDED);
      }
    },
  };
}

/** The threads of a gateway. */
interface Threads {
  /** By the id of their exchange; the one that was used last is the last. */
  running: Map<string, Thread>;
  /** Wakes calls that wait until others have ended. */
  waiting: Set<() => void>;
}

const LATE = "the exchange gave no answer";
const ENDED = "the exchange is not asked any more";
const BUSY = "other exchanges are asked first";

/** Whether an exchange may have a thread: one that runs without calls makes room. */
function hasRoom(threads: Threads, exchange: string, threadsMax: number): boolean {
  const { running } = threads;
  if (running.has(exchange) || running.size < threadsMax) return true;
  const [idle] = [...running].find(([, { pending }]) => pending.size === 0) ?? [];
  if (idle === undefined) return false;
  endThread(threads, idle, "unknown", ENDED);
  return true;
}

/**
 * Waits until calls have ended.
 *
 * @param until by `performance.now()`
 * @throws {ExchangeError} `timeout`
 */
async function turnOf({ waiting }: Threads, until: number): Promise<void> {
  const leftMs = until - performance.now();
  if (leftMs <= 0) throw new ExchangeError("timeout", BUSY);
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, leftMs);
  waiting.add(resolve);
  await promise;
  waiting.delete(resolve);
  clearTimeout(timer);
}

function wakeWaiting({ waiting }: Threads): void {
  for (const wake of [...waiting]) wake();
}

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
  const { running } = threads;
  const known = running.get(exchange);
  if (known !== undefined) {
    running.delete(exchange);
    running.set(exchange, known);
    return known;
  }
  const worker = startThread(exchange, url);
  const thread: Thread = { worker, answeredAt: 0, pending: new Map(), idle: undefined };
  worker.onmessage = ({ data }: MessageEvent<ExchangeReply>) => {
    thread.answeredAt = performance.now();
    settle(thread, data);
    if (thread.pending.size > 0) return;
    wakeWaiting(threads);
    const idle = setTimeout(() => endThread(threads, exchange, "unknown", ENDED), IDLE_MS);
    Deno.unrefTimer(idle);
    thread.idle = idle;
  };
  worker.onerror = (event) => {
    event.preventDefault();
    if (running.get(exchange) !== thread) return;
    endThread(threads, exchange, "unknown", "the exchange's client failed");
  };
  running.set(exchange, thread);
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
  const thread = threads.running.get(exchange);
  if (thread === undefined) return;
  threads.running.delete(exchange);
  clearTimeout(thread.idle);
  thread.worker.terminate();
  for (const { reject, timer } of thread.pending.values()) {
    clearTimeout(timer);
    reject(new ExchangeError(fault, message));
  }
  wakeWaiting(threads);
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
