import { deepEqual, equal, match, rejects } from "node:assert/strict";
import type { Tx } from "../../db/database.ts";
import { serializable } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { asSuperuser } from "../support/database.ts";
import { openFundedRamp } from "../support/evm_fixture.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

/** A realm in which somebody injects statements into what the API sends. */
async function fixture(realm: TestRealm) {
  const { name, account } = await realm.currency("100");
  const mine = await realm.account({ asset: name, from: account, total: "40" });
  await realm.admin.send("POST", "/v1/identities", {}, { "idempotency-key": "kept" });
  const [{ world }] = await rowsOf<{ world: string }>(
    realm,
    "select id as world from accounts where system = 'world' and asset = $1",
    [name],
  );
  const [{ moved }] = await rowsOf<{ moved: string }>(
    realm,
    "select id as moved from transactions where type = 'transfer'",
  );
  const bitcoin = await opened(realm, "BTC");
  const coins = await opened(realm, "BTC", "system");
  const serving = realm.database.realm(locationOf(realm.made.realm));
  /** Runs a statement with the rights of the API, as the ledger posts. */
  const inject = (text: string) =>
    serializable(serving, async (tx: Tx) => await tx.unsafe(text).simple(), { lockLedger: true });
  return { name, account, mine, world, moved, bitcoin, coins, serving, inject };
}

/** Makes an account as an injected statement can. */
async function opened(realm: TestRealm, asset: string, type = "virtual"): Promise<string> {
  const id = crypto.randomUUID();
  const { identity, id: user } = realm.admin;
  const columns = type === "system" ? ", system" : ", holder, owner";
  const values = type === "system" ? ", 'world'" : `, '${identity}', '${user}'`;
  const { sql } = realm.database.realm(locationOf(realm.made.realm));
  await sql.unsafe(
    `insert into accounts (id, type, asset, decimals, active, enabled, currency, currency_places,
      country, created_at${columns}) values ('${id}', '${type}', '${asset}', 8, true, true, 'USD', 2,
      'US', now()${values})`,
  );
  return id;
}

/** A call of a posting function that forges one move. */
function forged(
  how: string,
  move: { source: string; destination: string; amount?: string; more?: string; actor?: string },
): string {
  const { source, destination, amount = "1000", more, actor } = move;
  const [low, high] = [source, destination].sort();
  const at = (id: string) => id === low ? 1 : 2;
  return `select a.refusals from ${how} array['${low}', '${high}']::uuid[], ` +
    `array[${at(source)}], array[${at(destination)}], ` +
    `array[${amount}]::numeric[], array[${actor === undefined ? "null" : `'${actor}'`}]::uuid[], ` +
    `array[true], array[null]::inet[], array[null]::uuid[], array[null]::jsonb[], array[null]::jsonb[], ` +
    `array[null]::text[], array[${more === undefined ? "null" : `'${more}'`}]::jsonb[]) a`;
}

const APPLY = (type: string, system = true, force = true) =>
  `ledger_apply('${type}', ${system}, ${force}, true, null, null, null,`;
const POST = (type: string) => `ledger_post('${type}', true, null, null,`;

/** The ledger's balances: the sum of each asset in accounts of users, and the number of rows. */
async function held(realm: TestRealm): Promise<unknown> {
  return await rowsOf(
    realm,
    `select (select jsonb_object_agg(id, jsonb_build_array(total, blocked, linked, seq)
      order by id) from accounts) as accounts, (select count(*) from transactions) as transactions,
      (select count(*) from entries) as entries, (select sum(supply) from currencies) as supply`,
  );
}

