/**
 * The end of the process, as requests see it: what only waits is answered at once, so that what works
 * has the time that is left.
 * @module
 */
import { DomainError } from "../../domain/errors.ts";

/** Told when the process begins to end. */
export interface Ending {
  /** Adds one who waits; it is told at once where the end has begun. Gives what removes it. */
  add(leave: (reason: DomainError) => void): () => void;
  /** Tells all who wait. */
  begin(): void;
}

/** Opens the end of a process, which has not begun. */
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
  };
}

/** Tells while a request is served that nobody waits for its answer, or that the process ends. */
export interface Leaving {
  /** Aborted with a refusal as its reason. */
  signal(): AbortSignal;
  /** Stops to look. */
  forget(): void;
}

/** Looks whether the caller of a request leaves, from the moment when that is first asked for. */
export function watchLeaving(request: Request, ending: Ending): Leaving {
  let controller: AbortController | null = null;
  let forget = () => {};
  return {
    signal() {
      if (controller !== null) return controller.signal;
      const one = controller = new AbortController();
      const remove = ending.add((reason) => one.abort(reason));
      const { signal } = request;
      const leave = () =>
        one.abort(new DomainError("request.malformed", "the caller has left before its answer"));
      if (signal.aborted) leave();
      signal.addEventListener("abort", leave);
      forget = () => {
        remove();
        signal.removeEventListener("abort", leave);
      };
      return one.signal;
    },
    forget: () => forget(),
  };
}
