/** Payments that strangers' coins paid a part of, and that an operator calls a withdrawal's later: each is booked once. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { FEE, mineByHand, strangeCoin } from "../support/made_by_hand.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { withTwoCoins } from "../support/paying_ramp.ts";
import { crashAt, pay } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { COIN, follow, LITECOIN } from "../support/utxo_fixture.ts";

const test = sharingUtxoRamp(
  "transactions to which a stranger gave a coin",
  LITECOIN,
  !hasLitecoind(),
);

for (const share of [3n * COIN, 0n]) {
  test(
    `LTC: a payment of which a stranger paid ${
      share === 0n ? "all" : "a part"
    }, and that is called a withdrawal's later, is booked once, and costs what our coin was worth`,
    async (ramp) => {
      const funded = await withTwoCoins(ramp);
      const { realm } = funded;
      const { address: to } = await newParty("LITECOIN");
      const id = await pay(funded, to, "4");
      ok((await crashAt(funded, "stored")).done);
      const reserved = await rowsOf<{ input: string }>(realm, "select input from reserved_inputs");
      const strange = await strangeCoin(funded);
      const { address: theirs } = await newParty("LITECOIN");
      const paying = [
        { to, amount: 4n * COIN },
        { to: theirs, amount: strange.amount - 2n * COIN - FEE },
        { to, amount: COIN },
      ];
      const hash = await mineByHand(
        funded,
        strange,
        share === 0n ? [paying[1], paying[0], paying[2]] : paying,
        { kept: reserved.map(({ input }) => input) },
      );
      await haltRealm(realm);
      const [found] = await reconcile(realm);
      deepEqual(found.taken.map(({ unmatched }) => unmatched), [
        [{ to: share === 0n ? theirs : to, contract: null, amount: `${3n * COIN}` }],
      ]);
      deepEqual(found.open.map(({ withdrawal, like }) => [withdrawal, like]), [[id, hash]]);
      await follow(funded, 3);
      const claim = `update withdrawals set found_payment = 2, status = 'DONE', found_order_id =
      (select id from chain_orders where purpose = 'recovered') where id = '${id}'`;
      await rejects(realm.command((tx) => tx.unsafe(claim)), /was not paid by that/);
      const [called] = await reconcile(realm, () => Promise.resolve(true));
      deepEqual([called.lifted, called.obstacles], [true, []]);
      const row = await funded.withdrawal(id);
      deepEqual([row.status, row.chain.hash], ["DONE", hash]);
      await follow(funded, 3);
      deepEqual(await funded.held(to), [4n * COIN, COIN]);
      const books = "select system, trim_scale(total)::text as total from accounts" +
        " where system = 'fees' and asset = 'LTC'";
      const [{ total }] = await rowsOf<{ total: string }>(realm, books);
      ok(
        Number(total) > 1 && Number(total) < 1.01,
        `the amount less our coin, and its fee: ${total}`,
      );
      equal((await rowsOf(realm, "select from blocks where status = 'OPEN'")).length, 0);
      await funded.agree();
    },
  );
}
