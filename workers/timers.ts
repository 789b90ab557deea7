/** Timers: sleeping until a signal, and waiting for work with a limit. @module */

/** Sleeps for a number of milliseconds, or until the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
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

/** Waits for work for a limited time, in milliseconds; null if the work still runs then. */
export async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T | null> {
  const done = new AbortController();
  try {
    return await Promise.race([work, sleep(ms, done.signal).then(() => null)]);
  } finally {
    done.abort();
  }
}
