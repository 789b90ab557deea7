import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { findHome, selectInstallation } from "../../db/realms/installation.ts";
import { locking, reading } from "../../db/transaction.ts";
import { judgeInstallation, type Outside } from "../../domain/realms/installation.ts";
import { readMasterKey } from "../../domain/security/envelope.ts";
import { claimPlatformKey } from "../../domain/security/platform_key.ts";
import { openSecrets } from "../../domain/security/serving_secrets.ts";
import { claimEpoch, openFence } from "../../workers/installation/fence.ts";
import { rotateMasterKey } from "../../workers/installation/master_key_rotation.ts";
import { ChainError } from "../../workers/chains/chain.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { asSuperuser } from "../support/database.ts";
import { host, MASTER_KEY } from "../support/fence_host.ts";
import { backups, superuserOf } from "../support/installation.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

const OLD = MASTER_KEY;
const NEW = btoa("fedcba9876543210fedcba9876543210");
const PATH = { chain: "ETHEREUM", network: "testnet", number: 0 } as const;

const ramps = (realm: TestRealm) =>
  rowsOf<{ detail: string | null }>(realm, "select quarantined ->> 'detail' as detail from ramps");

/** A ramp without a node: it is not opened, and is kept from signing all the same. */
async function rampRow(realm: TestRealm): Promise<void> {
  await realm.command((tx) =>
    tx`insert into ramps (account, chain, network, number, created_at)
      values (${crypto.randomUUID()}, 'ETHEREUM', 'testnet', 0, now())`
  );
}

Deno.test("workers go on with a database that they know, however often they start", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using first = await host();
  for (let start = 0; start < 3; start++) {
    await using fence = await first.fence(own.url);
    await using other = await first.fence(own.url);
    equal(await fence.fault(), null);
    equal(await other.fault(), null);
  }
  const names = await Array.fromAsync(Deno.readDir(first.dataDir));
  const [name] = names.filter((one) => !one.name.includes("."));
  equal((await Deno.stat(`${first.dataDir}/${name.name}`)).mode! & 0o777, 0o600);
  ok(realm.id.length > 0);
});

