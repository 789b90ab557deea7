import { deepEqual, equal, notEqual } from "node:assert/strict";
import { newId } from "../../domain/ids.ts";
import { type TransactionFields, viewTransaction } from "../../domain/ledger/posting.ts";
import { printTransaction } from "../../domain/ledger/transaction_json.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("transactions in one realm");

test("POST /v1/transactions moves value exactly and answers with both balances", async (realm) => {
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const { status, body, text } = await realm.admin.send(
    "POST",
    "/v1/transactions",
    `{"source":{"account":"${account}"},"destination":{"account":"${other}"},` +
      `"value":1.000000000000000001,"seal":{"note":1.10}}`,
  );
  equal(status, 201);
  equal(body.amount, "1.000000000000000001");
  deepEqual(body.balances, {
    source: { total: "998.999999999999999999", available: "998.999999999999999999" },
    destination: { total: "1.000000000000000001", available: "1.000000000000000001" },
  });
  equal(text.includes('"seal":{"note":1.10}'), true);
  deepEqual(await realm.balance(other), {
    total: "1.000000000000000001",
    available: "1.000000000000000001",
  });
});

test("POST /v1/transactions repeats its answer byte for byte under an idempotency key", async (realm) => {
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "1", data: { a: 1 } };
  const key = { "idempotency-key": "one" };
  const first = await realm.admin.send("POST", "/v1/transactions", move, key);
  const second = await realm.admin.send("POST", "/v1/transactions", move, key);
  equal(first.status, 201);
  equal(second.status, 201);
  equal(second.text, first.text);
  equal(first.headers.get("idempotency-replayed"), null);
  equal(second.headers.get("idempotency-replayed"), "true");
  notEqual(second.headers.get("x-request-id"), first.headers.get("x-request-id"));
  deepEqual(await realm.balance(account), { total: "9", available: "9" });
  const reused = await realm.admin.send("POST", "/v1/transactions", { ...move, value: "2" }, key);
  equal(reused.status, 422);
  equal(reused.body.code, "idempotency.key_reused");
});

test("POST /v1/transactions keeps a refusal under its key", async (realm) => {
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const move = { source: { account: other }, destination: { account }, value: "1" };
  const key = { "idempotency-key": "refused" };
  const first = await realm.admin.send("POST", "/v1/transactions", move, key);
  equal(first.status, 409);
  equal(first.body.code, "balance.insufficient");
  const back = { source: { account }, destination: { account: other }, value: "5" };
  equal((await realm.admin.send("POST", "/v1/transactions", back)).status, 201);
  const second = await realm.admin.send("POST", "/v1/transactions", move, key);
  equal(second.status, 409);
  equal(second.text, first.text);
  deepEqual(await realm.balance(other), { total: "5", available: "5" });
});

test("POST /v1/transactions refuses amounts that are none, and changes nothing", async (realm) => {
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  for (
    const value of [
      "0",
      "-1",
      '"-1"',
      "1e5",
      '"1e5"',
      '"NaN"',
      '""',
      "1.0000000000000000001",
      "null",
      "true",
      "[]",
      '"01"',
      '" 1"',
      '"1."',
      '".5"',
    ]
  ) {
    const text = `{"source":{"account":"${account}"},"destination":{"account":"${other}"},` +
      `"value":${value}}`;
    const { status, body } = await realm.admin.send("POST", "/v1/transactions", text);
    equal(status, 400, value);
    equal(body.code, "request.invalid", value);
    equal(body.errors[0].path, "/value", value);
  }
  deepEqual(await realm.balance(account), { total: "10", available: "10" });
});

test("POST /v1/transactions lets nobody move value out of another's account", async (realm) => {
  const { name, account } = await realm.currency("10");
  const own = await realm.user();
  const reader = await realm.user({ scope: "realm" });
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const mine = await realm.account({ asset: name, by: own });
  const move = { source: { account }, destination: { account: mine }, value: "1" };
  const hidden = await own.send("POST", "/v1/transactions", move);
  deepEqual([hidden.status, hidden.body.code], [404, "account.not_found"]);
  // Not a word tells an account that one may not see from one that there is not.
  const none = { ...move, source: { account: newId(1) } };
  const unknown = await own.send("POST", "/v1/transactions", none);
  deepEqual([unknown.status, unknown.body.detail], [hidden.status, hidden.body.detail]);
  const seen = await reader.send("POST", "/v1/transactions", move);
  deepEqual([seen.status, seen.body.code], [403, "permission.owner"]);
  const managed = await manager.send("POST", "/v1/transactions", move);
  equal(managed.status, 201);
  const back = { source: { account: mine }, destination: { account }, value: "1" };
  const returned = await own.send("POST", "/v1/transactions", back);
  equal(returned.status, 201);
  deepEqual(returned.body.balances, {
    source: { total: "0", available: "0" },
    destination: null,
  });
});

