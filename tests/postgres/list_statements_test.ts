/**
 * No path sends a statement for each item: every GET of the document is asked for before and after its tables have
 * grown, and the requests that take or end several things with few of them and with many.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import postgres from "postgres";
import type { Pool } from "../../db/database.ts";
import type { UnprovenRow } from "../../db/accounts/own_addresses.ts";
import { type LedgerTx, serializable } from "../../db/transaction.ts";
import { proveAddresses } from "../../domain/deposits/address_handout.ts";
import { takeUpWaiting } from "../../domain/messages/sending.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { quarantine } from "../../domain/sending/quarantine.ts";
import { copyRows } from "../support/copied_rows.ts";
import { superuserUrl } from "../support/database.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import {
  leaveBroken,
  PASSWORD,
  rowsOf,
  type Send,
  type TestRealm,
  testRealm,
} from "../support/realm.ts";
import { BESIDE } from "../support/statement_texts.ts";

/** Rows that every table grows to. */
const ROWS = 12;
/** Tables whose rows cannot be copied without a change of meaning. */
const STATIC = [
  ...["batches", "chain_blocks", "chain_cursors", "chain_head", "coin_rounds", "leases"],
  ...["migrations", "nonces", "revocations", "secrets"],
  ...["persons", "person_contacts"],
];
/** Parameters that a route does not answer without. */
const ASKED: Readonly<Record<string, string>> = {
  "/v1/search": "q=a",
  "/v1/chains/history": "chain=ETHEREUM&testnet=true",
  "/v1/solvency/history": "asset=ETH&testnet=true",
};
/** What lists may show in place of ids. */
const POPULATED: Readonly<Record<string, string>> = {
  "/v1/accounts/all": "holder,owner,ramp",
  "/v1/aliases/all": "account,identity",
  "/v1/apps/deposit/all": "source.account,destination.account",
  "/v1/currencies/all": "account",
  "/v1/deposits/all": "source.account,destination.account",
  "/v1/transactions/all": "source.account,destination.account",
  "/v1/withdrawals/all": "source.account,destination.account",
};
/** Lists that show more after the tables have grown; others have no rows to copy, or show a page of fewer. */
const GROWN = [
  ...[
    "accounts",
    "aliases",
    "apps/deposit",
    "currencies",
    "deposits",
    "fungible/token",
    "identities",
  ],
  ...["keys", "messages", "stops", "transactions", "users", "webhooks", "withdrawals"],
].map((list) => `/v1/${list}/all`).concat(
  ["auth/logins", "audit", "deposits/unmatched", "identities/companies", "identities/persons"]
    .map((list) => `/v1/${list}`),
);
/** A stream, which has no end; the list of the same events is read. */
const ENDLESS = "/v1/events";
const SECRET = "a secret of the provider's";

interface Counted {
  send: Send;
  as(key: string): Send;
  nobody: Send;
  pool: Pool;
  /** The statements of a request, and how many items it showed. */
  ask(path: string): Promise<{ status: number; text: string; items: number; sent: string[] }>;
  during(work: () => Promise<unknown>): Promise<string[]>;
}

