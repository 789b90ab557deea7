/** In what order gains are searched that nodes do not explain. */
import { deepEqual, equal } from "node:assert/strict";
import { selectGains, upsertGain } from "../../db/accounts/onchain_balances.ts";
import { rowsOf } from "../support/realm.ts";
import { openSolanaFixture } from "../support/solana_deposit_fixture.ts";

const PLACE = { chain: "SOLANA", network: "testnet" };

Deno.test("gains of own addresses are searched before those of linked ones, however many these are and however long they wait", async () => {
  await using fixture = await openSolanaFixture();
  const own = await fixture.address((await fixture.ramp()).id);
  const due = await fixture.realm.command(async (tx) => {
    const more = { contract: "", above: 1, height: 9, gained: "5", searched: 1, found: "0" };
    const gains = ["a", "b", "c", "d", "e", "f"].map((address) => ({ address, at: 0 }));
    for (const gain of [...gains, { address: own.address, at: 0 }]) {
      await upsertGain(tx, PLACE, { ...more, ...gain, error: "none" });
    }
    await tx`update unexplained_gains set retry_at = now() - interval '1 hour'
      where address <> ${own.address}`;
    await tx`update unexplained_gains set retry_at = now() - interval '2 hours' where address = 'e'`;
    const first = await selectGains(tx, PLACE, 2);
    // What has come further goes on behind the others, and no later for it.
    const [row] = await tx<
      { tries: number }[]
    >`select tries from unexplained_gains where address = 'e'`;
    await upsertGain(tx, PLACE, { ...more, address: "e", at: 0, searched: 4, error: "none" }, true);
    const [next] = await tx<{ tries: number; due: boolean; searched: number }[]>`
      select tries, retry_at <= now() as due, searched::integer as searched
      from unexplained_gains where address = 'e'`;
    deepEqual(next, { tries: row.tries, due: true, searched: 4 });
    const second = await selectGains(tx, PLACE, 2);
    return [first, second].map((some) => some.map(({ address, own: is }) => [address, is]));
  });
  deepEqual(due[0].map(([, is]) => is), [true, false, false]);
  deepEqual([due[0][0][0], due[0][1][0]], [own.address, "e"]);
  deepEqual(due[1].map(([address]) => address === "e"), [false, false, false]);
});

Deno.test("gains of tokens that are not known any more make room for others", async () => {
  await using fixture = await openSolanaFixture();
  const { realm, mine } = fixture;
  await fixture.ramp();
  await mine();
  const more = { above: 1, height: 9, gained: "5", searched: 1, found: "0", error: "none", at: 0 };
  await realm.command(async (tx) => {
    for (const address of ["a", "b", "c", "d"]) {
      for (let times = 0; times < 2; times++) {
        await upsertGain(tx, PLACE, { ...more, address, contract: "gone" });
      }
    }
    await tx`update unexplained_gains set retry_at = now() - interval '1 hour'`;
  });
  await mine();
  const waiting = await rowsOf(realm, "select 1 from unexplained_gains where retry_at > now()");
  equal(waiting.length, 4);
});
