/** A withdrawal that was signed in a dump, and canceled and ordered anew since, for tests of restored databases. @module */
import { equal, ok } from "node:assert/strict";
import { haltRealm, keepRealm, restoreRealm } from "./installation.ts";
import { paying, type PayingRamp, withTwoCoins } from "./paying_ramp.ts";
import { cancel, crashAt, pay } from "./pending_withdrawals.ts";
import { rowsOf } from "./realm.ts";
import type { UtxoRamp } from "./utxo_fixture.ts";

/** A restored ramp in quarantine; the node has the payment that was ordered anew, in no block yet. */
export interface OrderedAnew extends PayingRamp {
  /** The payment that was ordered anew, and the coin that it spends; the withdrawal's signed bytes spend others. */
  readonly payment: { readonly hash: string; readonly input: string };
}

/** Withdraws from a ramp, and restores the dump. */
export async function orderAnew(ramp: UtxoRamp): Promise<OrderedAnew> {
  const funded = await paying(await withTwoCoins(ramp));
  const { realm, id, to } = funded;
  ok((await crashAt(funded, "stored")).done);
  const chosen = await rowsOf<{ input: string }>(realm, "select input from reserved_inputs");
  await keepRealm(realm);
  equal((await cancel(funded, id)).status, 200);
  for (const { input } of chosen) {
    await realm.command((tx) =>
      tx`insert into reserved_inputs (chain, network, input, order_id, created_at)
        values ('LITECOIN', 'regtest', ${input}, gen_random_uuid(), now())`
    );
  }
  await pay(funded, to, "1");
  await funded.advance();
  const sent = "select hash, inputs[1] as input from order_attempts where sent_at is not null";
  const [payment] = await rowsOf<{ hash: string; input: string }>(realm, sent);
  await restoreRealm(realm);
  await haltRealm(realm);
  return { ...funded, payment };
}
