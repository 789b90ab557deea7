/** Reading JSON without losing a digit of an amount. @module */

// Strings, numbers and the marks around them; `true`, `false`, `null` and blanks lie between.
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[{}[\]]/g;
const BLANK = /[ \t\r\n]*/y;

/**
 * Parses JSON; the numbers at these paths become their digits as text. A double keeps about 16 digits of a decimal,
 * and an amount has up to 54.
 *
 * @param paths Members, dotted; `*` is every item of a list: `rows.*.fee.value`.
 * @throws {SyntaxError} where the text is no JSON.
 */
export function parseExactly(text: string, paths: readonly string[] = []): unknown {
  return JSON.parse(paths.length === 0 ? text : quoteNumbers(text, new Set(paths)));
}

/** Puts quotes around the numbers at some paths. */
function quoteNumbers(text: string, paths: ReadonlySet<string>): string {
  /** The member, or `*`, that is being read in each object or list around the token. */
  const around: string[] = [];
  let [quoted, done] = ["", 0];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const first = token[0];
    if (first === "{") around.push("");
    else if (first === "[") around.push("*");
    else if (first === "}" || first === "]") around.pop();
    else if (first === '"') {
      if (isName(text, index + token.length)) around[around.length - 1] = JSON.parse(token);
    } else if (paths.has(around.join("."))) {
      quoted += `${text.slice(done, index)}"${token}"`;
      done = index + token.length;
    }
  }
  return quoted + text.slice(done);
}

/** Whether the string that ends here names a member: a colon follows. */
function isName(text: string, end: number): boolean {
  BLANK.lastIndex = end;
  return text[end + (BLANK.exec(text)?.[0].length ?? 0)] === ":";
}
