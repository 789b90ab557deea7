/**
 * HTTP of the test's Tron node, on loopback: `/wallet/...` of a full node and `/walletsolidity/...`,
 * which shows solidified blocks only. Questions are answered one after the other. A test may put its
 * own answers between, as a lying node would.
 * @module
 */
import {
  type Answer,
  type Body,
  FULL_ANSWERS,
  type NodeSettings,
  SHARED_ANSWERS,
  viewOf,
} from "./answers.ts";
import {
  broadcastHex,
  broadcastTransaction,
  estimateEnergy,
  triggerConstantContract,
} from "./calls.ts";
import { parseJson, writeJson } from "./json.ts";
import type { Ledger } from "./ledger.ts";
import { MalformedMessage } from "./protobuf.ts";

/** One question as it arrived. */
export interface TronQuestion {
  /** Without a slash before it, such as `walletsolidity/getnowblock`. */
  readonly path: string;
  readonly body: Body;
  /** The honest answer to this question, or to another. */
  honest(path?: string, body?: Body): Promise<unknown>;
}

/** A test's reaction: an answer, a whole response, or undefined for the honest answer. */
export type TronTrick = (
  question: TronQuestion,
) => unknown | Response | Promise<unknown | Response>;

/** One node before the chain. Several may stand before the same. */
export interface TronSurface extends AsyncDisposable {
  readonly url: string;
  /** Paths asked so far, in order. */
  readonly asked: string[];
  readonly settings: NodeSettings;
  /** Blocks that it lies behind the chain, on both surfaces. */
  behind: number;
  /** Sets what is done from now on. */
  trick: TronTrick;
  /** Ends it even while it owes an answer. */
  abort(): Promise<void>;
}

/** Runs work on the chain, one piece after the other. */
export type Turns = <T>(work: () => Promise<T> | T) => Promise<T>;

const BOTH: Readonly<Record<string, Answer>> = {
  ...SHARED_ANSWERS,
  triggerconstantcontract: triggerConstantContract,
  estimateenergy: estimateEnergy,
};
const FULL: Readonly<Record<string, Answer>> = {
  ...BOTH,
  ...FULL_ANSWERS,
  broadcasttransaction: broadcastTransaction,
  broadcasthex: broadcastHex,
};

/** Makes a queue of one. */
export function takeTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}

/** Starts a node before a chain. */
export function startSurface(ledger: Ledger, turns: Turns, port = 0): TronSurface {
  const ending = new AbortController();
  const { signal } = ending;
  const server = Deno.serve({ port, hostname: "127.0.0.1", onListen: () => {}, signal }, serve);
  const surface: TronSurface = {
    url: `http://127.0.0.1:${server.addr.port}`,
    asked: [],
    settings: { savesInternals: true, keepsBalances: false, estimates: false },
    behind: 0,
    trick: () => undefined,
    abort: async () => {
      ending.abort();
      await server.finished;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  async function honest(path: string, body: Body): Promise<unknown> {
    const [space, name] = path.split("/");
    const answers = space === "wallet" ? FULL : space === "walletsolidity" ? BOTH : {};
    const answer = answers[name];
    if (!answer) return undefined;
    if (body.visible === true) return fault("the test's node answers visible: false only");
    try {
      const view = () => viewOf(ledger, space === "wallet", surface.behind);
      return await turns(() => answer(view(), body, surface.settings));
    } catch (error) {
      if (error instanceof MalformedMessage) return fault(error.message);
      throw error;
    }
  }
  async function serve(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const path = pathname.slice(1);
    surface.asked.push(path);
    const text = await request.text();
    const body = bodyOf(text, searchParams);
    if (body === null) return Response.json(fault("syntax error"));
    // A copy: what a test makes of it is no part of the chain.
    const question: TronQuestion = {
      ...{ path, body },
      honest: async (as = path, asked = body) => structuredClone(await honest(as, asked)),
    };
    const tricked = await surface.trick(question);
    if (tricked instanceof Response) return tricked;
    const answer = tricked === undefined ? await honest(path, body) : tricked;
    if (answer === undefined) return new Response("<h2>HTTP ERROR 404</h2>", { status: 404 });
    return new Response(writeJson(answer), { headers: { "content-type": "application/json" } });
  }
  return surface;
}

function fault(message: string): unknown {
  return { Error: `class org.tron.core.services.http.JsonFormat$ParseException : ${message}` };
}

function bodyOf(text: string, query: URLSearchParams): Body | null {
  if (text === "") return Object.fromEntries(query);
  try {
    return parseJson(text) as Body;
  } catch {
    return null;
  }
}
