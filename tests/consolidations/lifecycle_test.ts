import { deepEqual, equal, match, ok } from "node:assert/strict";
import { compare } from "../../domain/money.ts";
import { startBcash } from "../support/nodes/bcash.ts";
import { COIN, LITECOIN, UTXO_CHAINS } from "../support/utxo_fixture.ts";
import {
  agrees,
  beginConsolidation,
  consolidatedOnce,
  consolidating,
  type ConsolidatingRamp,
  feesOf,
  openConsolidation,
} from "../support/consolidation_fixture.ts";
import { depthOf, mineInstead } from "../support/lost_coins.ts";
import { hasLitecoind, startLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxo } from "../support/sharing_utxo.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
const MANY = 700;
const test = sharingUtxo("consolidations of Litecoin", LITECOIN, ignore);

test("LTC: 700 small coins become one; ledger, chain and solvency agree to the last unit", async ({ funded }) => {
  await using fixture = await consolidating(LITECOIN, funded);
  await fixture.fund(...Array.from({ length: MANY }, (_, at) => 100_000n + BigInt(at)));
  equal((await fixture.coins()).length, MANY);
  const tried = await fixture.consolidate({}, "?dry_run=true");
  equal(tried.status, 201, tried.text);
  const made = await fixture.consolidate();
  equal(made.status, 201, made.text);
  const { coins, amount, estimate, status, fee } = made.body;
  deepEqual({ coins, amount, estimate }, {
    coins: tried.body.coins,
    amount: tried.body.amount,
    estimate: tried.body.estimate,
  });
  deepEqual({ coins, status, fee }, { coins: MANY, status: "PROCESSING", fee: null });
  const done = await fixture.finish(made.body.id);
  deepEqual([done.status, done.coins, done.amount], ["DONE", MANY, amount]);
  equal(done.chain.confirmations, 2);
  ok(compare(done.fee, estimate) <= 0, `${done.fee} is above ${estimate}`);
  equal(await feesOf(fixture), `-${done.fee}`);
  await consolidatedOnce(fixture);
  const mined = await fixture.node.rpc<{ vin: unknown[]; vsize: number }>(
    "getrawtransaction",
    done.chain.hash,
    true,
    await fixture.node.rpc("getblockhash", done.chain.block),
  );
  equal(mined.vin.length, MANY);
  ok(mined.vsize < 100_000);
});

for (const utxo of UTXO_CHAINS.filter((one) => one !== LITECOIN)) {
  Deno.test({
    name: `${utxo.asset}: small coins become one; ledger, chain and solvency agree`,
    ignore: ignore && utxo.start !== startBcash,
    fn: async () => {
      await using fixture = await openConsolidation(utxo, COIN, 2n * COIN, 3n * COIN, 4n * COIN);
      const done = await fixture.finish(fixture.id);
      deepEqual([done.status, done.coins, done.amount], ["DONE", 4, "10"]);
      await consolidatedOnce(fixture);
    },
  });
}

test("a withdrawal that wants the same coins waits for the one that was made of them", async ({ funded }) => {
  await using fixture = await beginConsolidation(
    await consolidating(LITECOIN, funded),
    COIN,
    COIN,
    COIN,
  );
  const { id } = fixture;
  await fixture.advance();
  const to = (await newParty("LITECOIN")).address;
  const made = await withdraw(fixture, to);
  equal(made.status, 201, made.text);
  await fixture.advance();
  const [{ state, error }] = await rowsOf<{ state: string; error: string }>(
    fixture.realm,
    "select state, error from chain_orders where purpose = 'withdrawal' and ramp = $1",
    [fixture.ramp],
  );
  equal(state, "new");
  match(error, /0 coins hold 0 base units/);
  equal((await fixture.finish(id)).status, "DONE");
  await finishWithdrawal(fixture, made.body.id);
  await fixture.mine();
  await agrees(fixture);
});

