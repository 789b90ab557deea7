/**
 * Migrations: no statement on a table that exists already holds a lock for as long as the table is large, and none takes
 * from the parts of a ledger what an archived part would be brought back with. The files are read with PostgreSQL's own
 * parser. A table that the same file makes is empty, and anything may be done to it.
 *
 * @module
 */
import { parse } from "libpg-query";

/** A file of a sequence, as the rules see it. */
export interface MigrationText {
  /** From the project's root: `migrations/realm/0007_chain_orders.sql`. */
  readonly path: string;
  readonly text: string;
}

/** A node of the parser's tree: its fields, by name. */
type Fields = Record<string, unknown>;

/** State of a sequence while its files are read in order. */
interface Reading {
  /** Tables that the file made itself, and so are empty. */
  made: Set<string>;
  /** Tables that the file altered, whose locks last to the end of its transaction. */
  altered: Set<string>;
  /** Checks that a column is not null, by table and name; true once an earlier file validated them. */
  notNull: Map<string, { column: string; validated: boolean }>;
  /** Columns that were added to tables with parts with a default, which rows of archived parts do not have. */
  preset: Set<string>;
  fault: (message: string) => void;
}

const ROOT = new URL("../", import.meta.url);
/** How the name of a file ends that makes one index outside of transactions. */
const INDEX_STEP = ".index.sql";
const STEP = `NNNN_<noun>${INDEX_STEP}`;
const SEQUENCES = ["platform", "realm"];
/** Functions of one value for all rows of a statement: a column whose default they are is added without a rewrite. */
const STABLE = ["now", "transaction_timestamp", "statement_timestamp", "current_setting"];
/** Tables with parts: no index is made concurrently on all of them at once, and archived parts may come back. */
const PARTED = ["transactions", "entries"];
/**
 * fit_part() gives a part that comes back what the others have had of a column since it was added. The server forgets that
 * when it writes the others anew (`vacuum full`); a column that allows nulls, and has no default any more, then looks as if
 * it never had one, and the part would get nulls for the values.
 */
const FORGOTTEN =
  "a part that comes back (docs/adr/0044-archived-parts.md) could get nulls in place of its default";
const LATER = "add it as `not valid`, and validate it in a migration of a later version";
const REWRITES = "writes the whole table anew while nobody can read it";
/** Statements that hold a table for long whatever they say. */
const REFUSED: Readonly<Record<string, string>> = {
  VacuumStmt: "`vacuum` and `analyze` are the server's own work",
  ClusterStmt: `\`cluster\` ${REWRITES}`,
  RepackStmt: `\`repack\` ${REWRITES}`,
  ReindexStmt: "`reindex` keeps writers waiting until it ends",
  RefreshMatViewStmt: "`refresh materialized view` keeps readers waiting until it ends",
  LockStmt: "`lock table` keeps others waiting until the migration ends",
};
/** Forms of `alter table` that scan or rewrite whatever they say. */
const REFUSED_ALTERATIONS: Readonly<Record<string, string>> = {
  AT_AlterColumnType: `\`alter column type\` ${REWRITES}: add a column, fill it in slices, switch`,
  AT_SetExpression: `\`set expression\` ${REWRITES}`,
  AT_SetLogged: `\`set logged\` ${REWRITES}`,
  AT_SetUnLogged: `\`set unlogged\` ${REWRITES}`,
  AT_SetTableSpace: `\`set tablespace\` ${REWRITES}`,
  AT_SetAccessMethod: `\`set access method\` ${REWRITES}`,
  AT_AttachPartition: "`attach partition` scans the table while nobody can write to it",
};

/** Reads all migrations; gives the faults as text, or null. */
export async function migrationFaults(): Promise<string | null> {
  const faults: string[] = [];
  for (const sequence of SEQUENCES) {
    const folder = `migrations/${sequence}/`;
    const names: string[] = [];
    for await (const { name } of Deno.readDir(new URL(folder, ROOT))) {
      if (name.endsWith(".sql")) names.push(name);
    }
    const files = await Promise.all(
      names.sort().map(async (name) => ({
        path: folder + name,
        text: await Deno.readTextFile(new URL(folder + name, ROOT)),
      })),
    );
    faults.push(...await longLocks(files));
  }
  return faults.length === 0 ? null : faults.join("\n");
}

