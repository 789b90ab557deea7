/**
 * Pools whose connections each serve one caller at a time: a statement, or a transaction from its beginning to its end.
 *
 * The driver's own pool sends the statements of other callers behind those that run, and uses a connection again after it
 * was lost. Each of its mistakes then reaches others: a transaction that begins behind a hundred statements, or behind more
 * bytes than the socket takes, is refused and stays open on the connection, and the writes of later callers are in it; a
 * statement that it prepares anew gets the rows of the one behind it; the error of a lost statement is told to the first
 * caller after the reconnection. Here each connection is a pool of the driver of its own, and one of which it is not
 * certain that it is free is ended. The queue of postings alone sends batches behind one another, with guards of its own.
 *
 * Where a connection closes, what was sent over it fails at once, and nothing more is sent for its transaction. Between the
 * error of a socket and its end the driver takes what it is given, and tells nobody that it is lost; later it would end the
 * process, or leave the statement in a buffer for the next connection.
 *
 * It reaches below the driver's interface: a statement is given to the pool that its function `handler` belongs to.
 *
 * @module
 */
import type postgres from "postgres";
import {
  codeOf,
  isDisconnect,
  isOfOther,
  isOfServer,
  isStatementLost,
  noteOrigin,
  noteUnsent,
} from "./errors.ts";
import {
  cancellerOf,
  handlerOf,
  onHandled,
  refuseFurther,
  renewStatement,
  type Statement,
} from "./statements.ts";

/** A server that answers closes a connection at once. */
const CLOSE_MS = 5_000;

type Begin = (...args: unknown[]) => Promise<unknown>;
type Work = (tx: postgres.TransactionSql) => unknown;

/** Opens a pool of the driver with one connection; its function is called when the connection has closed. */
export type Open = (closed: () => void) => postgres.Sql;

interface Connection {
  sql: postgres.Sql;
  open: Open;
  /** What is known of its pool from outside: the options of what was opened. */
  pool: object;
  isShared: boolean;
  handler: Statement["handler"];
  /** Whether it closed; it may have been opened anew since. */
  isClosed: boolean;
  /** Resolved when it has closed. */
  closed: Promise<void>;
  /** Whether it closed in use, or was ended: what its transaction still sends is refused. */
  isLost: boolean;
  /** What its user sent last by itself: a statement, or the beginning of a transaction. */
  last: Statement | null;
  /** What was given to the driver and is not answered, but {@link run}'s statements. */
  sent: Set<Statement>;
}

interface Waiter {
  resolve: (connection: Connection) => void;
  reject: (error: unknown) => void;
}

interface State {
  open: Open;
  /** As {@link Connection.pool}. */
  pool: object;
  max: number;
  /** All, in use or not. */
  all: Set<Connection>;
  /** Unused ones, the last used last. */
  free: Connection[];
  waiting: Waiter[];
  isEnding: boolean;
  /** Called when none is in use. */
  whenUnused: () => void;
}

const pools = new WeakMap<Statement["handler"], State>();
const connections = new WeakMap<object, Connection>();
const urgent = new WeakSet<Statement>();

/** Opens a pool of so many connections at most. */
export function oneCallerEach(open: Open, max: number): postgres.Sql {
  const face = open(() => {}); // makes statements, and never connects
  const state: State = {
    ...{ open, pool: face.options, max, all: new Set(), free: [], waiting: [] },
    ...{ isEnding: false, whenUnused: () => {} },
  };
  pools.set(handlerOf(face), state);
  let ended: Promise<void> | undefined;
  return Object.assign(face, {
    begin: (...args: unknown[]) => begin(state, args),
    end: (options?: { timeout?: number }) => ended ??= end(state, options?.timeout ?? null),
  });
}

/**
 * Opens one connection that all callers share: the queue of postings alone may, and it begins no transactions of the driver.
 * Where it closes, what waits in line fails too: the driver would send the rest of a batch without its beginning.
 */
export function sharedByAll(open: Open): postgres.Sql {
  return watched(open, null, () => {}).sql;
}

/** Gives what opens one more connection to where that of a transaction leads, and what ends that of the transaction. */
export function besideOf(tx: postgres.TransactionSql): { open: Open; end(): Promise<void> } {
  const connection = connections.get(cancellerOf(tx))!;
  return { open: connection.open, end: () => endNow(connection) };
}

/** Has a statement wait for nobody: where all connections are in use, it gets one more. */
export function atOnce<S>(statement: S): S {
  urgent.add(statement as Statement);
  return statement;
}

