/** Waiting for what comes true by itself. @module */

/** Waits until something holds, for at most five minutes: machines may be busy. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  everyMs = 20,
): Promise<void> {
  const end = Date.now() + 300_000;
  while (!await holds()) {
    if (Date.now() > end) throw new Error("it never came true");
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
