/** Ids that persons name for deposits of which the exchange's answer is lost: mistyped ones are corrected, and take nothing. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { trim } from "../../domain/money.ts";
import { openExchangeGateway } from "../../workers/gateways/exchanges/gateway.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import type { ExchangeWithdrawal } from "../support/exchange_server.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { openTestPoller } from "../support/scan_steps.ts";

const APPLY = "POST /sapi/v1/capital/withdraw/apply";
const HISTORY = "GET /sapi/v1/capital/withdraw/history";
const HOUR = 3_600_000;
const ETHER = 10n ** 18n;

const made = ({ status, body, text }: Answer) => {
  equal(status, 201, text);
  return body;
};
const codeOf = ({ status, body }: Answer) => [status, body.code];
const asked = ({ exchange }: ExchangeFixture) =>
  exchange.requests.filter((one) => one === APPLY).length;

const STEPS: readonly [string, (fixture: ExchangeFixture) => Promise<void>][] = [
  [
    "an id that was mistyped is named anew: each of two like payments ends its own transfer",
    corrects,
  ],
  [
    "an id that exists nowhere: UNCLEAR, FAILED by a person, and what comes is credited",
    failsNowhere,
  ],
  ["a payment that contradicts the transfer is not taken for it, whoever names its id", refuses],
  ["what the exchange itself named, or what is done, is named anew by nobody", keepsTold],
  ["whoever may write the rows cannot lose what persons named, nor move a deposit", guardsRows],
  ["a transfer that waits for a person is told of once, however often it is looked up", tellsOnce],
  ["a worker that ends before it asks: FAILED, and nothing was asked for", endsBeforeAsking],
];

Deno.test("deposits from exchanges under ids that persons named", async (t) => {
  await using fixture = await openExchangeFixture();
  Object.assign(fixture.exchange, { marks: false });
  for (const [title, step] of STEPS) await t.step(title, () => step(fixture));
});

const resolver = ({ realm, ramp }: ExchangeFixture, send = realm.admin.send) =>
(
  id: string,
  body: unknown,
) => send("POST", `/v1/ramps/${ramp}/transfers/${id}/resolve`, body);
const named = (reference: string) => ({ outcome: "sent", reference });

/** A deposit that the exchange pays, whose answer is lost, and that is hidden in its list: UNCLEAR. */
async function lostDeposit(
  fixture: ExchangeFixture,
  value: string,
): Promise<[string, ExchangeWithdrawal, number]> {
  const { exchange } = fixture;
  const { id, created_at } = made(await fixture.deposit({ value }));
  exchange.instead = (request, after) => {
    if (request === HISTORY) return Response.json([]);
    return request === APPLY && after ? Response.json({ msg: "no" }, { status: 502 }) : null;
  };
  await fixture.advance(id);
  equal((await fixture.advance(id, { now: Date.now() + HOUR })).status, "UNCLEAR");
  exchange.instead = () => null;
  return [id, exchange.withdrawals.at(-1)!, created_at];
}

async function failsNowhere(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded } = fixture;
  using poller = openTestPoller(realm);
  const resolve = resolver(fixture);
  const [id, paid] = await lostDeposit(fixture, "1.75");
  const before = asked(fixture);
  equal((await resolve(id, named("no-such-id"))).body.status, "PROCESSING");
  equal((await fixture.advance(id)).status, "PROCESSING");
  const late = await fixture.advance(id, { now: Date.now() + 73 * HOUR });
  deepEqual([late.status, late.reason], ["UNCLEAR", "it did not arrive within three days"]);
  const failed = (await resolve(id, { outcome: "failed" })).body;
  deepEqual([failed.status, failed.error.code], ["FAILED", "upstream.failed"]);
  equal((await fixture.advance(id)).status, "FAILED");
  await funded.anvil.send({ to: paid.address, value: 175n * ETHER / 100n });
  await funded.anvil.mine(4);
  await poller.follow();
  const [credited] = await rowsOf<{ count: number }>(
    realm,
    "select count(*)::integer as count from deposits where status = 'CONFIRMED' and amount = 1.75",
  );
  deepEqual([credited.count, asked(fixture) - before], [1, 0]);
}

