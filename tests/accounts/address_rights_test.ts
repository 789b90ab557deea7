/** Rights on accounts that serve another's account, and on value that waits there. */
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { applyMoves } from "../../db/ledger/posting.ts";
import { insertBlock } from "../../db/ledger/blocks.ts";
import { counterparty, type MoveType } from "../../domain/ledger/posting.ts";
import { rich } from "../support/nodes/anvil.ts";
import { bookAsOwner } from "../support/booking.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, testRealm, type TestUser } from "../support/realm.ts";
import { sharingRamps } from "../support/sharing_ramps.ts";

/** Less than its own way to the ramp costs: it is credited and waits. */
const DUST = 1000n;
const DUST_TEXT = "0.000000000000001";
const OUTSIDE = rich(5).address;

const test = sharingRamps("rights to addresses in one realm");

test("no user makes an address for another's account, by any of its names", async (fixture) => {
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const victim = await customer(fixture, ramp.id, { default: true, alias: "victim-account" });
  const alias = { alias: "victim", type: "identity", identity: victim.user.identity };
  equal((await victim.user.send("POST", "/v1/aliases", alias)).status, 201);
  await realm.admin.send("POST", `/v1/accounts/${victim.account}/assign/${OUTSIDE}`);
  const own = await addressOf(victim);
  const names = [
    { account: victim.account },
    { alias: "victim-account" },
    { address: own },
    { address: OUTSIDE },
  ];
  const stranger = await realm.user({ role: "user", scope: "own" });
  const reader = await realm.user({ role: "user", scope: "realm" });
  for (const destination of names) {
    const body = { destination, asset: "ETH" };
    const unseen = await stranger.send("POST", "/v1/apps/deposit", body);
    deepEqual([unseen.status, unseen.body.code], [404, "account.not_found"], unseen.text);
    const seen = await reader.send("POST", "/v1/apps/deposit", body);
    deepEqual([seen.status, seen.body.code], [403, "permission.owner"], seen.text);
  }
  // Of a test network an identity's alias names no account; with none there is nothing to serve.
  const named = await stranger.send("POST", "/v1/apps/deposit", {
    destination: { alias: "victim" },
    asset: "ETH",
  });
  equal(named.body.code, "account.not_found");
  for (
    const [user, code] of [[stranger, "account.not_found"], [reader, "permission.owner"]] as const
  ) {
    const path = `/v1/account/${victim.account}/address`;
    equal((await user.send("POST", path, {})).body.code, code);
    const watched = `/v1/accounts/${victim.account}/assign/${OUTSIDE}`;
    for (const method of ["POST", "DELETE"]) {
      equal((await user.send(method, watched)).body.code, code, method);
    }
  }
  const onRamp = { type: "deposit", asset: "ETH", testnet: true, ramp: ramp.id };
  equal((await reader.send("POST", "/v1/accounts", onRamp)).body.code, "permission.owner");
  equal(
    (await rowsOf(realm, "select id from addresses where target_account is not null")).length,
    1,
  );
});

test("a deposit account belongs to the owner and holder of the account that it serves", async (fixture) => {
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const victim = await customer(fixture, ramp.id);
  const shown = await addressOf(victim);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const body = { destination: { account: victim.account }, asset: "ETH" };
  const app = await manager.send("POST", "/v1/apps/deposit", body);
  equal(app.status, 201, app.text);
  const made = await manager.send("POST", `/v1/account/${victim.account}/address`, {});
  equal(made.status, 201, made.text);
  const onRamp = await manager.send("POST", `/v1/account/${ramp.id}/address`, {});
  const named = await manager.send("POST", "/v1/accounts", {
    type: "deposit",
    asset: "ETH",
    testnet: true,
    ramp: ramp.id,
  });
  const belongings = async (id: string) => {
    const { owner, holder } = await fixture.account(id);
    return [owner, holder];
  };
  for (const id of [app.body.source.account, made.body.id]) {
    deepEqual(await belongings(id), [victim.user.id, victim.user.identity]);
  }
  const { id, identity } = realm.admin;
  for (const one of [onRamp, named]) deepEqual(await belongings(one.body.id), [id, identity]);
  equal(app.body.source.owner, victim.user.id);
  equal(app.body.owner, manager.id, "the application itself is its maker's");
  // The first address stays the one that is shown.
  const path = `/v1/accounts/${victim.account}?populate=address`;
  for (const user of [victim.user, manager]) {
    equal((await user.send("GET", path)).body.address.address, shown);
  }
  const list = (await victim.user.send("GET", `/v1/accounts/${victim.account}/address`)).body;
  equal(list[0].address, shown);
  equal(list.length, 3);
  notEqual(made.body.address.address, shown);
});

