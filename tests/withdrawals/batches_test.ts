import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { sumInFlight } from "../../db/sending/chain_orders.ts";
import { reading } from "../../db/transaction.ts";
import { type InternalMove, postMoves } from "../../domain/ledger/posting.ts";
import { toUnits } from "../../domain/money.ts";
import { divideFee } from "../../domain/withdrawals/withdrawal_batches.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { startBcash } from "../support/nodes/bcash.ts";
import { COIN, LITECOIN, openUtxoRamp, UTXO_CHAINS } from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import {
  crashAt,
  feesDivided,
  paidOnce,
  pay,
  queue,
  sizeOf,
  statesOf,
} from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";

const ignore = !hasLitecoind();
const testCoins = sharingUtxoRamp("LTC: batches of one ramp", LITECOIN, ignore);
const MANY = 25;
const UNJUSTIFIED = /nothing justifies a move of type return/;
const DISAGREES = /does not agree with what it carries|cannot become (failed|new) from/;

for (const utxo of UTXO_CHAINS.filter(({ id }) => id === "LITECOIN" || id === "BITCOIN_CASH")) {
  Deno.test({
    name: `${utxo.asset}: withdrawals made at once leave together, each a record of its own`,
    ignore: ignore && utxo.start !== startBcash,
    fn: async () => {
      await using funded = await openUtxoRamp(utxo);
      await funded.fund(3n * COIN, 3n * COIN, 3n * COIN);
      const { ids, to } = await queue(funded, utxo, MANY);
      await funded.realm.drain(); // the runner itself, many at once
      const rows = await funded.ended(ids);
      deepEqual(rows.map(({ status }) => status), Array(MANY).fill("DONE"));
      const hashes = new Set(rows.map(({ chain }) => chain.hash));
      ok(hashes.size <= 3, `${hashes.size} transactions`);
      for (const [at, address] of to.entries()) deepEqual(await funded.held(address), [sizeOf(at)]);
      await feesDivided(funded);
      await funded.agree();
    },
  });
}

testCoins(
  "LTC: the cost of a batch on its way is counted once, and the books agree at every step",
  async (funded) => {
    await funded.fund(5n * COIN);
    const { ids } = await queue(funded, LITECOIN, 4);
    const place = { chain: "LITECOIN", network: "regtest", sender: funded.address, contract: "" };
    const flying = () =>
      reading(funded.realm.pool, (db) => sumInFlight(db, place, { height: null, waiting: true }));
    const due = sizeOf(0) + sizeOf(1) + sizeOf(2) + sizeOf(3);
    equal(BigInt(await flying()), due);
    await crashAt(funded, "planned");
    deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
    const [{ fee }] = await rowsOf<{ fee: string }>(
      funded.realm,
      "select fee::text from chain_orders where purpose = 'batch'",
    );
    equal(BigInt(await flying()), due + BigInt(fee));
    await funded.advance();
    equal(BigInt(await flying()), due + BigInt(fee));
    const compared = async () => {
      await checkSolvency(funded.context);
      deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
      const [row] = await rowsOf<{ drift: string; sending: string }>(
        funded.realm,
        "select trim_scale(drift)::text as drift, sending::text from solvency",
      );
      return [row.drift, toUnits(row.sending, 8)];
    };
    const [{ charged }] = await rowsOf<{ charged: string }>(
      funded.realm,
      "select sum(charged)::text as charged from withdrawals",
    );
    deepEqual(await compared(), ["0", toUnits(charged, 8)]);
    await funded.node.mine();
    await funded.follow();
    deepEqual(await compared(), ["0", 0n]);
    await funded.ended(ids);
    equal(await flying(), "0");
    deepEqual(await compared(), ["0", 0n]);
  },
);

testCoins(
  "LTC: a withdrawal that the coins do not cover waits, and delays no other",
  async (funded) => {
    await funded.fund(2n * COIN, 30n * COIN);
    const large = await newParty("LITECOIN");
    const first = await pay(funded, large.address, "20");
    const queued = await queue(funded, LITECOIN, 5);
    const dear = await queue(funded, LITECOIN, 1, { fee: { speed: "fast" } });
    // Somebody else's for a while.
    await rowsOf(
      funded.realm,
      `insert into reserved_inputs (chain, network, input, order_id, created_at)
        select chain, network, hash || ':' || index, gen_random_uuid(), now() from coins
        where amount = 3000000000`,
    );
    for (let round = 0; round < 3; round++) await funded.advance();
    equal((await statesOf(funded, [first])).join(), "new");
    equal((await statesOf(funded, queued.ids)).join(), "batched,batched,batched,batched,batched");
    equal((await statesOf(funded, dear.ids)).join(), "sent", "at the speed that its user pays for");
    const waits = "select id from withdrawals where status = 'PROCESSING' and hash is null";
    deepEqual(await rowsOf(funded.realm, waits), [{ id: first }]);
    await rowsOf(
      funded.realm,
      `delete from reserved_inputs c using coins o
        where o.hash || ':' || o.index = c.input and o.amount = 3000000000`,
    );
    await funded.ended([first, ...queued.ids, ...dear.ids]);
    for (const each of [queued, dear]) await paidOnce(funded, each);
    deepEqual(await funded.held(large.address), [20n * COIN]);
    await funded.agree();
  },
);

