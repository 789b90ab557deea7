/** What an exchange, a second caller, a restored database or a late worker may try against transfers. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { measureRealm } from "../../db/realms/measurements.ts";
import { reading } from "../../db/transaction.ts";
import { quarantine } from "../../domain/sending/quarantine.ts";
import { checkExternalRamp } from "../../workers/exchanges/checks.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import { EXCHANGE_KEY } from "../support/exchange_server.ts";
import { openTestPoller } from "../support/scan_steps.ts";
import { type Answer, rowsOf } from "../support/realm.ts";

const APPLY = "POST /sapi/v1/capital/withdraw/apply";
const HISTORY = "GET /sapi/v1/capital/withdraw/history";
const NAMING = "GET /sapi/v1/capital/deposit/address";
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const made = ({ status, body, text }: Answer) => {
  equal(status, 201, text);
  return body;
};
const asked = ({ exchange }: ExchangeFixture) =>
  exchange.requests.filter((one) => one === APPLY).length;
const availableOf = async ({ realm, funded }: ExchangeFixture) =>
  (await realm.balance(funded.account)).available;

const STEPS: readonly [string, (fixture: ExchangeFixture) => Promise<void>][] = [
  ["credentials that were replaced meanwhile: a withdraw is not paid to their account", replaces],
  [
    "a payment with another's id, or one that another may claim, is nobody's by mistake",
    tellsApart,
  ],
  ["an id that somebody claims is kept from no transfer that the exchange tells it of", claims],
  ["a payment of which the exchange tells too little is asked about, not paid again", isCautious],
  ["a ramp was in quarantine: nothing that had not begun begins", doubts],
  ["an exchange that names no address, or is away for a day, blocks no value", releases],
  ["a record deleted before the exchange was asked, or paid: it is neither", stopsDeleted],
  ["an exchange that credits another amount: UNCLEAR, measured, resolved once", measuresUnclear],
  ["an exchange that keeps most of a payment as its fee: UNCLEAR", overcharges],
  ["no table holds a credential, under an idempotency key neither", keepsSecrets],
  [
    "credentials that no key opens: REFUSED, until they are given again, and value is free",
    tellsUnreadable,
  ],
  ["whoever may add rows cannot have an exchange pay elsewhere", refusesRows],
];

Deno.test("external ramps: what others may try comes to nothing", async (t) => {
  await using fixture = await openExchangeFixture();
  for (const [title, step] of STEPS) await t.step(title, () => step(fixture));
});

async function replaces(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const { id } = made(await fixture.withdraw());
  equal(await availableOf(fixture), "8");
  const { status } = await realm.admin.send("PATCH", `/v1/ramps/${ramp}`, {
    authentication: EXCHANGE_KEY,
  });
  equal(status, 200);
  await checkExternalRamp(fixture.context(), { ramp });
  const row = await fixture.advance(id);
  deepEqual([row.status, row.error?.code, row.withdrawal], ["FAILED", "version.conflict", null]);
  deepEqual([await availableOf(fixture), await rowsOf(realm, "select id from withdrawals")], [
    "10",
    [],
  ]);
}

async function tellsApart(fixture: ExchangeFixture): Promise<void> {
  const { exchange } = fixture;
  for (const marks of [true, false]) {
    Object.assign(exchange, { marks });
    const before = exchange.withdrawals.length;
    const first = made(await fixture.deposit({ value: "3.25" }));
    exchange.instead = (request, after) =>
      request === APPLY && after ? new Response("no", { status: 502 }) : null;
    await fixture.advance(first.id);
    exchange.instead = () => null;
    const second = made(await fixture.deposit({ value: "3.25" }));
    const early = await fixture.advance(second.id);
    if (!marks) {
      deepEqual([early.status, early.exchange.reference], ["PROCESSING", null]);
    }
    const shown = [await fixture.advance(first.id), await fixture.advance(second.id)];
    deepEqual(
      shown.map((one) => one.exchange.reference),
      exchange.withdrawals.slice(before).map(({ id }) => id),
      marks ? "with ids" : "without ids",
    );
    equal(exchange.withdrawals.length, before + 2);
  }
  Object.assign(exchange, { marks: true });
}

async function claims(fixture: ExchangeFixture): Promise<void> {
  const { realm, exchange, funded } = fixture;
  const { send, identity } = realm.admin;
  const record = { ramp: "binance", identity, authentication: EXCHANGE_KEY };
  const { id: other } = made(await send("POST", "/v1/ramps", record));
  await checkExternalRamp(fixture.context(), { ramp: other });
  const order = { account: funded.account, asset: "ETH", value: "8.25" };
  const lost = made(await send("POST", `/v1/ramps/${other}/deposit`, order));
  exchange.instead = (request) => request === APPLY ? new Response("no", { status: 502 }) : null;
  await fixture.advance(lost.id);
  exchange.instead = () => null;
  equal((await fixture.advance(lost.id, { now: Date.now() + HOUR })).status, "UNCLEAR");
  const told = made(await fixture.deposit({ value: "8.75" }));
  const resolve = (reference: string) =>
    send("POST", `/v1/ramps/${other}/transfers/${lost.id}/resolve`, { outcome: "sent", reference });
  const shown = await fixture.advance(told.id, {
    at: async (place) => {
      if (place !== "asked") return;
      const { status, body } = await resolve(exchange.withdrawals.at(-1)!.id);
      deepEqual([status, body.status], [200, "PROCESSING"]);
    },
  });
  const { id } = exchange.withdrawals.at(-1)!;
  deepEqual([shown.status, shown.exchange.reference, shown.reason], ["PROCESSING", id, null]);
  // The exchange shows it to the other record, too: they are keys of one account. It stays where it is.
  const taken = await fixture.advance(lost.id);
  deepEqual([taken.status, taken.reason], [
    "UNCLEAR",
    "the exchange named the id of another transfer",
  ]);
  const events = async () =>
    (await rowsOf(realm, "select id from events where entity = $1", [lost.id])).length;
  const before = await events();
  ok(before > 0);
  equal((await fixture.advance(lost.id)).status, "UNCLEAR");
  equal(await events(), before, "the same reason is told of once");
  deepEqual([(await resolve(id)).status, (await resolve("another")).status], [409, 200]);
  // The serving half writes what persons claim, and nothing that exchanges tell.
  const role = `realm_${realm.id.replaceAll("-", "")}`;
  const rights = await rowsOf<{ may: boolean }>(
    realm,
    `select has_column_privilege($1, 'ramp_transfers', c, 'update') as may
      from unnest('{claimed,reference}'::text[]) c`,
    [role],
  );
  deepEqual(rights.map(({ may }) => may), [true, false]);
  equal((await fixture.advance(lost.id)).exchange.reference, "another");
}

async function isCautious(fixture: ExchangeFixture): Promise<void> {
  const { exchange } = fixture;
  const { id } = made(await fixture.deposit({ value: "4.5" }));
  const before = asked(fixture);
  const untold = {
    ...{ id: "untold", amount: "4.5", transactionFee: "0.001", coin: "ETH", network: "ETH" },
    ...{ status: 4, address: "", txId: "", applyTime: new Date().toISOString().slice(0, 19) },
  };
  exchange.instead = (request) =>
    request === HISTORY
      ? Response.json([{
        ...untold,
        applyTime: untold.applyTime.replace("T", " "),
      }])
      : null;
  const row = await fixture.advance(id);
  exchange.instead = () => null;
  deepEqual([row.status, asked(fixture)], ["UNCLEAR", before]);
  equal((await fixture.advance(id)).status, "UNCLEAR");
  equal(asked(fixture), before);
}

async function doubts(fixture: ExchangeFixture): Promise<void> {
  const { realm } = fixture;
  const deposit = made(await fixture.deposit({ value: "5" }));
  const withdraw = made(await fixture.withdraw());
  const before = asked(fixture);
  const { step, actor } = fixture.context();
  await step((tx) => quarantine(tx, actor, null, "restored"));
  await step((tx) => tx`update ramps set quarantined = null`);
  const unclear = await fixture.advance(deposit.id);
  deepEqual([unclear.status, asked(fixture)], ["UNCLEAR", before]);
  match(unclear.reason, /the database was older/);
  const waits = await fixture.advance(withdraw.id);
  deepEqual([waits.status, waits.reason], ["UNCLEAR", unclear.reason]);
  deepEqual([await availableOf(fixture), await rowsOf(realm, "select id from withdrawals")], [
    "8",
    [],
  ]);
  const path = `/v1/ramps/${fixture.ramp}/transfers/${withdraw.id}/resolve`;
  equal((await realm.admin.send("POST", path, { outcome: "failed" })).status, 200);
  equal(await availableOf(fixture), "10");
  // What the newer database asked for is found under its id.
  const known = made(await fixture.deposit({ value: "5.5" }));
  fixture.exchange.withdrawals.push({
    ...{ id: "known", amount: "5.5", transactionFee: "0.001", coin: "ETH", network: "ETH" },
    ...{
      status: 4,
      address: known.address,
      txId: "",
      withdrawOrderId: known.id.replaceAll("-", ""),
    },
    applyTime: new Date().toISOString().slice(0, 19).replace("T", " "),
  });
  await step((tx) => quarantine(tx, actor, null, "restored"));
  await step((tx) => tx`update ramps set quarantined = null`);
  const found = await fixture.advance(known.id);
  deepEqual([found.status, found.exchange.reference], ["PROCESSING", "known"]);
}

async function releases(fixture: ExchangeFixture): Promise<void> {
  const { exchange } = fixture;
  const refused = made(await fixture.withdraw());
  exchange.instead = (request) =>
    request === NAMING
      ? Response.json({ code: -1102, msg: "no such coin" }, { status: 400 })
      : null;
  const row = await fixture.advance(refused.id);
  deepEqual([row.status, row.error?.code], ["FAILED", "upstream.failed"]);
  equal(await availableOf(fixture), "10");
  const late = made(await fixture.withdraw());
  exchange.instead = () => new Response("no", { status: 503 });
  equal((await fixture.advance(late.id)).status, "PROCESSING");
  equal((await fixture.advance(late.id, { now: Date.now() + DAY + 1000 })).status, "FAILED");
  exchange.instead = () => null;
  equal(await availableOf(fixture), "10");
}

async function stopsDeleted(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const { id } = made(await fixture.deposit({ value: "6" }));
  const withdraw = made(await fixture.withdraw());
  const before = asked(fixture);
  await realm.admin.send("DELETE", `/v1/ramps/${ramp}`);
  const row = await fixture.advance(id);
  deepEqual([row.status, row.error?.code, asked(fixture)], ["FAILED", "ramp.not_found", before]);
  const unpaid = await fixture.advance(withdraw.id);
  deepEqual([unpaid.status, unpaid.error?.code, unpaid.withdrawal], [
    "FAILED",
    "ramp.not_found",
    null,
  ]);
  equal(await availableOf(fixture), "10");
  equal((await realm.admin.send("POST", `/v1/ramps/${ramp}/undelete`)).status, 200);
}

async function measuresUnclear(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded, exchange, ramp } = fixture;
  const { id } = made(await fixture.withdraw());
  const sent = await fixture.advance(id);
  equal((await funded.finish(sent.withdrawal)).status, "DONE");
  const { body } = await realm.admin.send("GET", `/v1/withdrawals/${sent.withdrawal}`);
  exchange.deposits.push({
    ...{ id: "less", amount: "1.5", coin: "ETH", network: "ETH", status: 1 },
    ...{ address: exchange.named.address, txId: body.chain.hash, insertTime: Date.now() },
  });
  const row = await fixture.advance(id);
  deepEqual([row.status, row.reason], [
    "UNCLEAR",
    "the exchange has credited 1.5, which is another amount",
  ]);
  const samples = await reading(realm.pool, measureRealm);
  ok(
    samples.some(({ name, labels, value }) =>
      name === "purser_ramp_transfers" && labels.status === "UNCLEAR" &&
      labels.kind === "withdraw" && value === 1
    ),
  );
  const path = `/v1/ramps/${ramp}/transfers/${id}/resolve`;
  const [one, two] = await Promise.all(
    [1, 2].map(() => realm.admin.send("POST", path, { outcome: "done" })),
  );
  deepEqual([one.status, two.status].sort(), [200, 409]);
  const action = "POST /v1/ramps/{id}/transfers/{transfer}/resolve";
  const trail = await realm.admin.send("GET", `/v1/audit?action=${encodeURIComponent(action)}`);
  deepEqual(
    trail.body.filter((line: { entity: string }) => line.entity === id)
      .map((line: { actor: string }) => line.actor),
    [realm.admin.id],
    trail.text,
  );
}

async function overcharges(fixture: ExchangeFixture): Promise<void> {
  const { realm, funded, exchange, ramp } = fixture;
  using poller = openTestPoller(realm);
  const { id } = made(await fixture.deposit({ value: "8" }));
  await fixture.advance(id);
  // A fee that it asks for afterwards explains nothing.
  exchange.tell = (currencies) =>
    JSON.parse(
      JSON.stringify(currencies).replaceAll(`"withdrawFee":"0.001"`, `"withdrawFee":"7.9"`),
    );
  await checkExternalRamp(fixture.context(), { ramp });
  equal((await realm.admin.send("GET", `/v1/ramps/${ramp}/assets`)).body[0].fee, "7.9");
  const last = exchange.withdrawals.at(-1)!;
  const txId = await funded.anvil.send({ to: last.address, value: 10n ** 17n });
  Object.assign(last, { status: 6, txId, transactionFee: "7.9" });
  await fixture.advance(id);
  await funded.anvil.mine(4);
  await poller.follow();
  const row = await fixture.advance(id);
  deepEqual([row.status, row.reason], [
    "UNCLEAR",
    "the exchange took 7.9 as its fee, far more than it asks for",
  ]);
  const path = `/v1/ramps/${ramp}/transfers/${id}/resolve`;
  equal((await realm.admin.send("POST", path, { outcome: "done" })).body.status, "DONE");
  exchange.tell = (currencies) => currencies;
  await checkExternalRamp(fixture.context(), { ramp });
}

async function keepsSecrets({ realm }: ExchangeFixture): Promise<void> {
  const authentication = { api_key: "seen-nowhere-key-4321", secret: "seen-nowhere-secret" };
  const { send, identity } = realm.admin;
  const body = { ramp: "binance", identity, authentication };
  const record = made(await send("POST", "/v1/ramps", body, { "idempotency-key": "record-once" }));
  const changed = await send("PATCH", `/v1/ramps/${record.id}`, { authentication }, {
    "idempotency-key": "record-changed",
  });
  equal(changed.status, 200);
  const tables = await rowsOf<{ name: string }>(
    realm,
    "select c.oid::regclass::text as name from pg_class c where c.relkind in ('r', 'p')" +
      " and c.relnamespace = current_schema()::regnamespace",
  );
  ok(tables.length > 50);
  const named = `t::text like '%' || 'seen-nowhere' || '%'`;
  const searches = tables.map(({ name }) =>
    `select '${name}' as name from ${name} t where ${named}`
  );
  deepEqual(await rowsOf(realm, searches.join(" union all ")), []);
}

async function tellsUnreadable(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const before = await availableOf(fixture);
  const withdraw = made(await fixture.withdraw());
  const deposit = made(await fixture.deposit({ value: "7" }));
  const { step } = fixture.context();
  await step((tx) =>
    tx`update external_ramps set credentials = set_byte(credentials, 40, get_byte(credentials, 40) # 1)
      where id = ${ramp}`
  );
  // What was ordered before holds no value that nobody can move.
  const lost = await fixture.advance(withdraw.id);
  deepEqual([lost.status, lost.error?.code, await availableOf(fixture)], [
    "FAILED",
    "upstream.failed",
    before,
  ]);
  equal((await fixture.advance(deposit.id)).status, "PROCESSING");
  equal((await fixture.advance(deposit.id, { now: Date.now() + DAY + 1000 })).status, "FAILED");
  await checkExternalRamp(fixture.context(), { ramp });
  const { body } = await realm.admin.send("GET", `/v1/ramps/${ramp}`);
  deepEqual([body.status, body.error.code], ["REFUSED", "upstream.failed"]);
  match(body.error.detail, /cannot be read: give them again/);
  await realm.admin.send("PATCH", `/v1/ramps/${ramp}`, { authentication: EXCHANGE_KEY });
  await checkExternalRamp(fixture.context(), { ramp });
  equal((await realm.admin.send("GET", `/v1/ramps/${ramp}`)).body.status, "READY");
}

async function refusesRows(fixture: ExchangeFixture): Promise<void> {
  const { realm } = fixture;
  const { id } = made(await fixture.deposit({ value: "7" }));
  const context = await workerContextOf(realm);
  const copy = (columns: Record<string, string>) => {
    const given = { id: "gen_random_uuid()", ...columns };
    const names = [
      ...["id", "external_ramp", "exchange", "kind", "account", "asset", "value", "currency"],
      ...["exchange_network", "chain", "network", "address", "state", "asked_at", "block"],
      ...["paid_by", "speed", "owner", "created_at", "claims"],
    ];
    const values = names.map((name) => given[name as keyof typeof given] ?? name);
    return `insert into ramp_transfers (${names}) select ${values} from ramp_transfers
      where id = '${id}'`;
  };
  const broken: [Record<string, string>, string][] = [
    [{ address: "'0x00000000000000000000000000000000DeaDBeef'" }, "ramp_transfers_ours"],
    [{ state: "'sent'", asked_at: "now()" }, "ramp_transfers_new"],
    [{ claims: `'[{"reference": "1", "by": "x", "at": 1}]'` }, "ramp_transfers_new"],
    [{
      ...{ kind: "'withdraw'", address: "null", block: "gen_random_uuid()" },
      ...{ paid_by: "'sender'", speed: "'fast'" },
    }, "ramp_transfers_held"],
  ];
  for (const [columns, constraint] of broken) {
    await rejects(context.step((tx) => tx.unsafe(copy(columns))), { constraint_name: constraint });
  }
  context.chains.close();
}
