/** Linked addresses that gain without transactions, as where a chain pays out its validators. */
import { equal } from "node:assert/strict";
import { upsertGain } from "../../db/accounts/onchain_balances.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const PLACE = { chain: "ETHEREUM", network: "testnet" };
const LINKED = "0x52908400098527886E0F7030069857D2E4169EE7";
const MAX = 100;

Deno.test("an address that somebody linked and that gains without transactions in each block fills no table", async () => {
  await using fixture = await openRampFixture();
  const { anvil, realm } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  const asked = { type: "virtual", asset: "ETH", testnet: true };
  const { id } = (await send("POST", "/v1/accounts", asked)).body;
  await realm.drain();
  await fixture.mine(2);
  equal((await send("POST", `/v1/accounts/${id}/assign/${LINKED}`)).status, 200);
  await fixture.mine(2);
  const gains = async (address: string) =>
    (await rowsOf(realm, "select 1 from unexplained_gains where address = $1", [address])).length;
  let wei = 1n;
  const gain = async (address: string) => {
    await anvil.rpc("anvil_setBalance", address, `0x${(wei++ * 10n ** 18n).toString(16)}`);
    await fixture.mine();
  };
  await gain(LINKED);
  equal(await gains(LINKED), 1);
  await realm.command(async (tx) => {
    const more = { contract: "", gained: "5", found: "0", error: "none", at: 0 };
    for (let height = -1; height > -MAX; height--) {
      const of = { address: LINKED, above: height - 1, height, searched: height - 1 };
      await upsertGain(tx, PLACE, { ...more, ...of });
    }
    await tx`update unexplained_gains set retry_at = now() + interval '1 hour'`;
  });
  for (let times = 0; times < 3; times++) await gain(LINKED);
  equal(await gains(LINKED), MAX);
  await gain(ramp.address);
  equal(await gains(ramp.address), 1, "an own one is always told");
});
