/** Transactions of a lost database that contest each other, or bytes of the backup, while the chain is reorganised. */
import { deepEqual, notEqual, ok } from "node:assert/strict";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { crashAt, pay, speedUp } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { COIN, hurry, LITECOIN, openUtxoRamp, type UtxoRamp } from "../support/utxo_fixture.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
const SLOW = { fee: { speed: "slow" } };
const unpaid = () => Promise.resolve(false);

async function follow(funded: UtxoRamp, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await hurry(funded.realm);
    await funded.follow();
    await funded.node.mine();
  }
}

Deno.test({
  name:
    "LTC: a withdrawal that was signed at the dump, whose replacement was found and loses its block to the first bytes, is paid once and done",
  ignore,
  fn: async () => {
    await using funded = await openUtxoRamp(LITECOIN);
    const { realm, node } = funded;
    await funded.fund(5n * COIN, 3n * COIN);
    const { address } = await newParty("LITECOIN");
    const id = await pay(funded, address, "1", SLOW);
    ok((await crashAt(funded, "stored")).done);
    const signed = "select hash, raw from order_attempts";
    const [first] = await rowsOf<{ hash: string; raw: string }>(realm, signed);
    await keepRealm(realm);
    await funded.advance();
    deepEqual((await speedUp(funded, id)).status, 200);
    await funded.advance();
    const [{ hash }] = await rowsOf<{ hash: string }>(realm, "select hash from chain_orders");
    notEqual(hash, first.hash);
    await restoreRealm(realm);
    await haltRealm(realm);
    await node.mine();
    const [report] = await reconcile(realm, unpaid);
    deepEqual([report.lifted, report.obstacles, report.open], [true, [], []]);
    await node.reorganise(1);
    await node.rpc("generateblock", await node.rpc("getnewaddress"), [first.raw]);
    await follow(funded, 4);
    const [row] = await funded.ended([id]);
    deepEqual([row.status, row.chain.hash], ["DONE", first.hash]);
    await follow(funded, 3);
    deepEqual(await funded.held(address), [COIN]);
    await funded.agree();
  },
});