function count(realm: TestRealm, env: Record<string, string> = {}) {
  let sent: string[] = [];
  const hear = (text: string) => void sent.push(text.replaceAll(/\s+/g, " ").trim());
  const process = realm.another(env, hear);
  const send = process.send(realm.admin.key);
  const during = async (work: () => Promise<unknown>) => {
    const own: string[] = sent = [];
    await work();
    sent = [];
    return own.filter((text) => !BESIDE.test(text));
  };
  const counted: Counted & AsyncDisposable = {
    send,
    as: process.send,
    nobody: process.send(null),
    pool: process.database.working(locationOf(realm.made.realm)),
    during,
    async ask(path) {
      await send("GET", path); // fills the caches of the process
      let status = 0, text = "", items = 0;
      const own = await during(async () => {
        const answer = await send("GET", path);
        ({ status, text } = answer);
        items = itemsOf(answer.body);
      });
      return { status, text, items, sent: own };
    },
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
  return counted;
}

async function logIn(realm: TestRealm) {
  const answer = await realm.nobody("POST", "/v1/auth/admins/login", {
    realm_key: realm.made.realm.realm_key,
    email: "admin@test.example",
    password: PASSWORD,
  }, { "x-api-key": realm.made.applicationKey });
  equal(answer.status, 200, answer.text);
  return answer;
}

/** Adds what cannot be copied: what is encrypted for its row, or stands in a chain. */
async function addOne(realm: TestRealm, { from, to }: { from: string; to: string }): Promise<void> {
  const { send } = realm.admin;
  const contactInformation = { email: [{ address: `${crypto.randomUUID()}@example.com` }] };
  const bodies: Record<string, unknown> = {
    "/v1/identities/person": { person: { firstName: "A", contactInformation } },
    "/v1/keys": { name: crypto.randomUUID() },
    "/v1/transactions": { source: { account: from }, destination: { account: to }, value: "1" },
  };
  for (const [path, body] of Object.entries(bodies)) {
    const { status, text } = await send("POST", path, body);
    equal(status, 201, text);
  }
  await logIn(realm);
}

function itemsOf(body: unknown): number {
  const rows = Array.isArray(body) ? body : (body as { rows?: unknown[] } | null)?.rows;
  return rows?.length ?? 0;
}

/** Makes one or two of everything that lists show. */
async function live({ realm, anvil, ...fixture }: RampFixture) {
  const { send } = realm.admin;
  const post = async (path: string, body: unknown) => {
    const answer = await send("POST", path, body);
    ok(answer.status < 300, `${path} ${answer.text}`);
    return answer.body;
  };
  const { name, account } = await realm.currency("100000");
  const other = await realm.account({ asset: name });
  await addOne(realm, { from: account, to: other });
  await post(`/v1/accounts/${account}/blocks`, { amount: "5" });
  await post("/v1/aliases", { type: "account", alias: "savings", account });
  await realm.user();
  await post("/v1/webhooks", { url: "https://receiver.test/", events: ["deposit.confirmed"] });
  await post("/v1/stops", { what: "signing", reason: "drill" });
  const email = { to: "somebody@example.com", content: { subject: "a", text: "b" } };
  await post("/v1/apps/message/email", email);
  await post("/v1/identities/companies", { name: "A company" });
  const ramp = await fixture.ramp();
  const { address } = await fixture.address(ramp.id);
  await anvil.pool({ to: address, value: 10n ** 18n });
  await anvil.pool({ to: ramp.address, value: 10n ** 19n });
  for (let round = 0; round < 2; round++) await fixture.mine(3);
  const served = { type: "virtual", asset: "ETH", testnet: true, ramp: ramp.id };
  const destination = (await post("/v1/accounts", served)).id;
  await realm.drain();
  await post("/v1/apps/deposit", { destination: { account: destination }, asset: "ETH" });
  await realm.drain();
  await post("/v1/withdrawals", {
    source: { account: ramp.id },
    destination: { address: OUTSIDE },
    value: "0.5",
  });
  await realm.drain();
  await rowsOf(realm, TOKEN, [name]);
  await rowsOf(realm, DEPLOYED);
  for (const text of [REGISTERED, UNMATCHED]) await rowsOf(realm, text, [name]);
  return { from: account, to: other };
}

/** A token of the realm's own behind a currency, and a deposit of it that its address does not take. */
const TOKEN = `insert into fungible_tokens (id, account, chain, network, symbol, supply, decimals,
    status, external, owner, created_at)
  select gen_random_uuid(), account, 'ETHEREUM', 'test', 'TOKEN_ETH', 100000, 18, 'pending', false,
    owner, created_at from currencies where name = $1`;
const DEPLOYED = "update fungible_tokens set contract = '0x1', status = 'deployed'";
const REGISTERED = `update fungible_tokens set status = 'registered',
  currency = (select id from currencies where name = $1)`;
const UNMATCHED =
  `insert into unmatched_deposits (id, chain, network, hash, index, account, address,
    asset, amount_base, block, created_at)
  select gen_random_uuid(), 'ETHEREUM', 'test', '0x2', 0, account, '0x3', name, 1, 1, created_at
    from currencies where name = $1`;
/** Each copy of a token, of a deposit account and of an unmatched deposit is of an asset of its own. */
const OWN_ASSETS = `
  with c as (select id, name, row_number() over (order by id) as n from currencies),
    t as (select id, row_number() over (order by id) as n from fungible_tokens)
  update fungible_tokens f set currency = c.id, chain = 'ETHEREUM', contract = f.id::text
    from c, t where f.id = t.id and t.n = c.n;
  with c as (select c.name, row_number() over (order by c.id) as n
      from currencies c join fungible_tokens t on t.currency = c.id),
    u as (select id, row_number() over (order by id) as n from unmatched_deposits)
  update unmatched_deposits d set asset = c.name from c, u where d.id = u.id and u.n = c.n;
  with c as (select c.name, row_number() over (order by c.id) as n
      from currencies c join fungible_tokens t on t.currency = c.id),
    a as (select id, row_number() over (order by id) as n from accounts
      where type = 'deposit' or asset like 'ETH-%')
  update accounts d set asset = c.name from c, a
    where d.id = a.id and 1 + a.n % (select count(*) from c) = c.n`;

/** Every GET of the document that this realm answers, with ids of what is there. */
async function pathsOf({ send }: Counted): Promise<string[]> {
  const { paths } = (await send("GET", "/v1/openapi.json")).body;
  const read = Object.keys(paths).filter((path) =>
    paths[path].get !== undefined && path.startsWith("/v1/") && path !== ENDLESS
  );
  const found: string[] = [];
  const ids = new Map<string, string>();
  for (const path of read.filter((path) => !path.includes("{"))) {
    const more = ASKED[path] ?? "scope=all";
    const plain = await send("GET", `${path}?${more}`);
    found.push(plain.status === 200 ? `${path}?${more}` : path);
    if (POPULATED[path]) found.push(`${path}?scope=all&populate=${POPULATED[path]}`);
    const { body } = plain.status === 200 ? plain : await send("GET", path);
    const [first] = Array.isArray(body) ? body : body?.rows ?? [];
    if (first?.id !== undefined) ids.set(path, first.id);
  }
  for (const path of read.filter((path) => path.includes("{"))) {
    const base = path.slice(0, path.indexOf("/{"));
    const id = ids.get(base);
    if (id !== undefined) found.push(path.replaceAll(/\{[^}]+\}/g, id));
  }
  return found;
}