test("planned at once, a withdrawal and a consolidation share no coin", async ({ funded }) => {
  await using fixture = await consolidating(LITECOIN, funded);
  await fixture.fund(COIN, COIN, COIN, 2n * COIN);
  const to = (await newParty("LITECOIN")).address;
  const { body: { id } } = await fixture.consolidate();
  const made = await withdraw(fixture, to);
  await Promise.all([fixture.advance(), fixture.advance(), fixture.advance()]);
  const shared = await rowsOf(
    fixture.realm,
    `select input from order_attempts c join chain_orders o on o.id = c.order_id,
        unnest(c.inputs) input where o.ramp = $1 group by input having count(*) > 1`,
    [fixture.ramp],
  );
  deepEqual(shared, []);
  equal((await fixture.finish(id)).status, "DONE");
  await finishWithdrawal(fixture, made.body.id);
  await fixture.mine();
  await agrees(fixture);
});

function withdraw(fixture: ConsolidatingRamp, address: string) {
  const source = { account: fixture.ramp };
  const body = { source, destination: { address }, value: "0.5" };
  return fixture.realm.admin.send("POST", "/v1/withdrawals", body);
}

async function finishWithdrawal(fixture: ConsolidatingRamp, id: string): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const { body } = await fixture.realm.admin.send("GET", `/v1/withdrawals/${id}`);
    if (body.status === "DONE") return;
    equal(body.status, "PROCESSING", JSON.stringify(body.error));
    await fixture.advance();
    await fixture.mine();
  }
  throw new Error("the withdrawal does not end");
}

test("only settled coins are taken, and none that costs more than it holds", async ({ funded }) => {
  await using fixture = await consolidating(LITECOIN, funded);
  await fixture.fund(COIN, 2n * COIN);
  const young = await fixture.node.pay([{ script: fixture.script, amount: 3n * COIN }]);
  await fixture.mine();
  await bulkOfDust(fixture);
  const { body } = await fixture.consolidate();
  deepEqual([body.coins, body.amount], [2, "3"]);
  // The chain has no such dust, and a ramp of which coins are gone signs nothing.
  await fixture.realm.command((tx) => tx`delete from coins where amount < 100`);
  const done = await fixture.finish(body.id);
  deepEqual([done.status, done.coins, done.amount], ["DONE", 2, "3"]);
  const coins = await fixture.node.coins(fixture.script);
  deepEqual(coins.map(({ hash }) => hash).sort(), [young, done.chain.hash].sort());
});

test("a consolidation spends no more coins than its answer said, and so costs no more", async ({ funded }) => {
  await using fixture = await consolidating(LITECOIN, funded);
  await fixture.fund(COIN, COIN, COIN);
  const { body: { estimate } } = await fixture.consolidate({}, "?dry_run=true");
  const made = await fixture.consolidate({ max_fee: estimate });
  equal(made.body.coins, 3);
  const late = [COIN / 2n, COIN / 2n].map((amount) => ({ script: fixture.script, amount }));
  await fixture.node.pay(late);
  await fixture.mine(3);
  const done = await fixture.finish(made.body.id);
  deepEqual([done.status, done.coins, done.amount], ["DONE", 3, "2"]);
  equal((await fixture.coins()).length, 3);
});

/** Ten thousand coins of the ramp that are worth less than they cost; no node would pass them on. */
async function bulkOfDust(fixture: ConsolidatingRamp): Promise<void> {
  await fixture.realm.command((tx) =>
    tx`
      insert into coins (chain, network, hash, index, address, ramp, amount, height, created_at)
      select 'LITECOIN', 'regtest', lpad(to_hex(n), 64, '0'), 0, ${fixture.address}, ${fixture.ramp},
        1 + n % 60, 1, now()
      from generate_series(1, 10000) n`
  );
}

