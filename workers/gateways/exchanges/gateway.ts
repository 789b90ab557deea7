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
import { inTurn, roomFor } from "./turns.ts";

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
  /** Milliseconds for which an exchange may give no answer while another waits for its thread. */
  readonly silenceMs?: number;
}

/** A timer; libraries of types disagree about it. */
type Timer = ReturnType<typeof setTimeout>;

/** A call that waits for a thread, or for its answer. */
interface Call {
  readonly account: ExchangeAccount;
  readonly call: ExchangeRequest["call"];
  readonly args: ExchangeRequest["args"];
  /** When the thread was given it, by `performance.now()`. */
  since: number;
  timer: Timer | undefined;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** An isolated thread, and the calls that wait for it. */
interface Thread {
  readonly exchange: string;
  readonly worker: Worker;
  /** When it last gave an answer. */
  answeredAt: number;
  /** When its exchange last gave an answer; at first, when it was started. */
  heardAt: number;
  readonly pending: Map<number, Call>;
  idle: Timer | undefined;
}

/** The threads of a gateway, and the calls that wait for one. */
interface Gateway {
  readonly urls: GatewayOptions["urls"];
  readonly timeoutMs: number;
  readonly threadsMax: number;
  readonly waitMs: number;
  readonly silenceMs: number;
  /** By the id of their exchange; the one that was used last is the last. */
  readonly running: Map<string, Thread>;
  /** Oldest first. */
  readonly waiting: Set<Call>;
  /** Looks for silent threads while calls wait. */
  looking: ReturnType<typeof setInterval> | undefined;
  count: number;
  isClosed: boolean;
}

const Fault = z.enum(["key", "refused", "unasked", "timeout", "unknown"]);
const TIMEOUT_MS = 60_000;
/** A thread without calls is ended. */
const IDLE_MS = 120_000;
/** Each thread holds the client library, some 80 MB; callers choose for which exchanges there are any. */
const THREADS_MAX = 4;
const WAIT_MS = 30_000;
/** Longer than a request may take: the first answer of a new thread takes a while on a busy machine. */
const SILENCE_MS = 20_000;
const CALLS_MAX = 100;
/** Calls of one account: others are not to wait for them. */
const ACCOUNT_CALLS_MAX = 5;
/** The library asks for these while it is loaded; they are not set. */
const ENV = ["WS_NO_BUFFER_UTIL", "WS_NO_UTF_8_VALIDATE"];

const LATE = "the exchange gave no answer";
const ENDED = "the exchange is not asked any more";
const BUSY = "other exchanges are asked first";

/** Opens the gateway; no thread is started yet. */
export function openExchangeGateway(options: GatewayOptions): ExchangeGateway {
  const gateway: Gateway = {
    urls: options.urls,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    threadsMax: options.threadsMax ?? THREADS_MAX,
    waitMs: options.waitMs ?? WAIT_MS,
    silenceMs: options.silenceMs ?? SILENCE_MS,
    ...{ running: new Map(), waiting: new Set(), looking: undefined, count: 0, isClosed: false },
  };
  const ask = <T>(
    account: ExchangeAccount,
    call: ExchangeRequest["call"],
    args: ExchangeRequest["args"] = {},
  ): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const made: Call = { account, call, args, since: 0, timer: undefined, resolve, reject };
    if (gateway.isClosed) {
      // Of a payment this says that nothing was asked for: it would else be in doubt.
      reject(new ExchangeError(call === "withdraw" ? "unasked" : "timeout", ENDED));
    } else if (call === "withdraw" || takeRoom(gateway, account)) {
      // A payment that waits was asked for by its mark, and would be in doubt: it takes a thread of its own.
      begin(gateway, made);
    } else {
      wait(gateway, made);
    }
    return promise as Promise<T>;
  };
  return {
    currencies: (account) => ask<ExchangeCurrency[]>(account, "currencies"),
    depositAddress: (account, of) => ask<NamedAddress>(account, "depositAddress", { ...of }),
    withdraw: (account, payment) => ask<ExchangeEnd>(account, "withdraw", { ...payment }),
    withdrawals: (account, of) => ask<ExchangeEnd[]>(account, "withdrawals", { ...of }),
    deposits: (account, of) => ask<ExchangeEnd[]>(account, "deposits", { ...of }),
    close: () => close(gateway),
  };
}

function close(gateway: Gateway): void {
  gateway.isClosed = true;
  for (const made of [...gateway.waiting]) giveUp(gateway, made, ENDED);
  for (const thread of [...gateway.running.values()]) endThread(gateway, thread, "unknown", ENDED);
}

/** Lets a call wait until there is a thread for its exchange. */
function wait(gateway: Gateway, made: Call): void {
  gateway.waiting.add(made);
  made.timer = setTimeout(() => giveUp(gateway, made, BUSY), gateway.waitMs);
  gateway.looking ??= setInterval(() => admit(gateway), Math.max(10, gateway.silenceMs / 10));
}

