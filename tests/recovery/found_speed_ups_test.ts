/** Payments that were found on an EVM chain, lose their block, and pay less than the fee is by then: they are replaced by the same payment. */
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { endAt } from "../support/ended_worker.ts";
import { signCall } from "../support/evm_by_hand.ts";
import { type FundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { answered, foundAndLost, paidOut, signElsewhere } from "../support/found_payments.ts";
import { haltRealm, keepRealm, renewPrices, restoreRealm } from "../support/installation.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { driftsOf, mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { CALLS, rich } from "../support/nodes/anvil.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;
const test = sharingFundedRamp(
  "payments on Ethereum that were found and pay too little",
);
const AGED = "update chain_orders set created_at = created_at - interval '20 minutes'";
const AGED_ATTEMPTS = "update order_attempts set created_at = created_at - interval '20 minutes'";

/** Mines a block in which gas costs so many times what it did. */
async function openDear(
  funded: Pick<FundedRamp, "anvil">,
  times: bigint,
): Promise<() => Promise<void>> {
  const { baseFeePerGas } = await funded.anvil.rpc<{ baseFeePerGas: string }>(
    "eth_getBlockByNumber",
    "latest",
    false,
  );
  const dear = `0x${(BigInt(baseFeePerGas) * times).toString(16)}`;
  return async () => {
    await funded.anvil.rpc("anvil_setNextBlockBaseFeePerGas", dear);
    await funded.anvil.mine();
  };
}

async function attemptsOf(funded: Pick<FundedRamp, "realm">, purpose: string) {
  return await rowsOf<{ hash: string; raw: string; inputs: string[]; cancels: boolean }>(
    funded.realm,
    `select a.hash, a.raw, a.inputs, a.cancels from order_attempts a join chain_orders o on o.id = a.order_id
      where o.purpose = '${purpose}' order by a.attempt`,
  );
}

/** Works for a while, at that price. */
async function work(funded: FundedRamp, mine: () => Promise<void>, rounds = 6): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await funded.advance();
    await mine();
  }
}

/** Makes sure that a payment was replaced by the same one, with the same nonce, and paid once. */
async function assertReplaced(funded: FundedRamp, purpose: string, total: bigint): Promise<void> {
  const made = await attemptsOf(funded, purpose);
  equal(made.length, 2, JSON.stringify(made));
  deepEqual(made[0].inputs, made[1].inputs);
  notEqual(made[0].hash, made[1].hash);
  equal(made[1].cancels, false);
  equal(await paidOut(funded), total);
  // The first bytes can never be mined beside it.
  await funded.anvil.rpc("eth_sendRawTransaction", made[0].raw).catch(() => {});
  await funded.anvil.mine(3);
  equal(await paidOut(funded), total);
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
}

test("a payment that was found, loses its block and pays too little by then is sped up by its customer, and paid once", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  const { body: { id, fee } } = await funded.withdraw("1");
  await keepRealm(realm);
  const raw = await signElsewhere(funded);
  const report = await foundAndLost(funded, raw);
  deepEqual(report.taken.map(({ paid }) => paid.length), [1]);
  const dear = await openDear(funded, 40n);
  await dear();
  await work(funded, dear);
  equal(await paidOut(funded), 0n, "no block takes it at its price");
  await renewPrices(realm);
  const path = `/v1/withdrawals/${id}/speed-up`;
  const tried = await realm.admin.send("POST", `${path}?dry_run=true`, { speed: "fast" });
  equal(tried.status, 200, tried.text);
  const faster = await realm.admin.send("POST", path, { speed: "fast" });
  equal(faster.status, 200, faster.text);
  ok(faster.body.fee.value > fee.value);
  await work(funded, dear);
  const row = await funded.read(id);
  equal(row.status, "DONE", JSON.stringify(row));
  const made = await attemptsOf(funded, "recovered");
  equal(row.chain.hash, made[1].hash);
  await assertReplaced(funded, "recovered", ETHER);
});

test("a payment that was found and pays too little by then is replaced within its budget where others wait behind it, and each is paid once", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
  await keepRealm(realm);
  const raw = await signElsewhere(funded);
  await foundAndLost(funded, raw);
  const dear = await openDear(funded, 5n / 2n + 1n);
  await dear();
  await renewPrices(realm);
  const { body: { id: behind } } = await funded.withdraw("2", { fee: { speed: "fast" } });
  await work(funded, dear, 2);
  equal(await paidOut(funded), 0n);
  await rowsOf(realm, AGED);
  await rowsOf(realm, AGED_ATTEMPTS);
  await work(funded, dear);
  for (const one of [id, behind]) equal((await funded.read(one)).status, "DONE");
  await assertReplaced(funded, "recovered", 3n * ETHER);
});

