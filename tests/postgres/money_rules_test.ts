/** Rules about money as the database has them: each is tried to be broken by a statement, and told by its name. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { RampFixture } from "../support/ramp_fixture.ts";
import { sharingOf } from "../support/sharing.ts";
import { CHECKS, IMPLIED } from "./money_checks.ts";
import { ELSEWHERE, FOLLOW } from "./money_other_triggers.ts";
import { DIFFERING, HELD, MADE_REFERENCES, REFERENCES } from "./money_references.ts";
import { type Breaker, breaking, NO_ROW, openMoneyScene } from "./money_scene.ts";
import { BREACHES } from "./money_triggers.ts";

const test = sharingOf<RampFixture>("rules about money", openMoneyScene, ({ realm }) => realm);

/** Tables without value, rights or facts of either. */
const OTHERS = [
  ...["audit", "batches", "batches_earlier", "chain_blocks", "chain_cursors", "chain_samples"],
  ...["coin_rounds", "coin_searches", "companies", "company_domains", "event_head", "events"],
  ...["event_listeners", "idempotency", "idempotency_earlier", "incidents", "jobs", "leases"],
  ...["ledger_commits", "login_attempts", "logins", "messages", "migrations", "notes"],
  ...["person_contacts", "person_events", "person_syncs", "persons", "profile_keys"],
  ...["ramp_transfer_transitions", "rescans", "revocations", "row_counts", "second_factors"],
  ...["token_proofs", "webhook_deliveries", "webhook_queues", "webhooks", "ledger_lock"],
  "order_lock",
];
const OF_MONEY = `c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
  and c.relname <> all ('{${OTHERS.join()}}')`;
/** Indexes of people, whom no money follows. */
const OF_PEOPLE = ["identities_person"];

test("every CHECK of a table with money refuses the rows that break it", async ({ realm }) => {
  const wrong: unknown[] = [];
  await breaking(realm, { guarded: false }, async ({ refusal, read }) => {
    const tried = async (table: string, set: string, by: string) => {
      const refused = await refusal(`update ${table} set ${set}`);
      if (refused !== by) wrong.push([by, set, refused]);
    };
    for (const [table, tries] of Object.entries(CHECKS)) {
      for (const [by, sets] of Object.entries(tries)) {
        for (const set of [sets].flat()) await tried(table, set, by);
      }
    }
    for (const [table, set, by] of Object.values(IMPLIED)) {
      await tried(table, set, by);
    }
    const named = [...Object.values(CHECKS).flatMap(Object.keys), ...Object.keys(IMPLIED)];
    deepEqual(await namesOf(read, "c"), named.sort(), "each has a row that it refuses");
  });
  deepEqual(wrong, []);
});

test("every foreign key of a table with money refuses what is not there", async ({ realm }) => {
  const wrong: unknown[] = [];
  await breaking(realm, { guarded: false }, async ({ refusal, read }) => {
    const tried = async (by: string, statement: string) => {
      const refused = await refusal(statement);
      if (refused !== by) wrong.push([by, refused]);
    };
    for (const [by, [table, set]] of Object.entries(REFERENCES)) {
      await tried(by, `update ${table} set ${set}`);
    }
    for (const [by, statement] of Object.entries(MADE_REFERENCES)) {
      await tried(by, statement);
    }
    const named = [...Object.keys(REFERENCES), ...Object.keys(MADE_REFERENCES)];
    deepEqual(await namesOf(read, "f"), named.sort(), "each has a row that it refuses");
  });
  deepEqual(wrong, []);
});

test("every unique index of a table with money refuses a second row", async ({ realm }) => {
  const wrong: unknown[] = [];
  await breaking(realm, { guarded: false }, async ({ refusal, read }) => {
    const indexes = await uniqueIndexes(read);
    ok(indexes.length > 70);
    for (const index of indexes) {
      if (OF_PEOPLE.includes(index.name)) continue;
      const others = indexes.filter(({ table, name }) =>
        table === index.table && name !== index.name
      );
      const held = HELD[index.name];
      const refused = await refusal(...held === undefined ? [] : [held], second(index, others));
      if (refused !== index.name) wrong.push([index.name, refused]);
    }
  });
  deepEqual(wrong, []);
});

