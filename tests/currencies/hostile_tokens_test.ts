/** Tokens of the registry whose contracts were made to lose somebody's money. */
import { deepEqual, equal } from "node:assert/strict";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { installToken, leaveTokens } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;

Deno.test("a token that re-enters and logs one payment twice is credited with the amount that arrived", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const token = await installToken(fixture.anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  await token.become("Reentrant");
  await token.pay(ramp.address, 100n * USDC);
  await fixture.mine(4);
  deepEqual(await booksOf(fixture, ramp), ["100", "100"]);
  deepEqual(await driftOf(fixture), ["0"]);
});

Deno.test("a token that re-enters is swept and withdrawn once, whatever it logs", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const token = await installToken(fixture.anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(deposit.address, 100n * USDC);
  await fixture.mine(3);
  await token.become("Reentrant");
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "100");
  await fixture.mine();
  deepEqual(await booksOf(fixture, ramp), ["100", "100"]);
  const context = await workerContextOf(fixture.realm);
  await refreshFees(context);
  context.chains.close();
  const { send } = fixture.realm.admin;
  const made = await send("POST", "/v1/withdrawals", {
    source: { account: ramp.id },
    destination: { address: OUTSIDE },
    value: "30",
  });
  equal(made.status, 201, made.text);
  const read = async () => (await send("GET", `/v1/withdrawals/${made.body.id}`)).body;
  await mineUntil(fixture, async () => (await read()).status !== "PROCESSING");
  equal((await read()).status, "DONE");
  await fixture.mine();
  deepEqual(await booksOf(fixture, ramp), ["70", "70"]);
  deepEqual(await driftOf(fixture), ["0"]);
});

Deno.test("a token whose balances shrink and grow without a transfer is swept as far as it is there, and what is missing or too much is told", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil, realm } = fixture;
  const token = await installToken(anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  const totalOf = async ({ id }: { id: string }) => (await fixture.account(id)).balance.total;
  const rebase = async (amount: bigint) => {
    const { contract } = token;
    await leaveTokens(anvil, { contract, owner: deposit.address, amount: amount * USDC });
    await fixture.mine();
  };
  await token.pay(deposit.address, 100n * USDC);
  await mineUntil(fixture, async () => await totalOf(deposit) === "100");
  await rebase(90n);
  await anvil.pool({ to: ramp.address, value: ETHER });
  await mineUntil(fixture, async () => await totalOf(ramp) === "90");
  await fixture.mine();
  deepEqual(await booksOf(fixture, ramp), ["90", "90"]);
  equal(await totalOf(deposit), "10", "it is owed all the same");
  deepEqual(await driftOf(fixture), ["-10"]);
  const refused = await realm.admin.send("POST", "/v1/withdrawals", {
    ...{ source: { account: ramp.id }, destination: { address: OUTSIDE }, value: "30" },
  });
  deepEqual([refused.status, refused.body.code], [409, "asset.suspended"]);
  await rebase(20n);
  deepEqual(await driftOf(fixture), ["10"]);
  const deposits = (await realm.admin.send("GET", "/v1/deposits/all")).body;
  equal(deposits.length, 1, "what grows is nobody's deposit");
});

for (const decimals of [0, 77]) {
  Deno.test(`a contract that says ${decimals} decimals is not the token: it gets no ramp`, async () => {
    await using fixture = await openRampFixture({ testnet: false });
    await installToken(fixture.anvil, "USDC", { decimals });
    const wanted = { type: "ramp", asset: "USDC" };
    const made = await fixture.realm.admin.send("POST", "/v1/accounts", wanted);
    await fixture.realm.drain();
    const account = await fixture.account(made.body.id);
    deepEqual([account.enabled, account.error.code], [false, "token.invalid"]);
  });
}

/** A ramp's balances in the ledger and at its address. */
async function booksOf(fixture: RampFixture, ramp: { id: string }): Promise<[string, string]> {
  const { total, assets } = (await fixture.account(ramp.id)).balance;
  return [total, assets];
}

async function driftOf(fixture: RampFixture): Promise<string[]> {
  const context = await workerContextOf(fixture.realm);
  await checkSolvency(context);
  context.chains.close();
  const proofs = (await fixture.realm.admin.send("GET", "/v1/solvency?asset=USDC")).body;
  return proofs.map(({ drift }: { drift: string }) => drift);
}
