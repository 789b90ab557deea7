/**
 * Connections that wait to be used again: some for each host, for a while. Each is read while it
 * waits, so one that its receiver closes, or on which something comes unasked, leaves at once.
 * @module
 */
import type { PartedConnection } from "./parted_connections.ts";

/** Connections that wait. */
export interface IdleConnections {
  /** Takes the connection to a host that was used last; null: there is none. */
  take(host: string): PartedConnection | null;
  /** Keeps a connection for some milliseconds, or closes it where there is no room. */
  keep(host: string, connection: PartedConnection, ms: number): void;
  close(): void;
}

interface Idle {
  host: string;
  connection: PartedConnection;
  /** By `performance.now()`. */
  until: number;
}

const HOST_MAX = 128;
const ALL_MAX = 512;
const SWEEP_MS = 1000;

/** Opens an empty set of connections that wait. */
export function openIdleConnections(): IdleConnections {
  const hosts = new Map<string, Idle[]>();
  /** In the order in which they were kept. */
  const all = new Set<Idle>();
  let timer: ReturnType<typeof setTimeout> | null = null;

  function leave(one: Idle): void {
    all.delete(one);
    const those = hosts.get(one.host)!;
    those.splice(those.lastIndexOf(one), 1);
    if (those.length === 0) hosts.delete(one.host);
  }

  function drop(one: Idle): void {
    if (!all.has(one)) return;
    leave(one);
    one.connection.close();
  }

  function sweep(): void {
    const now = performance.now();
    for (const one of [...all]) if (one.until <= now) drop(one);
    timer = all.size === 0 ? null : setTimeout(sweep, SWEEP_MS);
  }

  return {
    take(host) {
      for (;;) {
        const one = hosts.get(host)?.at(-1);
        if (one === undefined) return null;
        if (one.until > performance.now()) {
          leave(one);
          return one.connection;
        }
        drop(one);
      }
    },
    keep(host, connection, ms) {
      const those = hosts.get(host) ?? [];
      if (ms <= 0 || those.length >= HOST_MAX) return connection.close();
      const one = { host, connection, until: performance.now() + ms };
      hosts.set(host, those);
      those.push(one);
      all.add(one);
      connection.watch(() => drop(one));
      if (all.size > ALL_MAX) drop(all.values().next().value!);
      timer ??= setTimeout(sweep, SWEEP_MS);
    },
    close() {
      for (const one of [...all]) drop(one);
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
