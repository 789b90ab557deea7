/** Old parts of a ledger that are archived: what stays, what is refused, and what brings them back. @module */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { Db } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import { replaceFlows } from "../../db/audit/hourly_flows.ts";
import { attachPart, dropPart } from "../../db/ledger/archives.ts";
import { inStep } from "../../db/ledger/parts.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { idFrom } from "../../domain/ids.ts";
import { EntryList, listEntries, openStatement, printJson } from "../../domain/ledger/entries.ts";
import { entrySlice, openEntryExport } from "../../domain/ledger/entry_export.ts";
import { attachNewest } from "../../workers/archive/archiving.ts";
import { archivedTransactions } from "../../workers/archive/proofs.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import {
  type Aged,
  agedRealm,
  archiveInto,
  archiveOne,
  asOwner,
  BOUNDS,
  namesIn,
  stateOf,
} from "../support/archives.ts";
import { countParts } from "../support/parts.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

const KILLED = "killed";

async function sound(realm: TestRealm): Promise<void> {
  await extendHashChain(realm.pool, Date.now);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
}

async function codeOf(realm: TestRealm, method: string, path: string, body?: unknown) {
  const answer = await realm.admin.send(method, path, body);
  return [answer.status, answer.body.code];
}

/** What is shown of the ledger and stays the same over an archive of the first part. */
async function shown({ get, from, to, idle, second, ids }: Aged) {
  const shown = [];
  for (const account of [from, to, idle, second]) {
    shown.push((await get(`/v1/accounts/${account}/balance`)).total);
    for (const at of [BOUNDS[0] - 1, BOUNDS[0], BOUNDS[1], Date.now() - 1]) {
      shown.push((await get(`/v1/accounts/${account}/balance?at=${at}`)).total);
    }
    shown.push(await get(`/v1/accounts/${account}/entries?from=${BOUNDS[0]}&pageSize=100`));
    const statement = await get(
      `/v1/accounts/${account}/statement?from=${BOUNDS[0]}&to=${BOUNDS[1]}`,
    );
    shown.push(statement);
    shown.push(
      await get(`/v1/accounts/${account}/balances?from=${BOUNDS[0]}&to=${BOUNDS[1]}&points=5`),
    );
  }
  for (const id of [...ids[1], ...ids[2]]) shown.push(await get(`/v1/transactions/${id}`));
  return JSON.stringify(shown);
}

Deno.test("an archived part leaves balances, statements, lists, the chain and the audit right", async () => {
  await using realm = await testRealm();
  const its = await agedRealm(realm);
  const { get, to, ids, made, send } = its;
  await sound(realm);
  const before = await shown(its);
  const total = (await get("/v1/transactions?pageSize=1")).total;
  const folder = await Deno.makeTempDir();
  const { transactions, entries } = await archiveOne(realm, folder);
  deepEqual([transactions, entries], [7, 14]);
  equal(await countParts(realm), 2);
  equal(await shown(its), before);
  equal((await get("/v1/transactions?pageSize=1")).total, total - 7);
  const listed = (await get("/v1/transactions?pageSize=100")).rows;
  equal(listed.length, total - 7);
  await sound(realm);

  const [gone] = ids[0];
  deepEqual(await codeOf(realm, "GET", `/v1/transactions/${gone}`), [410, "transaction.archived"]);
  deepEqual(await codeOf(realm, "POST", `/v1/transactions/${gone}/revert`, {}), [
    ...[410, "transaction.archived"],
  ]);
  deepEqual(await codeOf(realm, "PATCH", `/v1/transactions/${gone}`, { data: { a: 1 } }), [
    ...[410, "transaction.archived"],
  ]);
  const unknown = gone.slice(0, -1) + (gone.endsWith("0") ? "1" : "0");
  deepEqual(await codeOf(realm, "GET", `/v1/transactions/${unknown}`), [
    404,
    "transaction.not_found",
  ]);
  deepEqual([(await send({ reference: "0-1" })).body.code], ["reference.taken"]);

  // Of an archived time nothing is told, and no gap is shown as nothing.
  const early = BOUNDS[0] - 3_600_000;
  for (
    const path of [
      `balance?at=${early}`,
      `entries?from=${early}`,
      `statement?from=${early}`,
      `statement?to=${early}`,
      `balances?from=${early}`,
    ]
  ) {
    deepEqual(
      await codeOf(realm, "GET", `/v1/accounts/${to}/${path}`),
      [410, "time.archived"],
      path,
    );
  }
  const whole = await get(`/v1/accounts/${to}/statement`);
  deepEqual([whole.from, Number(whole.opening.total)], [BOUNDS[0], 5]);
  equal(whole.entries[0].seq, 5);
  const entriesOf = await get(`/v1/accounts/${to}/entries?pageSize=100`);
  deepEqual([entriesOf.total, entriesOf.rows[0].seq], [7, 5]);
  equal((await get(`/v1/accounts/${to}/balances?points=3`)).from >= BOUNDS[0], true);
  // Who follows the entries by their numbers is told of those between; whoever begins, or has read all of them, goes on.
  const after = (seq: number, more = "") => `/v1/accounts/${to}/entries?after=${seq}${more}`;
  for (const seq of [1, 3]) {
    deepEqual(await codeOf(realm, "GET", after(seq)), [410, "time.archived"], `${seq}`);
  }
  for (const seq of [0, 4]) equal((await get(after(seq))).rows[0].seq, 5, `${seq}`);
  equal((await get(after(1, `&from=${BOUNDS[0]}`))).rows[0].seq, 5);

  // Postings and reverts of what is there go on.
  await made();
  const reverted = await realm.admin.send("POST", `/v1/transactions/${ids[1][0]}/revert`, {});
  equal(reverted.status, 201, reverted.text);
  await sound(realm);
});

