/** Transfers with exchanges whose key, account or realm changes while they are under way. */
import { deepEqual, equal, match } from "node:assert/strict";
import { checkExternalRamp } from "../../workers/exchanges/checks.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import { EXCHANGE_KEY } from "../support/exchange_server.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { openTestPoller } from "../support/scan_steps.ts";

const APPLY = "POST /sapi/v1/capital/withdraw/apply";
const HISTORY = "GET /sapi/v1/capital/withdraw/history";
const HOUR = 3_600_000;

const made = ({ status, body, text }: Answer) => {
  equal(status, 201, text);
  return body;
};
const asked = ({ exchange }: ExchangeFixture) =>
  exchange.requests.filter((one) => one === APPLY).length;

Deno.test("transfers with an exchange, changed under way", async (t) => {
  await using fixture = await openExchangeFixture();
  const steps: Record<string, (fixture: ExchangeFixture) => Promise<void>> = {
    "the key is changed after an answer was lost: the payment is found, or UNCLEAR, and never asked for again":
      rotated,
    "the account is frozen after the exchange was asked: the payment is followed all the same":
      frozenDeposit,
    "the account is frozen or moves are stopped before a withdraw is paid: it waits, and is paid once":
      held,
    "who asked may no longer write the account: neither is the exchange asked, nor is it paid":
      demoted,
    "a like payment with an id that somebody else gave is not taken for ours": foreign,
    "a withdraw whose withdrawal is canceled fails with it, and its value is back": canceled,
    "the exchange is away for ever after it was asked: what arrived ends it, and a person is told of the rest":
      away,
  };
  for (const [name, work] of Object.entries(steps)) await t.step(name, () => work(fixture));
});

/** Asks for a deposit whose answer is lost. */
async function lostDeposit(fixture: ExchangeFixture, value: string): Promise<string> {
  const { exchange } = fixture;
  const { id } = made(await fixture.deposit({ value }));
  exchange.instead = (request, after) =>
    request === APPLY && after ? Response.json({ msg: "bad gateway" }, { status: 502 }) : null;
  equal((await fixture.advance(id)).exchange.reference, null);
  exchange.instead = () => null;
  return id;
}

/** Replaces the credentials, and has them checked. */
async function rotate(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const change = { authentication: EXCHANGE_KEY };
  equal((await realm.admin.send("PATCH", `/v1/ramps/${ramp}`, change)).status, 200);
  await checkExternalRamp(fixture.context(), { ramp });
}

async function rotated(fixture: ExchangeFixture): Promise<void> {
  const { exchange } = fixture;
  const found = await lostDeposit(fixture, "1.1");
  await rotate(fixture);
  const shown = await fixture.advance(found);
  equal(shown.exchange.reference, exchange.withdrawals[0].id, "another key of one account");
  const lost = await lostDeposit(fixture, "1.2");
  await rotate(fixture);
  // A key of another account, which has no such payment.
  exchange.instead = (request) => request === HISTORY ? Response.json([]) : null;
  equal((await fixture.advance(lost)).status, "PROCESSING");
  const late = await fixture.advance(lost, { now: Date.now() + HOUR });
  equal(late.status, "UNCLEAR");
  match(late.reason, /does not show the payment/);
  await fixture.advance(lost, { now: Date.now() + 2 * HOUR });
  exchange.instead = () => null;
  deepEqual([asked(fixture), exchange.withdrawals.length], [2, 2]);
}

async function frozenDeposit(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded, exchange } = fixture;
  const before = asked(fixture);
  const id = await lostDeposit(fixture, "1.3");
  equal((await realm.admin.send("POST", `/v1/accounts/${funded.account}/freeze`)).status, 200);
  const shown = await fixture.advance(id);
  equal((await realm.admin.send("POST", `/v1/accounts/${funded.account}/unfreeze`)).status, 200);
  equal(shown.exchange.reference, exchange.withdrawals.at(-1)!.id);
  equal(asked(fixture), before + 1);
}

