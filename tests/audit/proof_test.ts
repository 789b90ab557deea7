import { deepEqual, equal, match } from "node:assert/strict";
import type { Tx } from "../../db/database.ts";
import { selectLinks } from "../../db/audit/hash_chain.ts";
import { checkRealms, formatAudit, readAuditArguments } from "../../commands/audit.ts";
import { checkLedger, checkWithin } from "../../domain/audit/ledger_check.ts";
import { createLinker, GENESIS, linkText } from "../../domain/audit/chain_links.ts";
import { noteSettings } from "../../domain/realms/realm_events.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { busyRealm } from "../support/busy_realm.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { tamper, tampering } from "../support/tamper.ts";

/** Gives every link the hash that it should have, as somebody would who changed one. */
async function sealAnew(tx: Tx): Promise<void> {
  const rows = await selectLinks(tx, 1n, 100_000);
  const link = createLinker(GENESIS);
  await tx.unsafe("alter table chain_links disable trigger user");
  let last = GENESIS;
  for (const [i, row] of rows.entries()) {
    if ("missing" in row) throw new Error("gone");
    last = link(linkText(row, { seq: BigInt(i + 1), salt: row.salt }));
    await tx`update chain_links set hash = decode(${last}, 'hex') where seq = ${row.seq}`;
  }
  await tx`update chain_head set seq = ${rows.length}, hash = decode(${last}, 'hex'),
    transactions = (select count(transaction) from chain_links)`;
  await tx.unsafe("alter table chain_links enable trigger user");
}

async function headOf(realm: TestRealm): Promise<string> {
  await extendHashChain(realm.pool, Date.now);
  const { seq, hash } = (await realm.admin.send("GET", "/v1/transactions/head")).body;
  return `${seq}:${hash}`;
}

Deno.test("a chain that was cut and linked anew is sound in itself, and not against a head that was kept", async () => {
  await using realm = await busyRealm();
  const { expect } = readAuditArguments(["--expect", await headOf(realm)]);
  deepEqual((await checkLedger(realm.pool, expect)).mismatches, []);
  const attacks: [string, string[]][] = [
    ["the last link is forgotten", [
      "delete from chain_links where seq = (select max(seq) from chain_links) and event is not null",
      `delete from ledger_events where id = (select max(id) from ledger_events)`,
      "update audit set seq = null, hash = null where seq > (select max((facts ->> 'lines')::int) " +
      "from ledger_events where kind = 'audit')",
    ]],
    ["a linked object is rewritten", [
      `update transactions set seal = '{"n":2}' where seal ? 'n'`,
    ]],
  ];
  for (const [name, statements] of attacks) {
    const [alone, expected] = await tampering(realm, statements, async (tx) => {
      await sealAnew(tx);
      return [await checkWithin(tx), await checkWithin(tx, expect)];
    });
    deepEqual(alone.mismatches, [], name);
    deepEqual(expected.mismatches.map(({ code }) => code), ["seal.expected"], name);
  }
});

Deno.test("the audit takes a head that was kept, of one realm, and says which", async () => {
  await using realm = await busyRealm();
  const head = await headOf(realm);
  const said: string[] = [];
  const tell = (found: Parameters<typeof formatAudit>[0]) => void said.push(...formatAudit(found));
  await checkRealms(
    realm.database,
    tell,
    readAuditArguments(["--realm", realm.id, "--expect", head]),
  );
  deepEqual(said.length, 1);
  match(said[0], new RegExp(`links, sound, head ${head}$`));
  const wrong = `${head.split(":")[0]}:${"ab".repeat(32)}`;
  const beyond = `999999:${head.split(":")[1]}`;
  for (const kept of [wrong, beyond]) {
    said.length = 0;
    await checkRealms(
      realm.database,
      tell,
      readAuditArguments(["--realm", realm.id, "--expect", kept]),
    );
    match(said.join("\n"), /"code":"seal.expected"[^]*FAILED: seal.expected$/);
  }
  for (const args of [["--expect", "x"], ["--color", "red"], ["--expect"]]) {
    try {
      readAuditArguments(args);
      throw new Error("accepted");
    } catch (error) {
      match((error as Error).message, /usage: audit/);
    }
  }
});

