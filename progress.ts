/**
 * The progress of long work, on standard error: in a terminal one line that is written over, elsewhere plain lines, the first
 * after some seconds, so that short work says nothing. Both tell the rate and, where the whole is known, the time left.
 * No package is loaded by this module: the launcher shows with it how packages are fetched.
 * @module
 */

/** What is counted. */
export type ProgressUnit =
  | "bytes"
  | "checks"
  | "links"
  | "packages"
  | "realms"
  | "runs"
  | "transactions";

/** Where progress is written. */
export interface ProgressOutput {
  /** `line`: one line, written over. `lines`: a line every few seconds. `none`: machines read this output. */
  readonly form: "line" | "lines" | "none";
  write(text: string): void;
  /** Columns of the terminal; absent or 0 where they are not known. */
  columns?(): number;
}

/** The progress of one task. */
export interface Progress {
  /** Begins a part of the task; `total` is what it will count to, roughly, null where that is not known. */
  part(name: string, total?: number | null, unit?: ProgressUnit): void;
  /** Counts; a task that only passes time adds 0. */
  add(count: number): void;
  /** Writes a line that stays. */
  note(text: string): void;
  /** Lets others write to the same terminal, above the line. */
  above(write: () => void): void;
  /** Ends the task, and takes its line away. */
  end(): void;
}

/** A part of a task, with what was done of it. */
export interface ProgressPart {
  readonly name: string;
  readonly total: number | null;
  readonly unit: ProgressUnit;
  /** Milliseconds. */
  readonly begunAt: number;
  count: number;
}

const LINE_EVERY_MS = 250;
const LINES_EVERY_MS = 5_000;
/** Takes away what the line of the cursor holds. */
const CLEAR = "\r\x1b[K";

/** Opens the progress of a task, by default on standard error. `now` gives milliseconds. */
export function openProgress(
  output: ProgressOutput = standardError(),
  now: () => number = () => performance.now(),
): Progress {
  const { form } = output;
  const every = form === "line" ? LINE_EVERY_MS : LINES_EVERY_MS;
  let part: ProgressPart | null = null;
  let dueAt: number | null = null; // null before the first part
  let shown: string | null = null;
  function show(): void {
    if (part === null || form === "none") return;
    const at = now();
    dueAt = at + every;
    const text = formatProgress({ ...part, ms: at - part.begunAt });
    if (text === shown) return;
    shown = text;
    output.write(form === "line" ? `${CLEAR}${cut(text, output.columns?.() ?? 0)}` : `${text}\n`);
  }
  function clear(): void {
    if (form === "line" && shown !== null) output.write(CLEAR);
  }
  function above(write: () => void): void {
    clear();
    write();
    if (form !== "line" || shown === null) return;
    shown = null;
    show();
  }
  return {
    part(name, total = null, unit = "bytes") {
      const at = now();
      part = { name, total, unit, begunAt: at, count: 0 };
      dueAt ??= form === "line" ? at : at + every;
      if (form === "line") show();
    },
    add(count) {
      if (part === null) return;
      part.count += count;
      if (now() >= dueAt!) show();
    },
    note: (text) => above(() => output.write(`${text}\n`)),
    above,
    end() {
      // The last line tells how it ended, where lines were written at all.
      if (form === "lines" && shown !== null) show();
      clear();
      [part, dueAt, shown] = [null, null, null];
    },
  };
}

/** The output on standard error: silent where machines read it. */
export function standardError(isForMachines = false): ProgressOutput {
  return {
    form: isForMachines ? "none" : Deno.stderr.isTerminal() ? "line" : "lines",
    write: (text) => {
      try {
        Deno.stderr.writeSync(new TextEncoder().encode(text));
      } catch {
        // its disk is full, or its terminal has gone: the work goes on
      }
    },
    columns: () => Deno.consoleSize().columns,
  };
}

/** Formats a line of progress: what, how much, how fast, and how long it still takes. */
export function formatProgress(
  { name, total, count, unit, ms }: Omit<ProgressPart, "begunAt"> & { ms: number },
): string {
  // The total is an estimate: a task that outgrows it says no more than its rate.
  const known = total !== null && total > 0 && total >= count;
  if (count === 0) return known ? `${name}: 0 of ${amount(total, unit)}` : name;
  const parts = [
    known
      ? `${name}: ${number(unit === "bytes" ? count / 1e6 : count)} of ${amount(total, unit)}`
      : `${name}: ${amount(count, unit)}`,
  ];
  if (known) parts.push(`${Math.floor((count / total) * 100)} %`);
  if (ms >= 1000) {
    const rate = count / (ms / 1000);
    parts.push(rate < 0.1 ? `${amount(rate * 60, unit)}/min` : `${amount(rate, unit)}/s`);
    if (known && count < total) parts.push(`${duration((total - count) / rate)} left`);
  }
  return parts.join(", ");
}

/** Writes an amount with its unit. */
function amount(count: number, unit: ProgressUnit): string {
  return unit === "bytes" ? `${number(count / 1e6)} MB` : `${number(count)} ${unit}`;
}

function number(value: number): string {
  const rounded = value < 100 ? Math.round(value * 10) / 10 : Math.round(value);
  return `${rounded}`;
}

function duration(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A line that is wider than the terminal would not be written over. */
function cut(text: string, columns: number): string {
  return columns > 1 ? text.slice(0, columns - 1) : text;
}
