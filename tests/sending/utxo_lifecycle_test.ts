import { deepEqual, equal, ok } from "node:assert/strict";
import { startBcash } from "../support/nodes/bcash.ts";
import { COIN, hurry, LITECOIN, openUtxoRamp, UTXO_CHAINS } from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();

for (const utxo of UTXO_CHAINS) {
  Deno.test({
    name: `${utxo.asset}: a deposit is swept to the ramp, and withdrawals are paid from it`,
    ignore: ignore && utxo.start !== startBcash,
    fn: async () => {
      await using funded = await openUtxoRamp(utxo);
      await funded.deposit(9n * COIN);
      await funded.until(async () => (await funded.account(funded.virtual)).balance.total !== "0");
      const { total } = (await funded.account(funded.virtual)).balance;
      ok(/^8\.9/.test(total), total);
      await funded.quote();
      const [one, two] = [await newParty(utxo.id), await newParty(utxo.id)];
      const paid = [
        await funded.withdraw(one.address, "1.25"),
        await funded.withdraw(two.address, "2.5"),
      ];
      await funded.until(async () => {
        const rows = [await funded.withdrawal(paid[0]), await funded.withdrawal(paid[1])];
        return rows.every(({ status }) => status === "DONE");
      });
      deepEqual(await funded.held(one.address), [125_000_000n]);
      deepEqual(await funded.held(two.address), [250_000_000n]);
      await funded.node.mine();
      await funded.follow();
      const left = (await funded.account(funded.ramp)).balance.assets;
      ok(/^5\.[12]/.test(left), `the ramp holds ${left}`);
      const deposits = await rowsOf(funded.realm, "select id from deposits");
      equal(deposits.length, 1, "change and sweeps are no deposits");
    },
  });
}

Deno.test({
  name: "LTC: a withdrawal that is sped up is paid once, by its replacement",
  ignore,
  fn: async () => {
    await using funded = await openUtxoRamp(LITECOIN);
    await funded.deposit(9n * COIN);
    await funded.until(async () => (await funded.account(funded.virtual)).balance.total !== "0");
    await funded.quote();
    const to = await newParty("LITECOIN");
    const id = await funded.withdraw(to.address, "1", { fee: { speed: "slow" } });
    await hurry(funded.realm);
    await funded.follow();
    const [first] = await funded.node.rpc<string[]>("getrawmempool");
    const answer = await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
      speed: "fast",
    });
    ok(answer.status < 300, answer.text);
    await hurry(funded.realm);
    await funded.follow();
    const waiting = await funded.node.rpc<string[]>("getrawmempool");
    equal(waiting.length, 1);
    ok(waiting[0] !== first, "it was not replaced");
    await funded.until(async () => (await funded.withdrawal(id)).status === "DONE");
    equal((await funded.withdrawal(id)).chain.hash, waiting[0]);
    deepEqual(await funded.held(to.address), [COIN]);
    // What a block pays to its miner is neither credited nor spent before the chain lets it be spent.
    await funded.node.rpc("generatetoaddress", 1, funded.address);
    const reward = async () => {
      const found = "select status from deposits where matures_at is not null";
      return (await rowsOf<{ status: string }>(funded.realm, found))[0]?.status;
    };
    await funded.node.mine(3);
    await funded.until(async () => await reward() === "PENDING");
    await funded.quote();
    const [next] = await funded.ended([await funded.withdraw(to.address, "1")]);
    deepEqual([next.status, await reward()], ["DONE", "PENDING"]);
    await funded.node.mine(100);
    await funded.until(async () => await reward() === "CONFIRMED");
  },
});
