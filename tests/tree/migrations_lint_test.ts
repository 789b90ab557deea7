/** Which statements of a migration hold a lock on a table with rows for long. */
import { deepEqual, equal, match } from "node:assert/strict";
import { longLocks, migrationFaults } from "../../lint/migrations.ts";

const MADE = "create table orders (id bigint primary key, state text, amount numeric);";

/** Statements that are refused on a table that an earlier file made, each with its reason. */
const REFUSED: readonly [string, RegExp][] = [
  ["create index on orders (state)", /keeps writers waiting/],
  ["create index concurrently by_state on orders (state)", /no index is made concurrently/],
  ["alter table orders add constraint c check (amount > 0)", /not valid/],
  ["alter table orders add foreign key (id) references others (id)", /not valid/],
  ["alter table orders add constraint u unique (state)", /makes an index/],
  ["alter table orders add constraint x exclude using gist (state with =)", /makes an index/],
  ["alter table orders alter column state set not null", /scans the table for nulls/],
  ["alter table orders alter column amount type bigint", /anew/],
  ["alter table orders add column at timestamptz default clock_timestamp()", /row to row/],
  ["alter table orders add column key uuid not null default gen_random_uuid()", /row to row/],
  ["alter table orders add column n bigserial", /serial/],
  ["alter table orders add column n bigint generated always as identity", /computed/],
  [
    "alter table orders add column twice numeric generated always as (amount * 2) stored",
    /computed/,
  ],
  ["alter table orders add column n bigint check (n > 0)", /not valid/],
  ["alter table orders add column n bigint references others (id)", /not valid/],
  ["alter table orders set unlogged", /anew/],
  [
    "alter table orders add column n bigint, validate constraint c; alter table orders validate constraint d",
    /later version/,
  ],
  ["update orders set state = 'new'", /every row/],
  ["delete from orders", /every row/],
  ["lock table orders", /lock table/],
  ["cluster orders using orders_pkey", /cluster/],
  ["vacuum full orders", /vacuum/],
  ["reindex table orders", /reindex/],
];

/** Statements that hold a lock for a moment only. */
const ALLOWED: readonly string[] = [
  "create table lines (id bigint); create index on lines (id); update lines set id = 1;" +
  " alter table lines alter column id set not null, alter column id type integer",
  "alter table orders add constraint c check (amount > 0) not valid",
  "alter table orders add foreign key (id) references others (id) not valid",
  "alter table orders validate constraint c",
  "alter table orders add constraint u unique using index by_state",
  "alter table orders add column note text, add column n bigint not null default 0",
  "alter table orders add column at timestamptz not null default now()",
  "alter table orders drop column state, alter column amount set default 1",
  "update orders set state = 'new' where state is null",
  "create function f() returns bigint language sql as 'select 1'; create trigger t before insert" +
  " on orders for each row execute function f()",
];

async function faultsOf(text: string): Promise<string[]> {
  const files = [{ path: "0001.sql", text: MADE }, { path: "0002.sql", text }];
  return await longLocks(files);
}

Deno.test("a migration that holds a lock on a table with rows for long is refused, with its line", async () => {
  for (const [text, reason] of REFUSED) {
    const faults = await faultsOf(`-- What: “ünïcode”\n\n-- and why\n${text};`);
    equal(faults.length, 1, `${text}: ${faults}`);
    match(faults[0], reason, text);
    match(faults[0], /^0002\.sql:4: /, text);
  }
});

Deno.test("a migration that holds locks for a moment is allowed, and anything on a table of its own", async () => {
  for (const text of ALLOWED) deepEqual(await faultsOf(text), [], text);
});

Deno.test("a column is set not null once a check of it was validated in an earlier migration", async () => {
  const steps = [
    "alter table orders add constraint has_state check (state is not null) not valid",
    "alter table orders validate constraint has_state",
    "alter table orders alter column state set not null",
  ].map((text, at) => ({ path: `${at}.sql`, text }));
  deepEqual(await longLocks(steps), []);
  equal((await longLocks([steps[0], steps[2]])).length, 1, "not before it was validated");
});

Deno.test("no migration of the project holds a lock for long", async () => {
  equal(await migrationFaults(), null);
});

Deno.test("an index on a table with rows is made in an index step, a file of one statement", async () => {
  const step = async (text: string) =>
    await longLocks([{ path: "0001.sql", text: MADE }, { path: "0002_by_state.index.sql", text }]);
  const made = "create index concurrently if not exists by_state on orders (state)";
  deepEqual(await step(`-- What: by state\n${made};\n`), []);
  deepEqual(await step(made.replace("index", "unique index")), []);
  for (
    const text of [
      `${made}; ${made.replace("by_state", "by_id")}`,
      made.replace("concurrently", ""),
      made.replace("if not exists", ""),
      "create index concurrently on orders (state)",
      "drop index concurrently if exists by_state",
      "alter table orders add column n bigint",
    ]
  ) {
    const [fault, ...more] = await step(text);
    match(fault, /^0002_by_state\.index\.sql: an index step is one/, text);
    deepEqual(more, []);
  }
  const [parted] = await step(made.replace("orders", "entries"));
  match(parted, /`transactions` and `entries` have parts/);
  const [fault] = await faultsOf("create index concurrently if not exists own on lines (id)");
  match(fault, /no index is made concurrently in a transaction: .* NNNN_<noun>\.index\.sql/);
});

Deno.test("a column that archived parts would come back without is not added to a table with parts", async () => {
  const of = async (...texts: string[]) =>
    await longLocks(texts.map((text, at) => ({ path: `${at}.sql`, text })));
  const add = (of: string) => `alter table entries add column n integer ${of}`;
  for (
    const allowed of ["", "not null default 1", "default null", "check (n > 0) not null default 1"]
  ) {
    const faults = await of(add(allowed));
    equal(faults.filter((one) => !/not valid/.test(one)).length, 0, allowed);
  }
  for (
    const text of [
      add("default 1"),
      add("null default 1"),
      "alter table transactions add column n text default 'x'",
    ]
  ) {
    const faults = await of(text);
    equal(faults.length, 1, text);
    match(faults[0], /^0\.sql:1: .*allows nulls: a part that comes back/);
  }
  const drop = "alter table entries alter column n drop not null";
  const faults = await of(add("not null default 1"), drop);
  equal(faults.length, 1);
  match(faults[0], /^1\.sql:1: .*drops `not null`.*a part that comes back/);
  deepEqual(await of("alter table entries add column m integer not null default 1", drop), []);
  deepEqual(await of("alter table orders add column n integer default 1"), []);
  deepEqual(await of(`create table entries (id bigint); ${add("default 1")}`), []);
});
