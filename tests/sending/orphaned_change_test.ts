import { deepEqual, equal, match, ok } from "node:assert/strict";
import { COIN, type CoinDesk, LITECOIN, openCoinDesk } from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { cancel, crashAt, pay, speedUp } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();

Deno.test({
  name: "change of a transaction that was replaced is never spent; who waits for it is paid once",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN);
    const [one, other] = [await newParty("LITECOIN"), await newParty("LITECOIN")];
    const first = await pay(desk, one.address, "1", { fee: { speed: "slow" } });
    await desk.look();
    equal((await speedUp(desk, first)).status, 200);
    await desk.look();
    equal((await unmade(desk)).length, 2, "change of either may come to be");
    const second = await pay(desk, other.address, "1");
    for (let round = 0; round < 3; round++) await desk.look();
    const [waiting] = await ordersOf(desk, second);
    deepEqual([waiting.state, waiting.made], ["new", 0]);
    match(waiting.error!, /0 coins hold 0 base units/);
    const rows = await desk.ended([first, second]);
    deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
    deepEqual(await desk.held(one.address), [COIN]);
    deepEqual(await desk.held(other.address), [COIN]);
    deepEqual(await unmade(desk), []);
    await desk.agree();
  },
});

Deno.test({
  name: "a transaction whose change is being spent is not replaced, and both are paid",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN);
    const [one, other] = [await newParty("LITECOIN"), await newParty("LITECOIN")];
    const first = await pay(desk, one.address, "1", { fee: { speed: "slow" } });
    await desk.look();
    const second = await pay(desk, other.address, "1");
    await desk.look();
    equal((await desk.node.rpc<string[]>("getrawmempool")).length, 2);
    equal((await speedUp(desk, first)).status, 200);
    await desk.look();
    const [kept] = await ordersOf(desk, first);
    equal(kept.made, 1);
    match(kept.error!, /its change is being spent/);
    const rows = await desk.ended([first, second]);
    deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
    await desk.agree();
  },
});

Deno.test({
  name: "a replacement and a payment on the change that it would take away: each is paid once",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(9n * COIN);
    for (let round = 0; round < 4; round++) {
      const [one, other] = [await newParty("LITECOIN"), await newParty("LITECOIN")];
      const first = await pay(desk, one.address, "1", { fee: { speed: "slow" } });
      await desk.look();
      equal((await speedUp(desk, first)).status, 200);
      const second = await pay(desk, other.address, "0.5");
      await Promise.all([desk.look(), desk.look()]);
      const rows = await desk.ended([first, second]);
      deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
      deepEqual(await desk.held(one.address), [COIN]);
      deepEqual(await desk.held(other.address), [COIN / 2n]);
    }
    deepEqual(await unmade(desk), []);
    await desk.agree();
  },
});

for (const count of [1, 3]) {
  const what = count === 1 ? "a payment" : "a payout";
  Deno.test({
    name: `${what} on change that will never be is made anew with other coins, and paid once`,
    ignore,
    fn: async () => {
      await using desk = await openCoinDesk(LITECOIN);
      await desk.fund(5n * COIN);
      const first = await pay(desk, (await newParty("LITECOIN")).address, "1");
      await desk.look();
      const [{ claim }] = await rowsOf<{ claim: string }>(desk.realm, "select claim from claims");
      const to = [];
      const ids: string[] = [];
      for (let at = 0; at < count; at++) {
        to.push((await newParty("LITECOIN")).address);
        ids.push(await pay(desk, to[at], "0.3"));
      }
      await desk.look();
      await desk.look();
      equal((await desk.node.rpc<string[]>("getrawmempool")).length, 2);
      await desk.rob((await newParty("LITECOIN")).address, claim);
      await desk.release();
      await desk.fund(3n * COIN);
      const rows = await desk.ended([first, ...ids]);
      deepEqual(rows.map(({ status }) => status), ["FAILED", ...Array(count).fill("DONE")]);
      for (const address of to) deepEqual(await desk.held(address), [COIN * 3n / 10n]);
      deepEqual(await rowsOf(desk.realm, "select claim from claims"), []);
      deepEqual(await unmade(desk), []);
    },
  });
}

Deno.test({
  name: "what was signed and is built on cannot be canceled; its change goes with it otherwise",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN);
    const stopped = await pay(desk, (await newParty("LITECOIN")).address, "1");
    ok((await crashAt(desk, "stored")).done);
    equal((await unmade(desk)).length, 1);
    equal((await cancel(desk, stopped)).body.status, "CANCELED");
    deepEqual(await unmade(desk), []);
    const first = await pay(desk, (await newParty("LITECOIN")).address, "1");
    ok((await crashAt(desk, "stored")).done);
    const second = await pay(desk, (await newParty("LITECOIN")).address, "1");
    const [, { look, order }] = await rowsOf<{ order: string; look: number }>(
      desk.realm,
      "select id as order, looks as look from orders where state in ('signed', 'new') order by id",
    );
    await desk.advance({ order, look });
    equal((await cancel(desk, first)).body.code, "withdrawal.not_cancelable");
    const rows = await desk.ended([first, second]);
    deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
    await desk.agree();
  },
});

Deno.test({
  name: "a stranger's coin is spent only once it is as deep as a deposit must be",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(2n * COIN, 3n * COIN);
    const id = await pay(desk, (await newParty("LITECOIN")).address, "1");
    await rowsOf(desk.realm, "update coins set height = height + 1"); // one block deep
    await desk.look();
    const [waiting] = await ordersOf(desk, id);
    equal(waiting.made, 0);
    await desk.node.mine();
    await desk.look();
    ok((await desk.withdrawal(id)).chain.hash);
  },
});

/** Change that no block has shown. */
async function unmade(desk: CoinDesk): Promise<unknown[]> {
  return await rowsOf(desk.realm, "select hash from coins where height is null");
}

async function ordersOf(desk: CoinDesk, withdrawal: string) {
  return await rowsOf<{ state: string; error: string | null; made: number }>(
    desk.realm,
    `select state, error, (select count(*)::integer from order_candidates c
        where c.order_id = o.id) as made
      from orders o where subject = '${withdrawal}'`,
  );
}
