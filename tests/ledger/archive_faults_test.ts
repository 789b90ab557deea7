/** Archives by the command, where its files find no room, and behind a pooler in transaction mode. @module */
import { deepEqual, equal, match } from "node:assert/strict";
import { join } from "node:path";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { agedRealm, BOUNDS, namesIn, stateOf } from "../support/archives.ts";
import { commandHost } from "../support/command_host.ts";
import { realmDatabase } from "../support/database.ts";
import { countParts } from "../support/parts.ts";
import { POOLER, startPooler } from "../support/pooler.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";

const BEFORE = new Date(BOUNDS[1]).toISOString().slice(0, 10);

async function sound(realm: TestRealm): Promise<void> {
  await extendHashChain(realm.pool, Date.now);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
}

/** Transfers enough for more than the driver and the pipe hold at once. */
async function post(realm: TestRealm): Promise<void> {
  const { name, account } = await realm.currency("100000");
  const destination = { account: await realm.account({ asset: name }) };
  for (let batch = 0; batch < 30; batch++) {
    const transactions = Array.from({ length: 100 }, (_, i) => ({
      ...{ source: { account }, destination, value: "1" },
      seal: { text: `${batch} ${i} ${crypto.randomUUID().repeat(20)}` },
    }));
    const answer = await realm.admin.send("POST", "/v1/transactions/batch", {
      ...{ atomic: true, transactions },
    });
    equal(answer.status, 201, answer.text);
  }
}

Deno.test("an archive whose files find no room says which and why, changes nothing, and is carried on when there is room", async () => {
  await using own = await realmDatabase();
  await using host = await commandHost();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await agedRealm(realm, async (part) => {
    if (part === 0) await post(realm);
  });
  const whole = await stateOf(realm);
  const folder = join(host.folder, "archives");
  const args = [realm.id, "--before", BEFORE, "--to", folder];
  for (const blocks of [0, 64]) {
    const full = await host.runWithin(blocks, own.url, "archive", args);
    equal(full.code, 1, full.said);
    match(
      full.said,
      /(^|\n)the part until \S+ is not archived, nothing has changed: \S+_transactions\.gz\.age\.partial cannot be written: File too large.*\n$/,
    );
    equal(full.out, "");
    deepEqual((await namesIn(folder)).filter((name) => !name.endsWith(".lock")), []);
    equal(await stateOf(realm), whole);
    equal(await countParts(realm), 3);
  }
  const done = await host.run(own.url, "archive", args);
  equal(done.code, 0, done.said);
  equal(await countParts(realm), 1);
  await sound(realm);
  const proven = await host.run(own.url, "audit", ["--realm", realm.id, "--archive", folder]);
  equal(proven.code, 0, proven.said);
});

Deno.test({
  name: "parts are archived, attached and dropped behind a pooler in transaction mode",
  ignore: POOLER === null,
  async fn() {
    await using own = await realmDatabase();
    await using host = await commandHost();
    await using pooler = await startPooler(own, await Deno.makeTempDir());
    await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
    await agedRealm(realm);
    const whole = await stateOf(realm);
    const folder = join(host.folder, "archives");
    const run = async (...args: string[]) => {
      const env = { DATABASE_PREPARE: "off" };
      const { code, out, said } = await host.run(pooler.url, "archive", [realm.id, ...args], env);
      equal(code, 0, said);
      return out;
    };
    match(await run("--before", BEFORE, "--to", folder), /2 parts archived/);
    equal(await countParts(realm), 1);
    await sound(realm);
    for (let part = 0; part < 2; part++) match(await run("--attach"), /is back in the ledger/);
    equal(await countParts(realm), 3);
    equal(await stateOf(realm), whole);
    await run("--before", BEFORE, "--to", folder);
    match(await run("--drop", "--to", folder), /are dropped/);
    await sound(realm);
    const proven = await host.run(pooler.url, "audit", ["--realm", realm.id, "--archive", folder], {
      DATABASE_PREPARE: "off",
    });
    equal(proven.code, 0, proven.said);
  },
});
