import { deepEqual, equal, ok } from "node:assert/strict";
import { startBcash } from "../support/nodes/bcash.ts";
import { COIN, hurry, LITECOIN, openCoinDesk, PLAYS } from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();

for (const play of PLAYS) {
  Deno.test({
    name: `${play.asset}: a deposit is swept to the ramp, and withdrawals are paid from it`,
    ignore: ignore && play.start !== startBcash,
    fn: async () => {
      await using desk = await openCoinDesk(play);
      await desk.deposit(9n * COIN);
      await desk.until(async () => (await desk.account(desk.virtual)).balance.total !== "0");
      const { total } = (await desk.account(desk.virtual)).balance;
      ok(/^8\.9/.test(total), total);
      await desk.quote();
      const [one, two] = [await newParty(play.id), await newParty(play.id)];
      const paid = [
        await desk.withdraw(one.address, "1.25"),
        await desk.withdraw(two.address, "2.5"),
      ];
      await desk.until(async () => {
        const rows = [await desk.withdrawal(paid[0]), await desk.withdrawal(paid[1])];
        return rows.every(({ status }) => status === "DONE");
      });
      deepEqual(await desk.held(one.address), [125_000_000n]);
      deepEqual(await desk.held(two.address), [250_000_000n]);
      await desk.node.mine();
      await desk.follow();
      const left = (await desk.account(desk.ramp)).balance.assets;
      ok(/^5\.[12]/.test(left), `the ramp holds ${left}`);
      const deposits = await rowsOf(desk.realm, "select id from deposits");
      equal(deposits.length, 1, "change and sweeps are no deposits");
    },
  });
}

Deno.test({
  name: "LTC: a withdrawal that is sped up is paid once, by its replacement",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.deposit(9n * COIN);
    await desk.until(async () => (await desk.account(desk.virtual)).balance.total !== "0");
    await desk.quote();
    const to = await newParty("LITECOIN");
    const id = await desk.withdraw(to.address, "1", { fee: { speed: "slow" } });
    await hurry(desk.realm);
    await desk.follow();
    const [first] = await desk.node.rpc<string[]>("getrawmempool");
    const answer = await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
      speed: "fast",
    });
    ok(answer.status < 300, answer.text);
    await hurry(desk.realm);
    await desk.follow();
    const waiting = await desk.node.rpc<string[]>("getrawmempool");
    equal(waiting.length, 1);
    ok(waiting[0] !== first, "it was not replaced");
    await desk.until(async () => (await desk.withdrawal(id)).status === "DONE");
    equal((await desk.withdrawal(id)).chain.hash, waiting[0]);
    deepEqual(await desk.held(to.address), [COIN]);
  },
});
