/**
 * The two proofs of what a run has left behind, of every realm in its databases that no test broke on purpose: the
 * audit, and the chain of hashes recomputed by the auditor's script from what the API answers.
 * Run by `tests/support/run.ts`, which writes the address of each database on a line when its tests have ended, and
 * behind it that of another one from which it is dropped when it has been audited.
 *
 * @module
 */
import { readConfig } from "../../config.ts";
import { actingAs, type Database, openDatabase, type Pool } from "../../db/database.ts";
import { codeOf } from "../../db/errors.ts";
import { readMigrations } from "../../db/migrate.ts";
import type { RealmRow } from "../../db/realms/realms.ts";
import { reading } from "../../db/transaction.ts";
import type { UserRow } from "../../db/identity/users.ts";
import { formatAudit } from "../../commands/audit.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { NOTHING, verify } from "../../examples/verify.ts";
import { createApp } from "../../routes/http/app.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { BROKEN, PLATFORM_KEY, wire } from "./realm.ts";

/** Of a test file, so many of the realms that it made first: each costs a tenth of a second of a processor. */
const OF_A_FILE = 3;
/** How many realms of each file have been seen, in whichever of its group's databases they are. */
const seen = new Map<string, number>();
/** Where every test keeps its realm sound or says that it does not; of other tests it is told only. */
const KEPT_SOUND =
  /^(collections|domain|http|identity|ledger|postgres|realms|security)\/(?!attestation_|signer_)|\/api_test\.ts$/;

/** Findings in the databases. */
interface Found {
  count: number;
  /** Of these, those whose chain was recomputed: the first of each file, for a twentieth of a second each. */
  recomputed: number;
  /** Faults that fail the run. */
  wrong: string[];
  /** Further notes. */
  told: string[];
  /** The roles of the database's realms. */
  roles: string[];
}

/** Opens an API in front of a database whose realms are read as the tables' owner, and the auditor's script beside it. */
async function openVerifier(url: string, database: Database) {
  const ofOwner = (place: ReturnType<typeof locationOf>) =>
    actingAs(database.platform, { ...place, role: null });
  const asOwner = { ...database, realm: ofOwner, sharedPool: ofOwner, working: ofOwner };
  const config = readConfig(
    {
      DATABASE_URL: url,
      PLATFORM_KEY,
      BASE_URL: "http://purser.test",
      LOG_LEVEL: "error",
      WORKERS: "off",
    },
    false,
  );
  const services = wire(config, asOwner, await readMigrations());
  const app = createApp(services, PLATFORM_KEY);
  /** Says what does not agree; null where all does, or nobody is there who may read it. */
  async function recompute(row: RealmRow, pool: Pool): Promise<string | null> {
    const [admin] = await reading(
      pool,
      (db) =>
        db<UserRow[]>`select * from users where 'admin' = any (roles) and 'realm' = any (scopes)
          and deleted_at is null and active limit 1`,
    );
    if (admin === undefined) return null;
    await extendHashChain(pool, Date.now);
    const key = await services.signingKeys.sign(claimsOf(admin, row, Date.now(), 3600));
    const said: string[] = [];
    const code = await verify({
      ...{ url: "http://purser.test", key, from: NOTHING, expect: null },
      say: (line) => said.push(line),
      ask: (url, how) => Promise.resolve(app(new Request(url, how), "127.0.0.1")),
    });
    return code === 0 ? null : said.join("; ");
  }
  return { recompute, close: () => services.limits.close() };
}

