/** Statements are planned by indexes while their tables are empty, also those that no other test of plans has happen. */
import { equal, ok } from "node:assert/strict";
import postgres from "postgres";
import { locationOf } from "../../domain/realms/realms.ts";
import { realmDatabase } from "../support/database.ts";
import type { PlanNode } from "../support/plans.ts";
import { testRealm } from "../support/realm.ts";
import { functionStatements } from "../support/function_statements.ts";
import { type WrittenStatement, writtenStatements } from "../support/written_statements.ts";

/** Tables of a few rows, whatever a realm or an installation does. */
const SMALL = [
  ...[
    "archived_parts",
    "asset_kinds",
    "attestations",
    "chain_blocks",
    "chain_cursors",
  ],
  ...[
    "chain_head",
    "coin_rounds",
    "coin_searches",
    "currencies",
    "displaced_orders",
    "event_head",
  ],
  ...[
    "fungible_tokens",
    "installation",
    "installation_witnesses",
    "ledger_commits",
    "leases",
  ],
  ...[
    "event_listeners",
    "network_identities",
    "nonces",
    "passed_addresses",
    "profile_keys",
  ],
  ...["ramps", "rates", "realm_faults", "realm_moves", "secrets"],
  ...[
    "realm_measurements",
    "realm_provisioning",
    "realms",
    "rescans",
    "signing_keys",
    "solvency",
  ],
  ...[
    "stops",
    "token_proofs",
    "unexplained_gains",
    "webhook_queues",
    "webhooks",
  ],
];
/** Columns whose values most rows of a table may share. */
const WIDE = /^(chain|network|asset|testnet)$/;
/** Statements that read a table through, and why that is bearable. */
const KNOWN: readonly RegExp[] = [
  // Commands of an operator, and what a quarantine does at its beginning and its end.
  /^(backup|recovery)\/|^sending\/quarantine (renewQuarantines|doubtTransfers)$/,
  /^identity\/api_keys (endAllApiKeys|countApiKeys)$|^accounts\/own_addresses unmarkShared$/,
  // The watch list of a network, and the comparison of all balances and liabilities.
  /^deposits\/watched |^accounts\/onchain_balances select(BalanceTargets|BalancesAbove)$/,
  /^audit\/solvency (selectHolders|selectFigures|sumLiabilities)$|^chains\/coin_sums /,
  // Once an hour.
  /^kept_answers deleteOldAnswers$|^housekeeping deleteOldPlatformAnswers$|^collections\/collection compact/,
  // What a user owns follows it to another customer, and what is open on an account that is to be deleted.
  /^function (regroup_kin|account_ties)$/,
  // While a realm is made or migrated.
  /^function tell_of$|^migrate /,
  // Before a part of the ledger is archived, and the restore of an installation.
  /^function (archive_refusal|doubt_ramp_transfers)$/,
  // Their condition or their order stands for a value here.
  /^search\/search |^ledger\/blocks selectBlocks$|^consolidations\/consolidations selectCons/,
  /^exchanges\/ramp_transfers selectRampTransfers$/,
];

/** Partial indexes that hold few rows by their nature, and may be read whole. */
const FEW: Readonly<Record<string, readonly string[]>> = {
  "what is under way": [
    ...["chain_orders_open", "chain_orders_ramp", "deposits_open_assets", "deposits_waiting"],
    ...["ramp_transfers_due", "sweeps_open", "sweeps_ramp", "withdrawals_open"],
    ...["withdrawals_processing", "withdrawals_processing_asset", "withdrawals_ramp"],
  ],
  "jobs that wait, run, or wait for an operator": [
    ...["jobs_dead_name", "jobs_dedupe", "jobs_due_by_name", "jobs_exchange_account"],
    ...["jobs_exchange_turns", "jobs_serial_key"],
  ],
  "what the next pass of a worker takes": [
    ...["audit_unchained", "events_unpublished", "messages_unsent", "reserved_addresses_unshared"],
    "webhook_deliveries_entity",
  ],
  "what goes wrong on a chain now and then": [
    ...["chain_orders_recovered", "coins_lost", "coins_spender_unknown", "order_attempts_late"],
    ...["order_attempts_orphaned", "order_attempts_told"],
  ],
  "the accounts `world` and `fees` of an asset": ["accounts_counterparty"],
};
/** Partial indexes of a handful of rows, of which one may be looked for as well. */
const HANDFUL = ["person_syncs_running", "secrets_seed", "users_admin_email", "users_house"];

const FEW_INDEXES = new Set(Object.values(FEW).flat());

/** The indexes of a database. */
interface Indexes {
  /** Their tables. */
  tables: ReadonlyMap<string, string>;
  /** Those that hold only some rows. */
  partial: ReadonlySet<string>;
}

