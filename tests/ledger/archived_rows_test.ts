/** Rows beside the ledger that name archived transactions, and what may not be archived. @module */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { archivePart } from "../../db/ledger/archives.ts";
import { inStep } from "../../db/ledger/parts.ts";
import { writing } from "../../db/transaction.ts";
import { checkLedger, checkWithin } from "../../domain/audit/ledger_check.ts";
import { idFrom } from "../../domain/ids.ts";
import { attachNewest } from "../../workers/archive/archiving.ts";
import { archivedTransactions } from "../../workers/archive/proofs.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import {
  agedRealm,
  archiveInto,
  archiveOne,
  asOwner,
  BOUNDS,
  endPart,
  forgetKeys,
  liveAt,
} from "../support/archives.ts";
import { missCoins } from "../support/busy_realm.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { tamper, tampering } from "../support/tamper.ts";

const DAY_MS = 86_400_000;
const ZEROS = "00".repeat(32);

async function sound(realm: TestRealm, folder: string): Promise<void> {
  await extendHashChain(realm.pool, Date.now);
  const files = archivedTransactions(realm.pool, realm.id, { folder, identities: null });
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  deepEqual((await checkLedger(realm.pool, undefined, undefined, files)).mismatches, []);
}

/** A record of what was written off that differs from its archived transaction is found. */
async function assertLossesCompared(realm: TestRealm, folder: string): Promise<void> {
  for (const sql of ["update write_offs set height = height + 1", "delete from write_offs"]) {
    const { mismatches } = await tampering(realm, [sql], (tx) => {
      const files = archivedTransactions(realm.pool, realm.id, { folder, identities: null });
      return checkWithin(tx, undefined, undefined, files);
    });
    deepEqual(mismatches.map(({ code }) => code), ["archive.rows"], sql);
  }
}

Deno.test("captures, issues, losses, data and reverts that name archived transactions are shown, and no false alarm", async () => {
  await using realm = await testRealm();
  const folder = await Deno.makeTempDir();
  const send = async (path: string, body?: unknown) => {
    const answer = await realm.admin.send("POST", path, body);
    ok(answer.status < 300, answer.text);
    return answer.body;
  };
  const found = { block: "", capture: "", reverted: "", issued: "" };
  const acts = [
    async () => {
      const [{ id, account }] = (await realm.admin.send("GET", "/v1/currencies")).body.rows;
      const blocks = `/v1/accounts/${account}/blocks`;
      const block = await send(blocks, { amount: "5" });
      const to = await realm.account({ asset: await nameOf(id) });
      const captured = await send(`${blocks}/${block.id}/capture`, {
        destination: { account: to },
        amount: "2",
      });
      await send(blocks, { amount: "20" }); // stays open over all parts
      const move = { source: { account }, destination: { account: to }, value: "3" };
      // Characters that the text form of a file escapes.
      const odd = await send("/v1/transactions", {
        ...move,
        reference: "tab\tline\nback\\slash",
        seal: { n: "a\\b\t\n\u2028", big: 1e21, z: null },
        data: { beside: "it" },
      });
      Object.assign(found, {
        block: `${blocks}/${block.id}`,
        capture: captured.id,
        reverted: odd.id,
      });
      await send(`/v1/currencies/${id}/issue`, { amount: "7" });
      const [{ issue }] = await rowsOf<{ issue: string }>(
        realm,
        "select transaction as issue from currency_issues order by transaction desc limit 1",
      );
      found.issued = issue;
      await send(`/v1/currencies/${id}/destroy`, { amount: "3" });
      await missCoins(realm);
      await send("/v1/solvency/write-off", { asset: "BTC", amount: "0.25", reason: "r" });
    },
    async () => {
      await send(`/v1/transactions/${found.reverted}/revert`, {});
      await send(`/v1/transactions/${found.issued}/revert`, {});
    },
  ];
  async function nameOf(id: string): Promise<string> {
    return (await realm.admin.send("GET", `/v1/currencies/${id}`)).body.name;
  }
  await agedRealm(realm, async (part) => await acts[part]?.());
  await archiveOne(realm, folder);
  await sound(realm, folder);
  await assertLossesCompared(realm, folder);
  const block = await realm.admin.send("GET", found.block);
  deepEqual([block.status, block.body.status], [200, "CAPTURED"]);
  equal((await realm.admin.send("GET", `/v1/transactions/${found.capture}`)).status, 410);
  const again = await realm.admin.send("POST", `/v1/transactions/${found.reverted}/revert`, {});
  equal(again.body.code, "transaction.archived");
  await archiveOne(realm, folder);
  await sound(realm, folder);
});

