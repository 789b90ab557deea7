import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { allRoutes } from "../../routes/http/route_list.ts";
import { takesMatch } from "../../routes/http/preconditions.ts";
import { type Answer, type Send } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const codeOf = ({ status, body }: Answer) => [status, body.code];
const etagOf = ({ headers }: Answer) => headers.get("etag")!;
const given = (etag: string) => ({ "if-match": etag });

const test = sharing("versions in one realm");

test("of two hundred writers at once that read the same version, exactly one changes it", async (realm) => {
  const { body: user } = await realm.admin.send("POST", "/v1/identities", { data: { n: 0 } });
  const path = `/v1/identities/${user.id}`;
  const etag = etagOf(await realm.admin.send("GET", path));
  const answers = await Promise.all(
    Array.from(
      { length: 200 },
      (_, i) => realm.admin.send("PATCH", path, { data: { n: i + 1 } }, given(etag)),
    ),
  );
  const done = answers.flatMap(({ status }, i) => status === 200 ? [i + 1] : []);
  equal(done.length, 1);
  for (const answer of answers) {
    if (answer.status !== 200) deepEqual(codeOf(answer), [409, "version.conflict"]);
  }
  equal((await realm.admin.send("GET", path)).body.data.n, done[0]);
});

test("writers that read, add and write with If-Match lose no update", async (realm) => {
  await using other = realm.another();
  const { name, account } = await realm.currency("10");
  const to = await realm.account({ asset: name });
  await realm.admin.send("PATCH", `/v1/accounts/${account}`, { data: { n: 0 } });
  const writer = async (send: Send) => {
    for (let added = 0; added < 5;) {
      const read = await send("GET", `/v1/accounts/${account}`);
      const data = { n: read.body.data.n + 1 };
      const wrote = await send("PATCH", `/v1/accounts/${account}`, { data }, given(etagOf(read)));
      if (wrote.status === 200) added++;
      else deepEqual(codeOf(wrote), [409, "version.conflict"]);
    }
  };
  const move = { source: { account }, destination: { account: to }, value: "0.1" };
  const mover = async () => {
    for (let i = 0; i < 10; i++) await realm.admin.send("POST", "/v1/transactions", move);
  };
  const senders = [realm.admin.send, other.send(realm.admin.key)];
  await Promise.all([...Array.from({ length: 6 }, (_, i) => writer(senders[i % 2])), mover()]);
  equal((await realm.admin.send("GET", `/v1/accounts/${account}`)).body.data.n, 30);
});

test("every entity that can be changed has a tag, and a stale one changes nothing", async (realm) => {
  const { admin } = realm;
  const make = async (path: string, body: unknown) => {
    const answer = await admin.send("POST", path, body);
    equal(answer.status, 201, answer.text);
    match(etagOf(answer), /^"[0-9a-f]{24}\.[0-9a-f]{16}"$/, path);
    return answer.body;
  };
  const user = await make("/v1/users", { username: "u", password: "correct horse battery" });
  const identity = await make("/v1/identities", {});
  const currency = await make("/v1/currencies", { name: "GOLD", supply: "5" });
  const account = await make("/v1/accounts", { type: "virtual", asset: "GOLD" });
  await realm.drain();
  const alias = await make("/v1/aliases", { type: "account", alias: "a", account: account.id });
  const key = await make("/v1/keys", { name: "k" });
  const move = { source: { account: currency.account }, destination: { account: account.id } };
  const moved = (await admin.send("POST", "/v1/transactions", { ...move, value: "1" })).body;
  const data = { data: { a: 1 } };
  for (
    const [path, method, body] of [
      [`/v1/users/${user.id}`, "PATCH", data],
      [`/v1/identities/${identity.id}`, "PATCH", data],
      [`/v1/accounts/${account.id}`, "PATCH", data],
      [`/v1/accounts/${account.id}`, "POST /freeze", undefined],
      [`/v1/accounts/${account.id}`, "POST /unfreeze", undefined],
      [`/v1/aliases/${alias.id}`, "PATCH", data],
      [`/v1/currencies/${currency.id}`, "PATCH", data],
      [`/v1/currencies/${currency.id}`, "POST /issue", { amount: "1" }],
      [`/v1/transactions/${moved.id}`, "PATCH", data],
      [`/v1/realms/${realm.id}`, "PATCH", { name: "new" }],
      [`/v1/keys/${key.id}`, "DELETE", undefined],
      [`/v1/identities/${identity.id}`, "DELETE", undefined],
    ] as const
  ) {
    const [verb, action = ""] = method.split(" ");
    const read = await admin.send("GET", path);
    const before = etagOf(read);
    const known = await admin.send("GET", path, undefined, { "if-none-match": before });
    deepEqual([known.status, known.text, etagOf(known)], [304, "", before], path);
    for (const wrong of ['"stale"', `W/${before}`, '"stale.x", "y"', before.replace(/\w/g, "f")]) {
      const refused = await admin.send(verb, path + action, body, given(wrong));
      deepEqual(codeOf(refused), [409, "version.conflict"], `${method} ${path} ${wrong}`);
    }
    deepEqual((await admin.send("GET", path)).body, read.body, "nothing has changed");
    const changed = await admin.send(verb, path + action, body, given(`"x", ${before}`));
    equal(changed.status, 200, changed.text);
    notEqual(etagOf(changed).split(".")[0], before.split(".")[0], `${method} ${path}`);
    const again = await admin.send(verb, path + action, body, given(before));
    ok([409, 404].includes(again.status), `${method} ${path}: ${again.status}`);
  }
  const restored = await admin.send("POST", `/v1/identities/${identity.id}/undelete`, undefined, {
    "if-match": "*",
  });
  equal(restored.status, 200, restored.text);
});