/** What is looked for by a key is found by an index of its own. */
const KEYED = /\((id|hash|address|account|owner) = /;

/** Reads of a plan that grow with a table; a line for each. */
function wideIn(root: PlanNode, indexes: Indexes): string[] {
  const found: string[] = [];
  function visit(node: ReadNode, isAsked: boolean): void {
    const read = wideRead(node, isAsked, indexes);
    if (read !== null) found.push(read);
    const kind = node["Node Type"];
    for (const child of (node.Plans ?? []) as ReadNode[]) {
      // As far as somebody asks: what is below a sort is read to its end, and so is all that is not.
      const passes = isAsked && PASSING.test(kind) && child["Parent Relationship"] !== "Inner";
      const isPart = /Plan$/.test(child["Parent Relationship"] ?? "");
      visit(child, !isPart && (kind === "Limit" || passes));
    }
  }
  visit(root, false);
  return found;
}

/** Nodes that give rows as they read them. */
const PASSING = /^(Append|LockRows|Merge Append|Nested Loop|ProjectSet|Result|Subquery Scan)$/;

/** What a node reads that grows with its table; null where it reads what is asked for. */
function wideRead(node: ReadNode, isAsked: boolean, { tables, partial }: Indexes): string | null {
  const { "Node Type": kind, "Index Name": index = "", "Index Cond": by = "" } = node;
  const table = node["Relation Name"] ?? tables.get(index) ?? "";
  const filter = node.Filter ?? "";
  if (SMALL.includes(table) || table.startsWith("pg_")) return null;
  if (kind === "Seq Scan") return `${kind} ${table}`;
  if (!/Index/.test(kind) || HANDFUL.includes(index)) return null;
  const columns = [...by.matchAll(/(\w+)"? [<>=]+ |(ROW)\(/g)].map(([, name, row]) => name ?? row);
  const isNarrow = /\) [<>=]+ /.test(by) || !columns.every((name) => WIDE.test(name));
  if (isNarrow || isAsked && filter === "") return null;
  if (FEW_INDEXES.has(index) && !KEYED.test(filter)) return null;
  // Without any condition it reads in the order of the index, to its end where nobody bounds it.
  const name = partial.has(index) ? `${index} (partial)` : index;
  return `${kind} ${table} ${name} by ${by || "nothing"}, ${filter}`;
}

/** A node of a plan, with the index that it reads. */
type ReadNode = PlanNode & {
  "Index Name"?: string;
  "Parent Relationship"?: string;
  Filter?: string;
};

/** Plans a statement as a prepared one; null where a part of it stands for something else than a value. */
async function planOf(
  sql: postgres.Sql,
  { text, parameters, settings = [] }: WrittenStatement,
): Promise<PlanNode | null> {
  const values = parameters === 0 ? "" : `(${new Array(parameters).fill("null")})`;
  return await sql.unsafe(
    `reset all; deallocate all; ${settings.map((one) => `set ${one};`).join(" ")}
    prepare one as ${text}; explain (format json) execute one${values}`,
  ).simple().then(
    (all) =>
      (all as unknown as Record<string, { Plan: PlanNode }[]>[][]).flat()
        .find((row) => row?.["QUERY PLAN"] !== undefined)!["QUERY PLAN"][0].Plan,
    () => null,
  );
}

async function indexesOf(sql: postgres.Sql): Promise<Indexes> {
  const rows = await sql<{ name: string; table: string; partial: boolean }[]>`
    select indexrelid::regclass::text as name, indrelid::regclass::text as table, indpred is not null as partial
    from pg_index`;
  return {
    tables: new Map(rows.map(({ name, table }) => [name, table])),
    partial: new Set(rows.filter(({ partial }) => partial).map(({ name }) => name)),
  };
}

Deno.test("no statement of the sources reads a table through by a plan that was made while it was empty", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { schema } = locationOf(realm.made.realm);
  const settings = {
    plan_cache_mode: "force_generic_plan",
    random_page_cost: "1.1",
    jit: "off",
  };
  const sql = postgres(own.superuserUrl, {
    max: 1,
    onnotice: () => {},
    connection: { search_path: `${schema}, platform`, ...settings },
  });
  const indexes = await indexesOf(sql);
  const inFunctions = await functionStatements(sql, [schema, "platform"]);
  const wide: string[] = [];
  const planned = { written: 0, functions: 0 };
  for (const one of [...await writtenStatements(), ...inFunctions]) {
    const plan = await planOf(sql, one);
    if (plan === null) continue;
    planned[one.at.startsWith("function ") ? "functions" : "written"]++;
    if (KNOWN.some((known) => known.test(one.at))) continue;
    for (const read of wideIn(plan, indexes)) wide.push(`${one.at}: ${read}`);
  }
  await sql.end();
  ok(planned.written > 850 && planned.functions > 260, JSON.stringify(planned));
  equal(wide.length, 0, [...new Set(wide)].join("\n"));
});
