import { deepEqual, equal, match } from "node:assert/strict";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { COIN, openUtxoRamp, UTXO_CHAINS } from "../support/utxo_fixture.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const MANY = 700;
/** As many coins as fit one transaction of Dogecoin. */
const FITTING = 641;

Deno.test({
  name:
    "DOGE: a withdrawal that needs more coins than fit one transaction is refused with the remedy, and one of as many is paid",
  ignore: !hasLitecoind(),
  fn: async () => {
    const chain = UTXO_CHAINS.find(({ asset }) => asset === "DOGE")!;
    await using funded = await openUtxoRamp(chain);
    await funded.fund(...Array(MANY).fill(COIN / 2n));
    const { send } = funded.realm.admin;
    const to = (await newParty("DOGECOIN")).address;
    const ask = async (value: string) => {
      await funded.quote();
      const source = { account: funded.ramp };
      return await send("POST", "/v1/withdrawals", { source, destination: { address: to }, value });
    };
    const refused = await ask("330");
    deepEqual([refused.status, refused.body.code], [409, "ramp.assets_insufficient"]);
    match(refused.body.detail, /641 largest coins.*consolidate/);
    const { status, body: { id } } = await ask(`${(FITTING - 5) / 2}`);
    equal(status, 201);
    const [done] = await funded.ended([id]);
    equal(done.status, "DONE", JSON.stringify(done));
    deepEqual(await funded.held(to), [BigInt(FITTING - 5) * COIN / 2n]);
    await funded.agree();
  },
});
