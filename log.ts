/**
 * Logs: one line per event, JSON for machines or a short form for people. Callers never pass a value that
 * could hold a secret; as a second line of defence, fields with telling names are blanked.
 * @module
 */

/** Severities, mildest first. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** A severity. */
export type LogLevel = typeof LOG_LEVELS[number];
/** Facts of a line. */
export type LogFields = Readonly<Record<string, unknown>>;
/** Writes one line. */
export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** Format of the lines, and the levels that are written. */
export interface LogOptions {
  level: LogLevel;
  format: "json" | "pretty";
  /** Takes a finished line; standard error unless given. */
  write?: (line: string, level: LogLevel) => void;
}

/** Where the bytes of lines go. */
export interface LineSink {
  write(bytes: Uint8Array): Promise<number>;
  writeSync(bytes: Uint8Array): number;
}

/** An output of lines for which nobody waits: a reader that stops reading stops no one who writes. */
export interface LineOutput {
  /** Takes lines. Never waits and never throws. */
  write(lines: string): void;
  /** Lines that were lost since the process began: their reader did not keep up, or their disk is full. */
  lost(): number;
  /** Waits until what was taken is written, for so many milliseconds at most. */
  written(waitMaxMs: number): Promise<void>;
}

const SECRET = /key|token|secret|password|authorization|seed|mnemonic|cookie/i;
/** Names of fields, and whether each tells a secret: the code gives few of them. */
const names = new Map<string, boolean>();
const NAMES_MAX = 1000;
/** Time that a line waits for others, in milliseconds. */
const BUFFER_MS = 20;
/** Characters of lines that wait. */
const BUFFER_MAX = 64 * 1024;
/** Characters of lines that wait for their reader: those of some thousand requests. */
const UNREAD_MAX = 4 * 1024 * 1024;
/** A write that takes as long waits for a reader that has stopped. */
const STOPPED_MS = 100;

/** Makes a log. Lines go to standard error, so standard output stays free for a command's result. */
export function createLog(options: LogOptions): Log {
  const lowest = LOG_LEVELS.indexOf(options.level);
  const write = options.write ?? ((line: string) => console.error(line));
  const isJson = options.format === "json";
  const timeOf = openClock();
  return (level, message, fields = {}) => {
    if (LOG_LEVELS.indexOf(level) < lowest) return;
    const clean: Record<string, unknown> = isJson
      ? { time: timeOf(Date.now()), level, message }
      : {};
    for (const name of Object.keys(fields)) {
      clean[name] = isSecret(name) ? "…" : plain(fields[name]);
    }
    write(isJson ? JSON.stringify(clean) : pretty(level, message, clean), level);
  };
}

/** Prints times; the lines of one millisecond share a text. */
function openClock(): (at: number) => string {
  let [last, text] = [NaN, ""];
  return (at) => {
    if (at !== last) [last, text] = [at, new Date(at).toISOString()];
    return text;
  };
}

/**
 * Buffers lines for one write: a write for each costs as much as all other work on the line. A line
 * of the level `warn` or above is written at once, behind those that wait; the others wait 20 ms at
 * most, and are written when the process ends by itself or by an error. A process that is killed loses them.
 */
export function bufferLines(
  write: (lines: string) => void,
): (line: string, level: LogLevel) => void {
  let lines = "";
  let timer: ReturnType<typeof setTimeout> | null = null;
  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const given = lines;
    lines = "";
    if (given !== "") write(given);
  }
  atEnd(flush);
  return (line, level) => {
    lines = lines === "" ? line : `${lines}\n${line}`;
    if (level === "warn" || level === "error" || lines.length > BUFFER_MAX) flush();
    else timer ??= setTimeout(flush, BUFFER_MS);
  };
}

/**
 * Opens an output. It writes without waiting for the reader; what comes while the reader stands still is kept up to a
 * limit, and lost beyond it. So is what cannot be written, as where the disk is full. Once writing goes on, a line says how
 * many were lost. A process that ends writes what is left, unless its reader stands still.
 *
 * @param tell makes the line that says how many lines were lost
 */
