/** Free TCP ports for programs that must be told theirs. @module */

/** Below the ports that systems hand out: no connection is given one before the program listens there. */
const LOWEST = 20_000;
const COUNT = 12_736;
/** Ports of a block. A process has one to itself, as long as it lives, by listening on its first port. */
const BLOCK = 64;

const first = takeBlock();
let next = 0;

/** Takes a block that no other process of tests has: one that starts a program anew would else find another's on its port. */
function takeBlock(): number {
  let block = Math.floor(Math.random() * COUNT / BLOCK);
  while (true) {
    const port = LOWEST + block++ * BLOCK % COUNT;
    if (listenOn(port) !== null) return port; // it stays open
  }
}

/** Listens on a port of 127.0.0.1, unless somebody does. */
function listenOn(port: number): Deno.Listener | null {
  try {
    return Deno.listen({ port, hostname: "127.0.0.1" });
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    return null;
  }
}

/** A port of 127.0.0.1 that nobody listens on, and that this process is not given again before the others of its block. */
export function freePort(): number {
  while (true) {
    const port = first + 1 + next++ % (BLOCK - 1);
    const listener = listenOn(port);
    listener?.close();
    if (listener !== null) return port;
  }
}
