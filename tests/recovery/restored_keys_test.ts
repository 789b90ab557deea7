/** Databases from before their master key was changed: they are reconciled with the key of their time alone. */
import { deepEqual, equal, match } from "node:assert/strict";
import { rotateMasterKey } from "../../workers/installation/master_key_rotation.ts";
import { until } from "../support/eventually.ts";
import { openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { backups } from "../support/installation.ts";
import { testConfig } from "../support/realm.ts";
import { host } from "../support/reconcile_host.ts";

const ETHER = 10n ** 18n;
const OLD = testConfig().masterKey!;
const NEW = btoa("fedcba9876543210fedcba9876543210");
const GAP = ["--gap", "20"];

Deno.test("a backup of before the master key was changed is reconciled with the key of its time, pays nothing twice, and gets the new key again; its logins end when it is noticed", async () => {
  await using own = await backups();
  await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
  const { realm, anvil } = funded;
  await anvil.mine();
  const node = { ETHEREUM_RPC_URL: anvil.url, ETHEREUM_CONFIRMATIONS: "2" };
  await using first = await host(own.url, node);
  equal(await first.fault(), null);
  const { body: { id } } = await funded.withdraw("1");
  const backup = await own.copy();
  await funded.finish(id);
  const rotation = { database: realm.database, log: () => {}, from: OLD, to: NEW };
  deepEqual(await rotateMasterKey(rotation), { count: 1, failed: [] });
  await own.restore(backup);
  const { admin } = realm;
  const asked = async () => (await admin.send("GET", "/v1/auth/me")).body.code ?? "works";
  equal(await asked(), "works", "nobody has noticed it");
  match((await first.fault())!, /restored or copied/);
  await until(async () => await asked() === "auth.revoked");
  await admin.renew();
  const refused = await first.call(GAP, { MASTER_KEY: NEW });
  deepEqual([refused.code, refused.out], [1, ""]);
  match(refused.said, /the installation has the master key \w+, and this command another/);
  const done = await first.call(GAP);
  equal(done.code, 0, done.said);
  equal(await asked(), "works", "logins end once");
  equal((await funded.finish(id)).status, "DONE");
  equal(BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest")), ETHER);
  deepEqual(await rotateMasterKey(rotation), { count: 1, failed: [] });
  match((await first.fault())!, /the master key is/);
});
