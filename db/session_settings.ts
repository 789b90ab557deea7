/**
 * Settings that each session with the database states: its role, its schema, its limits, and the
 * interpretation and planning of values and statements.
 * @module
 */

const STATEMENT_TIMEOUT_MS = 30_000;
/**
 * The server ends a transaction that sends nothing for this long, and so releases the ledger lock
 * and all others: its process is stopped, cut off, or too slow to wait for.
 */
const SILENCE_MS = 4_000;
/** Sessions that build a realm may pause for longer; no request waits for their locks. */
const BUILD_SILENCE_MS = 60_000;
const BUILDING = ["owner", "migration"];
/** A peer that acknowledges nothing for this long counts as gone. */
const PEER_TIMEOUT_MS = 10_000;

/** Role and search path of a connection. */
export interface Session<RealmLocation = unknown> {
  searchPath: string;
  role: string | null;
  /** The realm whose logins it uses; null: the login of the address. */
  location: RealmLocation | null;
  /** Shown by the database. */
  name: string;
  /** Takes no writes, also where the server would. */
  readOnly?: true;
}

/** How values are written as text and read; the defaults of databases differ: 05/11/2026 is another day elsewhere. */
const TEXT_SETTINGS: Readonly<Record<string, string>> = {
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  extra_float_digits: "1",
  bytea_output: "hex",
};

/** States them for a transaction. What one database writes another one reads. */
export const VALUES_AS_TEXT: string = Object.entries(TEXT_SETTINGS)
  .map(([name, value]) => `set local ${name} = '${value}'`).join("; ");

/**
 * How statements are planned. By PostgreSQL's own defaults a page that an index leads to costs four times a page of a
 * table that is read through, as on a turning disk: plans that are made while tables are small would read them whole, and
 * be kept. Compiling a statement takes longer than any of ours gains by it.
 */
const PLANNER_SETTINGS: Readonly<Record<string, string>> = {
  random_page_cost: "1.1",
  jit: "off",
};

/** Settings to state in each transaction, because connections may be shared with other clients. */
export function settingsOf(as: Session): string {
  return [
    as.role === null ? "" : `set local role "${as.role}";`,
    `set local search_path to ${as.searchPath};`,
    ...limitsOf(as).map(([name, value]) => `set local ${name} = '${value}';`),
    `set local timezone = 'UTC'; ${VALUES_AS_TEXT};`,
  ].join(" ");
}

/** Limits of a session whatever its process does, the durability of a commit, and how statements are planned. */
function limitsOf(as: Session): [name: string, value: string][] {
  return [
    ["statement_timeout", `${as.name === "index" ? 0 : STATEMENT_TIMEOUT_MS}`],
    [
      "idle_in_transaction_session_timeout",
      `${BUILDING.includes(as.name) ? BUILD_SILENCE_MS : SILENCE_MS}`,
    ],
    ["synchronous_commit", "on"], // a server, database or role may have been set to less
    ...Object.entries(PLANNER_SETTINGS),
  ];
}

/** How the server detects that the other end of a connection is gone. */
const PEER_SETTINGS: Readonly<Record<string, string>> = {
  tcp_keepalives_idle: "10",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "3",
  tcp_user_timeout: `${PEER_TIMEOUT_MS}`,
};

/**
 * A role may change the settings that its next connections begin with, so an injected statement could
 * leave some behind. Each connection therefore states the settings that decide the meaning of values
 * and statements, and the time-outs. Whether a database takes writes is its operator's decision.
 */
const OWN_SETTINGS: Readonly<Record<string, string>> = {
  default_transaction_isolation: "read committed",
  default_transaction_deferrable: "off",
  lock_timeout: "0",
  idle_session_timeout: "0",
  standard_conforming_strings: "on",
  backslash_quote: "safe_encoding",
  transform_null_equals: "off",
  array_nulls: "on",
};

/**
 * Gives the settings that a connection states at its start; one that logs in as a role of a realm
 * restates those that the role might have changed.
 */
export function parametersOf(as: Session, logsIn: boolean): Record<string, string> {
  return {
    search_path: as.searchPath,
    ...(as.role === null ? {} : { role: as.role }),
    ...TEXT_SETTINGS,
    ...(logsIn ? OWN_SETTINGS : {}),
    ...Object.fromEntries(limitsOf(as)),
    ...PEER_SETTINGS,
    ...(as.readOnly ? { default_transaction_read_only: "on" } : {}),
    timezone: "UTC",
  };
}
