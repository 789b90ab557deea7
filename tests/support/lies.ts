/**
 * Lies about every field of every answer of a node: what a field is replaced by, and a node that tells
 * one such lie at a time. The answers themselves are those of a real node.
 * @module
 */
import type { Question } from "./nodes/faulty_node.ts";

/** Where a field stands in an answer: names of fields, and `*` for every item of a list. */
export type FieldPath = readonly string[];

/** A lie about one field. */
export interface Lie {
  /** Which questions it answers, as {@link LyingNode.kindOf} names them. */
  readonly kind: string;
  readonly path: FieldPath;
  /** The change of the field, in a word. */
  readonly name: string;
  /** Makes the lie out of the truth; undefined leaves the field out. */
  readonly tell: (truth: unknown) => unknown;
  /** Only the first item of a list is lied about: a lie of some size. */
  readonly once?: boolean;
}

/** A node that tells the truth under one address and lies under others. */
export interface LyingNode extends AsyncDisposable {
  readonly honest: string;
  /** Gives an address under which a lie is told, or the one that is to be told when it is asked. */
  lying(lie: Lie | (() => Lie | null)): string;
  /** Kinds of questions asked under the honest address since this was last emptied. */
  readonly asked: Set<string>;
  /** True answers by the kind of their question: each kind's first few. */
  readonly answers: ReadonlyMap<string, readonly unknown[]>;
}

/** Answers of a kind that fields are collected from. */
const SAMPLES = 4;
/** Whom a question goes to, a second address of the same, and the path of a node of plain HTTP. */
const FACE = /^\/([^/]+)(?:\/too)?(?:\/(.+))?$/;
const LONG = 5 * 2 ** 20;
/** Stands for a list in a list and so on, which has to be written by hand. */
const DEEP = "a list of great depth";
const DEPTH = 20_000;
const MANY = 5_000;

/** The answer of a real node: a result, or an error of its own. */
export type Ask = (question: Question) => Promise<Record<string, unknown>>;

/**
 * Starts a node of two faces before a real one.
 *
 * @param how.remember answers each question once, for a chain without new blocks
 */
export function startLyingNode(
  ask: Ask,
  kindOf: (question: Question) => string,
  { remember }: { readonly remember: boolean },
): LyingNode {
  const memory = new Map<string, ReturnType<Ask>>();
  const answers = new Map<string, unknown[]>();
  const lies: (() => Lie | null)[] = [];
  const ending = new AbortController();
  const { signal } = ending;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {}, signal }, serve);
  const url = `http://127.0.0.1:${server.addr.port}`;
  const node: LyingNode = {
    honest: `${url}/honest`,
    lying(lie) {
      lies.push(typeof lie === "function" ? lie : () => lie);
      return `${url}/${lies.length - 1}`;
    },
    asked: new Set(),
    answers,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await server.finished;
    },
  };
  async function serve(request: Request): Promise<Response> {
    const [, face, path] = FACE.exec(new URL(request.url).pathname)!;
    const body = await request.json();
    const lie = lies[parseInt(face, 10)]?.() ?? null;
    const text = JSON.stringify(
      path === undefined ? await rpcAnswer(body, lie) : await plainAnswer(path, body, lie),
    ) ?? "";
    return new Response(text.replaceAll(`"${DEEP}"`, "[".repeat(DEPTH) + "]".repeat(DEPTH)), {
      headers: { "content-type": "application/json" },
    });
  }
  async function rpcAnswer(body: Question | Question[], lie: Lie | null): Promise<unknown> {
    const questions = Array.isArray(body) ? body : [body];
    const told: unknown[] = [];
    // One after the other: a real node refuses what its queue has no room for.
    for (const one of questions) told.push(await answer(one, lie));
    return Array.isArray(body) ? told : told[0];
  }
  /** A node of plain HTTP: the path is the question, and nothing stands around the answer. */
  async function plainAnswer(path: string, body: unknown, lie: Lie | null): Promise<unknown> {
    return (await answer({ id: null, method: path, params: [body] }, lie)).result;
  }
  async function answer(question: Question, lie: Lie | null): Promise<Record<string, unknown>> {
    const { id, method, params } = question;
    const key = JSON.stringify([method, params]);
    const known = memory.get(key) ?? ask({ id, method, params });
    if (remember) memory.set(key, known);
    const truth: Record<string, unknown> = { jsonrpc: "2.0", ...await known, id };
    const kind = kindOf(question);
    if (lie === null) node.asked.add(kind);
    if (!("result" in truth) || truth.error) return truth;
    const { result } = truth;
    const samples = answers.get(kind) ?? [];
    if (samples.length < SAMPLES) answers.set(kind, [...samples, result]);
    return lie?.kind !== kind ? truth : { ...truth, result: altered(result, lie.path, lie) };
  }
  return node;
}

/** Changes a field of an answer. A path that the answer does not have changes nothing. */
function altered(
  answer: unknown,
  path: FieldPath,
  lie: Pick<Lie, "tell" | "once">,
): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return lie.tell(answer);
  if (first === "*") {
    if (!Array.isArray(answer)) return answer;
    return answer.map((one, at) => at > 0 && lie.once ? one : altered(one, rest, lie));
  }
  if (typeof answer !== "object" || answer === null || !(first in answer)) return answer;
  const fields = answer as Record<string, unknown>;
  return { ...fields, [first]: altered(fields[first], rest, lie) };
}

