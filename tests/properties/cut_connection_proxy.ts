/**
 * A way to PostgreSQL that can be cut: a proxy whose connections end without a word, whatever is on
 * its way in either direction.
 *
 * @module
 */

/** A running proxy. */
export interface Proxy extends AsyncDisposable {
  /** The database's address through the proxy. */
  url: string;
  /**
   * Ends connections, all or those of queues; or those of queues as soon as the database has answered
   * something, which then nobody hears. Gives how many.
   */
  cut(which: Cut): number;
}

/** The connections that are cut, and when. */
export type Cut = "all" | "queues" | "answers";

interface Link {
  near: Deno.Conn;
  far: Deno.Conn;
  /** The client's name, as it stated at the start. */
  name: string;
  /** Ends with the next answer. */
  doomed: boolean;
}

/** Starts a proxy on a free port of 127.0.0.1. */
export function startProxy(databaseUrl: string): Proxy {
  const target = new URL(databaseUrl);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const links = new Set<Link>();
  const running: Promise<void>[] = [];

  async function serve(): Promise<void> {
    for await (const near of listener) running.push(join(near));
  }

  async function join(near: Deno.Conn): Promise<void> {
    const far = await Deno.connect({ hostname: target.hostname, port: Number(target.port) });
    const link: Link = { near, far, name: "", doomed: false };
    links.add(link);
    await Promise.all([pump(link, near, far), pump(link, far, near)]);
    links.delete(link);
  }

  const serving = serve();
  const url = new URL(databaseUrl);
  url.port = String((listener.addr as Deno.NetAddr).port);
  return {
    url: url.href,
    cut(which) {
      const chosen = [...links].filter(({ name }) => which === "all" || name === "posting");
      for (const link of chosen) {
        if (which === "answers") link.doomed = true;
        else end(link);
      }
      return chosen.length;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
      for (const link of links) end(link);
      await Promise.all(running);
    },
  };
}

/** Passes bytes on until one side has ended; then both have. */
async function pump(link: Link, from: Deno.Conn, to: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(64 * 1024);
  try {
    for (;;) {
      const length = await from.read(buffer);
      if (length === null || (link.doomed && from === link.far)) break;
      if (link.name === "" && from === link.near) {
        const said = new TextDecoder().decode(buffer.subarray(0, length));
        link.name = /purser (\w+)/.exec(said)?.[1] ?? "other";
      }
      for (let sent = 0; sent < length;) sent += await to.write(buffer.subarray(sent, length));
    }
  } catch {
    // It was cut, or the other side was: both end now.
  }
  end(link);
}

function end({ near, far }: Link): void {
  for (const side of [near, far]) {
    try {
      side.close();
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error; // it has ended already
    }
  }
}
