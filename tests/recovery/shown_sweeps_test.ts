/** Sweeps whose transactions are shown, after a reorganisation beyond the depth of their end. */
import { deepEqual, notEqual } from "node:assert/strict";
import { mineUntil } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { openSwept, rawOf, SENT, untilSent } from "../support/sent_sweeps.ts";

Deno.test("a deposit on Ethereum shows that transaction of its sweep which is mined, where a reorganisation beyond the final block mines another than the sweep ended with", async () => {
  const { fixture } = await openSwept();
  await using _ = fixture;
  const { realm, anvil } = fixture;
  const [{ hash: first }] = await rowsOf<{ hash: string }>(realm, SENT);
  await rowsOf(realm, "update chain_orders set replace = true, speed = 'fast'");
  const second = await untilSent(realm, [first]);
  notEqual(second, first);
  const fork = await anvil.rpc<string>("evm_snapshot");
  const done = "select from sweeps where state = 'done'";
  await mineUntil(fixture, async () => (await rowsOf(realm, done)).length > 0);
  const shown = async () => {
    const { body } = await realm.admin.send("GET", "/v1/deposits/all");
    return body.map(({ forward }: { forward: { hash: string; status: string } }) => [
      forward.hash,
      forward.status,
    ]);
  };
  deepEqual(await shown(), [[second, "DONE"]]);
  await anvil.rpc("evm_revert", fork);
  await anvil.rpc("anvil_dropAllTransactions");
  await anvil.rpc("eth_sendRawTransaction", await rawOf(realm, first));
  await anvil.mine(70);
  for (let pass = 0; pass < 3; pass++) await fixture.poller.advance();
  deepEqual(await shown(), [[first, "DONE"]]);
});
