/** A node that tells less of a balance than is there leaves no gain behind that nothing can ever explain. */
import { deepEqual, equal } from "node:assert/strict";
import { rowsOf } from "../support/realm.ts";
import { openTronRamp } from "../support/tron_ramp.ts";
import { TRX } from "../support/nodes/tron/client.ts";
import type { TronSurface } from "../support/nodes/tron/surface.ts";
import { toHex } from "../support/nodes/tron/wallet.ts";

for (const [when, earlier] of [["before", 7n], ["when", 0n]] as const) {
  Deno.test(`a balance that one of two nodes tells too low on Tron is no gain when the other tells it (first read ${when} it came)`, async () => {
    let lagging: TronSurface | null = null;
    const urls = (node: { readonly url: string; peer(): TronSurface }) => {
      lagging = node.peer();
      return [node.url, lagging.url];
    };
    await using fixture = await openTronRamp({ lag: 1, urls });
    const { node, realm } = fixture;
    const ramp = await fixture.ramp("TRON");
    if (earlier > 0n) {
      await node.pay(ramp.address, earlier * TRX);
      await fixture.mine(3);
      await fixture.mine();
    }
    const balance = earlier === 0n ? {} : { balance: earlier * TRX };
    lagging!.trick = ({ path, body }) =>
      path === "walletsolidity/getaccount" && body.address === toHex(ramp.address)
        ? { address: toHex(ramp.address), ...balance }
        : undefined;
    await node.pay(ramp.address, 20n * TRX);
    for (let round = 0; round < 6; round++) await fixture.mine();
    lagging!.trick = () => undefined;
    for (let round = 0; round < 4; round++) await fixture.mine();
    const { balance: { total, assets } } = await fixture.account(ramp.id);
    deepEqual([total, assets], [`${20n + earlier}`, `${20n + earlier}`]);
    deepEqual(await rowsOf(realm, "select address, gained from unexplained_gains"), []);
    const { body } = await realm.admin.send("GET", "/v1/chains");
    equal(body.find((one: { chain: string }) => one.chain === "TRON").unexplained, 0);
  });
}
