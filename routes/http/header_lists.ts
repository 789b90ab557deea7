/**
 * Headers of answers as a list. The runtime makes a list of the record that it is given, and compares each
 * name with all before it: with a dozen headers that costs as much as the rest of the answer. An object that
 * passes for its `Headers` and holds the list already is taken as it is, unchecked; a value with a line
 * break would end the process. Values are therefore checked here.
 *
 * It reaches below the platform's interface: where the runtime's `Headers` has another form, it gets a record,
 * and a test fails.
 * @module
 */

/** A header's name in lower case, and its value. */
export type HeaderPair = readonly [name: string, value: string];

/** Headers whose values were checked. */
export interface HeaderList {
  readonly pairs: readonly HeaderPair[];
}

const PLAIN = /^[\x20-\x7e]*$/;
/** The runtime's own name of the list. */
const LIST = Object.getOwnPropertySymbols(Headers.prototype)
  .find((symbol) => symbol.description === "iterable headers");

/** Makes a list of headers. @throws {TypeError} at a value that is not printable ASCII */
export function listOf(record: Readonly<Record<string, string>>): HeaderList {
  const pairs = Object.entries(record);
  for (const [name, value] of pairs) {
    if (!PLAIN.test(value)) throw new TypeError(`the header ${name} is not printable ASCII`);
  }
  return { pairs };
}

/** Headers of an answer from lists, in which no name comes twice. */
export function headersFrom(...lists: readonly HeaderList[]): HeadersInit {
  return listed(lists.flatMap(({ pairs }) => pairs));
}

/** Passes for the runtime's `Headers`: its own list hides the one that it would make. */
const listed: (pairs: readonly HeaderPair[]) => HeadersInit = LIST === undefined
  ? (pairs) => Object.fromEntries(pairs)
  : listsBy(LIST);

function listsBy(symbol: symbol): (pairs: readonly HeaderPair[]) => HeadersInit {
  const parent = Object.create(Headers.prototype, { [symbol]: { value: [], writable: true } });
  return (pairs) => {
    const headers = Object.create(parent);
    headers[symbol] = pairs;
    return headers;
  };
}
