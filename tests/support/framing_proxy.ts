/** A way to PostgreSQL that is cut between two of the server's messages. @module */

/** A running proxy. */
export interface FramingProxy extends AsyncDisposable {
  /** The database's address through it. */
  url: string;
  /** Cuts the connection behind the next error with this code, before the server says that it is ready. */
  cutBehindError(code: string): void;
}

/** Bytes of the message by which the server says that it is ready. */
const READY_BYTES = 6;

/** Starts a proxy on a free port of 127.0.0.1. */
export function openProxy(databaseUrl: string): FramingProxy {
  const target = new URL(databaseUrl);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const running: Promise<void>[] = [];
  let code: string | null = null;

  async function pump(from: Deno.Conn, to: Deno.Conn, isAnswer: boolean): Promise<void> {
    const buffer = new Uint8Array(64 * 1024);
    try {
      for (;;) {
        const length = await from.read(buffer);
        if (length === null) break;
        let bytes = buffer.subarray(0, length);
        const cuts = isAnswer && code !== null && new TextDecoder().decode(bytes).includes(code);
        if (cuts) bytes = bytes.subarray(0, length - READY_BYTES);
        for (let sent = 0; sent < bytes.length;) sent += await to.write(bytes.subarray(sent));
        if (!cuts) continue;
        code = null;
        break;
      }
    } catch {
      // One of both sides has ended: both do now.
    }
    for (const side of [from, to]) if (open.delete(side)) side.close();
  }

  const serving = (async () => {
    for await (const near of listener) {
      const far = await Deno.connect({ hostname: target.hostname, port: Number(target.port) });
      open.add(near).add(far);
      running.push(pump(near, far, false), pump(far, near, true));
    }
  })();
  const url = new URL(databaseUrl);
  url.port = `${(listener.addr as Deno.NetAddr).port}`;
  return {
    url: url.href,
    cutBehindError: (next) => void (code = next),
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
      for (const side of open) side.close();
      open.clear();
      await Promise.all(running);
    },
  };
}
