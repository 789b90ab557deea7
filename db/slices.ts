/**
 * Long work in slices. Between two slices all other work of the event loop has its turn: requests of
 * others, and answers of the database. However much long work there is, one slice runs at a time.
 * @module
 */

/** Longest time of a slice. */
const SLICE_MS = 4;
/** Items between two looks at the clock. */
const ITEMS = 10;
/** Work that begins so soon after other long work belongs to the slice of that. */
const GAP_MS = 1;
/** Texts that are put together at once: all of a long list would be a slice too long. */
const TEXT_ITEMS = 200;

const waiting: (() => void)[] = [];
/** When the slice that runs began, and when long work was last done. */
let [begun, left] = [0, 0];

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

/** Whether the slice that runs has taken its time. A turn of others costs a millisecond or two of waiting. */
function isOver(): boolean {
  left = performance.now();
  return left - begun > SLICE_MS;
}

async function beginSlice(): Promise<void> {
  await breathe();
  begun = left = performance.now();
}

/** Lets other work have its turn if the slice that runs has taken its time. */
export async function breatheIfDue(): Promise<void> {
  if (isOver()) await beginSlice();
}

/**
 * Maps items as `items.map(work)` does, in slices. Few items are one slice; long work that follows at once upon
 * other long work goes on with the slice of that.
 */
export async function inSlices<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => R,
): Promise<R[]> {
  if (items.length <= ITEMS) return items.map(work);
  const done: R[] = [];
  const now = performance.now();
  if (now - left > GAP_MS) begun = now;
  for (let i = 0; i < items.length; i++) {
    if (i % ITEMS === 0 && isOver()) await beginSlice();
    done.push(work(items[i], i));
  }
  left = performance.now();
  return done;
}

/** Writes items with commas between them, in slices. */
export async function joinInSlices<T>(
  items: readonly T[],
  work: (item: T, index: number) => string,
): Promise<string> {
  const slices: string[] = [];
  let slice: string[] = [];
  await inSlices(items, (item, index) => {
    slice.push(work(item, index));
    if (slice.length < TEXT_ITEMS && index < items.length - 1) return;
    slices.push(slice.join(","));
    slice = [];
  });
  return slices.join(",");
}
