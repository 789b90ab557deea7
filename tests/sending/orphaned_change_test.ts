import { deepEqual, equal, match, ok } from "node:assert/strict";
import { COIN, LITECOIN, type UtxoRamp } from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { cancel, crashAt, pay, speedUp } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxo } from "../support/sharing_utxo.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";

const ignore = !hasLitecoind();
const testCoins = sharingUtxoRamp("LTC: coins of one ramp", LITECOIN, ignore);
/** A test ends what it asks for, and nobody else spends its coins. */
const test = sharingUtxo("LTC: change that no block has in one realm", LITECOIN, ignore);

test("change of a replaced transaction is never spent; a withdrawal that waits for it is paid once", async ({ funded }) => {
  await funded.fund(5n * COIN);
  const [one, other] = [await newParty("LITECOIN"), await newParty("LITECOIN")];
  const first = await pay(funded, one.address, "1", { fee: { speed: "slow" } });
  await funded.advance();
  equal((await speedUp(funded, first)).status, 200);
  await funded.advance();
  equal((await unmade(funded)).length, 2, "change of either may come to be");
  const second = await pay(funded, other.address, "1");
  for (let round = 0; round < 3; round++) await funded.advance();
  const [waiting] = await ordersOf(funded, second);
  deepEqual([waiting.state, waiting.made], ["new", 0]);
  match(waiting.error!, /0 coins hold 0 base units/);
  const rows = await funded.ended([first, second]);
  deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
  deepEqual(await funded.held(one.address), [COIN]);
  deepEqual(await funded.held(other.address), [COIN]);
  deepEqual(await unmade(funded), []);
  await funded.agree();
});

test("a transaction whose change is being spent is not replaced, and both are paid", async ({ funded }) => {
  await funded.fund(5n * COIN);
  const [one, other] = [await newParty("LITECOIN"), await newParty("LITECOIN")];
  const first = await pay(funded, one.address, "1", { fee: { speed: "slow" } });
  await funded.advance();
  const second = await pay(funded, other.address, "1");
  await funded.advance();
  equal((await funded.node.rpc<string[]>("getrawmempool")).length, 2);
  equal((await speedUp(funded, first)).status, 200);
  await funded.advance();
  const [kept] = await ordersOf(funded, first);
  equal(kept.made, 1);
  match(kept.error!, /its change is being spent/);
  const rows = await funded.ended([first, second]);
  deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
  await funded.agree();
});

test("a replacement and a payment on the change that it would take away: each is paid once", async ({ funded }) => {
  await funded.fund(9n * COIN);
  for (let round = 0; round < 4; round++) {
    const [one, other] = [await newParty("LITECOIN"), await newParty("LITECOIN")];
    const first = await pay(funded, one.address, "1", { fee: { speed: "slow" } });
    await funded.advance();
    equal((await speedUp(funded, first)).status, 200);
    const second = await pay(funded, other.address, "0.5");
    await Promise.all([funded.advance(), funded.advance()]);
    const rows = await funded.ended([first, second]);
    deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
    deepEqual(await funded.held(one.address), [COIN]);
    deepEqual(await funded.held(other.address), [COIN / 2n]);
  }
  deepEqual(await unmade(funded), []);
  await funded.agree();
});

for (const count of [1, 3]) {
  const what = count === 1 ? "a payment" : "a batch";
  testCoins(
    `${what} on change that will never exist is planned anew with other coins, and paid once`,
    async (funded) => {
      await funded.fund(5n * COIN);
      const first = await pay(funded, (await newParty("LITECOIN")).address, "1");
      await funded.advance();
      const [{ input }] = await rowsOf<{ input: string }>(
        funded.realm,
        "select input from reserved_inputs",
      );
      const to = [];
      const ids: string[] = [];
      for (let at = 0; at < count; at++) {
        to.push((await newParty("LITECOIN")).address);
        ids.push(await pay(funded, to[at], "0.3"));
      }
      await funded.advance();
      await funded.advance();
      equal((await funded.node.rpc<string[]>("getrawmempool")).length, 2);
      await funded.rob((await newParty("LITECOIN")).address, input);
      await funded.release();
      await funded.fund(3n * COIN);
      const rows = await funded.ended([first, ...ids]);
      deepEqual(rows.map(({ status }) => status), ["FAILED", ...Array(count).fill("DONE")]);
      for (const address of to) deepEqual(await funded.held(address), [COIN * 3n / 10n]);
      deepEqual(await rowsOf(funded.realm, "select input from reserved_inputs"), []);
      deepEqual(await unmade(funded), []);
    },
  );
}

test("a signed order whose change is spent cannot be canceled; any other is, and its change with it", async ({ funded }) => {
  await funded.fund(5n * COIN);
  const stopped = await pay(funded, (await newParty("LITECOIN")).address, "1");
  ok((await crashAt(funded, "stored")).done);
  equal((await unmade(funded)).length, 1);
  equal((await cancel(funded, stopped)).body.status, "CANCELED");
  deepEqual(await unmade(funded), []);
  const first = await pay(funded, (await newParty("LITECOIN")).address, "1");
  ok((await crashAt(funded, "stored")).done);
  const second = await pay(funded, (await newParty("LITECOIN")).address, "1");
  const [, { version, order }] = await rowsOf<{ order: string; version: number }>(
    funded.realm,
    "select id as order, schedule_version as version from chain_orders where state in ('signed', 'new') order by id",
  );
  await funded.advanceOne({ order, version });
  equal((await cancel(funded, first)).body.code, "withdrawal.not_cancelable");
  const rows = await funded.ended([first, second]);
  deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
  await funded.agree();
});

testCoins("a third party's coin is spent only at the depth of a deposit", async (funded) => {
  await funded.fund(2n * COIN, 3n * COIN);
  const id = await pay(funded, (await newParty("LITECOIN")).address, "1");
  await rowsOf(funded.realm, "update coins set height = height + 1"); // one block deep
  await funded.advance();
  const [waiting] = await ordersOf(funded, id);
  equal(waiting.made, 0);
  await funded.node.mine();
  await funded.advance();
  ok((await funded.withdrawal(id)).chain.hash);
});

/** Change of the ramp that no block has shown. */
async function unmade({ realm, ramp }: UtxoRamp): Promise<unknown[]> {
  return await rowsOf(realm, "select hash from coins where height is null and ramp = $1", [ramp]);
}

async function ordersOf(funded: UtxoRamp, withdrawal: string) {
  return await rowsOf<{ state: string; error: string | null; made: number }>(
    funded.realm,
    `select state, error, (select count(*)::integer from order_attempts c
        where c.order_id = o.id) as made
      from chain_orders o where reference_id = '${withdrawal}'`,
  );
}
