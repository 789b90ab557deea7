/**
 * The schema of a database as text: this module makes the golden dumps beside the migrations,
 * and the test compares them. `deno task schema` writes them anew.
 *
 * @module
 */
import type { Sql } from "../../db/database.ts";
import {
  createRealmSchema,
  dropRealmSchema,
  migratePlatform,
  migrateRealm,
  readMigrations,
  restateRights,
} from "../../db/migrate.ts";
import { openDatabase } from "../../db/database.ts";
import { startEmbedded } from "../../db/embedded/embedded.ts";
import { takeSpare } from "./spare_schemas.ts";
import { answeredHelp } from "../../lint/usages.ts";

const NAME = "realm_00000000000000000000000000000000";
const PLACE = {
  id: NAME,
  schema: NAME,
  encryptedUrl: null,
  login: null,
  schemaVersion: 0,
  place: 0,
};
const MIGRATIONS = new URL("../../migrations/", import.meta.url);

/** The two golden dumps. */
export interface Dumps {
  platform: string;
  realm: string;
}

/** Makes both schemas from their migrations in the given database, describes them, and drops them. */
export async function dumpSchemas(url: string): Promise<Dumps> {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
  const migrations = await readMigrations();
  try {
    const { sql } = database.platform;
    await migratePlatform(sql, migrations.platform);
    const platform = await describe(sql, "platform", "");
    await sql.begin(async (tx) => {
      const place = { ...PLACE, role: NAME };
      await createRealmSchema(tx, place);
      await migrateRealm(tx, migrations, place);
    });
    const realm = await describe(sql, NAME, NAME);
    await sql.begin((tx) => dropRealmSchema(tx, { schema: NAME, role: NAME }));
    return { platform, realm };
  } finally {
    await database.close();
  }
}

/** Describes the schema of a realm that takes a spare one of its database, and drops it. */
export async function dumpSpare(url: string): Promise<string> {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
  const migrations = await readMigrations();
  try {
    const { sql } = database.platform;
    await migratePlatform(sql, migrations.platform);
    if (!await takeSpare(database.platform, NAME)) throw new Error("no schema is left");
    await sql.begin((tx) => restateRights(tx, migrations, { ...PLACE, role: NAME }));
    const realm = await describe(sql, NAME, NAME);
    await sql.begin((tx) => dropRealmSchema(tx, { schema: NAME, role: NAME }));
    return realm;
  } finally {
    await database.close();
  }
}

/** Reads the golden dumps. */
export async function readDumps(): Promise<Dumps> {
  const [platform, realm] = await Promise.all([
    Deno.readTextFile(new URL("platform.schema.sql", MIGRATIONS)),
    Deno.readTextFile(new URL("realm.schema.sql", MIGRATIONS)),
  ]);
  return { platform, realm };
}

/** Describes a schema from the catalogue, in an order that does not depend on how it was made. */
async function describe(sql: Sql, schema: string, role: string): Promise<string> {
  const tables = await sql<{ name: string; comment: string | null }[]>`
    select c.relname as name, obj_description(c.oid) as comment
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind in ('r', 'p', 'v') order by c.relname`;
  const parts: string[] = [];
  for (const table of tables) {
    parts.push(await describeTable(sql, schema, table));
  }
  const functions = await sql<{ definition: string }[]>`
    select pg_get_functiondef(p.oid) as definition
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = ${schema} order by p.proname, p.oid::regprocedure::text`;
  parts.push(...functions.map(({ definition }) => definition.trim() + ";"));
  if (role !== "") parts.push((await rightsIn(sql, schema)).join("\n"));
  const header =
    "-- The schema as the migrations leave it. Made by `deno task schema`; not run.\n\n";
  return header + parts.join("\n\n").replaceAll(`${schema}.`, "").replaceAll(schema, "realm") +
    "\n";
}

