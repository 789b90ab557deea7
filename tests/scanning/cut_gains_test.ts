/** Rises that are not explained yet, when a reorganisation removes the blocks at their end. */
import { deepEqual } from "node:assert/strict";
import { cutGainsAbove, upsertGain } from "../../db/accounts/onchain_balances.ts";
import { testRealm } from "../support/realm.ts";

const PLACE = { chain: "ETHEREUM", network: "testnet" };

/** Cuts gains at block 50, and gives what is left. */
async function cutAt50(gains: readonly { address: string; above: number; height: number }[]) {
  await using realm = await testRealm();
  return await realm.command(async (tx) => {
    for (const gain of gains) {
      const { above } = gain;
      const more = { contract: "", gained: `${gain.height}`, searched: above, found: "0" };
      await upsertGain(tx, PLACE, { ...gain, ...more, error: "none", at: Date.now() });
    }
    await cutGainsAbove(tx, PLACE, 50);
    return [
      ...await tx`select address, above::integer as above, height::integer as height,
        searched::integer as searched, gained::integer as gained from unexplained_gains order by address`,
    ];
  });
}

Deno.test("of rises that end above a reorganisation's block the blocks below it stay to be searched, in one of them", async () => {
  const kept = await cutAt50([
    { address: "a", above: 40, height: 50 },
    { address: "a", above: 10, height: 60 },
    { address: "b", above: 20, height: 55 },
    { address: "b", above: 30, height: 70 },
    { address: "c", above: 50, height: 51 },
    { address: "d", above: 5, height: 45 },
  ]);
  deepEqual(kept, [
    { address: "a", above: 10, height: 50, searched: 10, gained: 60 },
    { address: "b", above: 20, height: 50, searched: 20, gained: 70 },
    { address: "d", above: 5, height: 45, searched: 5, gained: 45 },
  ]);
});
