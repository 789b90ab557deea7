/** Accounts that are deleted, or shall be, while value is on its way to them. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { putOffDeposits } from "../../db/deposits/deposit_proofs.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { openFundedRamp } from "../support/evm_fixture.ts";
import { driftsOf, mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";
import { errorField } from "../../domain/errors.ts";

const ETHER = 10n ** 18n;
/** A contract that refuses whatever is paid to it. */
const REFUSING = "0x00000000000000000000000000000000000b0b04";

Deno.test("an account is not deleted while a deposit or a sweep is on its way to it", async () => {
  await using fixture = await openRampFixture({ env: { ETHEREUM_TESTNET_CONFIRMATIONS: "3" } });
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const virtual = await virtualOn(fixture, ramp.id);
  const deposit = await fixture.address(virtual);
  const all = [deposit.id, virtual, ramp.id];
  const refusals = async () => {
    const codes = [];
    for (const id of all) {
      const { status, body } = await realm.admin.send("DELETE", `/v1/accounts/${id}`);
      codes.push(`${status} ${body.code}`);
      await rejects(deleteBySql(realm, id), /cannot be deleted/);
    }
    return codes;
  };
  const held = all.map(() => "409 account.not_empty");
  await fixture.anvil.pool({ to: deposit.address, value: ETHER });
  await fixture.mine();
  equal((await fixture.deposits())[0].status, "PENDING");
  deepEqual(await refusals(), held, "seen and not credited");
  await mineUntil(fixture, async () => (await fixture.deposits())[0].status === "CONFIRMED");
  deepEqual(await refusals(), held, "credited and not forwarded");
  await mineUntil(fixture, async () => (await fixture.account(virtual)).balance.total !== "0");
  const gone = async (id: string) =>
    (await realm.admin.send("DELETE", `/v1/accounts/${id}`)).status;
  deepEqual(
    [await gone(deposit.id), await gone(virtual)],
    [200, 409],
    "the value is in the account",
  );
});

Deno.test("a block, a withdrawal under way and waiting dust keep their accounts", async () => {
  await using fixture = await openRampFixture();
  const ramp = await fixture.ramp();
  const virtual = await virtualOn(fixture, ramp.id);
  const deposit = await fixture.address(virtual);
  await fixture.anvil.pool({ to: deposit.address, value: 1000n });
  await fixture.mine(3);
  equal((await fixture.account(virtual)).balance.total, "0");
  for (const id of [deposit.id, virtual, ramp.id]) {
    const { body } = await fixture.realm.admin.send("DELETE", `/v1/accounts/${id}`);
    equal(body.code, "account.not_empty");
  }
  await using funded = await openFundedRamp({ total: "1.1" });
  const paid = { fee: { paid_by: "receiver" } };
  equal((await funded.withdraw("1.1", paid)).status, 201);
  deepEqual((await funded.books()).account, "0");
  for (const id of [funded.account, funded.ramp]) {
    const { status, body } = await funded.realm.admin.send("DELETE", `/v1/accounts/${id}`);
    deepEqual([status, body.code], [409, "account.not_empty"]);
    await rejects(deleteBySql(funded.realm, id), /cannot be deleted/);
  }
});