Deno.test("no GET sends more statements for twelve of everything than for one", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const accounts = await live(fixture);
  await leaveBroken(realm); // copies of rows are no ledger
  const { schema } = locationOf(realm.made.realm);
  const sql = postgres(superuserUrl(), {
    max: 1,
    onnotice: () => {},
    connection: { session_replication_role: "replica" },
  });
  await sql.unsafe(`set search_path to ${schema}; ${OWN_ASSETS}`);
  await using process = count(realm);
  const paths = await pathsOf(process);
  const before = new Map<string, Awaited<ReturnType<Counted["ask"]>>>();
  for (const path of paths) before.set(path, await process.ask(path));
  try {
    await copyRows(sql, schema, ROWS, STATIC);
    await sql.unsafe(`set search_path to ${schema}; ${OWN_ASSETS}`);
  } finally {
    await sql.end();
  }
  for (let i = 0; i < ROWS; i++) await addOne(realm, accounts);
  const more: string[] = [], grown: string[] = [];
  for (const path of paths) {
    const [few, many] = [before.get(path)!, await process.ask(path)];
    equal(many.status, few.status, `${path} ${many.text}`);
    if (few.status !== 200) continue;
    if (many.items > few.items) grown.push(path.split("?")[0]);
    if (many.sent.length > few.sent.length) {
      more.push(`${path}: ${few.sent.length}, then ${many.sent.length}\n${many.sent.join("\n")}`);
    }
  }
  deepEqual(GROWN.filter((path) => !grown.includes(path)), [], "lists that did not grow");
  equal(more.join("\n\n"), "");
});

const FEW = 3;
const MANY = 9;
const MAILS = "select count(*)::integer as count from messages where channel = 'email'";

/** A report of a new message, as its provider sends it. */
async function reported(realm: TestRealm): Promise<unknown> {
  const body = { to: `${crypto.randomUUID()}@example.com`, content: { subject: "a", text: "b" } };
  const sent = await realm.admin.send("POST", "/v1/apps/message/email", body);
  const { messageId } = sent.body.messages[0];
  const status = { groupId: 3, groupName: "DELIVERED", id: 5, name: "DELIVERED_TO_HANDSET" };
  return { messageId, callbackData: `purser:${realm.id}:${messageId}`, status };
}

