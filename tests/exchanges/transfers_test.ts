import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { EVENT_SCHEMAS } from "../../domain/webhooks/event_schemas.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { publishEvents } from "../../workers/webhooks/publishing.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { openTestPoller } from "../support/scan_steps.ts";
import { ExchangeError } from "../../workers/exchange_gateway.ts";
import type { TransferCheckpoint } from "../../workers/exchanges/transfers.ts";

const APPLY = "POST /sapi/v1/capital/withdraw/apply";
const HOUR = 3_600_000;
const made = ({ status, body, text }: Answer) => {
  equal(status, 201, text);
  return body;
};
const asked = ({ exchange }: ExchangeFixture) =>
  exchange.requests.filter((one) => one === APPLY).length;

/** The exchange pays the last withdrawal on the chain, and shows it. */
async function payLast(fixture: ExchangeFixture, wei: bigint): Promise<string> {
  const { exchange, funded } = fixture;
  const last = exchange.withdrawals.at(-1)!;
  const hash = await funded.anvil.send({ to: last.address, value: wei });
  Object.assign(last, { status: 6, txId: hash });
  return hash;
}

Deno.test("a deposit from an exchange is asked for once and done when the chain has credited it", async () => {
  await using fixture = await openExchangeFixture();
  const { funded, realm, exchange } = fixture;
  using poller = openTestPoller(realm);
  const toldOf = async (entity: string) => {
    await extendHashChain(realm.pool, Date.now);
    await publishEvents(realm.pool, Date.now);
    const { body } = await realm.admin.send("GET", "/v1/events/all?limit=1000");
    return body.filter((one: { entity: string }) => one.entity === entity);
  };
  await toldOf("nothing"); // who reads events once is told of those to come
  const { id, address } = made(await fixture.deposit({ value: "1.50000001" }));
  const sent = await fixture.advance(id);
  deepEqual([sent.status, sent.exchange.reference], ["PROCESSING", exchange.withdrawals[0].id]);
  const { amount, withdrawOrderId } = exchange.withdrawals[0];
  deepEqual([amount, withdrawOrderId], ["1.50000001", id.replaceAll("-", "")]);
  equal(exchange.withdrawals[0].address.toLowerCase(), address.toLowerCase());
  equal((await fixture.advance(id)).status, "PROCESSING");
  const hash = await payLast(fixture, 1_499_000_010_000_000_000n); // less the fee of 0.001
  await fixture.advance(id);
  await funded.anvil.mine(4);
  await poller.follow();
  const done = await fixture.advance(id);
  deepEqual(
    [done.status, done.hash, done.exchange.amount, done.exchange.fee, done.exchange.status],
    ["DONE", hash, "1.50000001", "0.001", "ok"],
  );
  const { body } = await realm.admin.send("GET", `/v1/deposits/${done.deposit}`);
  deepEqual([body.status, body.amount, body.hash], ["CONFIRMED", "1.49900001", hash]);
  equal(asked(fixture), 1);
  const told = await toldOf(id);
  ok(told.every((one: { type: string }) => one.type === "ramp.transfer.updated"));
  deepEqual(told.map((one: { data: { status: string } }) => one.data.status), [
    ...["PROCESSING", "PROCESSING", "PROCESSING", "DONE"],
  ]);
  deepEqual(told.at(-1).data, done);
  EVENT_SCHEMAS["ramp.transfer.updated"].data.parse(told.at(-1).data);
  await arrivesOnce(fixture, done);
});

/** The exchange names the transaction of a transfer that is done for another of the same value, too. */
async function arrivesOnce(
  fixture: ExchangeFixture,
  { deposit, hash, value }: Answer["body"],
): Promise<void> {
  const { id } = made(await fixture.deposit({ value }));
  await fixture.advance(id);
  Object.assign(fixture.exchange.withdrawals.at(-1)!, { status: 6, txId: hash });
  const other = await fixture.advance(id);
  deepEqual([other.status, other.hash, other.deposit], ["PROCESSING", hash, null]);
  await rejects(
    fixture.context().step((tx) =>
      tx`update ramp_transfers set state = 'done', deposit = ${deposit} where id = ${id}`
    ),
    { code: "23505" },
    "one deposit ends one transfer",
  );
}

