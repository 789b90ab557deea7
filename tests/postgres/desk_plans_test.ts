/** What a desk asks for is found by indexes: the rows that each answer reads are counted by the server. */
import { equal, ok } from "node:assert/strict";
import { locationOf } from "../../domain/realms/realms.ts";
import { copyRows } from "../support/copied_rows.ts";
import { realmDatabase } from "../support/database.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { logPlans, type PlanLog, readsOf, type RunPlan, type TableRead } from "../support/plans.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";

const ETHER = 10n ** 18n;
/** Rows that each table grows to. */
const ROWS = 5000;
/** Most rows that one read of a table may look at. */
const READ_MAX = 100;
/** Most reads of tables that one search makes. */
const READS_MAX = 60;
/** Tables that grow: what a desk asks for. */
const ASKED = [
  ...[
    "users",
    "identities",
    "aliases",
    "accounts",
    "addresses",
    "external_addresses",
    "currencies",
  ],
  ...["transactions_newest", "deposits", "unmatched_deposits", "withdrawals"],
];

Deno.test("a filter of a desk reads the few rows that it finds", async () => {
  await using own = await realmDatabase();
  await using plans = await logPlans(own);
  await using fixture = await openRampFixture({ env: { DATABASE_URL: own.url } });
  const { realm, anvil } = fixture;
  const { schema } = locationOf(realm.made.realm);
  const ramp = await fixture.ramp();
  const at = { type: "virtual", asset: "ETH", testnet: true, ramp: ramp.id };
  const target = (await realm.admin.send("POST", "/v1/accounts", at)).body.id;
  await realm.drain();
  const { address } = await fixture.address(target);
  for (const to of [ramp.address, ramp.address]) await anvil.pool({ to, value: ETHER });
  await fixture.mine(2);
  const asked = { source: { account: ramp.id }, destination: { address: OUTSIDE }, value: "0.5" };
  equal((await realm.admin.send("POST", "/v1/withdrawals", asked)).status, 201);
  await plans.sql.unsafe(`update ${schema}.withdrawals set status = 'FAILED'`);
  // Nodes would be asked about copies of addresses, which are none.
  const grown = await grow(plans, schema, ASKED.filter((table) => table !== "addresses"));
  ok(grown.has("deposits") && grown.has("withdrawals"));
  await anvil.pool({ to: address, value: ETHER });
  await fixture.mine();
  equal((await realm.admin.send("POST", "/v1/withdrawals", asked)).status, 201);
  await plans.sql.unsafe(`
    update ${schema}.deposits set error = '{"code": "upstream.failed"}' where beneficiary is not null;
    analyze ${schema}.deposits; analyze ${schema}.withdrawals`);
  // As lists are planned in use: for the statement at hand.
  await using process = realm.another({ DATABASE_URL: `${own.url}?plan_cache_mode=auto` });
  const send = process.send(realm.admin.key);
  const filters = [
    ["deposits", { beneficiary: target }],
    ["deposits", { error: { $exists: true } }],
    ["deposits", { error: { $ne: null } }],
    ["deposits", { "error.code": "upstream.failed" }],
    ["withdrawals", { status: "PROCESSING" }],
  ] as const;
  await plans.forget();
  for (const [name, query] of filters) {
    const path = `/v1/${name}?scope=all&query=${encodeURIComponent(JSON.stringify(query))}`;
    const { status, body, text } = await send("GET", path);
    equal(status, 200, text);
    equal(body.total, 1, path);
    equal(body.rows.length, 1);
  }
  for (const name of ["deposits", "withdrawals"]) {
    ok((await send("GET", `/v1/${name}/count?scope=all`)).body < ROWS, "copies are not counted");
  }
  const reads = grownReads(await plans.read(), schema, grown);
  ok(reads.some((read) => read.table === "deposits"));
  equal(wideOf(reads), "");
});

