/** Reading lists to their end, by the link to the next part that each answer has (RFC 8288). @module */
import type { Taken } from "./sending.ts";

/** Asks for a part of the list: for the first one, or with the query of a link. */
export type AskPart = (query: string | null) => Promise<Taken>;

/**
 * Reads the parts of a list until one is empty or has no link.
 *
 * @throws {TypeError} where an answer is no list
 */
export async function* readParts(ask: AskPart): AsyncGenerator<unknown[], void, undefined> {
  for (let query: string | null = null;;) {
    const { value, response } = await ask(query);
    const part = rowsOf(value);
    if (part.length > 0) yield part;
    query = nextQuery(response.headers.get("link"));
    if (part.length === 0 || query === null) return;
  }
}

function rowsOf(value: unknown): unknown[] {
  const rows = Array.isArray(value) ? value : (value as { rows?: unknown } | null)?.rows;
  if (!Array.isArray(rows)) throw new TypeError("the answer is no list");
  return rows;
}

/**
 * The query of the link to the next part. Its path is not followed, which could lead elsewhere: parts of a list differ
 * in their query alone.
 */
function nextQuery(link: string | null): string | null {
  const [, target] = /<([^<>]*)>\s*;[^,]*\brel="?next"?/i.exec(link ?? "") ?? [];
  const at = target?.indexOf("?") ?? -1;
  return at < 0 ? null : target!.slice(at + 1).replace(/#.*$/, "");
}