Deno.test("a worker that ends at any place of a deposit from an exchange and begins anew has it paid once", async () => {
  await using fixture = await openExchangeFixture();
  for (const place of ["looked up", "asking", "asked", "noted"] as TransferCheckpoint[]) {
    for (const marks of [true, false]) {
      Object.assign(fixture.exchange, { marks });
      const before = asked(fixture);
      const { id } = made(await fixture.deposit({ value: `1.${before + 1}` }));
      const at = (here: TransferCheckpoint) => {
        if (here === place) throw new TypeError("the worker is lost");
      };
      await rejects(fixture.advance(id, { at }), /the worker is lost/);
      let row = await fixture.advance(id);
      if (place === "asking") {
        // It was lost before it asked, which nobody can tell: the exchange is not asked again.
        deepEqual([row.status, asked(fixture)], ["PROCESSING", before]);
        row = await fixture.advance(id, { now: Date.now() + HOUR });
        deepEqual([row.status, asked(fixture)], ["UNCLEAR", before]);
        match(row.reason, /does not show the payment/);
        const path = `/v1/ramps/${fixture.ramp}/transfers/${id}/resolve`;
        const { send } = fixture.realm.admin;
        equal((await send("POST", path, { outcome: "sent" })).status, 400);
        equal((await send("POST", path, { outcome: "failed" })).body.status, "FAILED");
        equal((await send("POST", path, { outcome: "failed" })).status, 409);
        continue;
      }
      deepEqual([row.status, asked(fixture)], ["PROCESSING", before + 1]);
      equal(row.exchange.reference, fixture.exchange.withdrawals.at(-1)!.id);
    }
  }
});

Deno.test("an exchange that pays and loses its answer is looked up, two workers ask it once", async () => {
  await using fixture = await openExchangeFixture();
  const { exchange } = fixture;
  const { id } = made(await fixture.deposit());
  exchange.instead = (request, after) =>
    request === APPLY && after ? Response.json({ msg: "bad gateway" }, { status: 502 }) : null;
  equal((await fixture.advance(id)).exchange.reference, null);
  exchange.instead = () => null;
  equal((await fixture.advance(id)).exchange.reference, exchange.withdrawals[0].id);
  const other = made(await fixture.deposit({ value: "0.7" }));
  await Promise.all([fixture.advance(other.id), fixture.advance(other.id)]);
  deepEqual([asked(fixture), exchange.withdrawals.length], [2, 2]);
  // Alike in every figure: each has its own end.
  const twins = [made(await fixture.deposit()), made(await fixture.deposit())];
  Object.assign(exchange, { marks: false });
  for (const twin of twins) await fixture.advance(twin.id);
  const shown = await Promise.all(twins.map((twin) => fixture.advance(twin.id)));
  deepEqual(
    new Set(shown.map((one) => one.exchange.reference)),
    new Set(exchange.withdrawals.slice(2).map((one) => one.id)),
  );
});

