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
  write?: (line: string) => void;
}

const SECRET = /key|token|secret|password|authorization|seed|mnemonic|cookie/i;

/** Makes a log. Lines go to standard error, so standard output stays free for a command's result. */
export function createLog(options: LogOptions): Log {
  const lowest = LOG_LEVELS.indexOf(options.level);
  const write = options.write ?? ((line: string) => console.error(line));
  return (level, message, fields = {}) => {
    if (LOG_LEVELS.indexOf(level) < lowest) return;
    const clean = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, SECRET.test(name) ? "…" : plain(value)]),
    );
    write(
      options.format === "json"
        ? JSON.stringify({ time: new Date().toISOString(), level, message, ...clean })
        : pretty(level, message, clean),
    );
  };
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
