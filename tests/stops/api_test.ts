import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { type Answer, rowsOf, type Send, type TestRealm, testRealm } from "../support/realm.ts";
import { listen } from "../support/listening.ts";
import { sharing } from "../support/sharing.ts";

const STOPPED = [409, "stop.active"];

function told({ status, body }: Answer) {
  return [status, body.code];
}

async function stop(realm: TestRealm, body: Record<string, unknown>): Promise<string> {
  const made = await realm.admin.send("POST", "/v1/stops", { reason: "incident", ...body });
  equal(made.status, 201, made.text);
  return made.body.id;
}

async function lift(realm: TestRealm, id: string): Promise<void> {
  const lifted = await realm.admin.send("DELETE", `/v1/stops/${id}`);
  equal(lifted.status, 200, lifted.text);
  deepEqual([lifted.body.active, lifted.body.lifted_by], [false, realm.admin.id]);
}

/** A currency with value in two accounts, a transfer, a block, and every way to post something. */
async function fixture(realm: TestRealm) {
  const made = await realm.admin.send("POST", "/v1/currencies", { name: "GOLD", supply: "1000" });
  const { id: currency, account } = made.body;
  const other = await realm.account({ asset: "GOLD", from: account, total: "100" });
  const [{ id: sent }] = (await realm.admin.send(
    "GET",
    '/v1/transactions/all?query={"type":"transfer"}',
  )).body;
  const alias = { alias: "treasury", type: "account", account };
  equal((await realm.admin.send("POST", "/v1/aliases", alias)).status, 201);
  const block = await realm.admin.send("POST", `/v1/accounts/${account}/blocks`, { amount: "5" });
  const move = {
    source: { account },
    destination: { account: other },
    value: "1",
  };
  const capture = `/v1/accounts/${account}/blocks/${block.body.id}/capture`;
  const ways: Record<string, (send: Send) => Promise<Answer>> = {
    transfer: (send) => send("POST", "/v1/transactions", move),
    "transfer under a key": (send) =>
      send("POST", "/v1/transactions", move, { "idempotency-key": crypto.randomUUID() }),
    "transfer by alias, with a reference and a condition": (send) =>
      send("POST", "/v1/transactions", {
        ...move,
        source: { alias: "treasury" },
        reference: crypto.randomUUID(),
        conditions: { source_available_gte: "1" },
      }),
    "transfer, tried": (send) => send("POST", "/v1/transactions?dry_run=true", move),
    "atomic batch": (send) =>
      send("POST", "/v1/transactions/batch", { atomic: true, transactions: [move, move] }),
    capture: (send) => send("POST", `${capture}?dry_run=true`, { destination: { account: other } }),
    issue: (send) => send("POST", `/v1/currencies/${currency}/issue`, { amount: "1" }),
    destroy: (send) => send("POST", `/v1/currencies/${currency}/destroy`, { amount: "1" }),
    revert: (send) => send("POST", `/v1/transactions/${sent}/revert?dry_run=true`, {}),
    "currency with a supply": (send) =>
      send("POST", "/v1/currencies?dry_run=true", { name: "SILVER", supply: "1" }),
  };
  return { currency, account, other, move, ways };
}

const test = sharing("stops in one realm");

test("a stop of moves refuses every posting that users ask for, at once, in every process", async (realm) => {
  await using second = realm.another();
  const { ways, move } = await fixture(realm);
  const there = second.send(realm.admin.key);
  for (const [name, post] of Object.entries(ways)) {
    for (const send of [realm.admin.send, there]) ok((await post(send)).status < 300, name);
  }
  const unknown = await realm.admin.send("DELETE", `/v1/stops/${crypto.randomUUID()}`);
  deepEqual([unknown.status, unknown.body.code], [404, "stop.not_found"]);
  const id = await stop(realm, { what: "moves" });
  const before = (await realm.admin.send("GET", "/v1/transactions/count")).body;
  for (const [name, post] of Object.entries(ways)) {
    for (const send of [there, realm.admin.send]) deepEqual(told(await post(send)), STOPPED, name);
  }
  const batch = await there("POST", "/v1/transactions/batch", {
    atomic: false,
    transactions: [move, move],
  });
  deepEqual(batch.body.results.map((one: { code: string }) => one.code), [
    "stop.active",
    "stop.active",
  ]);
  equal((await realm.admin.send("GET", "/v1/transactions/count")).body, before);
  await lift(realm, id);
  for (const [name, post] of Object.entries(ways)) ok((await post(there)).status < 300, name);
});