/** Names the statements of a sequence that hold a lock for long, as `path:line: reason`. */
export async function longLocks(files: readonly MigrationText[]): Promise<string[]> {
  const faults: string[] = [];
  const kept: Pick<Reading, "notNull" | "preset"> = { notNull: new Map(), preset: new Set() };
  for (const { path, text } of files) {
    const bytes = new TextEncoder().encode(text); // the parser counts bytes
    const reading: Reading = { made: new Set(), altered: new Set(), ...kept, fault: () => {} };
    const { stmts = [] } = await parse(text) as { stmts?: Fields[] };
    if (path.endsWith(INDEX_STEP)) {
      const reason = indexStepFault(stmts);
      if (reason !== null) faults.push(`${path}: ${reason}`);
      continue;
    }
    for (const { stmt, stmt_location = 0 } of stmts) {
      const [[kind, fields]] = Object.entries(stmt as Record<string, Fields>);
      const before = new TextDecoder().decode(bytes.subarray(0, stmt_location as number));
      const blank = /^(\s|--.*\n)*/.exec(text.slice(before.length))![0];
      const line = (before + blank).split("\n").length;
      reading.fault = (message) => faults.push(`${path}:${line}: ${message}`);
      readStatement(kind, fields, reading);
    }
  }
  return faults;
}

/** Why a file is no index step; null where it is one. How it is written is checked where it is read. */
function indexStepFault(stmts: readonly Fields[]): string | null {
  const [kind, fields] = stmts.length === 1
    ? Object.entries(stmts[0].stmt as Record<string, Fields>)[0]
    : ["", {} as Fields];
  const { concurrent, if_not_exists, idxname } = fields;
  if (kind === "IndexStmt" && PARTED.includes(nameOf(fields.relation))) {
    return "`transactions` and `entries` have parts, on which no index is made concurrently at once: " +
      "make it on each part, and attach it (docs/adr/0042-parts.md)";
  }
  if (kind === "IndexStmt" && concurrent && if_not_exists && idxname) return null;
  return "an index step is one `create index concurrently if not exists <name>`, and nothing else";
}

function readStatement(kind: string, fields: Fields, reading: Reading): void {
  const { made, fault } = reading;
  if (kind === "IndexStmt" && fields.concurrent) {
    return fault(
      `no index is made concurrently in a transaction: make it in an index step, ${STEP}`,
    );
  }
  if (kind in REFUSED) return fault(REFUSED[kind]);
  if (kind === "CreateStmt") return void made.add(nameOf(fields.relation));
  if (kind === "CreateTableAsStmt") return void made.add(nameOf((fields.into as Fields).rel));
  if (made.has(nameOf(fields.relation))) return;
  if (kind === "IndexStmt") {
    fault(
      `an index on a table that exists keeps writers waiting: make it in an index step, ${STEP}`,
    );
  } else if (kind === "UpdateStmt" || kind === "DeleteStmt") {
    if (!fields.whereClause) fault("changes every row in one transaction: do it in slices");
  } else if (kind === "AlterTableStmt" && fields.objtype === "OBJECT_TABLE") {
    const table = nameOf(fields.relation);
    for (const one of fields.cmds as { AlterTableCmd: Fields }[]) {
      readAlteration(table, one.AlterTableCmd, reading);
    }
    reading.altered.add(table);
  }
}

function readAlteration(table: string, command: Fields, reading: Reading): void {
  const { subtype, name, def } = command as { subtype: string; name?: string; def?: Fields };
  const { notNull, preset, altered, fault } = reading;
  const known = notNull.get(`${table}.${name}`);
  if (subtype in REFUSED_ALTERATIONS) fault(REFUSED_ALTERATIONS[subtype]);
  else if (subtype === "AT_AddConstraint") {
    const constraint = def!.Constraint as Fields;
    noteNotNull(table, constraint, reading);
    const reason = constraintFault(constraint);
    if (reason !== null) fault(reason);
  } else if (subtype === "AT_ValidateConstraint") {
    if (altered.has(table)) {
      fault("validates under the lock of an alteration: do it in a later version");
    } else if (known !== undefined) known.validated = true;
  } else if (subtype === "AT_SetNotNull") {
    const proven = [...notNull].some(([key, { column, validated }]) =>
      key.startsWith(`${table}.`) && column === name && validated
    );
    if (!proven) {
      fault(`scans the table for nulls: first a check \`${name} is not null\`, and ${LATER}`);
    }
  } else if (subtype === "AT_AddColumn") {
    const column = def!.ColumnDef as Fields;
    const reason = columnFault(column);
    if (reason !== null) fault(reason);
    if (PARTED.includes(table)) readPartedColumn(table, column, reading);
  } else if (subtype === "AT_DropNotNull" && preset.has(`${table}.${name}`)) {
    fault(`drops \`not null\` of a column that was added with a default: ${FORGOTTEN}`);
  }
}

