import { deepEqual, equal, match, ok } from "node:assert/strict";
import { rich } from "../support/nodes/anvil.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type Send } from "../support/realm.ts";

const ETHER = 10n ** 18n;

async function explain(send: Send, asked: Record<string, string>) {
  const answer = await send("GET", `/v1/deposits/explain?${new URLSearchParams(asked)}`);
  equal(answer.status, 200, answer.text);
  return answer.body;
}

Deno.test("GET /v1/deposits/explain says why a payment was not credited, or as what it was", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  const at = { type: "virtual", asset: "ETH", testnet: true };
  const target = (await send("POST", "/v1/accounts", { ...at, ramp: ramp.id })).body.id;
  await realm.drain();
  const { address } = await fixture.address(target);
  await fixture.mine(2);
  const verdict = async (asked: Record<string, string>) => (await explain(send, asked)).verdict;
  equal(await verdict({ hash: `0x${"12".repeat(32)}` }), "not_seen");
  equal(await verdict({ hash: "nonsense" }), "not_seen");
  equal(await verdict({ address: OUTSIDE }), "no_such_address");
  equal(await verdict({ address }), "not_seen");
  equal(await verdict({ address, chain: "BSC" }), "no_such_address");
  const [{ address: next }] = await rowsOf<{ address: string }>(
    realm,
    "select address from reserved_addresses where derivation_key = 5",
  );
  equal(await verdict({ address: next }), "not_given_out");

  const hash = await anvil.pool({ to: address, value: ETHER });
  await fixture.mine();
  const shallow = await explain(send, { hash });
  equal(shallow.verdict, "too_shallow");
  match(shallow.facts[0].detail, /^1 ETH at 0x.*: PENDING, 1 of 2 confirmations$/);
  deepEqual(shallow.facts.map((one: { fact: string }) => one.fact), ["deposit", "chain"]);
  const [{ id: deposit }] = await fixture.deposits();
  equal(shallow.facts[0].id, deposit);
  equal(await verdict({ address: address.toLowerCase() }), "too_shallow");
  equal(await verdict({ hash, chain: "BSC" }), "not_seen");
  const fault = '{"code": "upstream.failed", "detail": "1 of 2 nodes"}';
  await rowsOf(realm, `update deposits set error = '${fault}', retry_at = 'infinity'`);
  const held = await explain(send, { hash });
  equal(held.verdict, "held");
  match(held.facts[0].detail, /upstream\.failed: 1 of 2 nodes/);
  await rowsOf(realm, "update deposits set error = null, retry_at = null");
  await fixture.mine();
  await rowsOf(realm, "update sweeps set state = 'waiting'");
  equal(await verdict({ hash }), "below_minimum");
  await rowsOf(realm, "update sweeps set state = 'new'");
  equal(await verdict({ hash }), "forwarding");
  await mineUntil(fixture, async () => (await fixture.account(target)).balance.total !== "0");
  equal(await verdict({ hash }), "credited");
  const [sweep] = await rowsOf<{ hash: string }>(realm, "select hash from sweeps");
  const own = await explain(send, { hash: sweep.hash });
  equal(own.verdict, "own_payment");
  match(own.facts[0].detail, /the realm itself sent the transaction: sweep/);
});

