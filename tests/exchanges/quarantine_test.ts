/** Transfers with an exchange while ramps are in quarantine, and after it. */
import { deepEqual, equal, match } from "node:assert/strict";
import { quarantine } from "../../domain/sending/quarantine.ts";
import { openTestPoller } from "../support/scan_steps.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import { reconcile } from "../support/installation.ts";
import { type Answer, rowsOf } from "../support/realm.ts";

const APPLY = "POST /sapi/v1/capital/withdraw/apply";
const DAY = 24 * 3_600_000;

const made = ({ status, body, text }: Answer): string => {
  equal(status, 201, text);
  return body.id;
};
const asked = ({ exchange }: ExchangeFixture) =>
  exchange.requests.filter((one) => one === APPLY).length;
const codeOf = ({ status, body }: Answer) => [status, body.code];
/** Whole units: the rest are network fees. */
const availableOf = async ({ realm, funded }: ExchangeFixture) =>
  Math.floor(Number((await realm.balance(funded.account)).available));

const STEPS: readonly [string, (fixture: ExchangeFixture) => Promise<void>][] = [
  ["a deposit that the exchange pays into quarantine is credited, and done", followsAsked],
  ["one ordered in quarantine is asked for when that has ended, and once", waitsToAsk],
  ["a withdraw waits unsigned with its withdrawal, and is paid once afterwards", waitsToPay],
  ["a backup made in quarantine, restored: what had not begun is not begun", doubtsAgain],
  [
    "an exchange that is away, or refuses the key, ends no transfer that may have been paid",
    isAway,
  ],
  [
    "a withdraw that may have been paid is resolved by managers, after the reconciliation",
    resolves,
  ],
  ["a withdraw whose withdrawal an operator knows to be paid waits for a person", isKnown],
];

Deno.test("transfers with an exchange, and quarantine", async (t) => {
  await using fixture = await openExchangeFixture();
  await fixture.funded.anvil.mine();
  for (const [title, step] of STEPS) await t.step(title, () => step(fixture));
});

async function begin(fixture: ExchangeFixture, detail = "somebody else signs"): Promise<void> {
  const { step, actor } = fixture.context();
  await step((tx) => quarantine(tx, actor, null, detail));
}

async function end(fixture: ExchangeFixture): Promise<void> {
  const [report] = await reconcile(fixture.realm, () => Promise.resolve(false));
  equal(report.lifted, true, JSON.stringify(report));
}

async function followsAsked(fixture: ExchangeFixture): Promise<void> {
  const { funded, exchange } = fixture;
  using poller = openTestPoller(fixture.realm);
  const id = made(await fixture.deposit({ value: "1.5" }));
  equal((await fixture.advance(id)).status, "PROCESSING");
  await begin(fixture);
  const last = exchange.withdrawals.at(-1)!;
  const txId = await funded.anvil.send({ to: last.address, value: 15n * 10n ** 17n });
  Object.assign(last, { status: 6, txId });
  await funded.anvil.mine(4);
  await fixture.advance(id);
  await poller.follow();
  equal((await fixture.advance(id)).status, "DONE");
  await end(fixture);
  equal(asked(fixture), 1);
}

async function waitsToAsk(fixture: ExchangeFixture): Promise<void> {
  const before = asked(fixture);
  await begin(fixture);
  const id = made(await fixture.deposit({ value: "1.6" }));
  deepEqual([(await fixture.advance(id)).status, asked(fixture)], ["PROCESSING", before]);
  await end(fixture);
  const rows = await Promise.all([fixture.advance(id), fixture.advance(id)]);
  deepEqual(rows.map(({ status }) => status), ["PROCESSING", "PROCESSING"]);
  equal(asked(fixture), before + 1);
}

async function waitsToPay(fixture: ExchangeFixture): Promise<void> {
  const { funded, exchange, realm } = fixture;
  const id = made(await fixture.withdraw({ value: "1" }));
  const { withdrawal } = await fixture.advance(id);
  await begin(fixture);
  for (let round = 0; round < 3; round++) {
    await funded.advance();
    await funded.anvil.mine();
    equal((await fixture.advance(id)).status, "PROCESSING");
  }
  const cancel = await realm.admin.send("POST", `/v1/withdrawals/${withdrawal}/cancel`);
  deepEqual(codeOf(cancel), [503, "chain.quarantined"]);
  equal(await paidTo(fixture), 0);
  await end(fixture);
  const { chain } = await funded.finish(withdrawal);
  exchange.deposits.push({
    ...{ id: "paid once", amount: "1", coin: "ETH", network: "ETH", status: 1 },
    ...{ address: exchange.named.address, txId: chain.hash, insertTime: Date.now() },
  });
  equal((await fixture.advance(id)).status, "DONE");
  equal(await paidTo(fixture), 1);
}

