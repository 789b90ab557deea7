/**
 * The audit of what a run has left behind: every realm in its databases that no test broke on purpose.
 * Run by `tests/support/run.ts` with the addresses of the databases.
 *
 * @module
 */
import { actingAs, openDatabase } from "../../db/database.ts";
import type { RealmRow } from "../../db/realms.ts";
import { checkLedger, sayAudit } from "../../domain/checks.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { placeOf } from "../../domain/realms.ts";
import { BROKEN } from "./realm.ts";

/** Of a test file, so many of the realms that it made first: each costs a tenth of a second of a processor. */
const OF_A_FILE = 3;
/** Where every test keeps its realm sound or says that it does not; of other tests it is told only. */
const KEPT_SOUND = /^(db|domain|routes)\//;

/** What was found in the databases. */
interface Found {
  count: number;
  /** What fails the run. */
  wrong: string[];
  /** What is told besides. */
  told: string[];
}

/** Audits the realms of a database. */
async function auditDatabase(url: string): Promise<Found> {
  const database = openDatabase({ url, prepare: true, parseJson: parseStoredJson });
  const { platform } = database;
  const found: Found = { count: 0, wrong: [], told: [] };
  try {
    const [{ there }] = await platform.sql<{ there: boolean }[]>`
      select to_regclass('platform.realms') is not null as there`;
    const rows: RealmRow[] = !there ? [] : await platform.sql<RealmRow[]>`
      select * from (select *, row_number() over (partition by name order by id) as nth from platform.realms
        where placement is null and to_regnamespace(schema_name) is not null) r
      where nth <= ${OF_A_FILE}
        and coalesce(obj_description(to_regnamespace(schema_name), 'pg_namespace'), '') <> ${BROKEN}
      order by id`;
    found.count = rows.length;
    for (const row of rows) {
      // As the tables' owner: a realm's role may have been broken, or its login sealed under another key.
      const pool = actingAs(platform, { ...placeOf(row), role: null });
      const of = KEPT_SOUND.test(row.name) ? found.wrong : found.told;
      const audit = await checkLedger(pool).catch((error) => {
        of.push(`realm ${row.name} (${row.id}) cannot be audited: ${error.message}`);
        return null;
      });
      if (audit === null || audit.mismatches.length === 0) continue;
      of.push(...sayAudit({ realm: row.id, name: row.name, ...audit }));
    }
    return found;
  } finally {
    await database.close();
  }
}

if (import.meta.main) {
  const found = await Promise.all(Deno.args.map(auditDatabase));
  const wrong = found.flatMap((one) => one.wrong);
  for (const line of [...found.flatMap((one) => one.told), ...wrong]) console.log(line);
  const count = found.reduce((sum, one) => sum + one.count, 0);
  console.log(`audit of ${count} realms left behind: ${wrong.length === 0 ? "sound" : "FAILED"}`);
  if (wrong.length > 0) Deno.exitCode = 1;
}
