/** A server of the loopback interface that says byte by byte what a test tells it to. @module */
import type { Certificate } from "./certificates.ts";

/** A connection that was accepted. */
export interface RawPeer {
  /** Its number, from 0. */
  n: number;
  /** Reads one request; null: the client closed the connection. */
  request(): Promise<string | null>;
  /** Writes bytes, or text as UTF-8; false: the client closed the connection. */
  send(bytes: string | Uint8Array): Promise<boolean>;
  close(): void;
}

/** A raw server. */
export interface RawServer extends AsyncDisposable {
  port: number;
  /** For the loopback interface. */
  url: string;
  /** Connections so far. */
  accepted(): number;
  /** Requests as they came, with the number of their connection. */
  requests: { n: number; text: string }[];
}

/** Runs `talk` with each connection, and closes it afterwards. */
export function openRawServer(
  talk: (peer: RawPeer) => Promise<void>,
  tls?: Certificate,
): RawServer {
  const where = { port: 0, hostname: "127.0.0.1" };
  const listener: Deno.Listener<Deno.Conn<Deno.NetAddr>> = tls === undefined
    ? Deno.listen(where)
    : Deno.listenTls({ ...where, ...tls });
  const requests: RawServer["requests"] = [];
  const open = new Set<Promise<void>>();
  let accepted = 0;
  const serve = async () => {
    for await (const connection of listener) {
      const peer = peerOf(connection, accepted++, requests);
      const talking: Promise<void> = talk(peer).catch(() => {}).finally(() => {
        peer.close();
        open.delete(talking);
      });
      open.add(talking);
    }
  };
  // A handshake that fails ends the iteration of a TLS listener's accepted connection alone.
  const serving = serve().catch(() => {});
  const { port } = listener.addr as Deno.NetAddr;
  return {
    port,
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}/`,
    accepted: () => accepted,
    requests,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
      await Promise.all(open);
    },
  };
}

function peerOf(connection: Deno.Conn, n: number, requests: RawServer["requests"]): RawPeer {
  const buffer = new Uint8Array(16_384);
  let isClosed = false;
  let rest = "";
  const read = async (): Promise<boolean> => {
    const count = await connection.read(buffer).catch(() => null);
    // A character for each byte, because lengths count bytes.
    if (count !== null) rest += String.fromCharCode(...buffer.subarray(0, count));
    return count !== null;
  };
  return {
    n,
    async request() {
      for (;;) {
        const end = rest.indexOf("\r\n\r\n") + 4;
        const length = Number(/content-length: (\d+)/i.exec(rest.slice(0, end))?.[1] ?? 0);
        if (end > 3 && rest.length >= end + length) {
          const bytes = Uint8Array.from(rest.slice(0, end + length), (one) => one.charCodeAt(0));
          const text = new TextDecoder().decode(bytes);
          rest = rest.slice(end + length);
          requests.push({ n, text });
          return text;
        }
        if (!await read()) return null;
      }
    },
    async send(bytes) {
      const all = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
      try {
        for (let at = 0; at < all.length;) at += await connection.write(all.subarray(at));
        return true;
      } catch {
        return false;
      }
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      connection.close();
    },
  };
}
