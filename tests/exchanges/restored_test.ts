/**
 * Transfers with an exchange in a database that was restored from a backup, with the commands that an
 * operator runs: what was asked for or paid since is looked up, and never asked for or paid again.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { locationOf } from "../../domain/realms/realms.ts";
import { adminAt, reportOf, rowsAt } from "../backup/fixture.ts";
import { startService } from "../process/crash/service.ts";
import { commandHost } from "../support/command_host.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import { auditAll } from "../support/proofs.ts";
import { type Answer, PLATFORM_KEY, type Send } from "../support/realm.ts";

const APPLY = "POST /sapi/v1/capital/withdraw/apply";
const HISTORY = "GET /sapi/v1/capital/withdraw/history";
const ETHER = 10n ** 18n;

const made = ({ status, body, text }: Answer): string => {
  equal(status, 201, text);
  return body.id;
};
const asked = ({ exchange }: ExchangeFixture) =>
  exchange.requests.filter((one) => one === APPLY).length;
const crash = (place: string) => (at: string) => {
  if (at === place) throw new Error("the worker ends here");
};

/** Transfers at each step, when the backup is made. */
async function order(fixture: ExchangeFixture) {
  const deposit = async (value: string) => made(await fixture.deposit({ value }));
  const withdraw = async (value: string) => made(await fixture.withdraw({ value }));
  const ids = {
    fresh: await deposit("1.1"),
    lost: await deposit("1.2"),
    hidden: await deposit("1.3"),
    followed: await deposit("1.4"),
    unpaid: await withdraw("2"),
    unsigned: await withdraw("0.5"),
  };
  await fixture.advance(ids.lost, { at: crash("asked") }).catch(() => {});
  await fixture.advance(ids.followed);
  const { withdrawal } = await fixture.advance(ids.unsigned);
  equal(asked(fixture), 2);
  return { ids, withdrawal };
}

/** What happens after the backup, and is lost with the database. */
async function goOn(
  fixture: ExchangeFixture,
  { ids, withdrawal }: Awaited<ReturnType<typeof order>>,
): Promise<void> {
  const { funded, exchange } = fixture;
  for (const id of [ids.fresh, ids.hidden]) await fixture.advance(id);
  const { withdrawal: later } = await fixture.advance(ids.unpaid);
  for (const one of [withdrawal, later]) {
    const { chain, value } = await funded.finish(one);
    exchange.deposits.push({
      ...{ id: one, amount: `${value}`, coin: "ETH", network: "ETH", status: 1 },
      ...{ address: exchange.named.address, txId: chain.hash, insertTime: Date.now() },
    });
  }
  equal(exchange.withdrawals.length, 4);
  for (const paid of exchange.withdrawals) {
    const value = BigInt(Math.round(Number(paid.amount) * 1000) - 1) * ETHER / 1000n;
    const txId = await funded.anvil.send({ to: paid.address, value });
    Object.assign(paid, { status: 6, txId });
  }
  await funded.anvil.mine(4);
}

/** A restored database, and how a process starts on it. */
interface Restored {
  fixture: ExchangeFixture;
  url: string;
  settings: Record<string, string>;
}

const schemaOf = ({ realm }: ExchangeFixture) => locationOf(realm.made.realm).schema;

/** A process that is started before the reconciliation asks the exchange for nothing. */
async function startByMistake({ fixture, url, settings }: Restored): Promise<void> {
  const { exchange } = fixture;
  const lines: string[] = [];
  const count = exchange.requests.length;
  await using _service = await startService(url, settings, (line) => lines.push(line));
  const tried = `select id from "${schemaOf(fixture)}".jobs
    where name = 'exchange.advance' and attempts > 0`;
  await until(async () => (await rowsAt(url, tried)).length > 0, 200);
  await until(() => lines.some((line) => line.includes("chain.quarantined"))); // an attempt counts from its beginning
  equal(exchange.requests.length, count, "before its reconciliation no exchange is asked");
}

