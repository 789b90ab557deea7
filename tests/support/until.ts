/** Waiting for what comes true by itself. @module */

/** Waits until something holds, for at most half a minute: machines may be busy. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000;
  while (!await holds()) {
    if (Date.now() > end) throw new Error("it never came true");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
