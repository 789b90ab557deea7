import { deepEqual, equal, ok } from "node:assert/strict";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { rich } from "../support/nodes/anvil.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type Send, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("searches in one realm");

const ETHER = 10n ** 18n;

/** What a search finds, as kind, match and id. */
async function found(send: Send, q: string, limit = 20): Promise<[string, string, string][]> {
  const answer = await send("GET", `/v1/search?q=${encodeURIComponent(q)}&limit=${limit}`);
  equal(answer.status, 200, answer.text);
  return answer.body.map((one: Record<string, string>) => [one.kind, one.match, one.id]);
}

async function made(send: Send, path: string, body: unknown): Promise<string> {
  const answer = await send("POST", path, body);
  equal(answer.status, 201, answer.text);
  return answer.body.id;
}

test("GET /v1/search finds users, identities, aliases and accounts by names from their beginning and by whole keys", async (realm) => {
  const { send } = realm.admin;
  const user = await made(send, "/v1/users", {
    ...{ username: "Élodie.Martin", password: "correct horse battery" },
    channel: { email: "Elodie@Example.org" },
  });
  const identity = await made(send, "/v1/identities", { data: { name: "Élodie & Sons" } });
  const account = await made(send, "/v1/accounts", {
    ...{ type: "virtual", asset: "ETH", testnet: true, reference: "INV-2026/11" },
  });
  const alias = await made(send, "/v1/aliases", { type: "account", alias: "elodie-shop", account });
  deepEqual(await found(send, "élodie"), [
    ["user", "username", user],
    ["identity", "name", identity],
  ]);
  deepEqual(await found(send, " ÉLODIE.M "), [["user", "username", user]]);
  // The same letters in another composition.
  deepEqual(await found(send, "e\u0301lodie.martin"), [["user", "username", user]]);
  deepEqual(await found(send, "ELODIE-"), [["alias", "alias", alias]]);
  deepEqual(await found(send, "elodie@example.ORG"), [["user", "email", user]]);
  deepEqual(await found(send, "INV-2026/11"), [["account", "reference", account]]);
  // Neither the middle of a name nor the beginning of a key is found.
  for (const q of ["lodie", "martin", "INV-2026", "elodie@example", "shop"]) {
    deepEqual(await found(send, q), [], q);
  }
  for (const [kind, id] of Object.entries({ user, identity, account, alias })) {
    deepEqual(await found(send, id), [[kind, "id", id]]);
    deepEqual(await found(send, id.toUpperCase()), [[kind, "id", id]]);
  }
  equal((await send("DELETE", `/v1/aliases/${alias}`)).status, 200);
  for (const q of ["elodie-shop", alias]) deepEqual(await found(send, q), []);
  const [one] = (await send("GET", "/v1/search?q=inv-2026/11")).body;
  equal(one, undefined); // references have case
  const shown = (await send("GET", `/v1/search?q=INV-2026/11`)).body;
  deepEqual(shown[0].title, "INV-2026/11");
  equal(shown[0].subtitle, "virtual, ETH, testnet");
});

test("GET /v1/search takes no character for others, and bounds its text", async (realm) => {
  const { send } = realm.admin;
  const names = ["a%c", "abc", "a_c", "a\\c", "a'c"];
  const ids = new Map<string, string>();
  for (const username of names) {
    const password = "correct horse battery";
    ids.set(username, await made(send, "/v1/users", { username, password }));
  }
  for (const name of names) {
    deepEqual(await found(send, name), [["user", "username", ids.get(name)]], name);
  }
  for (const q of ["%", "_", "a%", "%c", "\\", "'", "a\\_c", "a__"]) {
    const expected = names.filter((name) => name.startsWith(q)).map((name) => ids.get(name));
    deepEqual((await found(send, q)).map(([, , id]) => id), expected, q);
  }
  equal((await found(send, "a")).length, names.length + 1); // and the administrator
  equal((await found(send, "a", 2)).length, 2);
  for (const q of ["", "%20", "x".repeat(201)]) {
    equal((await send("GET", `/v1/search?q=${q}`)).status, 400, q);
  }
  equal((await send("GET", "/v1/search")).status, 400);
  equal((await send("GET", "/v1/search?q=a&limit=21")).status, 400);
  equal((await send("GET", "/v1/search?q=a%00b")).body.code, "query.invalid");
  equal((await send("GET", "/v1/search?q=a&scope=all")).status, 400);
  equal((await realm.nobody("GET", "/v1/search?q=a")).status, 401);
  // A name longer than an index takes is cut there, and found by its beginning.
  const long = `Long ${"ß".repeat(20_000)}`;
  const identity = await made(send, "/v1/identities", { data: { name: long } });
  deepEqual(await found(send, "long ß"), [["identity", "name", identity]]);
  await made(send, "/v1/identities", { data: { name: { long: "is no text" } } });
});

