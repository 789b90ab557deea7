/** Aliases: one directory for accounts and identities, each code assigned once. @module */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { locationOf } from "../../domain/realms/realms.ts";
import { PASSWORD, rowsOf, testRealm, type TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("aliases in one realm");

test("POST /v1/aliases names an account or an identity, each code once", async (realm) => {
  const { account } = await realm.currency("1");
  const { identity } = realm.admin;
  const first = await realm.admin.send("POST", "/v1/aliases", {
    alias: "shop",
    type: "account",
    account,
    data: { a: 1 },
  });
  deepEqual([first.status, first.body.account, first.body.data], [201, account, { a: 1 }]);
  for (const target of [{ type: "account", account }, { type: "identity", identity }]) {
    const { status, body } = await realm.admin.send("POST", "/v1/aliases", {
      alias: "shop",
      ...target,
    });
    deepEqual([status, body.code], [409, "alias.taken"]);
  }
  const unnamed = await realm.admin.send("POST", "/v1/aliases", { alias: "x", type: "account" });
  const paths = (body: { errors: { path: string }[] }) => body.errors.map(({ path }) => path);
  deepEqual([unnamed.status, paths(unnamed.body)], [400, ["/account"]]);
  const other = { alias: "x", type: "account", identity };
  const mixed = await realm.admin.send("POST", "/v1/aliases", other);
  deepEqual([mixed.status, paths(mixed.body)], [400, ["/account", "/identity"]]);
  const second = { alias: "me", type: "identity", identity };
  equal((await realm.admin.send("POST", "/v1/aliases", second)).status, 201);
  equal((await realm.admin.send("GET", `/v1/accounts/${account}`)).body.alias, "shop");
  equal((await realm.admin.send("GET", `/v1/identities/${identity}`)).body.alias, "me");
});

test("no alias reads like the id of another's account, in no spelling", async (realm) => {
  const { account } = await realm.currency("1");
  const thief = await realm.user();
  const wide = (text: string) =>
    text.replaceAll(/[!-~]/g, (one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0));
  const target = { type: "identity", identity: thief.identity };
  for (const alias of [account, account.toUpperCase(), wide(account)]) {
    const { status, body } = await thief.send("POST", "/v1/aliases", { alias, ...target });
    deepEqual([status, body.code, body.errors?.[0].path], [400, "request.invalid", "/alias"]);
    const made = await thief.send("POST", "/v1/identities", { alias });
    deepEqual([made.status, made.body.errors?.[0].path], [400, "/alias"]);
    const insert = realm.command((tx) =>
      tx`insert into aliases (id, alias, folded, type, identity, owner, created_at)
        values (gen_random_uuid(), ${alias}, ${account}, 'identity', ${thief.identity}, ${thief.id}, now())`
        .then(() => {})
    );
    await rejects(insert, { constraint_name: "aliases_alias_no_id" });
  }
  const like = { alias: `${account}-1`, ...target };
  equal((await thief.send("POST", "/v1/aliases", like)).status, 201);
});

test("POST /v1/aliases refuses a body without a target, with two, or with another's", async (realm) => {
  const { account } = await realm.currency("1");
  const { identity } = realm.admin;
  const wrong = [
    { alias: "x", type: "account" },
    { alias: "x", type: "account", identity },
    { alias: "x", type: "account", account, identity },
    { alias: "x", type: "other", account },
    { alias: "", type: "account", account },
    { alias: "a b", type: "account", account },
    { alias: "x".repeat(201), type: "account", account },
    { type: "account", account },
  ];
  for (const body of wrong) {
    const answer = await realm.admin.send("POST", "/v1/aliases", body);
    deepEqual([answer.status, answer.body.code], [400, "request.invalid"], JSON.stringify(body));
  }
  const reader = await realm.user({ scope: "realm" });
  const seen = await reader.send("POST", "/v1/aliases", { alias: "x", type: "account", account });
  deepEqual([seen.status, seen.body.code], [403, "permission.owner"]);
  const gone = { alias: "x", type: "identity", identity: crypto.randomUUID() };
  equal((await realm.admin.send("POST", "/v1/aliases", gone)).body.code, "identity.not_found");
});

Deno.test("an alias given on creation is made with the entity, or neither is", async () => {
  await using realm = await testRealm();
  const { name } = await realm.currency("1");
  const body = { type: "virtual", asset: name, alias: "till" };
  const account = await realm.admin.send("POST", "/v1/accounts", body);
  deepEqual([account.status, account.body.alias], [201, "till"]);
  const identity = await realm.admin.send("POST", "/v1/identities", { alias: "ada" });
  deepEqual([identity.status, identity.body.alias], [201, "ada"]);
  const count = async () => (await realm.admin.send("GET", "/v1/accounts/count")).body;
  const before = await count();
  const taken = await realm.admin.send("POST", "/v1/accounts", { ...body, alias: "ada" });
  deepEqual([taken.status, taken.body.code], [409, "alias.taken"]);
  equal(await count(), before);
  const all = await realm.admin.send("GET", "/v1/aliases/all?populate=account,identity");
  deepEqual(
    all.body.map((row: { alias: string; account?: { id: string }; identity?: { id: string } }) => [
      row.alias,
      row.account?.id ?? row.identity?.id,
    ]),
    [["till", account.body.id], ["ada", identity.body.id]],
  );
});

test("of many concurrent claims of one alias a single one succeeds", async (realm) => {
  const { name } = await realm.currency("1");
  const answers = await Promise.all([
    ...Array.from(
      { length: 5 },
      () => realm.admin.send("POST", "/v1/identities", { alias: "one" }),
    ),
    ...Array.from(
      { length: 5 },
      () =>
        realm.admin.send("POST", "/v1/accounts", { type: "virtual", asset: name, alias: "one" }),
    ),
  ]);
  deepEqual(answers.map((answer) => answer.status).sort(), [201, ...Array(9).fill(409)]);
});

test("a deleted alias leads nowhere, its code stays taken, and it comes back", async (realm) => {
  const { name, account } = await realm.currency("5");
  const to = await realm.account({ asset: name });
  const body = { alias: "till", type: "account", account: to };
  const { id } = (await realm.admin.send("POST", "/v1/aliases", body)).body;
  const pay = () =>
    realm.admin.send("POST", "/v1/transactions", {
      source: { account },
      destination: { alias: "till" },
      value: "1",
    });
  equal((await pay()).status, 201);
  equal((await realm.admin.send("DELETE", `/v1/aliases/${id}`)).body.deleted, true);
  equal((await pay()).body.code, "alias.not_found");
  equal((await realm.admin.send("GET", `/v1/accounts/${to}`)).body.alias, null);
  equal((await realm.admin.send("POST", "/v1/aliases", body)).body.code, "alias.taken");
  equal((await realm.admin.send("POST", `/v1/aliases/${id}/undelete`)).status, 200);
  equal((await pay()).status, 201);
  equal((await realm.balance(to)).total, "2");
});

test("no alias and no username differs from another one by invisible characters alone", async (realm) => {
  const { account } = await realm.currency("1");
  for (const name of ["al\u200bice", "\u202ealice", "ali\u00adce", "alice\u2060", "ale\u0301"]) {
    const alias = { alias: name, type: "account", account };
    const user = { username: name, password: PASSWORD };
    for (const [path, body] of [["/v1/aliases", alias], ["/v1/users", user]] as const) {
      const answer = await realm.admin.send("POST", path, body);
      deepEqual([answer.status, answer.body.code], [400, "request.invalid"], path);
    }
    const renamed = { username: name };
    equal((await realm.admin.send("PATCH", `/v1/users/${realm.admin.id}`, renamed)).status, 400);
  }
  const alias = { alias: "al\u00e9-\u0627\u0644-\u{1f600}", type: "account", account };
  equal((await realm.admin.send("POST", "/v1/aliases", alias)).status, 201);
});

test("no alias differs from another one in the case of its letters alone, and none is found in another case", async (realm) => {
  const { name, account } = await realm.currency("9");
  const [owner, thief] = [await realm.user(), await realm.user()];
  const open = (by: TestUser) => realm.account({ asset: name, by });
  const [till, trap] = [await open(owner), await open(thief)];
  const claim = async (by: TestUser, alias: string, target: string) => {
    const body = { alias, type: "account", account: target };
    return (await by.send("POST", "/v1/aliases", body)).body.code ?? "made";
  };
  equal(await claim(owner, "shop-élan", till), "made");
  for (const alias of ["Shop-élan", "SHOP-éLAN", "shop-éLan"]) {
    equal(await claim(thief, alias, trap), "alias.taken", alias);
    const fields = { type: "virtual", asset: name, alias };
    const made = await thief.send("POST", "/v1/accounts", fields);
    equal(made.body.code, "alias.taken", alias);
    const move = { source: { account }, destination: { alias }, value: "1" };
    equal((await realm.admin.send("POST", "/v1/transactions", move)).body.code, "alias.not_found");
  }
  equal(await claim(thief, "shop-elan", trap), "made");
});

test("no name differs from another one by the case of its letters, in any script, or by signs of compatibility", async (realm) => {
  const { account } = await realm.currency("1");
  const made = async (path: string, body: Record<string, unknown>) => {
    const { status, body: { code } } = await realm.admin.send("POST", path, body);
    return status === 201 ? "made" : code;
  };
  const alias = (name: string) => made("/v1/aliases", { alias: name, type: "account", account });
  const user = (username: string) => made("/v1/users", { username, password: PASSWORD });
  const pairs = [
    ["ada", "ADA"],
    ["\u00e9lodie", "\u00c9LODIE"],
    ["stra\u00dfe", "STRASSE"],
    ["gro\u00df", "GRO\u1e9e"],
    ["\u03bf\u03b4\u03cc\u03c2", "\u039f\u0394\u038c\u03a3"],
    ["\u0438\u0432\u0430\u043d", "\u0418\u0412\u0410\u041d"],
    ["bob", "\uff22\uff2f\uff22"],
    ["o\ufb03ce", "office"],
    ["\u{10428}x", "\u{10400}X"],
  ];
  for (const [one, other] of pairs) {
    deepEqual([await alias(one), await alias(other)], ["made", "alias.taken"], other);
    deepEqual([await user(one), await user(other)], ["made", "username.taken"], other);
    const renamed = { username: other };
    const { body } = await realm.admin.send("PATCH", `/v1/users/${realm.admin.id}`, renamed);
    equal(body.code, "username.taken", other);
  }
  const own = await realm.user();
  const path = `/v1/users/${own.id}`;
  equal((await realm.admin.send("PATCH", path, { username: "Zo\u00eb" })).status, 200);
  equal((await realm.admin.send("PATCH", path, { username: "ZO\u00cb" })).status, 200, "its own");
  const long = "\ufdfa".repeat(100); // eighteen letters each
  deepEqual([await alias(long), await user(long)], ["request.invalid", "request.invalid"]);
});

test("the database refuses a folded name that is not that of its name, as far as it knows letters", async (realm) => {
  const { account } = await realm.currency("1");
  const insert = (alias: string, folded: string) =>
    realm.command((tx) =>
      tx`insert into aliases (id, alias, folded, type, account, owner, created_at)
        values (gen_random_uuid(), ${alias}, ${folded}, 'account', ${account}, ${realm.admin.id}, now())`
        .then(() => {})
    );
  for (const [alias, folded] of [["Eve", "Eve"], ["Eve", "mallory"], ["\u00c9ve", "\u00e9vE"]]) {
    await rejects(insert(alias, folded), { constraint_name: "aliases_folded_plain" });
  }
  const rename = realm.command((tx) =>
    tx`update users set folded = 'mallory' where id = ${realm.admin.id}`.then(() => {})
  );
  await rejects(rename, { constraint_name: "users_folded_plain" });
});

test("a fill character, a tag or a blank that resembles others is no part of a name", async (realm) => {
  const { account } = await realm.currency("1");
  const unseen = [
    "\u3164",
    "\ufe0f",
    "\u034f",
    "\u115f",
    "\u{e0061}",
    "\u{e0100}",
    "\u2800",
    "\u0007",
  ];
  const taken = async (path: string, body: Record<string, unknown>) => {
    const { status, body: { code } } = await realm.admin.send("POST", path, body);
    return status === 201 ? "taken" : code;
  };
  const user = (username: string) => taken("/v1/users", { username, password: PASSWORD });
  for (const name of unseen.map((sign) => `al${sign}ice`)) {
    equal(await taken("/v1/aliases", { alias: name, type: "account", account }), "request.invalid");
    equal(await user(name), "request.invalid", JSON.stringify(name));
  }
  for (const name of ["alice ", " alice", "al  ice", "al\u00a0ice", "al\u3000ice", "al\tice"]) {
    equal(await user(name), "request.invalid", JSON.stringify(name));
  }
  const made = await realm.operator("POST", "/v1/realms", {
    name: "x",
    admin: { email: "a@b.example", username: "al\u200bice", password: PASSWORD },
  });
  deepEqual([made.status, made.body.code], [400, "request.invalid"]);
  const scripts = [
    "Al Ice",
    "\u0639\u0644\u064a",
    "\u0930\u093e\u092e",
    "\uae40\ucca0\uc218",
    "\u5c71\u7530 \u592a\u90ce",
  ];
  for (const name of scripts) equal(await user(name), "taken", name);
});

test("Persian and Indic names have the joiners that they are written with, and no two names differ by them alone", async (realm) => {
  const { account } = await realm.currency("1");
  const taken = async (path: string, body: Record<string, unknown>) => {
    const { status, body: { code } } = await realm.admin.send("POST", path, body);
    return status === 201 ? "taken" : code;
  };
  const alias = (name: string) => taken("/v1/aliases", { alias: name, type: "account", account });
  const user = (username: string) => taken("/v1/users", { username, password: PASSWORD });
  const persian = "\u0646\u0627\u0645\u0647\u200c\u0627\u06cc"; // after a letter that joins, before one that does
  const indic = "\u0915\u094d\u200d\u0937"; // after a virama
  const apart = "\u0915\u094d\u200c\u0937";
  deepEqual([await user(`Ali ${persian}`), await alias(persian)], ["taken", "taken"]);
  deepEqual([await user(indic), await alias(indic)], ["taken", "taken"]);
  const plain = (name: string) => name.replaceAll(/[\u200c\u200d]/g, "");
  for (const name of [persian, plain(persian), apart, plain(indic), indic]) {
    equal(await alias(name), "alias.taken", JSON.stringify(name));
  }
  for (const name of [`Ali ${plain(persian)}`, apart, plain(indic)]) {
    equal(await user(name), "username.taken", JSON.stringify(name));
    const renamed = await realm.admin.send("PATCH", `/v1/users/${realm.admin.id}`, {
      username: name,
    });
    deepEqual([renamed.status, renamed.body.code], [409, "username.taken"]);
  }
  for (
    const name of [
      ...["al\u200cice", "al\u200dice", "\u200cAli", "Ali\u200c", "\u0915\u200d\u0937"],
      ...["\u062f\u200c\u0627", "\u0646\u0627\u0645\u0647\u200c", "a\u200c\u0627"],
    ]
  ) {
    deepEqual([await alias(name), await user(name)], ["request.invalid", "request.invalid"], name);
  }
});

Deno.test("the database takes no name with invisible characters, in no table of names", async () => {
  await using realm = await testRealm();
  const { account } = await realm.currency("1");
  await realm.admin.send("POST", "/v1/aliases", { alias: "alice", type: "account", account });
  equal((await realm.admin.send("POST", "/v1/keys", { name: "machine" })).status, 201);
  const tables: [table: string, column: string][] = [
    ["users", "username"],
    ["aliases", "alias"],
    ["api_keys", "name"],
    ["platform.realms", "name"],
  ];
  const names = [
    ...["al\u200bice", "\u202ealice", "ale\u0301", "al\u3164ice", "al\ufe0fice", "al\u{e0061}ice"],
    ...[
      "al\u200cice",
      "\u200dalice",
      "al\u2800ice",
      "al\tice",
      "al\u00a0ice",
      " al",
      "al ",
      "a  l",
    ],
    ...["al\u{1d173}ice", "al\u00adice", "al\u180eice", "al\ufffbice", "al\u0085ice"],
  ];
  for (const [table, column] of tables) {
    const folded = table === "users" || table === "aliases"
      ? ", folded = lower(translate($1, U&'\\200c\\200d', ''))"
      : "";
    const write = (name: string) =>
      rowsOf(
        realm,
        `update ${table} set ${column} = $1${folded} where ${
          table === "platform.realms" ? `id = '${realm.id}'` : "true"
        }`,
        [name],
      );
    for (const name of names) {
      await rejects(write(name), new RegExp(`${column}_plain`), `${table} ${JSON.stringify(name)}`);
    }
  }
  for (const [path, body] of [["/v1/keys", { name: "al\u200bice" }]] as const) {
    equal((await realm.admin.send("POST", path, body)).status, 400, path);
  }
  equal(
    (await realm.operator("PATCH", `/v1/realms/${realm.id}`, { name: "al\u200bice" })).status,
    400,
  );
});

Deno.test("the rule of names is one function in both sequences of migrations, the same, and needs no search path as a restore has none", async () => {
  await using realm = await testRealm();
  const { schema } = locationOf(realm.made.realm);
  const rules = await rowsOf<{ place: string; checks: number; body: string }>(
    realm,
    `select n.nspname as place, pg_get_function_sqlbody(p.oid) as body, (
        select count(*)::integer from pg_depend d join pg_constraint c on c.oid = d.objid
        where d.classid = 'pg_constraint'::regclass and d.refobjid = p.oid) as checks
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where p.proname = 'is_plain' and n.nspname = any ($1::text::text[]) order by n.nspname`,
    [`{platform,${schema}}`],
  );
  deepEqual(rules.map(({ place, checks }) => [place, checks]), [["platform", 1], [schema, 3]]);
  equal(rules[0].body, rules[1].body);
  await realm.database.builder.sql.begin(async (tx) => {
    await tx.unsafe("set local search_path to ''");
    await tx.unsafe(`update "${schema}".users set username = 'plain', folded = 'plain'`);
  });
  const hidden = realm.database.builder.sql.begin(async (tx) => {
    await tx.unsafe("set local search_path to ''");
    await tx.unsafe(`update "${schema}".users set username = U&'al\\200bice', folded = 'x'`);
  });
  await rejects(async () => await hidden, /users_username_plain/);
});
