import { deepEqual, equal } from "node:assert/strict";
import { type CheckCode, selectMismatches } from "../../db/audit/ledger_check.ts";
import type { Tx } from "../../db/database.ts";
import { CHECK_CODES } from "../../domain/audit/ledger_check.ts";
import { recomputeTrail } from "../../domain/audit/trail_chain.ts";
import { recomputeAll } from "../../domain/audit/hash_chain.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { busyRealm } from "../support/busy_realm.ts";
import { openFundedRamp } from "../support/evm_fixture.ts";
import type { TestRealm } from "../support/realm.ts";

const DOCS = new URL("../../docs/operations/audit.md", import.meta.url);
const TABLES = [
  "accounts",
  "transactions",
  "transaction_references",
  "transaction_reverts",
  "transaction_data",
  "entries",
  "blocks",
  "account_states",
  "chain_links",
  "chain_head",
  "ledger_events",
  "currencies",
  "currency_issues",
  "write_offs",
  "idempotency",
  "batches",
  "ledger_commits",
  "row_counts",
  "hourly_flows",
  "aliases",
  "audit",
  "rates",
  "users",
  "identities",
  "stops",
  "api_keys",
  "second_factors",
  "archived_parts",
  "balance_checkpoints",
];
/** The checks that find most. */
const FIRST: CheckCode[] = ["event.facts", "seal.missing", "seal.head", "audit.head"];
/** Rows of a table that are tried, from both its ends, and changes of a column that must be noticed. */
const TRIED_MAX = 6;
/** Tables whose rows are of several kinds: all of them are tried. */
const WHOLE = ["account_states", "idempotency", "batches", "rates", "withdrawals"];

/** The changed value of a column, by its type; `c` stands for the column. */
const CHANGES: Record<string, string[]> = {
  numeric: ["coalesce(c, 0) + 1", "case when c > 1 then c - 1 else c + 0.5 end"],
  bigint: ["coalesce(c, 0) + 1", "c - 1"],
  integer: ["coalesce(c, 0) + 1", "c - 1"],
  smallint: ["coalesce(c, 0) + 1", "c - 1"],
  text: ["coalesce(c, '') || 'x'", "'aa' || c", "'EUR'"],
  uuid: [
    "gen_random_uuid()",
    "(select z.id from accounts z where z.id <> c order by z.id desc limit 1)",
  ],
  boolean: ["not coalesce(c, false)"],
  jsonb: [`'{"tampered": true}'::jsonb`, "null"],
  "timestamp with time zone": [
    "coalesce(c, now()) + interval '1 day'",
    "coalesce(c, now()) - interval '9 days'",
  ],
  bytea: ["sha256('x')", "substr(sha256('x'), 1, 16)"],
  inet: ["'6.6.6.6'::inet"],
};
/** The same for columns whose values are of a list. */
const OF: Record<string, string[]> = {
  // With its folded form it could be any other.
  "users.username": ["upper(c)"],
  "transactions.type": ["'issue'", "'capture'", "'fee'", "'return'"],
  "accounts.type": ["'ramp'", "'deposit'"],
  "blocks.status": ["'RELEASED'", "'EXPIRED'", "'OPEN'"],
  "currency_issues.operation": ["'destroy'", "'issue'"],
  "accounts.system": ["'fees'"],
  "identities.type": ["'company'"],
  "identities.country": ["'DE'"],
  "accounts.country": ["'DE'"],
  "stops.what": ["'signing'"],
  "users.roles": ["array['admin', 'manage', 'user']", "array['user']"],
  "users.scopes": ["array['own']", "array['realm', 'own']"],
  "api_keys.roles": ["array['manage', 'user']"],
  "api_keys.scopes": ["array['realm', 'own']"],
  "second_factors.recovery": ["c[2:]", "array[sha256('x')]"],
  "batches.transactions": ["c[2:]", "array[gen_random_uuid()]"],
  "batches.refusals": ["array[null, null]::text[]"],
  "ledger_commits.transactions": ["c[2:]", "array[gen_random_uuid()]"],
  "hourly_flows.hour": ["c + interval '1 hour'", "c - interval '30 days'"],
  "hourly_flows.type": ["'issue'", "'fee'"],
  "hourly_flows.direction": ["'in'", "'out'", "'inside'"],
  "ledger_commits.events": ["array[99999]::bigint[]"],
};

interface Column {
  name: string;
  type: string;
}

/** A table with all triggers off, in a transaction that is taken back. */
interface Defenceless {
  readonly table: string;
  readonly tx: Tx;
  /** The checks, those first that found something of this table last. */
  readonly checks: Check[];
}

/** Tells whether anything is wrong. */
type Check = (tx: Tx) => Promise<boolean>;

/** All checks, those first that find most. */
const CHECKS: readonly Check[] = [
  ...FIRST.map(finding),
  async (tx) => (await recomputeAll(tx)).break !== null,
  async (tx) => (await recomputeTrail(tx)).break !== null,
  ...CHECK_CODES.filter((code) => !FIRST.includes(code)).map(finding),
];

function finding(code: CheckCode): Check {
  return async (tx) => (await selectMismatches(tx, code, 1)).length > 0;
}

