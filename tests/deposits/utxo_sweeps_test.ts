/** Sweeps of deposit addresses to which a stranger sends very many, or very small, coins. */
import { deepEqual, ok } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { hasLitecoind, LIKE_DOGECOIN, startLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import {
  COIN,
  LITECOIN,
  openUtxoRamp,
  type UtxoChain,
  type UtxoRamp,
} from "../support/utxo_fixture.ts";

const DOGECOIN: UtxoChain = {
  id: "DOGECOIN",
  asset: "DOGE",
  start: () => startLitecoind(...LIKE_DOGECOIN),
};
/** Most outputs that one payment of a stranger has here. */
const AT_ONCE = 500;

/** Pays coins of one size to the deposit account. */
async function payMany(
  { node, realm }: UtxoRamp,
  id: UtxoChain["id"],
  { count, amount }: { count: number; amount: bigint },
): Promise<void> {
  const [{ address }] = await rowsOf<{ address: string }>(
    realm,
    "select d.address from addresses d join accounts a on a.id = d.account where a.type = 'deposit'",
  );
  const script = (await scriptOf(id, "regtest", address)).toHex();
  for (let left = count; left > 0; left -= AT_ONCE) {
    await node.pay(Array.from({ length: Math.min(left, AT_ONCE) }, () => ({ script, amount })));
  }
}

async function totalOf(ramp: UtxoRamp): Promise<number> {
  return Number((await ramp.account(ramp.virtual)).balance.total);
}

Deno.test({
  name:
    "LTC: coins too small to be worth spending do not keep the rest of a deposit address from being swept",
  ignore: !hasLitecoind(),
  fn: async () => {
    // An input costs 13 600 at the least, and the smallest coin that nodes pass on is of 2 940.
    const start = () => startLitecoind("-minrelaytxfee=0.002");
    await using ramp = await openUtxoRamp({ ...LITECOIN, start });
    await payMany(ramp, "LITECOIN", { count: 25, amount: 2_940n });
    await ramp.deposit(200_000n);
    await ramp.until(async () => await totalOf(ramp) > 0);
    const left = "select amount::text from coins where spent_by is null and amount < 10000";
    deepEqual((await rowsOf(ramp.realm, left)).length, 25);
    await ramp.agree();
  },
});

Deno.test({
  name:
    "DOGE: more coins than one transaction spends do not keep a deposit address from being swept",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using ramp = await openUtxoRamp(DOGECOIN);
    await payMany(ramp, "DOGECOIN", { count: 720, amount: COIN / 100n });
    await ramp.deposit(100n * COIN);
    await ramp.node.mine();
    await ramp.follow();
    // One more, which is not credited yet while the sweep is decided.
    await ramp.deposit(COIN / 100n);
    await ramp.node.mine();
    await ramp.follow();
    await ramp.until(async () => await totalOf(ramp) > 100);
    const stuck = "select error from chain_orders where state = 'new'";
    ok((await rowsOf(ramp.realm, stuck)).length === 0);
    await ramp.agree();
  },
});