Deno.test("a supply that a hand changes is found, also with a note of a destruction that names an archived transfer", async () => {
  await using realm = await testRealm();
  await agedRealm(realm);
  await archiveOne(realm, await Deno.makeTempDir());
  await extendHashChain(realm.pool, Date.now);
  const { mismatches } = await tampering(realm, [
    "update currencies set supply = supply - 40",
    `insert into currency_issues (transaction, currency, operation, amount, account, created_at)
      select (select l.transaction from chain_links l where is_archived(l.transaction)
          and not exists (select from currency_issues i where i.transaction = l.transaction) limit 1),
        c.id, 'destroy', 40, c.account, c.created_at from currencies c`,
  ], checkWithin);
  deepEqual(mismatches.map(({ code }) => code), ["currency.supply", "archive.issues"]);
});

Deno.test("a note of an archived issue that a hand adds, changes or deletes is found, also where a token's value comes from a chain", async () => {
  await using realm = await testRealm();
  const { name } = await agedRealm(realm);
  const of = `select c.* from currencies c where c.name = '${name}'`;
  await rowsOf(
    realm,
    `insert into fungible_tokens (id, account, chain, network, symbol, supply, decimals, status,
        external, owner, created_at)
      select gen_random_uuid(), account, 'ETHEREUM', 'main', 'GOLD_ETH', supply, 18, 'pending', false,
        owner, created_at from (${of}) c`,
  );
  await rowsOf(realm, "update fungible_tokens set contract = '0x1', status = 'deployed'");
  await rowsOf(
    realm,
    `update fungible_tokens set currency = c.id, status = 'registered' from (${of}) c`,
  );
  await archiveOne(realm, await Deno.makeTempDir());
  await archiveOne(realm, await Deno.makeTempDir());
  await extendHashChain(realm.pool, Date.now);
  const codesAfter = async (...statements: string[]) =>
    (await tampering(realm, statements, checkWithin)).mismatches.map(({ code }) => code);
  deepEqual(await codesAfter(), []);
  const lower = "update currencies set supply = supply - 40";
  const add = (bound: string) =>
    `insert into currency_issues (transaction, currency, operation, amount, account, created_at)
      select (select l.transaction from chain_links l where is_archived(l.transaction)
          and l.transaction ${bound} and not exists (
            select from currency_issues i where i.transaction = l.transaction) limit 1),
        c.id, 'destroy', 40, c.account, c.created_at from (${of}) c`;
  for (const bound of [`< '${idFrom(BOUNDS[0])}'`, `>= '${idFrom(BOUNDS[0])}'`]) {
    deepEqual(await codesAfter(lower, add(bound)), ["archive.issues"]);
  }
  deepEqual(await codesAfter(lower, "update currency_issues set amount = amount - 40"), [
    "archive.issues",
  ]);
  deepEqual(await codesAfter("update currency_issues set account = gen_random_uuid()"), [
    "archive.issues",
  ]);
  const none = ["update currencies set supply = 0", "delete from currency_issues"];
  deepEqual(await codesAfter(...none), ["archive.issues"]);
});

Deno.test("an empty part is archived, first or later", async () => {
  await using realm = await testRealm();
  const folder = await Deno.makeTempDir();
  await liveAt(realm, BOUNDS[0] - DAY_MS);
  await endPart(realm, BOUNDS[0]);
  const { name, account } = await realm.currency("10");
  await realm.account({ asset: name, from: account, total: "3" });
  await extendHashChain(realm.pool, Date.now);
  await liveAt(realm, null);
  await forgetKeys(realm, Date.now());
  const empty = await archiveOne(realm, folder);
  deepEqual([empty.transactions, empty.entries], [0, 0]);
  const [{ hash }] = await rowsOf<{ hash: string }>(
    realm,
    "select encode(last_hash, 'hex') as hash from archived_parts",
  );
  equal(hash, ZEROS);
  await sound(realm, folder);
});