onHandled((statement) => {
  const state = pools.get(statement.handler);
  if (state !== undefined) {
    run(state, statement);
    return true;
  }
  const connection = connections.get(statement.canceller!);
  if (connection === undefined) return false;
  if (statement.handler === connection.handler) connection.last = statement;
  else if (connection.isLost) {
    statement.reject(refusal("CONNECTION_CLOSED"));
    return true;
  }
  keep(connection, statement);
  return false;
});

/** Keeps a statement until it is answered. */
function keep({ sent, pool, isShared }: Connection, statement: Statement): void {
  const { resolve, reject } = statement;
  sent.add(statement);
  statement.resolve = (answer) => {
    sent.delete(statement);
    resolve(answer);
  };
  statement.reject = (error) => {
    sent.delete(statement);
    if (isShared && statement.state === null) noteUnsent(error);
    noteOrigin(error, pool);
    reject(error);
  };
}

/** Runs a statement on a connection of its own; on another one where its plan was lost there, and nothing done. */
function run(state: State, statement: Statement, isAgain = false): void {
  take(state, urgent.has(statement)).then((connection) => {
    if (isAgain) renewStatement(statement);
    if (statement.cancelled) return leave(state, connection, false); // it may never have connected, and never close
    const { resolve, reject } = statement;
    statement.resolve = (answer) => {
      leave(state, connection);
      resolve(answer);
    };
    statement.reject = (error) => {
      noteOrigin(error, state.pool);
      if (statement.state === null) noteUnmade(state, error);
      leave(state, connection, isAnswer(error));
      if (isAgain || !isStatementLost(error)) return reject(error);
      Object.assign(statement, { resolve, reject });
      run(state, statement, true);
    };
    connection.last = statement;
    connection.handler(statement);
  }, (error) => statement.reject(error));
}

/** Runs a transaction on a connection of its own. */
async function begin(state: State, args: unknown[]): Promise<unknown> {
  const work = args.pop() as Work;
  const connection = await take(state);
  let [isBegun, isFree] = [false, false];
  let failure: unknown = null;
  try {
    const result = await (connection.sql.begin as unknown as Begin)(
      ...args,
      async (tx: postgres.TransactionSql) => {
        isBegun = true;
        try {
          return await untilEnd(tx, work);
        } catch (error) {
          failure = error;
          throw error;
        }
      },
    );
    isFree = true;
    return result;
  } catch (error) {
    noteOrigin(error, state.pool); // unless it is of another pool, whose loss is none of this one
    if (!isBegun) noteUnmade(state, error);
    // Of the work's error the driver has rolled back. After any other the end itself failed: it may be open yet.
    const isRolledBack = error === failure || codeOf(failure) === "25P02" && isAnswer(error);
    isFree = isRolledBack &&
      (isOfOther(error, state.pool) || !isDisconnect(error) && !isStatementLost(error));
    throw error;
  } finally {
    leave(state, connection, isFree);
  }
}

/** Runs the work of a transaction or savepoint, which sends nothing more when it has ended. */
async function untilEnd(tx: postgres.TransactionSql, work: Work): Promise<unknown> {
  const savepoint = tx.savepoint as unknown as Begin;
  const inner: Begin = (...args) => {
    const rest = args.pop() as Work;
    return savepoint(...args, (sp: postgres.TransactionSql) => untilEnd(sp, rest));
  };
  try {
    return await work(Object.assign(tx, { savepoint: inner }));
  } finally {
    refuseFurther(tx);
  }
}

/**
 * Notes that nothing was sent. Where the server did not answer in time, and nobody has another connection to it, those who
 * wait are told the same: each would wait as long.
 */
function noteUnmade(state: State, error: unknown): void {
  noteUnsent(error);
  if (codeOf(error) !== "CONNECT_TIMEOUT" || state.all.values().some(isInUse)) return;
  for (const { reject } of state.waiting.splice(0)) reject(error);
}

/** Whether something was sent over a connection by who has it. */
function isInUse({ last }: Connection): boolean {
  return last !== null && last.state !== null;
}

/**
 * Whether an error is the server's answer, after which the connection is free. One that has lost a plan may have lost all,
 * and is ended: a transaction that runs again would meet them one by one.
 */
function isAnswer(error: unknown): boolean {
  return isOfServer(error) && !isDisconnect(error) && !isStatementLost(error);
}

