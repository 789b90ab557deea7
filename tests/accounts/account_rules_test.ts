import { deepEqual, rejects } from "node:assert/strict";
import { asSuperuser } from "../support/database.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

/** Each rule, and a change of a virtual account that breaks it. */
const CHANGES: readonly (readonly [string, string])[] = [
  ["accounts_type", "type = 'other'"],
  ["accounts_decimals", "decimals = 78"],
  ["accounts_currency_places", "currency_places = -1"],
  ["accounts_data", "data = '[]'"],
  ["accounts_blocked", "blocked = -1"],
  ["accounts_unblocked", "type = 'deposit', blocked = 1"],
  ["accounts_linked", "type = 'ramp', linked = 1"],
  ["accounts_linked", "linked = -1"],
  ["accounts_system", "system = 'other'"],
  ["accounts_system", "system = 'fees'"],
  ["accounts_system", "type = 'system'"],
  ["accounts_held", "holder = null"],
  ["accounts_held", "owner = null"],
  ["accounts_frozen_by", "frozen_by = owner"],
  ["accounts_frozen_by", "frozen_by_realm = true"],
  ["accounts_default_type", "type = 'ramp', is_default = true"],
  ["accounts_covered", "total = -1"],
  ["accounts_covered", "blocked = total + 1"],
  ["accounts_scale", "total = total + 1e-19"],
];

Deno.test("the rules of an account's columns hold also where a session has switched triggers off", async () => {
  await using realm = await testRealm();
  const { account } = await realm.currency("5");
  const [{ schema }] = await rowsOf<{ schema: string }>(
    realm,
    "select current_schema() as schema",
  );
  const read = () => rowsOf(realm, "select * from accounts where id = $1", [account]);
  const before = await read();
  const inReplica = (statement: string) =>
    asSuperuser(
      `set session_replication_role = replica; set search_path to ${schema};
      ${statement}; reset session_replication_role`,
    );
  for (const [rule, change] of CHANGES) {
    const update = `update accounts set ${change} where id = '${account}'`;
    await rejects(inReplica(update), new RegExp(`${rule}\\b`), update);
  }
  const columns = "id, type, asset, decimals, currency, currency_places, country, created_at";
  const insert =
    `insert into accounts (${columns}) select gen_random_uuid(), type, asset, decimals, currency,
    currency_places, country, now() from accounts where id = '${account}'`;
  await rejects(inReplica(insert), /accounts_held\b/);
  deepEqual(await read(), before);
});
