/**
 * A node that misbehaves, on loopback: it passes questions on to a real one, and a test changes what
 * it likes on the way.
 * @module
 */

/** One JSON-RPC question as it arrived. */
export interface Question {
  readonly id: unknown;
  readonly method: string;
  readonly params: unknown[];
}

/** A test's reaction to a question: an answer, a whole response, or undefined to pass it on. */
export type Trick = (question: Question) => unknown | Response | Promise<unknown | Response>;

/** A node's silence. */
export interface Stall {
  /** Settles when the first question is left without an answer. */
  readonly reached: Promise<void>;
  /** Questions that were left without an answer so far. */
  readonly kept: Question[];
  /** Answers from now on, also those who still wait. */
  end(): void;
}

/** A running node that misbehaves when told. */
export interface FaultyNode extends AsyncDisposable {
  readonly url: string;
  /** Methods asked so far, in order. */
  readonly asked: string[];
  /** How many questions each request brought so far, the refused ones included. */
  readonly sizes: number[];
  /** Sets what is done from now on. */
  trick: Trick;
  /** Changes what is said in one response: the answer to one question, or a list of those to several. */
  retell: (said: unknown) => unknown | Response;
  /** False refuses several questions in one request. */
  takesBatches: boolean;
  /**
   * Says nothing from now on, to all questions or to some; `deaf: false` has them passed on first, so
   * that they take effect.
   */
  stall(how?: { which?: (question: Question) => boolean; deaf?: boolean }): Stall;
  /** Ends it even while it owes an answer. */
  abort(): Promise<void>;
}

/** A JSON-RPC error as the answer to a question. */
export class NodeError extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

/** The answer to a batch where none is taken. */
const REFUSED = {
  jsonrpc: "2.0",
  id: null,
  error: { code: -32600, message: "batches are not taken" },
};

/** Starts a misbehaving node before a real node, or before none. */
export function startFaultyNode(
  behind: string | null,
  trick: Trick = () => undefined,
): FaultyNode {
  const ending = new AbortController();
  const { signal } = ending;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {}, signal }, serve);
  const faulty: FaultyNode = {
    url: `http://127.0.0.1:${server.addr.port}`,
    asked: [],
    sizes: [],
    trick,
    retell: (said) => said,
    takesBatches: true,
    stall({ which = () => true, deaf = true } = {}) {
      const reached = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      const kept: Question[] = [];
      faulty.trick = async (question) => {
        if (!which(question)) return undefined;
        const answer = deaf ? undefined : await passOn(behind, question);
        kept.push(question);
        reached.resolve();
        await ended.promise;
        return deaf ? undefined : Response.json(answer);
      };
      return {
        reached: reached.promise,
        kept,
        end() {
          faulty.trick = () => undefined;
          ended.resolve();
        },
      };
    },
    abort: async () => {
      ending.abort();
      await server.finished;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  async function serve(request: Request): Promise<Response> {
    const body = await request.json();
    const questions: Question[] = Array.isArray(body) ? body : [body];
    faulty.sizes.push(questions.length);
    if (Array.isArray(body) && !faulty.takesBatches) return Response.json(REFUSED);
    const answers: unknown[] = [];
    for (const question of questions) {
      faulty.asked.push(question.method);
      const answer = await answerTo(question);
      if (answer instanceof Response) return answer;
      answers.push(answer);
    }
    return replyOf(faulty.retell(Array.isArray(body) ? answers : answers[0]));
  }
  async function answerTo(question: Question): Promise<unknown | Response> {
    const { id } = question;
    try {
      const answer = await faulty.trick(question);
      if (answer instanceof Response) return answer;
      if (answer !== undefined) return { jsonrpc: "2.0", id, result: answer };
      return await passOn(behind, question);
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      return { jsonrpc: "2.0", id, error: { code: error.code, message: error.message } };
    }
  }
  return faulty;
}

function replyOf(said: unknown): Response {
  return said instanceof Response ? said : Response.json(said);
}

/** Asks the real node. */
export async function passOn(
  behind: string | null,
  question: Question,
  more: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  if (behind === null) throw new NodeError(-32601, "Method not found");
  const headers = { "content-type": "application/json", ...more };
  const body = JSON.stringify({ jsonrpc: "2.0", ...question });
  const response = await fetch(behind, { method: "POST", headers, body });
  return await response.json();
}
