/** Linked addresses that turn out to be ours: their linked value is taken back and credited to the owner, once. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { actingAs } from "../../db/database.ts";
import { serializable } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import type { Network } from "../../domain/chains/addresses.ts";
import { deriveAddress } from "../../domain/chains/derivation.ts";
import { postMove } from "../../domain/ledger/posting.ts";
import { reserveFurther } from "../../domain/deposits/address_handout.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { driftsOf, mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { leaveBroken, rowsOf, type TestUser } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const BEYOND = 5_000;

Deno.test("a link far beyond the reserved range ends when the address is given out: its shown value leaves, and is the owner's, once", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const thief = await realm.user({ role: "user", scope: "own" });
  const [account, later] = [
    await virtualOf(fixture, thief, ramp.id),
    await virtualOf(fixture, thief, ramp.id),
  ];
  const victim = await virtualOf(fixture, realm.admin, ramp.id);
  const address = await derived(fixture, ramp.id, BEYOND + 1);
  const link = async (of: string, method = "POST") =>
    equal((await thief.send(method, `/v1/accounts/${of}/assign/${address}`)).status, 200);
  await link(account);
  await fixture.mine();
  await anvil.pool({ to: ramp.address, value: 9n * ETHER }); // others' money, for an attacker to take
  await anvil.pool({ from: 7, to: address, value: 3n * ETHER });
  await anvil.pool({ from: 6, to: address, value: 2n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(account)).balance.total === "5");
  await link(account, "DELETE");
  await link(later);
  await fixture.mine();
  await anvil.pool({ from: 8, to: address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(later)).balance.total === "1");
  const gift = { source: { account: ramp.id }, destination: { account }, value: "0.5" };
  equal((await realm.admin.send("POST", "/v1/transactions", gift)).status, 201);
  const spend = async (of: string, value: string) => {
    const move = { source: { account: of }, destination: { account: victim }, value };
    return (await thief.send("POST", "/v1/transactions", move)).body.code;
  };
  equal(await spend(account, "0.500000000000000001"), "balance.insufficient");
  equal(await spend(later, "0.000000000000000001"), "balance.insufficient");
  await realm.command((tx) => tx`update ramps set next_index = ${BEYOND + 1}`);
  equal((await fixture.address(victim)).address, address);
  deepEqual((await fixture.account(account)).balance, { total: "0.5", available: "0.5" });
  deepEqual((await fixture.account(later)).balance, { total: "0", available: "0" });
  deepEqual((await thief.send("GET", `/v1/accounts/${later}/assign`)).body, []);
  equal(await spend(account, "0.500000000000000001"), "balance.insufficient");
  equal(await spend(later, "0.000000000000000001"), "balance.insufficient");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  await mineUntil(fixture, async () => (await fixture.account(victim)).balance.total > "5.9");
  await fixture.mine(2);
  const rows = await rowsOf<{ status: string; account: string }>(
    realm,
    "select status, account from deposits where address = $1",
    [address],
  );
  deepEqual(rows.map(({ status }) => status), ["CONFIRMED", "CONFIRMED", "CONFIRMED"]);
  const rescan = { chain: "ETHEREUM", testnet: true, from: 0, to: 40 };
  await realm.admin.send("POST", "/v1/deposits/rescan", rescan);
  await realm.drain();
  await fixture.mine(3);
  deepEqual((await fixture.account(account)).balance, { total: "0.5", available: "0.5" });
  equal((await fixture.account(victim)).balance.total < "6", true);
  equal((await thief.send("POST", `/v1/accounts/${later}/assign/${address}`)).status, 409);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  const { rows: entries } = (await thief.send("GET", `/v1/accounts/${account}/entries`)).body;
  deepEqual(
    entries.map((one: Record<string, string>) => [one.amount, one.balance, one.available]),
    [["3", "3", "0"], ["2", "5", "0"], ["0.5", "5.5", "0.5"], ["-3", "2.5", "0.5"], [
      "-2",
      "0.5",
      "0.5",
    ]],
  );
});

Deno.test("what came to a linked address that turns out to be ours for another asset is given up, and the books are sound", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { realm, anvil } = fixture;
  await installToken(anvil, "USDC");
  const [coins, tokens] = [await fixture.ramp(), await fixture.ramp("USDC")];
  const customer = await realm.user({ role: "user", scope: "own" });
  const account = await virtualOf(fixture, customer, coins.id, false);
  const address = await derived(fixture, tokens.id, BEYOND, "main");
  equal((await customer.send("POST", `/v1/accounts/${account}/assign/${address}`)).status, 200);
  await fixture.mine();
  await anvil.pool({ from: 7, to: address, value: 3n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(account)).balance.total === "3");
  await anvil.pool({ from: 7, to: address, value: 2n * ETHER });
  await fixture.mine();
  await realm.command((tx) =>
    tx`update ramps set next_index = ${BEYOND} where account = ${tokens.id}`
  );
  equal((await fixture.address(tokens.id)).address, address);
  await fixture.mine(3);
  deepEqual((await fixture.account(account)).balance, { total: "0", available: "0" });
  deepEqual((await fixture.deposits()).map(({ status }) => status), ["ORPHANED", "ORPHANED"]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a linked address that was given out is no fault while no worker has derived it, whoever derives it first", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const customer = await realm.user({ role: "user", scope: "own" });
  const account = await virtualOf(fixture, customer, ramp.id);
  const address = await derived(fixture, ramp.id, BEYOND);
  await customer.send("POST", `/v1/accounts/${account}/assign/${address}`);
  await fixture.mine();
  await anvil.pool({ from: 7, to: address, value: 3n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(account)).balance.total === "3");
  await realm.command((tx) => tx`update ramps set next_index = ${BEYOND}`);
  const made = await realm.admin.send("POST", `/v1/account/${ramp.id}/address`, {});
  equal(made.body.address.address, address);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  // It is reserved in the moment in which a worker begins to reserve, before it was seen as given out.
  const at = { ramp: ramp.id, from: BEYOND - 1 };
  const addresses = [
    await derived(fixture, ramp.id, BEYOND - 1),
    address,
    await derived(fixture, ramp.id, BEYOND + 1),
  ];
  await realm.command(
    (tx) => reserveFurther(tx, { ...realm.admin.actor, at: Date.now() }, { ...at, addresses }),
    { lockLedger: true },
  );
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  deepEqual((await fixture.account(account)).balance, { total: "0", available: "0" });
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total > "2.9");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
});

Deno.test("the database lets linked value fall only with the balance, and with the deposit that it was of", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const thief = await realm.user({ role: "user", scope: "own" });
  const account = await virtualOf(fixture, thief, ramp.id);
  const address = await derived(fixture, ramp.id, BEYOND);
  await thief.send("POST", `/v1/accounts/${account}/assign/${address}`);
  await fixture.mine();
  await anvil.pool({ from: 7, to: address, value: 3n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(account)).balance.total === "3");
  const owner = actingAs(realm.database.platform, { ...locationOf(realm.made.realm), role: null });
  const set = (...texts: string[]) =>
    serializable(owner, async (tx) => {
      for (const text of texts) await tx.unsafe(text, [account]);
    }, { lockLedger: true });
  const why = /does not become available/;
  const detached = "status = 'ORPHANED', credited = null, transaction = null";
  await rejects(set("update accounts set linked = 2 where id = $1"), why);
  await rejects(set("update accounts set linked = 2, total = 2 where id = $1"), why);
  await rejects(
    set(`update deposits set ${detached} where account = $1`),
    /was booked/,
    "the address is not ours",
  );
  const [{ id }] = await rowsOf<{ id: string }>(
    realm,
    "select transaction as id from deposits where account = $1",
    [account],
  );
  const [{ world }] = await rowsOf<{ world: string }>(
    realm,
    "select id as world from accounts where system = 'world' and asset = 'ETH'",
  );
  const move = { type: "revert" as const, source: account, destination: world, amount: "3" };
  const actor = { ...realm.admin.actor, at: Date.now() };
  await rejects(
    serializable(realm.pool, (tx) => postMove(tx, actor, { ...move, reverts: id }), {
      lockLedger: true,
    }),
    /nothing justifies/,
    "a deposit stands behind it",
  );
  // Where the address is ours, the deposit leaves only with the value that was shown of it.
  await rejects(
    serializable(owner, async (tx) => {
      await tx`update external_addresses set deleted_at = now()`;
      await tx`with made as (
          insert into accounts (id, type, asset, testnet, decimals, active, enabled, currency,
              currency_places, country, holder, owner, ramp, created_at)
            select gen_random_uuid(), 'deposit', a.asset, a.testnet, a.decimals, true, true,
              a.currency, a.currency_places, a.country, a.holder, a.owner, a.id, now()
            from accounts a where a.id in (select account from ramps) returning *)
        insert into addresses (id, account, ramp, chain, network, address, derivation_key, asset,
            owner, created_at)
          select gen_random_uuid(), m.id, r.account, r.chain, r.network, ${address}, ${BEYOND},
            m.asset, m.owner, now()
          from made m join ramps r on r.account = m.ramp`;
      await tx.unsafe(`update deposits set ${detached} where account = $1`, [account]);
    }, { lockLedger: true }),
    /is not taken back/,
  );
  deepEqual((await fixture.account(account)).balance, { total: "3", available: "0", linked: "3" });
});

Deno.test("an injected row of an address takes no linked value from others, and no coin: no worker has derived it", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  await leaveBroken(realm); // the forged row stays
  const ramp = await fixture.ramp();
  const victim = await realm.user({ role: "user", scope: "own" });
  const account = await virtualOf(fixture, victim, ramp.id);
  const address = OUTSIDE;
  await victim.send("POST", `/v1/accounts/${account}/assign/${address}`);
  await fixture.mine();
  await anvil.pool({ from: 7, to: address, value: 3n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(account)).balance.total === "3");
  const serving = realm.database.realm(locationOf(realm.made.realm));
  const forged = await serializable(serving, async (tx) => {
    await tx`update external_addresses set deleted_at = now()`;
    await tx`insert into accounts (id, type, asset, testnet, decimals, active, enabled, currency,
        currency_places, country, holder, owner, ramp, created_at)
      select gen_random_uuid(), 'deposit', a.asset, a.testnet, a.decimals, true, true, a.currency,
        a.currency_places, a.country, a.holder, a.owner, a.id, now()
      from accounts a where a.id = ${ramp.id}`;
    await tx`insert into addresses (id, account, ramp, chain, network, address, derivation_key, asset,
        owner, created_at)
      select gen_random_uuid(), m.id, r.account, r.chain, r.network, ${address}, 7, m.asset, m.owner, now()
      from accounts m join ramps r on r.account = m.ramp where m.type = 'deposit'`;
    return await tx`select h.* from addresses a,
      hand_over_deposits(a.id, '{}', now()) h where a.address = ${address}`;
  }, { lockLedger: true });
  deepEqual([...forged], []);
  deepEqual((await fixture.account(account)).balance, { total: "3", available: "0", linked: "3" });
  const rows = await rowsOf<{ status: string; account: string; coins: number }>(
    realm,
    "select status, account, (select count(*)::integer from coins) as coins from deposits",
  );
  deepEqual([...rows], [{ status: "CONFIRMED", account, coins: 0 }]);
});

/** A virtual account on a ramp, made for a user. */
async function virtualOf(
  fixture: RampFixture,
  user: TestUser,
  ramp: string,
  testnet = true,
): Promise<string> {
  const made = await fixture.realm.admin.send("POST", "/v1/accounts", {
    ...{ type: "virtual", asset: "ETH", testnet, ramp },
    ...{ owner: user.id, holder: user.identity },
  });
  equal(made.status, 201, made.text);
  await fixture.realm.drain();
  return made.body.id;
}

async function derived(
  fixture: RampFixture,
  ramp: string,
  index: number,
  network: Network = "testnet",
): Promise<string> {
  const path = `/v1/accounts/${ramp}?populate=address`;
  const { xpub } = (await fixture.realm.admin.send("GET", path)).body.address;
  return await deriveAddress("ETHEREUM", network, xpub, index);
}