/** Statements that would make value, or hide that some was made. */
const hostile = (account: string, moved: string): string[] => [
  "update accounts set total = total + 1000",
  "update accounts set total = total",
  "update accounts set blocked = 0, linked = 0",
  "update accounts set seq = seq + 1",
  "update accounts set decimals = 0",
  "update accounts set asset = 'BTC'",
  "update accounts set type = 'virtual', system = null",
  "update accounts set owner = gen_random_uuid(), holder = owner",
  "delete from accounts",
  `insert into accounts (id, total, type, asset, decimals, currency, currency_places, country,
        holder, owner, created_at) select ${id}, 1000, type, asset, decimals, currency,
        currency_places, country, holder, owner, now() from accounts where id = '${account}'`,
  `insert into accounts select * from accounts where id = '${account}'
        on conflict (id) do update set total = 1000`,
  `insert into transactions select * from transactions where id = '${moved}'`,
  "update transactions set amount = amount * 10",
  "delete from transactions",
  "truncate transactions, entries",
  `insert into entries select account, seq + 100, ${id}, 1000, balance + 1000, blocked, linked
        from entries where account = '${account}'`,
  "update entries set balance = balance + 1000",
  "delete from entries",
  `insert into ledger_commits (transactions) values (array[${id}])`,
  "delete from ledger_commits",
  `insert into account_states (account, at, blocked, frozen) values ('${account}', now(), 0, false)`,
  "delete from account_states",
  `insert into currency_issues select ${id}, id, 'issue', 1000, account, now() from currencies`,
  "update currencies set supply = supply + 1000",
  "delete from currencies",
  "update blocks set amount = 0",
  "delete from blocks",
  "delete from idempotency",
  "truncate idempotency",
  "select renew_answers(0)",
  "update idempotency set transaction = null",
  "update idempotency set key = gen_random_uuid()",
  `insert into idempotency (key, fingerprint, transaction, created_at)
        values (${id}, ${id}, ${id}, now())`,
  "delete from batches",
  "update batches set transactions = '{}'",
  "insert into chain_links (seq, transaction, hash) values (9, gen_random_uuid(), sha256('x'))",
  "update chain_head set seq = 0",
  "delete from transaction_data",
  "delete from audit",
  "delete from events",
  "update migrations set checksum = ''",
  "update order_transitions set demands = 'plan'",
  `copy accounts (id, total) from stdin`,
  `with x as (update accounts set total = total + 1000 returning id) select * from x`,
  `merge into accounts a using accounts b on a.id = b.id when matched then update set total = 1000`,
  "alter table accounts disable trigger all",
  "alter table accounts drop constraint accounts_covered",
  "create trigger x before insert on accounts execute function refuse_change()",
  "drop trigger transactions_append_only on transactions",
  "create function x() returns int language sql as 'select 1'",
  "create or replace function rate_of(p_asset text, p_currency text) returns numeric language sql as 'select 1.0'",
  "create operator = (leftarg = text, rightarg = text, function = pg_catalog.texteq)",
  "set session_replication_role = replica",
  `copy (select 1) to program 'id'`,
  `copy currencies from program 'id'`,
];
const id = "gen_random_uuid()";

const DENIED = /permission denied|must (be|have)|cannot set parameter/;