export function openLineOutput(
  tell: (lost: number) => string,
  sink: LineSink = Deno.stderr,
  unreadMax = UNREAD_MAX,
): LineOutput {
  const unread = openUnread(tell);
  let writing: Promise<void> | null = null;
  let since = 0; // when the write began that is in flight; 0 for none
  let isEnding = false;
  async function writeAll(): Promise<void> {
    await Promise.resolve(); // what else is said in this turn goes along
    for (let piece = unread.take(); piece !== null; piece = unread.take()) {
      let at = 0;
      try {
        since = performance.now();
        while (at < piece.bytes.length) at += await sink.write(piece.bytes.subarray(at));
      } catch {
        // what is left of it is lost
      }
      since = 0;
      piece.end(at);
    }
    writing = null;
  }
  function writeRest(): void {
    // The reader stands still, and a write that waits for it would keep the process.
    if (since > 0 && performance.now() - since >= STOPPED_MS) return;
    const piece = unread.take();
    if (piece === null) return;
    let at = 0;
    try {
      while (at < piece.bytes.length) at += sink.writeSync(piece.bytes.subarray(at));
    } catch {
      // what is left of it is lost
    }
    piece.end(at);
  }
  atEnd(() => {
    isEnding = true;
    writeRest();
  });
  return {
    write(lines) {
      if (unread.size() + lines.length > unreadMax) return unread.lose(lines);
      unread.add(lines);
      if (isEnding) writeRest();
      else writing ??= writeAll();
    },
    lost: unread.lost,
    async written(waitMaxMs) {
      if (writing === null) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, waitMaxMs);
      await Promise.race([writing, promise]);
      clearTimeout(timer);
    },
  };
}

/** A piece of what waits, which is being written. */
interface Piece {
  bytes: Uint8Array;
  /** Ends it, of which so many bytes were written. */
  end(written: number): void;
}

/** Lines that nobody has read yet. */
interface Unread {
  add(lines: string): void;
  lose(lines: string): void;
  lost(): number;
  /** Characters, also of the piece that is being written. */
  size(): number;
  /** Takes all that waits; null if nothing does. */
  take(): Piece | null;
}

function openUnread(tell: (lost: number) => string): Unread {
  const encoder = new TextEncoder();
  let [waiting, taken, untold, lost] = ["", 0, 0, 0];
  let isTorn = false; // whether the last thing written is a part of a line
  function lose(lines: string): void {
    const count = lines.split("\n").length;
    untold += count;
    lost += count;
  }
  return {
    lose,
    lost: () => lost,
    size: () => waiting.length + taken,
    add: (lines) => waiting = waiting === "" ? lines : `${waiting}\n${lines}`,
    take() {
      if (waiting === "") return null;
      const [lines, told] = [waiting, untold];
      [waiting, taken, untold] = ["", lines.length, 0];
      const news = told > 0 ? `${tell(told)}\n` : "";
      const bytes = encoder.encode(`${isTorn ? "\n" : ""}${news}${lines}\n`);
      return {
        bytes,
        end(written) {
          taken = 0;
          const isWhole = written === bytes.length;
          isTorn = isWhole ? false : isTorn || written > 0;
          if (isWhole) return;
          untold += told;
          lose(lines);
        },
      };
    },
  };
}

/** Runs work when the process ends by itself or by an error. A rejection that is outlived ends nothing. */
function atEnd(work: () => void): void {
  for (const end of ["unload", "error", "unhandledrejection"]) {
    addEventListener(end, (event) => {
      if (!event.defaultPrevented) work();
    });
  }
}

function isSecret(name: string): boolean {
  const known = names.get(name);
  if (known !== undefined) return known;
  const found = SECRET.test(name);
  if (names.size < NAMES_MAX) names.set(name, found);
  return found;
}

function plain(value: unknown): unknown {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return typeof value === "bigint" ? value.toString() : value;
}

function pretty(level: LogLevel, message: string, fields: LogFields): string {
  const facts = Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [new Date().toISOString().slice(11, 23), level.padEnd(5), message, ...facts].join(" ");
}
