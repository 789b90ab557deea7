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

const SECRET = /key|token|secret|password|authorization|seed|mnemonic|cookie/i;
/** Names of fields, and whether each tells a secret: the code gives few of them. */
const names = new Map<string, boolean>();
const NAMES_MAX = 1000;
/** Time that a line waits for others, in milliseconds. */
const BUFFER_MS = 20;
/** Characters of lines that wait. */
const BUFFER_MAX = 64 * 1024;

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
  for (const end of ["unload", "error", "unhandledrejection"]) addEventListener(end, flush);
  return (line, level) => {
    lines = lines === "" ? line : `${lines}\n${line}`;
    if (level === "warn" || level === "error" || lines.length > BUFFER_MAX) flush();
    else timer ??= setTimeout(flush, BUFFER_MS);
  };
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