async function held(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded } = fixture;
  const { send } = realm.admin;
  const { id } = made(await fixture.withdraw());
  equal((await send("POST", `/v1/accounts/${funded.account}/freeze`)).status, 200);
  deepEqual([(await fixture.advance(id)).status, await paid(fixture)], ["PROCESSING", 0]);
  equal((await send("POST", `/v1/accounts/${funded.account}/unfreeze`)).status, 200);
  const stop = await send("POST", "/v1/stops", { reason: "incident", what: "moves" });
  equal(stop.status, 201, stop.text);
  deepEqual([(await fixture.advance(id)).status, await paid(fixture)], ["PROCESSING", 0]);
  const lifted = await send("DELETE", `/v1/stops/${stop.body.id}`);
  equal(lifted.status, 200, lifted.text);
  const rows = await Promise.all([fixture.advance(id), fixture.advance(id)]);
  deepEqual(rows.map(({ status }) => status), ["PROCESSING", "PROCESSING"]);
  equal(await paid(fixture), 1);
}

async function demoted(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded: { account }, ramp } = fixture;
  const before = [asked(fixture), await paid(fixture), await realm.balance(account)];
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const body = { account, asset: "ETH", value: "1.5" };
  const ids: string[] = [];
  for (const act of ["deposit", "withdraw"]) {
    ids.push(made(await manager.send("POST", `/v1/ramps/${ramp}/${act}`, body)).id);
  }
  const fewer = await realm.admin.send("PATCH", `/v1/users/${manager.id}`, { roles: "user" });
  equal(fewer.status, 200, fewer.text);
  for (const id of ids) {
    const row = await fixture.advance(id);
    deepEqual([row.status, row.error?.code], ["FAILED", "permission.owner"]);
  }
  deepEqual([asked(fixture), await paid(fixture), await realm.balance(account)], before);
}

async function canceled(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded } = fixture;
  const before = await realm.balance(funded.account);
  const { id } = made(await fixture.withdraw());
  const { withdrawal } = await fixture.advance(id);
  const ended = await realm.admin.send("POST", `/v1/withdrawals/${withdrawal}/cancel`);
  equal(ended.status, 200, ended.text);
  const row = await fixture.advance(id);
  deepEqual([row.status, row.error?.code], ["FAILED", "version.conflict"]);
  match(row.error.detail, /ended as CANCELED/);
  deepEqual(await realm.balance(funded.account), before);
}

async function foreign(fixture: ExchangeFixture): Promise<void> {
  const { exchange } = fixture;
  const before = asked(fixture);
  const { id, address } = made(await fixture.deposit({ value: "1.7" }));
  const one = { amount: "1.7", transactionFee: "0.001", coin: "ETH", network: "ETH", status: 4 };
  const applyTime = new Date().toISOString().replace("T", " ").slice(0, 19);
  exchange.withdrawals.push({
    ...{ id: "foreign", ...one, address, txId: "", applyTime, withdrawOrderId: "somebody" },
  });
  const row = await fixture.advance(id);
  equal(asked(fixture), before + 1);
  equal(row.exchange.reference, exchange.withdrawals.at(-1)!.id);
}

async function away(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded, exchange } = fixture;
  using poller = openTestPoller(realm);
  const lost = await lostDeposit(fixture, "1.8");
  const { id } = made(await fixture.deposit({ value: "1.9" }));
  await fixture.advance(id);
  const last = exchange.withdrawals.at(-1)!;
  const txId = await funded.anvil.send({ to: last.address, value: 19n * 10n ** 17n });
  Object.assign(last, { status: 6, txId });
  await fixture.advance(id);
  exchange.instead = () => new Response("no", { status: 503 });
  await funded.anvil.mine(4);
  await poller.follow();
  equal((await fixture.advance(id)).status, "DONE");
  equal((await fixture.advance(lost, { now: Date.now() + HOUR })).status, "PROCESSING");
  const told = await fixture.advance(lost, { now: Date.now() + 25 * HOUR });
  exchange.instead = () => null;
  equal(told.status, "UNCLEAR");
  match(told.reason, /could not be asked since/);
}

/** How many withdrawals there are. */
async function paid({ realm }: ExchangeFixture): Promise<number> {
  return (await rowsOf(realm, "select id from withdrawals")).length;
}
