/**
 * Long work in slices. Between two slices all other work of the event loop has its turn: requests of
 * others, and answers of the database. However much long work there is, one slice runs at a time.
 * @module
 */

/** Items of one slice: a few milliseconds of work. */
const SLICE_ITEMS = 200;
/** Longest time of a slice of costly items. */
const SLICE_MS = 4;

const waiting: (() => void)[] = [];

/** Lets other work have its turn: requests that have arrived, and other slices in order. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => {
    // Immediates would run before anything is read from a socket; a timer does not.
    if (waiting.push(resolve) === 1) setTimeout(next);
  });
}

function next(): void {
  waiting.shift()!();
  if (waiting.length > 0) setTimeout(next);
}

/**
 * Maps items as `items.map(work)` does, in slices. Few items are one slice.
 */
export async function inSlices<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => R,
): Promise<R[]> {
  const done: R[] = [];
  let start = performance.now();
  for (let i = 0; i < items.length; i++) {
    const isFull = i % SLICE_ITEMS === 0 || (i % 10 === 0 && performance.now() - start > SLICE_MS);
    if (i > 0 && isFull) {
      await breathe();
      start = performance.now();
    }
    done.push(work(items[i], i));
  }
  return done;
}

/** Writes items with commas between them, in slices; each slice joins its own items. */
export async function joinInSlices<T>(
  items: readonly T[],
  work: (item: T, index: number) => string,
): Promise<string> {
  const slices: string[] = [];
  let slice: string[] = [];
  await inSlices(items, (item, index) => {
    slice.push(work(item, index));
    if (slice.length < SLICE_ITEMS && index < items.length - 1) return;
    slices.push(slice.join(","));
    slice = [];
  });
  return slices.join(",");
}
