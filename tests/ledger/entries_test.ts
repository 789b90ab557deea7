import { deepEqual, equal, match, ok } from "node:assert/strict";
import { openStatement, printJson } from "../../domain/ledger/entries.ts";
import { runQuery } from "../../domain/command.ts";
import { type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { BESIDE } from "../support/statement_texts.ts";

/** An account that received 10, sent 1 to 5 and was blocked and frozen on the way. */
async function story(realm: TestRealm) {
  const { name, account } = await realm.currency("0");
  const source = await realm.currency("1000");
  const from = source.account;
  const account1 = await realm.account({ asset: source.name });
  const send = async (a: string, b: string, value: string, reference?: string) => {
    const body = { source: { account: a }, destination: { account: b }, value, reference };
    const answer = await realm.admin.send("POST", "/v1/transactions", body);
    equal(answer.status, 201, answer.text);
    return answer.body;
  };
  return { name, account, from, to: account1, send, asset: source.name };
}

/** Waits until the clock has moved on, so that times tell events apart. */
async function tick(): Promise<number> {
  const start = Date.now();
  while (Date.now() <= start + 1) await new Promise((resolve) => setTimeout(resolve, 1));
  return start + 1;
}

const test = sharing("entries in one realm");

test("GET …/entries lists entries, by pages, in both directions", async (realm) => {
  const { from, to, send } = await story(realm);
  const moves = [];
  for (let i = 1; i <= 5; i++) moves.push(await send(from, to, `${i}.5`, `ref ${i}`));
  await send(to, from, "2.25");
  const path = `/v1/accounts/${to}/entries`;
  const { status, body } = await realm.admin.send("GET", `${path}?pageSize=4`);
  equal(status, 200);
  deepEqual([body.total, body.page, body.pageSize, body.totalPages], [6, 1, 4, 2]);
  deepEqual(body.rows[0], {
    seq: 1,
    transaction: moves[0].id,
    type: "transfer",
    amount: "1.5",
    balance: "1.5",
    available: "1.5",
    counterparty: from,
    reference: "ref 1",
    created_at: moves[0].created_at,
  });
  const amounts = async (query: string) =>
    (await realm.admin.send("GET", `${path}?${query}`)).body.rows
      .map((row: { amount: string; balance: string }) => `${row.amount}→${row.balance}`);
  deepEqual(await amounts("page=2&pageSize=4"), ["5.5→17.5", "-2.25→15.25"]);
  deepEqual(await amounts("page=1&pageSize=2&sort=-created_at"), ["-2.25→15.25", "5.5→17.5"]);
  deepEqual(await amounts("page=3&pageSize=2&sort=-created_at"), ["2.5→4", "1.5→1.5"]);
  deepEqual(await amounts("page=4&pageSize=2"), []);
  const range = `from=${moves[1].created_at}&to=${moves[1].created_at}`;
  equal((await amounts(range)).includes("2.5→4"), true);
  deepEqual(await amounts("to=1"), []);
});

test("GET …/entries, …/balance and …/statement refuse and forbid", async (realm) => {
  const { from } = await story(realm);
  const stranger = await realm.user();
  for (const what of ["entries", "balance", "balances", "statement"]) {
    const path = `/v1/accounts/${from}/${what}`;
    const hidden = await stranger.send("GET", path);
    deepEqual([hidden.status, hidden.body.code], [404, "account.not_found"], what);
    equal((await realm.admin.send("GET", `/v1/accounts/none/${what}`)).status, 404);
    equal((await realm.admin.send("GET", `${path}?color=red`)).body.code, "query.invalid");
    equal((await realm.nobody("GET", path)).status, 401);
  }
  for (const query of ["entries?pageSize=501", "entries?sort=amount", "balance?at=noon"]) {
    const { status, body } = await realm.admin.send("GET", `/v1/accounts/${from}/${query}`);
    deepEqual([status, body.code], [400, "query.invalid"], query);
  }
  for (const query of ["format=pdf", "from=5&to=4"]) {
    equal((await realm.admin.send("GET", `/v1/accounts/${from}/statement?${query}`)).status, 400);
  }
});

test("GET …/balance?at= answers every past balance, blocked and frozen included", async (realm) => {
  const { from, to, send } = await story(realm);
  const path = `/v1/accounts/${to}/balance`;
  const at = async (ms: number) => {
    const { body } = await realm.admin.send("GET", `${path}?at=${ms}`);
    return [body.total, body.available];
  };
  const known: [number, string, string][] = [[await tick(), "0", "0"]];
  for (let i = 1; i <= 9; i++) {
    const { created_at } = await send(from, to, "1.1");
    const total = (await realm.balance(to)).total;
    known.push([created_at, total, total]);
    await tick();
  }
  const blocks = `/v1/accounts/${to}/blocks`;
  const block = (await realm.admin.send("POST", blocks, { amount: "4" })).body;
  known.push([block.created_at, "9.9", "5.9"]);
  await tick();
  equal((await realm.admin.send("POST", `/v1/accounts/${to}/freeze`)).status, 200);
  known.push([await tick(), "9.9", "0"]);
  equal((await realm.admin.send("POST", `/v1/accounts/${to}/unfreeze`)).status, 200);
  known.push([await tick(), "9.9", "5.9"]);
  const capture = { destination: { account: from }, amount: "3" };
  const moved = await realm.admin.send("POST", `${blocks}/${block.id}/capture`, capture);
  known.push([moved.body.created_at, "6.9", "6.9"]);
  for (const [i, [ms, total, available]] of known.entries()) {
    const [t, a] = await at(ms);
    deepEqual([i, t, a], [i, total, available]);
  }
  deepEqual(await at(0), ["0", "0"]);
  deepEqual(await at(Date.now() + 1e9), ["6.9", "6.9"]);
  const now = (await realm.admin.send("GET", path)).body;
  deepEqual([now.total, now.available], ["6.9", "6.9"]);
});

test("GET …/balances answers at each moment what GET …/balance?at= answers, in one statement", async (realm) => {
  const { from, to, send } = await story(realm);
  const start = await tick();
  for (let i = 0; i < 5; i++) {
    await send(from, to, "1.000000000000000001");
    await tick();
  }
  const blocks = `/v1/accounts/${to}/blocks`;
  equal((await realm.admin.send("POST", blocks, { amount: "2" })).status, 201);
  const blocked = await tick();
  equal((await realm.admin.send("POST", `/v1/accounts/${to}/freeze`)).status, 200);
  const end = await tick();
  const statements: string[] = [];
  const noteUse = /update logins/; // of a key, now and then, beside all requests
  await using other = realm.another({}, (text) => {
    if (!noteUse.test(text) && !BESIDE.test(text.trim())) statements.push(text);
  });
  const send2 = other.send(realm.admin.key);
  const path = `/v1/accounts/${to}/balances?from=${start}&to=${end}&points=500`;
  equal((await send2("GET", `/v1/accounts/${to}`)).status, 200);
  statements.length = 0;
  const { status, body } = await send2("GET", path);
  equal(status, 200);
  equal(statements.filter((text) => /entry_before/.test(text)).length, 1);
  ok(statements.length <= 4, statements.join("\n"));
  deepEqual([body.account, body.from, body.to], [to, start, end]);
  deepEqual([body.points[0].at, body.points.at(-1).at], [start, end]);
  const seen = new Set<string>();
  for (const { at, ...shown } of body.points) {
    const one = (await realm.admin.send("GET", `/v1/accounts/${to}/balance?at=${at}`)).body;
    deepEqual([at, shown], [at, { total: one.total, available: one.available }]);
    seen.add(`${shown.total} ${shown.available}`);
  }
  ok(seen.has("0 0") && seen.has("5.000000000000000005 0"), `${[...seen]}`);
  // On a busy machine this moment may lie between two of those points.
  const shown = `/v1/accounts/${to}/balances?from=${blocked}&to=${end}&points=2`;
  const [{ total, available }] = (await send2("GET", shown)).body.points;
  deepEqual([total, available], ["5.000000000000000005", "3.000000000000000005"]);
});

test("GET …/balances is evenly spaced, ends with the present, and refuses what is no range", async (realm) => {
  const { from } = await story(realm);
  const get = async (query: string) =>
    (await realm.admin.send("GET", `/v1/accounts/${from}/balances${query}`)).body;
  const { points } = await get("?from=0&to=1000&points=5");
  deepEqual(points.map(({ at }: { at: number }) => at), [0, 250, 500, 750, 1000]);
  equal((await get("?from=5&to=7&points=500")).points.length, 3);
  equal((await get("?from=7&to=7")).points.length, 1);
  const usual = await get("");
  const account = (await realm.admin.send("GET", `/v1/accounts/${from}`)).body;
  equal(usual.from, account.created_at);
  deepEqual(usual.points.at(-1).total, "1000");
  const before = Date.now();
  ok((await get(`?to=${before + 1e9}`)).to <= Date.now());
  for (
    const query of [
      ...["points=1", "points=501", "points=2.5", "from=5&to=4", "to=noon"],
      `from=${Date.now() + 1e9}`,
    ]
  ) equal((await get(`?${query}`)).code, "query.invalid", query);
});

test("GET …/entries?format=csv exports a range of time, after an entry, and says so in the audit trail", async (realm) => {
  const { from, to, send } = await story(realm);
  for (const reference of ["@SUM(1)", 'a "b", c', "plain"]) {
    await send(from, to, "1.5", `${reference} ${to}`);
  }
  const range = `from=${Date.now() - 86_400_000}&to=${Date.now() + 1000}`;
  const path = `/v1/accounts/${to}/entries?${range}`;
  const csv = await realm.admin.send("GET", `${path}&format=csv`);
  equal(csv.status, 200, csv.text);
  equal(csv.headers.get("content-type"), "text/csv; charset=utf-8");
  const lines = csv.text.split("\r\n");
  equal(lines[0], "seq,transaction,type,created_at,counterparty,reference,amount,balance");
  match(lines[1], new RegExp(`^1,[0-9a-f-]+,transfer,[^,]+Z,${from},'@SUM.1. ${to},1.5,1.5$`));
  match(lines[2], new RegExp(`,"a ""b"", c ${to}",1.5,3$`));
  equal(lines.length, 5);
  const rest = await realm.admin.send("GET", `${path}&after=2`, undefined, { accept: "text/csv" });
  deepEqual(rest.text.split("\r\n"), [lines[0], lines[3], ""]);
  const trail = await realm.admin.send("GET", `/v1/audit?entity=${to}&action=entries.export`);
  deepEqual(trail.body.map((line: { actor: string }) => line.actor), Array(2).fill(realm.admin.id));
  deepEqual(trail.body[1].fields.toSorted(), ["format", "from", "sort", "to"]);
  const long = `from=0&to=${400 * 86_400_000 + 1}`;
  for (
    const query of [
      "",
      "from=1",
      "to=1",
      "from=2&to=1",
      long,
      `${range}&page=1`,
      `${range}&sort=-seq`,
    ]
  ) {
    const { body } = await realm.admin.send(
      "GET",
      `/v1/accounts/${to}/entries?format=csv&${query}`,
    );
    equal(body.code, "query.invalid", query);
  }
  const stranger = await realm.user();
  equal((await stranger.send("GET", `${path}&format=csv`)).body.code, "account.not_found");
});

test("GET …/statement has opening balance, entries and closing balance, as JSON and as CSV", async (realm) => {
  const { from, to, send, asset } = await story(realm);
  await send(from, to, "5");
  const start = await tick() + 1;
  await tick();
  await send(from, to, "1", '=1+2,"x"');
  const last = await send(to, from, "4");
  const end = await tick();
  await tick();
  await send(from, to, "100");
  const path = `/v1/accounts/${to}/statement?from=${start}&to=${end}`;
  const { status, body } = await realm.admin.send("GET", path);
  equal(status, 200);
  deepEqual([body.account, body.asset, body.from, body.to], [to, asset, start, end]);
  deepEqual(body.opening, { total: "5", available: "5" });
  deepEqual(body.closing, { total: "2", available: "2" });
  deepEqual(body.entries.map((entry: { amount: string }) => entry.amount), ["1", "-4"]);
  const csv = await realm.admin.send("GET", `${path}&format=csv`, undefined, {
    accept: "text/csv",
  });
  equal(csv.headers.get("content-type"), "text/csv; charset=utf-8");
  match(csv.headers.get("content-disposition")!, /^attachment; filename="statement-.*\.csv"$/);
  const lines = csv.text.split("\r\n");
  equal(lines[0], "seq,transaction,type,created_at,counterparty,reference,amount,balance");
  match(lines[1], /^2,[0-9a-f-]+,transfer,[^,]+Z,[0-9a-f-]+,"'=1\+2,""x""",1,6$/);
  equal(
    lines[2],
    `3,${last.id},transfer,${new Date(last.created_at).toISOString()},${from},,-4,2`,
  );
  deepEqual(lines.slice(3), [""]);
  const all = (await realm.admin.send("GET", `/v1/accounts/${to}/statement`)).body;
  deepEqual([all.opening.total, all.closing.total, all.entries.length], ["0", "102", 4]);
});

test("a statement is read page by page, and no further than it is asked", async (realm) => {
  const { from, to, send } = await story(realm);
  await Promise.all(Array.from({ length: 1100 }, () => send(from, to, "0.1")));
  const statement = await runQuery(
    realm.pool,
    (db) => openStatement(db, { ...realm.admin.actor, at: Date.now() }, { account: to, from: 0 }),
  );
  let reads = 0;
  const read = <T>(work: Parameters<typeof runQuery<T>>[1]) => {
    reads++;
    return runQuery(realm.pool, work);
  };
  let text = "";
  for await (const piece of printJson(statement, read)) text += piece;
  equal(JSON.parse(text).entries.length, 1100);
  equal(JSON.parse(text).closing.total, "110");
  equal(reads, 3);
  reads = 0;
  for await (const piece of printJson(statement, read)) if (piece.includes('"seq"')) break;
  equal(reads, 1);
});