Deno.test("workers start, compare and advance while realms are being created", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using one = await host();
  const database = openDatabase({ url: own.url, prepare: true, parseJson: JSON.parse });
  await using _closing = { [Symbol.asyncDispose]: () => database.close() };
  const { platform } = database;
  ok(realm.id.length > 0);
  const secrets = openSecrets("a platform key of the tests");
  await claimPlatformKey(platform, secrets, true);
  await locking(platform, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select from platform.installation for key share`; // as each creation does until it ends
    await using fence = await one.fence(own.url);
    equal(await fence.fault(), null);
    await claimPlatformKey(platform, secrets);
  });
});

Deno.test("a database that was restored from a backup is detected before anything is signed", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await rampRow(realm);
  await using first = await host();
  await (await first.fence(own.url)).close();
  const yesterday = await own.copy();
  await (await first.fence(own.url)).close();
  await own.restore(yesterday);
  await using fence = await first.fence(own.url);
  match((await fence.fault())!, /^chain.quarantined: it was restored or copied/);
  await rejects(fence.assertOpen(), { fault: "held" });
  match((await ramps(realm))[0].detail!, /restored or copied/);
});

Deno.test("a process that goes on while its database is restored under it signs nothing before it is reconciled, also where no step was taken since, and goes on after that", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await rampRow(realm);
  await using first = await host();
  await using running = await first.fence(own.url);
  equal(await running.fault(), null);
  const backup = await own.copy();
  await own.restore(backup);
  match((await running.fault())!, /^chain.quarantined: it was restored or copied/);
  await rejects(running.assertOpen(), { fault: "held" });
  match((await ramps(realm))[0].detail!, /restored or copied/);
  const database = openDatabase({ url: own.url, prepare: true, parseJson: JSON.parse });
  const where = { platform: database.platform, dataDir: first.dataDir, label: null };
  try {
    equal(await claimEpoch(where, "new"), 2);
    equal(await running.fault(), null);
    equal((await reading(database.platform, selectInstallation)).halted, null);
  } finally {
    await database.close();
  }
});

Deno.test("a database whose rows are older than the record of the host is detected in place", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using first = await host();
  await (await first.fence(own.url)).close();
  const database = openDatabase({ url: own.url, prepare: true, parseJson: JSON.parse });
  try {
    const { sql } = database.platform;
    const kept = await sql`select id, count, token from installation_witnesses`;
    await (await first.fence(own.url)).close();
    await sql`update installation_witnesses set count = ${kept[0].count}, token = ${kept[0].token}`;
    await using fence = await first.fence(own.url);
    match((await fence.fault())!, /it is older than the record of this host/);
    ok((await reading(database.platform, selectInstallation)).halted);
    await using second = await host();
    await using other = await second.fence(own.url);
    await rejects(other.assertOpen(), { fault: "held" });
  } finally {
    await database.close();
  }
  ok(realm.id.length > 0);
});

Deno.test("a host that cannot write its record signs nothing and says why, and goes on when it can", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using one = await host();
  const said: string[] = [];
  await using fence = await one.fence(own.url, { log: (_level, message) => said.push(message) });
  const { id } = await reading(realm.database.platform, selectInstallation);
  const full = `${one.dataDir}/epoch-${id}.new`;
  await Deno.mkdir(full); // as a full disk does, it keeps the file from being written
  const held = (error: Error) => {
    ok(error instanceof ChainError && error.fault === "held", `${error}`);
    match(error.message, /the record of this host, .+, is out of reach/);
    return true;
  };
  await rejects(fence.record(), held);
  const record = `${one.dataDir}/epoch-${id}`;
  await Deno.rename(record, `${record}.kept`);
  await Deno.mkdir(record); // nor read
  for (let i = 0; i < 3; i++) match((await fence.fault())!, /is out of reach/);
  await rejects(fence.assertOpen(), held);
  equal(await fence.isApart(), false);
  deepEqual(said.filter((line) => line === "nothing is signed"), ["nothing is signed"]);
  await Deno.remove(record);
  await Deno.rename(`${record}.kept`, record);
  await Deno.remove(full);
  await fence.record();
  equal(said.at(-1), "signing continues");
});

Deno.test("a clone that starts beside the original signs nothing; the original goes on", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using first = await host();
  await using running = await first.fence(own.url);
  const clone = await own.copy();
  await using staging = await host();
  await using copied = await staging.fence(clone);
  match((await copied.fault())!, /restored or copied/);
  // Even with the whole folder of the original.
  await using same = await first.fence(clone);
  match((await same.fault())!, /restored or copied/);
  equal(await running.fault(), null);
  ok(realm.id.length > 0);
});

Deno.test("a host that has no record of an installation in use signs nothing", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using first = await host();
  await using second = await host();
  await using one = await first.fence(own.url);
  await using two = await second.fence(own.url);
  equal(await one.fault(), null);
  match((await two.fault())!, /no record of the installation/);
  ok(realm.id.length > 0);
});

Deno.test("where INSTALLATION_EPOCH names the epoch, all hosts must have the same", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using first = await host();
  await using one = await first.fence(own.url, { label: "1" });
  await using two = await first.fence(own.url, { label: "1" });
  await using other = await first.fence(own.url, { label: "2" });
  equal(await one.fault(), null);
  equal(await two.fault(), null);
  match((await other.fault())!, /labelled 1, INSTALLATION_EPOCH is 2/);
  await using file = await first.fence(own.url);
  match((await file.fault())!, /INSTALLATION_EPOCH is not set/);
  ok(realm.id.length > 0);
});

Deno.test("a process that ends between record and database finds itself again", () => {
  const row = {
    id: "i",
    epoch: 1,
    label: null,
    home: "h",
    timeline: "1",
    master: null,
    halted: null,
  };
  const at = { home: "h", timeline: "1" };
  const outside: Outside = {
    ...{ installation: "i", epoch: 1, witness: "w" },
    now: { count: 4, token: "a" },
    next: { count: 5, token: "b" },
  };
  const judge = (count: number, token: string, next = true) =>
    judgeInstallation({
      ...{ row, at, label: null },
      ...{ witness: { id: "w", count, token, timeline: "1" }, promotion: null },
      outside: next ? outside : { ...outside, next: null },
    });
  equal(judge(4, "a").state, "sound");
  equal(judge(5, "b").state, "sound");
  for (const apart of [judge(3, "z"), judge(4, "b"), judge(5, "z"), judge(5, "b", false)]) {
    equal(apart.state, "apart");
  }
});

Deno.test("a seed that is gone although there are addresses is an error, and never made anew", async () => {
  await using realm = await testRealm();
  const store = { realm: realm.id, pool: realm.pool };
  const signer = openSigner(OLD, Date.now);
  await signer.ensureSeed(store);
  await rampRow(realm);
  await realm.command((tx) => tx`update ramps set xpub = 'x', next_index = 3`);
  await rejects(realm.command((tx) => tx`delete from secrets`), /permission denied/);
  await rejects(rowsOf(realm, "delete from secrets"), /the seed .* stays/);
  const schema = `realm_${realm.id.replaceAll("-", "")}`;
  await asSuperuser(`set session_replication_role = replica; delete from ${schema}.secrets`);
  await rejects(signer.ensureSeed(store), /has addresses and no seed/);
  await rejects(signer.xpub(store, PATH), { fault: "held" });
  await rejects(
    realm.command((tx) =>
      tx`insert into secrets (id, kind, master, wrapped, ciphertext, created_at)
        values (gen_random_uuid(), 'seed', 'm', '', '', now())`
    ),
    /gets no other seed/,
  );
  equal((await rowsOf(realm, "select 1 from secrets")).length, 0);
});

Deno.test("while the master key changes, a process with the old one writes no secret, and none is left behind", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using neighbour = await realm.neighbour();
  await using first = await host();
  await using old = await first.fence(own.url, { key: OLD });
  const before = openSigner(OLD, Date.now, old);
  const store = { realm: realm.id, pool: realm.pool };
  const xpub = await before.xpub(store, PATH);
  const options = { database: realm.database, log: () => {}, from: OLD, to: NEW };
  deepEqual(await rotateMasterKey(options), { count: 1, failed: [] });
  const late = { realm: neighbour.id, pool: neighbour.pool };
  await rejects(before.ensureSeed(late), { fault: "held" });
  await rejects(before.xpub(store, PATH), { fault: "held" });
  match((await old.fault())!, /the master key is/);
  equal((await rowsOf(neighbour, "select 1 from secrets")).length, 0);
  await using current = await first.fence(own.url, { key: NEW });
  const after = openSigner(NEW, Date.now, current);
  await after.ensureSeed(late);
  equal(await after.xpub(store, PATH), xpub);
  deepEqual(await rotateMasterKey(options), { count: 0, failed: [] });
  await rejects(
    rotateMasterKey({ ...options, from: btoa("00000000000000000000000000000000"), to: OLD }),
    /neither of both/,
  );
});

Deno.test("a process that starts while the server ends its sessions halts nothing, and one that may not read the server's identifier works", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using one = await host();
  await using first = await one.fence(own.url, { label: "1" });
  equal(await first.fault(), null);
  const owner = openDatabase({ url: superuserOf(own.url), prepare: true, parseJson: JSON.parse });
  await owner.platform.sql.unsafe(
    `create schema shadow; create function shadow.pg_control_system() returns table (system_identifier bigint) language plpgsql
      as $$ begin raise exception 'ended' using errcode = current_setting('shadow.code'); end $$;
      grant usage on schema shadow to public`,
  );
  await owner.close();
  const { platform } = realm.database;
  const seen = (code: string): typeof platform => ({
    ...platform,
    settings: `${platform.settings} set local search_path to shadow, platform, pg_catalog;` +
      ` set local shadow.code to '${code}';`,
  });
  const options = { dataDir: one.dataDir, label: "1", log: () => {}, loop: false };
  const { id: master } = await readMasterKey(OLD);
  for (const code of ["57P01", "57014", "53300", "08006"]) {
    const opened = openFence({ ...options, master, platform: seen(code) })
      .then(async (fence) => await fence.fault());
    await rejects(opened, /ended|CONNECTION_CLOSED/, code);
    equal(await first.fault(), null);
  }
  match((await findHome(seen("42501"))).home, /^unknown \d+ /);
});
