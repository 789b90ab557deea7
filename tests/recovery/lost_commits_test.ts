/** Databases that lose their last commits, as where a standby that was behind is promoted. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { writing } from "../../db/transaction.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { endAt } from "../support/ended_worker.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { host } from "../support/fence_host.ts";
import { attest, backups, keepRealm, restoreRealm, superuserOf } from "../support/installation.ts";
import { rowsOf } from "../support/realm.ts";

async function paid({ anvil }: FundedRamp): Promise<bigint> {
  await anvil.mine();
  return BigInt(await anvil.rpc("eth_getBalance", OUTSIDE, "latest") as string);
}

Deno.test("a database that has lost a payment which left is older than the record of the host, however soon after its last step", async () => {
  await using own = await backups();
  await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
  const { realm, context } = funded;
  await using one = await host();
  await using fence = await one.fence(own.url);
  context.signer = openSigner(realm.services.config.masterKey!, Date.now, fence);
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  equal(await fence.fault(), null);
  await keepRealm(realm, superuserOf(own.url));
  const { sql } = realm.database.platform;
  const kept = await sql`select id, count, token from platform.installation_witnesses`;
  await endAt("broadcast", funded.advance);
  ok(await paid(funded) > 0n);
  await restoreRealm(realm, superuserOf(own.url));
  await sql`update platform.installation_witnesses
    set count = ${kept[0].count}, token = ${kept[0].token}`;
  match((await fence.fault())!, /it is older than the record of this host/);
  await realm.admin.renew();
  const before = await paid(funded);
  for (let round = 0; round < 3; round++) await funded.advance();
  equal(await paid(funded), before);
  equal((await funded.read(id)).status, "PROCESSING");
});

Deno.test("a realm's own database that has lost a payment which left is older than the platform's record of it, however soon after its last step", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  const { database: { platform }, services: { secrets, config } } = realm;
  // Its own database is the platform's: for workers it lives elsewhere.
  const url = secrets.encrypt("database_url", realm.id, config.databaseUrl!);
  await writing(
    platform,
    (db) => db`update platform.realms set database_url_encrypted = ${url} where id = ${realm.id}`,
  );
  await funded.anvil.mine();
  await attest(realm);
  await funded.withdraw("1");
  await keepRealm(realm);
  await realm.drain();
  ok(await paid(funded) > 0n);
  await restoreRealm(realm);
  const before = await paid(funded);
  await realm.drain();
  equal(await paid(funded), before);
  const [row] = await rowsOf<{ state: string; detail: string }>(
    realm,
    "select state, (select quarantined ->> 'detail' from ramps) as detail from chain_orders",
  );
  deepEqual(row.state, "new");
  match(row.detail, /restored alone/);
});
