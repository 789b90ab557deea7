/** A customer who has made a token on a ramp of its own, for tests of who pays the gas. @module */
import { equal } from "node:assert/strict";
import type { Scope } from "../../domain/actor.ts";
import { compare, toUnits } from "../../domain/money.ts";
import { newId } from "../../domain/ids.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import type { OnCheckpoint } from "../../workers/sending/order_work.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { rich } from "./nodes/anvil.ts";
import { workerContextOf } from "./evm_fixture.ts";
import { mineUntil, type RampFixture } from "./ramp_fixture.ts";
import { type Answer, rowsOf, type TestUser } from "./realm.ts";

/** Base units of a coin. */
export const ETHER = 10n ** 18n;
/** The house's earnings in the coin. */
export const FEES =
  "select trim_scale(total)::text as total from accounts where system = 'fees' and asset = 'ETH'";

/** Deployments and registrations wait for a worker unless they are told not to; here a test works later. */
export const SOON = { prefer: "wait=1" };

/** A customer with a ramp of its own, which has 1 ETH, and a token that it has deployed there. */
export async function customer(fixture: RampFixture, scope: Scope = "own") {
  const { realm, anvil } = fixture;
  const user = await realm.user({ scope });
  const made = await user.send("POST", "/v1/accounts", { type: "ramp", asset: "ETH" });
  await realm.drain();
  const ramp: string = made.body.id;
  const { address } = (await user.send("GET", `/v1/accounts/${ramp}`)).body.ramp;
  await anvil.pool({ from: 4, to: address, value: ETHER });
  await mineUntil(fixture, async () => await total(fixture, ramp) === "1");
  await quote(fixture);
  const body = { name: "Gold", symbol: "GOLD", supply: "1000", decimal_places: 6, account: ramp };
  const token = await user.send("POST", "/v1/fungible/token/deploy", body, SOON);
  equal(token.status, 201, token.text);
  const path = `/v1/fungible/token/${token.body.id}`;
  await mineUntil(fixture, async () => (await user.send("GET", path)).body.status === "deployed");
  const registering = { account: ramp, symbol: "GOLD" };
  const registered = await user.send("POST", "/v1/fungible/token/register", registering, SOON);
  equal(registered.status, 201, registered.text);
  await fixture.mine();
  await quote(fixture);
  const { virtualCurrency: currency, contractAddress: contract } =
    (await user.send("GET", path)).body;
  const { account } = (await user.send("GET", `/v1/currencies/${currency}`)).body;
  return { user, ramp, currency, contract, account };
}

/** The customer, its ramp and its token. */
export type Customer = Awaited<ReturnType<typeof customer>>;

/** Coins of somebody else lie at the customer's ramp. */
export async function others(
  fixture: RampFixture,
  { user, ramp }: Customer,
  ether: bigint,
): Promise<void> {
  const { realm, anvil } = fixture;
  const body = { type: "virtual", asset: "ETH", ramp };
  const made = await realm.admin.send("POST", "/v1/accounts", body);
  await realm.drain();
  const { body: given } = await user.send("POST", `/v1/account/${ramp}/address`, {}).then(() =>
    realm.admin.send("POST", `/v1/account/${made.body.id}/address`, {})
  );
  await realm.drain();
  await anvil.pool({ from: 5, to: given.address.address, value: ether * ETHER });
  await mineUntil(
    fixture,
    async () => compare((await fixture.account(made.body.id)).balance.total, "4") > 0,
  );
  await fixture.mine(2);
}

/** Takes what the ramp's own account holds away, or a part of it, within the ledger. Gives where to. */
export async function empty(
  { realm }: RampFixture,
  { user, ramp }: Customer,
  value?: string,
): Promise<string> {
  const to =
    (await user.send("POST", "/v1/accounts", { type: "virtual", asset: "ETH", ramp })).body;
  await realm.drain();
  await moveCoins(user, [ramp, to.id], value ?? await availableAt(user, ramp));
  return to.id;
}

/** Moves value between two accounts. */
export async function moveCoins(
  user: TestUser,
  [source, destination]: [string, string],
  value: string,
): Promise<void> {
  const move = { source: { account: source }, destination: { account: destination }, value };
  const answer = await user.send("POST", "/v1/transactions", move);
  equal(answer.status, 201, answer.text);
}

/** The part of an account that is not blocked. */
export async function availableAt(user: TestUser, account: string): Promise<string> {
  return (await user.send("GET", `/v1/accounts/${account}`)).body.balance.available;
}

/** Withdraws some of the token. */
export async function tokenDraw(
  { user, account }: Pick<Customer, "user" | "account">,
  value = "0.1",
): Promise<Answer> {
  const destination = { address: rich(5).address };
  return await user.send("POST", "/v1/withdrawals", { source: { account }, destination, value });
}

/** Mines until a withdrawal is done. */
export async function ended(
  fixture: RampFixture,
  { user }: { user: TestUser },
  made: Answer,
): Promise<void> {
  const path = `/v1/withdrawals/${made.body.id}`;
  await mineUntil(fixture, async () => (await user.send("GET", path)).body.status === "DONE");
}

/** The balance of an account. */
export async function total(fixture: RampFixture, account: string): Promise<string> {
  return (await fixture.account(account)).balance.total;
}

/** Base units of the coin. */
export function units(text: string): bigint {
  return toUnits(text, 18);
}

/** Prices payments at this moment. */
export async function quote(fixture: RampFixture): Promise<void> {
  const context = await workerContextOf(fixture.realm);
  await refreshFees(context);
  context.chains.close();
}

/** Runs open orders, now; reports each checkpoint. */
export async function advance(
  fixture: RampFixture,
  onCheckpoint: OnCheckpoint = () => {},
): Promise<void> {
  const context = await workerContextOf(fixture.realm);
  const at = Date.now();
  const now = { ...context, actor: { ...context.actor, at, requestId: newId(at) } };
  try {
    const open = await rowsOf<{ order: string; version: number }>(
      fixture.realm,
      `select id as order, schedule_version as version from chain_orders
        where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
    );
    for (const seen of open) await advanceOrder(now, seen, onCheckpoint);
  } finally {
    context.chains.close();
  }
}
