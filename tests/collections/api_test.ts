/**
 * The generic routes, shown on collections that have something to list: pages and keysets, filters,
 * orders, fields, searches, scopes, totals.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { compactRowCounts } from "../../db/collections/collection.ts";
import { reading } from "../../db/transaction.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { type Answer, rowsOf, testRealm, type TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("lists of one realm");

interface Entity {
  id: string;
  data: { n: number };
}

test("GET /v1/<collection> pages through everything once, in the order of creation", async (realm) => {
  const user = await realm.user();
  const ids = await identities(user, 23);
  const pages = [];
  for (let page = 1; page <= 4; page++) {
    const query = `query=${json({ "data.n": { $exists: true } })}&page=${page}&pageSize=7`;
    const { status, body } = await user.send("GET", `/v1/identities?${query}`);
    equal(status, 200);
    const { rows, ...rest } = body;
    deepEqual(rest, { total: 23, page, pageSize: 7, totalPages: 4 });
    pages.push(...rows.map((row: Entity) => row.id));
  }
  deepEqual(pages, ids);
  const whole = await user.send("GET", "/v1/identities");
  deepEqual([whole.body.rows.length, whole.body.total, whole.body.pageSize], [10, 24, 10]);
  const far = await user.send("GET", "/v1/identities?page=99");
  deepEqual([far.body.rows, far.body.total], [[], 24]);
});

test("GET /v1/<collection>/all goes on after an id, in any order, without loss or repeat", async (realm) => {
  const user = await realm.user();
  await identities(user, 23);
  const query = `query=${json({ "data.n": { $exists: true } })}`;
  for (const sort of ["", "id", "-created_at", "data.even,-data.n", "-data.even", "country,type"]) {
    const path = `/v1/identities/all?${query}&sort=${sort}`;
    const expected = ids(await user.send("GET", path));
    equal(expected.length, 23, sort);
    const found: string[] = [];
    for (let after = "";;) {
      const part = ids(await user.send("GET", `${path}&limit=5&after=${after}`));
      found.push(...part);
      if (part.length < 5) break;
      after = part[4];
    }
    deepEqual(found, expected, sort);
  }
  const offset = ids(await user.send("GET", `/v1/identities/all?${query}&offset=20&limit=10`));
  equal(offset.length, 3);
});

test("beyond a limit or with an unknown word a list is refused, never cut", async (realm) => {
  const wrong = [
    "all?limit=1001",
    "all?limit=-1",
    "all?limit=many",
    "all?offset=100001",
    "all?after=x",
    "?pageSize=501",
    "?pageSize=0",
    "?page=0",
    "?page=1.5",
    "?limit=5",
    "count?sort=id",
    "all?page=1",
    "all?unknown=1",
    "all?sort=verifier",
    "all?fields=verifier",
    "all?searchFields=created_at&search=1",
    "all?populate=verifier",
    "all?scope=theirs",
    "all?scope=incoming",
    "all?query=[]",
    "all?query=%7B",
    `all?query=${json({ $where: "1" })}`,
    `all?query=${json({ nope: 1 })}`,
    `all?query=${json({ data: { $regex: "a" } })}`,
    `all?query=${json({ $and: Array.from({ length: 101 }, () => ({ type: "x" })) })}`,
    `all?query=${json(nested(9))}`,
  ];
  for (const path of wrong) {
    const { status, body } = await realm.admin.send("GET", `/v1/identities/${path}`);
    deepEqual([status, body.code], [400, "query.invalid"], path);
    equal(body.errors.length > 0, true, path);
  }
});

test("a filter compares numbers exactly, times in milliseconds, and reaches into data", async (realm) => {
  const { name, account } = await realm.currency("1000");
  const user = await realm.user();
  const [small, large] = [
    await realm.account({ asset: name, by: user, from: account, total: "1.000000000000000001" }),
    await realm.account({ asset: name, by: user, from: account, total: "1.000000000000000002" }),
  ];
  const find = async (query: unknown) =>
    ids(await user.send("GET", `/v1/accounts/all?query=${json(query)}`));
  deepEqual(await find({ "balance.total": "1.000000000000000001" }), [small]);
  const exact = '{"balance.total":{"$gt":1.000000000000000001}}';
  deepEqual(
    ids(await user.send("GET", `/v1/accounts/all?query=${encodeURIComponent(exact)}`)),
    [large],
  );
  const { created_at } = (await user.send("GET", `/v1/accounts/${small}`)).body;
  deepEqual((await find({ created_at })).includes(small), true);
  deepEqual(await find({ created_at: { $lt: created_at } }), []);
  deepEqual(await find({ active: "true", frozen: false, default: false }), [small, large]);
  deepEqual(await find({ $or: [{ id: small }, { id: { $in: [large] } }] }), [small, large]);
  deepEqual(await find({ $not: { id: small } }), [large]);
  await user.send("PATCH", `/v1/accounts/${small}`, { data: { tags: ["a", "b"], deep: { n: 2 } } });
  deepEqual(await find({ "data.deep.n": { $gte: 2 } }), [small]);
  deepEqual(await find({ "data.tags": { $contains: "b" } }), [small]);
  deepEqual(await find({ "data.deep": { $exists: false } }), [large]);
});

test("fields cuts answers down, to parts of objects as well", async (realm) => {
  const account = (await realm.currency("5")).account;
  const some = await realm.admin.send("GET", `/v1/accounts/${account}?fields=id,balance.total`);
  deepEqual(some.body, { id: account, balance: { total: "5" } });
  const repeated = await realm.admin.send("GET", `/v1/accounts/${account}?fields=id&fields=type`);
  deepEqual(repeated.body, { id: account, type: "virtual" });
});

test("search finds a part of a text, whatever its case, and takes no pattern", async (realm) => {
  const name = `Q${crypto.randomUUID().slice(0, 8)}`;
  await realm.currency("1", `${name}_UPPER`);
  await realm.currency("1", `${name}-other`);
  const search = async (text: string, more = "") => {
    const path = `/v1/currencies/all?search=${encodeURIComponent(text)}${more}&fields=name`;
    return (await realm.admin.send("GET", path)).body.map((row: { name: string }) => row.name);
  };
  deepEqual(await search(name.toLowerCase()), [`${name}_UPPER`, `${name}-other`]);
  deepEqual(await search("_upper"), [`${name}_UPPER`]);
  deepEqual(await search("%"), []);
  deepEqual(await search("upper", "&searchFields=symbol"), []);
});

test("scopes: own, all, deleted, false, and a minus", async (realm) => {
  const own = await realm.user();
  const wide = await realm.user({ role: "manage", scope: "realm" });
  const [kept, gone] = await identities(own, 2);
  const [others] = await identities(wide, 1);
  equal((await own.send("DELETE", `/v1/identities/${gone}`)).body.deleted, true);
  const scoped = async (user: TestUser, scope: string) =>
    ids(await user.send("GET", `/v1/identities/all?scope=${scope}`)).filter((id) =>
      [kept, gone, others].includes(id)
    );
  deepEqual(await scoped(own, ""), [kept]);
  deepEqual(await scoped(own, "own"), [kept]);
  deepEqual(await scoped(own, "true"), [kept]);
  deepEqual(await scoped(own, "deleted"), [gone]);
  deepEqual(await scoped(own, "false"), [kept, gone]);
  deepEqual(await scoped(own, "-own"), [kept]);
  deepEqual(await scoped(wide, "own"), [others]);
  deepEqual(await scoped(wide, "all"), [kept, others]);
  deepEqual(await scoped(wide, "-own,all"), [kept, others]);
  deepEqual(await scoped(wide, "all&scope=deleted"), [gone]);
  deepEqual(await scoped(wide, "own,deleted"), []);
  deepEqual(await scoped(wide, "false"), [kept, gone, others]);
  equal((await own.send("GET", `/v1/identities/${gone}`)).status, 404);
  equal((await own.send("GET", `/v1/identities/${gone}?scope=false`)).body.deleted, true);
  equal((await wide.send("GET", `/v1/identities/${gone}?scope=deleted`)).status, 200);
  equal((await wide.send("GET", `/v1/identities/${kept}?scope=own`)).status, 404);
});

Deno.test("transactions have scopes by direction, and totals that count those without a link", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("100");
  const user = await realm.user();
  const mine = await realm.account({ asset: name, by: user, from: account, total: "10" });
  await extendHashChain(realm.pool, Date.now, () => false);
  const back = { source: { account: mine }, destination: { account }, value: "1" };
  const out = (await user.send("POST", "/v1/transactions", back)).body.id;
  const scoped = async (scope: string) => {
    const { body } = await user.send("GET", `/v1/transactions?scope=${scope}`);
    equal(body.total, body.rows.length, scope);
    return body.rows.map((row: Entity) => row.id);
  };
  const [into] = await scoped("incoming");
  deepEqual(await scoped("outgoing"), [out]);
  deepEqual(await scoped("own"), [out]);
  deepEqual(await scoped("incoming,outgoing"), [into, out]);
  deepEqual(await scoped("false"), [into, out]);
  equal((await user.send("GET", "/v1/transactions/count?scope=incoming")).body, 1);
  const all = (await realm.admin.send("GET", "/v1/transactions?scope=all")).body;
  deepEqual([all.total, all.rows.length], [3, 3]);
  for (
    const query of [
      { "source.owner": realm.admin.id, "destination.owner": user.id },
      { "seal.n": { $exists: false }, "source.account": account, status: "DONE", type: "transfer" },
      { seq: { $gt: 0 }, hash: { $exists: true } },
    ]
  ) {
    const path = `/v1/transactions/all?scope=incoming&sort=-seq&query=${json(query)}`;
    deepEqual(ids(await user.send("GET", path)), [into], path);
  }
  equal((await user.send("GET", `/v1/transactions/${into}`)).status, 200);
  equal((await user.send("GET", `/v1/transactions/${into}?scope=own`)).status, 404);
  for (const method of ["DELETE", "PUT"]) {
    const { status, body } = await realm.admin.send(method, `/v1/transactions/${out}`);
    deepEqual([status, body.code], [405, "method.not_allowed"]);
  }
  const changed = await user.send("PATCH", `/v1/transactions/${out}`, { data: { note: 1 } });
  deepEqual([changed.status, changed.body.data], [200, { note: 1 }]);
  const noted = await user.send("GET", `/v1/transactions/all?query=${json({ "data.note": 1 })}`);
  deepEqual(ids(noted), [out]);
});

Deno.test("system accounts are only in lists of realm administrators who ask for them", async () => {
  await using realm = await testRealm();
  await realm.currency("10");
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const query = `query=${json({ type: "system" })}`;
  const found = await realm.admin.send("GET", `/v1/accounts?${query}`);
  deepEqual([found.body.total, found.body.rows[0].balance.total], [1, "-10"]);
  const world = found.body.rows[0].id;
  equal((await realm.admin.send("GET", `/v1/accounts/all?scope=all&${query}`)).body.length, 1);
  const asked = [{ type: { $in: ["virtual", "system"] } }, { $or: [{ type: "system" }, {}] }];
  for (const one of asked) {
    const all = await realm.admin.send("GET", `/v1/accounts?scope=all&query=${json(one)}`);
    equal(all.body.total, 2, JSON.stringify(one));
  }
  // The word alone does not ask for them: it is compared with another field here.
  for (const one of [{ asset: { $ne: "system" } }, { "data.system": { $exists: false } }]) {
    const some = await realm.admin.send("GET", `/v1/accounts?scope=all&query=${json(one)}`);
    equal(some.body.total, 1, JSON.stringify(one));
  }
  const plain = (await realm.admin.send("GET", "/v1/accounts?scope=all")).body;
  deepEqual([plain.total, plain.rows.length], [1, 1]);
  equal((await realm.admin.send("GET", `/v1/accounts/${world}`)).status, 200);
  equal((await manager.send("GET", `/v1/accounts/all?scope=all&${query}`)).body.length, 0);
  equal((await manager.send("GET", `/v1/accounts/${world}`)).status, 404);
  for (const act of ["freeze", "deactivate", "undelete"]) {
    equal((await realm.admin.send("POST", `/v1/accounts/${world}/${act}`)).status, 403, act);
    equal((await manager.send("POST", `/v1/accounts/${world}/${act}`)).status, 404, act);
  }
  equal((await realm.admin.send("DELETE", `/v1/accounts/${world}`)).status, 403);
});

Deno.test("totals are exact at every moment, summed up or not", async () => {
  await using realm = await testRealm();
  const users = [await realm.user(), await realm.user(), realm.admin];
  let round = 0;
  const check = async () => {
    round++;
    for (const user of users) {
      for (const scope of user === realm.admin ? ["own", "all", "all,deleted"] : ["own", "false"]) {
        for (const collection of ["identities", "users", "aliases"]) {
          const path = `/v1/${collection}`;
          const list = await user.send("GET", `${path}?scope=${scope}`);
          const all = await user.send("GET", `${path}/all?scope=${scope}`);
          const counted = await user.send("GET", `${path}/count?scope=${scope}`);
          const note = `${collection} ${scope} in round ${round}`;
          deepEqual([list.body.total, counted.body], [all.body.length, all.body.length], note);
        }
      }
    }
  };
  await check();
  const made = await Promise.all(users.map((user) => identities(user, 5)));
  await check();
  await reading(realm.pool, compactRowCounts);
  await check();
  await users[0].send("DELETE", `/v1/identities/${made[0][0]}`);
  await realm.admin.send("DELETE", `/v1/identities/${made[1][2]}`);
  await check();
  await Promise.all([reading(realm.pool, compactRowCounts), identities(users[1], 3), check()]);
  await realm.admin.send("POST", `/v1/identities/${made[1][2]}/undelete`);
  await realm.admin.send("POST", `/v1/identities/${made[1][2]}/undelete`);
  await check();
  await reading(realm.pool, compactRowCounts);
  const rows = await rowsOf<{ n: string }>(
    realm,
    "select count(*) as n from row_counts group by collection, owner having count(*) > 1",
  );
  deepEqual(rows, []);
});

/** Makes identities of a user, numbered from 0. */
async function identities(user: TestUser, count: number): Promise<string[]> {
  const made: string[] = [];
  for (let n = 0; n < count; n++) {
    const data = { n, even: n % 2 === 0, ...(n % 3 === 0 ? {} : { third: n }) };
    const answer = await user.send("POST", "/v1/identities", { data });
    equal(answer.status, 201, answer.text);
    made.push(answer.body.id);
  }
  return made;
}

