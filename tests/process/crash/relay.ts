/** A TCP address that leads to one server or another, as a virtual address in front of a pair of servers. @module */

/** A running relay. */
export interface Relay extends Disposable {
  readonly port: number;
  /** Cuts every connection; new ones lead to that port, or are refused where it is null. */
  leadTo(port: number | null): void;
}

/** Opens a relay to a port of this machine. */
export function openRelay(target: number): Relay {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  let to: number | null = target;
  async function join(from: Deno.TcpConn): Promise<void> {
    open.add(from);
    try {
      if (to === null) return;
      const other = await Deno.connect({ hostname: "127.0.0.1", port: to });
      open.add(other);
      try {
        await Promise.race([
          from.readable.pipeTo(other.writable),
          other.readable.pipeTo(from.writable),
        ]);
      } finally {
        close(other);
      }
    } catch {
      // cut off, or nobody listens there
    } finally {
      close(from);
    }
  }
  function close(connection: Deno.TcpConn): void {
    if (!open.delete(connection)) return;
    try {
      connection.close();
    } catch {
      // the other end was first
    }
  }
  const accept = async () => {
    for await (const from of listener) join(from).catch(() => {}); // it tells nobody
  };
  accept().catch(() => {}); // the listener was closed
  return {
    port: listener.addr.port,
    leadTo(port) {
      to = port;
      for (const connection of [...open]) close(connection);
    },
    [Symbol.dispose]() {
      listener.close();
      for (const connection of [...open]) close(connection);
    },
  };
}
