/** How changes of rows that CHECKs refuse are written. @module */

/** The changes of a table's rows that are tried, by the name of the constraint that refuses them. */
export type Tries = Readonly<Record<string, string | readonly string[]>>;

/** No number: each is greater than any amount, and some comparison with it is true. */
export function endless(column: string, where = ""): string[] {
  return [`${column} = 'NaN' ${where}`, `${column} = 'Infinity' ${where}`];
}