/**
 * Every right that somebody besides the owner has in a schema, from the catalogue, a line each: so a grant that is new
 * is a line that is new.
 */
async function rightsIn(sql: Sql, schema: string): Promise<string[]> {
  const rows = await sql<{ line: string }[]>`
    with place as (select oid, nspowner, nspacl from pg_namespace where nspname = ${schema}),
    rights as (
      select 'schema'::text as what, p.nspowner as owner, null::text as part, a.* from place p, aclexplode(p.nspacl) a
      union all
      select c.relname::text, c.relowner, null, a.* from place p join pg_class c on c.relnamespace = p.oid,
        aclexplode(c.relacl) a
      union all
      select c.relname::text, c.relowner, t.attname::text, a.* from place p join pg_class c on c.relnamespace = p.oid
        join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
      union all
      select f.oid::regprocedure::text, f.proowner, null, a.* from place p join pg_proc f on f.pronamespace = p.oid,
        aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
    )
    select format('%s may %s%s on %s%s', coalesce(r.rolname, 'everybody'), lower(privilege_type),
      ' (' || string_agg(part, ', ' order by part collate "C") || ')', what,
      case when bool_or(is_grantable) then ', and pass it on' else '' end) as line
    from rights left join pg_roles r on r.oid = grantee where grantee <> owner
    group by r.rolname, privilege_type, what, part is null
    union all
    select format('%s is a member of %s', m.member::regrole, m.roleid::regrole) from pg_auth_members m
      where pg_get_userbyid(m.member) like ${`${schema}%`}
    union all
    select format('%s is more than a plain role', rolname) from pg_roles where rolname like ${`${schema}%`}
      and (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)
    order by 1`;
  return rows.map(({ line }) => line).sort();
}

async function describeTable(
  sql: Sql,
  schema: string,
  table: { name: string; comment: string | null },
): Promise<string> {
  const qualified = `${schema}.${table.name}`;
  const columns = await sql<{ line: string }[]>`
    select a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || case when a.attnotnull then ' not null' else '' end
      || case when a.attidentity <> '' then ' generated as identity' else '' end
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as line
    from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = ${qualified}::regclass and a.attnum > 0 and not a.attisdropped
    order by a.attnum`;
  const rules = await sql<{ line: string }[]>`
    select line from (
      select 0 as kind, 'parts' as name, coalesce('partition by ' || pg_get_partkeydef(c.oid),
        'partition ' || pg_get_expr(c.relpartbound, c.oid)) as line
      from pg_class c where c.oid = ${qualified}::regclass and (c.relkind = 'p' or c.relispartition)
      union all
      select 1 as kind, conname as name,
        'constraint ' || conname || ' ' || pg_get_constraintdef(oid) as line
      from pg_constraint where conrelid = ${qualified}::regclass and contype <> 'n'
      union all
      select 2, (select relname from pg_class where oid = indexrelid), pg_get_indexdef(indexrelid)
      from pg_index i where indrelid = ${qualified}::regclass
        and not exists (select 1 from pg_constraint c where c.conindid = i.indexrelid)
      union all
      select 3, tgname, pg_get_triggerdef(oid)
      from pg_trigger where tgrelid = ${qualified}::regclass and not tgisinternal
    ) x order by kind, name`;
  return [
    `table ${table.name} (`,
    ...columns.map(({ line }) => `  ${line}`),
    ")",
    ...rules.map(({ line }) => line),
  ].join("\n");
}

if (import.meta.main && !answeredHelp("schema")) {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-schema-" });
  const server = await startEmbedded({ dataDir, port: 0 });
  try {
    const dumps = await dumpSchemas(server.url);
    await Deno.writeTextFile(new URL("platform.schema.sql", MIGRATIONS), dumps.platform);
    await Deno.writeTextFile(new URL("realm.schema.sql", MIGRATIONS), dumps.realm);
  } finally {
    await server.stop();
    await Deno.remove(dataDir, { recursive: true });
  }
}
