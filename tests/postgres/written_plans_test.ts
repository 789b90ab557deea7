/** Statements are planned by indexes while their tables are empty, also those that no other test of plans has happen. */
import { equal, ok } from "node:assert/strict";
import postgres from "postgres";
import { locationOf } from "../../domain/realms/realms.ts";
import { realmDatabase } from "../support/database.ts";
import type { PlanNode } from "../support/plans.ts";
import { testRealm } from "../support/realm.ts";
import { writtenStatements } from "../support/written_statements.ts";

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
  ...["ramps", "rates", "realm_faults"],
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
  // A reorganisation, and payments that were signed and are not sent, by the inputs of their network: no index has the
  // transaction in front.
  /^chains\/scan_results forgetAbove$|^sending\/unsent_bytes (selectDependantOrders|selectRivals)$/,
  /^sending\/utxos (selectDependants|deleteUnmadeCoins)$/,
  // Their condition or their order stands for a value here.
  /^search\/search |^ledger\/blocks selectBlocks$|^consolidations\/consolidations selectCons/,
  /^exchanges\/ramp_transfers selectRampTransfers$/,
];

/** Reads of a plan that grow with a table; a line for each. @param partial indexes that hold only some rows */
function wideIn(root: PlanNode, partial: ReadonlySet<string>): string[] {
  const found: string[] = [];
  function visit(node: PlanNode): void {
    const {
      "Node Type": kind,
      "Relation Name": table,
      "Index Cond": by,
      "Index Name": index,
    } = node as PlanNode & { "Index Name"?: string };
    if (
      kind === "Seq Scan" && !SMALL.includes(table!) &&
      !table!.startsWith("pg_")
    ) {
      found.push(`${kind} ${table}`);
    }
    if (
      /^Index/.test(kind) && !SMALL.includes(table!) && !partial.has(index!)
    ) {
      // Without any condition it reads in the order of the index, as far as somebody asks.
      const columns = [...(by ?? "").matchAll(/(\w+)"? [<>=]+ /g)].map((
        [, name],
      ) => name);
      if (columns.length > 0 && columns.every((name) => WIDE.test(name))) {
        found.push(`${kind} ${table} by ${by}`);
      }
    }
    node.Plans?.forEach(visit);
  }
  visit(root);
  return found;
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
  const partial = new Set(
    (await sql<
      { name: string }[]
    >`select indexrelid::regclass::text as name from pg_index
      where indpred is not null`).map(({ name }) => name),
  );
  const wide: string[] = [];
  let planned = 0;
  for (const { at, text, parameters } of await writtenStatements()) {
    const values = parameters === 0 ? "" : `(${new Array(parameters).fill("null")})`;
    const plan = await sql.unsafe(
      `deallocate all; prepare one as ${text};
      explain (format json) execute one${values}`,
    ).simple().then(
      (all) =>
        (all as unknown as Record<string, { Plan: PlanNode }[]>[][]).flat()
          .find((row) => row?.["QUERY PLAN"] !== undefined)!["QUERY PLAN"][0]
          .Plan,
      () => null, // a part of it stands for something else than a value
    );
    if (plan === null) continue;
    planned++;
    if (KNOWN.some((one) => one.test(at))) continue;
    for (const read of wideIn(plan, partial)) wide.push(`${at}: ${read}`);
  }
  await sql.end();
  ok(planned > 750, `${planned} statements were planned`);
  equal(wide.length, 0, [...new Set(wide)].join("\n"));
});
