/** Restored realms that begin with stops: nobody moves what was paid since the backup. @module */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { locationOf } from "../../domain/realms/realms.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { commandHost } from "../support/command_host.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { openFundedRamp, OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { auditAll } from "../support/proofs.ts";
import { PLATFORM_KEY, rowsOf, type Send, type TestRealm } from "../support/realm.ts";
import { adminAt, fixture, type Report, reportOf, rowsAt } from "./fixture.ts";
import { holding, untilSomebodyWaits } from "./holding.ts";
import { moveTo, schemaOf, withMoney } from "./servers.ts";
import { server } from "./shared_server.ts";

const ETHER = 10n ** 18n;

/** Reads what stops a realm has, in their order. */
function stopsAt(url: string, realm: { id: string }): Promise<Record<string, unknown>[]> {
  return rowsAt(
    url,
    `select id::text, what, reason, asset, account, owner, lifted_at is null as active
      from ${schemaOf(realm)}.stops order by id`,
  );
}

/** The same realm in the restored database, as another process serves and works it. */
async function restoredRealm(realm: TestRealm, env: Record<string, string>) {
  const process = realm.another(env);
  const found = (await process.services.realms.find(realm.id))!;
  const send = await adminAt(process, realm);
  const pool = process.database.working(locationOf(found.row()));
  const there: TestRealm = { ...realm, ...process, pool, admin: { ...realm.admin, send } };
  const context = await workerContextOf(there);
  await refreshFees(context);
  return {
    ...{ there, process },
    async advance() {
      const orders = await rowsOf<{ order: string; version: number }>(
        there,
        `select id as order, schedule_version as version from chain_orders
          where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
      );
      const now = { ...context, actor: { ...context.actor, at: Date.now() } };
      for (const seen of orders) await advanceOrder(now, seen, () => {});
    },
    async [Symbol.asyncDispose]() {
      context.chains.close();
      await process[Symbol.asyncDispose]();
    },
  };
}

type Restored = Awaited<ReturnType<typeof restoredRealm>>;

/** Two realms that were backed up before a customer of one withdrew 3 of its 4 ETH, and was paid. */
async function paidSince() {
  const stack = new AsyncDisposableStack();
  const own = stack.use(await realmDatabase());
  const elsewhere = stack.use(await testDatabase());
  const host = stack.use(await commandHost());
  const funded = stack.use(await openFundedRamp({ env: { DATABASE_URL: own.url } }));
  const { realm, anvil, ramp } = funded;
  const neighbour = stack.use(await realm.neighbour());
  const customer = await realm.user();
  const accountOf = async (more: Record<string, unknown>): Promise<string> => {
    const body = { type: "virtual", asset: "ETH", ramp, ...more };
    const made = await realm.admin.send("POST", "/v1/accounts", body);
    equal(made.status, 201, made.text);
    await realm.drain();
    return made.body.id;
  };
  const theirs = await accountOf({ owner: customer.id, holder: customer.identity });
  const friend = await accountOf({});
  const given = { source: { account: funded.account }, destination: { account: theirs } };
  const sent = await realm.admin.send("POST", "/v1/transactions", { ...given, value: "4" });
  equal(sent.status, 201, sent.text);
  await anvil.mine();
  const made = reportOf(await host.call(own.url, "backup", []));
  const asked = { source: { account: theirs }, destination: { address: OUTSIDE }, value: "3" };
  const paid = await customer.send("POST", "/v1/withdrawals", asked);
  equal(paid.status, 201, paid.text);
  equal((await funded.finish(paid.body.id)).status, "DONE");
  return {
    ...{ host, funded, realm, neighbour, customer, theirs, friend, made, url: elsewhere.url },
    env: { ETHEREUM_RPC_URL: anvil.url, ETHEREUM_CONFIRMATIONS: "2" },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type PaidSince = Awaited<ReturnType<typeof paidSince>>;

/** What the customer and the administrator try in the restored realm. */
async function triesIn(its: PaidSince, { process, there }: Restored) {
  const { realm, customer, theirs, friend, funded } = its;
  const user = { ...realm.made.admin, id: customer.id, roles: ["user"], scopes: ["own"] };
  const of = (await process.services.realms.find(realm.id))!.row();
  const claims = claimsOf(user, of, Date.now(), 3_600);
  const theirSend = process.send(await process.services.signingKeys.sign(claims));
  return {
    async give(value: string, send: Send = theirSend) {
      const move = { source: { account: theirs }, destination: { account: friend }, value };
      const { status, body } = await send("POST", "/v1/transactions", move);
      return [status, body.code];
    },
    withdraw: () =>
      there.admin.send("POST", "/v1/withdrawals", {
        source: { account: funded.account },
        destination: { address: OUTSIDE },
        value: "1",
      }),
  };
}

type Tries = Awaited<ReturnType<typeof triesIn>>;

async function assertStopped({ give, withdraw }: Tries, { admin }: TestRealm): Promise<void> {
  const refused = [409, "stop.active"];
  deepEqual(await give("4"), refused);
  deepEqual(await give("4", admin.send), refused);
  const { status, body } = await withdraw();
  deepEqual([status, body.code], refused);
}

/** The stops of all restored realms are those that the report names; events and the audit trail tell of them. */
async function assertStopsSet({ made, realm, neighbour, url }: PaidSince, { stops }: Report) {
  deepEqual(Object.keys(stops!).sort(), [realm.id, neighbour.id].sort());
  for (const one of [realm, neighbour]) {
    const set = await stopsAt(url, one);
    const { moves, signing } = stops![one.id];
    deepEqual(set.map(({ id, what }) => [id, what]), [[moves, "moves"], [signing, "signing"]]);
    for (const { reason, active, owner } of set) {
      match(`${reason}`, new RegExp(`^restored from the backup ${made.backup} of `));
      deepEqual([active, owner], [true, null]);
    }
  }
}

async function assertTold(there: TestRealm, ids: string[]): Promise<void> {
  const events = await rowsOf(there, "select 1 from events where type = 'stop.set'");
  equal(events.length, ids.length);
  const { body } = await there.admin.send("GET", "/v1/audit?action=restore.stop");
  const lines = body.map(({ entity, actor }: Record<string, unknown>) => [entity, actor]);
  deepEqual(lines.sort(), ids.map((id) => [id, null]).sort());
}

Deno.test("a realm restored with --stop moves and signs nothing until its stops are lifted, before and after it is reconciled", async () => {
  await using its = await paidSince();
  const { host, realm, funded: { anvil, account }, theirs, made, env, url } = its;
  const report = reportOf(await host.call(url, "restore", [made.path, "--stop"], env));
  match(report.verdict, /nothing moves or is signed until the stops are lifted$/);
  await assertStopsSet(its, report);
  const { moves, signing } = report.stops![realm.id];
  await using restored = await restoredRealm(realm, { DATABASE_URL: url, ...env });
  const { there, process } = restored;
  const { admin } = there;
  const tries = await triesIn(its, restored);
  const { give, withdraw } = tries;
  await assertTold(there, [moves, signing]);
  await assertStopped(tries, there);
  const { code, out, said } = await host.run(url, "reconcile", ["--gap", "20"], env);
  equal(code, 0, said);
  const [{ places: [{ lifted, taken: [{ unmatched }] }] }] = JSON.parse(out).realms;
  deepEqual([lifted, unmatched.length], [true, 1]);
  await assertStopped(tries, there);

  // What was paid is kept from its owner under the stop, and taken when it is lifted.
  const blocks = `/v1/accounts/${theirs}/blocks`;
  const block = await admin.send("POST", blocks, { amount: "3" });
  equal(block.status, 201, block.text);
  // Its administrators are those of the time of the backup.
  const refused = await admin.send("DELETE", `/v1/stops/${moves}`);
  deepEqual([refused.status, refused.body.code], [403, "permission.owner"]);
  const byHand = rowsAt(
    url,
    `update ${schemaOf(realm)}.stops set lifted_at = now(), lifted_by = '${realm.admin.id}'
      where id = '${moves}'`,
  );
  await rejects(byHand, { constraint_name: "stops_restored" });
  const path = `/v1/stops/${moves}?realm=${realm.id}`;
  equal((await process.send(PLATFORM_KEY)("DELETE", path)).status, 200);
  deepEqual(await give("4"), [409, "balance.insufficient"]);
  deepEqual(await give("1"), [201, undefined]);
  const house = { destination: { account } };
  const captured = await admin.send("POST", `${blocks}/${block.body.id}/capture`, house);
  equal(captured.status, 201, captured.text);

  const { status, body: { id }, text } = await withdraw();
  equal(status, 201, text);
  const read = async () => (await admin.send("GET", `/v1/withdrawals/${id}`)).body;
  const paidOut = async () => BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
  for (let round = 0; round < 3; round++) await restored.advance();
  const { status: state, history } = await read();
  equal(state, "PROCESSING");
  match(history.at(-1).reason, new RegExp(`stop ${signing} is in force`));
  const signed = "select 1 from order_attempts a join withdrawals w using (order_id)" +
    " where w.id = $1 and a.raw is not null";
  deepEqual(await rowsOf(there, signed, [id]), []);
  equal(await paidOut(), 3n * ETHER);
  const lift = (send: Send) => send("DELETE", `/v1/stops/${signing}?realm=${realm.id}`);
  equal((await lift(process.send(PLATFORM_KEY))).status, 200);
  for (let round = 0; round < 20 && (await read()).status === "PROCESSING"; round++) {
    await restored.advance();
    await anvil.mine();
  }
  equal((await read()).status, "DONE");
  equal(await paidOut(), 4n * ETHER);
  equal((await rowsOf(there, signed, [id])).length, 1);
  await extendHashChain(there.pool, Date.now);
  deepEqual((await auditAll(url, PLATFORM_KEY)).wrong, []);
});

Deno.test("a restored realm has its stops in the transaction that makes it, once, and none without --stop", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host, realm } = its;
  const { path } = await its.backUp();
  const run = (...args: string[]) => host.call(elsewhere.url, "restore", [path, ...args]);
  const checked = await run("--check", "--stop");
  deepEqual([checked.code, checked.out], [1, ""]);
  match(checked.said, /^--check restores nothing: there is nothing to stop\n/);
  {
    await using _lock = await holding(elsewhere.url, "create schema platform");
    const { child, end } = host.start(elsewhere.url, "restore", [path, "--stop"]);
    await untilSomebodyWaits(elsewhere.url);
    equal((await stopsAt(elsewhere.url, realm)).length, 2, "before it is an installation");
    child.kill("SIGKILL");
    await end();
  }
  const schemas = "select nspname from pg_namespace where nspname ~ '^(realm_|platform)'";
  await until(async () => (await rowsAt(elsewhere.url, schemas)).length === 1);
  const again = reportOf(await run("--stop"));
  const set = await stopsAt(elsewhere.url, realm);
  const { moves, signing } = again.stops![realm.id];
  deepEqual(set.map(({ id }) => id), [moves, signing]);
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
  const alone = async (...args: string[]) => {
    const drop = `drop schema ${schemaOf(realm)} cascade`;
    await rowsAt(elsewhere.url, drop);
    return reportOf(await run("--realm", realm.id, ...args));
  };
  const without = await alone();
  deepEqual([without.stops, await stopsAt(elsewhere.url, realm)], [undefined, []]);
  match(without.verdict, /until `deno task reconcile` has ended$/);
  ok((await alone("--stop")).stops![realm.id].moves !== moves);
  equal((await stopsAt(elsewhere.url, realm)).length, 2);
  await using there = realm.another({ DATABASE_URL: elsewhere.url });
  const body = {
    source: { account: its.account },
    destination: { account: its.other },
    value: "1",
  };
  const { status, body: { code } } = await (await adminAt(there, realm))(
    "POST",
    "/v1/transactions",
    body,
  );
  deepEqual([status, code], [409, "stop.active"]);
});

Deno.test("realms that are restored to another server begin with stops there, of an installation and alone", async () => {
  await using its = await fixture();
  await using empty = await testDatabase();
  const { host, url, realm } = its;
  await using away = await realm.neighbour();
  await moveTo(away, await server.database());
  await withMoney(away);
  const { path } = reportOf(await host.call(url, "backup", [], server.env));
  const to = await server.database();
  const whole = [path, "--to", "-", "--stop"];
  const { stops } = reportOf(await host.run(empty.url, "restore", whole, server.env, to));
  deepEqual(Object.keys(stops!).sort(), [realm.id, away.id].sort());
  equal((await stopsAt(to, away)).length, 2);
  equal((await stopsAt(empty.url, realm)).length, 2);
  await rowsAt(to, `alter schema ${schemaOf(away)} rename to lost`);
  const beside = await server.database();
  const alone = [path, "--realm", away.id, "--to", "-", "--stop"];
  const one = reportOf(await host.run(empty.url, "restore", alone, server.env, beside));
  const set = await stopsAt(beside, away);
  deepEqual(set.map(({ id }) => id), Object.values(one.stops![away.id]));
});
