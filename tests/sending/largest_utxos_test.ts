import { deepEqual, equal, match, ok } from "node:assert/strict";
import { COINS_MAX, lockFreeCoins } from "../../db/sending/utxos.ts";
import { COIN, LITECOIN, openUtxoRamp, type UtxoRamp } from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
const MANY = 10_000;
/** More than are spent at once. */
const REAL = 1_200;
/** Of them, so many are left that they do not hold what is asked for. */
const LEFT = 900;
const SMALL = COIN / 100n;
/** Generous: it takes a fraction of this. */
const HEAP_MAX = 64 * 2 ** 20;

Deno.test({
  name: "LTC: of 10 000 small coins the largest are spent, in bounded time and memory",
  ignore,
  fn: async (t) => {
    await using funded = await openUtxoRamp(LITECOIN);
    await funded.fund(...Array(REAL).fill(SMALL));
    await scatter(funded, MANY - REAL);
    const [{ count }] = await rowsOf<{ count: number }>(
      funded.realm,
      "select count(*)::integer as count from coins where spent_by is null",
    );
    equal(count, MANY);

    await t.step("only the largest are read and locked", async () => {
      equal(await lockedBy(funded), COINS_MAX);
    });

    await t.step(
      "a withdrawal that needs more coins than those is refused with the remedy",
      async () => {
        const answer = await ask(funded, "10.5");
        deepEqual([answer.status, answer.body.code], [409, "ramp.assets_insufficient"]);
        match(answer.body.detail, /1000 largest coins.*consolidate/);
      },
    );

    await t.step(
      "a withdrawal that comes to need more coins waits with the reason, and is paid once fewer suffice",
      async () => {
        const { body: { id } } = await ask(funded, "9.5");
        await rowsOf(
          funded.realm,
          `insert into reserved_inputs (chain, network, input, order_id, created_at)
          select chain, network, hash || ':' || index, gen_random_uuid(), now() from coins
          where amount = ${SMALL} order by hash, index limit ${REAL - LEFT}`,
        );
        await advance(funded);
        const [{ state, error }] = await rowsOf<{ state: string; error: string }>(
          funded.realm,
          "select state, error from chain_orders where purpose = 'withdrawal'",
        );
        equal(state, "new");
        match(error, /no more than 1000 coins are spent at once: consolidate them/);
        const canceled = await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
        equal(canceled.body.status, "CANCELED");
        await rowsOf(funded.realm, "delete from reserved_inputs");
      },
    );

    await t.step("withdrawals leave, one with hundreds of coins and others together", async () => {
      const to = (await newParty("LITECOIN")).address;
      const large = (await ask(funded, "5", to)).body.id;
      await advance(funded);
      await advance(funded);
      const others = [];
      for (let at = 0; at < 20; at++) others.push((await ask(funded, "0.05")).body.id);
      await advance(funded);
      await advance(funded);
      const rows = await funded.ended([large, ...others]);
      deepEqual(new Set(rows.map(({ status }) => status)), new Set(["DONE"]));
      equal(new Set(rows.map(({ chain }) => chain.hash)).size, 2);
      deepEqual(await funded.held(to), [5n * COIN]);
      const [{ spent }] = await rowsOf<{ spent: number }>(
        funded.realm,
        "select count(*)::integer as spent from coins where spent_by is not null",
      );
      ok(spent > 600, `${spent} coins were spent`);
    });
    await rowsOf(funded.realm, "delete from coins where hash like 'made up%'");
    await funded.agree();
  },
});

/** Adds rows of coins too small to be taken, that are on no chain. */
async function scatter(funded: UtxoRamp, count: number): Promise<void> {
  await rowsOf(
    funded.realm,
    `insert into coins (chain, network, hash, index, address, ramp, amount, height, created_at)
      select chain, network, 'made up ' || n, 0, address, ramp, 10000 + n % 7, height, now()
      from (select * from coins limit 1) as one, generate_series(1, ${count}) as n`,
  );
}

/** How many coins a plan keeps others from. */
async function lockedBy({ realm, address }: UtxoRamp): Promise<number> {
  return await realm.command(async (tx) => {
    const of = { chain: "LITECOIN", network: "regtest", address, head: 1e6, settled: 1e6 };
    const coins = await lockFreeCoins(tx, of, COINS_MAX);
    deepEqual(coins.map(({ amount }) => BigInt(amount)), Array(COINS_MAX).fill(SMALL));
    const free = await rowsOf(realm, "select hash from coins for update skip locked");
    return MANY - free.length;
  });
}

async function ask(funded: UtxoRamp, value: string, to?: string) {
  await funded.quote();
  return await funded.realm.admin.send("POST", "/v1/withdrawals", {
    source: { account: funded.ramp },
    destination: { address: to ?? (await newParty("LITECOIN")).address },
    value,
  });
}

/** Runs open orders, each in bounded memory. */
async function advance(funded: UtxoRamp): Promise<void> {
  const heap = Deno.memoryUsage().heapUsed;
  await funded.advance();
  ok(Deno.memoryUsage().heapUsed - heap < HEAP_MAX);
}
