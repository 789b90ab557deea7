/**
 * End of the process: by a signal, with time to finish running work, or with its launcher.
 *
 * @module
 */
import type { Log } from "../log.ts";

const GRACE_MS = 9_000;
/** Longest wait for the answers to running requests. */
const ANSWERS_MS = 5_000;

/** Ends at once when the process that started this one is gone, and with it the database. */
export function endWithLauncher(): void {
  const gone = () => Deno.exit(1);
  Deno.stdin.readable.pipeTo(new WritableStream()).then(gone, gone);
}

/**
 * Listens for SIGTERM, Ctrl-C and the end of the terminal from the first moment, so that a start is ended cleanly too.
 *
 * @param supervised whether a launcher started it, which the end of the terminal reaches too, and passes on
 */
export function listenForEnd(
  supervised: boolean,
): { signalled: Promise<string>; forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<string>();
  if (supervised) Deno.addSignalListener("SIGHUP", () => {});
  // Without a terminal it may be ignored, as by `nohup`, and then stays so.
  const hangup = !supervised && Deno.stdin.isTerminal() ? ["SIGHUP" as const] : [];
  const listeners = (["SIGTERM", "SIGINT", ...hangup] as const).map((signal) => {
    const listener = () => resolve(signal);
    Deno.addSignalListener(signal, listener);
    return { signal, listener };
  });
  const forget = () => {
    for (const { signal, listener } of listeners) Deno.removeSignalListener(signal, listener);
  };
  return { signalled: promise, forget };
}

/** The usual exit codes of a process that a signal ended. */
const EXIT_CODES: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/**
 * Ends a command that does not serve, at once: each may be killed at any moment, and run again.
 *
 * @param above writes lines where no progress is in their way
 */
export function endCommand(signal: string, above: (print: () => void) => void): void {
  above(() => console.error(`ended by ${signal} before it was done; it may be run again`));
  Deno.exit(EXIT_CODES[signal]);
}

/** Limits the end of the process to the time that supervisors allow. */
export function limitTime(log: Log, signal: string): void {
  log("info", "ending", { signal });
  const hard = setTimeout(() => {
    log("error", "could not end in time");
    Deno.exit(1);
  }, GRACE_MS);
  Deno.unrefTimer(hard);
}

/**
 * Takes no more requests and waits for the answers to those that run. A connection whose other end
 * neither sends nor reads is not waited for any longer than that.
 */
export async function endServer(
  server: Deno.HttpServer,
  log: Log,
  answersMs = ANSWERS_MS,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => resolve("late"), answersMs);
  const ended = await Promise.race([server.shutdown(), late]);
  clearTimeout(timer);
  if (ended === "late") log("warn", "connections were cut that did not end");
}
