/**
 * Spans of statements: each names what is done to which table. Seen where the driver makes and settles
 * them, because it tells nobody when an answer has come.
 *
 * @module
 */
import { childOf, fail, isTracing } from "../tracing.ts";

/** Makes the statements of a driver's function parts of the spans that they run in. */
export function tracingStatements<S extends object>(sql: S): S {
  return isTracing() ? observed(sql) : sql;
}

function observed<S extends object>(sql: S): S {
  return new Proxy(sql, {
    apply: (target, self, args) => statement(Reflect.apply(target as never, self, args)),
    get(target, name) {
      const value = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      if (name === "unsafe") return (...args: unknown[]) => statement(value.apply(target, args));
      if (name !== "begin" && name !== "savepoint") return value;
      return (...args: unknown[]) => {
        const work = args.pop() as (tx: object) => unknown;
        return value.apply(target, [...args, (tx: object) => work(observed(tx))]);
      };
    },
  });
}

/** A statement of the driver, which it sends when somebody waits for it. */
export interface Statement {
  readonly strings: readonly string[];
  readonly args: readonly unknown[];
  handle(): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Begins a span when the statement is sent, and ends it with the answer. */
function statement(made: unknown): unknown {
  if (!isStatement(made)) return made;
  const { handle, resolve, reject } = made;
  let isSent = false;
  made.handle = () => {
    if (!isSent) {
      isSent = true;
      const span = childOf(() => summaryOf(textOf(made)), { "db.system.name": "postgresql" });
      if (span !== null) {
        made.resolve = (result) => {
          span.end();
          resolve(result);
        };
        made.reject = (error) => {
          fail(span, error);
          span.end();
          reject(error);
        };
      }
    }
    return handle.call(made);
  };
  return made;
}

/** A statement's text with the statements and names that it is made of; lists of columns and values are left out. */
export function textOf({ strings, args }: Pick<Statement, "strings" | "args">): string {
  return strings.map((part, index) => {
    if (index === strings.length - 1) return part;
    const after = args[index];
    return part + (isStatement(after) ? textOf(after) : nameOf(after) ?? " $ ");
  }).join("");
}

/** The name of a table or column that the driver was given as one; null for a value. */
function nameOf(made: unknown): string | null {
  if (typeof made !== "object" || made === null || "type" in made || !("value" in made)) {
    return null;
  }
  return /^"([a-z_]+)"$/.exec(`${made.value}`)?.[1] ?? null;
}

function isStatement(made: unknown): made is Statement {
  return typeof made === "object" && made !== null && "handle" in made && "strings" in made &&
    "resolve" in made;
}

/**
 * Names a statement by what it does and to which table or function, as OpenTelemetry's `db.query.summary` asks; never by its
 * text, which may hold ids.
 */
export function summaryOf(text: string): string {
  const words = IGNORED.reduce((rest, one) => rest.replaceAll(one, " "), text.slice(0, LENGTH_MAX))
    .toLowerCase().replace(/^[\s(]+/, "");
  const verb = /^[a-z]+/.exec(words)?.[0] ?? "statement";
  const found = (TARGETS[verb]?.exec(words) ?? CALLED.exec(words))?.[1];
  return found === undefined ? verb : `${verb} ${found}`;
}

const LENGTH_MAX = 4000;
/** A function, where no table is read. */
const CALLED = /^select\s+([a-z_][a-z0-9_.]*)\s*\(/;
/** Literals and comments, and what has a `from` that names no table. */
const IGNORED = [
  /'[^']*'|--[^\n]*/g,
  /\bextract\s*\(\s*[a-z]+\s+from\b|\bdistinct\s+from\b/gi,
];

const TARGETS: Readonly<Record<string, RegExp>> = {
  select: /\s(?:from|join)\s+(?:only\s+)?([a-z_][a-z0-9_.]*)/,
  insert: /^insert\s+into\s+([a-z_][a-z0-9_.]*)/,
  update: /^update\s+([a-z_][a-z0-9_.]*)/,
  delete: /^delete\s+from\s+([a-z_][a-z0-9_.]*)/,
  call: /^call\s+([a-z_][a-z0-9_.]*)/,
  with: /^with\s+(?:recursive\s+)?([a-z_][a-z0-9_]*)/,
  lock: /^lock\s+table\s+([a-z_][a-z0-9_.]*)/,
};
