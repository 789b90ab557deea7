/** A batch in a dump that the newer database undid, for tests of restored databases. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { keepRealm, restoreRealm } from "./installation.ts";
import { withTwoCoins } from "./paying_ramp.ts";
import { cancel, crashAt, queue, statesOf } from "./pending_withdrawals.ts";
import { rowsOf } from "./realm.ts";
import { LITECOIN, type UtxoRamp } from "./utxo_fixture.ts";

/** A restored ramp, and what the lost database did with the two withdrawals of a batch. */
export interface OvertakenBatch extends UtxoRamp {
  /** It was canceled. */
  readonly dropped: string;
  /** It was paid alone, out of another coin than those of the batch. */
  readonly paid: string;
  /** To whom both were to be paid. */
  readonly to: readonly string[];
  /** Gives the payment to the node. */
  send(): Promise<void>;
}

/**
 * Restores a dump in which a batch of two had got so far.
 *
 * @param late the node does not have the payment yet
 */
export async function overtakeBatch(
  ramp: UtxoRamp,
  step: "planned" | "stored",
  late = false,
): Promise<OvertakenBatch> {
  const funded = await withTwoCoins(ramp);
  const { realm } = funded;
  const { ids: [dropped, paid], to } = await queue(funded, LITECOIN, 2);
  if (step === "stored") await funded.advance();
  ok((await crashAt(funded, step)).done);
  deepEqual(await statesOf(funded, [dropped, paid]), ["batched", "batched"]);
  const chosen = await rowsOf<{ input: string }>(realm, "select input from reserved_inputs");
  await keepRealm(realm);
  equal((await cancel(funded, dropped)).status, 200);
  for (const { input } of chosen) {
    await realm.command((tx) =>
      tx`insert into reserved_inputs (chain, network, input, order_id, created_at)
        values ('LITECOIN', 'regtest', ${input}, gen_random_uuid(), now())`
    );
  }
  if (late) ok((await crashAt(funded, "sending")).done);
  else await funded.advance();
  deepEqual(await statesOf(funded, [paid]), ["sent"]);
  const sent = "select raw from order_attempts where sent_at is not null";
  const [{ raw }] = await rowsOf<{ raw: string }>(realm, sent);
  await restoreRealm(realm);
  const send = async () => void await funded.node.rpc("sendrawtransaction", raw);
  return { ...funded, dropped, paid, to, send };
}
