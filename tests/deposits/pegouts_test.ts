/** Deposits that leave Litecoin's extension block (MWEB): its nodes take no spending of them for six blocks. */
import { deepEqual, equal } from "node:assert/strict";
import { type CoinNode, hasLitecoind, startLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";

/** The extension block awakes here on a local network. */
const AWAKE = 431;
/** Depth at which such coins may be spent. */
const MATURE = 6;

/** Leaves the node's wallet with no coins but some in the extension block. */
async function enterExtension(node: CoinNode, amount: number): Promise<void> {
  await node.mine(AWAKE - await node.rpc<number>("getblockcount"));
  const inside = await node.rpc<string>("getnewaddress", "", "mweb");
  await node.rpc("sendtoaddress", inside, amount);
  await node.mine(2);
  const listed = await node.rpc<{ txid: string; vout?: number }[]>("listunspent", 0);
  const outside = listed.flatMap(({ txid, vout }) => vout === undefined ? [] : [{ txid, vout }]);
  await node.rpc("lockunspent", false, outside);
}

Deno.test({
  name: "coins that left the extension block are credited and spent once nodes take their spending",
  ignore: !hasLitecoind(),
  fn: async () => {
    const start = () => startLitecoind("-vbparams=mweb:0:9999999999");
    await using ramp = await openUtxoRamp({ ...LITECOIN, start });
    const { node, realm } = ramp;
    await enterExtension(node, 20);
    await ramp.follow();
    await node.rpc("sendtoaddress", ramp.address, 5);
    const states: string[] = [];
    for (let depth = 1; depth <= MATURE; depth++) {
      await node.mine();
      await ramp.follow();
      const [{ status }] = await rowsOf<{ status: string }>(realm, "select status from deposits");
      states.push(status);
    }
    deepEqual(states, [...Array(MATURE - 1).fill("PENDING"), "CONFIRMED"]);
    await ramp.quote();
    const to = await node.rpc<string>("getnewaddress");
    const from = { source: { account: ramp.ramp } };
    const [done] = await ramp.ended([await ramp.withdraw(to, "4.9", from)]);
    equal(done.status, "DONE", JSON.stringify(done));
    await ramp.agree();
  },
});