test("value that waits on a deposit account is moved by nobody, by no route", async (fixture) => {
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const victim = await customer(fixture, ramp.id);
  const deposit = await waiting(fixture, victim);
  const alias = { alias: "waiting", type: "account", account: deposit.id };
  equal((await victim.user.send("POST", "/v1/aliases", alias)).status, 201);
  const before = await fixture.account(deposit.id);
  deepEqual(before.balance.total, DUST_TEXT);
  equal(before.balance.available, "0");
  for (const user of [victim.user, realm.admin]) {
    const said = async (path: string, body: unknown) => {
      const { status, body: { code } } = await user.send("POST", path, body);
      return `${status} ${code}`;
    };
    const value = DUST_TEXT;
    const destination = { account: victim.account };
    const NONE = "409 balance.insufficient";
    for (const source of [{ account: deposit.id }, { alias: "waiting" }]) {
      const move = { source, destination, value };
      equal(await said("/v1/transactions", move), NONE);
      equal(await said("/v1/transactions?dry_run=true", move), NONE);
      equal(await said("/v1/transactions", { ...move, reference: "r" }), NONE);
      const batch = { atomic: true, transactions: [move] };
      equal(await said("/v1/transactions/batch", batch), NONE);
      const each = await user.send("POST", "/v1/transactions/batch", { ...batch, atomic: false });
      equal(each.body.results[0].code, "balance.insufficient");
      const out = { source, destination: { address: OUTSIDE }, value };
      equal(await said("/v1/withdrawals", out), "409 account.no_ramp");
      equal(await said("/v1/withdrawals?dry_run=true", out), "409 account.no_ramp");
    }
    const blocks = `/v1/accounts/${deposit.id}/blocks`;
    equal(await said(blocks, { amount: value }), NONE);
    equal(await said(`${blocks}?dry_run=true`, { amount: value }), NONE);
  }
  deepEqual((await fixture.account(deposit.id)).balance, before.balance);
  const read = async (path: string) =>
    (await victim.user.send("GET", `/v1/accounts/${deposit.id}/${path}`)).body;
  const now = { total: DUST_TEXT, available: "0" };
  for (const at of ["balance", `balance?at=${Date.now()}`]) {
    const { total, available } = await read(at);
    deepEqual({ total, available }, now);
  }
  const { entries, closing } = await read("statement");
  deepEqual([entries[0].available, closing], ["0", now]);
  const [arrived] = await transactionsOf(victim.user);
  deepEqual(arrived.balances.destination, now);
});

test("value that is no deposit does not reach a deposit account, where nobody could use it", async (fixture) => {
  const { realm, anvil } = fixture;
  const ramp = await fixture.ramp();
  const victim = await customer(fixture, ramp.id);
  await anvil.pool({ to: ramp.address, value: 10n ** 18n });
  await fixture.mine(3);
  const made = await victim.user.send("POST", `/v1/account/${victim.account}/address`, {});
  const onRamp = await fixture.address(ramp.id);
  const send = (destination: unknown) =>
    realm.admin.send("POST", "/v1/transactions", {
      source: { account: ramp.id },
      destination,
      value: "0.1",
    });
  const refused = await send({ account: made.body.id });
  deepEqual([refused.status, refused.body.code], [400, "request.invalid"]);
  equal(refused.body.errors[0].path, "/destination");
  // By its address, it goes where the deposit account's value goes.
  const sent = await send({ address: made.body.address.address });
  deepEqual([sent.status, sent.body.destination.account], [201, victim.account], sent.text);
  const own = await send({ address: onRamp.address });
  match(own.body.errors[0].message, /same account/);
  const blocks = `/v1/accounts/${ramp.id}/blocks`;
  const block = (await realm.admin.send("POST", blocks, { amount: "0.2" })).body.id;
  const captured = await realm.admin.send("POST", `${blocks}/${block}/capture`, {
    destination: { account: made.body.id },
  });
  equal(captured.body.code, "request.invalid");
  equal((await fixture.account(made.body.id)).balance.total, "0");
});