Deno.test("notes about an archived transaction stay, and no other is added; until the archive's last moment no entries are shown", async () => {
  await using realm = await testRealm();
  const { get, to, ids: [[gone]] } = await agedRealm(realm);
  const note = async (text: string) =>
    await codeOf(realm, "POST", "/v1/notes", { entity: gone, text });
  equal((await note("asked by phone"))[0], 201);
  await archiveOne(realm, await Deno.makeTempDir());
  deepEqual(await note("x"), [410, "transaction.archived"]);
  const notes = await get(`/v1/notes?entity=${gone}`);
  deepEqual(notes.map(({ text }: { text: string }) => text), ["asked by phone"]);
  deepEqual(await get(`/v1/search?q=${gone}`), []);
  const last = BOUNDS[0] - 1; // the balance then is known, the entries until then are not
  equal(Number((await get(`/v1/accounts/${to}/balance?at=${last}`)).total), 5);
  for (
    const path of [`statement?to=${last}`, `entries?to=${last}`, `entries?to=${last}&sort=-seq`]
  ) {
    const asked = await codeOf(realm, "GET", `/v1/accounts/${to}/${path}`);
    deepEqual(asked, [410, "time.archived"], path);
  }
});

Deno.test("the next part is archived behind the first, and the chain is proven over both files", async () => {
  await using realm = await testRealm();
  const { get, to, ids } = await agedRealm(realm);
  const folder = await Deno.makeTempDir();
  await archiveOne(realm, folder);
  await archiveOne(realm, folder);
  equal(await archiveInto(realm, folder), null);
  equal(await countParts(realm), 1);
  await sound(realm);
  deepEqual(await codeOf(realm, "GET", `/v1/transactions/${ids[1][0]}`), [
    410,
    "transaction.archived",
  ]);
  deepEqual(await codeOf(realm, "GET", `/v1/accounts/${to}/balance?at=${BOUNDS[0]}`), [
    ...[410, "time.archived"],
  ]);
  equal(Number((await get(`/v1/accounts/${to}/balance?at=${BOUNDS[1]}`)).total), 8);
  await asOwner(realm, (owner) => inStep(owner, replaceFlows)); // sums of archived hours stay
  await sound(realm);
  const { valid, checked, archived, head } = await get("/v1/transactions/verify");
  deepEqual([valid, checked, archived], [true, head.seq, 11]);
  const links = await get("/v1/transactions/chain?limit=1000");
  const stubs = links.filter((link: { archived?: true }) => link.archived);
  const told = stubs.map(({ id }: { id: string }) => id);
  ok([...ids[0], ...ids[1]].every((id) => told.includes(id)) && told.length === 11);
  const from = (file: string) =>
    archivedTransactions(realm.pool, realm.id, { folder: file, identities: null });
  const proven = await checkLedger(realm.pool, undefined, undefined, from(folder));
  deepEqual([proven.mismatches, proven.archived], [[], 0]);
  const lost = await checkLedger(realm.pool, undefined, undefined, from(await Deno.makeTempDir()));
  deepEqual(lost.mismatches.map(({ code }) => code), ["archive.files"]);
});