/** Works on a table whose triggers are off, and takes it back. */
async function withoutTriggers<T>(
  realm: TestRealm,
  table: string,
  work: (at: Defenceless) => Promise<T>,
): Promise<T> {
  const { schema } = (await realm.services.realms.find(realm.id))!.location;
  const end = new Error("enough seen");
  let result: T;
  await realm.database.platform.sql.begin(async (tx) => {
    await tx`set local search_path to ${tx(schema)}`;
    await tx.unsafe(`alter table ${table} disable trigger user; set local timezone = 'UTC'`);
    result = await work({ table, tx, checks: [...CHECKS] });
    throw end;
  }).catch((error) => {
    if (error !== end) throw error;
  });
  return result!;
}

/** Makes a change, checks whether it is detected, and takes it back. */
async function noticed({ tx, checks }: Defenceless, statement: string): Promise<boolean | null> {
  const end = new Error("enough seen");
  let seen: boolean | null = null;
  await tx.savepoint(async (inner) => {
    const { count } = await inner.unsafe(statement);
    if (count > 0) seen = await anything(inner, checks);
    throw end;
  }).catch((error) => {
    // A column whose change a constraint refuses even so cannot be changed.
    if (error !== end && !/^2[23]|^428C9/.test(error.code)) throw error;
  });
  return seen;
}

/** Whether any check finds anything. */
async function anything(tx: Tx, checks: Check[]): Promise<boolean> {
  for (const [at, check] of checks.entries()) {
    if (!await check(tx)) continue;
    checks.unshift(...checks.splice(at, 1));
    return true;
  }
  return false;
}

/** Tries statements until one goes unnoticed; tells whether one did. */
async function escapes(at: Defenceless, statements: readonly string[]): Promise<boolean> {
  let tried = 0;
  for (const statement of statements) {
    if (tried >= TRIED_MAX && !WHOLE.includes(at.table)) break;
    const seen = await noticed(at, statement);
    if (seen === false) return true;
    if (seen !== null) tried++;
  }
  return false;
}

async function query<T>(realm: TestRealm, text: string): Promise<T[]> {
  const { schema } = (await realm.services.realms.find(realm.id))!.location;
  return await realm.database.platform.sql.begin(async (tx) => {
    await tx`set local search_path to ${tx(schema)}`;
    return await tx.unsafe(text) as unknown as T[];
  }) as T[];
}

/** The parts of a table that can change unseen: columns, and whole rows. */
async function unseenIn(realm: TestRealm, table: string): Promise<string[]> {
  const columns = await query<Column>(
    realm,
    `select column_name as name, data_type as type from information_schema.columns
      where table_schema = current_schema and table_name = '${table}' order by ordinal_position`,
  );
  const rows = await query<{ at: string }>(
    realm,
    `select at::text from (select ctid as at, row_number() over (order by ctid) as first,
        row_number() over (order by ctid desc) as last from ${table}) q
      where least(first, last) <= ${WHOLE.includes(table) ? 1000 : TRIED_MAX / 2} order by first`,
  );
  return await withoutTriggers(realm, table, async (at) => {
    const found: string[] = [];
    for (const { name, type } of columns) {
      const changes = OF[`${table}.${name}`] ?? CHANGES[type] ?? ["array['x', 'y']::text[]"];
      const statements = rows.flatMap(({ at: row }) =>
        changes.map((change) => {
          const to = change.replaceAll(/\bc\b/g, `${table}.${name}`);
          return `update ${table} set ${name} = ${to} where ctid = '${row}'::tid
          and ${table}.${name} is distinct from (${to})`;
        })
      );
      if (await escapes(at, statements)) found.push(`${table}.${name}`);
    }
    const gone = rows.map(({ at: row }) => `delete from ${table} where ctid = '${row}'::tid`);
    if (await escapes(at, gone)) found.push(`${table}, a row gone`);
    return found;
  });
}

/** The changes that the documentation lists as unseen. */
async function documented(): Promise<string[]> {
  const text = await Deno.readTextFile(DOCS);
  const section = text.split("## Changes that no check finds")[1].split(/^#/m)[0];
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  return rows.flatMap((row) => [...row.split("|")[1].matchAll(/`([^`]+)`/g)].map(([, one]) => one));
}

/** The same of withdrawals: one that is done, one that is canceled, and one that waits. */
async function unseenInWithdrawals(): Promise<string[]> {
  await using funded = await openFundedRamp();
  const [done, canceled] = [await funded.withdraw("0.1"), await funded.withdraw("0.05")];
  equal((await funded.finish(done.body.id)).status, "DONE");
  const { send } = funded.realm.admin;
  await send("POST", `/v1/withdrawals/${canceled.body.id}/cancel`);
  equal((await funded.withdraw("0.2")).status, 201);
  return await unseenIn(funded.realm, "withdrawals");
}

Deno.test("every change by the owner of the tables is noticed, or stands in the documentation with the reason", async () => {
  await using realm = await busyRealm();
  await extendHashChain(realm.pool, Date.now);
  equal(
    await realm.database.platform.sql.begin(async (tx) => {
      const { schema } = (await realm.services.realms.find(realm.id))!.location;
      await tx`set local search_path to ${tx(schema)}`;
      await tx.unsafe("set local timezone = 'UTC'");
      return await anything(tx, [...CHECKS]);
    }),
    false,
  );
  const found: string[] = [];
  for (const table of TABLES) found.push(...await unseenIn(realm, table));
  found.push(...await unseenInWithdrawals());
  deepEqual(found.sort(), (await documented()).sort());
});