function giveUp(gateway: Gateway, made: Call, why: string): void {
  leave(gateway, made);
  made.reject(new ExchangeError("timeout", why));
}

function leave(gateway: Gateway, made: Call): void {
  clearTimeout(made.timer);
  gateway.waiting.delete(made);
  if (gateway.waiting.size > 0) return;
  clearInterval(gateway.looking);
  gateway.looking = undefined;
}

/** Begins the calls that wait, as far as there is room for them: each realm and each user has its turn. */
function admit(gateway: Gateway): void {
  for (;;) {
    const next = inTurn(gateway.running.values(), gateway.waiting)
      .find(({ account }) => takeRoom(gateway, account));
    if (next === undefined) return;
    leave(gateway, next);
    begin(gateway, next);
  }
}

/** Whether an exchange may have a thread; one that nobody needs, or that is silent, is ended for it. */
function takeRoom(gateway: Gateway, account: ExchangeAccount): boolean {
  const room = roomFor(gateway, account, performance.now());
  if (room === "none") return false;
  if (room !== "free") {
    const { pending } = room.ends;
    endThread(gateway, room.ends, pending.size > 0 ? "timeout" : "unknown", LATE);
  }
  return true;
}

/** Gives a call to the thread of its exchange. */
function begin(gateway: Gateway, made: Call): void {
  const { account, call, args } = made;
  const { id, exchange, credentials } = account;
  const url = Object.hasOwn(gateway.urls, exchange) ? gateway.urls[exchange] : null;
  try {
    const thread = threadOf(gateway, exchange, url);
    assertFree(thread, id, call);
    clearTimeout(thread.idle);
    const number = ++gateway.count;
    made.since = performance.now();
    made.timer = setTimeout(() => noteLate(gateway, thread, number), gateway.timeoutMs);
    thread.pending.set(number, made);
    const request: ExchangeRequest = {
      ...{ id: number, account: id, exchange, credentials, url, call, args },
    };
    thread.worker.postMessage(request);
  } catch (error) {
    made.reject(error as Error);
  }
}

function noteLate(gateway: Gateway, thread: Thread, number: number): void {
  const made = thread.pending.get(number);
  if (made === undefined) return;
  // A thread that answers others is sound: this call alone is late, for the exchange or in its queue.
  if (thread.answeredAt < made.since) endThread(gateway, thread, "timeout", LATE);
  else settle(thread, { id: number, fault: "timeout", message: LATE });
  admit(gateway);
}

/** Refuses a call that would wait too long. A payment was looked up before, so there are few of them. */
function assertFree({ pending }: Thread, account: string, call: ExchangeRequest["call"]): void {
  if (call === "withdraw") return;
  const own = [...pending.values()].filter((one) => one.account.id === account).length;
  if (pending.size >= CALLS_MAX || own >= ACCOUNT_CALLS_MAX) {
    throw new ExchangeError("timeout", "too many calls wait for the exchange");
  }
}

/** Gives the thread of an exchange, which is started if there is none. */
function threadOf(gateway: Gateway, exchange: string, url: string | null): Thread {
  const { running } = gateway;
  const known = running.get(exchange);
  if (known !== undefined) {
    running.delete(exchange);
    running.set(exchange, known);
    return known;
  }
  const worker = startThread(exchange, url);
  const thread: Thread = {
    ...{ exchange, worker, answeredAt: 0, heardAt: performance.now() },
    ...{ pending: new Map(), idle: undefined },
  };
  worker.onmessage = ({ data }: MessageEvent<ExchangeReply>) => {
    thread.answeredAt = performance.now();
    if ("value" in data || HEARD.has(faultOf(data.fault))) thread.heardAt = thread.answeredAt;
    settle(thread, data);
    if (thread.pending.size === 0) {
      const idle = setTimeout(() => endThread(gateway, thread, "unknown", ENDED), IDLE_MS);
      Deno.unrefTimer(idle);
      thread.idle = idle;
    }
    admit(gateway);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    endThread(gateway, thread, "unknown", "the exchange's client failed");
    admit(gateway);
  };
  running.set(exchange, thread);
  return thread;
}

/** Faults by which the exchange itself has answered. */
const HEARD: ReadonlySet<ExchangeFault> = new Set<ExchangeFault>(["key", "refused"]);

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

/** Ends a thread; all its calls fail. */
function endThread(gateway: Gateway, thread: Thread, fault: ExchangeFault, message: string): void {
  if (gateway.running.get(thread.exchange) !== thread) return;
  gateway.running.delete(thread.exchange);
  clearTimeout(thread.idle);
  thread.worker.terminate();
  for (const { reject, timer } of thread.pending.values()) {
    clearTimeout(timer);
    reject(new ExchangeError(fault, message));
  }
  thread.pending.clear();
}

function startThread(exchange: string, url: string | null): Worker {
  const listed = findExchange(exchange);
  if (listed === null) {
    throw new ExchangeError("unasked", "the exchange is not supported");
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
    throw new ExchangeError("unasked", why);
  }
}

function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}