/** Audits the realms of a database. */
async function auditDatabase(url: string): Promise<Found> {
  const database = openDatabase({ url, prepare: true, parseJson: parseStoredJson });
  const { platform } = database;
  const found: Found = { count: 0, recomputed: 0, wrong: [], told: [], roles: [] };
  try {
    const [{ there }] = await platform.sql<{ there: boolean }[]>`
      select to_regclass('platform.realms') is not null as there`;
    if (!there) return found;
    found.roles = (await platform.sql<{ name: string }[]>`
      select unnest(array[role_name, role_name || '_worker']) as name from platform.realms
      where role_name is not null`).map(({ name }) => name);
    const { recompute, close } = await openVerifier(url, database);
    const group = new URL(url).pathname.replace(/_\d+$/, "");
    const rows = await platform.sql<(RealmRow & { broken: boolean })[]>`
      select *, coalesce(obj_description(to_regnamespace(schema_name), 'pg_namespace'), '') = ${BROKEN} as broken
      from platform.realms where database_url_encrypted is null and to_regnamespace(schema_name) is not null
      order by id`;
    for (const row of rows) {
      const file = `${group} ${row.name}`;
      const nth = (seen.get(file) ?? 0) + 1;
      seen.set(file, nth);
      if (nth > OF_A_FILE || row.broken) continue;
      found.count++;
      // As the tables' owner: a realm's role may have been broken, or its login encrypted under another key.
      const pool = actingAs(platform, { ...locationOf(row), role: null });
      const of = KEPT_SOUND.test(row.name) ? found.wrong : found.told;
      const audit = await checkLedger(pool).catch((error) => {
        of.push(`realm ${row.name} (${row.id}) cannot be audited: ${error.message}`);
        return null;
      });
      if (audit === null) continue;
      if (audit.mismatches.length > 0) {
        of.push(...formatAudit({ realm: row.id, name: row.name, ...audit }));
      } else if (nth === 1) {
        found.recomputed++;
        const fault = await recompute(row, pool).catch((error) => {
          found.told.push(`realm ${row.name} (${row.id}) is not shown: ${error.message}`);
          return null;
        });
        if (fault !== null) of.push(`realm ${row.name} (${row.id}): ${fault}`);
      }
    }
    await close();
    return found;
  } finally {
    await database.close();
  }
}

/**
 * Drops a database, and the roles of its realms: of the service's login, which is a member of them all, each session
 * reads them through whenever one is made. A database that somebody is still connected to stays, and a role that has
 * rights in another one.
 */
async function drop(url: string, roles: readonly string[], beside: string): Promise<void> {
  const database = openDatabase({ url: beside, prepare: true, parseJson: parseStoredJson });
  try {
    const { sql } = database.platform;
    await sql.unsafe(`drop database ${new URL(url).pathname.slice(1)}`);
    await sql.unsafe(`do $$
      declare name text;
      begin
        foreach name in array array[${roles.map((name) => `'${name}'`).join()}]::text[] loop
          begin
            execute format('drop role if exists %I', name);
          exception when dependent_objects_still_exist then null;
          end;
        end loop;
      end $$`);
  } catch (error) {
    if (codeOf(error) !== IN_USE) throw error;
  } finally {
    await database.close();
  }
}

/** SQLSTATE of a database that is in use. */
const IN_USE = "55006";

/** Audits databases one after another, as they are named, each on a line. */
async function auditNamed(names: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Found[]> {
  const found: Found[] = [];
  let rest = "";
  for await (const text of names.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const [url, beside] = line.split(" ");
      const one = await auditDatabase(url);
      found.push(one);
      if (beside !== "") await drop(url, one.roles, beside);
    }
  }
  return found;
}

if (import.meta.main) {
  const found = await auditNamed(Deno.stdin.readable);
  const wrong = found.flatMap((one) => one.wrong);
  for (const line of [...found.flatMap((one) => one.told), ...wrong]) console.log(line);
  const count = found.reduce((sum, one) => sum + one.count, 0);
  const recomputed = found.reduce((sum, one) => sum + one.recomputed, 0);
  const how = `${count} realms left behind, ${recomputed} recomputed from the API`;
  console.log(`audit of ${how}: ${wrong.length === 0 ? "sound" : "FAILED"}`);
  if (wrong.length > 0) Deno.exitCode = 1;
}
