import { deepEqual, equal } from "node:assert/strict";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { openSolanaFixture } from "../support/solana_deposit_fixture.ts";
import { openTronRamp } from "../support/tron_fixture.ts";
import { LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";

/** What a node knows of a transaction, as a rescan tells. */
async function located(realm: TestRealm, chain: string, testnet: boolean, hash: string) {
  const asked = await realm.admin.send("POST", "/v1/deposits/rescan", { chain, testnet, hash });
  equal(asked.status, 200, asked.text);
  await realm.drain();
  const { body } = await realm.admin.send("GET", `/v1/deposits/rescans/${asked.body.id}`);
  deepEqual([body.state, body.error], ["done", null]);
  return [body.node.state, body.node.block, body.found_count > 0];
}

/** The first deposit, with its block. */
async function firstDeposit(realm: TestRealm) {
  const text = "select hash, block::integer as block from deposits order by id limit 1";
  return (await rowsOf<{ hash: string; block: number }>(realm, text))[0];
}

Deno.test({
  name: "a rescan tells what a node of a coin chain knows of a transaction",
  ignore: !hasLitecoind(),
  async fn() {
    await using funded = await openUtxoRamp(LITECOIN);
    const { realm } = funded;
    const where = (hash: string) => located(realm, "LITECOIN", true, hash);
    deepEqual(await where("ab".repeat(32)), ["unknown", null, false]);
    const hash = await funded.deposit(1_000_000n);
    const waiting = await where(hash);
    equal(waiting[0], waiting[1] === null ? "pending" : "block");
    await funded.until(async () => (await firstDeposit(realm))?.block > 0);
    const deposit = await firstDeposit(realm);
    deepEqual((await where(deposit.hash)).slice(0, 2), ["block", deposit.block]);
  },
});

Deno.test("a rescan tells what a node of Tron knows of a transaction", async () => {
  await using funded = await openTronRamp();
  const { realm } = funded;
  const { hash, block } = await firstDeposit(realm);
  deepEqual(await located(realm, "TRON", false, `0x${hash}`), ["block", block, true]);
  deepEqual(await located(realm, "TRON", false, "ab".repeat(32)), ["unknown", null, false]);
});

Deno.test("a rescan tells what a node of Solana knows of a transaction", async () => {
  await using fixture = await openSolanaFixture();
  const { realm, node } = fixture;
  const ramp = await fixture.ramp();
  await node.pay(ramp.address, 2_000_000_000n);
  await fixture.mineUntil(async () => (await fixture.deposits()).length > 0);
  const { hash, block } = await firstDeposit(realm);
  deepEqual(await located(realm, "SOLANA", true, hash), ["block", block, true]);
  const unknown = "5".repeat(87);
  deepEqual(await located(realm, "SOLANA", true, unknown), ["unknown", null, false]);
});
