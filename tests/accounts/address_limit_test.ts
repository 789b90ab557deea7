/** Limit of a customer's addresses that nothing came to, against whoever tries to get around it. */
import { deepEqual, equal } from "node:assert/strict";
import { countLinked } from "../../db/accounts/external_addresses.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { type Answer, rowsOf, type TestUser } from "../support/realm.ts";

const codeOf = ({ status, body }: Answer) => [status, body.code];

/** A virtual account of a user on a ramp. */
async function account({ realm }: RampFixture, user: TestUser, ramp: string): Promise<string> {
  const of = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const owned = { owner: user.id, holder: user.identity };
  const made = await realm.admin.send("POST", "/v1/accounts", { ...of, ...owned });
  equal(made.status, 201, made.text);
  await realm.drain();
  return made.body.id;
}

/** How many addresses of each customer have had no deposit, as the accounts and deposits say, and as is counted. */
async function counts({ realm }: RampFixture): Promise<{ said: unknown; counted: unknown }> {
  const said = await rowsOf(
    realm,
    `select u.root, count(*)::integer as n from accounts a join users u on u.id = a.owner
     where a.type in ('ramp', 'deposit') and u.root is not null and not exists (
       select from deposits d where d.account = a.id and d.status = 'CONFIRMED')
     group by u.root order by u.root`,
  );
  const counted = await rowsOf(
    realm,
    "select root, count(*)::integer as n from unused_addresses group by root order by root",
  );
  return { said, counted };
}

Deno.test("a customer has no more unused addresses than the realm lets it, through however many users and ramps", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const set = (chains: unknown) => realm.admin.send("PATCH", `/v1/realms/${realm.id}`, { chains });
  deepEqual(codeOf(await set({ unused_addresses: -1 })), [400, "request.invalid"]);
  equal((await set({ unused_addresses: 3 })).status, 200);
  const ramp = await fixture.ramp();
  const [chief, made] = [
    await realm.user({ role: "admin", scope: "own" }),
    await realm.user(),
  ];
  await rowsOf(realm, "update users set owner = $1 where id = $2", [chief.id, made.id]);
  const accounts = new Map<TestUser, string>();
  for (const user of [chief, made]) accounts.set(user, await account(fixture, user, ramp.id));
  const ask = (by: TestUser, of = accounts.get(by)!) =>
    by.send("POST", `/v1/accounts/${of}/address`, {});
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => ask(i % 2 ? chief : made)),
  );
  const given = answers.filter(({ status }) => status === 201);
  const refused = answers.filter(({ status }) => status === 429);
  deepEqual([given.length, refused.length], [3, 5]);
  deepEqual(codeOf(refused[0]), [429, "rate.limited"]);
  equal(refused[0].headers.get("retry-after"), "3600");
  // Nor by the other ways to an address.
  const rampOfItsOwn = { type: "ramp", asset: "ETH", testnet: true };
  const app = { destination: { account: accounts.get(made) }, asset: "ETH" };
  const others = [
    await made.send("POST", "/v1/accounts", rampOfItsOwn),
    await made.send("POST", "/v1/apps/deposit", app),
    await ask(chief),
  ];
  deepEqual(others.map(({ status }) => status), [429, 429, 429]);
  // Those who work for the realm make one for it all the same, and another customer has its own.
  equal((await ask(realm.admin, accounts.get(made)!)).status, 201);
  const other = await realm.user();
  equal((await other.send("POST", "/v1/accounts", rampOfItsOwn)).status, 201);
  await realm.drain();
  let { said, counted } = await counts(fixture);
  deepEqual(counted, said);
  await realm.drain();
  for (const { body: { address: { address } } } of given.slice(1)) {
    equal((await ask(made)).status, 429);
    await anvil.pool({ from: 5, to: address, value: 10n ** 18n });
    const credited = async () =>
      (await fixture.deposits()).some((one) => one.status === "CONFIRMED" && one.credited !== null);
    await mineUntil(fixture, credited);
  }
  const confirmed = async () =>
    (await fixture.deposits()).filter(({ status }) => status === "CONFIRMED").length === 2;
  await mineUntil(fixture, confirmed);
  equal((await ask(chief)).status, 201);
  equal((await ask(made)).status, 429);
  ({ said, counted } = await counts(fixture));
  deepEqual(counted, said);
  // A user that becomes a customer of its own takes its addresses along.
  await rowsOf(realm, "update users set owner = $1 where id = $2", [realm.admin.id, made.id]);
  ({ said, counted } = await counts(fixture));
  deepEqual(counted, said);
  equal((await set({ unused_addresses: 0 })).status, 200);
  equal((await other.send("POST", "/v1/accounts", rampOfItsOwn)).status, 429);
  equal((await realm.admin.send("POST", "/v1/accounts", rampOfItsOwn)).status, 201);
});

