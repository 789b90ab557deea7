/** The audit of a realm with archived parts: nothing that is sound is reported, and every corruption is. @module */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { checkWithin } from "../../domain/audit/ledger_check.ts";
import { idFrom } from "../../domain/ids.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { createApp } from "../../routes/http/app.ts";
import { dropArchived } from "../../workers/archive/archiving.ts";
import { archivedTransactions } from "../../workers/archive/proofs.ts";
import {
  readManifest,
  readRows,
  writeManifest,
  writeRows,
} from "../../workers/archive/archive_files.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { agedRealm, archiveOne, asOwner, BOUNDS } from "../support/archives.ts";
import { verify } from "../support/proofs.ts";
import { PLATFORM_KEY, type TestRealm, testRealm } from "../support/realm.ts";
import { tamper, tampering } from "../support/tamper.ts";

const [FIRST, SECOND] = BOUNDS.map(idFrom);
/** An account whose entries are all archived, and one with later ones. */
const IDLE = "(select account from balance_checkpoints c where not exists " +
  "(select from entries e where e.account = c.account) order by account limit 1)";
const BUSY = "(select account from balance_checkpoints c where exists " +
  "(select from entries e where e.account = c.account) order by account limit 1)";
/** Rows of the second part are gone, with a record that says it was archived. */
const FORGED = [
  `insert into balance_checkpoints (account, bound, seq, balance) select distinct on (account) account, '${SECOND}', seq, balance
    from entries where transaction < '${SECOND}' order by account, seq desc`,
  `insert into archived_parts (bound, transactions, entries, last_seq, last_hash, accounts, checkpoints, issues, manifest)
    select '${SECOND}', count(*), 2 * count(*), max(l.seq), (array_agg(l.hash order by l.seq desc))[1],
      (select count(*) from balance_checkpoints where bound = '${SECOND}'), checkpoint_digest('${SECOND}'),
      issue_digest('${FIRST}', '${SECOND}'), sha256('x')
    from chain_links l where l.transaction >= '${FIRST}' and l.transaction < '${SECOND}'`,
  `delete from entries where transaction < '${SECOND}'`,
  `delete from transactions where id < '${SECOND}'`,
  `update row_counts set living = living - 3 where ctid = (select ctid from row_counts
    where collection = 'transactions' order by living desc limit 1)`,
];
/** Codes that must be reported, behind them what was done. */
const CORRUPTIONS: [string[], ...string[]][] = [
  [["seal.transaction_missing"], ...FORGED.slice(2)],
  [["event.facts"], ...FORGED],
  [["event.facts", "archive.part"], "update archived_parts set last_hash = sha256('x')"],
  [["event.facts", "archive.part"], "update archived_parts set last_seq = last_seq - 1"],
  [["event.facts", "archive.part"], "update archived_parts set last_seq = last_seq + 1"],
  [
    ["event.facts", "archive.part"],
    "update archived_parts set transactions = transactions - 1, entries = entries - 2",
  ],
  [["event.facts"], "update archived_parts set manifest = sha256('x')"],
  [["event.facts", "archive.checkpoints"], "update archived_parts set checkpoints = sha256('x')"],
  [["event.facts", "archive.issues"], "update archived_parts set issues = sha256('x')"],
  [["event.facts", "archive.checkpoints"], "update archived_parts set accounts = accounts + 1"],
  [["event.facts", "archive.part"], `update archived_parts set bound = '${SECOND}'`],
  [
    ["event.facts", "entry.seq", "seal.transaction_missing"],
    "delete from archived_parts",
    "delete from balance_checkpoints",
  ],
  [
    ["archive.checkpoints", "entry.balance"],
    `update balance_checkpoints set balance = balance + 1 where account = ${BUSY}`,
  ],
  [
    ["archive.checkpoints", "account.total"],
    `update balance_checkpoints set balance = balance + 1 where account = ${IDLE}`,
  ],
  [
    ["archive.checkpoints", "account.seq"],
    `update balance_checkpoints set seq = seq + 1 where account = ${IDLE}`,
  ],
  [["archive.checkpoints"], `update balance_checkpoints set linked = 1 where account = ${BUSY}`],
  [["archive.checkpoints", "entry.seq"], `delete from balance_checkpoints where account = ${BUSY}`],
  [
    ["archive.checkpoints"],
    `insert into balance_checkpoints (account, bound, seq, balance) select account, '${SECOND}', seq, balance from balance_checkpoints`,
  ],
  [["account.total"], `update accounts set total = total + 1 where id = ${IDLE}`],
  [
    ["entry.balance"],
    `update entries set balance = balance + 1 where seq = (select min(seq) from entries where account = ${BUSY}) and account = ${BUSY}`,
  ],
  [["transaction.once"], `insert into transaction_references values ('x', gen_random_uuid())`],
  [
    ["transaction.once"],
    "update transaction_references set transaction = gen_random_uuid() where reference = '0-1'",
  ],
  [
    ["seal.hash_mismatch"],
    "update chain_links set hash = sha256('x') where seq = (select last_seq + 1 from archived_parts)",
  ],
  [
    ["seal.seq_missing"],
    "delete from chain_links where seq = (select last_seq - 1 from archived_parts)",
  ],
  [
    ["archive.part"],
    `update chain_links set transaction = '${SECOND}' where seq = (select last_seq from archived_parts)`,
  ],
  [
    ["tally.count"],
    `update row_counts set living = living + 1 where ctid = (select ctid from row_counts
    where collection = 'transactions' order by living desc limit 1)`,
  ],
  [
    ["archive.part"],
    `alter table transactions attach partition detached_transactions_${
      suffixOf(BOUNDS[0])
    } for values from (minvalue) to ('${FIRST}')`,
  ],
];