/** Refuses a column of a table with parts that has a default and allows nulls. */
function readPartedColumn(table: string, column: Fields, { preset, fault }: Reading): void {
  const all = ((column.constraints ?? []) as { Constraint: Fields }[]).map((one) => one.Constraint);
  const isNull = (node: unknown) => (node as { A_Const?: Fields }).A_Const?.isnull === true;
  if (!all.some((one) => one.contype === "CONSTR_DEFAULT" && !isNull(one.raw_expr))) return;
  preset.add(`${table}.${column.colname}`);
  if (all.some(({ contype }) => contype === "CONSTR_NOTNULL")) return;
  fault(
    `a column with a default allows nulls: ${FORGOTTEN}. Say \`not null\`, or give it no default`,
  );
}

/** Remembers a check that a column is not null. */
function noteNotNull(table: string, constraint: Fields, { notNull }: Reading): void {
  const test = (constraint.raw_expr as { NullTest?: Fields } | undefined)?.NullTest;
  if (test?.nulltesttype !== "IS_NOT_NULL") return;
  const [last] = ((test.arg as Fields).ColumnRef as { fields: { String: Fields }[] }).fields.slice(
    -1,
  );
  const column = last.String.sval as string;
  notNull.set(`${table}.${constraint.conname}`, { column, validated: false });
}

/** Why a constraint that is added to a table holds it for long; null where it does not. */
function constraintFault({ contype, skip_validation, indexname }: Fields): string | null {
  switch (contype) {
    case "CONSTR_CHECK":
    case "CONSTR_FOREIGN":
    case "CONSTR_NOTNULL":
      return skip_validation ? null : `a constraint scans the table: ${LATER}`;
    case "CONSTR_PRIMARY":
    case "CONSTR_UNIQUE":
      return indexname ? null : "a key makes an index while writers wait";
    case "CONSTR_EXCLUSION":
      return "an exclusion makes an index while writers wait";
    default:
      return null;
  }
}

/** Why a column that is added to a table holds it for long; null where it does not. */
function columnFault({ constraints, typeName }: Fields): string | null {
  const names = (typeName as { names: { String: Fields }[] }).names;
  if (/serial/.test(`${names.at(-1)!.String.sval}`)) return `a serial column ${REWRITES}`;
  for (const { Constraint: one } of (constraints ?? []) as { Constraint: Fields }[]) {
    const { contype } = one;
    if (contype === "CONSTR_IDENTITY" || contype === "CONSTR_GENERATED") {
      return `a computed column ${REWRITES}`;
    }
    if (contype === "CONSTR_DEFAULT" && isVolatile(one.raw_expr)) {
      return `a default that differs from row to row ${REWRITES}`;
    }
    if (contype === "CONSTR_NOTNULL") continue; // its default is the proof, and without one it is refused
    const reason = constraintFault(one);
    if (reason !== null) return reason;
  }
  return null;
}

/** Whether an expression calls a function that may give each row another value. */
function isVolatile(node: unknown): boolean {
  if (typeof node !== "object" || node === null) return false;
  if ("FuncCall" in node) {
    const names = (node.FuncCall as { funcname: { String: Fields }[] }).funcname;
    if (!STABLE.includes(`${names.at(-1)!.String.sval}`)) return true;
  }
  return Object.values(node).some(isVolatile);
}

function nameOf(relation: unknown): string {
  const { relname = "" } = (relation ?? {}) as { relname?: string };
  return relname;
}