test("every trigger of a table with money refuses what it guards against", async ({ realm }) => {
  const wrong: unknown[] = [];
  await breaking(realm, { guarded: true }, async ({ refusal, read }) => {
    for (const [trigger, breaches] of Object.entries(BREACHES)) {
      for (const [by, ...statements] of breaches) {
        const refused = await refusal(...statements);
        if (refused?.startsWith(by) !== true) {
          wrong.push([trigger, statements.at(-1), refused]);
        }
      }
    }
    const triggers = await read(`
      select distinct t.tgname as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where ${OF_MONEY} and not t.tgisinternal
        and t.tgname !~ '_(noted|noted_change|noted_end|count_[a-z]+_rows)$'`);
    const named = [BREACHES, ELSEWHERE].flatMap(Object.keys).concat(FOLLOW);
    deepEqual(
      triggers.map(({ name }) => name).sort(),
      named.sort(),
      "each has a row that it refuses",
    );
  });
  deepEqual(wrong, []);
  for (const [trigger, [file, says]] of Object.entries(ELSEWHERE)) {
    const text = await Deno.readTextFile(
      new URL(`../${file}`, import.meta.url),
    );
    ok(text.includes(says), `${trigger}: ${file} says ${says}`);
  }
});

test("no amount of a table with money is NaN or infinite", async ({ realm }) => {
  const taken: string[] = [];
  await breaking(realm, { guarded: false }, async ({ refusal, read }) => {
    const columns = await read(`
      select c.relname as table, a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
      where ${OF_MONEY} and a.atttypid = 'numeric'::regtype and a.attnum > 0 order by 1, 2`);
    equal(columns.length > 80, true);
    for (const { table, name } of columns) {
      for (const value of ["NaN", "Infinity"]) {
        const set =
          `update ${table} set ${name} = '${value}' where ctid = (select ctid from ${table} limit 1)`;
        const refused = await refusal(set);
        if (refused === null || refused === NO_ROW) taken.push(`${table}.${name}`);
      }
    }
  });
  deepEqual([...new Set(taken)].sort(), FOLLOWING);
});

/** Amounts that follow from `accounts.total`, in rows that nobody changes, and those that a trigger compares with it. */
const FOLLOWING = [
  "account_states.blocked",
  "accounts.blocked",
  "accounts.linked",
  "balance_checkpoints.balance",
  "balance_checkpoints.linked",
  "blocks.amount",
  "currency_issues.amount",
  "entries_newest.amount",
  "entries_newest.balance",
  "entries_newest.blocked",
  "entries_newest.linked",
  "transactions_newest.amount",
];

async function namesOf(
  read: Breaker["read"],
  type: "c" | "f",
): Promise<string[]> {
  const rows = await read(`
    select distinct k.conname as name from pg_constraint k join pg_class c on c.oid = k.conrelid
    where ${OF_MONEY} and k.contype = '${type}'`);
  return rows.map(({ name }) => name).sort();
}

interface UniqueIndex {
  table: string;
  name: string;
  predicate: string | null;
  columns: { name: string; type: string }[];
}

async function uniqueIndexes(read: Breaker["read"]): Promise<UniqueIndex[]> {
  return await read(`
    select c.relname as table, i.relname as name, pg_get_expr(x.indpred, x.indrelid) as predicate,
      (select jsonb_agg(jsonb_build_object('name', a.attname, 'type', a.atttypid::regtype::text) order by k.at)
        from unnest(x.indkey::smallint[]) with ordinality k(number, at)
        join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.number) as columns
    from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
    where ${OF_MONEY} and x.indisunique order by 1, 2`);
}

/** Another value of a column's type. */
const OTHER_VALUES: Readonly<Record<string, (column: string) => string>> = {
  uuid: (column) => `case when ${column} is not null then gen_random_uuid() end`,
  text: (column) => `${column} || 'x'`,
  integer: (column) => `${column} + 1000`,
  smallint: (column) => `${column} + 1`,
  bigint: (column) => `${column} + 1000`,
  bytea: (column) => `case when ${column} is not null then sha256('x') end`,
};

/** A copy of a row of an index, whose columns in other unique indexes differ. */
function second(index: UniqueIndex, others: readonly UniqueIndex[]): string {
  const own = new Set(index.columns.map(({ name }) => name));
  const change: Record<string, string> = { ...DIFFERING[index.name] };
  for (const { columns } of others) {
    const free = columns.filter(({ name, type }) => !own.has(name) && type in OTHER_VALUES);
    if (DIFFERING[index.name] !== undefined && free[0]?.name !== "id") continue;
    if (free.length === 0 || free.some(({ name }) => name in change)) continue;
    const { name, type } = free.at(-1)!;
    change[name] = OTHER_VALUES[type](`x."${name}"`);
  }
  const values = Object.entries(change).map(([name, value]) => `'${name}', ${value}`).join(", ");
  const where = [
    `(${index.predicate ?? "true"})`,
    ...index.columns.map(({ name }) => `x."${name}" is not null`),
  ];
  return `insert into ${index.table} overriding system value
    select (jsonb_populate_record(x, jsonb_build_object(${values}))).* from ${index.table} x
    where ${where.join(" and ")} limit 1`;
}
