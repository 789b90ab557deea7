/**
 * The runtime's own response, which lies under the web's `Response`. An answer with a status and a dozen
 * headers costs the runtime as much as the rest of its way out: it checks and copies the headers, makes a
 * second copy of the answer for handlers that do not wait, and registers that with the collector of garbage.
 * An answer that is made as the plainest one there is costs none of it; status and headers are then written
 * where the runtime reads them, unchecked. A value with a line break would end the process: values are
 * therefore checked here.
 *
 * It reaches below the platform's interface: where the runtime's response has another form, answers are made
 * by that interface, and a test fails.
 * @module
 */

/** A header's name in lower case, and its value. */
export type HeaderPair = readonly [name: string, value: string];

/** Headers whose values were checked. */
export interface HeaderList {
  readonly pairs: readonly HeaderPair[];
}

/** What the runtime keeps of a response that is sent. */
interface Underlying {
  status: number;
  headerList: readonly HeaderPair[];
}

const PLAIN = /^[\x20-\x7e]*$/;
/** The parts of a response, by the runtime's own names, in the one form that is known here. */
const PARTS = [
  ...["[[webidl.brand]]", "headers", "headers guard", "lazy static body"],
  ...["lazy static content type", "response", "serve fast body", "serve fast consumed"],
  ...["serve fast content type", "serve fast header kind", "serve fast status"],
  "serve native response",
];
/** The parts of what it keeps. */
const KEPT = [
  ...["aborted", "body", "bodyDecoded", "headerList", "status", "statusMessage", "type", "url"],
  "urlList",
];
/** What makes the plainest answer: no status and no headers of its own. */
const PLAINEST = {};

/** Makes a list of headers. @throws {TypeError} at a value that is not printable ASCII */
export function listOf(record: Readonly<Record<string, string>>): HeaderList {
  const pairs = Object.entries(record);
  for (const [name, value] of pairs) {
    if (!PLAIN.test(value)) throw new TypeError(`the header ${name} is not printable ASCII`);
  }
  return { pairs };
}

/** Makes a list that many answers have: none of them can change it. @throws {TypeError} as {@link listOf} does */
export function sharedListOf(record: Readonly<Record<string, string>>): HeaderList {
  const list = listOf(record);
  list.pairs.forEach(Object.freeze);
  return list;
}

/** An answer with a body of its own, whose headers come from lists in which no name comes twice. */
export function answerOf(
  body: string | Uint8Array<ArrayBuffer>,
  status: number,
  ...lists: readonly HeaderList[]
): Response {
  const all: HeaderPair[] = []; // `flatMap` takes half of a microsecond
  for (const { pairs } of lists) all.push(...pairs);
  return answer(body, status, all);
}

type Answer = typeof byInterface;

function byInterface(
  body: string | Uint8Array<ArrayBuffer>,
  status: number,
  pairs: readonly HeaderPair[],
): Response {
  return new Response(body, { status, headers: Object.fromEntries(pairs) });
}

const answer: Answer = byParts() ?? byInterface;

/** Makes answers by their parts; null where the runtime's are others. */
function byParts(): Answer | null {
  const plainest = new Response("", PLAINEST);
  const symbols = new Map(
    Object.getOwnPropertySymbols(plainest).map((symbol) => [symbol.description ?? "", symbol]),
  );
  const [kept, fast, type] = ["response", "serve fast status", "lazy static content type"]
    .map((name) => symbols.get(name));
  if (kept === undefined || fast === undefined || type === undefined) return null;
  if (`${[...symbols.keys()].sort()}` !== `${PARTS}`) return null;
  const under: unknown = Reflect.get(plainest, kept);
  if (typeof under !== "object" || under === null) return null;
  if (`${Object.keys(under).sort()}` !== `${KEPT}`) return null;
  return (body, status, pairs) => {
    const response = new Response(body, PLAINEST) as Response & {
      [part: symbol]: Underlying | number | null;
    };
    const own = response[kept] as Underlying;
    own.status = status;
    own.headerList = pairs;
    response[fast] = 0; // it is no longer the plainest one
    response[type] = null;
    return response;
  };
}