test("a stop of moves holds for its own targets, and for nothing else", async (realm) => {
  const { name, account } = await realm.currency("1000");
  const owner = await realm.user();
  const own = await realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: name,
    owner: owner.id,
    holder: owner.identity,
  });
  const theirs: string = own.body.id;
  await realm.drain();
  const third = await realm.account({ asset: name });
  const silver = await realm.currency("1000");
  const spare = await realm.account({ asset: silver.name });
  const pay = async (source: string, destination: string, by = realm.admin) =>
    told(
      await by.send("POST", "/v1/transactions", {
        source: { account: source },
        destination: { account: destination },
        value: "1",
      }),
    )[1] ?? "paid";
  equal(await pay(account, theirs), "paid");
  const out = () => pay(account, third);
  const other = () => pay(silver.account, spare);
  const into = () => pay(account, theirs);
  const back = () => pay(theirs, account, owner);
  const cases: [Record<string, unknown>, string[]][] = [
    [{ asset: name }, ["stop.active", "paid", "stop.active", "stop.active"]],
    [{ asset: silver.name }, ["paid", "stop.active", "paid", "paid"]],
    [{ account: theirs }, ["paid", "paid", "stop.active", "stop.active"]],
    [{ user: owner.id }, ["paid", "paid", "paid", "stop.active"]],
    [{ destination: theirs }, ["paid", "paid", "stop.active", "paid"]],
    [{ asset: silver.name, account: theirs }, ["paid", "paid", "paid", "paid"]],
    [{ chain: "ETHEREUM" }, ["paid", "paid", "paid", "paid"]],
  ];
  for (const [narrow, expected] of cases) {
    const id = await stop(realm, { what: "moves", ...narrow });
    const found = [await out(), await other(), await into(), await back()];
    deepEqual(found, expected, JSON.stringify(narrow));
    await lift(realm, id);
  }
  const held = await stop(realm, { what: "moves", user: owner.id });
  equal(await pay(theirs, account), "stop.active", "whoever asks for it");
  await lift(realm, held);
  await stop(realm, { what: "signing" });
  deepEqual([await out(), await other(), await into(), await back()], Array(4).fill("paid"));
});

Deno.test("stops are set by managers of the realm and the operator, lifted by administrators, seen by all", async () => {
  await using realm = await testRealm();
  await listen(realm);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const user = await realm.user();
  const body = { what: "signing", reason: "a key may be lost" };
  for (const [role, scope] of [["user", "realm"], ["manage", "own"], ["admin", "own"]] as const) {
    const one = await realm.user({ role, scope });
    equal((await one.send("POST", "/v1/stops", body)).status, 403, `${role} ${scope}`);
  }
  const made = await manager.send("POST", "/v1/stops", body, { "idempotency-key": "once" });
  equal(made.status, 201, made.text);
  const { id } = made.body;
  const again = await manager.send("POST", "/v1/stops", body, { "idempotency-key": "once" });
  deepEqual([again.status, again.body], [201, made.body]);
  const { reason: _, ...seen } = made.body;
  deepEqual((await user.send("GET", "/v1/stops/all")).body, [seen]);
  deepEqual((await user.send("GET", `/v1/stops/${id}`)).body, seen);
  deepEqual((await user.send("GET", "/v1/stops")).body.rows, [seen]);
  equal((await user.send("GET", "/v1/stops/count")).body, 1);
  equal((await user.send("GET", '/v1/stops/all?query={"reason":"x"}')).status, 400);
  deepEqual((await realm.admin.send("GET", `/v1/stops/${id}`)).body, made.body);
  for (const one of [user, manager, await realm.user({ role: "admin" })]) {
    equal((await one.send("DELETE", `/v1/stops/${id}`)).status, 403);
  }
  await lift(realm, id);
  await lift(realm, id);
  const [{ n }] = await rowsOf<{ n: number }>(
    realm,
    "select count(*)::integer as n from events where type in ('stop.set', 'stop.lifted')",
  );
  equal(n, 2);
  const audit = (await realm.admin.send("GET", "/v1/audit")).text;
  ok(audit.includes("POST /v1/stops") && audit.includes("DELETE /v1/stops/{id}"), audit);
});