Deno.test("nothing is archived that is young, not the oldest, kept under a key, or without its link, by the command or by hand", async () => {
  await using realm = await testRealm();
  const folder = await Deno.makeTempDir();
  await agedRealm(realm);
  const by = (bound: number) =>
    asOwner(
      realm,
      (owner) => inStep(owner, (tx) => archivePart(tx, idFrom(bound), "ab".repeat(32))),
    );
  const last = await idBefore(realm, BOUNDS[0]);
  await rejects(by(BOUNDS[1]), /it is not the oldest part/);
  await rejects(by(BOUNDS[0] + 1), /it is not the oldest part/);
  const refused = async (why: RegExp, ...statements: string[]) => {
    await asOwner(realm, (owner) => writing(owner, (db) => db.unsafe(statements[0]).simple()));
    await rejects(by(BOUNDS[0]), why);
    await rejects(archiveInto(realm, folder), why);
    await asOwner(realm, (owner) => writing(owner, (db) => db.unsafe(statements[1]).simple()));
  };
  const value = "md5('k')::uuid";
  await refused(
    /idempotency keys/,
    `insert into idempotency (key, fingerprint, transaction, created_at)
      values (${value}, ${value}, '${last}', to_timestamp(${BOUNDS[0] / 1000}))`,
    `alter table idempotency disable trigger user; delete from idempotency where key = ${value};
      alter table idempotency enable trigger user`,
  );
  await refused(
    /wait for their links/,
    `insert into ledger_commits (transactions) values (array['${last}'::uuid])`,
    `delete from ledger_commits where transactions = array['${last}'::uuid]`,
  );
  await refused(
    /being copied/,
    "create table move_log_transactions ()",
    "drop table move_log_transactions",
  );
  await rejects(
    writing(realm.pool, (db) => db`select archive_part(${idFrom(BOUNDS[0])}::uuid, sha256('x'))`),
    { code: "42501" },
  );
  await archiveOne(realm, folder);
  await sound(realm, folder);
});

async function idBefore(realm: TestRealm, bound: number): Promise<string> {
  const [{ id }] = await rowsOf<{ id: string }>(
    realm,
    `select id from transactions where id < '${idFrom(bound)}' order by id desc limit 1`,
  );
  return id;
}

Deno.test("a part that ended less than 35 days ago, or within an hour, stays", async () => {
  await using realm = await testRealm();
  const now = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  await liveAt(realm, now - 60 * DAY_MS);
  await endPart(realm, now - 50 * DAY_MS + 1800_000);
  await liveAt(realm, null);
  const at = (bound: number) =>
    asOwner(
      realm,
      (owner) => inStep(owner, (tx) => archivePart(tx, idFrom(bound), "ab".repeat(32))),
    );
  await rejects(at(now - 50 * DAY_MS + 1800_000), /whole hour/);
  await using other = await testRealm();
  await liveAt(other, now - 34 * DAY_MS);
  await endPart(other, now - 33 * DAY_MS);
  await liveAt(other, null);
  await rejects(
    asOwner(
      other,
      (owner) => inStep(owner, (tx) => archivePart(tx, idFrom(now - 33 * DAY_MS), "ab".repeat(32))),
    ),
    /less than 35 days/,
  );
});

Deno.test("a part whose rows do not prove, or whose links do not, is not archived", async () => {
  for (
    const [why, statement] of [
      [
        /does not have its two entries/,
        "update transactions set amount = amount + 1 where reference = '0-1'",
      ],
      [
        /does not follow the one before it/,
        "update entries set balance = balance + 1 where (account, seq) = (select destination, destination_seq from transactions where reference = '0-1')",
      ],
      [/hash chain breaks/, "update transactions set seal = '{}' where reference = '0-1'"],
      [
        /has its link/,
        "delete from chain_links where transaction = (select id from transactions where reference = '0-1')",
      ],
    ] as const
  ) {
    await using realm = await testRealm();
    await agedRealm(realm);
    await tamper(realm, statement);
    await rejects(archiveInto(realm, await Deno.makeTempDir()), why);
  }
});

Deno.test("a detached part that was changed does not come back, and says so", async () => {
  await using realm = await testRealm();
  await agedRealm(realm);
  await archiveOne(realm, await Deno.makeTempDir());
  const [{ name }] = await rowsOf<{ name: string }>(
    realm,
    `select relname as name from pg_class where relname like 'detached_entries%' and relkind = 'r'
      and relnamespace = current_schema()::regnamespace`,
  );
  await asOwner(realm, async (owner) => {
    await rejects(writing(owner, (db) => db.unsafe(`delete from ${name}`)), { code: "23001" });
    await writing(owner, (db) =>
      db.unsafe(`alter table ${name} disable trigger user;
        update ${name} set linked = 1 where (account, seq) in (select account, seq from balance_checkpoints);
        alter table ${name} enable trigger user`).simple());
    await rejects(attachNewest({ owner }), /not what was archived/);
  });
});