Deno.test("an exchange that refuses, gives up or pays elsewhere: each ends in a state of its own", async (t) => {
  await using fixture = await openExchangeFixture();
  const { exchange } = fixture;

  await t.step("it refuses: FAILED with its reason", async () => {
    const { id } = made(await fixture.deposit({ value: "1001" }));
    const row = await fixture.advance(id);
    deepEqual([row.status, row.error.code], ["FAILED", "upstream.failed"]);
    match(row.error.detail, /^the exchange refuses it: .*insufficient balance/);
  });
  await t.step("it was never asked: FAILED, which says so", async () => {
    const { id } = made(await fixture.deposit());
    const { gateway } = fixture.exchanges;
    const unasked = () => Promise.reject(new ExchangeError("unasked", "it is not supported"));
    const row = await fixture.advance(id, { gateway: { ...gateway, withdraw: unasked } });
    deepEqual([row.status, row.error.code], ["FAILED", "upstream.failed"]);
    equal(row.error.detail, "the exchange was asked for nothing: it is not supported");
  });
  await t.step("it is away before it is asked: asked later, once", async () => {
    const { id } = made(await fixture.deposit());
    exchange.instead = () => new Response("no", { status: 503 });
    equal((await fixture.advance(id)).status, "PROCESSING");
    exchange.instead = () => null;
    equal((await fixture.advance(id)).exchange.reference, exchange.withdrawals.at(-1)!.id);
  });
  await t.step("it gives up what it had accepted: FAILED", async () => {
    const { id } = made(await fixture.deposit());
    await fixture.advance(id);
    Object.assign(exchange.withdrawals.at(-1)!, { status: 1 });
    deepEqual((await fixture.advance(id)).status, "FAILED");
  });
  await t.step("it shows another address: UNCLEAR", async () => {
    const { id } = made(await fixture.deposit());
    await fixture.advance(id);
    const last = exchange.withdrawals.at(-1)!;
    Object.assign(last, { address: "0x00000000000000000000000000000000DeaDBeef" });
    const row = await fixture.advance(id);
    deepEqual([row.status, row.reason], ["UNCLEAR", "the exchange pays to another address"]);
  });
  await t.step(
    "it names no hash but nonsense: nothing of it is taken for an arrival",
    async () => {
      const { id } = made(await fixture.deposit());
      await fixture.advance(id);
      Object.assign(exchange.withdrawals.at(-1)!, { status: 6, txId: "paid, honestly" });
      const row = await fixture.advance(id);
      deepEqual([row.status, row.hash], ["PROCESSING", null]);
      const late = await fixture.advance(id, { now: Date.now() + 100 * HOUR });
      deepEqual([late.status, late.reason], ["UNCLEAR", "it did not arrive within three days"]);
    },
  );
});

Deno.test("a withdrawal to an exchange is paid to its address and done when the exchange has credited it", async () => {
  await using fixture = await openExchangeFixture();
  const { funded, realm, exchange } = fixture;
  const dear = made(await fixture.withdraw({ max_fee: "0.000000000000000001" }));
  const refused = await fixture.advance(dear.id);
  deepEqual([refused.status, refused.error.code], ["FAILED", "condition.failed"]);
  const { id, max_fee: bound } = made(await fixture.withdraw({ max_fee: "0.1" }));
  equal((await realm.balance(funded.account)).available, "8");
  const sent = await fixture.advance(id);
  equal(sent.address, exchange.named.address);
  ok(sent.withdrawal);
  equal((await funded.finish(sent.withdrawal)).status, "DONE");
  equal(bound, "0.1");
  const { body: withdrawal } = await realm.admin.send("GET", `/v1/withdrawals/${sent.withdrawal}`);
  equal(withdrawal.max_fee, bound);
  equal((await fixture.advance(id)).status, "PROCESSING");
  const deposit = {
    ...{ id: "d1", amount: "2", coin: "ETH", network: "ETH", status: 0 },
    ...{ address: exchange.named.address, txId: withdrawal.chain.hash, insertTime: Date.now() },
  };
  exchange.deposits.push(deposit);
  const pending = await fixture.advance(id);
  deepEqual([pending.status, pending.exchange.status], ["PROCESSING", "pending"]);
  deposit.status = 1;
  const done = await fixture.advance(id);
  deepEqual([done.status, done.exchange.reference, done.exchange.amount], ["DONE", "d1", "2"]);
  deepEqual(await rowsOf(realm, "select id from blocks where status = 'OPEN'"), []);
});

