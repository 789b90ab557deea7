import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { RESERVED_AHEAD } from "../../domain/accounts/own_addresses.ts";
import { deriveAddress } from "../../domain/chains/derivation.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { rich } from "../support/nodes/anvil.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { driftsOf, mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm, type TestUser } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";

const ETHER = 10n ** 18n;
const STRANGER = rich(3).address;

Deno.test("value at a linked address is shown, and no route makes it available", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { ramp, thief, account } = await openLinkedFixture(fixture);
  await anvil.pool({ to: ramp.address, value: 20n * ETHER }); // the house's own
  await anvil.pool({ from: 5, to: STRANGER, value: 9n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(account)).balance.total !== "0");
  await fixture.mine(2);
  const linked = { total: "9", available: "0", linked: "9" };
  deepEqual((await fixture.account(account)).balance, linked);
  const other = await virtualOf(fixture, thief, ramp.id);
  await quoteFees(realm);
  const code = async (path: string, body: unknown = {}) => {
    const answer = await thief.send("POST", path, body);
    return [answer.status, answer.body.code ?? answer.body.results?.map((one: Coded) => one.code)];
  };
  const move = { source: { account }, destination: { account: other }, value: "0.000000001" };
  const alias = await thief.send("POST", "/v1/aliases", {
    alias: "loot",
    type: "account",
    account,
  });
  equal(alias.status, 201, alias.text);
  const refused = [409, "balance.insufficient"];
  deepEqual(await code("/v1/transactions", move), refused);
  deepEqual(await code("/v1/transactions?dry_run=true", move), refused);
  deepEqual(await code("/v1/transactions", { ...move, reference: "r" }), refused);
  deepEqual(await code("/v1/transactions", { ...move, source: { alias: "loot" } }), refused);
  const conditions = { source_available_gte: "0.1" };
  deepEqual(await code("/v1/transactions", { ...move, conditions }), refused);
  const batch = { atomic: true, transactions: [move, move] };
  deepEqual(await code("/v1/transactions/batch", batch), refused);
  const each = await code("/v1/transactions/batch", { ...batch, atomic: false });
  deepEqual(each, [200, ["balance.insufficient", "balance.insufficient"]]);
  deepEqual(await code(`/v1/accounts/${account}/blocks`, { amount: "1" }), refused);
  deepEqual(await code(`/v1/accounts/${account}/blocks?dry_run=true`, { amount: "1" }), refused);
  const out = { destination: { address: rich(6).address }, value: "1" };
  deepEqual(await code("/v1/withdrawals", { source: { account }, ...out }), refused);
  deepEqual(await code("/v1/withdrawals", { source: { alias: "loot" }, ...out }), refused);
  deepEqual(await code("/v1/withdrawals?dry_run=true", { source: { account }, ...out }), refused);
  deepEqual(await code(`/v1/accounts/${account}/deactivate`), [409, "account.not_empty"]);
  const removed = await thief.send("DELETE", `/v1/accounts/${account}`);
  ok([403, 409].includes(removed.status), removed.text);
  const deposit = (await fixture.deposits()).find((one) => one.account === account);
  const [booked] = await rowsOf<{ transaction: string }>(
    realm,
    "select transaction from deposits where id = $1",
    [deposit.id],
  );
  deepEqual(await code(`/v1/transactions/${booked.transaction}/revert`), [400, "request.invalid"]);
  // Freezing, thawing and unlinking change nothing of it.
  equal((await thief.send("POST", `/v1/accounts/${account}/freeze`)).status, 200);
  equal((await thief.send("POST", `/v1/accounts/${account}/unfreeze`)).status, 200);
  const path = `/v1/accounts/${account}/assign/${STRANGER}`;
  equal((await thief.send("DELETE", path)).status, 200);
  deepEqual((await fixture.account(account)).balance, linked);
  equal((await thief.send("POST", path)).status, 200);
  deepEqual((await fixture.account(account)).balance, linked);
  // Value from elsewhere may leave again, and not a digit more.
  const gift = { source: { account: ramp.id }, destination: { account }, value: "1" };
  const given = await realm.admin.send("POST", "/v1/transactions", gift);
  deepEqual(given.body.balances.destination, { total: "10", available: "1" });
  deepEqual(await code("/v1/transactions", { ...move, value: "1.000000000000000001" }), refused);
  const went = await thief.send("POST", "/v1/transactions", { ...move, value: "1" });
  deepEqual(went.body.balances.source, { total: "9", available: "0" });
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
});

