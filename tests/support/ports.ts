/** Free TCP ports for programs that must be told theirs. @module */

/** Below the ports that systems hand out: no connection is given one before the program listens there. */
const LOWEST = 20_000;
const COUNT = 12_768;

let next = Math.floor(Math.random() * COUNT);

/** A port of 127.0.0.1 that nobody listens on, and that this process is not given again before all others. */
export function freePort(): number {
  while (true) {
    const port = LOWEST + next++ % COUNT;
    try {
      using _listener = Deno.listen({ port, hostname: "127.0.0.1" });
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
