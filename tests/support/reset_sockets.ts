/** Ways to a database whose sockets are reset, and what a client does at that moment. @module */
import net from "node:net";

/** A way to a database. */
export interface Way extends AsyncDisposable {
  url: string;
  /** Resets the connection that was opened first of those that are open. */
  reset(): void;
  /** From now on nothing arrives anywhere, and nothing is closed. */
  freeze(): void;
}

/** Opens a way to a database. */
export async function openWay(address: string): Promise<Way> {
  const url = new URL(address);
  const { hostname, port } = url;
  const clients = new Map<net.Socket, net.Socket>();
  const proxy = net.createServer({ allowHalfOpen: true }, (client) => {
    const server = net.connect(Number(port), hostname);
    for (const one of [client, server]) one.on("error", () => {});
    client.pipe(server).pipe(client);
    clients.set(client, server);
    client.on("close", () => {
      clients.delete(client);
      server.destroy();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  url.host = `127.0.0.1:${(proxy.address() as net.AddressInfo).port}`;
  return {
    url: url.href,
    reset: () => void [...clients.keys()][0].resetAndDestroy(),
    freeze() {
      for (const [client, server] of clients) {
        for (const one of [client, server]) one.unpipe().pause();
      }
    },
    [Symbol.asyncDispose]() {
      for (const client of clients.keys()) client.destroy();
      return new Promise((resolve) => proxy.close(() => resolve()));
    },
  };
}

/** Does something right behind the next error that a socket of this process tells its owner. */
export function whenFailed<T>(work: () => Promise<T>): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const sockets: { emit: (name: string, ...args: unknown[]) => boolean } = net.Socket.prototype;
  const { emit } = sockets;
  sockets.emit = function (name, ...args) {
    const isHeard = emit.call(this, name, ...args);
    if (name === "error") {
      sockets.emit = emit;
      resolve(work());
    }
    return isHeard;
  };
  return promise;
}
