import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { RANGE_MAX_DAYS } from "../../domain/collections/exports.ts";
import type { TestRealm, TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { until } from "../support/eventually.ts";

const test = sharing("exports of one realm");
const DAY = 86_400_000;
const today = () => `from=${Date.now() - DAY}&to=${Date.now() + DAY}`;

/** The lines of an export, its first line among them. */
async function exported(user: TestUser, path: string): Promise<string[]> {
  const answer = await user.send("GET", path);
  equal(answer.status, 200, answer.text);
  equal(answer.headers.get("content-type"), "text/csv; charset=utf-8");
  const lines = answer.text.split("\r\n");
  equal(lines.pop(), "");
  return lines;
}

/** Makes transactions between two new accounts. */
async function moved(realm: TestRealm, count: number, data: (i: number) => unknown = () => ({})) {
  const { name, account } = await realm.currency("100000");
  const to = await realm.account({ asset: name });
  const transactions = Array.from({ length: count }, (_, i) => ({
    source: { account },
    destination: { account: to },
    value: "1.5",
    data: data(i),
  }));
  const body = { atomic: true, transactions };
  const answer = await realm.admin.send("POST", "/v1/transactions/batch", body);
  equal(answer.status, 201, answer.text);
  return { account, to, asset: name };
}

test("GET /v1/transactions/all?format=csv gives every row once, slice by slice, as the JSON shows it", async (realm) => {
  const { asset } = await moved(realm, 450);
  const query = encodeURIComponent(JSON.stringify({ asset }));
  const [head, ...lines] = await exported(
    realm.admin,
    `/v1/transactions/all?format=csv&${today()}&fields=id,created_at,amount,source.account`,
  );
  equal(head, "id,created_at,amount,source.account");
  const all = (await realm.admin.send("GET", "/v1/transactions/all")).body;
  deepEqual(
    lines,
    all.map((
      row: { id: string; created_at: number; amount: string; source: { account: string } },
    ) =>
      [row.id, new Date(row.created_at).toISOString(), row.amount, row.source.account].join(",")
    ),
  );
  const path = `/v1/transactions/all?format=csv&${today()}&fields=id`;
  const [, ...found] = await exported(realm.admin, `${path}&query=${query}`);
  equal(found.length, 451);
  const [, ...rest] = await exported(realm.admin, `${path}&query=${query}&after=${found[249]}`);
  deepEqual(rest, found.slice(250));
  const none = encodeURIComponent(JSON.stringify({ asset: "none" }));
  deepEqual(await exported(realm.admin, `${path}&query=${none}`), ["id"]);
  const past = `/v1/transactions/all?format=csv&from=0&to=${DAY}&fields=id`;
  deepEqual(await exported(realm.admin, past), ["id"]);
});

test("an export reads as many rows at once as a slice has, whatever it is asked for", async (realm) => {
  await moved(realm, 450);
  const statements: string[] = [];
  await using other = realm.another({}, (text) => statements.push(text));
  const send = other.send(realm.admin.key);
  const none = encodeURIComponent(JSON.stringify({ data: { a: "none" } }));
  const path = `/v1/transactions/all?format=csv&${today()}`;
  equal((await send("GET", `${path}&query=${none}`)).status, 200);
  const lists = statements.filter((text) => /from "?transaction_list/.test(text));
  const total = (await realm.admin.send("GET", "/v1/transactions/count")).body;
  // Two for each slice: where it ends, and which of its rows are asked for.
  equal(lists.length, 2 * (Math.floor(total / 200) + 1));
  ok(
    lists.every((text) => /limit (200|1)\b/.test(text)),
    lists.find((text) => !/limit/.test(text)),
  );
});

test("an export of deleted accounts tries as many rows at once as a slice has", async (realm) => {
  const { name } = await realm.currency("1");
  const user = await realm.user();
  const ids: string[] = [];
  for (let i = 0; i < 105; i++) {
    const made = await user.send("POST", "/v1/accounts", { type: "virtual", asset: name });
    equal(made.status, 201, made.text);
    ids.push(made.body.id);
  }
  const gone = [ids[1], ids[49], ids[50], ids[104]];
  const deleter = await realm.user({ role: "manage", scope: "realm" });
  for (const id of gone) {
    equal((await deleter.send("DELETE", `/v1/accounts/${id}`)).status, 200);
  }
  const statements: string[] = [];
  await using other = realm.another({}, (text) => statements.push(text));
  const path = `/v1/accounts/all?format=csv&${today()}&fields=id,data`;
  for (
    const [scope, found] of [["deleted,own", gone], ["own", null], ["false,own", ids]] as const
  ) {
    statements.length = 0;
    const { status, text } = await other.send(user.key)("GET", `${path}&scope=${scope}`);
    equal(status, 200, text);
    const kept = found ?? ids.filter((id) => !gone.includes(id));
    deepEqual(text.split("\r\n").slice(1, -1), kept.map((id) => `${id},{}`));
    const lists = statements.filter((one) => /select id from "?accounts.* limit \d/s.test(one));
    equal(lists.length, scope === "false,own" ? 3 : 6, scope);
    ok(lists.every((one) => /limit (50|1)\b/.test(one)));
  }
});

test("accounts, deposits and withdrawals are exported with columns that stay, and texts are no formulas", async (realm) => {
  const { asset } = await moved(realm, 1);
  const holder = {
    asset,
    type: "virtual",
    reference: `=cmd|${asset}`,
    data: { note: '-1+"2"', n: -1 },
  };
  const account = (await realm.admin.send("POST", "/v1/accounts", holder)).body.id;
  const csv = (path: string) => exported(realm.admin, `/v1/${path}&${today()}`);
  const [head, ...lines] = await csv("accounts/all?format=csv");
  equal(
    head,
    "id,created_at,type,asset,currency,country,alias,reference,holder,owner,balance.total," +
      "balance.available,testnet,default,active,frozen,enabled,updated_at,deleted_at",
  );
  match(lines.find((line) => line.startsWith(account))!, new RegExp(`,'=cmd.${asset},`));
  const [, ...notes] = await csv("accounts/all?format=csv&fields=id,data.note,data.n,data");
  equal(
    notes.find((line) => line.startsWith(account)),
    `${account},"'-1+""2""",-1,"{""n"":-1,""note"":""-1+\\""2\\""""}"`,
  );
  match(
    (await csv("deposits/all?format=csv"))[0],
    /^id,created_at,account,beneficiary,address,asset,/,
  );
  match((await csv("withdrawals/all?format=csv"))[0], /^id,created_at,status,asset,value,amount,/);
  match(
    (await csv("transactions/all?format=csv"))[0],
    /^id,created_at,seq,hash,type,status,asset,/,
  );
});

test("an export takes a range of time, and nothing that pages", async (realm) => {
  const code = async (query: string) =>
    (await realm.admin.send("GET", `/v1/accounts/all?${query}`)).body.code;
  equal(await code(`format=csv&from=0&to=${RANGE_MAX_DAYS * DAY + 1}`), "query.invalid");
  for (
    const query of [
      ...["format=csv", "format=csv&from=1", "format=csv&to=1", "format=csv&from=2&to=1"],
      ...["from=1&to=2", "to=2", "format=pdf"],
      ...["limit=5", "offset=5", "sort=type", "populate=owner", "fields=color", "after=x"]
        .map((one) => `format=csv&${today()}&${one}`),
    ]
  ) equal(await code(query), "query.invalid", query);
  const flows = await realm.admin.send(
    "GET",
    `/v1/transactions/all?format=csv&${today()}&scope=incoming`,
  );
  equal(flows.body.code, "query.invalid");
  equal((await realm.nobody("GET", `/v1/accounts/all?format=csv&${today()}`)).status, 401);
  const users = await realm.admin.send("GET", `/v1/users/all?format=csv&${today()}`);
  equal(users.body.code, "query.invalid", "users are not exported");
});

test("a customer exports its own rows alone, and nobody those of another realm", async (realm) => {
  const { asset } = await moved(realm, 3);
  const customer = await realm.user();
  const own = await realm.account({ asset, by: customer });
  const ids = async (user: TestUser, more = "") =>
    (await exported(user, `/v1/accounts/all?format=csv&${today()}&fields=id${more}`)).slice(1);
  deepEqual(await ids(customer), [own]);
  const path = `/v1/accounts/all?format=csv&${today()}&scope=all`;
  equal((await customer.send("GET", path)).body.code, "permission.scope");
  ok((await ids(realm.admin, "&scope=all")).includes(own));
  equal((await ids(realm.admin)).includes(own), false);
  const system = encodeURIComponent('{"type":"system"}');
  deepEqual(await ids(customer, `&query=${system}`), []);
  const neighbour = await realm.neighbour();
  const theirs = await ids(neighbour.admin, "&scope=all");
  equal(theirs.includes(own), false);
});

test("the audit trail says who exported what, and nothing of an export that was refused", async (realm) => {
  const user = await realm.user();
  await exported(user, `/v1/withdrawals/all?format=csv&${today()}&fields=id`);
  await user.send("GET", "/v1/withdrawals/all?format=csv");
  await user.send("GET", "/v1/withdrawals/all");
  const { body } = await realm.admin.send("GET", `/v1/audit?actor=${user.id}`);
  deepEqual(
    body.map((line: { action: string; fields: string[] }) => [line.action, line.fields.toSorted()]),
    [["withdrawals.export", ["fields", "format", "from", "to"]]],
  );
});

test("a caller that leaves ends the reading and frees its place; two exports of a user run at once", async (realm) => {
  const start = Date.now();
  await moved(realm, 300, (i) => ({ text: `${i}`.padEnd(3000, "x") }));
  const statements: string[] = [];
  await using process = realm.another({}, (text) => statements.push(text));
  const path = `http://purser.test/v1/transactions/all?format=csv&from=${start}&to=${
    start + DAY
  }&fields=id,data`;
  const ask = () =>
    process.app(new Request(path, { headers: { "x-api-key": realm.admin.key } }), "127.0.0.1");
  const slices = () => statements.filter((text) => /from "?transaction_list/.test(text)).length;
  const [one, two] = [await ask(), await ask()];
  deepEqual([one.status, two.status, (await ask()).status], [200, 200, 429]);
  const reader = one.body!.getReader();
  ok((await reader.read()).value!.length > 0);
  const read = slices();
  ok(read <= 2, `${read} slices for a piece`);
  await reader.cancel();
  await two.body!.cancel();
  const again = await ask();
  equal(again.status, 200, "the places are free again");
  await again.body!.cancel();
  equal(slices(), read, "nothing more was read for those who left");
});

test("customers that hold all places of theirs leave some to those who work for the realm", async (realm) => {
  await using process = realm.another();
  const path = `http://purser.test/v1/transactions/all?format=csv&${today()}`;
  const held: Response[] = [];
  const ask = async ({ key }: TestUser) => {
    const answer = await process.app(
      new Request(path, { headers: { "x-api-key": key } }),
      "127.0.0.1",
    );
    if (answer.status === 200) held.push(answer);
    return answer.status;
  };
  for (let i = 0; i < 3; i++) {
    const customer = await realm.user();
    deepEqual([await ask(customer), await ask(customer)], [200, 200]);
  }
  const late = await realm.user({ role: "admin", scope: "own" });
  equal(await ask(late), 503);
  const staff = [await realm.user({ role: "user", scope: "realm" }), realm.admin];
  for (const one of staff) deepEqual([await ask(one), await ask(one)], [200, 200]);
  equal(await ask(await realm.user({ role: "manage", scope: "realm" })), 503);
  // A place that is given back is a customer's again once those of all are few enough.
  for (const answer of held.splice(-5)) await answer.body!.cancel();
  equal(await ask(late), 200);
  for (const answer of held) await answer.body!.cancel();
});

test("a statement ends with its key, or with the right to read its account", async (realm) => {
  const { account } = await moved(realm, 6000);
  for (const change of ["logout", "narrow"]) {
    const user = await realm.user({ role: "user", scope: "realm" });
    const { key } = (await user.send("POST", "/v1/keys", { name: "statements" })).body;
    await using process = realm.another();
    const [login, machine] = [process.send(user.key), process.send(key)];
    const headers = { "x-api-key": change === "logout" ? user.key : key };
    const path = `http://purser.test/v1/accounts/${account}/statement`;
    const response = await process.app(new Request(path, { headers }), "127.0.0.1");
    const reader = response.body!.getReader();
    ok((await reader.read()).value!.length > 0);
    if (change === "logout") {
      equal((await user.send("POST", "/v1/auth/logout")).status, 200);
      await until(async () => (await login("GET", "/v1/auth/me")).status === 401);
    } else {
      const scopes = { scopes: "own" };
      equal((await realm.admin.send("PATCH", `/v1/users/${user.id}`, scopes)).status, 200);
      await until(async () => (await machine("GET", `/v1/accounts/${account}`)).status === 404);
    }
    await rejects(async () => {
      while (!(await reader.read()).done);
    }, change);
  }
});

test("an export ends with its key, broken off and not as if it were whole", async (realm) => {
  const start = Date.now();
  await moved(realm, 300, (i) => ({ text: `${i}`.padEnd(3000, "x") }));
  const user = await realm.user({ role: "admin", scope: "realm" });
  const path = `http://purser.test/v1/transactions/all?format=csv&from=${start}&to=${
    start + DAY
  }&fields=id,data&scope=all`;
  await using process = realm.another();
  const response = await process.app(
    new Request(path, { headers: { "x-api-key": user.key } }),
    "127.0.0.1",
  );
  const reader = response.body!.getReader();
  ok((await reader.read()).value!.length > 0);
  equal((await user.send("POST", "/v1/auth/logout")).status, 200);
  const send = process.send(user.key);
  await until(async () => (await send("GET", "/v1/auth/me")).status === 401);
  await rejects(async () => {
    while (!(await reader.read()).done);
  });
});
