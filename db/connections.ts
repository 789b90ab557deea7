/**
 * Connections of the driver: the settings that each states at its start, and the conversion of values.
 * @module
 */
import { Socket } from "node:net";
import postgres from "postgres";
import { placingRows } from "./answer_rows.ts";
import { oneCallerEach, sharedByAll } from "./one_caller.ts";
import { guardGreeting, isOnThisMachine } from "./server_greeting.ts";
import { passwordFor } from "./server_password.ts";
import { parametersOf, type Session } from "./session_settings.ts";
import { tracingStatements } from "./statement_spans.ts";
import { guardingStatements } from "./statements.ts";

/** A role that logs in by itself, instead of the login of the address. */
export interface Login {
  role: string;
  password: string;
}

/** Options of the dialogue with the server. */
export interface Speech {
  /** False behind a pooler in transaction mode: nothing may outlive a transaction there. */
  prepare: boolean;
  /** Parses json columns without losing digits. */
  parseJson: (text: string) => unknown;
  /** Called with every statement, for measurement. */
  onStatement?: (text: string) => void;
}

const IDLE_S = 30;
/** The owner's connections are closed soon, because their login owns all schemas. */
const OWNER_IDLE_S = 5;
/** The connection of a posting queue must not end between two batches. */
const IDLE_OF: Readonly<Record<string, number>> = {
  posting: 0,
  owner: OWNER_IDLE_S,
  migration: OWNER_IDLE_S,
};
/**
 * A session that works in realm after realm caches every table and plan that it meets, looks through them for each object
 * that any session makes, and grows slow and large. It ends after so many seconds, when its transaction has.
 */
const LIFETIME_OF: Readonly<Record<string, number>> = { migration: 2, owner: 2 };

/**
 * Sessions that fill one table after another. Each copy ends with two messages, and the system holds back what follows
 * them for the 40 ms after which the server confirms the first: four seconds for the tables of a realm.
 */
const COPYING: readonly string[] = ["owner"];

/** Opens connections to an address on their first use, as another login where one is given. */
export function connect(
  options: Speech,
  url: string,
  as: Session,
  max: number,
  login: Login | null,
): postgres.Sql {
  const open = (closed: () => void) => openOne(options, url, as, login, closed);
  const sql = as.name === "posting" && max === 1 ? sharedByAll(open) : oneCallerEach(open, max);
  return tracingStatements(sql);
}

/** Opens one connection on its first use. */
function openOne(
  options: Speech,
  url: string,
  as: Session,
  login: Login | null,
  closed: () => void,
): postgres.Sql {
  const password = passwordFor(url, login?.password);
  const isProven = password !== undefined && !isOnThisMachine(url);
  const sql = postgres(url, {
    ...serverOf(url),
    ...(login === null ? {} : { username: login.role }),
    password,
    max: 1,
    prepare: options.prepare,
    idle_timeout: IDLE_OF[as.name] ?? IDLE_S,
    max_lifetime: LIFETIME_OF[as.name] ?? null as unknown as number,
    connect_timeout: 10,
    backoff: () => 0.1, // the default leaves an API silent for 20 s after a database restart
    fetch_types: false,
    onnotice: () => {},
    onclose: closed,
    ...(options.onStatement === undefined
      ? {}
      : { debug: (_connection: number, text: string) => options.onStatement!(text) }),
    types: {
      date: {
        to: 1184,
        from: [1082, 1114, 1184],
        serialize: (ms: number) => new Date(ms).toISOString(),
        parse: (text: string) => new Date(text).getTime(),
      },
      json: {
        to: 114,
        from: [114, 3802],
        serialize: (value: unknown) => JSON.stringify(value),
        parse: options.parseJson,
      },
      texts: { to: 1009, from: [1009], serialize: writeArray, parse: readArray },
      ids: { to: 2951, from: [2951], serialize: writeArray, parse: readArray },
    } as unknown as Record<string, postgres.PostgresType>,
    connection: {
      application_name: `purser ${as.name}`,
      // A pooler would share these between clients, so there each transaction states them.
      ...(options.prepare ? parametersOf(as, login !== null) : {}),
    },
  });
  refuseUnwritable(sql.options.serializers);
  const isPrompt = COPYING.includes(as.name);
  limitStarts(sql.options, () => openSocket(isPrompt, { ssl: sql.options.ssl, isProven }));
  return guardingStatements(placingRows(sql));
}

