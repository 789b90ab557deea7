import { deepEqual, equal, ok } from "node:assert/strict";
import { fromUnits } from "../../domain/money.ts";
import { CALLS } from "../support/nodes/anvil.ts";
import { customer, empty, ended, others, quote, tokenDraw } from "../support/own_token.ts";
import { driftsOf, mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

/** A token that says yes to all, holds 50 for everybody, and takes 780 000 gas for it. */
const GREEDY =
  "0x620075305b60019003806004575060003560e01c63a9059cbb14602a576302faf08060005260206000f35b600160005260206000f3";

Deno.test("gas is sent ahead for a customer's own token out of its ramp's account alone, however much the token asks for", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const mine = await customer(fixture);
  const { anvil, realm } = fixture;
  await others(fixture, mine, 5n);
  await ended(fixture, mine, await tokenDraw(mine, "100"));
  await fixture.mine(3);
  await quote(fixture);
  const [{ base }] = await rowsOf<{ base: string }>(
    realm,
    "select base::text as base from fee_quotes where contract = '' and speed = 'medium'",
  );
  // Enough for the payment that brings the gas, whatever it costs; not for the gas.
  await empty(fixture, mine);
  const { address: rampAddress } = (await fixture.account(mine.ramp)).ramp;
  await anvil.pool({ from: 4, to: rampAddress, value: 4n * BigInt(base) });
  const few = fromUnits(4n * BigInt(base), 18);
  await mineUntil(fixture, async () => (await fixture.account(mine.ramp)).balance.total === few);
  const made = await mine.user.send("POST", "/v1/accounts", { type: "virtual", asset: "GOLD_ETH" });
  await realm.drain();
  const given = await mine.user.send("POST", `/v1/account/${made.body.id}/address`, {});
  await realm.drain();
  const { address } = given.body.address;
  const data = CALLS.encodeFunctionData("transfer", [address, 50n * 10n ** 6n]);
  await anvil.pool({ from: 5, to: mine.contract, data });
  await anvil.mine();
  await anvil.rpc("anvil_setCode", mine.contract, GREEDY);
  const query = encodeURIComponent(JSON.stringify({ account: given.body.id }));
  const shown = async () =>
    (await mine.user.send("GET", `/v1/deposits/all?query=${query}`)).body[0];
  await mineUntil(fixture, async () => Boolean((await shown())?.forward?.error));
  const { forward } = await shown();
  deepEqual([forward.status, forward.error.code], ["WAITING", "ramp.gas_insufficient"]);
  deepEqual(
    await rowsOf(realm, "select amount, budget from chain_orders where purpose = 'gas'"),
    [],
  );
  equal(BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest")), 0n);
  const [, detail] = /up to ([0-9.]+) ETH/.exec(forward.error.detail) ?? [];
  ok(Number(detail) > Number(few), forward.error.detail);
  deepEqual((await driftsOf(fixture))[0], ["ETH", "0"]);
});