Deno.test("entries, past balances and statements show linked value as not available", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { ramp, account } = await openLinkedFixture(fixture);
  await anvil.pool({ to: ramp.address, value: 2n * ETHER });
  await anvil.pool({ from: 5, to: STRANGER, value: 3n * ETHER });
  await anvil.pool({ from: 6, to: STRANGER, value: 4n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(account)).balance.total === "7");
  const { send } = realm.admin;
  const gift = { source: { account: ramp.id }, destination: { account }, value: "1" };
  equal((await send("POST", "/v1/transactions", gift)).status, 201);
  const { rows } = (await send("GET", `/v1/accounts/${account}/entries`)).body;
  const shown = rows.map(({ balance, available }: Row) => [balance, available]);
  deepEqual(shown, [["3", "0"], ["7", "0"], ["8", "1"]]);
  const at = `at=${rows[1].created_at}`;
  const past = (await send("GET", `/v1/accounts/${account}/balance?${at}`)).body;
  deepEqual([past.total, past.available, past.linked], ["7", "0", "7"]);
  const now = (await send("GET", `/v1/accounts/${account}/balance`)).body;
  deepEqual([now.total, now.available, now.linked], ["8", "1", "7"]);
  const { closing } = (await send("GET", `/v1/accounts/${account}/statement`)).body;
  deepEqual(closing, { total: "8", available: "1", linked: "7" });
});

Deno.test("the database keeps linked value where it is, whichever role writes", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { account } = await openLinkedFixture(fixture);
  await anvil.pool({ from: 5, to: STRANGER, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(account)).balance.total === "1");
  const tries = [
    ["update accounts set linked = 0 where id = $1", /does not become available/],
    ["update accounts set total = 0.5 where id = $1", /accounts_covered/],
    ["update accounts set blocked = 0.1 where id = $1", /accounts_covered/],
    ["update accounts set type = 'ramp' where id = $1", /facts of accounts do not change/],
    [
      "insert into blocks (id, account, amount, created_at) values (gen_random_uuid(), $1, 1, now())",
      /accounts_covered/,
    ],
  ] as const;
  for (const [text, why] of tries) {
    await rejects(rowsOf(realm, text, [account]), why, text);
  }
  equal((await fixture.account(account)).balance.linked, "1");
});

Deno.test("addresses that a ramp has given out or will give out are linked by nobody", async () => {
  await using fixture = await openRampFixture();
  const { ramp, thief, account } = await openLinkedFixture(fixture);
  const xpub = await xpubOf(fixture, ramp.id);
  const own = (await thief.send("POST", `/v1/account/${account}/address`, {})).body.address;
  const code = async (address: string, of = account, by = thief) => {
    const answer = await by.send("POST", `/v1/accounts/${of}/assign/${address}`);
    return [answer.status, answer.body.code];
  };
  const taken = [409, "address.assigned"];
  deepEqual(await code(ramp.address), taken);
  deepEqual(await code(own.address), taken);
  deepEqual(await code(own.address.toLowerCase()), taken);
  for (const index of [2, 3, 40, RESERVED_AHEAD - 1, RESERVED_AHEAD]) {
    const address = await deriveAddress("ETHEREUM", "testnet", xpub, index);
    deepEqual(await code(address), taken, `${index}`);
    deepEqual(await code(address.toLowerCase()), taken, `${index}`);
  }
  // The same key has the same address on the other chains of the family.
  const next = await deriveAddress("ETHEREUM", "testnet", xpub, 2);
  for (const [asset, testnet] of [["MATIC", true], ["BSC", true], ["ETH", false]] as const) {
    const made = await thief.send("POST", "/v1/accounts", { type: "virtual", asset, testnet });
    equal(made.status, 201, made.text);
    deepEqual(await code(next, made.body.id), taken, asset);
  }
});

Deno.test("as addresses are given out, more are reserved", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const xpub = await xpubOf(fixture, ramp.id);
  const last = await deriveAddress("ETHEREUM", "testnet", xpub, 150 + RESERVED_AHEAD);
  await realm.command((tx) => tx`update ramps set next_index = 150`);
  await fixture.address(ramp.id);
  await realm.drain();
  const rows = await rowsOf<{ reserved: number }>(realm, "select reserved from ramps");
  deepEqual(rows, [{ reserved: 151 + RESERVED_AHEAD }]);
  const found = "select address from reserved_addresses where address = $1";
  equal((await rowsOf(realm, found, [last])).length, 1);
});

