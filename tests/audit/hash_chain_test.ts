import { deepEqual, equal, notEqual } from "node:assert/strict";
import { canonical } from "../../domain/canonical_json.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { createLinker, GENESIS } from "../../domain/audit/chain_links.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";

const seal = (realm: TestRealm) => extendHashChain(realm.pool, Date.now);

/** A currency, two accounts and a number of transfers between them. */
async function fixture(realm: TestRealm, count: number) {
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const move = (extra: Record<string, unknown> = {}) =>
    realm.admin.send("POST", "/v1/transactions", {
      source: { account },
      destination: { account: other },
      value: "1",
      ...extra,
    });
  for (let i = 0; i < count; i++) equal((await move()).status, 201);
  return { account, other, move };
}

/** Numbers in the chain of transactions, in the order of the chain. */
async function numbers(realm: TestRealm): Promise<number[]> {
  const rows = await rowsOf<{ seq: string }>(
    realm,
    "select seq from chain_links where transaction is not null order by seq",
  );
  return rows.map((row) => Number(row.seq));
}

Deno.test("transactions are linked in the order of commit, numbered without gaps", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm, 3);
  const last = (await move({ seal: { z: 1.10, a: "é" }, reference: "r" })).body;
  deepEqual([last.seq, last.hash], [null, null]);
  const before = (await realm.admin.send("GET", "/v1/transactions/head")).body;
  deepEqual([before.seq, before.hash], [0, null]);
  equal(await seal(realm), 5);
  equal(await seal(realm), 0);
  const head = (await realm.admin.send("GET", "/v1/transactions/head")).body;
  const shown = (await realm.admin.send("GET", `/v1/transactions/${last.id}`)).body;
  equal(shown.seq, (await numbers(realm))[4]);
  deepEqual(head.unsealed, 0);
  const [{ gaps, links }] = await rowsOf<{ gaps: boolean; links: number }>(
    realm,
    "select count(*) <> max(seq) as gaps, count(*)::int as links from chain_links",
  );
  deepEqual([gaps, head.seq], [false, links]);
  equal(before.unsealed < links, true, "the audit trail's last line is named besides");
  const order = await rowsOf<{ same: boolean }>(
    realm,
    `select array_agg(s.transaction order by s.seq) = array_agg(t.id order by t.id) as same
      from chain_links s join transactions t on t.id = s.transaction`,
  );
  equal(order[0].same, true);
  deepEqual((await realm.admin.send("GET", "/v1/transactions/verify")).body, {
    valid: true,
    checked: links,
    archived: 0,
    head: { seq: links, hash: head.hash },
    break: null,
    next: null,
  });
});

Deno.test("the chain can be recomputed from the answers of the API", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm, 2);
  const seal_ = `{"z":1.000000000000000001,"a":[1.50,"\\u00e9"]}`;
  const text = (await move()).text;
  equal(text.includes('"seq":null'), true);
  const { account, other } = await fixture(realm, 1);
  const body = `{"source":{"account":"${account}"},"destination":{"account":"${other}"},` +
    `"value":"2.50","reference":"x \\"y\\"","seal":${seal_}}`;
  equal((await realm.admin.send("POST", "/v1/transactions", body)).status, 201);
  await seal(realm);
  const answer = await realm.admin.send("GET", "/v1/transactions/chain?after=0");
  const link = createLinker(GENESIS);
  let seq = 0;
  let transactions = 0;
  for (const shown of parseStoredJson(answer.text) as Record<string, never>[]) {
    equal(shown.seq, ++seq);
    const { hash, source, destination, ...rest } = shown;
    const endpoints = source === undefined ? {} : {
      source: (source as { account: string }).account,
      destination: (destination as { account: string }).account,
    };
    if (source !== undefined) transactions++;
    equal(link(canonical({ ...rest as Record<string, unknown>, ...endpoints })), hash);
  }
  equal(transactions, 7);
  const part = await realm.admin.send("GET", "/v1/transactions/chain?after=2&limit=2");
  deepEqual(part.body.map((each: { seq: number }) => each.seq), [3, 4]);
});

/** A salt that no link has. */
const ONES = "decode(repeat('01', 16), 'hex')";