test("users of scope own see no stop of another user, another's account or a destination", async (realm) => {
  const { account: treasury } = await realm.currency("10");
  const [customer, other] = [await realm.user(), await realm.user()];
  const { name } = await realm.currency("10");
  const own = await realm.account({ asset: name, by: customer });
  const mine = [
    await stop(realm, { what: "moves", asset: name }),
    await stop(realm, { what: "signing", chain: "ETHEREUM" }),
    await stop(realm, { what: "moves", account: own }),
    await stop(realm, { what: "moves", user: customer.id, asset: name }),
  ];
  const others = [
    await stop(realm, { what: "moves", account: treasury }),
    await stop(realm, { what: "moves", user: other.id }),
    await stop(realm, { what: "signing", user: other.id, account: own }),
    await stop(realm, { what: "moves", destination: treasury }),
    await stop(realm, { what: "moves", destination: "0x00000000000000000000000000000000DeaDBeef" }),
  ];
  const reader = await realm.user({ role: "user", scope: "realm" });
  const query = encodeURIComponent(JSON.stringify({ id: { $in: [...mine, ...others] } }));
  const listed = async ({ send }: { send: Send }) => {
    const { body } = await send("GET", `/v1/stops/all?query=${query}`);
    equal((await send("GET", `/v1/stops/count?query=${query}`)).body, body.length);
    equal((await send("GET", `/v1/stops?query=${query}`)).body.total, body.length);
    return body.map(({ id }: { id: string }) => id);
  };
  deepEqual(await listed(customer), mine);
  deepEqual(await listed(other), [mine[0], mine[1], others[1]]);
  deepEqual(await listed(reader), [...mine, ...others]);
  for (const id of others) {
    equal((await customer.send("GET", `/v1/stops/${id}`)).body.code, "stop.not_found");
    equal((await reader.send("GET", `/v1/stops/${id}`)).status, 200);
  }
  const searched = await customer.send("GET", "/v1/stops/all?search=deadbeef");
  deepEqual(searched.body, []);
  const sorted = await customer.send("GET", `/v1/stops/all?after=${others[4]}&sort=destination`);
  equal(sorted.status, 400, "an anchor that the caller does not see");
  for (const id of [...mine, ...others]) await lift(realm, id);
});

test("the operator stops a realm that it names, and no other", async (realm) => {
  const neighbour = await realm.neighbour();
  await using _ = neighbour;
  const body = { what: "moves", reason: "incident" };
  equal((await realm.operator("POST", "/v1/stops", body)).body.errors[0].path, "/realm");
  const unknown = { ...body, realm: crypto.randomUUID() };
  equal((await realm.operator("POST", "/v1/stops", unknown)).body.code, "realm.not_found");
  const foreign = { ...body, realm: neighbour.id };
  equal((await realm.admin.send("POST", "/v1/stops", foreign)).body.code, "realm.not_found");
  const made = await realm.operator("POST", "/v1/stops", { ...body, realm: realm.id });
  deepEqual([made.status, made.body.owner, made.body.active], [201, null, true]);
  const { name } = await neighbour.currency("1");
  ok(name);
  equal(
    (await realm.admin.send("POST", "/v1/currencies", { name: "A1", supply: "1" })).status,
    409,
  );
  const path = `/v1/stops/${made.body.id}`;
  for (const query of ["", `?realm=${crypto.randomUUID()}`]) {
    const { body: { errors: [fault] } } = await realm.operator("DELETE", `${path}${query}`);
    deepEqual([fault.path, fault.in], ["/realm", "query"]);
  }
  equal((await realm.operator("DELETE", `${path}?realm=${neighbour.id}`)).status, 404);
  equal((await neighbour.admin.send("DELETE", path)).status, 404);
  equal((await realm.operator("DELETE", `${path}?realm=${realm.id}`)).status, 200);
  equal(
    (await realm.admin.send("POST", "/v1/currencies", { name: "A1", supply: "1" })).status,
    201,
  );
});

test("a stop of nothing that exists is refused, and the record of a stop cannot be changed", async (realm) => {
  const refused: [Record<string, unknown>, string][] = [
    [{ asset: "NOTHING" }, "asset.unknown"],
    [{ account: "nowhere" }, "account.not_found"],
    [{ account: crypto.randomUUID() }, "account.not_found"],
    [{ user: crypto.randomUUID() }, "user.not_found"],
    [{ destination: crypto.randomUUID() }, "account.not_found"],
    [{ destination: "0x00000000000000000000000000000000DeaDBeeF" }, "address.invalid"],
    [{ destination: "nobody" }, "address.invalid"],
    [{ chain: "ETHER" }, "request.invalid"],
    [{ what: "all" }, "request.invalid"],
    [{ reason: "" }, "request.invalid"],
  ];
  for (const [more, code] of refused) {
    const body = { what: "moves", reason: "incident", ...more };
    const refusal = (await realm.admin.send("POST", "/v1/stops", body)).body;
    if (code.endsWith("not_found")) {
      equal(refusal.errors[0].path, `/${Object.keys(more)[0]}`);
    }
    equal(
      refusal.code,
      code,
      JSON.stringify(more),
    );
  }
  const id = await stop(realm, { what: "moves" });
  for (
    const statement of [
      "delete from stops",
      "update stops set reason = 'other' where id = $1",
      "update stops set what = 'signing' where id = $1",
    ]
  ) {
    const values = statement.includes("$1") ? [id] : [];
    await rejects(realm.command((tx) => tx.unsafe(statement, values)), statement);
  }
  await lift(realm, id);
  const reopen = "update stops set lifted_at = null, lifted_by = null where id = $1";
  await rejects(realm.command((tx) => tx.unsafe(reopen, [id])));
});