async function corrects(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded, exchange } = fixture;
  using poller = openTestPoller(realm);
  const resolve = resolver(fixture);
  const [one, ofOne] = await lostDeposit(fixture, "1.25");
  const [other, ofOther] = await lostDeposit(fixture, "1.25");
  // The exchange shows both in every figure as it should: only the person can have meant the other.
  equal((await resolve(one, named(ofOther.id))).body.status, "PROCESSING");
  const wrong = await fixture.advance(one);
  deepEqual([wrong.status, wrong.exchange.reference], ["PROCESSING", ofOther.id]);
  deepEqual(codeOf(await resolve(other, named(ofOther.id))), [409, "version.conflict"]);
  // Whoever may not write the record corrects nothing.
  const reader = await realm.user({ scope: "realm" });
  deepEqual(codeOf(await resolver(fixture, reader.send)(one, named(ofOne.id))), [
    403,
    "permission.owner",
  ]);
  const both = await Promise.all([resolve(one, named(ofOne.id)), resolve(one, named(ofOne.id))]);
  deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
  const corrected = both.find(({ status }) => status === 200)!.body;
  deepEqual(
    [corrected.status, corrected.exchange.reference, corrected.exchange.status, corrected.hash],
    ["PROCESSING", ofOne.id, null, null],
  );
  deepEqual(
    corrected.claims.map(({ reference, by }: Record<string, unknown>) => [reference, by]),
    [[ofOther.id, realm.admin.id], [ofOne.id, realm.admin.id]],
  );
  equal((await fixture.advance(one)).exchange.reference, ofOne.id);
  equal((await fixture.advance(other)).exchange.reference, ofOther.id, "it is free for its own");
  for (const paid of [ofOne, ofOther]) {
    const txId = await funded.anvil.send({ to: paid.address, value: 125n * ETHER / 100n });
    Object.assign(paid, { status: 6, txId });
  }
  for (const id of [one, other]) await fixture.advance(id);
  await funded.anvil.mine(4);
  await poller.follow();
  const done = [await fixture.advance(one), await fixture.advance(other)];
  deepEqual(done.map(({ status }) => status), ["DONE", "DONE"]);
  deepEqual(done.map(({ hash }) => hash), [ofOne.txId, ofOther.txId]);
  equal(new Set(done.map(({ deposit }) => deposit)).size, 2);
  deepEqual(codeOf(await resolve(one, named(ofOther.id))), [409, "version.conflict"]);
  equal(asked(fixture), 2);
  const [credited] = await rowsOf<{ sum: string; count: number }>(
    realm,
    "select sum(credited)::text as sum, count(*)::integer as count from deposits where hash = any ($1)",
    [[ofOne.txId, ofOther.txId]],
  );
  deepEqual([trim(credited.sum), credited.count], ["2.5", 2]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  const action = "POST /v1/ramps/{id}/transfers/{transfer}/resolve";
  const trail = await realm.admin.send("GET", `/v1/audit?action=${encodeURIComponent(action)}`);
  const lines = trail.body.filter((line: { entity: string }) => line.entity === one);
  equal(lines.length, 2, trail.text);
  equal(exchange.withdrawals.length, 2);
}

async function refuses(fixture: ExchangeFixture): Promise<void> {
  const { realm, exchange } = fixture;
  const resolve = resolver(fixture);
  const [id, paid, created] = await lostDeposit(fixture, "2.25");
  const earlier = new Date(created - 90_000).toISOString().replace("T", " ").slice(0, 19);
  const wrong: [string, Partial<ExchangeWithdrawal>, RegExp][] = [
    ["elsewhere", { address: "0x00000000000000000000000000000000DeaDBeef" }, /another address/],
    ["foreign", { withdrawOrderId: "somebody" }, /somebody else gave it/],
    ["older", { applyTime: earlier }, /older than the transfer/],
    ["bridged", { network: "BSC" }, /another network/],
    ["less", { amount: "0.5" }, /another amount/],
  ];
  for (const [name, more, why] of wrong) {
    exchange.withdrawals.push({ ...paid, ...more, id: name });
    equal((await resolve(id, named(name))).status, 200);
    const row = await fixture.advance(id);
    deepEqual([row.status, row.exchange.reference], ["UNCLEAR", name]);
    match(row.reason, why);
    const [{ reference }] = await rowsOf<{ reference: string | null }>(
      realm,
      "select reference from ramp_transfers where id = $1",
      [id],
    );
    equal(reference, null, "it is free for its own transfer");
  }
  equal((await resolve(id, named(paid.id))).status, 200);
  const row = await fixture.advance(id);
  deepEqual([row.status, row.exchange.amount, row.claims.length], ["PROCESSING", "2.25", 6]);
  exchange.withdrawals.splice(-5);
}