test("a tag is of the answer as it was asked for, and a balance that moves leaves the version", async (realm) => {
  const { name, account } = await realm.currency("10");
  const to = await realm.account({ asset: name });
  const path = `/v1/accounts/${account}`;
  const read = async (query: string, etag?: string) =>
    await realm.admin.send("GET", path + query, undefined, etag ? { "if-none-match": etag } : {});
  const queries = ["", "?fields=id,balance", "?populate=owner", "?fields=data"];
  const before = await Promise.all(queries.map((query) => read(query)));
  equal(new Set(before.map((answer) => etagOf(answer))).size, 4);
  const move = { source: { account }, destination: { account: to }, value: "1" };
  equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  await realm.admin.send("PATCH", `/v1/users/${realm.admin.id}`, { data: { a: 1 } });
  const after = await Promise.all(queries.map((query, i) => read(query, etagOf(before[i]))));
  deepEqual(
    after.map(({ status }) => status),
    [200, 200, 200, 304],
    "304 for what is the same alone",
  );
  const versions = [...before, ...after].map((answer) => etagOf(answer).split(".")[0]);
  equal(new Set(versions).size, 1);
  const changed = await realm.admin.send("PATCH", path, { data: {} }, given(etagOf(before[3])));
  equal(changed.status, 200);
});

test("If-Match is refused where it cannot be kept, and never left out in silence", async (realm) => {
  const { name, account } = await realm.currency("10");
  const to = await realm.account({ asset: name });
  const path = `/v1/accounts/${account}`;
  for (const wrong of ["stale", "", '"a" "b"', '"a', "W/*", '"a",', 'w/"a"']) {
    const answer = await realm.admin.send("PATCH", path, { data: {} }, given(wrong));
    deepEqual(codeOf(answer), [400, "request.invalid"], JSON.stringify(wrong));
    const [fault] = answer.body.errors;
    deepEqual([fault.path, fault.in], ["/if-match", "header"]);
  }
  const move = { source: { account }, destination: { account: to }, value: "1" };
  for (
    const [method, at, body] of [
      ["POST", "/v1/transactions", move],
      ["POST", "/v1/accounts", { type: "virtual", asset: name }],
      ["POST", `${path}/blocks`, { amount: "1" }],
      ["GET", path, undefined],
    ] as const
  ) {
    const answer = await realm.admin.send(method, at, body, given('"stale"'));
    deepEqual(codeOf(answer), [400, "request.invalid"], `${method} ${at}`);
  }
  equal((await realm.balance(account)).total, "10");
  const none = await realm.admin.send("PATCH", path, { data: {} }, { "if-none-match": "*" });
  deepEqual(codeOf(none), [400, "request.invalid"]);
  ok(allRoutes().filter(takesMatch).length >= 25, "routes whose entity has a version");
});

test("a version reveals no hidden entity, and a repeat is answered from its key", async (realm) => {
  const stranger = await realm.user();
  const { account } = await realm.currency("10");
  const path = `/v1/accounts/${account}`;
  const etag = etagOf(await realm.admin.send("GET", path));
  for (const tag of ['"stale"', etag, "*"]) {
    const refused = await stranger.send("PATCH", path, { data: {} }, given(tag));
    deepEqual(codeOf(refused), [404, "account.not_found"]);
  }
  const under = { ...given(etag), "idempotency-key": "k" };
  const first = await realm.admin.send("PATCH", path, { data: { a: 1 } }, under);
  const repeat = await realm.admin.send("PATCH", path, { data: { a: 1 } }, under);
  deepEqual([first.status, repeat.status, repeat.body], [200, 200, first.body]);
  equal(repeat.headers.get("idempotency-replayed"), "true");
  const conflict = { ...given(etag), "idempotency-key": "l" };
  for (let i = 0; i < 2; i++) {
    const refused = await realm.admin.send("PATCH", path, { data: { a: 2 } }, conflict);
    deepEqual(codeOf(refused), [409, "version.conflict"]);
  }
  deepEqual((await realm.admin.send("GET", path)).body.data, { a: 1 });
});