Deno.test("a deposit for a deleted account is credited, carried on, and there again after undelete", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const virtual = await virtualOn(fixture, ramp.id);
  const deposit = await fixture.address(virtual);
  const onRamp = await fixture.address(ramp.id);
  for (const id of [deposit.id, virtual, onRamp.id, ramp.id]) {
    equal((await realm.admin.send("DELETE", `/v1/accounts/${id}`)).status, 200);
  }
  for (const { address } of [deposit, onRamp, ramp]) {
    await anvil.pool({ to: address, value: ETHER });
  }
  await mineUntil(
    fixture,
    async () => (await rowsOf(realm, "select id from sweeps where state = 'done'")).length === 2,
  );
  await fixture.mine(2);
  deepEqual((await fixture.deposits()).map((one) => [one.status, one.error]), [
    ["CONFIRMED", null],
    ["CONFIRMED", null],
    ["CONFIRMED", null],
  ]);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  for (const id of [virtual, ramp.id]) {
    equal((await realm.admin.send("GET", `/v1/accounts/${id}`)).status, 404);
    equal((await realm.admin.send("POST", `/v1/accounts/${id}/undelete`)).status, 200);
  }
  const totals = [virtual, ramp.id].map(async (id) => (await fixture.account(id)).balance.total);
  const [own, house] = await Promise.all(totals);
  ok(own.startsWith("0.999") && house.startsWith("1.999"), `${own} ${house}`);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a deposit that the ledger refused is tried again, ever more rarely, and never given up", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine();
  const [{ id }] = await fixture.deposits();
  const pauses = [];
  for (let round = 0; round < 12; round++) {
    await realm.command((tx) =>
      putOffDeposits(tx, [{ id, error: errorField("account.not_found", "refused") }])
    );
    const [{ minutes }] = await rowsOf<{ minutes: number }>(
      realm,
      "select (extract(epoch from retry_at - updated_at) / 60)::integer as minutes from deposits",
    );
    pauses.push(minutes);
  }
  deepEqual(pauses.slice(0, 4), [1, 2, 4, 8]);
  deepEqual(pauses.slice(-2), [512, 512]);
  await fixture.mine(3);
  const [waiting] = await fixture.deposits();
  deepEqual([waiting.status, waiting.error.code], ["PENDING", "account.not_found"]);
  const shown = (await realm.admin.send("GET", `/v1/deposits/${id}`)).body;
  equal(shown.error.code, "account.not_found", "it says why");
  await realm.command((tx) => tx`update deposits set retry_at = now()`);
  await fixture.mine();
  const [credited] = await fixture.deposits();
  deepEqual([credited.status, credited.error], ["CONFIRMED", null]);
  equal((await fixture.account(ramp.id)).balance.total, "1");
});

Deno.test("a deposit with an error, and no time at which it is tried again, is tried again", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine();
  await realm.command((tx) =>
    tx`update deposits set updated_at = now() - interval '1 day',
      error = ${tx.json({ code: "account.not_found", detail: "there is no such account" })}`
  );
  await fixture.mine(3);
  equal((await fixture.account(ramp.id)).balance.total, "1");
});

for (const end of ["refund", "cancel"] as const) {
  Deno.test(`a ${end} finds its account, deleted as it is, and is there after undelete`, async () => {
    await using funded = await openFundedRamp({ total: "1.1" });
    const { realm } = funded;
    const { send } = realm.admin;
    const paid = { fee: { paid_by: "receiver" }, destination: { address: REFUSING } };
    const made = await funded.withdraw("1.1", end === "refund" ? paid : { fee: paid.fee });
    equal(made.status, 201, made.text);
    // Behind the back of the rule that keeps it.
    await tamper(realm, `update accounts set deleted_at = now() where id = '${funded.account}'`);
    await funded.anvil.rpc("anvil_setCode", REFUSING, "0x60006000fd");
    if (end === "cancel") {
      const canceled = await send("POST", `/v1/withdrawals/${made.body.id}/cancel`);
      deepEqual([canceled.status, canceled.body.status], [200, "CANCELED"], canceled.text);
    } else equal((await funded.finish(made.body.id)).status, "FAILED");
    equal((await send("POST", `/v1/accounts/${funded.account}/undelete`)).status, 200);
    const { balance } = (await send("GET", `/v1/accounts/${funded.account}`)).body;
    ok(Number(balance.total) > 1, "but for what the network may have taken");
    equal(balance.available, balance.total);
  });
}

async function virtualOn({ realm }: RampFixture, ramp: string): Promise<string> {
  const fields = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const { body } = await realm.admin.send("POST", "/v1/accounts", fields);
  await realm.drain();
  return body.id;
}

/** The statement of an operator by hand. */
async function deleteBySql(realm: TestRealm, id: string): Promise<void> {
  await realm.command((tx) => tx`update accounts set deleted_at = now() where id = ${id}`, {
    lockLedger: true,
  });
}
