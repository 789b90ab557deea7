/** Free TCP ports for programs that must be told theirs. @module */

/** A port of 127.0.0.1 that nobody listens on. */
export function freePort(): number {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  return listener.addr.port;
}
