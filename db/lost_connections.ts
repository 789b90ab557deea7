/**
 * Transactions that send nothing more: their connection is lost, or their work has ended. On a lost connection the driver
 * would still roll back or commit, or send the next statement: such a write ends the process, or stays buffered and takes
 * the answer of another caller's statement after the reconnection. The driver's own watch ends the transaction for its
 * caller. What is left of work that has failed, as beside the failure of another part, would send its next statement after
 * the end: on a connection that is another caller's, or for no transaction at all.
 *
 * @module
 */
import type postgres from "postgres";
import { isDisconnect } from "./errors.ts";
import { refuseFurther } from "./statements.ts";

/** Stops a pool's transactions from sending after their connection is lost. */
export function silenceLost(sql: postgres.Sql): postgres.Sql {
  const begin = sql.begin as unknown as Begin;
  const silenced: Begin = (...args) => {
    const work = args.at(-1) as Work;
    const connection = { lost: false };
    const ending = begin(
      ...args.slice(0, -1),
      (tx: postgres.TransactionSql) => unlessLost(connection, tx, work),
    );
    return ending.catch((error) => {
      if (isDisconnect(error)) connection.lost = true;
      throw error;
    });
  };
  return Object.assign(sql, { begin: silenced });
}

type Work = (tx: postgres.TransactionSql) => unknown;
type Begin = (...args: unknown[]) => Promise<unknown>;
interface Connection {
  lost: boolean;
}

/** Gives the result of the work, which may send nothing afterwards; stays pending for ever once the connection is lost. */
async function unlessLost(
  connection: Connection,
  tx: postgres.TransactionSql,
  work: Work,
): Promise<unknown> {
  try {
    const result = await work(watch(connection, tx));
    if (!connection.lost) return result;
  } catch (error) {
    if (!connection.lost && !isDisconnect(error)) throw error;
  } finally {
    refuseFurther(tx);
  }
  return await new Promise<never>(() => {});
}

/** Wraps a transaction: it refuses every statement once its connection is lost. */
function watch(connection: Connection, tx: postgres.TransactionSql): postgres.TransactionSql {
  const assertThere = () => {
    if (!connection.lost) return;
    throw Object.assign(new Error("the connection was lost"), { code: "CONNECTION_CLOSED" });
  };
  return new Proxy(tx, {
    apply(target, self, args) {
      assertThere();
      return Reflect.apply(target as unknown as (...args: unknown[]) => unknown, self, args);
    },
    get(target, name) {
      if (name === "unsafe") assertThere();
      if (name !== "savepoint") return Reflect.get(target, name);
      return (...args: unknown[]) => {
        assertThere();
        const work = args.pop() as Work;
        const inner = (sp: postgres.TransactionSql) => unlessLost(connection, sp, work);
        return (target.savepoint as unknown as Begin)(...args, inner);
      };
    },
  });
}

/**
 * Keeps the process alive when an unawaited promise fails. The driver leaves such promises
 * on connections that were cut; any other is a defect, but one realm's defect must not end the
 * service of all others. An error that is thrown outside of a promise still ends the process.
 */
export function outliveRejections(tell: (message: string, error: unknown) => void): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    const { reason } = event;
    if (isDisconnect(reason)) tell("a connection to the database was lost", reason);
    else tell("an unawaited promise failed", reason);
  });
}