Deno.test("searches and explanations read few rows, whoever asks and whoever owns the others", async () => {
  await using own = await realmDatabase();
  await using plans = await logPlans(own);
  await using fixture = await openRampFixture({ env: { DATABASE_URL: own.url } });
  const { realm } = fixture;
  const { schema } = locationOf(realm.made.realm);
  const { stranger, texts, about } = await fillSearched(plans, fixture, schema);
  await using process = realm.another({ DATABASE_URL: own.url });
  const search = async () => {
    for (const key of [realm.admin.key, stranger.key]) {
      for (const q of texts) {
        const path = `/v1/search?limit=20&q=${encodeURIComponent(q)}`;
        const { status, text } = await process.send(key)("GET", path);
        equal(status, 200, text);
      }
      for (const one of about) {
        const { status, text } = await process.send(key)("GET", one);
        ok(status === 200 || status === 404, text);
      }
    }
  };
  await search();
  const grown = await grow(plans, schema);
  for (
    const name of ["users", "identities", "aliases", "accounts", "deposits", "withdrawals"]
  ) ok(grown.has(name), name);
  // As if all had the same names, keys and addresses, and all but a few belonged to others.
  await plans.sql.unsafe(`
    update ${schema}.accounts set reference = 'name-of-many' where type <> 'system';
    update ${schema}.addresses set address = id::text where chain like '%-%' or network like '%-%';
    update ${schema}.external_addresses set address = id::text
      where chain like '%-%' or network like '%-%';
    update ${schema}.withdrawals set destination = '${OUTSIDE}';
    update ${schema}.users set email = 'name@of.many' where scopes = '{own}'`);
  await farAndNear(plans, schema);
  await plans.forget();
  await search();
  const runs = await plans.read();
  equal(wideOf(grownReads(runs, schema, grown)), "");
  const searches = runs.filter(({ text }) => /subtitle/.test(text));
  ok(searches.length > texts.length);
  ok(searches.every((run) => readsOf(run).length <= READS_MAX));
});

/** Puts most deposits on another network, at the same address, and most of the rest at others. */
async function farAndNear({ sql }: PlanLog, schema: string): Promise<void> {
  await sql.unsafe(`
    set session_replication_role = replica;
    with n as (select id, row_number() over (order by id) as n from ${schema}.deposits)
    update ${schema}.deposits d set network = case when n.n % 2 = 0 then 'main' else d.network end,
      hash = md5(d.id::text),
      address = case when n.n % 2 = 0 then d.address else d.id::text end
    from n where n.id = d.id and n.n > 3;
    reset session_replication_role;
    analyze ${schema}.deposits`);
}

async function grow(
  { sql }: PlanLog,
  schema: string,
  asked: readonly string[] = ASKED,
): Promise<Set<string>> {
  const others = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = ${schema}::regnamespace
      and relkind = 'r' and relname <> all (${asked as string[]})`;
  return await copyRows(sql, schema, ROWS, others.map(({ name }) => name));
}

/** Makes one of each that is found; gives a user who may see none, and what is asked for. */
async function fillSearched(plans: PlanLog, fixture: RampFixture, schema: string) {
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const { send } = realm.admin;
  const linked = { type: "virtual", asset: "ETH", testnet: true, reference: "name-of-many" };
  const account = (await send("POST", "/v1/accounts", linked)).body.id;
  await realm.drain();
  await send("POST", `/v1/accounts/${account}/assign/${OUTSIDE}`);
  await send("POST", "/v1/aliases", { type: "account", alias: "name-of-many", account });
  await send("POST", "/v1/identities/person", {
    data: { name: "name-of-many" },
    person: {
      firstName: "A",
      contactInformation: { email: [{ address: "name@of.many" }] },
    },
  });
  const password = "correct horse battery";
  const channel = { email: "name@of.many" };
  await send("POST", "/v1/users", { username: "name-of-many", password, channel });
  const stranger = await realm.user();
  const hash = await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine(2);
  const asked = { source: { account: ramp.id }, destination: { address: OUTSIDE }, value: "0.5" };
  const withdrawal = (await send("POST", "/v1/withdrawals", asked)).body.id;
  await plans.sql.unsafe(
    `update ${schema}.withdrawals set hash = '${hash}', status = 'FAILED';
    insert into ${schema}.unmatched_deposits (id, chain, network, hash, index, account, address,
      amount_base, block, created_at)
    select gen_random_uuid(), chain, network, hash, 7, account, address, 1, 1, now()
    from ${schema}.deposits`,
  );
  const texts = [
    ...["name", "name-of-many", "name@of.many", "385911234567", hash, ramp.address, OUTSIDE],
    ...[withdrawal, account, realm.admin.identity, "%", "_", "zzz"],
  ];
  const about = [
    `/v1/deposits/explain?hash=${hash}`,
    `/v1/deposits/explain?address=${ramp.address}`,
    `/v1/addresses/${ramp.address}`,
    `/v1/addresses/${OUTSIDE}`,
  ];
  return { stranger, texts, about };
}

function grownReads(runs: RunPlan[], schema: string, grown: ReadonlySet<string>): TableRead[] {
  return runs.flatMap(readsOf).filter((read) => read.schema === schema && grown.has(read.table));
}

/** Reads through a whole table, and of many rows; a line for each. */
function wideOf(reads: readonly TableRead[]): string {
  const lines = reads.filter((read) => read.node === "Seq Scan" || read.rows > READ_MAX)
    .map(({ node, table, rows, text }) =>
      `${node} ${table} ${rows}: ${text.replaceAll(/\s+/g, " ")}`
    );
  return [...new Set(lines)].join("\n");
}