Deno.test("users that a customer has made leave unused addresses to each other, and to the customer", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const settings = { chains: { unused_addresses: 20 } };
  equal((await realm.admin.send("PATCH", `/v1/realms/${realm.id}`, settings)).status, 200);
  const ramp = await fixture.ramp();
  const chief = await realm.user({ role: "admin", scope: "own" });
  const made = [await realm.user(), await realm.user()];
  for (const { id } of made) {
    await rowsOf(realm, "update users set owner = $1 where id = $2", [chief.id, id]);
  }
  const taken = async (by: TestUser) => {
    const of = await account(fixture, by, ramp.id);
    const ask = () => by.send("POST", `/v1/accounts/${of}/address`, {});
    const answers = await Promise.all(Array.from({ length: 21 }, ask));
    for (const one of answers.filter(({ status }) => status !== 201)) {
      deepEqual(codeOf(one), [429, "rate.limited"]);
    }
    return answers.filter(({ status }) => status === 201).length;
  };
  deepEqual([await taken(made[0]), await taken(made[1]), await taken(chief)], [9, 5, 6]);
});

Deno.test("a customer has no more linked addresses than the realm lets it, through however many users, and learns nothing beyond", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const set = (chains: unknown) => realm.admin.send("PATCH", `/v1/realms/${realm.id}`, { chains });
  deepEqual(codeOf(await set({ linked_addresses: -1 })), [400, "request.invalid"]);
  equal((await set({ linked_addresses: 20 })).status, 200);
  const ramp = await fixture.ramp();
  const [chief, made, other] = [
    await realm.user({ role: "admin", scope: "own" }),
    await realm.user(),
    await realm.user(),
  ];
  await rowsOf(realm, "update users set owner = $1 where id = $2", [chief.id, made.id]);
  let next = 0;
  const path = (of: string, n: number) =>
    `/v1/accounts/${of}/assign/0x${n.toString(16).padStart(40, "0")}`;
  const linked = async (by: TestUser, of: string, tries: number) => {
    const link = () => by.send("POST", path(of, ++next + 4096));
    const answers = await Promise.all(Array.from({ length: tries }, link));
    for (const one of answers.filter(({ status }) => status !== 200)) {
      deepEqual(codeOf(one), [429, "rate.limited"]);
    }
    return answers.filter(({ status }) => status === 200).length;
  };
  const [mine, theirs, its] = [
    await account(fixture, made, ramp.id),
    await account(fixture, chief, ramp.id),
    await account(fixture, other, ramp.id),
  ];
  deepEqual([await linked(made, mine, 15), await linked(chief, theirs, 15)], [9, 11]);
  const [ours] = await rowsOf<{ address: string }>(realm, "select address from addresses limit 1");
  const probe = await chief.send("POST", `/v1/accounts/${theirs}/assign/${ours.address}`);
  deepEqual(codeOf(probe), [429, "rate.limited"], "whose it is is not told");
  equal(await linked(other, its, 1), 1, "another customer has its own");
  equal(await linked(realm.admin, theirs, 1), 1, "those who work for the realm link for it");
  const ended = (await rowsOf<{ address: string }>(
    realm,
    "select address from external_addresses where account = $1 and owner = $2 limit 1",
    [theirs, chief.id],
  ))[0].address;
  equal((await chief.send("DELETE", `/v1/accounts/${theirs}/assign/${ended}`)).status, 200);
  equal(await linked(chief, theirs, 2), 1);
  // However many users a customer has, none of them is read.
  const customer = { customer: chief.id, user: made.id, most: 100 };
  await realm.command(async (tx) => {
    // Earlier transactions of the session may still be counted.
    const readUsers = async () => {
      const [{ read }] = await tx<{ read: number }[]>`
        select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
        where relid = 'users'::regclass`;
      return read;
    };
    const before = await readUsers();
    deepEqual(await countLinked(tx, customer), { all: 20, own: 9 });
    equal(await readUsers(), before);
  });
  // A user that comes to the house, and one whose creator is another, take their links along.
  const counted = (of: TestUser) =>
    realm.command((tx) => countLinked(tx, { customer: of.id, user: of.id, most: 100 }));
  await rowsOf(realm, "update users set owner = $1 where id = $2", [other.id, made.id]);
  deepEqual([(await counted(chief)).all, (await counted(other)).all], [11, 10]);
  const scopes = "update users set scopes = $1, roles = $2 where id = $3";
  await rowsOf(realm, scopes, [["realm", "own"], ["admin", "user"], other.id]);
  deepEqual([(await counted(other)).all, (await counted(made)).all], [0, 9]);
  await rowsOf(realm, scopes, [["own"], ["user"], other.id]);
  deepEqual([(await counted(other)).all, (await counted(made)).all], [10, 0]);
  await rowsOf(realm, "update external_addresses set root = null");
  equal((await counted(other)).all, 10, "nothing else says whose they are");
});
