/**
 * Sessions that have ended while their connection was not told. The runtime forgets the end of an encrypted connection that
 * comes while it does not read, as it does where rows arrive faster than they are taken (Deno 2.9): who waits for the next
 * row then waits for ever. A way that is cut tells nobody either. Another connection is asked.
 *
 * @module
 */
import { besideOf } from "./one_caller.ts";
import type { Tx } from "./pool_types.ts";

/** The session of a transaction: there are such numbers on every server. */
interface Session {
  pid: number;
  /** When the transaction began, in seconds since 1970, as a text. */
  begun: string;
  /** When its server was started, likewise. */
  started: string;
}

const STARTED = "extract(epoch from pg_postmaster_start_time())::text";
/** Time without a row after which the server is asked. */
const SILENCE_MS = 5_000;

/** A transaction that is watched while it reads a stream. */
export interface Watched extends Disposable {
  /** Notes that something has arrived. */
  hear(): void;
}

/** Ends the connection of a transaction, so that its reader is told, when its session has ended; until it is disposed of. */
export async function watchingSession(tx: Tx): Promise<Watched> {
  const [session] = await tx.unsafe<Session[]>(
    `select pg_backend_pid() as pid, extract(epoch from now())::text as begun, ${STARTED} as started`,
  );
  let [isSilent, isAsking] = [false, false];
  const timer = setInterval(() => {
    if (isSilent && !isAsking) {
      isAsking = true;
      endWhereGone(tx, session).catch(() => {}).finally(() => isAsking = false); // asked again, where nobody answers
    }
    isSilent = true;
  }, SILENCE_MS);
  return { hear: () => void (isSilent = false), [Symbol.dispose]: () => clearInterval(timer) };
}

/**
 * Ends the connection of a transaction that is not there any more. The other connection may lead to another server of the
 * same address: that the transaction is not there says nothing, unless the server was started after it had begun.
 */
async function endWhereGone(tx: Tx, { pid, begun, started }: Session): Promise<void> {
  const { open, end } = besideOf(tx);
  const sql = open(() => {});
  try {
    // Of another login's transaction it is hidden when it began.
    const [now] = await sql.unsafe<{ started: string; is_there: boolean }[]>(
      `select ${STARTED} as started, exists (select from pg_stat_activity where pid = ${pid}
        and coalesce(extract(epoch from xact_start)::text, '${begun}') = '${begun}') as is_there`,
    );
    const isGone = now.started === started ? !now.is_there : Number(now.started) > Number(begun);
    if (isGone) await end();
  } finally {
    await sql.end({ timeout: 0 });
  }
}