/** An account of a user's own with 100 in it, and one to send to. */
async function owned(realm: TestRealm) {
  const user = await realm.user();
  const { name, account } = await realm.currency("1000");
  const body = { type: "virtual", asset: name, owner: user.id, holder: user.identity };
  const { id } = (await realm.admin.send("POST", "/v1/accounts", body)).body;
  await realm.drain();
  const move = { source: { account }, destination: { account: id }, value: "100" };
  equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  const act = async (what: string, by = user) =>
    told(await by.send("POST", `/v1/accounts/${id}/${what}`));
  return { user, name, id, other: account, act };
}

Deno.test("an account that a manager, an administrator or the service froze is not unfrozen by its owner", async () => {
  await using realm = await testRealm();
  const { user, id, other, act } = await owned(realm);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const own = await realm.user({ role: "admin", scope: "own" });
  const out = async () => {
    const ways = [
      user.send("POST", "/v1/transactions", {
        source: { account: id },
        destination: { account: other },
        value: "1",
      }),
      user.send("POST", "/v1/transactions/batch", {
        atomic: true,
        transactions: [{ source: { alias: "mine" }, destination: { account: other }, value: "1" }],
      }),
      user.send("POST", `/v1/accounts/${id}/blocks`, { amount: "1" }),
    ];
    return (await Promise.all(ways)).map(({ body }) => body.code);
  };
  const alias = { alias: "mine", type: "account", account: id };
  const named = await user.send("POST", "/v1/aliases", alias);
  equal(named.status, 201, named.text);
  for (const by of [manager, realm.admin]) {
    deepEqual(await act("freeze", by), [200, undefined]);
    for (const way of ["unfreeze", "freeze", "activate", "undelete"]) {
      const [status, code] = await act(way);
      if (way === "unfreeze") deepEqual([status, code], [403, "permission.owner"]);
    }
    equal((await user.send("DELETE", `/v1/accounts/${id}`)).status >= 400, true);
    deepEqual(await act("unfreeze"), [403, "permission.owner"]);
    deepEqual(await act("unfreeze", own), [404, "account.not_found"]);
    deepEqual(await out(), Array(3).fill("account.frozen"));
    deepEqual(await act("unfreeze", by === manager ? realm.admin : manager), [200, undefined]);
  }
  deepEqual(await act("freeze"), [200, undefined]);
  deepEqual(await act("unfreeze"), [200, undefined]);
  deepEqual(await act("freeze"), [200, undefined]);
  deepEqual(await act("freeze", manager), [200, undefined], "taken over from the owner");
  deepEqual(await act("unfreeze"), [403, "permission.owner"]);
  deepEqual(await act("unfreeze", manager), [200, undefined]);
  const service = "update accounts set frozen = true, frozen_by_realm = true where id = $1";
  await rowsOf(realm, service, [id]);
  deepEqual(await act("unfreeze"), [403, "permission.owner"]);
  deepEqual(await act("unfreeze", realm.admin), [200, undefined]);
});

test("a block is released and captured by its opener, or by a user who may write the whole realm", async (realm) => {
  const { user, id, other, act } = await owned(realm);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const at = `/v1/accounts/${id}/blocks`;
  const hold = async (by: typeof user) => (await by.send("POST", at, { amount: "10" })).body.id;
  const capture = async (block: string, by: typeof user) =>
    told(
      await by.send("POST", `${at}/${block}/capture`, { destination: { account: other } }),
    );
  const release = async (block: string, by: typeof user) =>
    told(await by.send("DELETE", `${at}/${block}`));
  const legal = await hold(manager);
  deepEqual(await release(legal, user), [403, "permission.owner"]);
  deepEqual(await capture(legal, user), [403, "permission.owner"]);
  const tried = `${at}/${legal}/capture?dry_run=true`;
  const dryRun = await user.send("POST", tried, { destination: { account: other } });
  deepEqual(told(dryRun), [403, "permission.owner"]);
  deepEqual((await realm.balance(id)).available, "90");
  const mine = await hold(user);
  deepEqual(await act("freeze", manager), [200, undefined]);
  for (const by of [user, manager]) deepEqual(await capture(mine, by), [409, "account.frozen"]);
  deepEqual(await act("unfreeze", manager), [200, undefined]);
  deepEqual(await capture(mine, user), [201, undefined]);
  deepEqual(await release(await hold(user), manager), [200, undefined]);
  deepEqual(await release(legal, realm.admin), [200, undefined]);
});