Deno.test("a link made before the address was ours ends when it is given out, and deposits there are the owner's", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { ramp, thief, account } = await openLinkedFixture(fixture);
  const victim = await virtualOf(fixture, realm.admin, ramp.id);
  const xpub = await xpubOf(fixture, ramp.id);
  const beyond = RESERVED_AHEAD + 300; // so far nothing is reserved
  const address = await deriveAddress("ETHEREUM", "testnet", xpub, beyond);
  const link = await thief.send("POST", `/v1/accounts/${account}/assign/${address}`);
  equal(link.status, 200, link.text);
  await fixture.mine();
  await anvil.pool({ from: 7, to: address, value: 5n * ETHER });
  await fixture.mine();
  deepEqual((await fixture.deposits()).map(({ account, status }) => [account, status]), [
    [account, "PENDING"],
  ]);
  await realm.command((tx) => tx`update ramps set next_index = ${beyond}`);
  const given = await fixture.address(victim);
  equal(given.address, address);
  deepEqual((await thief.send("GET", `/v1/accounts/${account}/assign`)).body.length, 1);
  await mineUntil(fixture, async () => (await fixture.account(victim)).balance.total !== "0");
  await anvil.pool({ from: 7, to: address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(victim)).balance.total > "5.9");
  equal((await fixture.account(account)).balance.total, "0");
  await fixture.mine(2);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("rows that name one address as ours and as linked, against the rules, blind nobody, and ours wins", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { ramp, account } = await openLinkedFixture(fixture);
  const victim = await virtualOf(fixture, realm.admin, ramp.id);
  const given = await fixture.address(victim);
  await tamper(
    realm,
    "alter table external_addresses disable trigger user",
    `insert into external_addresses (id, account, chain, network, address, currency, since, created_at)
      select gen_random_uuid(), '${account}', chain, network, address, 'ETH', 0, now() from addresses
      where address = '${given.address}'`,
    "alter table external_addresses enable trigger user",
  );
  await anvil.pool({ to: given.address, value: 2n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(victim)).balance.total !== "0");
  equal((await fixture.account(account)).balance.total, "0");
  await fixture.mine();
  const text =
    "select (select max(height) from onchain_balances)::int = (select max(head) from chain_cursors)::int as seen";
  deepEqual(await rowsOf(realm, text), [{ seen: true }]);
  const body = { source: { account: victim }, destination: { address: given.address }, value: "1" };
  const moved = await realm.admin.send("POST", "/v1/transactions", body);
  deepEqual([moved.status, moved.body.code], [400, "request.invalid"], "to itself");
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
});

Deno.test("the database lets no address be ours and linked, nor a deposit at ours be linked value", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const { ramp, account } = await openLinkedFixture(fixture);
  const link = (address: string) =>
    realm.command((tx) =>
      tx.unsafe(
        `insert into external_addresses (id, account, chain, network, address, currency, since, created_at)
          values (gen_random_uuid(), $1, 'POLYGON', 'main', $2, 'ETH', 0, now())`,
        [account, address],
      )
    );
  const [{ address: next }] = await rowsOf<{ address: string }>(
    realm,
    "select address from reserved_addresses where derivation_key = 5",
  );
  await rejects(link(ramp.address), /an address of ours is not linked/);
  await rejects(link(next), /an address of ours is not linked/);
  const own = (statement: string) => realm.command((tx) => tx.unsafe(statement, [STRANGER]));
  await rejects(
    own("insert into reserved_addresses select $1, r.account, 9999, now() from ramps r"),
    /is still linked/,
  );
  await rejects(
    own(`with made as (
        insert into accounts (id, type, asset, testnet, decimals, active, enabled, currency,
            currency_places, country, holder, owner, ramp, created_at)
          select gen_random_uuid(), 'deposit', a.asset, a.testnet, a.decimals, true, true, a.currency,
            a.currency_places, a.country, a.holder, a.owner, a.id, now()
          from accounts a where a.id in (select account from ramps) returning *)
      insert into addresses (id, account, ramp, chain, network, address, derivation_key, asset, owner, created_at)
        select gen_random_uuid(), m.id, r.account, r.chain, r.network, $1, 9999, m.asset, m.owner, now()
        from made m join ramps r on r.account = m.ramp`),
    /is still linked/,
  );
  const deposit = (address: string) =>
    realm.command((tx) =>
      tx.unsafe(
        `insert into deposits (id, chain, network, hash, index, account, address, asset, amount, created_at)
          select gen_random_uuid(), r.chain, r.network, 'h', 0, $1, $2, 'ETH', 1, now() from ramps r`,
        [account, address],
      )
    );
  await rejects(deposit(ramp.address), /is not linked value/);
  await deposit(STRANGER);
});