Deno.test("posting functions and tables keep a deposit account's value too, whichever role asks", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const victim = await customer(fixture, ramp.id);
  const deposit = await waiting(fixture, victim);
  const actor = { ...realm.admin.actor, at: Date.now() };
  const asset = { code: "ETH", decimals: 18, testnet: true };
  const types: MoveType[] = [
    "transfer",
    "capture",
    "revert",
    "return",
    "withdrawal",
    "issue",
    "destroy",
  ];
  for (const type of types) {
    for (const force of [true, false]) {
      const world = await realm.command((tx) => counterparty(tx, actor, "world", asset), {
        lockLedger: true,
      });
      const move = { amount: DUST_TEXT, actor: null, mayMoveAny: true, clientIp: null, seal: null };
      const rest = { apiKey: null, data: null, reference: null, extras: null };
      const out = { ...move, ...rest, source: deposit.id, destination: victim.account };
      const into = { ...move, ...rest, source: world, destination: deposit.id };
      const moves = [out, into];
      const posting = realm.command((tx) => applyMoves(tx, moves, { type, force }), {
        lockLedger: true,
      });
      if (force) {
        await rejects(posting, /nothing justifies/, type);
        const booking = bookAsOwner(realm, type, moves);
        if (type === "revert") await rejects(booking, /only linked value is taken back/);
        else deepEqual([...(await booking)!], ["source.deposit", "destination.deposit"], type);
      } else if (type === "transfer") {
        const refused = ["source.deposit", "source.not_found"].map((why) => ({ refused: why }));
        deepEqual(await posting, refused, type);
      } else if (type === "return") await rejects(posting, /nothing justifies/, type);
      else await rejects(posting, /one by one/, type); // and one by one nothing justifies it
    }
  }
  const block = (account: string) =>
    realm.command((tx) =>
      insertBlock(tx, {
        id: crypto.randomUUID(),
        account,
        amount: DUST_TEXT,
        reason: null,
        expires_at: null,
        reference_id: null,
        data: {},
        owner: null,
      }), { lockLedger: true });
  await rejects(block(deposit.id), /accounts_unblocked/);
  const mark = realm.command((tx) =>
    tx`update accounts set is_default = true where id = ${deposit.id}`
  );
  await rejects(mark, /accounts_default_type/);
  equal((await fixture.account(deposit.id)).balance.total, DUST_TEXT);
});

Deno.test("only its holder's own user, or a manager of the realm, moves the default mark", async () => {
  await using realm = await testRealm();
  const { name, account: gold } = await realm.currency("100");
  const victim = await realm.user({ role: "user", scope: "own" });
  const payer = await realm.user({ role: "user", scope: "own" });
  const open = async (user: TestUser, body: Record<string, unknown>) => {
    const made = await user.send("POST", "/v1/accounts", { type: "virtual", asset: name, ...body });
    equal(made.status, 201, made.text);
    await realm.drain();
    return made.body.id as string;
  };
  const own = await open(victim, { default: true });
  await victim.send("POST", "/v1/aliases", {
    alias: "victim",
    type: "identity",
    identity: victim.identity,
  });
  const purse = await open(payer, {});
  const fund = { source: { account: gold }, destination: { account: purse }, value: "50" };
  equal((await realm.admin.send("POST", "/v1/transactions", fund)).status, 201);
  const isDefault = async (id: string) =>
    (await realm.admin.send("GET", `/v1/accounts/${id}`)).body.default;
  const paidTo = async () =>
    (await payer.send("POST", "/v1/transactions", {
      source: { account: purse },
      destination: { alias: "victim" },
      value: "1",
    })).body.destination.account;
  const set = async (user: TestUser, id: string, mark = true) => {
    const { status, body } = await user.send("PATCH", `/v1/accounts/${id}`, { default: mark });
    return `${status} ${body.code ?? body.default}`;
  };
  for (
    const [role, scope, code] of [
      ["user", "own", "permission.role"],
      ["user", "realm", "permission.role"],
      ["manage", "own", "permission.scope"],
      ["admin", "own", "permission.scope"],
    ] as const
  ) {
    const agent = await realm.user({ role, scope });
    const held = { owner: agent.id, holder: victim.identity };
    const account = await open(realm.admin, held);
    equal(await set(agent, account), `403 ${code}`);
    // Deleting and restoring brings no mark either.
    await realm.admin.send("DELETE", `/v1/accounts/${account}`);
    await realm.admin.send("POST", `/v1/accounts/${account}/undelete`);
    const wanted = { type: "virtual", asset: name, default: true, holder: victim.identity };
    equal((await agent.send("POST", "/v1/accounts", wanted)).body.code, code);
    equal(await paidTo(), own);
  }
  equal(await isDefault(own), true);
  const second = await open(victim, {});
  equal(await set(victim, second), "200 true");
  deepEqual([await isDefault(own), await paidTo()], [false, second]);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  equal(await set(manager, own), "200 true");
  equal(await paidTo(), own);
  // An agent's default account cannot be taken away either.
  const agent = await realm.user({ role: "user", scope: "own" });
  const marked = { owner: agent.id, holder: victim.identity, default: true };
  const agents = await open(realm.admin, marked);
  equal(await set(agent, agents, false), "403 permission.role");
  equal(await isDefault(agents), true);
  equal((await realm.admin.send("DELETE", `/v1/accounts/${own}`)).status, 409, "it holds value");
  equal((await realm.admin.send("DELETE", `/v1/accounts/${agents}`)).status, 200);
  equal((await realm.admin.send("POST", `/v1/accounts/${agents}/undelete`)).body.default, false);
});

