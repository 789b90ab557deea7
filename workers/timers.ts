/** Timers: sleeping until a signal, and waiting for work with a limit. @module */

/** Sleeps so many milliseconds, or until the signal is aborted. */
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

/** Waits for work, at most so many milliseconds; null when the time is over and the work goes on. */
export async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T | null> {
  const done = new AbortController();
  try {
    return await Promise.race([work, sleep(ms, done.signal).then(() => null)]);
  } finally {
    done.abort();
  }
}
