/** Waiting for what comes true by itself. @module */

/** Machines may be busy: so long nothing takes that comes at all. */
const LIMIT_MS = 300_000;

/**
 * Waits for the next hour, or day (UTC), unless so much of the present one is left that a test ends within it: one whose
 * answers tell hours or days apart would else fail whenever one ends meanwhile.
 */
export async function insideOne(periodMs: number, leftMs = 60_000): Promise<void> {
  await until(() => periodMs - Date.now() % periodMs >= leftMs, 100);
}

/** Waits until something holds, for at most five minutes, in which it may also be asked in vain. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  everyMs = 20,
): Promise<void> {
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => {}); // nobody may be waiting for it just then
  const fail = () => late.reject(new Error(`it never came true: ${holds}`));
  const timer = setTimeout(fail, LIMIT_MS);
  try {
    while (!await Promise.race([holds(), late.promise])) {
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  } finally {
    clearTimeout(timer);
  }
}
