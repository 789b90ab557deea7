/**
 * Places of rows in their answers. The driver counts rows on each connection, and begins anew only where a statement ends
 * well. After one that failed behind its first rows, at a time-out for one, the rows of the connection's next statement
 * stood behind as many holes: its reader found nothing in the first place, and took what is there for missing. Rows are
 * therefore put at the end of their own answer, whatever the count says.
 *
 * It reaches below the driver's interface: its statements may have a function that is given each row with the answer.
 * Should that change, the driver places rows by itself, and a test fails.
 *
 * @module
 */
import type postgres from "postgres";

/** The part of the driver's statements that takes rows. */
interface Statement {
  forEachFn?: (row: unknown, answer: unknown[]) => void;
}

/** Has the rows of a driver's statements put at the end of their own answers. */
export function placingRows(sql: postgres.Sql): postgres.Sql {
  const statements: Statement = Object.getPrototypeOf(sql.unsafe("")); // which nobody sends
  statements.forEachFn ??= append;
  return sql;
}

function append(row: unknown, answer: unknown[]): void {
  answer.push(row);
}
