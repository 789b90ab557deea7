/** Timers that run when a test says so: what takes a minute is not waited for. @module */

/** Timers that were set meanwhile. */
export interface HeldTimers extends Disposable {
  /** How many have been set. */
  count(): number;
  /** Runs those that were set, those of the shortest time first, each after what followed from the one before. */
  run(): Promise<void>;
}

/** Holds all timers that are set until it is disposed of. */
export function holdingTimers(): HeldTimers {
  const { setTimeout } = globalThis;
  const held: { run: () => void; ms: number }[] = [];
  const hold = (run: () => void, ms = 0) => {
    held.push({ run, ms });
    return -held.length; // no timer of the runtime has such a number
  };
  Object.assign(globalThis, { setTimeout: hold });
  return {
    count: () => held.length,
    async run() {
      for (const { run } of held.splice(0).sort((a, b) => a.ms - b.ms)) {
        run();
        await new Promise((resolve) => setTimeout(resolve));
      }
    },
    [Symbol.dispose]: () => void Object.assign(globalThis, { setTimeout }),
  };
}

/** Time-outs of one length, which are over when a test says so. */
export interface HeldTimeouts extends Disposable {
  /** How many run. */
  running(): number;
  /** Has all that run be over. */
  expire(): void;
}

/** Holds the timers that are set for so many milliseconds; all others run by the clock. */
export function holdingTimeouts(heldMs: number): HeldTimeouts {
  const { setTimeout, clearTimeout } = globalThis;
  const held = new Map<unknown, () => void>();
  let count = 0;
  const hold = (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    if (ms !== heldMs) return setTimeout(run, ms, ...args);
    held.set(--count, () => run(...args)); // no timer of the runtime has such a number
    return count;
  };
  const clear = (timer?: number) => void (held.delete(timer) || clearTimeout(timer));
  Object.assign(globalThis, { setTimeout: hold, clearTimeout: clear });
  return {
    running: () => held.size,
    expire() {
      const over = [...held.values()];
      held.clear();
      for (const run of over) run();
    },
    [Symbol.dispose]: () => void Object.assign(globalThis, { setTimeout, clearTimeout }),
  };
}

/** What an answer of `/health/ready` tells is given up after so long. */
const PROBE_TIMEOUT_MS = 2000;

/** Has answers of `/health/ready` wait for what they tell, on any machine. */
export const patientProbes = (): HeldTimeouts => holdingTimeouts(PROBE_TIMEOUT_MS);

/** Slower nodes are waited for so long once enough have answered. */
const GRACE_MS = 1_000;

/** Has who asks several nodes wait for all of them, on any machine: one that is not waited for cannot be caught. */
export const patientQuorums = (): HeldTimeouts => holdingTimeouts(GRACE_MS);
