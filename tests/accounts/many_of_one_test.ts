/** What a customer may have very many of costs nothing where a request shows or changes one of its things. */
import { deepEqual, equal } from "node:assert/strict";
import { selectReceivingAddress } from "../../db/exchanges/ramp_transfers.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { realmDatabase } from "../support/database.ts";
import { logPlans, readsOf } from "../support/plans.ts";
import { testRealm } from "../support/realm.ts";

const MANY = 20_000;
/** Rows that a request may read of a table. */
const READ_MAX = 500;

Deno.test("an account or identity with very many aliases or addresses is shown by a bounded number of rows", async () => {
  await using own = await realmDatabase();
  await using plans = await logPlans(own);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await plans.sql.unsafe(`set search_path = ${locationOf(realm.made.realm).schema}`);
  const user = await realm.user();
  const { name } = await realm.currency("1000");
  const account = await realm.account({ asset: name, by: user, total: "10" });
  const paths = [
    `/v1/accounts/${account}?populate=holder,owner`,
    "/v1/accounts/all",
    `/v1/identities/${user.identity}`,
    "/v1/identities/all",
    "/v1/auth/me",
  ];
  const firsts = [];
  for (const [type, target] of [["account", account], ["identity", user.identity]]) {
    const alias = `first-${type}`;
    const made = await user.send("POST", "/v1/aliases", { type, [type]: target, alias });
    equal(made.status, 201, made.text);
    firsts.push(alias);
  }
  await plans.sql`
    insert into aliases (id, alias, folded, type, account, identity, owner, created_at, deleted_at)
    select ('ff' || substr(gen_random_uuid()::text, 3))::uuid, t.type || g, t.type || g, t.type, t.account::uuid, t.identity::uuid, ${user.id}, now(),
      case when g % 2 = 0 then now() end
    from generate_series(1, ${MANY}) g, (values ('account', ${account}::text, null::text),
      ('identity', null, ${user.identity})) t(type, account, identity)`;
  const read: string[] = [];
  for (const path of paths) {
    await plans.forget();
    const { status, text } = await user.send("GET", path);
    equal(status, 200, text);
    const much = (await plans.read()).flatMap(readsOf).filter(({ rows }) => rows > READ_MAX);
    read.push(...much.map(({ node, table, rows }) => `${path}: ${node} ${table} ${rows}`));
  }
  deepEqual(read, []);
  await plans.sql`
    insert into addresses (id, account, ramp, target_account, chain, network, address, derivation_key, asset, created_at)
    select gen_random_uuid(), gen_random_uuid(), ${account}, ${account}, 'ETHEREUM', 'main', 'address' || g, g, 'ETH', now()
    from generate_series(1, ${MANY}) g`;
  await plans.forget();
  await selectReceivingAddress(realm.pool.sql, account);
  const much = (await plans.read()).flatMap(readsOf).filter(({ rows }) => rows > READ_MAX);
  deepEqual(much.map(({ node, table, rows }) => `${node} ${table} ${rows}`), []);
  const { body } = await user.send("GET", `/v1/accounts/${account}`);
  equal(body.alias, firsts[0]);
});
