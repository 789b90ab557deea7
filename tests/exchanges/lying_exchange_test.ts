/** An exchange that names what it has not paid, or keeps what nobody agreed to. */
import { deepEqual, equal } from "node:assert/strict";
import { checkExternalRamp } from "../../workers/exchanges/checks.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { openTestPoller } from "../support/scan_steps.ts";

const ETHER = 10n ** 18n;

const made = ({ status, body, text }: Answer) => {
  equal(status, 201, text);
  return body;
};

Deno.test("a lying exchange", async (t) => {
  await using fixture = await openExchangeFixture();
  await t.step(
    "a transaction that was credited before the transfer was ordered is not its payment",
    () => isNewer(fixture),
  );
  await t.step(
    "a payment that a process whose clock is minutes behind has seen is the transfer's",
    () => isSeenBehind(fixture),
  );
  await t.step(
    "an exchange that told no fee at the order, and keeps more than a tenth: UNCLEAR",
    () => overcharges(fixture),
  );
  await t.step(
    "an exchange is not paid less than it credits, neither after the fee nor where it asks for more since the order",
    () => creditsLittle(fixture),
  );
});

async function isNewer(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded, exchange } = fixture;
  using poller = openTestPoller(realm);
  const { id } = made(await fixture.deposit({ value: "3.75" }));
  await fixture.advance(id);
  const paid = exchange.withdrawals.at(-1)!;
  const txId = await funded.anvil.send({ to: paid.address, value: 375n * ETHER / 100n });
  await funded.anvil.mine(4);
  await poller.follow();
  // Dated from the transfer: between the two the clock may have been set, or the machine have stood still.
  const date = async (than: string) => {
    const rows = await rowsOf<{ status: string }>(
      realm,
      `update deposits d set created_at = t.created_at ${than} from ramp_transfers t
        where t.id = $1 and d.hash = $2 returning d.status`,
      [id, txId],
    );
    deepEqual(rows.map(({ status }) => status), ["CONFIRMED"]);
  };
  await date("- interval '1 hour'");
  Object.assign(paid, { status: 6, txId });
  const { status, hash, reason, error } = await fixture.advance(id);
  deepEqual({ status, hash, reason, error }, {
    ...{ status: "PROCESSING", hash: txId, reason: null, error: null },
  });
  await date("+ interval '1 second'");
  // Some leave out the prefix of a hash.
  Object.assign(paid, { txId: txId.slice(2).toUpperCase() });
  const done = await fixture.advance(id);
  deepEqual([done.status, done.hash?.toLowerCase()], ["DONE", txId]);
}

async function isSeenBehind(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded, exchange } = fixture;
  using poller = openTestPoller(realm, () => Date.now() - 600_000);
  const { id } = made(await fixture.deposit({ value: "3.25" }));
  await fixture.advance(id);
  const paid = exchange.withdrawals.at(-1)!;
  const txId = await funded.anvil.send({ to: paid.address, value: 325n * ETHER / 100n });
  await funded.anvil.mine(4);
  await poller.follow();
  Object.assign(paid, { status: 6, txId });
  equal((await fixture.advance(id)).status, "DONE");
}

async function overcharges(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded, exchange, ramp } = fixture;
  using poller = openTestPoller(realm);
  exchange.tell = (currencies) =>
    JSON.parse(JSON.stringify(currencies).replaceAll(`"withdrawFee":"0.001",`, ""));
  await checkExternalRamp(fixture.context(), { ramp });
  const { body: [asset] } = await realm.admin.send("GET", `/v1/ramps/${ramp}/assets`);
  deepEqual([asset.asset, asset.fee], ["ETH", null]);
  const ends: [string, bigint, string, string][] = [
    ["4", 36n * ETHER / 10n, "0.4", "DONE"],
    ["5", 44n * ETHER / 10n, "0.6", "UNCLEAR"],
  ];
  for (const [value, paid, transactionFee, status] of ends) {
    const { id } = made(await fixture.deposit({ value }));
    await fixture.advance(id);
    const last = exchange.withdrawals.at(-1)!;
    const txId = await funded.anvil.send({ to: last.address, value: paid });
    Object.assign(last, { status: 6, txId, transactionFee });
    await fixture.advance(id);
    await funded.anvil.mine(4);
    await poller.follow();
    equal((await fixture.advance(id)).status, status, transactionFee);
  }
}

async function creditsLittle(fixture: ExchangeFixture): Promise<void> {
  const { realm, exchange, ramp, funded } = fixture;
  const creditFrom = async (least: string) => {
    exchange.tell = (currencies) =>
      JSON.parse(
        JSON.stringify(currencies).replaceAll(`"network":`, `"depositDust":"${least}","network":`),
      );
    await checkExternalRamp(fixture.context(), { ramp });
    const { body: [asset] } = await realm.admin.send("GET", `/v1/ramps/${ramp}/assets`);
    equal(asset.withdraw_minimum, least);
  };
  await creditFrom("1.5");
  const { available } = await realm.balance(funded.account);
  const refused = await fixture.withdraw({ value: "1.499" });
  deepEqual([refused.status, refused.body.code], [400, "request.invalid"]);
  const receiver = { value: "1.5", fee: { paid_by: "receiver" } };
  const later = made(await fixture.withdraw({ value: "1.6" }));
  const cases = [made(await fixture.withdraw(receiver)), later];
  for (const { id } of cases) {
    if (id === later.id) await creditFrom("1.7");
    const { status, error, withdrawal } = await fixture.advance(id);
    deepEqual([status, error?.code, withdrawal], ["FAILED", "request.invalid", null]);
  }
  equal((await realm.balance(funded.account)).available, available);
  await creditFrom("1.5");
  const { id } = made(await fixture.withdraw({ value: "1.5" }));
  equal(typeof (await fixture.advance(id)).withdrawal, "string");
}