Deno.test("an archive that is killed after each step is carried on, and nothing has left before the last", async () => {
  await using realm = await testRealm();
  await agedRealm(realm);
  const folder = await Deno.makeTempDir();
  const whole = await stateOf(realm);
  for (const killed of ["verified", "written", "read back"]) {
    const onStep = (step: string) => {
      if (step === killed) throw new Error(KILLED);
    };
    await rejects(archiveInto(realm, folder, { onStep }), { message: KILLED });
    equal(await stateOf(realm), whole, killed);
    equal(await countParts(realm), 3);
  }
  // A file that was not finished gives way, and one that was changed is written anew.
  const names = (await namesIn(folder)).filter((name) => name.endsWith(".gz"));
  equal(names.length, 2);
  await Deno.writeTextFile(`${folder}/${names[0]}.partial`, "half");
  await Deno.writeTextFile(`${folder}/${names[0]}`, "changed");
  await archiveOne(realm, folder);
  equal(await countParts(realm), 2);
  await sound(realm);
});

Deno.test("a statement and an export that are read while their entries leave end with a fault, and never with a gap", async () => {
  await using realm = await testRealm();
  const { to } = await agedRealm(realm);
  const read = <T>(work: (db: Db) => Promise<T>) => reading(realm.pool, work);
  const { actor } = realm.admin;
  const of = { account: to, from: 0 };
  const statement = await read((db) => openStatement(db, actor, of));
  const asked = {
    account: to,
    sort: "seq" as const,
    from: BOUNDS[0] - 20 * 86_400_000,
    to: Date.now(),
  };
  const plan = await read((db) => openEntryExport(db, actor, asked));
  await archiveOne(realm, await Deno.makeTempDir());
  const gone = { code: "time.archived" };
  await rejects(Array.fromAsync(printJson(statement, read)), gone);
  await rejects(read((db) => entrySlice(db, actor, plan, plan.first)), gone);
  const now = await read((db) => openStatement(db, actor, of));
  match((await Array.fromAsync(printJson(now, read))).join(""), /"seq":5/);
});

Deno.test("a page of entries that leave between its statements is refused, and never has a gap", async () => {
  await using realm = await testRealm();
  const { to } = await agedRealm(realm);
  const asked = { ...EntryList.parse({}), account: to };
  const list = (db: Db) => listEntries(db, realm.admin.actor, asked);
  await rejects(
    reading(realm.pool, (db) =>
      list(
        new Proxy(db, {
          apply(sql, self, given: [string[]]) {
            const run = () => Reflect.apply(sql as never, self, given);
            if (!given[0].join("").includes("from entries e join")) return run();
            return archiveInto(realm, Deno.makeTempDirSync()).then(run);
          },
        }),
      )),
    { code: "time.archived" },
  );
  ok((await reading(realm.pool, list)).rows);
});

Deno.test("parts come back in their order, exactly as they were, and not once their tables are dropped", async () => {
  await using realm = await testRealm();
  const { made, ids, get } = await agedRealm(realm);
  const folder = await Deno.makeTempDir();
  const whole = await stateOf(realm);
  await archiveOne(realm, folder);
  await archiveOne(realm, folder);
  await asOwner(realm, async (owner) => {
    await rejects(
      inStep(owner, (tx) => attachPart(tx, idFrom(BOUNDS[0]))),
      /last comes back first/,
    );
    match(await attachNewest({ owner }), /Z$/);
    await sound(realm);
    match(await attachNewest({ owner }), /Z$/);
  });
  equal(await countParts(realm), 3);
  equal(await stateOf(realm), whole);
  await sound(realm);
  equal((await get(`/v1/transactions/${ids[0][0]}`)).id, ids[0][0]);
  await made();
  await archiveOne(realm, folder);
  await asOwner(realm, async (owner) => {
    await inStep(owner, (tx) => dropPart(tx, idFrom(BOUNDS[0])));
    await rejects(attachNewest({ owner }), /were dropped/);
    await rejects(inStep(owner, (tx) => attachPart(tx, idFrom(BOUNDS[0]))), /were dropped/);
  });
  await sound(realm);
  deepEqual(
    await rowsOf(
      realm,
      "select relname from pg_class where relname like 'detached%' and relkind = 'r' and relnamespace = current_schema()::regnamespace",
    ),
    [],
  );
});