Deno.test("verify names the first break: a change, a gap, a missing line, another head", async () => {
  await using realm = await testRealm();
  await fixture(realm, 6);
  await seal(realm);
  const verify = async (query = "") =>
    (await realm.admin.send("GET", `/v1/transactions/verify${query}`)).body;
  const broken = async (query = "") => {
    const { valid, break: found, checked } = await verify(query);
    equal(valid, false);
    return [found.seq, found.reason, checked];
  };
  const at = (seq: number) => `(select transaction from chain_links where seq = ${seq})`;
  const [, two, three, four, five, six, last] = await numbers(realm);
  const links = (await verify()).checked;
  await tamper(realm, `update transactions set amount = amount + 1 where id = ${at(four)}`);
  deepEqual(await broken(), [four, "hash_mismatch", four - 1]);
  deepEqual(await broken(`?from=${four}`), [four, "hash_mismatch", 0]);
  equal((await verify(`?to=${three}`)).valid, true);
  equal((await verify(`?from=${five}`)).valid, true);
  await tamper(realm, `update transactions set amount = amount - 1 where id = ${at(four)}`);
  equal((await verify()).valid, true);
  await tamper(realm, `update transactions set testnet = not testnet where id = ${at(six)}`);
  deepEqual(await broken(), [six, "hash_mismatch", six - 1]);
  await tamper(realm, `update transactions set testnet = not testnet where id = ${at(six)}`);
  await tamper(realm, `update chain_links set salt = ${ONES} where seq = ${six}`);
  deepEqual(await broken(`?from=${six}&to=${last}`), [six, "hash_mismatch", 0]);
  deepEqual(await broken(`?to=${six}`), [six, "hash_mismatch", six - 1]);
  await tamper(realm, "update chain_head set hash = decode(repeat('01', 32), 'hex')");
  deepEqual(await broken(`?from=${six + 1}`), [links, "head_mismatch", links - six]);
  await tamper(realm, `delete from transactions where id = ${at(five)}`);
  deepEqual(await broken(), [five, "transaction_missing", five - 1]);
  const events = `(select event from chain_links where seq = ${two - 1})`;
  await tamper(realm, `delete from ledger_events where id = ${events}`);
  deepEqual(await broken(), [two - 1, "event_missing", two - 2]);
  await tamper(realm, `delete from chain_links where seq = ${two - 1}`);
  deepEqual(await broken(), [two - 1, "seq_missing", two - 2]);
  deepEqual(await broken(`?from=${two}&to=${two}`), [two - 1, "seq_missing", 0]);
});

Deno.test("verify and chain take the scope realm; head is for every user of the realm", async () => {
  await using realm = await testRealm();
  const own = await realm.user();
  const reader = await realm.user({ scope: "realm" });
  for (const path of ["/v1/transactions/verify", "/v1/transactions/chain"]) {
    const refused = await own.send("GET", path);
    deepEqual([refused.status, refused.body.code], [403, "permission.scope"]);
    equal((await reader.send("GET", path)).status, 200);
    equal((await realm.nobody("GET", path)).status, 401);
  }
  const head = (await own.send("GET", "/v1/transactions/head")).body;
  deepEqual([head.seq, head.hash], [0, null]);
  deepEqual((await reader.send("GET", "/v1/transactions/verify")).body.valid, true);
  for (const query of ["from=0", "to=x", "from=-1", "color=red"]) {
    const { status, body } = await reader.send("GET", `/v1/transactions/verify?${query}`);
    deepEqual([status, body.code], [400, "query.invalid"], query);
  }
});

Deno.test("several processes extend the chain beside traffic without gaps, forks or waiting", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm, 0);
  let posting = true;
  const sealers = [1, 2, 3].map(async () => {
    let count = 0;
    while (posting) {
      count += await seal(realm);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return count;
  });
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(Array.from({ length: 40 }, () => move()));
    equal(answers.every((answer) => answer.status === 201), true);
  }
  posting = false;
  const linked = (await Promise.all(sealers)).reduce((a, b) => a + b) + await seal(realm);
  equal(linked, 401);
  const { body } = await realm.admin.send("GET", "/v1/transactions/verify");
  const transactions = (await numbers(realm)).length;
  deepEqual([body.valid, transactions, body.checked > 401], [true, 401, true]);
});