/** Lists the fields of answers, the answer itself first. */
export function fieldsOf(answers: readonly unknown[]): { path: FieldPath; samples: unknown[] }[] {
  const found = new Map<string, { path: FieldPath; samples: unknown[] }>();
  function visit(answer: unknown, path: FieldPath): void {
    const key = path.join(".");
    const field = found.get(key) ?? { path, samples: [] };
    field.samples.push(answer);
    found.set(key, field);
    if (Array.isArray(answer)) {
      for (const one of answer.slice(0, SAMPLES)) visit(one, [...path, "*"]);
    } else if (typeof answer === "object" && answer !== null) {
      for (const [name, value] of Object.entries(answer)) visit(value, [...path, name]);
    }
  }
  for (const answer of answers) visit(answer, []);
  return [...found.values()];
}

/**
 * Lists the lies about a field: of no shape at all, of the right shape and far too large, and such as
 * might be true.
 *
 * @param others values that other fields have, to be told in its place
 */
export function liesAbout(
  kind: string,
  { path, samples }: { path: FieldPath; samples: readonly unknown[] },
  others: readonly unknown[],
): Lie[] {
  const truth = samples.find((one) => one !== null) ?? null;
  const lies: Record<string, Lie["tell"]> = {
    absent: () => undefined,
    null: () => null,
    "a boolean": (one) => one !== true,
    "a number": () => 1,
    "a negative number": () => -1,
    "a fraction": () => 0.5,
    "a giant number": () => 1e300,
    "empty text": () => "",
    words: () => "none of your business",
    "long text": () => "ab".repeat(LONG / 2),
    "an empty list": () => [],
    "an empty object": () => ({}),
    "a deep list": () => DEEP,
    ...(typeof truth === "string" ? aboutText(truth) : {}),
    ...(typeof truth === "number" ? aboutNumber : {}),
    ...(Array.isArray(truth) ? aboutList : {}),
  };
  for (const [at, other] of others.entries()) lies[`another value (${at + 1})`] = () => other;
  return Object.entries(lies).map(([name, tell]) => ({
    ...{ kind, path, name, tell },
    once: name.startsWith("long"),
  }));
}

function aboutText(truth: string): Record<string, Lie["tell"]> {
  const asText = (change: (text: string) => string) => (one: unknown) =>
    typeof one === "string" ? change(one) : one;
  const lies: Record<string, Lie["tell"]> = {
    "long hexadecimal": () => "0x" + "ab".repeat(LONG / 2),
    "half of it": asText((text) => text.slice(0, Math.floor(text.length / 4) * 2)),
    "more than it": asText((text) => text + "00".repeat(32)),
    "another last digit": asText((text) => text.slice(0, -1) + (text.endsWith("1") ? "2" : "1")),
    "another first digit": asText((text) =>
      text.replace(/^(0x)?./, (start) => start.slice(0, -1) + (start.endsWith("7") ? "5" : "7"))
    ),
  };
  if (!/^0x[0-9a-f]{1,64}$/.test(truth)) return lies;
  const asCount = (change: (count: bigint) => bigint) =>
    asText((text) => {
      const count = change(BigInt(text));
      return `0x${(count < 0n ? 0n : count).toString(16)}`;
    });
  return {
    ...lies,
    none: () => "0x0",
    one: () => "0x1",
    "one more": asCount((count) => count + 1n),
    "one less": asCount((count) => count - 1n),
    "a thousand more": asCount((count) => count + 1000n),
    "three times as much": asCount((count) => count * 3n),
    "the most of 53 bits": () => "0x1fffffffffffff",
    "the most of 64 bits": () => "0xffffffffffffffff",
    "the most of 256 bits": () => `0x${"f".repeat(64)}`,
    "negative hexadecimal": () => "-0x1",
  };
}

const aboutNumber: Readonly<Record<string, Lie["tell"]>> = {
  none: () => 0,
  "one more": (one) => typeof one === "number" ? one + 1 : one,
  "one less": (one) => typeof one === "number" ? one - 1 : one,
  "a thousand more": (one) => typeof one === "number" ? one + 1000 : one,
  "three times as much": (one) => typeof one === "number" ? one * 3 : one,
  "the most of 53 bits": () => Number.MAX_SAFE_INTEGER,
  "the most of 31 bits and one": () => 2 ** 31,
  "as text": (one) => `${one}`,
};

const aboutList: Readonly<Record<string, Lie["tell"]>> = {
  "everything twice": (one) => Array.isArray(one) ? [...one, ...one] : one,
  "the other way round": (one) => Array.isArray(one) ? one.toReversed() : one,
  "the first thousands of times": (one) =>
    Array.isArray(one) && one.length > 0 ? Array.from({ length: MANY }, () => one[0]) : one,
};

/** Says what a lie is about. */
export function nameOf({ kind, path, name }: Lie): string {
  return `${kind} ${path.join(".") || "itself"}: ${name}`;
}
