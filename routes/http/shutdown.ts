/**
 * Shutdown of the process: requests that only wait are answered at once, which leaves the time to
 * requests that work.
 * @module
 */
import { DomainError } from "../../domain/errors.ts";

/** Signals the shutdown to requests. */
export interface Ending {
  /**
   * Adds a listener, which is called at once if the shutdown has begun. Returns a function that
   * removes it.
   */
  add(leave: (reason: DomainError) => void): () => void;
  /** Calls all listeners. */
  begin(): void;
  hasBegun(): boolean;
}

/** Opens the shutdown of a process, which has not begun. */
export function openEnding(): Ending {
  const waiting = new Set<(reason: DomainError) => void>();
  let begun = false;
  const reason = () =>
    new DomainError("service.overloaded", "the service is ending: send it again shortly", {
      retryAfterS: 1,
    });
  return {
    add(leave) {
      if (begun) leave(reason());
      else waiting.add(leave);
      return () => void waiting.delete(leave);
    },
    begin() {
      begun = true;
      for (const leave of [...waiting]) leave(reason());
      waiting.clear();
    },
    hasBegun: () => begun,
  };
}

/** Signals, while a request is served, that its caller has left or that the process ends. */
export interface Leaving {
  /** Aborted with a refusal as its reason. */
  signal: AbortSignal;
  /** Stops watching. */
  forget(): void;
}

/** Watches whether the caller of a request leaves. */
export function watchLeaving({ signal }: Request, ending: Ending): Leaving {
  const controller = new AbortController();
  const remove = ending.add((reason) => controller.abort(reason));
  const leave = () =>
    controller.abort(new DomainError("request.malformed", "the caller has left before its answer"));
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave);
  return {
    signal: controller.signal,
    forget() {
      remove();
      signal.removeEventListener("abort", leave);
    },
  };
}
