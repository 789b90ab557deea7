/** Withdrawals on a real Solana node: paid once, however their transactions expire and workers end. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { openSolanaRamp, outsider } from "../support/solana_fixture.ts";
import { rowsOf } from "../support/realm.ts";

Deno.test("a withdrawal of a token on Solana is paid, and costs what the chain took", async () => {
  await using ramp = await openSolanaRamp();
  const to = outsider();
  const { status, body, text } = await ramp.withdraw("5", { destination: { address: to } });
  equal(status, 201, text);
  const done = await ramp.finish(body.id);
  equal(done.status, "DONE", JSON.stringify(done));
  equal(await ramp.token.held(to), 5_000_000n);
  const [order] = await rowsOf<{ fee: string; nonce: number | null }>(
    ramp.realm,
    "select fee, nonce from chain_orders",
  );
  ok(BigInt(order.fee) > 2_000_000n);
  deepEqual(order.nonce, null);
});