test("a payment that was found and would cost more than its budget by then is canceled for those behind it, and given back once that is final", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  const before = await realm.balance(funded.account);
  const { body: { id, fee } } = await funded.withdraw("1", { fee: { speed: "slow" } });
  await keepRealm(realm);
  const raw = await signElsewhere(funded);
  await foundAndLost(funded, raw);
  const dear = await openDear(funded, 400n);
  await dear();
  await renewPrices(realm);
  const { body: { id: behind } } = await funded.withdraw("2", { fee: { speed: "fast" } });
  await rowsOf(realm, AGED);
  await rowsOf(realm, AGED_ATTEMPTS);
  await work(funded, dear, 3);
  equal((await funded.read(id)).status, "PROCESSING", "its nonce is not used up for good");
  await work(funded, dear);
  const rows = [await funded.read(id), await funded.read(behind)];
  deepEqual(rows.map(({ status }) => status), ["FAILED", "DONE"]);
  const made = await attemptsOf(funded, "recovered");
  deepEqual(made.map(({ cancels }) => cancels), [false, true]);
  await anvil.rpc("eth_sendRawTransaction", raw).catch(() => {});
  await anvil.mine(3);
  equal(await paidOut(funded), 2n * ETHER);
  const after = await realm.balance(funded.account);
  const left = Number(before.total) - 2 - rows[1].fee.value;
  ok(Math.abs(Number(after.total) - left) < fee.value + 1e-9, `${after.total}, of ${left}`);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("a payment that was found, that nobody here has ordered, and that pays too little by then is replaced by itself, and borne once", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  await keepRealm(realm);
  const raw = await signElsewhere(funded, () => funded.withdraw("1"));
  const report = await foundAndLost(funded, raw);
  deepEqual(report.taken.map(({ paid, unmatched }) => [paid.length, unmatched.length]), [[0, 1]]);
  const dear = await openDear(funded, 3n);
  await dear();
  await work(funded, dear, 3);
  equal((await attemptsOf(funded, "recovered")).length, 1, "it is not old yet");
  await rowsOf(realm, AGED);
  await rowsOf(realm, AGED_ATTEMPTS);
  await work(funded, dear);
  await assertReplaced(funded, "recovered", ETHER);
  const [{ total }] = await rowsOf<{ total: string }>(
    realm,
    "select trim_scale(total)::text as total from accounts where system = 'fees' and asset = 'ETH'",
  );
  match(total, /^-1\.0000/);
});

test("a payment that was found, that nobody here has ordered, and that pays too little by then is not replaced while its ramp is in quarantine", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  await keepRealm(realm);
  const raw = await signElsewhere(funded, () => funded.withdraw("1"));
  await foundAndLost(funded, raw);
  await haltRealm(realm);
  const dear = await openDear(funded, 3n);
  await dear();
  await rowsOf(realm, AGED);
  await rowsOf(realm, AGED_ATTEMPTS);
  await work(funded, dear);
  equal((await attemptsOf(funded, "recovered")).length, 1);
  await realm.command((tx) => tx`update ramps set quarantined = null`);
  await work(funded, dear);
  await assertReplaced(funded, "recovered", ETHER);
});