test("only a virtual account is a default", async (fixture) => {
  const { realm } = fixture;
  const ramp = await fixture.ramp();
  const victim = await customer(fixture, ramp.id, { default: true });
  const made = await victim.user.send("POST", `/v1/account/${victim.account}/address`, {});
  for (const id of [made.body.id, ramp.id]) {
    for (const user of [victim.user, realm.admin]) {
      const { status, body } = await user.send("PATCH", `/v1/accounts/${id}`, { default: true });
      const unseen = user !== realm.admin && id === ramp.id;
      deepEqual(
        [status, body.code],
        unseen ? [404, "account.not_found"] : [400, "request.invalid"],
      );
    }
  }
  const fields = { asset: "ETH", testnet: true, default: true };
  for (const type of ["ramp", "deposit"]) {
    const body = { ...fields, type, ...(type === "deposit" ? { ramp: ramp.id } : {}) };
    const { body: refused } = await realm.admin.send("POST", "/v1/accounts", body);
    deepEqual([refused.code, refused.errors?.[0].path], ["request.invalid", "/default"]);
  }
  equal((await fixture.account(victim.account)).default, true);
});

test("a deposit account takes no ramp, no watched address, no other owner or holder", async (fixture) => {
  const ramp = await fixture.ramp();
  const victim = await customer(fixture, ramp.id);
  const made = await victim.user.send("POST", `/v1/account/${victim.account}/address`, {});
  const change = async (body: unknown) =>
    (await victim.user.send("PATCH", `/v1/accounts/${made.body.id}`, body)).status;
  deepEqual(
    await Promise.all([{ ramp: ramp.id }, { owner: victim.user.id }, { holder: "x" }].map(change)),
    [400, 400, 400],
  );
  equal(await change({ data: { note: "n" } }), 200);
  const linked = await fixture.realm.admin.send(
    "POST",
    `/v1/accounts/${made.body.id}/assign/${rich(6).address}`,
  );
  ok(linked.status >= 400, linked.text);
});

/** A customer with an account that the house opened on its ramp. */
interface Customer {
  user: TestUser;
  account: string;
}

async function customer(
  fixture: RampFixture,
  ramp: string,
  more: Record<string, unknown> = {},
): Promise<Customer> {
  const { realm } = fixture;
  const user = await realm.user({ role: "user", scope: "own" });
  const fields = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const belongs = { owner: user.id, holder: user.identity };
  const made = await realm.admin.send("POST", "/v1/accounts", { ...fields, ...belongs, ...more });
  equal(made.status, 201, made.text);
  await realm.drain();
  return { user, account: made.body.id };
}

async function addressOf({ user, account }: Customer): Promise<string> {
  const made = await user.send("POST", `/v1/account/${account}/address`, {});
  equal(made.status, 201, made.text);
  return made.body.address.address;
}

/** A deposit account of a customer with something on it that waits. */
async function waiting(fixture: RampFixture, { account }: Customer): Promise<{ id: string }> {
  const deposit = await fixture.address(account);
  await fixture.anvil.pool({ to: deposit.address, value: DUST });
  await fixture.mine(3);
  return deposit;
}

async function transactionsOf(user: TestUser) {
  return (await user.send("GET", "/v1/transactions/all?scope=incoming")).body;
}
