import { deepEqual, equal } from "node:assert/strict";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { CALLS } from "../support/nodes/anvil.ts";
import { driftsOf, mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";

/** Blocks whose fees set a price. */
const PRICED_BLOCKS = 25;

Deno.test("on a network where gas has no price sweeps and withdrawals bid the least, and are mined", async () => {
  const args = ["--base-fee", "0", "--gas-price", "0"];
  await using fixture = await openRampFixture({ testnet: false, args });
  const { anvil, realm } = fixture;
  const token = await installToken(anvil, "USDC");
  await anvil.mine(PRICED_BLOCKS);
  const [coins, tokens] = [await fixture.ramp("ETH"), await fixture.ramp("USDC")];
  const [coinDeposit, tokenDeposit] = [
    await fixture.address(coins.id),
    await fixture.address(tokens.id),
  ];
  for (const to of [coinDeposit.address, tokens.address]) {
    await anvil.pool({ to, value: 10n ** 18n, tip: 0n });
  }
  const data = CALLS.encodeFunctionData("transfer", [tokenDeposit.address, 25_000_000n]);
  await anvil.pool({ to: token.contract, data, tip: 0n });
  for (const { id } of [coins, tokens]) {
    await mineUntil(fixture, async () => (await fixture.account(id)).balance.total !== "0");
  }
  const context = await workerContextOf(realm);
  await refreshFees(context);
  context.chains.close();
  const { send } = realm.admin;
  for (const [account, value] of [[coins.id, "0.5"], [tokens.id, "5"]]) {
    const asked = { source: { account }, destination: { address: OUTSIDE }, value };
    const { status, text, body: { id } } = await send("POST", "/v1/withdrawals", asked);
    equal(status, 201, text);
    const read = async () => (await send("GET", `/v1/withdrawals/${id}`)).body.status;
    await mineUntil(fixture, async () => await read() !== "PROCESSING");
    equal(await read(), "DONE");
  }
  const orders = await rowsOf<{ state: string; is_least: boolean }>(
    realm,
    "select state, fee between 1 and 100000 as is_least from chain_orders",
  );
  deepEqual([...new Set(orders.map(({ state, is_least }) => `${state} ${is_least}`))], [
    "done true",
  ]);
  deepEqual(await driftsOf(fixture), [["ETH", "0"], ["USDC", "0"]]);
});
