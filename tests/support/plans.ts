/**
 * Plans of the service's own statements, as PostgreSQL made and ran them: auto_explain writes them to the server's
 * log, those inside of functions too.
 * @module
 */
import postgres from "postgres";
import type { TestDatabase } from "./database.ts";
import { until } from "./eventually.ts";

/** A node of a plan, with what it read. */
export interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Cond"?: string;
  Schema?: string;
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

/** One run of a statement. */
export interface RunPlan {
  text: string;
  root: PlanNode;
}

/** A read of one table by one run of a statement. */
export interface TableRead {
  text: string;
  schema: string;
  table: string;
  node: string;
  /** Rows that were read to find those that were wanted. */
  rows: number;
}

/** A database whose sessions write their plans to the log, and make generic ones from their first use. */
export interface PlanLog extends AsyncDisposable {
  /** Runs as the superuser, without triggers, in as many sessions as were asked for, whose own plans are not written. */
  sql: postgres.Sql;
  /** Forgets what was run up to now. */
  forget(): Promise<void>;
  /** Reads what was run since. */
  read(): Promise<RunPlan[]>;
}

const SETTINGS = {
  session_preload_libraries: "auto_explain",
  plan_cache_mode: "force_generic_plan",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_analyze": "on",
  "auto_explain.log_verbose": "on", // names schemas
  "auto_explain.log_timing": "off",
  "auto_explain.log_nested_statements": "on",
  "auto_explain.log_format": "json",
  "auto_explain.log_parameter_max_length": "0",
};

/** Bytes of the log that are read at once. */
const PART = 1 << 24;

/** Has sessions of a database that begin from now on write their plans. */
export async function logPlans(
  { superuserUrl }: TestDatabase,
  sessions = 1,
): Promise<PlanLog> {
  const sql = postgres(superuserUrl, {
    max: sessions,
    onnotice: () => {},
    connection: { session_replication_role: "replica", "auto_explain.log_min_duration": "-1" },
  });
  const name = new URL(superuserUrl).pathname.slice(1);
  for (const [setting, value] of Object.entries(SETTINGS)) {
    await sql.unsafe(`alter database "${name}" set ${setting} = '${value}'`);
  }
  const endOfLog = () => markedEnd(sql);
  let from = await endOfLog();
  return {
    sql,
    async forget() {
      from = await endOfLog();
    },
    async read() {
      const end = await endOfLog();
      const text = end.file === from.file
        ? await partOf(sql, from.file, from.at, end.at)
        : await partOf(sql, from.file, from.at, await sizeOf(sql, from.file)) +
          await partOf(sql, end.file, 0, end.at); // midnight has passed
      from = end;
      return plansIn(text, name);
    },
    [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }),
  };
}

/** A place in the server's log. */
interface LogPlace {
  file: string;
  at: number;
}

/**
 * Writes a line to the log and gives its place. All that was written before it is complete there: the server's logger
 * is a process of its own, which may be behind, or in the middle of a plan.
 */
async function markedEnd(sql: postgres.Sql): Promise<LogPlace> {
  const file = await currentFile(sql);
  const at = await sizeOf(sql, file);
  const mark = crypto.randomUUID();
  await sql.unsafe(`do $$ begin raise log 'read up to ${mark}'; end $$`);
  let found: LogPlace | null = null;
  await until(async () => (found = await findMark(sql, mark, { file, at })) !== null);
  return found!;
}

/** Finds a mark behind a place of the log: in its file, or in the next. */
async function findMark(
  sql: postgres.Sql,
  mark: string,
  { file, at }: LogPlace,
): Promise<LogPlace | null> {
  const here = (await partOf(sql, file, at, await sizeOf(sql, file))).indexOf(mark);
  if (here >= 0) return { file, at: at + here };
  const next = await currentFile(sql);
  if (next === file) return null;
  const there = (await partOf(sql, next, 0, await sizeOf(sql, next))).indexOf(mark);
  return there < 0 ? null : { file: next, at: there };
}

async function currentFile(sql: postgres.Sql): Promise<string> {
  const [{ file }] = await sql<{ file: string | null }[]>`select pg_current_logfile() as file`;
  if (file === null) throw new Error("this server writes no log: run without TEST_DATABASE_URL");
  return file;
}

async function sizeOf(sql: postgres.Sql, file: string): Promise<number> {
  const [{ size }] = await sql<{ size: string }[]>`select size from pg_stat_file(${file})`;
  return Number(size);
}

/** Reads a piece of the log through the server: the process of a test may not see the server's files. */
async function partOf(sql: postgres.Sql, file: string, from: number, to: number): Promise<string> {
  let text = "";
  for (let at = from; at < to; at += PART) {
    const [{ part }] = await sql<{ part: string }[]>`
      select encode(pg_read_binary_file(${file}, ${at}::bigint,
        ${Math.min(PART, to - at)}::bigint), 'base64') as part`;
    text += atob(part);
  }
  return text;
}

/** A plan of the log, behind the name of its database where the server writes that; lines after the first begin with a tab. */
const LOGGED = /\] (?:(\S+) )?LOG: +duration: [^\n]* plan:\n((?:\t.*\n)+)/g;

/** The plans of one database in a piece of the log: other groups of a run write theirs beside them. */
function plansIn(log: string, name: string): RunPlan[] {
  const own = [...log.matchAll(LOGGED)].filter(([, database]) =>
    [name, undefined].includes(database)
  );
  return own.map(([, , lines]) => {
    const { "Query Text": text, Plan: root } = JSON.parse(lines.replaceAll(/^\t/gm, ""));
    return { text, root };
  });
}

/** Every read of a table in a plan. */
export function readsOf({ text, root }: RunPlan): TableRead[] {
  const found: TableRead[] = [];
  function visit(node: PlanNode): void {
    const table = node["Relation Name"];
    if (table !== undefined && node["Node Type"] !== "ModifyTable") {
      const each = (node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0) +
        (node["Rows Removed by Index Recheck"] ?? 0);
      const rows = Math.round(each * (node["Actual Loops"] ?? 0));
      found.push({ text, schema: node.Schema ?? "", table, node: node["Node Type"], rows });
    }
    for (const child of node.Plans ?? []) visit(child);
  }
  visit(root);
  return found;
}