function suffixOf(bound: number): string {
  return `${new Date(bound).toISOString().slice(0, 10).replaceAll("-", "")}t000000000`;
}

/** Asks as the auditor's script does, with answers that may be changed. */
async function verifyWith(
  realm: TestRealm,
  change: (path: string, body: unknown) => unknown = (_, body) => body,
) {
  const app = createApp(realm.services, PLATFORM_KEY);
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const asked = new Request(request);
      asked.headers.delete("accept-encoding");
      const answer = await app(asked, "127.0.0.1");
      return Response.json(change(new URL(request.url).pathname, await answer.json()));
    },
  );
  return await verify("--url", `http://127.0.0.1:${server.addr.port}`, "--key", realm.admin.key);
}

Deno.test("every corruption of archived parts and their checkpoints is found, and a sound realm has none", async () => {
  await using realm = await testRealm();
  await agedRealm(realm);
  await archiveOne(realm, await Deno.makeTempDir());
  await extendHashChain(realm.pool, Date.now);
  deepEqual((await tampering(realm, [], checkWithin)).mismatches, []);
  for (const [codes, ...statements] of CORRUPTIONS) {
    const { mismatches } = await tampering(realm, statements, checkWithin);
    const found = new Set(mismatches.map(({ code }) => code as string));
    deepEqual(codes.filter((code) => !found.has(code)), [], `${statements}: ${[...found]}`);
  }
  deepEqual((await tampering(realm, [], checkWithin)).mismatches, []);
});

Deno.test("an archive that was written anew with other balances is found, with and without its files", async () => {
  await using realm = await testRealm();
  const { from, to } = await agedRealm(realm);
  const folder = await Deno.makeTempDir();
  await archiveOne(realm, folder);
  // The last entries of two accounts move more than their transaction, and all balances and hashes fit.
  const store = { folder, recipients: [], identities: null };
  const of = { realm: realm.id, suffix: suffixOf(BOUNDS[0]) };
  const { manifest } = (await readManifest(folder, of))!;
  const at = manifest.files.findIndex(({ table }) => table === "entries");
  const file = manifest.files[at];
  const text = await new Response(ReadableStream.from(readRows(store, file))).text();
  const rows = text.trimEnd().split("\n").map((line) => line.split("\t"));
  const [amount, balance] = ["amount", "balance"].map((name) => file.columns.indexOf(name));
  for (const [account, more] of [[to, 1], [from, -1]] as const) {
    const last = rows.findLast((row) => row[0] === account)!;
    for (const column of [amount, balance]) last[column] = `${Number(last[column]) + more}`;
  }
  const forged = rows.map((row) => `${row.join("\t")}\n`).join("");
  manifest.files[at] = await writeRows(
    store,
    { name: file.name.replace(".gz", ""), table: "entries", columns: file.columns },
    ReadableStream.from([new TextEncoder().encode(forged)]),
  );
  const digest = await writeManifest(folder, of.suffix, manifest);
  const record = [
    `update balance_checkpoints set balance = balance + case account when '${to}' then 1 else -1 end
      where account in ('${to}', '${from}')`,
    `update archived_parts set checkpoints = checkpoint_digest(bound), manifest = decode('${digest}', 'hex')`,
  ];
  await tamper(
    realm,
    ...record,
    "select note_events(kind, array[subject], array[facts]) from ledger_facts where kind = 'archived_parts'",
  );
  await extendHashChain(realm.pool, Date.now);
  const found = async (files?: ReturnType<typeof archivedTransactions>) =>
    (await checkLedger(realm.pool, undefined, undefined, files)).mismatches;
  ok((await found()).some(({ code }) => code === "archive.part"));
  const proven = await found(archivedTransactions(realm.pool, realm.id, store));
  const [{ subject }] = proven.filter(({ code }) => code === "archive.files");
  match(subject, /are not those of its transactions/);
});

