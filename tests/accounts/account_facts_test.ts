import { deepEqual, equal, rejects } from "node:assert/strict";
import { rich } from "../support/nodes/anvil.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

Deno.test("the database changes no account's facts, no address and no currency's account, whichever role writes", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const made = await realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: "ETH",
    testnet: true,
    ramp: ramp.id,
  });
  await realm.drain();
  const account: string = made.body.id;
  const link = `/v1/accounts/${account}/assign/${rich(3).address}`;
  equal((await realm.admin.send("POST", link)).status, 200);
  const { id: deposit } = await fixture.address(account);
  const gold = await realm.currency("5");
  const facts = [
    ["type", "'virtual'"],
    ["asset", "'BTC'"],
    ["testnet", "false"],
    ["decimals", "2"],
    ["holder", "gen_random_uuid()"],
    ["owner", "gen_random_uuid()"],
    ["currency", "'EUR'"],
    ["ramp", "null"],
  ].map(([column, value]) => [`update accounts set ${column} = ${value} where id = $1`, deposit]);
  const tries = [
    ...facts,
    ["update addresses set target_account = gen_random_uuid() where account = $1", deposit],
    ["update addresses set account = gen_random_uuid() where account = $1", deposit],
    ["update addresses set address = 'x' where account = $1", deposit],
    ["delete from addresses where account = $1", deposit],
    [`update currencies set account = $1 where name = '${gold.name}'`, account],
    ["update currencies set name = 'ETH' where account = $1", gold.account],
  ];
  for (const [text, id] of tries) {
    await rejects(rowsOf(realm, text, [id]), /do not change|and not both/, text);
    const inject = realm.command((tx) => tx.unsafe(text, [id]), { lockLedger: true });
    await rejects(inject, /do not change|and not both|permission denied/, text);
  }
  // A currency that is written beside the service turns no linked value into available value either.
  const columns = "id, name, supply, decimals, currency, country, account, owner, created_at";
  await rowsOf(
    realm,
    `insert into currencies (${columns}) select gen_random_uuid(), 'TRAP', 0, 18, 'USD', 'US', $1, owner, now()
      from accounts where id = $1`,
    [account],
  );
  const watches = "select watches_addresses($1::uuid) as watches";
  deepEqual(await rowsOf(realm, watches, [account]), [{ watches: true }]);
  deepEqual(await rowsOf(realm, watches, [gold.account]), [{ watches: false }]);
});
