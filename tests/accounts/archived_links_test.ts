/** Linked value and deposits whose transactions are archived. @module */
import { deepEqual, equal } from "node:assert/strict";
import type { Tx } from "../../db/database.ts";
import { comparing } from "../../domain/audit/archived_rows.ts";
import { checkLedger, checkWithin } from "../../domain/audit/ledger_check.ts";
import type { ArchivedRows } from "../../domain/audit/hash_chain.ts";
import { deriveAddress } from "../../domain/chains/derivation.ts";
import { archivedTransactions } from "../../workers/archive/proofs.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { archiveOne, BOUNDS, endPart, forgetKeys, liveAt } from "../support/archives.ts";
import { mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import type { TestRealm } from "../support/realm.ts";
import { tampering } from "../support/tamper.ts";

const ETHER = 10n ** 18n;
const DAY_MS = 86_400_000;
const BEYOND = 5_000;

Deno.test("archived deposits are counted, linked value goes on behind them, and is taken back when its address turns out to be ours", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  await liveAt(realm, BOUNDS[0] - DAY_MS);
  const ramp = await fixture.ramp();
  const virtual = async () => {
    const asked = { type: "virtual", asset: "ETH", testnet: true, ramp: ramp.id };
    const { id } = (await send("POST", "/v1/accounts", asked)).body;
    await realm.drain();
    return id;
  };
  const [account, victim] = [await virtual(), await virtual()];
  const { xpub } = (await send("GET", `/v1/accounts/${ramp.id}?populate=address`)).body.address;
  const address = await deriveAddress("ETHEREUM", "testnet", xpub, BEYOND);
  equal((await send("POST", `/v1/accounts/${account}/assign/${address}`)).status, 200);
  const own = await fixture.address(victim);
  await fixture.mine();
  await anvil.pool({ from: 7, to: address, value: 3n * ETHER });
  await anvil.pool({ from: 6, to: own.address, value: ETHER });
  await mineUntil(fixture, async () =>
    (await fixture.account(account)).balance.total === "3" &&
    (await fixture.account(victim)).balance.total !== "0");
  await fixture.mine(3);
  await extendHashChain(realm.pool, Date.now);
  await endPart(realm, BOUNDS[0]);
  await liveAt(realm, null);
  await forgetKeys(realm, Date.now() - DAY_MS);
  const since = `testnet=true&from=${BOUNDS[0] - 2 * DAY_MS}`;
  const figures = async () => (await send("GET", `/v1/stats/deposits?${since}`)).body.steps;
  const took = await figures();
  equal(took[0].count, 2);
  const folder = await Deno.makeTempDir();
  await archiveOne(realm, folder);
  deepEqual(await figures(), took);
  const files = () => archivedTransactions(realm.pool, realm.id, { folder, identities: null });
  const sound = async () => {
    await extendHashChain(realm.pool, Date.now);
    deepEqual((await checkLedger(realm.pool, undefined, undefined, files())).mismatches, []);
  };
  await sound();
  await assertNoticed(realm, files);
  deepEqual((await fixture.account(account)).balance, { total: "3", available: "0", linked: "3" });
  const listed = (await send("GET", "/v1/deposits?pageSize=10")).body.rows;
  equal(listed.length, 2);

  await anvil.pool({ from: 8, to: address, value: 2n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(account)).balance.total === "5");
  await sound();
  await realm.command((tx) => tx`update ramps set next_index = ${BEYOND}`);
  equal((await fixture.address(victim)).address, address);
  deepEqual((await fixture.account(account)).balance, { total: "0", available: "0" });
  await sound();
  await mineUntil(fixture, async () => Number((await fixture.account(victim)).balance.total) > 5.8);
  await sound();
});

/** Changes of deposits that nothing but the files tells from what was credited. */
async function assertNoticed(realm: TestRealm, files: () => ArchivedRows): Promise<void> {
  for (
    const change of [
      "update deposits set hash = overlay(hash placing translate(substr(hash, 3, 1), '0123456789abcdef', '123456789abcdef0') from 3)",
      "update deposits set credited = credited + 1, amount = amount + 1",
      "update deposits set transaction = gen_random_uuid()",
    ]
  ) {
    const check = (tx: Tx) => checkWithin(tx, undefined, undefined, files());
    const { mismatches } = await tampering(realm, [change], check);
    const found = mismatches.filter(({ code }) => code === "archive.rows");
    deepEqual(found.map(({ count }) => count), [2, 2], change);
    const few = { listed: [], count: 0 };
    await tampering(realm, [change], async (tx) => {
      for await (const _ of comparing(tx, files(), few, 1)) continue;
    });
    deepEqual(
      [few.listed.length, few.count],
      [1, 2],
      "rows beyond those that are listed are counted",
    );
  }
}
