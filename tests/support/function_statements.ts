/**
 * The statements inside of functions, as texts that PostgreSQL can plan by themselves: variables, arguments and the rows of
 * triggers stand as parameters.
 * @module
 */
import { loadModule, parsePlPgSQLSync } from "libpg-query";
import type postgres from "postgres";
import type { WrittenStatement } from "./written_statements.ts";

/** A function, as the catalog has it. */
interface FunctionRow {
  name: string;
  language: string;
  source: string;
  definition: string;
  /** Names and types of its arguments, with those that it gives. */
  args: Record<string, string> | null;
  /** Those whose names mean columns where a statement has both. */
  hidden: string[] | null;
  /** What is set while it runs. */
  settings: string[] | null;
  /** The table that it is a trigger of; there is a row for each. */
  table: string | null;
}

/** Types of what a statement may name; null for a record, whose fields are of any type. */
type Names = Map<string, string | null>;

/** Reads the statements of all functions of some schemas that read or write tables. */
export async function functionStatements(
  sql: postgres.Sql,
  schemas: readonly string[],
): Promise<WrittenStatement[]> {
  await loadModule();
  const rows = await sql<FunctionRow[]>`
    select p.proname as name, l.lanname as language, p.prosrc as source, pg_get_functiondef(p.oid) as definition,
      (select jsonb_object_agg(n.name, format_type(n.type, null))
        from unnest(p.proargnames, coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes) n(name, type, mode)
        where n.name <> '' and (l.lanname = 'plpgsql' or n.mode is null or n.mode in ('i', 'b', 'v'))) as args,
      (select array_agg(n.name) from unnest(p.proargnames, p.proargmodes) n(name, mode)
        where n.mode in ('o', 't') and p.prosrc like '%#variable_conflict use_column%') as hidden,
      (select array_agg(c) from unnest(p.proconfig) c where c like 'enable\\_%') as settings, t.table::text
    from pg_proc p join pg_language l on l.oid = p.prolang
      left join (select distinct tgfoid, tgrelid::regclass as table from pg_trigger where not tgisinternal) t on t.tgfoid = p.oid
    where p.pronamespace = any (${schemas as string[]}::regnamespace[]) and p.prokind = 'f'
      and l.lanname in ('sql', 'plpgsql')
    order by p.proname, p.oid, t.table`;
  return rows.flatMap((row) => {
    const names: Names = new Map(Object.entries(row.args ?? {}));
    if (row.table !== null) names.set("new", row.table).set("old", row.table);
    const texts = row.language === "sql"
      ? row.source.split(/;\s*(?:\n|$)/)
      : bodyOf(row.definition, names);
    for (const name of row.hidden ?? []) names.delete(name);
    const own = new RegExp(`\\b${row.name}\\.(?=\\w)`, "g"); // stands before the name of an argument
    return texts.map((text) => text.replaceAll(own, "").trim())
      .filter((text) => /\b(from|update|insert into)\s+[a-z_]/i.test(text))
      .map((text) => ({
        at: `function ${row.name}`,
        ...withParameters(text, names),
        settings: row.settings ?? [],
      }));
  });
}

/** The statements and expressions of a body; adds its variables to the names. */
function bodyOf(definition: string, names: Names): string[] {
  const texts: string[] = [];
  // deno-lint-ignore no-explicit-any -- the parser's tree
  function visit(node: any): void {
    if (node === null || typeof node !== "object") return;
    const variable = node.PLpgSQL_var ?? node.PLpgSQL_rec;
    if (variable !== undefined && !names.has(variable.refname)) {
      const type = node.PLpgSQL_var?.datatype?.PLpgSQL_type?.typname ?? null;
      const known = type === "UNKNOWN" ? null : type;
      names.set(variable.refname, known ?? rowTypeOf(variable.refname, definition));
    }
    if (node.PLpgSQL_expr !== undefined) texts.push(statementOf(node.PLpgSQL_expr));
    for (const child of Object.values(node)) visit(child);
  }
  visit(parsePlPgSQLSync(definition));
  return texts;
}

/** The table whose rows a variable is declared to hold, which the parser does not tell. */
function rowTypeOf(name: string, definition: string): string | null {
  const type = new RegExp(`^\\s*${name} (\\w+);$`, "m").exec(definition)?.[1] ?? "record";
  return type === "record" ? null : type;
}

/** How the parser marks an expression, and the right side of an assignment. */
const EXPRESSION = 2;

function statementOf({ query, parseMode = 0 }: { query: string; parseMode?: number }): string {
  if (parseMode === 0) return query;
  return `select ${parseMode === EXPRESSION ? query : query.replace(/^[^:=]+:?=/, "")}`;
}

/** Texts in quotes, comments, and names of columns: of a list in front of values or behind an alias, or given by `as`. */
const KEPT = new RegExp(
  [
    "'(?:[^']|'')*'|\"[^\"]*\"|--[^\\n]*",
    "insert into [\\w.]+ \\([^)]*\\)",
    "\\)\\s*(?:with ordinality )?(?:as )?\\w+\\([\\w, ]+\\)",
    "\\bas [a-z_]\\w*|\\bset [a-z_]\\w*(?= =)",
  ].join("|").replace(/^/, "(").replace(/$/, ")"),
  "i",
);

/** Puts parameters in place of names, but behind a dot. */
function withParameters(text: string, names: Names): { text: string; parameters: number } {
  let parameters = 0;
  const parts = text.split(KEPT).map((part, at) => {
    if (at % 2 === 1) return part.startsWith("--") ? "" : part;
    return part.replaceAll(
      /(?<![\w.$])([a-z_]\w*)(\.(\w+|\*))?(?!\w*\()/gi,
      (all, name: string, field: string | undefined) => {
        const type = names.get(name.toLowerCase());
        if (type === undefined) return all;
        const parameter = `$${++parameters}`;
        if (type === null) return parameter;
        return `(${parameter}::${type})${field ?? ""}`;
      },
    );
  });
  return { text: parts.join(""), parameters };
}
