import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { checkRealms, readAuditArguments, type RealmAudit } from "../../commands/audit.ts";
import { countFlows } from "../../db/audit/hourly_flows.ts";
import { appendLinks } from "../../domain/audit/hash_chain.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { databaseClock } from "../support/clock.ts";
import { insideOne } from "../support/eventually.ts";
import { leaveBroken, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("flows in one realm");
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface Flow {
  at: number;
  asset?: string;
  type?: string;
  direction: string;
  count: number;
  amount?: string;
  fiat: { currency: string; value: string; count: number }[];
}

interface Flows {
  from: number;
  to: number;
  complete_to: number | null;
  unsealed: number;
  flows: Flow[];
}

const link = (realm: TestRealm) => extendHashChain(realm.pool, Date.now);

async function read(realm: TestRealm, query = ""): Promise<Flows> {
  const answer = await realm.admin.send("GET", `/v1/stats/flows?${query}`);
  equal(answer.status, 200, answer.text);
  return answer.body;
}

/** What a flow says, without its time and its fiat values. */
const said = ({ asset, type, direction, count, amount }: Flow) =>
  [asset, type, direction, count, amount].filter((part) => part !== undefined).join(" ");

async function transfers(realm: TestRealm, supply: string) {
  const { name, account } = await realm.currency(supply);
  const other = await realm.account({ asset: name });
  const move = async (value: string) => {
    const body = { source: { account }, destination: { account: other }, value };
    const answer = await realm.admin.send("POST", "/v1/transactions", body);
    equal(answer.status, 201, answer.text);
    return answer.body as { id: string; created_at: number };
  };
  return { name, move };
}

test("GET /v1/stats/flows tells exact sums by asset, type and direction, and what is not counted yet", async (realm) => {
  await insideOne(HOUR);
  const { name, move } = await transfers(realm, "1000");
  await realm.admin.send("PUT", "/v1/rates", { base: name, currency: "USD", rate: "0.5" });
  await link(realm);
  const [{ id }] = (await realm.admin.send("GET", "/v1/currencies/all")).body
    .filter((one: { name: string }) => one.name === name);
  for (const value of ["0.000000000000000001", "3.1", "2"]) await move(value);
  equal(
    (await realm.admin.send("POST", `/v1/currencies/${id}/destroy`, { amount: "7" })).status,
    200,
  );
  const first = await read(realm, `asset=${name}`);
  deepEqual(first.flows.map(said), [`${name} issue in 1 1000`]);
  equal(first.unsealed, 4);
  await link(realm);
  const last = await move("1");
  const all = await read(realm, `asset=${name}`);
  equal(all.unsealed, 1);
  equal(all.complete_to, last.created_at, "the first transaction that is not counted");
  deepEqual(all.flows.map(said), [
    `${name} destroy out 1 7`,
    `${name} issue in 1 1000`,
    `${name} transfer inside 3 5.100000000000000001`,
  ]);
  ok(all.flows.every(({ at }) => at % HOUR === 0));
  deepEqual(all.flows.map(({ fiat }) => fiat), [
    [{ currency: "USD", value: "3.5", count: 1 }],
    [],
    [{ currency: "USD", value: "2.55", count: 3 }],
  ]);
  await link(realm);
  const { complete_to, unsealed, flows } = await read(
    realm,
    `by=asset&asset=${name}&type=transfer`,
  );
  deepEqual([complete_to, unsealed], [last.created_at, 0]);
  deepEqual(flows.map(said), [`${name} inside 4 6.100000000000000001`]);
  deepEqual((await read(realm, `asset=${name}&testnet=true`)).flows, []);
  deepEqual((await read(realm, "asset=NONE")).flows, []);
  const neighbour = await realm.neighbour();
  deepEqual((await read(neighbour)).flows, []);
  equal((await read(neighbour)).complete_to, null);
});

test("flows add up what is not told apart, and never amounts of several assets", async (realm) => {
  await insideOne(DAY);
  for (const supply of ["5", "7"]) await transfers(realm, supply);
  await link(realm);
  const issued = (await read(realm, "type=issue")).flows;
  ok(issued.length >= 2 && issued.every(({ amount }) => amount !== undefined));
  const [sum, ...none] = (await read(realm, "by=type&type=issue&step=day")).flows;
  deepEqual([none, sum.asset, sum.amount, sum.at % DAY], [[], undefined, undefined, 0]);
  equal(sum.count, issued.reduce((count, one) => count + one.count, 0));
  deepEqual(
    (await read(realm, "by=type,asset&type=issue")).flows,
    (await read(realm, "by=asset,type&type=issue")).flows,
  );
});

test("flows are for administrators of the realm, and refuse what is no range", async (realm) => {
  for (const path of ["flows", "withdrawals", "deposits"].map((name) => `/v1/stats/${name}`)) {
    for (
      const [role, scope, code] of [
        ["user", "own", "permission.role"],
        ["user", "realm", "permission.role"],
        ["manage", "realm", "permission.role"],
        ["admin", "own", "permission.scope"],
      ] as const
    ) equal((await (await realm.user({ role, scope })).send("GET", path)).body.code, code);
    const now = Date.now();
    for (
      const query of [
        ...["from=2&to=1", "from=NaN", "to=x", "from=-1", "from=1.5", "asset=", "colour=red"],
        ...[`from=${now + HOUR}`, "testnet=maybe", "to=99999999999999999"],
      ]
    ) {
      const { status, body } = await realm.admin.send("GET", `${path}?${query}`);
      deepEqual([status, body.code], [400, "query.invalid"], query);
    }
  }
  const now = Date.now();
  for (
    const [query, path, message] of [
      ["by=unknown", "/by"],
      ["by=", "/by"],
      ["step=minute", "/step"],
      ["type=none", "/type"],
      ["from=0", "/from", "a range of at most 744 hours is expected"],
      [`from=${now - 32 * DAY}&to=${now}`, "/to", "a range of at most 744 hours is expected"],
      ["step=day&from=0", "/from", "a range of at most 366 days is expected"],
    ] as const
  ) {
    const { body } = await realm.admin.send("GET", `/v1/stats/flows?${query}`);
    equal(body.code, "query.invalid", query);
    equal(body.errors[0].path, path, query);
    if (message !== undefined) equal(body.errors[0].message, message);
  }
  const whole = Math.floor(now / HOUR) * HOUR;
  equal((await read(realm, `from=${whole - 743 * HOUR}&to=${whole}`)).from, whole - 743 * HOUR);
  const day = Math.floor(now / DAY) * DAY;
  equal((await read(realm, `step=day&from=${day - 365 * DAY + 5}`)).from, day - 365 * DAY);
  deepEqual((await read(realm, "from=0&to=1")).flows, []);
});

Deno.test("a flow has the hour of the ledger's time, whatever the clock does and whenever it is linked", async () => {
  await using realm = await testRealm();
  const { name, move } = await transfers(realm, "100");
  const setClock = await databaseClock(realm, "case when value = 0 then real else value end");
  const next = Math.ceil((Date.now() + 1000) / DAY) * DAY;
  await setClock(next - 1);
  equal((await move("1")).created_at, next - 1);
  await setClock(next);
  equal((await move("2")).created_at, next);
  await setClock(next - 5 * HOUR);
  ok((await move("3")).created_at >= next, "the ledger's time does not go back");
  await setClock(next + 26 * HOUR);
  await link(realm);
  const of = `asset=${name}&type=transfer`;
  const amounts = ({ flows }: Flows) => flows.map(({ at, amount }) => [at - next, amount]);
  deepEqual(amounts(await read(realm, `${of}&from=${next - 1}`)), [[-HOUR, "1"], [0, "5"]]);
  deepEqual(amounts(await read(realm, `${of}&from=${next}`)), [[0, "5"]]);
  deepEqual(amounts(await read(realm, `${of}&from=${next - 1}&to=${next - 1}`)), [[-HOUR, "1"]]);
  deepEqual(amounts(await read(realm, `${of}&step=day`)), [[-DAY, "1"], [0, "5"]]);
  const { to } = await read(realm, `to=${next + 30 * DAY}`);
  equal(to, next + 26 * HOUR, "until the ledger's present");
  await leaveBroken(realm); // stored answers have the true time
  const { mismatches } = await checkLedger(realm.pool);
  deepEqual(mismatches.filter(({ code }) => code !== "idempotency.answer"), []);
});

Deno.test("each transaction counts once, while several processes link and one is killed", async () => {
  await using realm = await testRealm();
  const { name, move } = await transfers(realm, "1000");
  let posting = true;
  const processes = [1, 2, 3].map(async () => {
    while (posting) {
      await link(realm);
      const killed = realm.pool.sql.begin(async (tx) => {
        await appendLinks(tx, { at: Date.now() }, 3);
        throw new Error("killed");
      });
      await rejects(killed, /killed/);
    }
  });
  for (let round = 0; round < 5; round++) {
    await Promise.all(Array.from({ length: 20 }, () => move("0.1")));
  }
  posting = false;
  await Promise.all(processes);
  await link(realm);
  const { flows } = await read(realm, `asset=${name}&type=transfer&step=day`);
  equal(flows.reduce((count, one) => count + one.count, 0), 100);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("an answer with too many flows is refused by name, and read in parts", async () => {
  await using realm = await testRealm();
  await insideOne(HOUR);
  const hour = Math.floor(Date.now() / HOUR) * HOUR;
  await rowsOf(
    realm,
    `insert into hourly_flows (testnet, hour, asset, type, direction, count, amount)
      select false, ms_time($1::bigint - h * 3600000), 'A' || a, t, 'inside', 1, 0.5
      from generate_series(0, 47) h, generate_series(1, 50) a,
        unnest(array['transfer', 'capture', 'forward', 'return', 'fee', 'withdrawal', 'revert', 'deposit', 'issue', 'destroy']) t`,
    [hour],
  );
  const range = `from=${hour - 47 * HOUR}&to=${hour}`;
  const { status, body } = await realm.admin.send("GET", `/v1/stats/flows?${range}`);
  deepEqual([status, body.code, body.errors[0].path], [400, "query.invalid", "/to"]);
  ok(/at most 20000 flows/.test(body.errors[0].message));
  equal((await read(realm, `${range}&by=asset`)).flows.length, 48 * 50);
  equal((await read(realm, `${range}&asset=A7`)).flows.length, 480);
  const days = (await read(realm, `${range}&step=day&by=type`)).flows;
  equal(days.reduce((count, one) => count + one.count, 0) % (24 * 50), 0);
  equal((await read(realm)).flows.length, 24 * 500);
  const part = { testnet: false, from: hour - 47 * HOUR, to: hour };
  equal(await realm.command((tx) => countFlows(tx, part, 100)), 100, "no more than asked for");
  equal(await realm.command((tx) => countFlows(tx, part, 100_000)), 48 * 500);
});

Deno.test("the audit computes sums anew when it is asked to, and only then", async () => {
  await using realm = await testRealm();
  await realm.currency("10");
  await link(realm);
  const before = (await read(realm)).flows;
  equal(before.length, 1);
  await rowsOf(realm, "update hourly_flows set count = count + 1, amount = amount + 1");
  await rowsOf(
    realm,
    `insert into hourly_flows (testnet, hour, asset, type, direction, count, amount)
      select true, hour, asset, type, direction, 1, 1 from hourly_flows`,
  );
  const audited = async (...args: string[]) => {
    const codes = new Set<string>();
    const tell = ({ mismatches }: RealmAudit) => mismatches.forEach(({ code }) => codes.add(code));
    await checkRealms(realm.database, tell, readAuditArguments(["--realm", realm.id, ...args]));
    return [...codes];
  };
  deepEqual(await audited(), ["flow.sum"]);
  deepEqual(await audited("--rebuild"), []);
  deepEqual((await read(realm)).flows, before);
  deepEqual(await audited(), []);
});