test("GET /v1/search shows users of scope own what is theirs, and nothing of another realm", async (realm) => {
  await using other = await realm.neighbour();
  const texts = { username: "shared-name", reference: "shared-name", alias: "shared-name" };
  const own = await realm.user();
  const fill = async (one: TestRealm, send: Send) => {
    const account = await made(send, "/v1/accounts", {
      ...{ type: "virtual", asset: "ETH", testnet: true, reference: texts.reference },
    });
    const alias = await made(send, "/v1/aliases", {
      ...{ type: "account", alias: texts.alias, account },
    });
    const identity = await made(send, "/v1/identities", { data: { name: "shared-name" } });
    const password = "correct horse battery";
    const user = await made(one.admin.send, "/v1/users", { username: texts.username, password });
    return { account, alias, identity, user };
  };
  const theirs = await fill(other, other.admin.send);
  const house = await fill(realm, realm.admin.send);
  const mine = await made(own.send, "/v1/identities", { data: { name: "shared-name" } });
  deepEqual(await found(own.send, "shared-name"), [["identity", "name", mine]]);
  const all = (await found(realm.admin.send, "shared")).map(([, , id]) => id).sort();
  deepEqual(all, [house.alias, house.identity, house.user, mine].sort());
  for (const id of [...Object.values(theirs)]) {
    deepEqual(await found(realm.admin.send, id), []);
  }
  for (const id of [...Object.values(theirs), ...Object.values(house)]) {
    deepEqual(await found(own.send, id), []);
  }
  // One's own record is found whoever owns it.
  deepEqual(await found(own.send, own.id), [["user", "id", own.id]]);
  deepEqual(await found(own.send, own.identity), [["identity", "id", own.identity]]);
  const { body: { username } } = await own.send("GET", `/v1/users/${own.id}`);
  deepEqual(await found(own.send, username), [["user", "username", own.id]]);
  const reader = await realm.user({ role: "user", scope: "realm" });
  equal((await found(reader.send, "shared")).length, 4);
});

test("GET /v1/search finds persons by a whole e-mail address or number alone", async (realm) => {
  const { send } = realm.admin;
  const contactInformation = {
    email: [{ address: "ana@horvat.example" }],
    phone: [{ number: "385911234567" }],
  };
  const answer = await send("POST", "/v1/identities/person", {
    person: { firstName: "Ana", lastName: "Horvat", contactInformation },
  });
  ok(answer.status < 300, answer.text);
  const identity = answer.body.id;
  const stranger = await realm.user();
  for (const q of ["ana@horvat.example", "ANA@Horvat.example", "385911234567", "+385911234567"]) {
    deepEqual(await found(send, q), [["identity", "contact", identity]], q);
    deepEqual(await found(stranger.send, q), [], q);
  }
  for (const q of ["ana@horvat", "38591123456", "Horvat"]) deepEqual(await found(send, q), [], q);
});

Deno.test("GET /v1/search finds deposits, withdrawals and accounts by hashes and addresses", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { send } = realm.admin;
  const ramp = await fixture.ramp();
  const at = { type: "virtual", asset: "ETH", testnet: true };
  const linked = await made(send, "/v1/accounts", at);
  await realm.drain();
  const outside = rich(3).address;
  equal((await send("POST", `/v1/accounts/${linked}/assign/${outside}`)).status, 200);
  const hash = await anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine(2);
  const [deposit] = await fixture.deposits();
  const withdrawal = await made(send, "/v1/withdrawals", {
    ...{ source: { account: ramp.id }, destination: { address: OUTSIDE }, value: "0.1" },
  });
  await rowsOf(realm, `update withdrawals set hash = '0x${"ab".repeat(32)}'`);
  await rowsOf(
    realm,
    `insert into unmatched_deposits (id, chain, network, hash, index, account, address, contract,
      amount_base, block, created_at)
    values (gen_random_uuid(), 'ETHEREUM', 'testnet', '${hash}', 7, '${ramp.id}', '${ramp.address}',
      '0x1', 5, 1, now())`,
  );
  const [unmatched] = await rowsOf<{ id: string }>(realm, "select id from unmatched_deposits");
  const both = [["deposit", "hash", deposit.id], ["unmatched", "hash", unmatched.id]];
  for (const q of [hash, hash.slice(2).toUpperCase()]) deepEqual(await found(send, q), both, q);
  deepEqual(await found(send, "AB".repeat(32)), [["withdrawal", "hash", withdrawal]]);
  for (const q of [ramp.address, ramp.address.toLowerCase()]) {
    deepEqual(await found(send, q), [["account", "address", ramp.id]], q);
  }
  deepEqual(await found(send, outside.toLowerCase()), [["account", "address", linked]]);
  deepEqual(await found(send, OUTSIDE), [["withdrawal", "destination", withdrawal]]);
  const [{ id: transaction }] = await rowsOf<{ id: string }>(realm, "select id from transactions");
  deepEqual(await found(send, transaction), [["transaction", "id", transaction]]);
  deepEqual(await found(send, deposit.id), [["deposit", "id", deposit.id]]);
  deepEqual(await found(send, unmatched.id), [["unmatched", "id", unmatched.id]]);
  // Unmatched deposits are for administrators of the realm; a stranger finds nothing.
  const manager = await realm.user({ role: "manage", scope: "realm" });
  deepEqual(await found(manager.send, hash), both.slice(0, 1));
  deepEqual(await found(manager.send, unmatched.id), []);
  const stranger = await realm.user();
  const secret = [hash, ramp.address, outside, OUTSIDE, transaction, deposit.id, withdrawal];
  for (const q of secret) deepEqual(await found(stranger.send, q), [], q);
});
