/** Realms with old parts of their ledger, and how a test archives these. @module */
import { equal, ok } from "node:assert/strict";
import type { Pool } from "../../db/database.ts";
import { writing } from "../../db/transaction.ts";
import { idFrom } from "../../domain/ids.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { type Archived, archiveOldest, type Archiving } from "../../workers/archive/archiving.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { carryCutOn } from "./parts.ts";
import { rowsOf, type TestRealm } from "./realm.ts";

const DAY_MS = 86_400_000;
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS;
/** When the two old parts of a ledger ended. */
export const BOUNDS: readonly [number, number] = [TODAY - 120 * DAY_MS, TODAY - 80 * DAY_MS];

/** Works on the tables of a realm as their owner, as the operator's command does. */
export async function asOwner<T>(realm: TestRealm, work: (owner: Pool) => Promise<T>): Promise<T> {
  const owner = realm.database.owner(locationOf(realm.made.realm));
  try {
    return await work(owner);
  } finally {
    await owner.sql.end();
  }
}

/** Has a realm's ledger live at a time, in milliseconds; null: now. */
export async function liveAt(realm: TestRealm, time: number | null): Promise<void> {
  const offset = time === null ? 0 : time - Date.now();
  await asOwner(realm, (owner) =>
    writing(owner, (db) =>
      db.unsafe(
        `create or replace function database_ms() returns bigint language sql as $$
          select trunc(extract(epoch from clock_timestamp()) * 1000)::bigint + ${offset} $$`,
      )));
}

/** Ends the newest part of a realm that lives before a time, and has it live from then on. */
export async function endPart(realm: TestRealm, bound: number): Promise<void> {
  await liveAt(realm, bound - 60_000);
  await carryCutOn(realm, { boundAfter: () => bound, givenUpMs: -Infinity });
  await liveAt(realm, bound + 60_000);
}

/** Forgets the idempotency keys of transactions before a time, as workers do when they are old. */
export async function forgetKeys(realm: TestRealm, until: number): Promise<void> {
  const bound = idFrom(until);
  await asOwner(realm, (owner) =>
    writing(owner, (db) =>
      db.unsafe(`
        alter table idempotency disable trigger user;
        delete from idempotency where transaction < '${bound}' or key in
          (select key from batches where transactions[1] < '${bound}');
        delete from batches where transactions[1] < '${bound}';
        alter table idempotency enable trigger user`).simple()));
}

/**
 * A realm with two old parts and the newest, and three transfers between two accounts in each. `idle` has entries in the
 * first part alone, `second` in the second; another account was emptied and deleted in the first.
 */
export async function agedRealm(
  realm: TestRealm,
  act: (part: number) => Promise<void> = () => Promise.resolve(),
) {
  await liveAt(realm, BOUNDS[0] - 10 * DAY_MS);
  const { name, account: from } = await realm.currency("1000000");
  const to = await realm.account({ asset: name });
  const send = async (body: Record<string, unknown> = {}) =>
    await realm.admin.send("POST", "/v1/transactions", {
      ...{ source: { account: from }, destination: { account: to }, value: "1", ...body },
    });
  const made = async (body: Record<string, unknown> = {}) => {
    const answer = await send(body);
    equal(answer.status, 201, answer.text);
    return answer.body;
  };
  const get = async (path: string) => {
    const answer = await realm.admin.send("GET", path);
    equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const idle = await realm.account({ asset: name, from, total: "5" });
  const left = await realm.account({ asset: name, from, total: "2" });
  await made({ source: { account: left }, destination: { account: to }, value: "2" });
  equal((await realm.admin.send("DELETE", `/v1/accounts/${left}`)).status, 200);
  let second = "";
  const ids: string[][] = [];
  for (let part = 0; part < 3; part++) {
    ids.push([]);
    for (let one = 0; one < 3; one++) {
      ids[part].push((await made({ reference: `${part}-${one}` })).id);
    }
    if (part === 1) second = await realm.account({ asset: name, from, total: "7" });
    await act(part);
    await extendHashChain(realm.pool, Date.now);
    if (part < 2) await endPart(realm, BOUNDS[part]);
  }
  await liveAt(realm, null);
  await made();
  await extendHashChain(realm.pool, Date.now);
  await forgetKeys(realm, Date.now() - DAY_MS);
  return { name, from, to, idle, second, send, made, get, ids };
}

/** The fixture of a realm with old parts. */
export type Aged = Awaited<ReturnType<typeof agedRealm>>;

/** Archives the oldest part of a realm that ended by the second bound into a folder, unencrypted unless said otherwise. */
export async function archiveInto(
  realm: TestRealm,
  folder: string,
  more: Partial<Archiving> = {},
): Promise<Archived | null> {
  const { schema } = locationOf(realm.made.realm);
  return await asOwner(realm, (owner) =>
    archiveOldest({
      ...{ owner, folder, realm: { id: realm.id, schema }, recipients: [], identities: null },
      ...more,
    }, BOUNDS[1]));
}

/** Archives the oldest part, which must be there. */
export async function archiveOne(realm: TestRealm, folder: string): Promise<Archived> {
  const done = await archiveInto(realm, folder);
  ok(done !== null);
  return done;
}

/** All rows that decide whose money it is, and what lists show, as text; those of archives and events left out. */
export async function stateOf(realm: TestRealm): Promise<string> {
  const tables = ["transactions", "entries", "accounts", "transaction_references", "hourly_flows"];
  const texts: string[] = [];
  for (const table of tables) {
    const [{ text }] = await rowsOf<{ text: string }>(
      realm,
      `select coalesce(string_agg(t::text, E'\\n' order by t::text), '') as text from ${table} t`,
    );
    texts.push(text);
  }
  const [{ counts }] = await rowsOf<{ counts: string }>(
    realm,
    `select string_agg(concat_ws(' ', owner, living), ',' order by owner) as counts from (
      select owner, sum(living) as living from row_counts where collection = 'transactions' group by owner) q`,
  );
  return [...texts, counts].join("\n\n");
}

/** The names of the files in a folder. */
export async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) names.push(name);
  return names.sort();
}
