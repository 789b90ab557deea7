/** Promises that fail on lost connections, and end no process. @module */
import { isDisconnect } from "./errors.ts";

/**
 * Keeps the process alive when an unawaited promise fails. The driver leaves such promises
 * on connections that were cut; any other is a defect, but one realm's defect must not end the
 * service of all others. An error that is thrown outside of a promise still ends the process.
 */
export function outliveRejections(tell: (message: string, error: unknown) => void): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    const { reason } = event;
    if (isDisconnect(reason)) tell("a connection to the database was lost", reason);
    else tell("an unawaited promise failed", reason);
  });
}