Deno.test("a sealer that dies in the middle leaves nothing behind", async () => {
  await using realm = await testRealm();
  await fixture(realm, 2);
  const { appendLinks } = await import("../../domain/audit/hash_chain.ts");
  await realm.pool.sql
    .begin(async (tx) => {
      equal((await appendLinks(tx, { at: Date.now() }, 100))!.transactions, 3);
      throw new Error("killed");
    }).catch((error) => equal(error.message, "killed"));
  equal((await realm.admin.send("GET", "/v1/transactions/head")).body.seq, 0);
  equal(await seal(realm), 3);
});

Deno.test("transaction.created is emitted in order, and only while a listener exists", async () => {
  await using realm = await testRealm();
  const { move } = await fixture(realm, 1);
  await seal(realm);
  const told = () =>
    rowsOf<{ entity: string; owner: string; payload: { id: string; seq: number; hash: string } }>(
      realm,
      "select entity, owner, payload from events where type = 'transaction.created' order by id",
    );
  equal((await told()).length, 0);
  await rowsOf(realm, "insert into event_listeners values ('transaction.created', 'infinity')");
  const ids = [(await move()).body.id, (await move()).body.id];
  await seal(realm);
  const events = await told();
  deepEqual(events.map((event) => event.entity), ids);
  deepEqual(events.map((event) => event.owner), [realm.admin.id, realm.admin.id]);
  deepEqual(events.map((event) => event.payload.seq), (await numbers(realm)).slice(-2));
  notEqual(events[1].payload.hash, null);
});

Deno.test("the ledger is append-only, for the realm's role and for the owner of the tables", async () => {
  await using realm = await testRealm();
  await fixture(realm, 1);
  await seal(realm);
  const { schema } = (await realm.services.realms.find(realm.id))!.location;
  const tables = [
    "transactions",
    "entries",
    "chain_links",
    "account_states",
    "currency_issues",
    "ledger_events",
  ];
  for (const table of tables) {
    const [column] = await rowsOf<{ name: string }>(
      realm,
      `select attname as name from pg_attribute where attrelid = '${table}'::regclass and attnum = ${
        table === "ledger_events" ? 2 : 1
      }`,
    );
    for (
      const change of [
        `update ${table} set ${column.name} = ${column.name}`,
        `delete from ${table}`,
        `truncate ${table} cascade`,
      ]
    ) {
      const byRole = await realm.pool.sql.unsafe(change).then(() => "done", (error) => error.code);
      equal(byRole, "42501", `role: ${change}`);
      const byOwner = await realm.database.platform.sql.begin(async (tx) => {
        await tx`set local search_path to ${tx(schema)}`;
        await tx.unsafe(change);
      }).then(() => "done", (error) => error.code);
      equal(byOwner, "23001", `owner: ${change}`);
    }
  }
});

Deno.test("a page of the chain ends where it would be too large, and the next one goes on behind it", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const item = {
    source: { account },
    destination: { account: other },
    value: "1",
    seal: { text: "a".repeat(60_000) },
  };
  for (let i = 0; i < 2; i++) {
    const body = { atomic: true, transactions: Array(80).fill(item) };
    const made = await realm.admin.send("POST", "/v1/transactions/batch", body);
    equal(made.status, 201);
  }
  await seal(realm);
  const { body: head } = await realm.admin.send("GET", "/v1/transactions/head");
  const lengths = [];
  const seqs: number[] = [];
  for (;;) {
    const path = `/v1/transactions/chain?after=${seqs.at(-1) ?? 0}`;
    const { text, body } = await realm.admin.send("GET", path);
    equal(text.length < 9 * 1024 * 1024, true);
    if (body.length === 0) break;
    lengths.push(body.length);
    for (const link of body) seqs.push(link.seq);
  }
  equal(lengths.length, 2, `${lengths}`);
  deepEqual(seqs, Array.from({ length: head.seq }, (_, i) => i + 1));
});
