/** Waiting, but not for ever: pauses that can be cut short, and an end to waiting for others. @module */

/** Waits so many milliseconds, or until the signal is given. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    }
    signal.addEventListener("abort", end);
  });
}

/** Waits for work, at most so many milliseconds; null when it took longer and goes on by itself. */
export async function patiently<T>(work: Promise<T>, ms: number): Promise<T | null> {
  const done = new AbortController();
  try {
    return await Promise.race([work, pause(ms, done.signal).then(() => null)]);
  } finally {
    done.abort();
  }
}
