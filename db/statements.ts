/**
 * Statements on their way to the driver. What cannot be sent is refused here, with its own error: the driver puts a
 * statement in line before it writes it. Where that fails behind another statement, it fails the other one, waits for an
 * answer to what it never sent, and gives each later statement of the connection the answer of the next; a transaction
 * never ends.
 *
 * It reaches below the driver's interface: all statements are of one class, whose method `handle` sends them.
 *
 * @module
 */
import type postgres from "postgres";

/** The parts of the driver's statements that are used. */
export interface Statement {
  readonly strings: readonly string[];
  readonly args: readonly unknown[];
  /** Whether the text has the values in it; else they follow it. */
  readonly tagged: boolean;
  /** Whether it was sent. */
  executed: boolean;
  /** Whether the driver is to leave it. */
  cancelled: unknown;
  /** The connection that it was sent on; null until then. */
  state: object | null;
  /** Sends it on a connection of a pool, or of a transaction. */
  readonly handler: (statement: Statement) => void;
  /** Ends statements of a pool; null when it was called. */
  readonly canceller: object | null;
  parameters: unknown[] | null;
  resolve: (answer: unknown) => void;
  reject: (error: unknown) => void;
  handle(): Promise<void>;
  /** Takes it out of the line; where it was sent, asks the server to end it. */
  cancel(): unknown;
}

/** Takes a statement that is to be sent, or leaves it to the driver. */
export type Handled = (statement: Statement) => boolean;

interface Classes {
  statement: new (...args: never[]) => Statement;
  builder: new (...args: never[]) => { build: Build };
  identifier: new (...args: never[]) => { value: string };
  parameter: new (...args: never[]) => { value: unknown };
}

type Build = (text: string, values: unknown[], types: unknown[], options: unknown) => string;

interface Kind {
  options: object;
  classes: Classes;
}

/** Most values of one statement. */
const VALUES_MAX = 65_533;
const kinds = new WeakMap<object, Kind>();
const guarded = new WeakSet<object>();
/** What sends statements of transactions and savepoints that are over. */
const ended = new WeakSet<Statement["handler"]>();
let handled: Handled = () => false;

/** Sets what takes statements before the driver does. */
export function onHandled(take: Handled): void {
  handled = take;
}

/** Guards the statements of a pool of the driver, and of its transactions. */
export function guardingStatements(sql: postgres.Sql): postgres.Sql {
  const one = sql.unsafe("") as unknown as Statement; // which nobody sends
  const classOf = (made: unknown) => (made as { constructor: unknown }).constructor as never;
  kinds.set(one.canceller!, {
    options: sql.options,
    classes: {
      statement: classOf(one),
      builder: classOf(sql({} as never)),
      identifier: classOf(sql("name")),
      parameter: classOf(sql.json(null)),
    },
  });
  const statements: Statement = Object.getPrototypeOf(one);
  if (guarded.has(statements)) return sql;
  guarded.add(statements);
  const { handle } = statements;
  statements.handle = function () {
    const kind = this.canceller === null ? undefined : kinds.get(this.canceller);
    return kind === undefined ? handle.call(this) : send(this, kind);
  };
  failingWherePlansAreLost(statements);
  return sql;
}

/** Gives what sends the statements of a pool, a transaction or a savepoint. */
export function handlerOf(sql: postgres.Sql | postgres.TransactionSql): Statement["handler"] {
  return (sql.unsafe("") as unknown as Statement).handler; // which nobody sends
}

/** Gives what the statements of a pool have in common, those of its transactions and savepoints too. */
export function cancellerOf(sql: postgres.Sql | postgres.TransactionSql): object {
  return (sql.unsafe("") as unknown as Statement).canceller!; // which nobody sends
}

/**
 * Ends a transaction or savepoint for its work: the driver would send what the work asks later, on a connection that is
 * another caller's by then, or for no transaction at all.
 */
export function refuseFurther(tx: postgres.TransactionSql): void {
  ended.add(handlerOf(tx));
}

async function send(statement: Statement, kind: Kind): Promise<void> {
  if (statement.executed) return;
  statement.executed = true;
  if (ended.has(statement.handler) && !isEnd(statement)) {
    return statement.reject(new Error("a statement came after the end of its transaction"));
  }
  await null; // who made it may yet say how it is read
  try {
    assertSendable(statement, kind);
  } catch (error) {
    return statement.reject(error);
  }
  if (isCommit(statement)) watchCommit(statement);
  if (handled(statement)) return;
  statement.handler(statement);
}

/**
 * @throws {TypeError} where a value is missing
 * @throws whatever the driver says to what it cannot write
 */
function assertSendable(statement: Statement, kind: Kind): void {
  const values: unknown[] = [];
  const { args, tagged } = statement;
  if (tagged) write(statement, kind, values);
  else for (const value of args) assertValue(value, kind, values);
  if (values.length > VALUES_MAX) throw new TypeError(`a statement with ${values.length} values`);
}

/** Writes a statement as the driver will. */
function write({ strings, args }: Statement, kind: Kind, values: unknown[]): string {
  let text = strings[0];
  for (let i = 1; i < strings.length; i++) {
    text += part(text, args[i - 1], kind, values) + strings[i];
  }
  return text;
}

function part(text: string, value: unknown, kind: Kind, values: unknown[]): string {
  const { statement, builder, identifier } = kind.classes;
  const written = (one: unknown) => write(one as Statement, kind, values);
  if (typeof value === "object" && value !== null) {
    if (value instanceof builder) return value.build(text, values, [], kind.options);
    if (value instanceof statement) return written(value);
    if (value instanceof identifier) return value.value;
    if (Array.isArray(value) && value[0] instanceof statement) return value.map(written).join(" ");
  }
  return assertValue(value, kind, values);
}

function assertValue(value: unknown, { classes }: Kind, values: unknown[]): string {
  const given = value instanceof classes.parameter ? value.value : value;
  if (given === undefined) throw new TypeError("a value of a statement is missing");
  values.push(given);
  return "$";
}

/**
 * Has a statement fail whose plan the server has lost or outgrown. The driver would prepare it anew by itself, behind what
 * was sent meanwhile: in a transaction, where that fails too, the statements behind it get no rows, or wait for ever; a
 * commit is answered as if it were one; and values that were written are written once more.
 */
function failingWherePlansAreLost(statements: Statement): void {
  Object.defineProperty(statements, "retried", {
    get: () => undefined,
    set(this: Statement, error: unknown) {
      this.cancelled = true; // so that the driver leaves it
      this.reject(error);
    },
  });
}

/** Makes a statement that failed as it was before it was sent. */
export function renewStatement(statement: Statement): void {
  statement.cancelled = null;
  statement.parameters = null;
  statement.state = null;
}

/** Whether the driver ends a transaction or savepoint by it. */
function isEnd({ strings }: Statement): boolean {
  return /^(commit|rollback|prepare transaction)\b/.test(strings[0]);
}

function isCommit({ strings, args }: Statement): boolean {
  return args.length === 0 && strings.length === 1 && strings[0] === "commit";
}

/**
 * Has a commit fail that the server answers by rolling back, as it does after a statement that failed. The driver takes the
 * answer for that of a commit, where nobody had waited for the statement.
 */
function watchCommit(statement: Statement): void {
  const { resolve } = statement;
  statement.resolve = (answer) => {
    if ((answer as { command?: unknown }).command !== "ROLLBACK") return resolve(answer);
    const error = new Error("a statement of the transaction had failed: it was rolled back");
    statement.reject(Object.assign(error, { code: "25P02" }));
  };
}