Deno.test("an owner is not changed while the rules are on, and an alias led elsewhere by hand is an event of the chain", async () => {
  await using realm = await busyRealm();
  await headOf(realm);
  const thief = await realm.user();
  const schema = (await realm.services.realms.find(realm.id))!.location.schema;
  const byHand = (statement: string) =>
    realm.database.platform.sql.begin(async (tx) => {
      await tx`set local search_path to ${tx(schema)}`;
      await tx.unsafe(statement);
    });
  const refused = await byHand(`update accounts set owner = '${thief.id}' where type = 'virtual'`)
    .then(() => null, (error) => error.code);
  equal(refused, "23001");
  const [{ loot }] = await rowsOf<{ loot: string }>(
    realm,
    "select account as loot from aliases where alias = 'mine'",
  );
  await byHand(`update aliases set account = '${loot}' where alias = 'other'`);
  const last = Number((await headOf(realm)).split(":")[0]);
  const links = (await realm.admin.send("GET", "/v1/transactions/chain")).body;
  equal(links.length, last);
  const told = links.filter((link: { facts?: { alias?: string } }) =>
    link.facts?.alias === "other"
  );
  deepEqual(told.map((link: { facts: { account: string } }) => link.facts.account).slice(1), [
    loot,
  ]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("settings of a realm that move money are noted when they change, and only then", async () => {
  await using realm = await busyRealm();
  const note = () => noteSettings(realm.database.platform, { id: realm.id, pool: realm.pool });
  const told = () =>
    rowsOf<{ facts: { withdrawals: unknown } }>(
      realm,
      "select facts from ledger_events where kind = 'realm' order by id",
    );
  await note();
  await note();
  equal((await told()).length, 1);
  const withdrawals = { BTC: { least: "0.5" } };
  const changed = await realm.operator("PATCH", `/v1/realms/${realm.id}`, { withdrawals });
  equal(changed.status, 200, changed.text);
  await note();
  await note();
  const events = await told();
  equal(events.length, 2);
  deepEqual(JSON.parse(JSON.stringify(events[1].facts.withdrawals)), withdrawals);
  await headOf(realm);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("moving value notes no event, and every other change of an account notes one", async () => {
  await using realm = await busyRealm();
  const count = async () =>
    (await rowsOf<{ n: number }>(realm, "select count(*)::int as n from ledger_events"))[0].n;
  const [{ source, destination }] = await rowsOf<{ source: string; destination: string }>(
    realm,
    "select source, destination from transactions where type = 'transfer' limit 1",
  );
  const before = await count();
  const move = { source: { account: source }, destination: { account: destination }, value: "1" };
  equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  equal(await count(), before);
  await realm.admin.send("PATCH", `/v1/accounts/${source}`, { data: { a: 1 } });
  equal(await count(), before);
  await realm.admin.send("POST", `/v1/accounts/${source}/freeze`);
  equal(await count(), before + 1);
});

Deno.test("a trail that lost its last lines, or was chained anew, differs from the line that the ledger's chain names", async () => {
  await using realm = await busyRealm();
  await headOf(realm);
  for (
    const [code, ...statements] of [
      ["audit.head", "delete from audit where seq = (select max(seq) from audit)"],
      ["audit.head", "delete from audit"],
      ["audit.hash_mismatch", "update audit set address = '6.6.6.6' where seq = 3"],
      ["audit.head", "update audit set seq = null, hash = null"],
      ["audit.seq_missing", "delete from audit where seq = 3"],
    ]
  ) {
    const { mismatches } = await tampering(realm, statements, checkWithin);
    equal(mismatches.some((one) => one.code === code), true, statements.join());
  }
  await tamper(realm, "delete from audit where seq is null");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});
