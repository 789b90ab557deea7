/**
 * Task queues. A bounded queue runs at most four tasks at once, and an unfinished task rejoins its end.
 * A set of running tasks starts each task once by its name, and remembers it until it has ended.
 * @module
 */
import type { Log } from "../log.ts";

/** A bounded queue: how many tasks run, and those that wait for room. */
export interface TaskQueue {
  running: number;
  waiting: (() => void)[];
}

const RUNNING_MAX = 4;

/** Opens an empty queue. */
export function openTaskQueue(): TaskQueue {
  return { running: 0, waiting: [] };
}

/**
 * Runs a task again and again until it returns false (nothing left); before each run it waits for
 * room.
 */
export async function runQueued(queue: TaskQueue, task: () => Promise<boolean>): Promise<void> {
  for (let more = true; more;) {
    if (queue.running < RUNNING_MAX) queue.running++;
    else await new Promise<void>((resolve) => queue.waiting.push(resolve));
    try {
      more = await task();
    } finally {
      const next = queue.waiting.shift();
      if (next === undefined) queue.running--;
      else next();
    }
  }
}

/** Tasks that run now, by their names. */
export interface RunningTasks {
  readonly size: number;
  names(): Iterable<string>;
  has(name: string): boolean;
  /**
   * Starts a task, unless one of its name runs, and waits for the end of the task of this name. A task
   * that fails is logged; the promise never rejects.
   *
   * @param fields logged with a failure; the name unless given
   */
  run(
    name: string,
    task: () => Promise<unknown>,
    fields?: Record<string, unknown>,
  ): Promise<void>;
  /** Starts a task as `run()` does, and does not wait for it. */
  start(name: string, task: () => Promise<unknown>, fields?: Record<string, unknown>): void;
  /** Waits until no task runs. */
  settled(): Promise<void>;
}

/** Opens an empty set of running tasks. */
export function openRunningTasks(options: {
  log: Log;
  /** Message of the log line of a task that failed. */
  failure: string;
  /** Failures are not logged once it is aborted. */
  signal: AbortSignal;
  /** Called after each task. */
  onEnd?: () => void;
}): RunningTasks {
  const { log, failure, signal, onEnd } = options;
  const running = new Map<string, Promise<void>>();

  function run(
    name: string,
    task: () => Promise<unknown>,
    fields: Record<string, unknown> = { work: name },
  ): Promise<void> {
    const known = running.get(name);
    if (known !== undefined) return known;
    const end = task().then(() => {}, (error) => {
      if (!signal.aborted) log("error", failure, { ...fields, error });
    }).finally(() => {
      running.delete(name);
      onEnd?.();
    });
    running.set(name, end);
    return end;
  }

  return {
    get size() {
      return running.size;
    },
    names: () => running.keys(),
    has: (name) => running.has(name),
    run,
    start(name, task, fields) {
      run(name, task, fields).catch(() => {}); // it never rejects
    },
    async settled() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}