test("a source that the sender may not see is answered as one that does not exist, whatever the destination", async (realm) => {
  const { name } = await realm.currency("10");
  const hidden = await realm.account({ asset: name });
  const user = await realm.user();
  const destinations = [
    { account: await realm.account({ asset: name, by: user }) },
    ...[{ account: newId(1) }, { alias: "nobody-has-it" }, {
      address: "1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
    }],
  ];
  for (const destination of destinations) {
    const answers = [];
    for (const account of [hidden, newId(1)]) {
      const move = { source: { account }, destination, value: "1" };
      const one = await user.send("POST", "/v1/transactions", move);
      const batch = { atomic: false, transactions: [move] };
      const { body } = await user.send("POST", "/v1/transactions/batch", batch);
      const [many] = body.results;
      answers.push([one.body, many].map(({ status, code, detail }) => ({ status, code, detail })));
    }
    deepEqual(answers[0], answers[1], JSON.stringify(destination));
    equal(answers[0][0].code, "account.not_found");
  }
});

test("POST /v1/transactions refuses system accounts, other assets and itself", async (realm) => {
  const a = await realm.currency("10");
  const b = await realm.currency("10");
  const [world] = await realm.command((tx) =>
    tx<{ id: string }[]>`select id from accounts where system = 'world' and asset = ${a.name}`
  );
  const send = async (source: string, destination: string) => {
    const move = { source: { account: source }, destination: { account: destination }, value: "1" };
    const { status, body } = await realm.admin.send("POST", "/v1/transactions", move);
    return [status, body.code];
  };
  deepEqual(await send(world.id, a.account), [404, "account.not_found"]);
  deepEqual(await send(a.account, world.id), [404, "account.not_found"]);
  deepEqual(await send(a.account, b.account), [409, "account.asset_mismatch"]);
  deepEqual(await send(a.account, a.account), [400, "request.invalid"]);
  deepEqual(await send(a.account, "not-an-id"), [404, "account.not_found"]);
});

test("a crowd of transfers on one account keeps every unit", async (realm) => {
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const answers = await Promise.all(
    Array.from({ length: 150 }, () =>
      realm.admin.send("POST", "/v1/transactions", {
        source: { account },
        destination: { account: other },
        value: "1",
      })),
  );
  equal(answers.filter((answer) => answer.status === 201).length, 100);
  equal(answers.filter((answer) => answer.body.code === "balance.insufficient").length, 50);
  deepEqual(await realm.balance(account), { total: "0", available: "0" });
  deepEqual(await realm.balance(other), { total: "100", available: "100" });
});

test("an alias of an identity stands for its default account of the asset", async (realm) => {
  const { name, account } = await realm.currency("10");
  const receiver = await realm.user();
  const send = async (body: Record<string, unknown>) => {
    const { status, body: answer } = await realm.admin.send("POST", "/v1/transactions", body);
    return [status, answer.code ?? answer.destination.account];
  };
  const alias = { type: "identity", identity: { id: receiver.identity }, alias: "@receiver" };
  await realm.command((tx) =>
    tx`insert into aliases (id, alias, folded, type, identity, owner, created_at)
      values (gen_random_uuid(), ${alias.alias}, ${alias.alias}, 'identity', ${receiver.identity},
        ${receiver.id}, now())`
  );
  const move = { source: { account }, destination: { alias: "@receiver" }, value: "1" };
  deepEqual(await send(move), [404, "account.not_found"]);
  const made = await receiver.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: name,
    default: true,
  });
  equal(made.status, 201);
  await realm.drain();
  deepEqual(await send(move), [201, made.body.id]);
  const nobody = { alias: "@nobody" };
  for (const side of ["source", "destination"]) {
    const input = { ...move, [side]: nobody };
    const { status, body } = await realm.admin.send("POST", "/v1/transactions", input);
    deepEqual([status, body.code, body.detail.includes(side)], [404, "alias.not_found", true]);
  }
  const back = { source: { alias: "@receiver" }, destination: { account }, value: "1" };
  equal((await receiver.send("POST", "/v1/transactions", back)).status, 201);
  deepEqual(await realm.balance(account), { total: "10", available: "10" });
});

test("a transfer that names no account is refused under its key, and stays refused", async (realm) => {
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { alias: "@later" }, value: "1" };
  const key = { "idempotency-key": "later" };
  const first = await realm.admin.send("POST", "/v1/transactions", move, key);
  deepEqual([first.status, first.body.code], [404, "alias.not_found"]);
  const add = (id: string) =>
    realm.command((tx) =>
      tx`insert into aliases (id, alias, folded, type, account, owner, created_at)
        values (gen_random_uuid(), '@later', '@later', 'account', ${id}, ${realm.admin.id}, now())`
    );
  await add(other);
  const again = await realm.admin.send("POST", "/v1/transactions", move, key);
  deepEqual([again.status, again.text], [404, first.text]);
  const fresh = { "idempotency-key": "fresh" };
  const posted = await realm.admin.send("POST", "/v1/transactions", move, fresh);
  equal(posted.status, 201);
  await realm.command((tx) => tx`update aliases set deleted_at = now() where alias = '@later'`);
  const replayed = await realm.admin.send("POST", "/v1/transactions", move, fresh);
  deepEqual([replayed.status, replayed.text], [201, posted.text]);
});