Deno.test("GET /v1/deposits/explain tells an unmatched deposit, an address that is paused, and a chain that waits", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  const at = { type: "virtual", asset: "ETH", testnet: true };
  const linked = (await send("POST", "/v1/accounts", at)).body.id;
  await realm.drain();
  const { id: account, address } = await fixture.address(ramp.id);
  const outside = rich(3).address;
  equal((await send("POST", `/v1/accounts/${linked}/assign/${outside}`)).status, 200);
  await fixture.mine(2);
  const hash = await anvil.pool({ to: address, value: ETHER });
  await fixture.mine(2);
  const verdict = async (asked: Record<string, string>) => (await explain(send, asked)).verdict;
  await rowsOf(realm, `update external_addresses set paused_at = now()`);
  equal(await verdict({ address: outside }), "paused");
  await rowsOf(
    realm,
    `insert into unmatched_deposits (id, chain, network, hash, index, account, address, contract,
      amount_base, block, created_at)
    values (gen_random_uuid(), 'ETHEREUM', 'testnet', '0x${"77".repeat(32)}', 7, '${account}',
      '${address}', '0x1', 5, 1, now())`,
  );
  const unmatched = await explain(send, { hash: `0x${"77".repeat(32)}` });
  equal(unmatched.verdict, "unmatched");
  match(unmatched.facts[0].detail, /is for ETH, and the token 0x1 arrived/);
  equal(await verdict({ address }), "unmatched");
  equal(await verdict({ address, hash }), "credited");
  // A chain that waits for an operator may have more than was read; a hash may be on any that has it.
  const nowhere = `0x${"12".repeat(32)}`;
  equal(await verdict({ hash: nowhere }), "not_seen");
  await rowsOf(realm, "update chain_cursors set halted = '{}'");
  equal(await verdict({ hash: nowhere, chain: "ETHEREUM" }), "not_scanned");
  const anywhere = await explain(send, { hash: nowhere.slice(2) });
  equal(anywhere.verdict, "not_scanned");
  match(anywhere.facts[0].detail, /^ETHEREUM testnet is read up to .*; it waits for an operator$/);
  equal(await verdict({ hash: nowhere, testnet: "true" }), "not_scanned");
  equal(await verdict({ hash: nowhere, testnet: "false" }), "not_seen");
  equal(await verdict({ hash: "5".repeat(88) }), "not_seen");
  equal(await verdict({ hash: "5".repeat(88), chain: "ETHEREUM" }), "not_seen");
  equal(await verdict({ address: outside, testnet: "false" }), "no_such_address");
  await rowsOf(realm, "update chain_cursors set halted = null, height = height - 1");
  equal(await verdict({ hash: nowhere }), "not_scanned");
  equal((await send("GET", "/v1/deposits/explain")).status, 400);
  equal((await send("GET", "/v1/deposits/explain?chain=ETHEREUM")).status, 400);
  equal((await send("GET", `/v1/deposits/explain?hash=${"a".repeat(129)}`)).status, 400);
});

Deno.test("an explanation finds a payment among many others of its transaction and of its address", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  await realm.drain();
  const customer = await realm.user();
  const at = { type: "virtual", asset: "ETH", testnet: true };
  const linked = (await customer.send("POST", "/v1/accounts", at)).body.id;
  await realm.drain();
  const outside = rich(3).address;
  equal((await customer.send("POST", `/v1/accounts/${linked}/assign/${outside}`)).status, 200);
  await fixture.mine(2);
  const hash = await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine();
  // 25 more of the same transaction come before each: others' or of another network, and later ones.
  const copies = (table: string, of: number, from: number, changed: string) =>
    rowsOf(
      realm,
      `insert into ${table} select (jsonb_populate_record(d, jsonb_build_object(
        'id', gen_random_uuid(), 'index', ${from} + n) || ${changed})).*
      from ${table} d, generate_series(1, 25) n where d.index = ${of} and d.network = 'testnet'`,
    );
  const { send: ask } = customer;
  const verdict = async (send: Send, asked: Record<string, string>) =>
    (await explain(send, asked)).verdict;
  const elsewhere = `'{"chain": "BSC", "network": "main", "block": 90000000}'::jsonb`;
  const theirs =
    `jsonb_build_object('index', 99 + n, 'account', '${linked}', 'address', '${outside}')`;
  const [{ id: deposit }] = await fixture.deposits();
  await rowsOf(realm, "alter table deposits disable trigger user");
  await rowsOf(realm, "update deposits set index = 98");
  await copies("deposits", 98, 0, elsewhere);
  equal(await verdict(send, { hash, testnet: "true" }), "too_shallow");
  equal(await verdict(send, { hash, chain: "ETHEREUM" }), "too_shallow");
  equal((await explain(send, { hash, chain: "BSC", testnet: "false" })).facts.length, 20);
  const there = await explain(send, { address: ramp.address });
  ok(there.facts.some((one: { id: string }) => one.id === deposit));
  equal(await verdict(ask, { hash }), "not_seen");
  await rowsOf(
    realm,
    `insert into unmatched_deposits (id, chain, network, hash, index, account, address, contract,
      amount_base, block, created_at)
    values (gen_random_uuid(), 'ETHEREUM', 'testnet', '${hash}', 0, '${ramp.id}',
      '${ramp.address}', '0x1', 5, 1, now())`,
  );
  await copies("unmatched_deposits", 0, 1, elsewhere);
  await copies("unmatched_deposits", 0, 40, "'{}'::jsonb");
  await copies("unmatched_deposits", 0, 0, theirs);
  equal(await verdict(ask, { hash }), "unmatched");
  equal(await verdict(ask, { hash, address: outside }), "unmatched");
  equal(await verdict(ask, { hash, address: ramp.address }), "no_such_address");
});