function ids(answer: Answer): string[] {
  equal(answer.status, 200, answer.text);
  return answer.body.map((row: Entity) => row.id);
}

function json(query: unknown): string {
  return encodeURIComponent(JSON.stringify(query));
}

function nested(depth: number): unknown {
  return depth === 0 ? { type: "x" } : { $not: nested(depth - 1) };
}

Deno.test("a list of rows that hold more than an answer may is refused, however few they are, and read in parts", async () => {
  await using realm = await testRealm();
  const user = await realm.user();
  await rowsOf(
    realm,
    `insert into identities (id, country, currency, data, owner, created_at)
    select gen_random_uuid(), 'US', 'USD', jsonb_build_object('n', n, 'text', repeat('a', 60000)), $1, now()
    from generate_series(1, 450) n`,
    [user.id],
  );
  const refused = await user.send("GET", "/v1/identities/all");
  deepEqual([refused.status, refused.body.code], [400, "query.invalid"]);
  const page = await user.send("GET", "/v1/identities?pageSize=400");
  deepEqual([page.status, page.body.code], [400, "query.invalid"]);
  equal((await user.send("GET", "/v1/identities/all?limit=130")).body.length, 130);
  const all = await user.send("GET", "/v1/identities/all?fields=id,data.n");
  equal(all.status, 200, all.text);
  const ids = all.body.map((one: { id: string }) => one.id);
  deepEqual([ids.length, new Set(ids).size, ids], [451, 451, ids.toSorted()]);
});
