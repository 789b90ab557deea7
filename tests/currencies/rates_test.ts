import { deepEqual, equal, ok } from "node:assert/strict";
import { copyRateRows } from "../../db/currencies/rates.ts";
import { setRate } from "../../domain/currencies/rates.ts";
import { copyRates } from "../../domain/realms/rate_copies.ts";
import { rowsOf, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("rates in one realm");

test("PUT /v1/rates sets the rate that GET /v1/rates shows; the younger counts", async (realm) => {
  const rate = { base: "BTC", currency: "GBP", rate: "51234.567890123456789012" };
  const { status, body } = await realm.admin.send("PUT", "/v1/rates", rate);
  equal(status, 200);
  deepEqual({ ...body, updated_at: 0 }, { ...rate, source: "manual", updated_at: 0 });
  await realm.admin.send("PUT", "/v1/rates", { ...rate, currency: "EUR", rate: 2.50 });
  await realm.admin.send("PUT", "/v1/rates", { ...rate, rate: "3" });
  const read = async (query: string) =>
    (await realm.admin.send("GET", `/v1/rates?${query}`)).body
      .map((row: { currency: string; rate: string }) => `${row.currency} ${row.rate}`);
  deepEqual(await read("base=BTC"), ["EUR 2.5", "GBP 3"]);
  deepEqual(await read("currency=GBP"), ["GBP 3"]);
  deepEqual(await read("base=BTC&currency=EUR"), ["EUR 2.5"]);
  const none = await realm.admin.send("GET", "/v1/rates?base=LTC&currency=EUR");
  deepEqual([none.status, none.body.code], [404, "rate.not_found"]);
  deepEqual((await realm.admin.send("GET", "/v1/rates?base=LTC")).body, []);
});

test("a rate that a process sets whose clock is hours behind counts, and so does the next one", async (realm) => {
  const set = (behindMs: number, rate: string) => {
    const actor = { ...realm.admin.actor, at: Date.now() - behindMs };
    return realm.command((tx) => setRate(tx, actor, { base: "BTC", currency: "SEK", rate }));
  };
  for (const [behindMs, rate] of [[0, "1"], [7_200_000, "2"], [0, "3"]] as const) {
    const { updated_at } = await set(behindMs, rate);
    ok(Math.abs(updated_at - Date.now()) < 3_600_000);
    const read = await realm.admin.send("GET", "/v1/rates?base=BTC&currency=SEK");
    deepEqual([read.body[0].rate, read.body[0].updated_at], [rate, updated_at]);
  }
});

test("a rate of a process whose clock is far ahead gives way to the next one", async (realm) => {
  const row = { base: "BTC", currency: "CHF", source: "manual", owner: null };
  const write = (rate: string, updated_at: number) =>
    realm.command((tx) => copyRateRows(tx, [{ ...row, rate, updated_at }]));
  await write("1", Date.now() + 86_400_000);
  const read = async () =>
    (await realm.admin.send("GET", "/v1/rates?base=BTC&currency=CHF")).body[0];
  ok((await read()).updated_at <= Date.now());
  await write("2", Date.now());
  equal((await read()).rate, "2");
});

test("a rate that is committed after a later one was copied is copied all the same", async (realm) => {
  const { platform } = realm.database;
  const set = (base: string, ageMs: number) =>
    platform.sql`insert into rates (base, currency, rate, source, updated_at)
      values (${base}, 'ISK', 7, 'operator', now() - ${`${ageMs} ms`}::interval)
      on conflict (base, currency) do update set updated_at = excluded.updated_at`;
  await platform.sql`delete from rates where currency = 'ISK'`;
  await set("BTC", 0);
  const newest = await copyRates(platform, realm.pool, 0);
  await set("LTC", 20_000);
  ok(await copyRates(platform, realm.pool, newest) >= newest);
  const { body } = await realm.admin.send("GET", "/v1/rates?currency=ISK");
  deepEqual(body.map(({ base }: { base: string }) => base), ["BTC", "LTC"]);
});

test("rates of one moment are copied all, however few are copied at once", async (realm) => {
  const { platform } = realm.database;
  const bases = ["BCH", "BTC", "DOGE", "ETH", "LTC"];
  await platform.sql`delete from rates where currency = 'MMK'`;
  await platform.sql`insert into rates (base, currency, rate, source, updated_at)
    select base, 'MMK', 7, 'operator', date_trunc('milliseconds', now() + interval '1 second')
    from unnest(${bases}::text[]) as base`;
  await copyRates(platform, realm.pool, Date.now(), 2);
  const { body } = await realm.admin.send("GET", "/v1/rates?currency=MMK");
  deepEqual(body.map(({ base }: { base: string }) => base), bases);
});

test("PUT /v1/rates refuses an invalid rate", async (realm) => {
  for (
    const [body, path, code] of [
      [{ base: "BTC", currency: "EUR", rate: "0" }, "/rate", "request.invalid"],
      [{ base: "BTC", currency: "EUR", rate: "-1" }, "/rate", "request.invalid"],
      [{ base: "BTC", currency: "XXX", rate: "1" }, "/currency", "request.invalid"],
      [{ base: "EUR", currency: "EUR", rate: "1" }, "/base", "request.invalid"],
      [{ base: "BTC", currency: "EUR" }, "/rate", "request.invalid"],
      [{ base: "NOSUCH", currency: "EUR", rate: "1" }, undefined, "asset.unknown"],
    ] as const
  ) {
    const answer = await realm.admin.send("PUT", "/v1/rates", body);
    deepEqual([answer.body.code, answer.body.errors?.[0].path], [code, path]);
  }
});

test("rates are read by everyone in the realm and set by its administrators", async (realm) => {
  const rate = { base: "BTC", currency: "EUR", rate: "1" };
  const user = await realm.user();
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const narrow = await realm.user({ role: "admin", scope: "own" });
  for (
    const [who, code] of [
      [user, "permission.role"],
      [manager, "permission.role"],
      [narrow, "permission.scope"],
    ] as const
  ) {
    const { status, body } = await who.send("PUT", "/v1/rates", rate);
    deepEqual([status, body.code], [403, code]);
    equal((await who.send("GET", "/v1/rates?base=BTC")).status, 200);
  }
  equal((await realm.nobody("GET", "/v1/rates")).status, 401);
});

Deno.test("the operator sets a rate for all realms at once", async () => {
  await using one = await testRealm();
  await using two = await testRealm();
  const rate = { base: "XAG", currency: "XDR", rate: "24.5" };
  const { status, body } = await one.operator("PUT", "/v1/rates", rate);
  deepEqual([status, body.source], [200, "operator"]);
  for (const realm of [one, two]) {
    const read = await realm.admin.send("GET", "/v1/rates?base=XAG&currency=XDR");
    deepEqual([read.status, read.body[0].rate], [200, "24.5"]);
  }
  const own = await two.admin.send("PUT", "/v1/rates", { ...rate, rate: "25" });
  equal(own.status, 200);
  equal((await one.admin.send("GET", "/v1/rates?base=XAG")).body[0].rate, "24.5");
  equal((await one.operator("GET", "/v1/rates?base=XAG&currency=XDR")).body[0].rate, "24.5");
  const unknown = await one.operator("PUT", "/v1/rates", { ...rate, base: "NOSUCH" });
  equal(unknown.body.code, "asset.unknown");
});

test("a transaction carries its value at the moment of commit, rounded half-even", async (realm) => {
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const move = async (value: string) => {
    const body = { source: { account }, destination: { account: other }, value };
    return (await realm.admin.send("POST", "/v1/transactions", body)).body;
  };
  equal((await move("1")).fiat, null);
  await realm.admin.send("PUT", "/v1/rates", { base: name, currency: "USD", rate: "0.01" });
  const vectors = { "0.5": "0", "1.5": "0.02", "2.5": "0.02", "2.50000001": "0.03", "10": "0.1" };
  for (const [value, expected] of Object.entries(vectors)) {
    const { id, fiat } = await move(value);
    deepEqual(fiat, { currency: "USD", rate: "0.01", value: expected }, value);
    deepEqual((await realm.admin.send("GET", `/v1/transactions/${id}`)).body.fiat, fiat);
  }
  const first = await move("4");
  await realm.admin.send("PUT", "/v1/rates", { base: name, currency: "USD", rate: "7" });
  equal((await move("4")).fiat.value, "28");
  const then = await realm.admin.send("GET", `/v1/transactions/${first.id}`);
  equal(then.body.fiat.value, "0.04");
});

test("round_half_even() rounds to the even neighbour, and only from the middle", async (realm) => {
  for (
    const [x, places, expected] of [
      ["0.5", 0, "0"],
      ["1.5", 0, "2"],
      ["2.5", 0, "2"],
      ["-0.5", 0, "0"],
      ["-1.5", 0, "-2"],
      ["-2.5", 0, "-2"],
      ["2.5000000000000000000000000001", 0, "3"],
      ["2.4999999999999999999999999999", 0, "2"],
      ["0.005", 2, "0.00"],
      ["0.015", 2, "0.02"],
      ["0.025", 2, "0.02"],
      ["0.0250000001", 2, "0.03"],
      ["-0.025", 2, "-0.02"],
      ["1.005", 2, "1.00"],
      ["99.995", 2, "100.00"],
      ["123456789012345678901234567890.125", 2, "123456789012345678901234567890.12"],
      ["123456789012345678901234567890.135", 2, "123456789012345678901234567890.14"],
      ["0.0000000000000000005", 18, "0.000000000000000000"],
      ["0.0000000000000000015", 18, "0.000000000000000002"],
      ["7", 2, "7.00"],
      ["0", 0, "0"],
    ] as const
  ) {
    const [row] = await rowsOf<{ r: string }>(
      realm,
      "select round_half_even($1::numeric, $2::integer)::text as r",
      [x, places],
    );
    equal(row.r, expected, `${x} to ${places}`);
  }
});
