import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { serializable } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import type { JobPayloads } from "../../domain/jobs.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

/** A realm with three accounts, and statements as its API's role sends them. */
async function fixture(realm: TestRealm) {
  const { name, account } = await realm.currency("100");
  const mine = await realm.account({ asset: name, from: account, total: "40" });
  const other = await realm.account({ asset: name, from: account, total: "1" });
  const serving = realm.database.realm(locationOf(realm.made.realm));
  const inject = (text: string) =>
    serializable(serving, async (tx) => await tx.unsafe(text).simple(), { lockLedger: true });
  const held = () => rowsOf(realm, "select id, total, seq from accounts order by id");
  return { account, mine, other, inject, held };
}

const none = (type: string, n: number) => `array_fill(null::${type}, array[${n}])`;
const TAIL = "right(gen_random_uuid()::text, 12)";

/** Moves of 20, posted as a batch. */
function bulk(ids: string[], source: number[], destination: number[]): string {
  return `select refusals from ledger_bulk(gen_random_uuid(), gen_random_uuid(), 'r', null, true,
    ${TAIL}, null, true, null, null, array['${ids.join("','")}']::uuid[], array[${source}],
    array[${destination}], array[20, 20]::numeric[], ${none("jsonb", 2)}, ${none("jsonb", 2)},
    ${none("text", 2)}, ${none("jsonb", 2)})`;
}

const test = sharing("rights lists in one realm");

test("a posting that names an account twice makes no value", async (realm) => {
  const { account, mine, other, inject, held } = await fixture(realm);
  const before = await held();
  const twice = [mine, mine, account, other];
  // The entries that would have the same number are sent to another account by longer lists.
  for (const text of [bulk(twice, [1, 3, 3, 4], [3, 2]), bulk(twice, [2, 3, 3, 4], [3, 1])]) {
    await rejects(inject(text), /positions begin with 1/, text);
  }
  for (const text of [bulk(twice, [1, 3], [3, 2]), bulk(twice, [2, 3], [3, 1])]) {
    await rejects(inject(text), /each account is named once|duplicate key/, text);
  }
  deepEqual(await held(), before);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("no head of an id carries the ledger's time away, forwards or back", async (realm) => {
  const { account, mine, inject, held } = await fixture(realm);
  const before = await held();
  const [low, high] = [account, mine].sort();
  const post = (head: string, tail: string) =>
    `select stamp from ledger_post('transfer', true, ${head}, ${tail},
      array['${low}', '${high}']::uuid[], array[1], array[2], array[1]::numeric[], ${
      none("uuid", 1)
    },
      array[true], ${none("inet", 1)}, ${none("uuid", 1)}, ${none("jsonb", 1)}, ${none("jsonb", 1)},
      ${none("text", 1)}, ${none("jsonb", 1)})`;
  const head = (offsetMs: number) => `lpad(to_hex(database_ms() + ${offsetMs}), 12, '0') || '7000'`;
  for (
    const text of [
      post(head(-86_400_000), TAIL),
      post(`'{' || ${head(-86_400_000)}`, `${TAIL} || '}'`), // another spelling sorts behind all
      post(`upper('${"f".repeat(12)}7000')`, TAIL),
      post(head(120_000), TAIL),
    ]
  ) await rejects(inject(text), /ids are given by the ledger/, text);
  deepEqual(await held(), before);
  for (let times = 0; times < 3; times++) {
    const ahead = `lpad(to_hex(id_ms(ledger_newest()) + 50000), 12, '0') || '7000'`;
    await inject(post(ahead, TAIL)).catch(() => {});
  }
  const [{ ahead }] = await rowsOf<{ ahead: boolean }>(
    realm,
    "select id_ms(ledger_newest()) > database_ms() + 60000 as ahead",
  );
  equal(ahead, false, "one step does not lead to the next");
});

test("an injected line of the trail takes no place in its chain", async (realm) => {
  const { inject } = await fixture(realm);
  const line = (columns: string, values: string) =>
    inject(`insert into audit (id, action, request_id, created_at${columns})
      values (gen_random_uuid(), 'x', 'r', now()${values})`);
  await rejects(line(", seq, hash", ", 9223372036854775807, sha256('x')"), /permission denied/);
  await line("", "");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("an injected job moves nothing, and a statement ends or holds none that waits", async (realm) => {
  const { mine, inject, held } = await fixture(realm);
  const before = await held();
  for (
    const text of [
      "update jobs set state = 'done'",
      "update jobs set run_at = 'infinity'",
      "delete from jobs",
      "insert into jobs (id, name, payload, state) values (gen_random_uuid(), 'x', '{}', 'running')",
      "insert into leases values ('seal', gen_random_uuid(), 'infinity', 'infinity')",
      "update leases set until = 'infinity'",
      "insert into event_listeners values ('transaction.created', 'infinity')",
    ]
  ) await rejects(inject(text), /permission denied/, text);
  const id = crypto.randomUUID();
  const jobs: JobPayloads = {
    "account.enable": { account: mine },
    "order.advance": { order: id, version: 1 },
    "ramp.open": { account: mine },
    "ramp.reserve": { account: mine },
    "token.check": { token: id },
    "deposit.sweep": { account: mine },
    "deposit.swept": { sweep: id },
    "exchange.advance": { transfer: id },
    "exchange.check": { ramp: id },
    "persons.sync": { sync: id },
    "message.send": { message: id, attempt: 1 },
    "deposit.rescan": { chain: "ETHEREUM", testnet: true, hash: "0x00" },
  };
  for (const [name, payload] of Object.entries(jobs)) {
    await inject(`insert into jobs (id, name, payload, run_at)
      values (gen_random_uuid(), '${name}', '${JSON.stringify(payload)}', now())`);
  }
  await realm.drain();
  const rows = await rowsOf<{ attempts: number }>(realm, "select attempts from jobs");
  ok(rows.length >= 8 && rows.every(({ attempts }) => attempts > 0));
  deepEqual(await held(), before);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("a statement injected into a worker deletes no seed, order, address or record of a payment", async (realm) => {
  for (
    const text of [
      "update secrets set wrapped = ''",
      "update addresses set address = 'mine'",
      "update row_counts set living = 0",
      "delete from hourly_flows",
      "update hourly_flows set hour = hour",
      "update solvency_samples set drift = 0",
      "update chain_samples set healthy = true",
      ...[
        "secrets",
        "chain_orders",
        "order_attempts",
        "nonces",
        "withdrawals",
        "ramps",
        "addresses",
      ]
        .map((table) => `delete from ${table}`),
      ...["reserved_addresses", "sweeps", "consolidations", "events", "solvency", "attestations"]
        .map((table) => `delete from ${table}`),
    ]
  ) await rejects(async () => await realm.pool.sql.unsafe(text), /permission denied/, text);
  const event = `insert into events (type, entity, payload, created_at)
    values ('stop.set', gen_random_uuid(), '{"moves": true}', now());`;
  for (const payload of ["'{}'", "json_build_object('id', entity)"]) {
    const text = `${event} update events set payload = ${payload}`;
    await rejects(async () => await realm.pool.sql.unsafe(text), /append-only/, text);
  }
});