function take(state: State, isUrgent = false): Promise<Connection> {
  if (state.isEnding) return Promise.reject(unsent("CONNECTION_ENDED"));
  const connection = state.free.pop();
  if (connection !== undefined) return Promise.resolve(connection);
  if (state.all.size < state.max || isUrgent) return Promise.resolve(opened(state));
  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  state.waiting.push({ resolve, reject });
  return promise;
}

function opened(state: State): Connection {
  const connection = watched(state.open, state.pool, () => {
    connection.isClosed = true;
    const at = state.free.indexOf(connection);
    if (at >= 0) drop(state, state.free.splice(at, 1)[0]);
  });
  state.all.add(connection);
  return connection;
}

/**
 * Opens a connection; when it closes, what was sent over it fails, and then the function is called.
 *
 * @param pool null where callers share it
 */
function watched(open: Open, pool: object | null, closed: () => void): Connection {
  const closing = Promise.withResolvers<void>();
  const sql = open(() => {
    closing.resolve();
    lose(connection);
    closed();
  });
  const connection: Connection = {
    ...{ sql, open, handler: handlerOf(sql), pool: pool ?? sql.options, isShared: pool === null },
    ...{ isClosed: false, isLost: false, last: null, sent: new Set() },
    closed: closing.promise,
  };
  connections.set(cancellerOf(sql), connection);
  return connection;
}

/**
 * Fails what was sent. What waits for an unused connection that closes is sent over its next one by the driver, where
 * callers do not share it.
 */
function lose(connection: Connection): void {
  const { last, sent, handler, isShared } = connection;
  connection.isLost ||= isInUse(connection);
  if (connection.isLost) last?.reject(refusal("CONNECTION_CLOSED"));
  for (const statement of [...sent]) {
    const isInLine = statement.state === null && statement.handler === handler;
    if (isInLine && !isShared && !connection.isLost) continue;
    statement.reject(refusal("CONNECTION_CLOSED"));
    if (isInLine) statement.cancel(); // the driver takes it out of the line
  }
}

/** Gives a connection to who waits for one; ends it where it may not be free. */
function leave(state: State, connection: Connection, isFree = true): void {
  if (!state.all.has(connection)) return;
  connection.last = null;
  const isKept = isFree && !connection.isClosed && state.all.size <= state.max;
  if (!isKept) drop(state, connection);
  const next = isKept || state.all.size < state.max ? state.waiting.shift() : undefined;
  if (next !== undefined) next.resolve(isKept ? connection : opened(state));
  else if (isKept) state.free.push(connection);
  if (state.free.length === state.all.size) state.whenUnused();
}

function drop(state: State, connection: Connection): void {
  state.all.delete(connection);
  endNow(connection).catch(() => {});
}

/**
 * Ends a connection, in use or not. The driver fails what it has sent, but not what waits behind that in a transaction: it
 * waits for the socket to close, which it does not where the server does not answer.
 */
async function endNow(connection: Connection): Promise<void> {
  await connection.sql.end({ timeout: 0 });
  connection.isLost = true;
  lose(connection);
}

/** Ends all connections: when they are unused, or after so many seconds. */
async function end(state: State, timeoutS: number | null): Promise<void> {
  state.isEnding = true;
  const { promise, resolve } = Promise.withResolvers<void>();
  state.whenUnused = resolve;
  if (state.free.length === state.all.size) resolve();
  const timer = timeoutS === null ? undefined : setTimeout(resolve, timeoutS * 1000);
  await promise;
  clearTimeout(timer);
  const free = new Set(state.free.splice(0));
  const all = [...state.all];
  state.all.clear();
  for (const { reject } of state.waiting.splice(0)) reject(unsent("CONNECTION_DESTROYED"));
  await Promise.all(all.map((one) => free.has(one) ? close(one) : endNow(one)));
}

/**
 * Ends a free connection, and waits until it has closed. The driver, given time, waits all of it for one whose
 * lifetime passed during its last transaction, which closes by itself.
 */
async function close({ sql, closed }: Connection): Promise<void> {
  await sql.end({ timeout: 0 });
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, CLOSE_MS);
  await Promise.race([closed, late.promise]);
  clearTimeout(timer);
}

/** The failure of a statement that no connection was given. */
function unsent(code: string): Error {
  const error = refusal(code);
  noteUnsent(error);
  return error;
}

function refusal(code: string): Error {
  return Object.assign(new Error(`${code}: the connection was ended`), { code });
}
