/** Restored databases in which a token is to be deployed that the lost database has deployed. */
import { deepEqual, equal } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { rowsOf } from "../support/realm.ts";

const GOLD = { name: "Gold", symbol: "GOLD", supply: "1000", decimal_places: 6 };
const SILVER = { name: "Silver", symbol: "SILVER", supply: "7", decimal_places: 2 };

async function order(funded: FundedRamp, token: typeof GOLD): Promise<string> {
  const body = { ...token, account: funded.ramp };
  const none = { prefer: "wait=0" };
  const made = await funded.realm.admin.send("POST", "/v1/fungible/token/deploy", body, none);
  equal(made.status, 201, made.text);
  return made.body.id;
}

async function read(funded: FundedRamp, id: string) {
  const { body } = await funded.realm.admin.send("GET", `/v1/fungible/token/${id}`);
  return [body.status, body.contractAddress, body.transactionHash];
}

async function finish(funded: FundedRamp, id: string) {
  for (let round = 0; round < 20; round++) {
    await funded.advance();
    const row = await read(funded, id);
    if (row[0] !== "pending") return row;
    await funded.anvil.mine();
  }
  throw new Error(`token ${id} is not deployed`);
}

async function nonceOf({ anvil, address }: FundedRamp): Promise<number> {
  return Number(await anvil.rpc<string>("eth_getTransactionCount", address, "latest"));
}

Deno.test("a token that the lost database deployed is found, and is not deployed again", async () => {
  await using funded = await openFundedRamp();
  await funded.anvil.mine();
  const silver = await order(funded, SILVER);
  const gold = await order(funded, GOLD);
  await keepRealm(funded.realm);
  // The lost database gave up the first, and deployed the second alone.
  await rowsOf(
    funded.realm,
    "update chain_orders set state = 'failed' where reference_id = $1",
    [silver],
  );
  const before = await finish(funded, gold);
  const fees = (await funded.books()).fees;
  await funded.anvil.mine(3);
  await restoreRealm(funded.realm);
  await haltRealm(funded.realm);
  const [report] = await reconcile(funded.realm);
  deepEqual([report.lifted, report.obstacles, report.taken.map((one) => one.purpose)], [
    true,
    [],
    ["deploy"],
  ]);
  deepEqual(await finish(funded, gold), before);
  equal((await funded.books()).fees, fees);
  equal((await finish(funded, silver))[0], "deployed");
  equal(await nonceOf(funded), 2);
  deepEqual(await rowsOf(funded.realm, "select * from deposits where asset <> 'ETH'"), []);
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
});