test("a replacement above the ceiling is not made, and the first stays", async ({ funded }) => {
  await using fixture = await beginConsolidation(
    await consolidating(LITECOIN, funded),
    COIN,
    COIN,
    COIN,
  );
  const { id } = fixture;
  await fixture.advance();
  const { chain: first } = await fixture.read(id);
  await rowsOf(
    fixture.realm,
    "update chain_orders set speed = 'fast', replace = true where ramp = $1",
    [fixture.ramp],
  );
  await fixture.advance();
  const [{ error }] = await rowsOf<{ error: string }>(
    fixture.realm,
    "select error from chain_orders where ramp = $1",
    [fixture.ramp],
  );
  match(error, /above/);
  const done = await fixture.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", first.hash]);
  await consolidatedOnce(fixture);
});

// The last: what is mined in the end costs less than is booked, so the realm's books and the chain differ from then on.
test("a consolidation is sped up within its ceilings, and never above them", async ({ funded }) => {
  await using fixture = await beginConsolidation(
    await consolidating(LITECOIN, funded),
    COIN,
    COIN,
    COIN,
  );
  const { id } = fixture;
  await fixture.advance();
  const { chain: first, fee } = await fixture.read(id);
  // Only the operator speeds it up, however long it is stuck.
  await rowsOf(fixture.realm, "update chain_orders set created_at = now() - interval '3 hours'");
  await fixture.advance();
  equal((await fixture.read(id)).chain.hash, first.hash);
  const path = `/v1/accounts/${fixture.ramp}/consolidations/${id}/speed-up`;
  const { send } = fixture.realm.admin;
  const dear = await send("POST", path, { speed: "fast" });
  deepEqual([dear.status, dear.body.code], [409, "condition.failed"]);
  const low = await send("POST", path, { speed: "medium", max_fee: "0.0000001" });
  deepEqual([low.status, low.body.code], [409, "condition.failed"]);
  const spedUp = await send("POST", path, { speed: "fast", max_fee_rate: "0.0002" });
  equal(spedUp.status, 200, spedUp.text);
  await fixture.advance();
  const replaced = await fixture.read(id);
  ok(replaced.chain.hash !== first.hash, "it was not replaced");
  ok(replaced.fee > fee);
  const done = await fixture.finish(id);
  deepEqual([done.status, done.chain.hash], ["DONE", replaced.chain.hash]);
  await fixture.mine();
  await agrees(fixture);
  const late = await send("POST", path, { speed: "fast", max_fee_rate: "0.0002" });
  deepEqual([late.status, late.body.code], [409, "version.conflict"]);
  const [{ raw }] = await rowsOf<{ raw: string }>(
    fixture.realm,
    "select raw from order_attempts where hash = $1",
    [first.hash],
  );
  await mineInstead(fixture, await depthOf(fixture, replaced.chain.hash), raw);
  await fixture.mine(2);
  await fixture.mine();
  const { chain } = await fixture.read(id);
  deepEqual([chain.hash, chain.block <= done.chain.block], [first.hash, true], "what is mined");
});

Deno.test({
  name: "where the node takes no replacement the first is mined, and its own fee is booked",
  ignore,
  fn: async () => {
    const start = () => startLitecoind("-mempoolreplacement=0");
    await using fixture = await openConsolidation({ ...LITECOIN, start }, COIN, COIN, COIN);
    const { id } = fixture;
    await fixture.advance();
    const { chain: first, fee } = await fixture.read(id);
    const path = `/v1/accounts/${fixture.ramp}/consolidations/${id}/speed-up`;
    const options = { speed: "fast", max_fee_rate: "0.0002" };
    const { status } = await fixture.realm.admin.send("POST", path, options);
    equal(status, 200);
    await fixture.advance();
    deepEqual(await fixture.node.rpc("getrawmempool"), [first.hash]);
    const done = await fixture.finish(id);
    deepEqual([done.status, done.chain.hash, done.fee], ["DONE", first.hash, fee]);
    await fixture.mine();
    await agrees(fixture);
  },
});