Deno.test("a request that takes or ends several things sends as many statements for nine as for three", async () => {
  await using realm = await testRealm({ env: { INFOBIP_WEBHOOK_SECRET: SECRET } });
  await using process = count(realm, { INFOBIP_WEBHOOK_SECRET: SECRET });
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const asked: Record<string, (n: number) => Promise<() => Promise<unknown>>> = {
    "delivery reports": async (n) => {
      const results = await Promise.all(Array.from({ length: n }, () => reported(realm)));
      const headers = { authorization: `Bearer ${SECRET}` };
      const path = "/v1/messages/webhook/infobip";
      return async () => {
        const { body, text } = await process.nobody("POST", path, { results }, headers);
        equal(body.taken, n, text);
      };
    },
    "ended logins": async (n) => {
      const { body, text } = await logIn(realm);
      for (let i = 0; i < n; i++) await logIn(realm);
      const send = process.as(body["x-api-key"]);
      return async () => ok((await send("DELETE", "/v1/auth/logins")).body.ended >= n, text);
    },
    "messages that waited for a provider": (n) => waiting(n, 0),
    "messages that waited too long": (n) => waiting(n, Date.now() + 60_000),
    "administrators who are told of a webhook": async (n) => {
      await administrators(n);
      await rowsOf(realm, "update webhooks set told_at = null");
      return async () => {
        const [before] = await rowsOf<{ count: number }>(realm, MAILS);
        const hook = { url: "https://receiver.test/", events: ["deposit.confirmed"] };
        const { status, text } = await process.send("POST", "/v1/webhooks", hook);
        equal(status, 201, text);
        const [after] = await rowsOf<{ count: number }>(realm, MAILS);
        equal(after.count - before.count, n);
      };
    },
    "a batch": (n) =>
      Promise.resolve(async () => {
        const transactions = Array.from({ length: n }, () => move);
        const body = { atomic: true, transactions };
        const { status, text } = await process.send("POST", "/v1/transactions/batch", body);
        equal(status, 201, text);
      }),
  };
  async function administrators(n: number): Promise<void> {
    const [{ count }] = await rowsOf<{ count: number }>(
      realm,
      "select count(*)::integer as count from users where 'admin' = any (roles)",
    );
    for (let i = count; i < n; i++) await realm.user({ role: "admin", scope: "realm" });
    await rowsOf(realm, "update users set email = id || '@example.com' where email is null");
  }
  async function waiting(n: number, since: number): Promise<() => Promise<unknown>> {
    for (let i = 0; i < n; i++) await reported(realm);
    await realm.drain(); // their jobs find that the channel has no provider
    const of = { channels: ["email" as const], held: [], since };
    return () =>
      serializable(process.pool, async (tx) => {
        ok(await takeUpWaiting(tx, { ...realm.admin.actor, at: Date.now() }, of) >= n);
      });
  }
  for (const [what, prepare] of Object.entries(asked)) {
    await (await prepare(1))(); // caches and connections
    const sent = await process.during(await prepare(FEW));
    const more = await process.during(await prepare(MANY));
    equal(more.length, sent.length, `${what}\n${more.join("\n")}`);
  }
});

Deno.test("addresses that a worker derives, and ramps that go into quarantine, take as many statements for nine as for three", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  await using process = count(realm);
  const actor = () => ({ ...realm.admin.actor, at: Date.now() });
  const ramps: string[] = [];
  for (let i = 0; i < 1 + FEW + MANY; i++) ramps.push((await fixture.ramp()).id);
  for (let i = 0; i < 1 + FEW + MANY; i++) await fixture.address(ramps[0]);
  const rows = await rowsOf<UnprovenRow & Record<string, unknown>>(
    realm,
    `select a.id, a.ramp, a.asset, a.address, a.derivation_key, a.chain, a.network, r.xpub, r.number
      from addresses a join ramps r on r.account = a.ramp where a.ramp = $1`,
    [ramps[0]],
  );
  const asked: Record<string, (n: number) => Promise<unknown>> = {
    addresses: (n) => {
      const some = rows.splice(0, n);
      equal(some.length, n);
      const work = (tx: LedgerTx) => proveAddresses(tx, actor(), some);
      return serializable(process.pool, work, { lockLedger: true });
    },
    quarantine: (n) => {
      const some = ramps.splice(0, n);
      return serializable(process.pool, async (tx) => {
        deepEqual((await quarantine(tx, actor(), some, "a drill")).toSorted(), some.toSorted());
      });
    },
  };
  for (const [what, work] of Object.entries(asked)) {
    await work(1);
    const few = await process.during(() => work(FEW));
    const many = await process.during(() => work(MANY));
    equal(many.length, few.length, `${what}\n${many.join("\n")}`);
  }
});
