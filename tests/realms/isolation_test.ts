import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import postgres from "postgres";
import { asSuperuser } from "../support/database.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

/** A session whose login can be one realm's role and nothing else: what an intruder would have. */
async function intrude(realm: TestRealm) {
  const login = `intruder_${crypto.randomUUID().replaceAll("-", "")}`;
  const role = realm.made.realm.role_name!;
  await asSuperuser(`create role ${login} login password 'in' noinherit in role ${role}`);
  const url = new URL(realm.services.config.databaseUrl!);
  const database = url.pathname.slice(1);
  await asSuperuser(`grant connect on database ${database} to ${login}`);
  url.username = login;
  url.password = "in";
  const sql = postgres(url.href, { max: 1, fetch_types: false, connection: { role } });
  return {
    sql,
    role,
    async [Symbol.asyncDispose]() {
      await sql.end();
      await asSuperuser(`drop owned by ${login}; drop role ${login}`);
    },
  };
}

const test = sharing("isolation in one realm");

test("a realm's role reaches nothing of another realm or of the platform", async (realm) => {
  await using victim = await testRealm();
  await victim.currency("5");
  await using intruder = await intrude(realm);
  const { sql } = intruder;
  const [me] = await sql`select current_user::text as name`;
  equal(me.name, intruder.role);
  const own = realm.made.realm.schema_name;
  equal((await sql.unsafe(`select count(*) from ${own}.accounts`)).length, 1, "its own it reads");
  for (const schema of [victim.made.realm.schema_name, "platform"]) {
    const [{ tables }] = await victim.services.platform.sql<{ tables: string[] }[]>`
      select array_agg(tablename)::text[] as tables from pg_tables where schemaname = ${schema}`;
    ok(tables.length > 5);
    for (const table of tables) {
      const name = `${schema}.${table}`;
      for (
        const text of [
          `select * from ${name}`,
          `select count(*) from ${name}`,
          `insert into ${name} default values`,
          `delete from ${name}`,
          `truncate ${name}`,
          `do $$ begin lock table ${name} in access share mode; end $$`,
          `copy ${name} to stdout`,
          `drop table ${name}`,
          `alter table ${name} add column x integer`,
          `create trigger x before insert on ${name} execute function ${own}.refuse_change()`,
          `select '${name}'::regclass`,
        ]
      ) {
        await rejects(sql.unsafe(text), /permission denied|must be owner/, text);
      }
    }
    for (
      const text of [
        `create table ${schema}.x ()`,
        `create view ${schema}.x as select 1`,
        `create function ${schema}.x() returns int language sql as 'select 1'`,
        `drop schema ${schema} cascade`,
        `grant usage on schema ${schema} to current_user`,
        `select ${schema}.refuse_change()`,
      ]
    ) {
      await rejects(sql.unsafe(text), /permission denied|must be owner/, text);
    }
    equal(
      (await sql`select 1 from information_schema.tables where table_schema = ${schema}`).length,
      0,
    );
    equal((await sql`select 1 from pg_stats where schemaname = ${schema}`).length, 0);
  }
});

test("a realm's role cannot become another, make objects, or read the server's catalogues", async (realm) => {
  await using victim = await testRealm();
  await using intruder = await intrude(realm);
  const { sql } = intruder;
  const own = realm.made.realm.schema_name;
  const other = victim.made.realm.role_name!;
  const service = new URL(realm.services.config.databaseUrl!).username;
  for (
    const text of [
      `set role ${other}`,
      `set role ${service}`,
      `set session authorization ${service}`,
      `grant ${other} to current_user`,
      `alter role current_user createrole`,
      `create role x`,
      `create database x`,
      `create schema x`,
      `create table public.x ()`,
      `create table ${own}.x ()`,
      `create function ${own}.x() returns int language sql as 'select 1'`,
      `alter table ${own}.accounts disable trigger all`,
      `drop table ${own}.accounts`,
      `update ${own}.transactions set amount = 1`,
      `delete from ${own}.entries`,
      `truncate ${own}.audit`,
      `create extension dblink`,
      `copy ${own}.accounts to '/tmp/x'`,
      `copy ${own}.accounts from program 'id'`,
      `select pg_read_file('/etc/passwd')`,
      `select rolpassword from pg_authid`,
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${service}'`,
      `alter system set fsync = off`,
      `load 'x'`,
    ]
  ) {
    await rejects(sql.unsafe(text), (error: Error & { code: string }) => {
      return ["42501", "0A000", "42704", "2200G", "28000"].includes(error.code);
    }, text);
  }
  // The catalogue hides the statements of other sessions from every role.
  await victim.admin.send("GET", "/v1/accounts");
  const seen = await sql<{ query: string }[]>`
    select query from pg_stat_activity where usename = ${service}`;
  deepEqual(new Set(seen.map((row) => row.query)), new Set(["<insufficient privilege>"]));
});

test("nothing that a client sends crosses from one realm to another", async (realm) => {
  await using victim = await testRealm();
  const { account } = await victim.currency("5");
  const schema = victim.made.realm.schema_name;
  const { send } = realm.admin;
  const status = async (method: string, path: string, body?: unknown) =>
    (await send(method, path, body)).status;
  equal(await status("GET", `/v1/accounts/${account}`), 404);
  equal(await status("GET", `/v1/users/${victim.admin.id}`), 404);
  equal(
    await status("POST", "/v1/transactions", {
      source: { account },
      destination: { account },
      value: "1",
    }),
    404,
  );
  const hostile = [
    `${schema}.accounts`,
    `'; select * from ${schema}.accounts --`,
    `") union select * from ${schema}.accounts --`,
    `data->>'x'`,
    `(select total from ${schema}.accounts limit 1)`,
  ];
  for (const text of hostile) {
    const given = encodeURIComponent(text);
    for (const name of ["sort", "fields", "searchFields", "populate", "scope"]) {
      const answer = await send("GET", `/v1/accounts/all?${name}=${given}&search=x`);
      ok([400, 200].includes(answer.status), `${name} ${text}: ${answer.status}`);
      equal(answer.text.includes(account), false);
    }
    const key = encodeURIComponent(JSON.stringify({ [text]: 1 }));
    equal(await status("GET", `/v1/accounts/all?query=${key}`), 400, text);
    const value = encodeURIComponent(JSON.stringify({ asset: text }));
    const found = await send("GET", `/v1/accounts/all?scope=all&query=${value}`);
    deepEqual([found.status, found.body], [200, []]);
    equal(await status("GET", `/v1/accounts/${given}`), 404);
    equal(
      await status("POST", "/v1/transactions", {
        source: { alias: text },
        destination: { alias: text },
        value: "1",
      }),
      404,
    );
  }
});
