/**
 * Padding: a header that makes the runtime send later answers of a connection in one packet instead of two.
 *
 * The runtime writes head and body of an answer together where both fit into the buffer of the connection,
 * which begins with 512 bytes, grows with the heads that it has held, and never shrinks. Heads of the API
 * have some 500 bytes, so each body would take a packet of its own: one more call of the system here, one
 * more read at the caller. One long head makes room for all that follow.
 *
 * @module
 */

/** The header, which clients ignore. */
const NAME = "x-padding";
/**
 * Characters of the headers of a padded answer: head and body of a usual answer fit behind them. Proxies that take
 * heads of 4 KiB refuse longer ones, so an answer with long headers of its own, such as a link, is padded by less.
 */
const HEADERS = 2560;
/** Connections are told apart by their ports; after so many requests they are begun anew. */
const REQUESTS = 65_536;
const PORTS = 65_536;

/** Which answers are padded. */
export interface Padding {
  /**
   * Whether the answer on the connection from this port of the caller is the one to pad: the second. Connections
   * that are used once have none, and those of different callers with the same port are taken for one.
   */
  isDue(port: number): boolean;
  /** Pads an answer. */
  add(answer: Response | Promise<Response>): Promise<Response>;
}

/** Pads the second answer of each connection. */
export function openPadding(): Padding {
  const seen = new Uint8Array(PORTS);
  let requests = 0;
  return {
    isDue(port) {
      if (++requests > REQUESTS) {
        seen.fill(0);
        requests = 1;
      }
      const times = seen[port] ?? 2;
      if (times < 2) seen[port] = times + 1;
      return times === 1;
    },
    async add(answer) {
      const padded = await answer;
      const { headers } = padded;
      const own = [...headers].reduce((sum, pair) => sum + lengthOf(pair), 0);
      const missing = HEADERS - own - lengthOf([NAME, ""]);
      if (missing > 0) headers.append(NAME, "x".repeat(missing));
      return padded;
    },
  };
}

/** Characters of a header as it is sent. */
function lengthOf([name, value]: readonly [name: string, value: string]): number {
  return name.length + ": ".length + value.length + "\r\n".length;
}