Deno.test("the printed answer of a transfer is the text of its view", () => {
  const facts: TransactionFields = {
    id: "01a1fbd0-c1ca-7000-8002-15964060c02b",
    seq: "12",
    hash: "ab",
    type: "transfer",
    source: "s",
    source_owner: "me",
    source_holder: null,
    destination: "d",
    destination_owner: "you",
    destination_holder: "h",
    asset: "BTC",
    amount: "1.50",
    fiat_currency: "USD",
    fiat_rate: "2.0",
    fiat_value: "3.00",
    seal: { 'quo"te': "\\" },
    data: { deep: [1, { a: null }] },
    reference: 'a"b',
    address_data: { to: "x" },
    reverts: "r",
    source_total: "10.10",
    source_blocked: "0.1",
    destination_total: "5",
    destination_blocked: null,
    owner: "me",
    created_at: 5,
    updated_at: null,
  };
  for (const sees of [() => true, () => false, (owner: string | null) => owner === "me"]) {
    equal(printTransaction(facts, sees), JSON.stringify(viewTransaction(facts, sees)));
    const bare = {
      ...facts,
      seq: null,
      hash: null,
      fiat_currency: null,
      seal: null,
      data: null,
      reference: null,
      address_data: null,
      reverts: null,
      owner: null,
    };
    equal(printTransaction(bare, sees), JSON.stringify(viewTransaction(bare, sees)));
  }
});

test("a condition on a destination that the actor may not read is refused, also where it is only tried", async (realm) => {
  const { name, account } = await realm.currency("1000");
  const [alice, bob, reader] = [
    await realm.user(),
    await realm.user(),
    await realm.user({ role: "user", scope: "realm" }),
  ];
  const open = async (user: typeof bob, alias: string) => {
    const body = { type: "virtual", asset: name, owner: user.id, holder: user.identity, alias };
    const made = await realm.admin.send("POST", "/v1/accounts", body);
    await realm.drain();
    const destination = { account: made.body.id };
    const gift = { source: { account }, destination, value: "12.5" };
    equal((await realm.admin.send("POST", "/v1/transactions", gift)).status, 201);
    return made.body.id as string;
  };
  const [mine, theirs, read] = [
    await open(alice, "alice"),
    await open(bob, "bob"),
    await open(reader, "reader"),
  ];
  const ask = (source: string, destination: unknown, destination_total_lte: string) => {
    const conditions = { destination_total_lte };
    return { source: { account: source }, destination, value: "0.1", conditions };
  };
  const refused = [403, "permission.owner"];
  for (const destination of [{ account: theirs }, { alias: "bob" }]) {
    for (const limit of ["1", "100"]) {
      const body = ask(mine, destination, limit);
      for (const path of ["/v1/transactions", "/v1/transactions?dry_run=true"]) {
        const answer = await alice.send("POST", path, body);
        deepEqual([answer.status, answer.body.code], refused, `${path} ${limit}`);
      }
      const key = { "idempotency-key": `${JSON.stringify(destination)}${limit}` };
      for (const again of [undefined, "true"]) {
        const kept = await alice.send("POST", "/v1/transactions", body, key);
        deepEqual([kept.status, kept.body.code], refused);
        equal(kept.headers.get("idempotency-replayed") ?? undefined, again);
      }
      for (const query of ["", "?dry_run=true"]) {
        const path = `/v1/transactions/batch${query}`;
        const all = await alice.send("POST", path, { atomic: true, transactions: [body] });
        deepEqual([all.status, all.body.code], refused);
        const each = await alice.send("POST", path, { atomic: false, transactions: [body] });
        deepEqual([each.status, each.body.results[0].code], [200, "permission.owner"]);
      }
    }
  }
  // An account that is not seen is not told of by the refusal.
  const unseen = await alice.send(
    "POST",
    "/v1/transactions",
    ask(theirs, { alias: "reader" }, "1"),
  );
  deepEqual([unseen.status, unseen.body.code], [404, "account.not_found"]);
  // A user who may read the account may use the condition.
  const lower = await reader.send("POST", "/v1/transactions", ask(read, { alias: "bob" }, "12"));
  equal(lower.body.code, "condition.failed");
  const higher = await reader.send("POST", "/v1/transactions", ask(read, { alias: "bob" }, "13"));
  equal(higher.status, 201, higher.text);
});