Deno.test("an address that is linked while it is given out ends as ours, and nobody is refused it", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const { ramp, thief, account } = await openLinkedFixture(fixture);
  const xpub = await xpubOf(fixture, ramp.id);
  for (let index = RESERVED_AHEAD + 300; index < RESERVED_AHEAD + 306; index++) {
    const address = await deriveAddress("ETHEREUM", "testnet", xpub, index);
    await realm.command((tx) => tx`update ramps set next_index = ${index}`);
    const [given, link] = await Promise.all([
      realm.admin.send("POST", `/v1/account/${ramp.id}/address`, {}),
      thief.send("POST", `/v1/accounts/${account}/assign/${address}`),
    ]);
    equal(given.status, 201, given.text);
    equal(given.body.address.address, address);
    ok([200, 409].includes(link.status), link.text);
  }
  const rest = await thief.send("GET", `/v1/accounts/${account}/assign`);
  deepEqual(rest.body, [{ address: STRANGER, currency: "ETH" }]);
});

Deno.test("a transfer to an address goes to the account that it is ours for, of the source's asset", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { ramp, thief, account } = await openLinkedFixture(fixture);
  const saver = await virtualOf(fixture, realm.admin, ramp.id);
  const given = await fixture.address(saver);
  await anvil.pool({ to: ramp.address, value: 4n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "4");
  // The same stranger's address, linked to an account of another chain's coin.
  const body = { type: "virtual", asset: "MATIC", testnet: true };
  const matic = (await thief.send("POST", "/v1/accounts", body)).body.id;
  equal((await thief.send("POST", `/v1/accounts/${matic}/assign/${STRANGER}`)).status, 200);
  await realm.drain();
  const pay = async (address: string) => {
    const move = { source: { account: ramp.id }, destination: { address }, value: "1" };
    const answer = await realm.admin.send("POST", "/v1/transactions", move);
    return [answer.status, answer.body.destination?.account ?? answer.body.code];
  };
  deepEqual(await pay(given.address), [201, saver]);
  deepEqual(await pay(STRANGER), [201, account]);
  // A payment by another user of the realm is no linked value.
  deepEqual((await fixture.account(account)).balance, { total: "1", available: "1" });
});

interface Coded {
  code: string;
}
interface Row {
  balance: string;
  available: string;
}

/** A ramp, and a plain user whose account watches an address of somebody else. */
async function openLinkedFixture(
  fixture: RampFixture,
): Promise<{ ramp: { id: string; address: string }; thief: TestUser; account: string }> {
  const ramp = await fixture.ramp();
  const thief = await fixture.realm.user({ role: "user", scope: "own" });
  const account = await virtualOf(fixture, thief, ramp.id);
  const assigned = await thief.send("POST", `/v1/accounts/${account}/assign/${STRANGER}`);
  equal(assigned.status, 200, assigned.text);
  await fixture.mine();
  return { ramp, thief, account };
}

/** A virtual account on a ramp, made for a user. */
async function virtualOf(fixture: RampFixture, user: TestUser, ramp: string): Promise<string> {
  const made = await fixture.realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: "ETH",
    testnet: true,
    ramp,
    owner: user.id,
    holder: user.identity,
  });
  equal(made.status, 201, made.text);
  await fixture.realm.drain();
  return made.body.id;
}

async function xpubOf(fixture: RampFixture, ramp: string): Promise<string> {
  const path = `/v1/accounts/${ramp}?populate=address`;
  return (await fixture.realm.admin.send("GET", path)).body.address.xpub;
}

async function quoteFees(realm: TestRealm): Promise<void> {
  const context = await workerContextOf(realm);
  await refreshFees(context);
  context.chains.close();
}
