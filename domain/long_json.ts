/**
 * Bodies of several megabytes, read in slices: lists of the outermost object are cut between their
 * items into parts, each of which is read as a body of its own. The same texts are taken, with the
 * same bounds, as {@link parseJson} takes.
 * @module
 */
import { DomainError } from "./errors.ts";
import {
  type JsonBounds,
  type JsonCounts,
  MEMBERS_MAX,
  newCounts,
  parseJson,
  tooBroad,
} from "./json.ts";
import { breatheIfDue } from "./slices.ts";

/** Text of one part: read in a few milliseconds. */
const PART = 64 * 1024;
/** Limit of a part that cannot be cut: that of a body of its own. */
const PART_MAX = 1024 * 1024;
/** Characters that are scanned between two pauses. */
const SLICE_SIZE = 512 * 1024;

/** Some items of a list. */
interface Part {
  text: string;
  items: number;
}

/** A text without the items of its long lists, in whose place their names stand. */
interface Outline {
  text: string;
  lists: Map<string, Part[]>;
}

/**
 * Parses a long JSON text, letting other requests run between its parts.
 *
 * @throws {DomainError} as {@link parseJson}; request.too_large for a part longer than 1 MiB that
 *   cannot be cut
 */
export async function parseLongJson(text: string, bounds: JsonBounds): Promise<unknown> {
  if (text.length <= PART) return parseJson(text, bounds);
  const outline = await outlineOf(text);
  assertShort(outline.text);
  const counts = newCounts();
  const root = parseJson(outline.text, bounds, counts);
  if (typeof root !== "object" || root === null) return root;
  const lists = new Map<unknown, unknown[]>();
  counts.depth = 1;
  for (const [name, parts] of outline.lists) lists.set(name, await itemsOf(parts, bounds, counts));
  for (const [name, value] of Object.entries(root)) {
    const list = Array.isArray(value) ? lists.get(value[0]) : undefined;
    if (list !== undefined) (root as Record<string, unknown>)[name] = list;
  }
  return root;
}

async function itemsOf(
  parts: readonly Part[],
  bounds: JsonBounds,
  counts: JsonCounts,
): Promise<unknown[]> {
  const list: unknown[] = [];
  for (const { text, items } of parts) {
    assertShort(text);
    await breatheIfDue();
    const read = parseJson(`[${text}]`, bounds, counts) as unknown[];
    if (read.length !== items) throw malformed(); // a comma with nothing beside it
    for (const item of read) list.push(item);
    if (list.length > MEMBERS_MAX) throw tooBroad();
  }
  return list;
}

/** Cuts the long lists of the outermost object out of a text. */
async function outlineOf(text: string): Promise<Outline> {
  const lists = new Map<string, Part[]>();
  const around: string[] = [];
  const opened: number[] = []; // the brackets of the two outermost levels
  let depth = 0, copied = 0, begun = 0, from = 0, items = 0, pauseAt = SLICE_SIZE;
  let parts: Part[] = [];
  for (let i = 0; i < text.length; i++) {
    if (i >= pauseAt) {
      await breatheIfDue();
      pauseAt = i + SLICE_SIZE;
    }
    const c = text.charCodeAt(i);
    if (c === 0x22) i = endOfString(text, i);
    else if (c === 0x7b || c === 0x5b) {
      if (++depth > 2) continue;
      opened[depth] = c;
      begun = from = i + 1;
      items = 1;
      parts = [];
    } else if (c === 0x2c && depth === 2 && opened[1] === 0x7b && opened[2] === 0x5b) {
      if (i - from >= PART) {
        parts.push({ text: text.slice(from, i), items });
        from = i + 1;
        items = 0;
      }
      items++;
    } else if (c === 0x7d || c === 0x5d) {
      if (depth === 2 && parts.length > 0) {
        const name = crypto.randomUUID(); // which no body can know
        lists.set(name, [...parts, { text: text.slice(from, i), items }]);
        around.push(text.slice(copied, begun), `"${name}"`);
        copied = i;
      }
      depth--;
    }
  }
  around.push(text.slice(copied));
  return { text: around.join(""), lists };
}

/** Where a string ends that begins at a place. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) return i;
    if (c === 0x5c) i++;
  }
  return text.length;
}

function assertShort(text: string): void {
  if (text.length <= PART_MAX + PART) return;
  throw new DomainError(
    "request.too_large",
    `one part of the body is larger than ${PART_MAX} bytes`,
  );
}

function malformed(): DomainError {
  return new DomainError("request.malformed", "the body is not valid JSON");
}
