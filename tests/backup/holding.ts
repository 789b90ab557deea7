/** Commands that are held up by a lock of another session. @module */
import { openDatabase } from "../../db/database.ts";
import { until } from "../support/eventually.ts";
import { rowsAt } from "./fixture.ts";

/** Holds a statement's locks until it is let go. */
export async function holding(
  url: string,
  statement: string,
): Promise<AsyncDisposable> {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const done = database.builder.sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx.unsafe(statement);
    held.resolve();
    await release.promise;
    await tx`rollback and chain`;
  });
  await Promise.race([held.promise, done]);
  return {
    async [Symbol.asyncDispose]() {
      release.resolve();
      await done;
      await database.close();
    },
  };
}

/** Waits until a process waits for a lock in a database. */
export async function untilSomebodyWaits(url: string): Promise<void> {
  await until(async () => {
    const rows = await rowsAt(
      url,
      `select 1 from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and application_name = 'purser owner'`,
    );
    return rows.length > 0;
  });
}