/** Workers find what they can; a person has looked at the exchange and on the chain for the rest. */
async function followAndResolve(
  { fixture, url }: Restored,
  send: Send,
  ids: Awaited<ReturnType<typeof order>>["ids"],
): Promise<void> {
  const { funded, exchange, ramp } = fixture;
  const path = `/v1/ramps/${ramp}/transfers`;
  const statusOf = async (id: string) => (await send("GET", `${path}/${id}`)).body;
  const due = `update "${schemaOf(fixture)}".ramp_transfers set next_at = now()
    where state not in ('done', 'failed')`;
  const ended = async (wanted: Record<string, string>) =>
    await until(async () => {
      await rowsAt(url, due);
      await funded.anvil.mine();
      const rows = await Promise.all(Object.keys(wanted).map(statusOf));
      return rows.every(({ id, status }) => status === wanted[id]);
    }, 500);
  await ended({
    ...{ [ids.fresh]: "DONE", [ids.lost]: "DONE", [ids.followed]: "DONE", [ids.unsigned]: "DONE" },
    ...{ [ids.hidden]: "UNCLEAR", [ids.unpaid]: "UNCLEAR" },
  });
  for (const id of [ids.hidden, ids.unpaid]) match((await statusOf(id)).reason, /was older/);
  const totalOf = async () =>
    Number((await send("GET", `/v1/accounts/${funded.account}`)).body.balance.total);
  const before = await totalOf();
  const resolve = async (id: string, answer: unknown) => {
    const { status, text } = await send("POST", `${path}/${id}/resolve`, answer);
    equal(status, 200, text);
  };
  const [{ id: reference }] = exchange.withdrawals.filter(({ amount }) => amount === "1.3");
  exchange.instead = () => null;
  await resolve(ids.hidden, { outcome: "sent", reference });
  await resolve(ids.unpaid, { outcome: "done" });
  await ended({ [ids.hidden]: "DONE", [ids.unpaid]: "DONE" });
  equal(
    (before - await totalOf()).toFixed(6),
    "2.000000",
    "what was paid is the account's no more",
  );
}

Deno.test("a backup from before the exchange paid, restored: nothing is asked for or paid twice, each transfer is found or UNCLEAR", async () => {
  await using own = await realmDatabase();
  await using elsewhere = await testDatabase();
  await using host = await commandHost();
  await using fixture = await openExchangeFixture({}, { DATABASE_URL: own.url });
  const { realm, funded, exchange } = fixture;
  const node = { ETHEREUM_RPC_URL: funded.anvil.url, ETHEREUM_CONFIRMATIONS: "2" };
  const begun = await order(fixture);
  const backup = reportOf(await host.call(own.url, "backup", []));
  await goOn(fixture, begun);
  const before = asked(fixture);
  // The exchange's list lags: it does not show one that it has paid.
  exchange.instead = (request) =>
    request === HISTORY
      ? Response.json(exchange.withdrawals.filter(({ amount }) => amount !== "1.3"))
      : null;

  reportOf(await host.call(elsewhere.url, "restore", [backup.path]));
  const settings = {
    ...node,
    ...{ DATA_DIR: `${host.folder}/records`, PLATFORM_KEY },
    ...{ EXCHANGES: "binance", RAMP_BINANCE_URL: exchange.url },
  };
  const at = { fixture, url: elsewhere.url, settings };
  await startByMistake(at);
  const { realms: [report] } = JSON.parse(
    (await host.run(elsewhere.url, "reconcile", ["--gap", "20"], node)).out,
  );
  const { taken, lifted } = report.places[0];
  equal(lifted, true, JSON.stringify(report));
  deepEqual(taken.map((one: { unmatched: unknown[] }) => one.unmatched.length).sort(), [0, 1]);

  await using process = realm.another({ DATABASE_URL: elsewhere.url });
  const send = await adminAt(process, realm);
  await using _service = await startService(elsewhere.url, settings);
  await followAndResolve(at, send, begun.ids);
  equal(asked(fixture), before);
  const paid = await funded.anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest");
  equal(BigInt(paid), 25n * ETHER / 10n);
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
});