test("a withdrawal that was signed at the dump, whose replacement was found and loses its block, is sped up once more, and paid once", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
  await endAt("stored", funded.advance);
  await keepRealm(realm);
  const path = `/v1/withdrawals/${id}/speed-up`;
  const raw = await signElsewhere(funded, async () => {
    await funded.advance();
    equal((await realm.admin.send("POST", path, { speed: "fast" })).status, 200);
  });
  await foundAndLost(funded, raw);
  equal((await attemptsOf(funded, "withdrawal")).length, 2);
  const dear = await openDear(funded, 40n);
  await dear();
  await work(funded, dear, 3);
  equal(await paidOut(funded), 0n);
  await renewPrices(realm);
  const faster = await realm.admin.send("POST", path, { speed: "fast" });
  equal(faster.status, 200, faster.text);
  await work(funded, dear);
  equal((await funded.read(id)).status, "DONE");
  const made = await attemptsOf(funded, "withdrawal");
  deepEqual(new Set(made.flatMap(({ inputs }) => inputs)).size, 1);
  equal(made.length, 3);
  equal(await paidOut(funded), ETHER);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a sweep that was found, loses its block and pays too little by then is replaced by a smaller one, and booked once", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { id: ramp } = await fixture.ramp();
  const deposit = await fixture.address(ramp);
  await fixture.mine(3);
  await anvil.pool({ to: deposit.address, value: ETHER });
  await keepRealm(realm);
  const sent = "select raw from order_attempts where sent_at is not null";
  await mineUntil(fixture, async () => (await rowsOf(realm, sent)).length > 0);
  const [{ raw }] = await rowsOf<{ raw: string }>(realm, sent);
  await anvil.rpc("anvil_dropAllTransactions");
  await restoreRealm(realm);
  const report = await foundAndLost({ realm, anvil }, raw);
  deepEqual(report.taken.map(({ purpose }) => purpose), ["sweep"]);
  const dear = await openDear({ anvil }, 40n);
  for (let round = 0; round < 3; round++) {
    await dear();
    await fixture.mine();
  }
  await rowsOf(realm, AGED);
  await rowsOf(realm, AGED_ATTEMPTS);
  const dearly = async () => {
    await dear();
    await fixture.poller.follow();
  };
  await mineUntil(
    { realm, mine: dearly },
    async () => (await attemptsOf({ realm }, "sweep")).length > 1,
  );
  const made = await attemptsOf({ realm }, "sweep");
  deepEqual([made.length, made[1].inputs], [2, made[0].inputs]);
  await mineUntil(fixture, async () => (await fixture.account(ramp)).balance.total !== "0");
  await fixture.mine(3);
  const credited = (await fixture.deposits()).filter(({ status }) => status !== "ORPHANED");
  equal(credited.length, 1);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("a call that nothing here makes, by a key of ours, is taken in and named, and keeps no ramp in quarantine", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  const contract = await anvil.deploy("Batcher");
  const { body: { id } } = await funded.withdraw("1");
  const data = CALLS.encodeFunctionData("payCoin", [[rich(3).address], 5n]);
  const raw = await signCall(funded, { to: contract, value: 5n, data });
  const hash = await anvil.rpc<string>("eth_sendRawTransaction", raw);
  await anvil.mine();
  await funded.advance();
  match(
    (await funded.read(id)).history.at(-1).reason,
    /used our nonce .*:0, and nothing here knows/,
  );
  const early = await answered(realm);
  match(
    early.report.obstacles.join(),
    new RegExp(`${hash} calls ${contract}, and may still lose its block`),
  );
  await anvil.mine(2);
  const { report, asked } = await answered(realm);
  deepEqual(report.taken, [{
    ...{ hash, purpose: "recovered", paid: [], calls: contract },
    unmatched: [{ to: contract, contract: null, amount: "5" }],
  }]);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(asked.map(({ withdrawal }) => withdrawal), [id]);
  equal((await funded.finish(id)).status, "DONE");
  equal(await paidOut(funded), ETHER);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("a payment that was found, that nothing here can replace, and that loses its block is sped up for nobody, and nobody is charged for it", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  const { body: { id } } = await funded.withdraw("1");
  const accessList = [{ address: OUTSIDE, storageKeys: [] }];
  const raw = await signCall(funded, { to: OUTSIDE, value: ETHER, accessList });
  const report = await foundAndLost(funded, raw);
  deepEqual(report.taken.map(({ paid }) => paid.length), [1]);
  const dear = await openDear(funded, 40n);
  await dear();
  await work(funded, dear, 2);
  await renewPrices(realm);
  const seen = async () => [
    await realm.balance(funded.account),
    (await funded.read(id)).fee,
    (await funded.read(id)).history.filter(({ event }: { event: string }) => event === "sped_up"),
    await rowsOf(
      realm,
      "select id, state, charged::text, budget::text, replace, speed, sped_up_at from chain_orders order by id",
    ),
    await rowsOf(realm, "select id, amount::text, status from blocks order by id"),
  ];
  const before = await seen();
  const path = `/v1/withdrawals/${id}/speed-up`;
  for (const query of ["?dry_run=true", ""]) {
    const refused = await realm.admin.send("POST", `${path}${query}`, { speed: "fast" });
    deepEqual([refused.status, refused.body.code], [409, "withdrawal.not_cancelable"]);
    match(
      refused.body.detail,
      /0x[0-9a-f]{64} was found on the chain after a restore, and .*replace it/,
    );
  }
  const text = "update chain_orders set sped_up_at = 1000000 where purpose = 'recovered'";
  await rejects(rowsOf(realm, text), /has a transaction that nothing can replace/);
  deepEqual(await seen(), before);
  equal((await funded.read(id)).acts.speed_up, "withdrawal.not_cancelable");
  equal((await funded.finish(id)).status, "DONE");
  equal(await paidOut(funded), ETHER);
  deepEqual((await attemptsOf(funded, "recovered")).length, 1);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("a payment that was found, that nobody here has ordered and nothing here can replace, and that loses its block, says how its nonce is used up", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  const accessList = [{ address: OUTSIDE, storageKeys: [] }];
  const raw = await signCall(funded, { to: OUTSIDE, value: 5n, accessList });
  const report = await foundAndLost(funded, raw);
  deepEqual(report.taken.map(({ unmatched }) => unmatched.length), [1]);
  await rowsOf(realm, AGED);
  await funded.advance();
  const [{ error }] = await rowsOf<{ error: string }>(
    realm,
    "select error from chain_orders where purpose = 'recovered'",
  );
  match(error, /send another transaction with 0x\w+:0 by hand/);
});