Deno.test("files of archived parts that are cut, gone, another realm's or part's, or without an end are found, and nothing is dropped for them", async () => {
  await using realm = await testRealm();
  await using other = await testRealm();
  const folder = await Deno.makeTempDir();
  for (const one of [realm, other]) {
    await agedRealm(one);
    await archiveOne(one, folder);
    await archiveOne(one, folder);
  }
  const [ours, theirs] = [realm, other].map(({ id }) => id.replaceAll("-", ""));
  const [first, second] = BOUNDS.map(suffixOf);
  const store = { folder, recipients: [], identities: null };
  const { schema } = locationOf(realm.made.realm);
  for (const end of ["entries.gz", "transactions.gz", "manifest.json"]) {
    const path = `${folder}/${ours}_${first}_${end}`;
    const bytes = await Deno.readFile(path);
    const put = async (text: Promise<Uint8Array<ArrayBuffer>>) => Deno.writeFile(path, await text);
    const attacks: [string, () => Promise<void>][] = [
      ["cut", () => put(Promise.resolve(bytes.slice(0, -5)))],
      ["longer", () => put(Promise.resolve(new Uint8Array([...bytes, ...bytes])))],
      ["gone", () => Promise.resolve()],
      ["a folder", () => Deno.mkdir(path)],
      ["without an end", () => Deno.symlink("/dev/zero", path)],
      ["another realm's", () => put(Deno.readFile(`${folder}/${theirs}_${first}_${end}`))],
      ["another part's", () => put(Deno.readFile(`${folder}/${ours}_${second}_${end}`))],
    ];
    for (const [what, attack] of attacks) {
      await Deno.remove(path);
      await attack();
      const files = archivedTransactions(realm.pool, realm.id, store);
      const { mismatches } = await checkLedger(realm.pool, undefined, undefined, files);
      deepEqual(mismatches.map(({ code }) => code), ["archive.files"], `${what}: ${end}`);
      const dropped = asOwner(
        realm,
        (owner) => dropArchived({ ...store, owner, realm: { id: realm.id, schema } }),
      );
      await rejects(dropped, { code: "request.invalid" }, `${what}: ${end}`);
      await Deno.remove(path, { recursive: true }).catch(() => {});
      await put(Promise.resolve(bytes));
    }
  }
  const proven = archivedTransactions(realm.pool, realm.id, store);
  deepEqual((await checkLedger(realm.pool, undefined, undefined, proven)).mismatches, []);
});

Deno.test("an auditor follows the chain over archived links, and is told where no event says that they were archived", async () => {
  await using realm = await testRealm();
  await agedRealm(realm);
  const folder = await Deno.makeTempDir();
  await archiveOne(realm, folder);
  await archiveOne(realm, folder);
  await extendHashChain(realm.pool, Date.now);
  const sound = await verifyWith(realm);
  equal(sound.code, 0, sound.text);
  match(
    sound.text,
    /^ok: 4 transactions and \d+ events recomputed\n11 archived transactions are taken by their hashes$/m,
  );
  type Shown = { id?: string; kind?: string; seq: number; hash: string; salt: string };
  const over = (change: (link: Shown) => Shown) => (path: string, body: unknown) =>
    path.endsWith("/chain") ? (body as Shown[]).map(change) : body;
  const attacks: [RegExp, (link: Shown) => Shown][] = [
    // A transaction that is gone is told to be archived.
    [
      /no event in the chain says so/,
      ({ id, seq, hash, salt, ...more }) =>
        id === undefined
          ? { seq, hash, salt, ...more }
          : { id, seq, hash, salt, archived: true } as Shown,
    ],
    [/BROKEN/, (link) => "archived" in link ? { ...link, hash: "00".repeat(32) } : link],
  ];
  for (const [said, change] of attacks) {
    const { code, text } = await verifyWith(realm, over(change));
    equal(code, 1);
    match(text, said);
  }
  ok((await realm.admin.send("GET", "/v1/transactions/verify")).body.valid);
});
