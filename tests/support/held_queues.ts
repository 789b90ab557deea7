/** The ledger lock held, and a way to the database that is cut: so batches wait in mid-flight. @module */
import { until } from "./eventually.ts";
import { LOCKS_HERE } from "./locks.ts";
import { rowsOf, type TestRealm } from "./realm.ts";

/** Holds the ledger lock, so that whatever a queue sends waits in mid-flight. */
export async function holdLedgerLock(realm: TestRealm): Promise<{ release(): Promise<void> }> {
  const opened = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const held = realm.pool.sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`; // longer than a process may
    await tx`lock table ledger_lock in exclusive mode`;
    opened.resolve();
    await done.promise;
  });
  await opened.promise;
  return {
    async release() {
      done.resolve();
      await held;
    },
  };
}

/** The backends that wait for the ledger lock. */
export const waiters = `select l.pid from ${LOCKS_HERE} l
  where l.relation = 'ledger_lock'::regclass and not l.granted`;

/** Waits until so many backends wait for the ledger lock. */
export async function waitForWaiter(realm: TestRealm, count = 1): Promise<number[]> {
  let rows: { pid: number }[] = [];
  await until(async () => {
    rows = await rowsOf<{ pid: number }>(realm, waiters);
    return rows.length >= count;
  }, 5);
  return rows.map(({ pid }) => pid);
}

/** Waits until a backend of this database waits for another's row: such locks are of no database. */
export async function waitForRowWaiter(realm: TestRealm): Promise<void> {
  await until(async () => {
    const [{ n }] = await realm.pool.sql`
      select count(*)::int as n from pg_locks l join pg_stat_activity a using (pid)
      where not l.granted and l.locktype = 'transactionid' and a.datname = current_database()`;
    return n > 0;
  }, 5);
}

/** A way to the database that can be held up. */
export interface Proxy {
  url: string;
  /** Bytes that went to the server. */
  sent(): number;
  /** From now on, what the server says does not arrive. */
  mute(): void;
  /** From now on, each piece of what the server says waits for this before it arrives. */
  beforeAnswers(wait: (piece: Uint8Array) => Promise<void>): void;
  /** Cuts all connections; later ones hear everything. */
  cut(): void;
  close(): Promise<void>;
}

/** Opens a way to the database's server. */
export function openProxy(target: URL): Proxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const pairs = new Set<Deno.Conn>();
  const running: Promise<unknown>[] = [];
  let muted = false;
  let sent = 0;
  let onAnswer: ((piece: Uint8Array) => Promise<void>) | undefined;

  async function copy(from: Deno.Conn, to: Deno.Conn, mutable: boolean): Promise<void> {
    const buffer = new Uint8Array(65_536);
    try {
      for (;;) {
        const n = await from.read(buffer);
        if (n === null) break;
        if (mutable) await onAnswer?.(buffer.subarray(0, n));
        if (mutable && muted) continue;
        if (!mutable) sent += n;
        for (let at = 0; at < n;) at += await to.write(buffer.subarray(at, n));
      }
    } catch { /* one of the two was cut */ }
    for (const conn of [from, to]) if (pairs.delete(conn)) conn.close();
  }

  running.push((async () => {
    for await (const client of listener) {
      const server = await Deno.connect({ hostname: target.hostname, port: Number(target.port) });
      pairs.add(client).add(server);
      running.push(copy(client, server, false), copy(server, client, true));
    }
  })());
  const url = new URL(target);
  url.port = String(listener.addr.port);
  const cut = () => {
    muted = false;
    for (const conn of pairs) conn.close();
    pairs.clear();
  };
  return {
    url: url.href,
    sent: () => sent,
    mute: () => muted = true,
    beforeAnswers: (wait) => onAnswer = wait,
    cut,
    async close() {
      listener.close();
      cut();
      await Promise.all(running);
    },
  };
}