/** What the exchange's address has received, in whole units. */
async function paidTo({ funded, exchange }: ExchangeFixture): Promise<number> {
  const { address } = exchange.named;
  return Number(await funded.anvil.rpc<string>("eth_getBalance", address, "latest")) / 1e18;
}

async function doubtsAgain(fixture: ExchangeFixture): Promise<void> {
  const before = asked(fixture);
  await begin(fixture);
  const deposit = made(await fixture.deposit({ value: "1.7" }));
  const withdraw = made(await fixture.withdraw({ value: "1" }));
  // Here a backup is made, and restored: its ramps are in quarantine already.
  await begin(fixture, "the database is older than the record of this host");
  await end(fixture);
  for (const id of [deposit, withdraw]) {
    const row = await fixture.advance(id);
    deepEqual([row.status, row.withdrawal], ["UNCLEAR", null]);
    match(row.reason, /the database was older/);
    await fixture.advance(id);
    const path = `/v1/ramps/${fixture.ramp}/transfers/${id}/resolve`;
    equal((await fixture.realm.admin.send("POST", path, { outcome: "failed" })).status, 200);
  }
  equal(asked(fixture), before);
}

async function isAway(fixture: ExchangeFixture): Promise<void> {
  const { exchange, realm, ramp } = fixture;
  const failing: (() => Response)[] = [
    () => new Response("no", { status: 503 }),
    () => Response.json({ code: -2008, msg: "Invalid Api-Key ID" }, { status: 401 }),
  ];
  for (const answer of failing) {
    const ids = [
      made(await fixture.deposit({ value: "1.8" })),
      made(await fixture.withdraw({ value: "1" })),
    ];
    await begin(fixture);
    await end(fixture);
    exchange.instead = answer;
    for (const id of ids) {
      const { status, error } = await fixture.advance(id, { now: Date.now() + DAY + 1000 });
      deepEqual([status, error], ["UNCLEAR", null]);
    }
    exchange.instead = () => null;
    for (const id of ids) {
      const path = `/v1/ramps/${ramp}/transfers/${id}/resolve`;
      equal((await realm.admin.send("POST", path, { outcome: "failed" })).status, 200);
    }
  }
}

async function resolves(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded, ramp } = fixture;
  const before = await availableOf(fixture);
  const totalOf = async (id: string) => Math.floor(Number((await realm.balance(id)).total));
  const atRamp = await totalOf(funded.ramp);
  const ids = [
    made(await fixture.withdraw({ value: "1" })),
    made(await fixture.withdraw({ value: "2" })),
  ];
  await begin(fixture);
  for (const id of ids) equal((await fixture.advance(id)).status, "UNCLEAR");
  const resolve = (id: string, outcome: string, send = realm.admin.send) =>
    send("POST", `/v1/ramps/${ramp}/transfers/${id}/resolve`, { outcome });
  const [notPaid, paid] = ids;
  for (const outcome of ["failed", "done"]) {
    deepEqual(codeOf(await resolve(paid, outcome)), [503, "chain.quarantined"]);
  }
  await end(fixture);
  // Its owner would say that it was not paid, also one who sees the whole realm.
  const owner = await realm.user({ scope: "realm" });
  await rowsOf(realm, "update external_ramps set owner = $1 where id = $2", [owner.id, ramp]);
  for (const outcome of ["failed", "done"]) {
    deepEqual(codeOf(await resolve(paid, outcome, owner.send)), [403, "permission.owner"]);
  }
  equal(await availableOf(fixture), before - 3);
  equal((await resolve(notPaid, "failed")).body.status, "FAILED");
  equal(await availableOf(fixture), before - 2);
  const ends = await Promise.all([resolve(paid, "done"), resolve(paid, "done")]);
  deepEqual(ends.map(({ status }) => status).sort(), [200, 409]);
  equal(await availableOf(fixture), before - 2);
  equal(await totalOf(funded.ramp), atRamp + 2, "the ramp that paid it has its value");
  deepEqual(await rowsOf(realm, "select id from blocks where status = 'OPEN'"), []);
}

async function isKnown(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const id = made(await fixture.withdraw({ value: "1" }));
  const { withdrawal } = await fixture.advance(id);
  await begin(fixture);
  const [report] = await reconcile(realm, (one) => Promise.resolve(one.withdrawal === withdrawal));
  equal(report.lifted, true);
  const row = await fixture.advance(id);
  deepEqual([row.status, row.hash], ["UNCLEAR", null]);
  match(row.reason, /an operator knows it to be paid/);
  const path = `/v1/ramps/${ramp}/transfers/${id}/resolve`;
  equal((await realm.admin.send("POST", path, { outcome: "done" })).body.status, "DONE");
}