testCoins("LTC: the database enforces the rules of a batch's orders too", async (funded) => {
  await funded.fund(5n * COIN);
  const { ids } = await queue(funded, LITECOIN, 3);
  await crashAt(funded, "planned");
  const orphan = "update chain_orders set batch_order_id = null where state = 'batched'";
  await rejects(rowsOf(funded.realm, orphan), /chain_orders_batched/);
  const loose = "update chain_orders set state = 'new' where state = 'batched'";
  await rejects(rowsOf(funded.realm, loose), DISAGREES);
  const fewer = `update chain_orders set state = 'new', batch_order_id = null
      where reference_id = '${ids[0]}'`;
  await rejects(rowsOf(funded.realm, fewer), DISAGREES);
  const strange = `update chain_orders set batch_order_id = id where reference_id = '${ids[0]}'`;
  await rejects(rowsOf(funded.realm, strange), DISAGREES);
  const ended = "update chain_orders set state = 'failed' where purpose = 'batch'";
  await rejects(rowsOf(funded.realm, ended), DISAGREES);
  const alone = `update chain_orders set state = 'failed' where reference_id = '${ids[0]}'`;
  await rejects(rowsOf(funded.realm, alone), DISAGREES);
  const unshared = `update chain_orders set state = 'failed'
      where purpose = 'batch' or state = 'batched'`;
  await rejects(rowsOf(funded.realm, unshared), DISAGREES);
  const empty =
    `insert into chain_orders (id, chain, network, ramp, purpose, sender, request, budget,
        created_at)
      select gen_random_uuid(), chain, network, ramp, 'batch', sender, request, budget, now()
      from chain_orders where purpose = 'batch'`;
  await rejects(rowsOf(funded.realm, empty), DISAGREES);
});

testCoins(
  "LTC: of charges that come back together the database gives each back once",
  async (funded) => {
    await funded.deposit(10n * COIN);
    const swept = "select from chain_orders where purpose = 'sweep' and state = 'done'";
    await funded.until(async () => (await rowsOf(funded.realm, swept)).length > 0);
    const { realm, virtual } = funded;
    const { ids } = await queue(funded, LITECOIN, 3, { source: { account: virtual } });
    const actor = { ...realm.admin.actor, at: Date.now() };
    const charges = await rowsOf<{ id: string; ramp: string; charged: string }>(
      realm,
      "select id, ramp, trim_scale(charged)::text as charged from withdrawals order by id",
    );
    deepEqual(charges.map(({ id }) => id), ids.toSorted());
    const back = (at: number, amount = charges[at].charged) => ({
      ...{ type: "return" as const, source: charges[at].ramp, destination: virtual, amount },
      data: { withdrawal: charges[at].id },
    });
    class Undone extends Error {}
    const give = (moves: InternalMove[]) =>
      realm.command(async (tx) => {
        await tx`update chain_orders set state = 'canceled' where purpose = 'withdrawal'`;
        await tx`update blocks set status = 'RELEASED' where status = 'OPEN'`;
        await postMoves(tx, actor, moves);
        throw new Undone();
      }, { lockLedger: true });
    await rejects(give([back(0), back(1), back(2)]), Undone);
    await rejects(give([back(0), back(1), back(1)]), UNJUSTIFIED, "one of them twice");
    await rejects(give([back(0), back(1, "9")]), UNJUSTIFIED, "more than its charge");
    const nobody = { ...back(1), data: { withdrawal: crypto.randomUUID() } };
    await rejects(give([back(0), nobody]), UNJUSTIFIED, "of no withdrawal");
    await rejects(give([back(0), { ...back(1), destination: funded.ramp }]), UNJUSTIFIED);
  },
);

Deno.test("a fee is divided among a batch's members to the last base unit", () => {
  for (const [fee, members] of [[0n, 3], [1n, 3], [1_000n, 7], [999_999_999_999n, 100]] as const) {
    const shares = divideFee(fee, members);
    equal(shares.length, members);
    equal(shares.reduce((sum, share) => sum + share, 0n), fee);
    ok(shares[0] - shares[members - 1] <= 1n);
  }
});