/** Names a server by its IPv6 address, in which the driver would take what stands behind a colon for a port. */
function serverOf(url: string): Pick<postgres.Options<Record<never, never>>, "host" | "port"> {
  const parsed = URL.parse(url);
  if (parsed === null || !parsed.hostname.startsWith("[")) return {};
  const lists = { host: [parsed.hostname.slice(1, -1)], port: [Number(parsed.port || 5432)] };
  return lists as unknown as { host: string; port: number }; // its types know no lists
}

type Write = (value: unknown) => unknown;

/**
 * Has a value that cannot be written sent as its error, with a character that no value of the server has. Where a value
 * throws while another statement is on the connection, the driver fails that one, waits for an answer to what it never
 * sent, and so gives each later caller of the connection the answer of the next.
 */
function refuseUnwritable(writers: Record<number, Write>): void {
  for (const [type, write] of Object.entries(writers)) writers[Number(type)] = refusable(write);
  const plain = refusable((value) => `${value}`);
  Object.setPrototypeOf(writers, new Proxy({}, { has: () => true, get: () => plain }));
}

function refusable(write: Write): (value: unknown) => string {
  return (value) => {
    try {
      const text = write(value);
      if (typeof text === "string") return text;
      return `no text of a value: ${typeof text}\0`;
    } catch (error) {
      return `${error}\0`;
    }
  };
}

/** Most starts of a connection within {@link STARTS_MS}. */
const STARTS_MAX = 5;
const STARTS_MS = 2_000;

/**
 * Gives up a connection that is closed again and again before its first answer, as by a balancer without a server: the
 * driver begins anew for ever, hundreds of times a second, and its caller waits. At each start it asks for a function that
 * makes sockets.
 */
function limitStarts(options: object, open: () => Socket): void {
  const starts: number[] = [];
  let asked = 0;
  Object.defineProperty(options, "socket", {
    get() {
      // It asks whether there is such a function, for the function, and whether its socket is connected.
      if (asked > 0) return asked++ === 1 ? open : undefined;
      const now = performance.now();
      while (starts.length > 0 && starts[0] < now - STARTS_MS) starts.shift();
      starts.push(now);
      if (starts.length > STARTS_MAX) {
        const error = new Error("the connection was closed before it had begun, again and again");
        throw Object.assign(error, { code: "CONNECT_TIMEOUT" });
      }
      asked = 1;
      setTimeout(() => asked = 0);
      return open;
    },
  });
}

/**
 * Makes a socket.
 *
 * @param isPrompt it sends at once, also while the server has not confirmed what came before
 * @param server how it is asked for TLS, and whether it must prove that it knows the password; within TLS what it says is
 *   not seen
 */
function openSocket(
  isPrompt: boolean,
  { ssl, isProven }: { ssl: unknown; isProven: boolean },
): Socket {
  const socket = new Socket();
  if (isPrompt) socket.setNoDelay(true);
  if (ssl && ssl !== "prefer") return socket;
  return guardGreeting(socket, isProven, ssl === "prefer");
}

/** Writes an array of texts in PostgreSQL's form; an array that is text already stays. */
function writeArray(values: readonly string[] | string): string {
  if (typeof values === "string") return values;
  const quoted = values.map((text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`);
  return `{${quoted.join(",")}}`;
}

/** Reads an array of texts without nulls. */
function readArray(text: string): string[] {
  if (text === "{}") return [];
  if (!/["\\]/.test(text)) return text.slice(1, -1).split(",");
  const found: string[] = [];
  for (const [, quoted, plain] of text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^",]+)/gs)) {
    found.push(quoted === undefined ? plain : quoted.replaceAll(/\\(.)/gs, "$1"));
  }
  return found;
}
