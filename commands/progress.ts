/**
 * The progress of long work: one line that is written over in a terminal, plain lines elsewhere, both
 * with rate and time left where the whole is known.
 * @module
 */

/** Where progress is written. */
export interface ProgressOutput {
  /** Whether a line can be written over. */
  readonly terminal: boolean;
  write(text: string): void;
}

/** The progress of one task. */
export interface Progress {
  /** Begins a part of the task; `total` is what it will count to, roughly, or null. */
  part(name: string, total: number | null): void;
  add(count: number): void;
  /** Ends the line. */
  end(): void;
}

const TERMINAL_EVERY_MS = 250;
const PLAIN_EVERY_MS = 10_000;

/** Opens the progress of a task, by default on standard error. */
export function openProgress(
  unit: "bytes" | "rows" | "realms",
  output: ProgressOutput = standardError(),
  now: () => number = () => performance.now(),
): Progress {
  let current: { name: string; total: number | null; count: number; begunAt: number } | null = null;
  let shownAt = -Infinity;
  function show(): void {
    if (current === null) return;
    shownAt = now();
    const line = formatProgress({ ...current, unit, ms: shownAt - current.begunAt });
    output.write(output.terminal ? `\r\x1b[K${line}` : `${line}\n`);
  }
  function close(): void {
    if (current === null) return;
    if (current.count > 0 || output.terminal) show();
    if (output.terminal) output.write("\n");
    current = null;
  }
  return {
    part(name, total) {
      close();
      current = { name, total, count: 0, begunAt: now() };
      show();
    },
    add(count) {
      if (current === null) return;
      current.count += count;
      if (now() - shownAt >= (output.terminal ? TERMINAL_EVERY_MS : PLAIN_EVERY_MS)) show();
    },
    end: close,
  };
}

/** Formats a line of progress: what, how much, how fast, and how long it still takes. */
export function formatProgress(
  { name, total, count, unit, ms }: {
    name: string;
    total: number | null;
    count: number;
    unit: string;
    ms: number;
  },
): string {
  if (count === 0) return name;
  const amount = (value: number) =>
    unit === "bytes" ? `${Math.round(value / 1e5) / 10} MB` : `${Math.round(value)} ${unit}`;
  const parts = [`${name}: ${amount(count)}`];
  // The total is an estimate: a task that outgrows it says no more than its rate.
  const known = total !== null && total >= count;
  if (known) parts.push(`${Math.floor((count / total) * 100)} %`);
  if (ms >= 1000) {
    const rate = count / (ms / 1000);
    parts.push(`${amount(rate)}/s`);
    if (known) parts.push(`${Math.ceil((total - count) / rate)} s left`);
  }
  return parts.join(", ");
}

function standardError(): ProgressOutput {
  return {
    terminal: Deno.stderr.isTerminal(),
    write: (text) => {
      Deno.stderr.writeSync(new TextEncoder().encode(text));
    },
  };
}
