/**
 * Connections of the driver: the settings that each states at its start, and the conversion of values.
 * @module
 */
import postgres from "postgres";
import { placingRows } from "./answer_rows.ts";
import { silenceLost } from "./lost_connections.ts";
import { passwordFor } from "./server_password.ts";
import { parametersOf, type Session } from "./session_settings.ts";
import { tracingStatements } from "./statement_spans.ts";

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

/** Opens connections to an address on their first use, as another login where one is given. */
export function connect(
  options: Speech,
  url: string,
  as: Session,
  max: number,
  login: Login | null,
): postgres.Sql {
  const sql = postgres(url, {
    ...(login === null ? {} : { username: login.role }),
    password: passwordFor(url, login?.password),
    max,
    prepare: options.prepare,
    idle_timeout: IDLE_OF[as.name] ?? IDLE_S,
    max_lifetime: LIFETIME_OF[as.name] ?? null as unknown as number,
    connect_timeout: 10,
    backoff: () => 0.1, // the default leaves an API silent for 20 s after a database restart
    fetch_types: false,
    onnotice: () => {},
    ...(options.onStatement === undefined
      ? {}
      : { debug: (_connection: number, text: string) => options.onStatement!(text) }),
    types: {
      date: {
        to: 1184,
        from: [1082, 1114, 1184],
        serialize: refusable((ms: number) => new Date(ms).toISOString()),
        parse: (text: string) => new Date(text).getTime(),
      },
      json: {
        to: 114,
        from: [114, 3802],
        serialize: refusable((value: unknown) => JSON.stringify(value)),
        parse: options.parseJson,
      },
      texts: { to: 1009, from: [1009], serialize: refusable(writeArray), parse: readArray },
      ids: { to: 2951, from: [2951], serialize: refusable(writeArray), parse: readArray },
    } as unknown as Record<string, postgres.PostgresType>,
    connection: {
      application_name: `purser ${as.name}`,
      // A pooler would share these between clients, so there each transaction states them.
      ...(options.prepare ? parametersOf(as, login !== null) : {}),
    },
  });
  return tracingStatements(silenceLost(placingRows(sql)));
}

/**
 * Has a value that cannot be written sent as its error, which the server refuses as no value of the type. Where a value
 * throws while another statement is on the connection, the driver fails that one, waits for an answer to what it never
 * sent, and so gives each later caller of the connection the answer of the next.
 */
function refusable<T>(write: (value: T) => string): (value: T) => string {
  return (value) => {
    try {
      return write(value);
    } catch (error) {
      return `${error}`;
    }
  };
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