Deno.test("an injected statement writes no balance, transaction, entry, commit or key", async () => {
  await using realm = await testRealm();
  const { account, name, moved, inject } = await fixture(realm);
  const before = await held(realm);
  for (const text of hostile(account, moved)) await rejects(inject(text), DENIED, text);
  await rejects(
    inject("update idempotency set body = 'x', status = 201"),
    /an answer is kept once/,
  );
  deepEqual(await held(realm), before);
  equal((await realm.admin.send("GET", `/v1/accounts/${account}`)).body.balance.total, "60", name);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("an injected statement writes nothing that is seen or sent on a chain", async () => {
  await using realm = await testRealm();
  const { inject, account } = await fixture(realm);
  const tables = [
    "deposits",
    "unmatched_deposits",
    "coin_rounds",
    "unexplained_gains",
    "sweeps",
    "order_attempts",
    "nonces",
    "ramp_costs",
    ...["solvency", "solvency_samples", "write_offs", "hourly_flows", "chain_samples"],
    "chain_blocks",
    "token_proofs",
    "fee_quotes",
    "secrets",
  ];
  for (const table of tables) {
    for (const text of [`insert into ${table} default values`, `delete from ${table}`]) {
      await rejects(inject(text), /permission denied/, text);
    }
  }
  for (
    const text of [
      "select wrapped from secrets",
      `insert into onchain_balances (chain, network, address, amount, height, seen_at)
        values ('BTC', 'main', 'x', 1000, 1, now())`,
      "update onchain_balances set amount = 1000",
      "update coins set amount = 1000",
      "insert into coins default values",
      "update deposits set status = 'CONFIRMED'",
      "update deposits set amount = 1000",
      "update chain_orders set succeeded = true",
      "update chain_orders set request = '{}'",
      "update withdrawals set amount = 1, order_id = gen_random_uuid()",
    ]
  ) await rejects(inject(text), /permission denied/, text);
  const deposit =
    `insert into deposits (id, chain, network, hash, index, account, address, asset, amount,
    created_at) values (gen_random_uuid(), 'BTC', 'main', 'ab', 0, '${account}', 'x', 'BTC', 1000, now())`;
  await rejects(inject(deposit), /permission denied/);
  await rejects(
    inject("update fungible_tokens set supply = 1e12, status = 'registered'"),
    /permission denied/,
  );
});

Deno.test("no entrance of the ledger makes value from forged arguments", async () => {
  await using realm = await testRealm();
  const { name, account, mine, world, moved, bitcoin, coins, inject } = await fixture(realm);
  const before = await held(realm);
  const refused: [text: string, why: RegExp][] = [];
  const mint = { source: world, destination: account };
  const types = "transfer deposit forward withdrawal return fee issue revert".split(" ");
  for (const type of types) {
    refused.push([forged(APPLY(type), mint), /permission denied for function ledger_apply/]);
  }
  for (const type of ["deposit", "forward", "world", ""]) {
    refused.push([forged(POST(type), mint), /not asked for/]);
  }
  for (const type of ["capture", "fee", "return", "withdrawal", "revert"]) {
    refused.push([forged(POST(type), mint), /nothing justifies/]);
  }
  const coin = { source: coins, destination: bitcoin };
  refused.push(
    [forged(POST("issue"), coin), /only virtual currencies are issued/],
    [forged(POST("issue"), { ...mint, amount: "'NaN'" }), /accounts_scale/], // greater than any number
    [forged(POST("issue"), { ...mint, amount: "'Infinity'" }), /accounts_scale/],
    [forged(POST("issue"), { source: account, destination: mine }), /nothing justifies/],
    [forged(POST("destroy"), { source: world, destination: account }), /nothing justifies/],
    [
      forged(POST("revert"), {
        source: mine,
        destination: account,
        more: `{"reverts":"${moved}"}`,
      }),
      /nothing justifies/, // of another amount
    ],
    [
      forged(POST("revert"), { ...mint, amount: "40", more: `{"reverts":"${moved}"}` }),
      /nothing justifies/,
    ],
    [
      `select note_issue('issue', gen_random_uuid(), '${name}', '${account}', 5)`,
      /permission denied/,
    ],
    [`select note_state('${account}', now(), 0, false)`, /permission denied/],
    [`select keep_opened()`, /permission denied|trigger functions/],
  );
  for (const [text, why] of refused) await rejects(inject(text), why, text);
  deepEqual(await held(realm), before);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("transfers take nothing from the world, and an argument that is no list of moves is refused", async () => {
  await using realm = await testRealm();
  const { account, mine, world, inject } = await fixture(realm);
  const before = await held(realm);
  const mint = { source: world, destination: account };
  const [row] = await inject(forged(POST("transfer"), mint)) as unknown as { refusals: string[] }[];
  deepEqual([...row.refusals], ["source.not_found"]);
  const lists = (ids: string, source: string, destination: string, amount: string) =>
    `select refusals from ${POST("transfer")} ${ids}::uuid[], ${source}::integer[],
      ${destination}::integer[], ${amount}::numeric[], array[null, null]::uuid[], array[true, true],
      array[null]::inet[], array[null]::uuid[], array[null]::jsonb[], array[null]::jsonb[], array[null]::text[],
      array[null]::jsonb[])`;
  const two = `array['${[account, mine].sort().join("','")}']`;
  for (
    const text of [
      lists(two, "array[3]", "array[1]", "array[5]"), // out of nothing
      lists(two, "array[null]", "array[1]", "array[5]"),
      lists(two, "array[1]", "array[2]", "array[-5]"),
      lists(two, "array[1]", "array[2]", "array[null]"),
      lists(`array['${account}', '${account}']`, "array[1]", "array[2]", "array[5]"), // twice the same
      lists(`'[0:2]={${account},${mine},${account}}'`, "array[1]", "array[2]", "array[5]"),
      lists(two, "'[0:0]={1}'", "array[2]", "array[5]"),
      lists(two, "array[1]", "array[2]", "'[0:1]={5,5}'"),
    ]
  ) {
    await rejects(
      inject(text),
      /null value|subscript|positions begin|_check|duplicate key|named once/,
      text,
    );
  }
  const queue =
    `select refusals from ledger_queued(array[gen_random_uuid()], array[gen_random_uuid()], 'aaaaaaaaaaaa',
    array['${[world, account].sort().join("','")}']::uuid[],
    array[${world < account ? 1 : 2}], array[${world < account ? 2 : 1}], array[1000]::numeric[],
    array[null]::uuid[], array[true], array[null]::inet[], array[null]::uuid[], array[null]::jsonb[], array[null]::jsonb[],
    array[null]::text[], array[null]::jsonb[])`;
  deepEqual(
    [...[...await inject(queue) as unknown as { refusals: string[] }[]][0].refusals],
    ["source.not_found"],
  );
  const single = `select refused from ledger_single(gen_random_uuid(), gen_random_uuid(),
    'aaaaaaaaaaaa', '${world}', '${account}', 1000, null, true, null, null, null, null)`;
  deepEqual(
    [...await inject(single) as unknown as { refused: string }[]][0].refused,
    "source.not_found",
  );
  deepEqual(await held(realm), before);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("an asset of a chain is no virtual currency, whichever role writes the row", async () => {
  await using realm = await testRealm();
  const { inject, account, serving } = await fixture(realm);
  const currencyOf = (name: string) =>
    `insert into currencies (id, name, decimals, currency, country, account, owner, created_at)
      values (gen_random_uuid(), '${name}', 8, 'USD', 'US', '${account}', '${realm.admin.id}', now())`;
  const currency = (name: string) => inject(currencyOf(name));
  await currency("BTC");
  const ramp =
    `insert into accounts (id, type, asset, decimals, currency, currency_places, country, holder,
    owner, created_at) select gen_random_uuid(), 'ramp', 'BTC', decimals, currency, currency_places, country,
    holder, owner, now() from accounts where id = '${account}'`;
  await rejects(inject(ramp), /not both/, "no ramp stands behind what was issued");
  await inject(ramp.replace("'BTC'", "'LTC'"));
  await rejects(currency("LTC"), /not both/);
  // Of two that do not see each other's rows the second waits for the first, and is refused.
  await serving.sql.begin("isolation level read committed", async (tx) => {
    await tx.unsafe(ramp.replace("'BTC'", "'DOGE'"));
    const second = serving.sql.begin("isolation level read committed", async (other) => {
      await other.unsafe("set local lock_timeout = '200ms'");
      await other.unsafe(currencyOf("DOGE"));
    });
    await rejects(second, /lock timeout/);
  });
  await rejects(currency("DOGE"), /not both/);
});

Deno.test("temporary tables never stand for the realm's own", async () => {
  await using realm = await testRealm();
  const { account, mine, serving } = await fixture(realm);
  const { schema, role } = realm.made.realm.schema_name === undefined
    ? { schema: "", role: "" }
    : { schema: realm.made.realm.schema_name, role: realm.made.realm.role_name! };
  const database = new URL(realm.services.config.databaseUrl!).pathname.slice(1);
  await asSuperuser(`grant temporary on database ${database} to ${role}`);
  const before = await held(realm);
  try {
    for (const path of [`"${schema}", pg_temp`, `pg_temp, "${schema}"`]) {
      const refusals = await serving.sql.begin("isolation level serializable", async (tx) => {
        await tx.unsafe(`set local search_path to ${path}`);
        for (const table of ["accounts", "stops", "rates", "blocks", "idempotency"]) {
          await tx.unsafe(
            `create temp table ${table} on commit drop as select * from ${schema}.${table}`,
          );
        }
        await tx.unsafe("update pg_temp.accounts set total = 1000000");
        const text = forged(`${schema}.${POST("transfer")}`, {
          source: mine,
          destination: account,
        });
        const [row] = await tx.unsafe<{ refusals: string[] }[]>(text);
        return String(row.refusals);
      });
      match(refusals, /insufficient/, path);
    }
    deepEqual(await held(realm), before);
  } finally {
    await asSuperuser(`revoke temporary on database ${database} from ${role}`);
  }
});

Deno.test("the charge of a withdrawal is neither released nor given back while it may be paid", async () => {
  await using funded = await openFundedRamp();
  const { realm, ramp, account } = funded;
  const made = await funded.withdraw("0.1");
  equal(made.status, 201, made.text);
  const serving = realm.database.realm(locationOf(realm.made.realm));
  const inject = (text: string) =>
    serializable(serving, async (tx: Tx) => await tx.unsafe(text).simple(), { lockLedger: true });
  const release = "update blocks set status = 'RELEASED' where status = 'OPEN'";
  await rejects(inject(release), /stays blocked until it has ended/);
  for (const status of ["FAILED", "CANCELED"]) {
    const end = `update withdrawals set status = '${status}'`;
    await rejects(inject(`${end}; ${release}`), /may still be paid|ended by workers/);
  }
  const back = { source: ramp, destination: account, amount: "0.1" };
  await rejects(inject(`${release}; ${forged(POST("return"), back)}`), /nothing justifies/);
  await funded.advance();
  for (const state of ["failed", "dropped", "done"]) {
    const end = `update chain_orders set state = '${state}', hash = coalesce(hash, 'x'), height = 1,
      confirmations = 99`;
    await rejects(
      inject(end),
      /cannot become|nothing shows|permission denied|may still be paid/,
      state,
    );
  }
  equal((await funded.finish(made.body.id)).status, "DONE");
  await rejects(inject(forged(POST("return"), back)), /nothing justifies/);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});