Deno.test("an address tells whose it is to those who may see it, and others learn nothing", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  const at = { type: "virtual", asset: "ETH", testnet: true };
  const target = (await send("POST", "/v1/accounts", { ...at, ramp: ramp.id })).body.id;
  await realm.drain();
  const { id: account, address } = await fixture.address(target);
  const customer = await realm.user();
  const linked = (await customer.send("POST", "/v1/accounts", at)).body.id;
  await realm.drain();
  const outside = rich(3).address;
  equal((await customer.send("POST", `/v1/accounts/${linked}/assign/${outside}`)).status, 200);
  const uses = async (send: Send, text: string) => {
    const { status, body } = await send("GET", `/v1/addresses/${text}`);
    if (status !== 200) return body.code;
    ok(body.uses.every((use: { testnet: boolean }) => use.testnet));
    return body.uses.map((use: Record<string, string>) => [use.kind, use.account, use.beneficiary]);
  };
  deepEqual(await uses(send, ramp.address), [["ramp", ramp.id, null]]);
  deepEqual(await uses(send, address.toLowerCase()), [["deposit", account, target]]);
  deepEqual(await uses(send, outside), [["linked", linked, linked]]);
  deepEqual(await uses(customer.send, outside), [["linked", linked, linked]]);
  const [{ address: next }] = await rowsOf<{ address: string }>(
    realm,
    "select address from reserved_addresses where derivation_key = 5",
  );
  deepEqual(await uses(send, next), [["reserved", ramp.id, null]]);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  deepEqual(await uses(manager.send, address), [["deposit", account, target]]);
  equal(await uses(manager.send, next), "address.not_found");
  for (const one of [ramp.address, address, next, OUTSIDE, "x", "%25"]) {
    equal(await uses(customer.send, one), "address.not_found", one);
  }
  await using other = await realm.neighbour();
  equal(await uses(other.admin.send, address), "address.not_found");
  // The same holds for explanations: a payment of others is not there.
  const hash = await anvil.pool({ to: address, value: ETHER });
  await fixture.mine();
  for (const someone of [customer.send, other.admin.send]) {
    const told = await explain(someone, { hash });
    equal(told.verdict, "not_seen");
    ok(told.facts.every((one: { fact: string }) => one.fact === "chain"));
    const there = await explain(someone, { address });
    deepEqual([there.verdict, there.facts], ["no_such_address", []]);
  }
  equal((await explain(manager.send, { hash })).verdict, "too_shallow");
});

Deno.test("an explanation of a payment to an address with two sweeps under way, one of which was mined late, is no fault", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const { id, address } = await fixture.address(ramp.id);
  await fixture.mine(2);
  const hash = await anvil.pool({ to: address, value: ETHER });
  await fixture.mine();
  await rowsOf(
    realm,
    `insert into sweeps (id, chain, network, account, ramp, state, beside, created_at)
      select gen_random_uuid(), chain, network, account, $1, 'sweeping', beside, now()
      from deposits, (values (false), (true)) s(beside) where account = $2`,
    [ramp.id, id],
  );
  equal((await explain(realm.admin.send, { hash })).verdict, "too_shallow");
});