async function keepsTold(fixture: ExchangeFixture): Promise<void> {
  const resolve = resolver(fixture);
  const { id } = made(await fixture.deposit({ value: "2.5" }));
  const sent = await fixture.advance(id);
  ok(sent.exchange.reference);
  deepEqual(codeOf(await resolve(id, named("mistyped"))), [409, "version.conflict"]);
  const late = await fixture.advance(id, { now: Date.now() + 100 * HOUR });
  equal(late.status, "UNCLEAR");
  deepEqual(codeOf(await resolve(id, named("mistyped"))), [409, "version.conflict"]);
  const again = await resolve(id, named(sent.exchange.reference));
  deepEqual([again.status, again.body.claims], [200, []], again.text);
  // So many ids is nobody who mistypes.
  const [lost] = await lostDeposit(fixture, "2.75");
  for (let i = 0; i < 20; i++) equal((await resolve(lost, named(`guess ${i}`))).status, 200);
  deepEqual(codeOf(await resolve(lost, named("guess 20"))), [400, "request.invalid"]);
}

async function guardsRows(fixture: ExchangeFixture): Promise<void> {
  const { realm } = fixture;
  const resolve = resolver(fixture);
  const [id, paid] = await lostDeposit(fixture, "3.25");
  const change = (set: string) =>
    fixture.context().step((tx) =>
      tx.unsafe(`update ramp_transfers set ${set} where id = '${id}'`)
    );
  equal((await resolve(id, named(paid.id))).status, 200);
  equal((await fixture.advance(id)).exchange.reference, paid.id);
  const broken: [string, string][] = [
    [`claims = '[]'`, "ramp_transfers_claimed"],
    [`claimed = null`, "ramp_transfers_renamed"],
    [
      `claimed = 'other', claims = '[{"reference": "other", "by": "x", "at": 1}]'`,
      "ramp_transfers_claimed",
    ],
    [
      `claimed = 'other', claims = claims || '{"reference": "other", "by": null, "at": 1}'`,
      "ramp_transfers_claimed",
    ],
    [
      `claimed = 'other', claims = claims || '{"reference": "other", "by": "x"}'`,
      "ramp_transfers_claimed",
    ],
    [
      `claimed = 'other', claims = claims || '{"reference": "third", "by": "x", "at": 1}'`,
      "ramp_transfers_claimed",
    ],
    [`claimed = 'other'`, "ramp_transfers_claimed"],
    [`reference = 'other'`, "ramp_transfers_kept"],
  ];
  for (const [set, constraint] of broken) {
    await rejects(change(set), { constraint_name: constraint }, set);
  }
  const [done] = await rowsOf<{ id: string }>(
    realm,
    "select id from ramp_transfers where deposit is not null and claimed is not null limit 1",
  );
  await rejects(
    fixture.context().step((tx) =>
      tx`update ramp_transfers set claimed = 'other' where id = ${done.id}`
    ),
    { constraint_name: "ramp_transfers_renamed" },
  );
}

async function tellsOnce(fixture: ExchangeFixture): Promise<void> {
  const { id } = made(await fixture.deposit({ value: "3.5" }));
  await fixture.advance(id);
  const late = (hours: number) => fixture.advance(id, { now: Date.now() + hours * HOUR });
  equal((await late(100)).status, "UNCLEAR");
  const events = async () =>
    (await rowsOf(fixture.realm, "select id from events where entity = $1", [id])).length;
  const before = await events();
  ok(before > 0);
  for (let hours = 101; hours < 104; hours++) equal((await late(hours)).status, "UNCLEAR");
  equal(await events(), before);
}

async function endsBeforeAsking(fixture: ExchangeFixture): Promise<void> {
  const { id } = made(await fixture.deposit({ value: "4.25" }));
  const before = asked(fixture);
  const gateway = openExchangeGateway({ urls: { binance: fixture.exchange.url } });
  const at = (place: string) => place === "asking" ? gateway.close() : undefined;
  const row = await fixture.advance(id, { gateway, at });
  deepEqual([row.status, row.error?.code, asked(fixture)], ["FAILED", "upstream.failed", before]);
}