Deno.test("an address that an exchange names is paid only if it passes every check", async (t) => {
  await using fixture = await openExchangeFixture();
  const { funded, realm, exchange } = fixture;
  const good = exchange.named.address;
  const other = "0x000000000000000000000000000000000000dEaD";
  const cases: [string, typeof exchange.named, Record<string, unknown>?][] = [
    ["no address of the chain", { address: "TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE", tag: "" }],
    ["a wrong checksum", { address: "0x00000000000000000000000000000000DeaDBeeF", tag: "" }],
    ["another currency", { address: good, tag: "", currency: "USDT" }],
    ["a memo", { address: good, tag: "1234" }],
    ["a memo that is too long", { address: good, tag: "1234".repeat(100) }],
    ["an address of ours", { address: funded.address, tag: "" }],
    ["another than the caller expects", { address: good, tag: "" }, { address: other }],
  ];
  for (const [name, named, more = {}] of cases) {
    await t.step(name, async () => {
      exchange.named = named;
      const { id } = made(await fixture.withdraw(more));
      const row = await fixture.advance(id);
      deepEqual([row.status, row.error?.code, row.withdrawal], ["FAILED", "address.invalid", null]);
      equal((await realm.balance(funded.account)).available, "10");
    });
  }
  await t.step(
    "another than the one that was paid last, until the caller names it",
    async () => {
      exchange.named = { address: good, tag: "" };
      const first = made(await fixture.withdraw());
      ok((await fixture.advance(first.id)).withdrawal);
      exchange.named = { address: other, tag: "" };
      const second = made(await fixture.withdraw());
      const refused = await fixture.advance(second.id);
      deepEqual([refused.status, refused.error.code], ["FAILED", "address.invalid"]);
      const third = made(await fixture.withdraw({ address: other }));
      equal((await fixture.advance(third.id)).address, other);
      const shared = `update ramp_transfers t set (withdrawal, address) = (f.withdrawal, f.address)
        from ramp_transfers f where f.id = '${first.id}' and t.id = '${second.id}'`;
      const context = await workerContextOf(realm);
      await rejects(context.step((tx) => tx.unsafe(shared)), {
        constraint_name: "ramp_transfers_withdrawal",
      });
      context.chains.close();
    },
  );
  deepEqual(
    (await rowsOf<{ destination: string }>(
      realm,
      "select destination from withdrawals order by id",
    ))
      .map((row) => row.destination),
    [good, other],
  );
});

Deno.test("the database refuses transfers that contradict themselves", async () => {
  await using fixture = await openExchangeFixture();
  const { realm } = fixture;
  const first = made(await fixture.deposit());
  const second = made(await fixture.deposit());
  await fixture.advance(first.id);
  const context = await workerContextOf(realm);
  const broken: [string, string][] = [
    [`state = 'done' where id = '${first.id}'`, "ramp_transfers_done"],
    [`state = 'new' where id = '${first.id}'`, "ramp_transfers_state"],
    [`asked_at = now() where id = '${first.id}'`, "ramp_transfers_kept"],
    [`value = 9 where id = '${first.id}'`, "ramp_transfers_kept"],
    [`max_fee = 9 where id = '${first.id}'`, "ramp_transfers_kept"],
    [`state = 'asking' where id = '${second.id}'`, "ramp_transfers_asked"],
    [`state = 'sent' where id = '${second.id}'`, "ramp_transfers_state"],
    [
      `reference = (select reference from ramp_transfers where id = '${first.id}')
      where id = '${second.id}'`,
      "ramp_transfers_reference",
    ],
    [`state = 'failed' where id = '${second.id}'`, "ramp_transfers_failed"],
  ];
  for (const [change, constraint] of broken) {
    await rejects(
      context.step((tx) => tx.unsafe(`update ramp_transfers set ${change}`)),
      { constraint_name: constraint },
      change,
    );
  }
  await rejects(context.step((tx) => tx.unsafe("delete from ramp_transfers")));
  context.chains.close();
});
