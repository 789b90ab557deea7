/**
 * The statements of the generic routes: which rows of a collection a caller sees, in which order, and
 * how many. What is visible stands as a clause of its own beside whatever the caller asks for.
 * @module
 */
import type { Db, Tx } from "./database.ts";
import {
  type Columns,
  type Condition,
  type Fragment,
  searchOf,
  type Target,
  unprepared,
} from "./filter.ts";
import { whereOf } from "./filter.ts";
import { afterOf, anchorOf, orderOf, type SortKey, sortsById } from "./order.ts";

/** What lists say of the table behind a collection. */
export interface Source {
  table: string;
  columns: Columns;
  /** Whether rows can be deleted (a column deleted_at). */
  deletable: boolean;
  /**
   * Whether `tallies` counts this table's rows by owner: in the transaction that adds them, or
   * (`sealed`) when they are sealed, so that those posted since are counted one by one.
   */
  tallied: boolean | "sealed";
}

/** Which rows are visible: the union of some reaches, living, deleted or both. */
export interface Visibility {
  reaches: readonly ("all" | "own" | "incoming" | "outgoing")[];
  user: string;
  /** A row that counts as one's own whoever owns it: one's user record, one's identity. */
  ownId: string | null;
  deleted: "no" | "only" | "too";
  /** Rows that are not shown, tallied neither; null for none. */
  except: Condition | null;
}

/** What a caller asks for besides. */
export interface Wish {
  visibility: Visibility;
  condition: Condition;
  search: { text: string; targets: readonly Target[] } | null;
}

/** A part of a list. */
export interface Slice {
  sort: readonly SortKey[];
  limit: number;
  offset: number;
  after: string | null;
}

/** Gives the ids of a part of a list, in order; null if there is no row to begin after. */
export async function selectIds(
  db: Db,
  source: Source,
  wish: Wish,
  slice: Slice,
): Promise<string[] | null> {
  const where = matching(db, source, wish);
  let behind = db`true`;
  if (slice.after !== null) {
    const anchor = await findAnchor(db, source, wish, slice.sort, slice.after);
    if (anchor === null) return null;
    behind = afterOf(db, source.columns, slice.sort, anchor);
  }
  const query = db<{ id: string }[]>`
    select id from ${db(source.table)} where ${where} and ${behind}
    order by ${orderOf(db, source.columns, slice.sort)}
    limit ${slice.limit} offset ${slice.offset}`;
  const rows = await (isPlain(wish) && slice.sort.length === 0 ? query : unprepared(query));
  return rows.map((row) => row.id);
}

/** Counts the rows that match; plain counts of a tallied table do not read it. */
export async function countMatching(db: Db, source: Source, wish: Wish): Promise<number> {
  const { reaches, user, deleted, ownId } = wish.visibility;
  const whole = reaches.includes("all");
  const own = ownId === null && reaches.length === 1 && reaches[0] === "own";
  if (isPlain(wish) && source.tallied === "sealed" && (whole || own)) {
    return await countSealed(db, whole ? null : user);
  }
  if (isPlain(wish) && source.tallied && (whole || own)) {
    const [row] = await db<{ living: string; dead: string }[]>`
      select coalesce(sum(living), 0) as living, coalesce(sum(dead), 0) as dead from tallies
      where collection = ${source.table} and ${whole ? db`true` : db`owner = ${user}::uuid`}`;
    const living = deleted === "only" ? 0 : Number(row.living);
    return living + (deleted === "no" ? 0 : Number(row.dead));
  }
  const query = db<{ n: string }[]>`
    select count(*) as n from ${db(source.table)} where ${matching(db, source, wish)}`;
  const [row] = await (isPlain(wish) ? query : unprepared(query));
  return Number(row.n);
}

/** Counts transactions: those sealed were tallied, those not yet are few. One statement, one moment. */
async function countSealed(db: Db, owner: string | null): Promise<number> {
  const [row] = owner === null
    ? await db<{ n: string }[]>`
      select seq + (select coalesce(sum(cardinality(transactions)), 0) from ledger_commits) as n
      from seal_head`
    : await db<{ n: string }[]>`
      select (select coalesce(sum(living), 0) from tallies
          where collection = 'transactions' and owner = ${owner}::uuid)
        + (select count(*) from ledger_commits c cross join lateral unnest(c.transactions) u(id)
          join transactions t on t.id = u.id where t.owner = ${owner}::uuid) as n`;
  return Number(row.n);
}

/** Whether a row with this id is visible. */
export async function isVisible(
  db: Db,
  source: Source,
  visibility: Visibility,
  id: string,
): Promise<boolean> {
  const rows = await db`
    select 1 from ${db(source.table)}
    where id = ${id}::uuid and ${visible(db, source, visibility)}`;
  return rows.length > 0;
}

/** Flags a row deleted, or living again; tells whether that changed anything. */
export async function markDeleted(
  tx: Tx,
  table: string,
  id: string,
  at: number | null,
  now: number,
): Promise<boolean> {
  const rows = await tx`
    update ${tx(table)} set deleted_at = ${at}::timestamptz, updated_at = ${now}::timestamptz
    where id = ${id} and (deleted_at is null) <> ${at === null} returning id`;
  return rows.length > 0;
}

/** Adds up the deltas of each owner, so that a count reads few rows. */
export async function compactTallies(db: Db): Promise<void> {
  await db`
    with gone as (
      delete from tallies where (collection, owner) in (
        select collection, owner from tallies group by collection, owner having count(*) > 1 limit 1000)
      returning collection, owner, living, dead
    )
    insert into tallies (collection, owner, living, dead)
    select collection, owner, sum(living), sum(dead) from gone group by collection, owner`;
}

function isPlain(wish: Wish): boolean {
  return wish.search === null && wish.condition.op === "and" && wish.condition.of.length === 0;
}

function matching(db: Db, source: Source, wish: Wish): Fragment {
  const { columns } = source;
  const search = wish.search === null
    ? db`true`
    : searchOf(db, columns, wish.search.targets, wish.search.text);
  return db`${visible(db, source, wish.visibility)}
    and ${whereOf(db, columns, wish.condition)} and ${search}`;
}

function visible(db: Db, source: Source, visibility: Visibility): Fragment {
  const { reaches, deleted, user, ownId } = visibility;
  const mine = db`(select id from accounts where owner = ${user}::uuid)`;
  const parts = reaches.map((reach) => {
    switch (reach) {
      case "all":
        return db`true`;
      case "own":
        return ownId === null
          ? db`owner = ${user}::uuid`
          : db`(owner = ${user}::uuid or id = ${ownId}::uuid)`;
      case "incoming":
        return db`id in (select transaction from entries where account in ${mine} and amount > 0)`;
      case "outgoing":
        return db`id in (select transaction from entries where account in ${mine} and amount < 0)`;
    }
  });
  const { except } = visibility;
  const shown = except === null ? db`true` : db`not ${whereOf(db, source.columns, except)}`;
  const reach = db`(${parts.reduce((all, part) => db`${all} or ${part}`)}) and ${shown}`;
  if (!source.deletable || deleted === "too") return reach;
  return deleted === "only"
    ? db`${reach} and deleted_at is not null`
    : db`${reach} and deleted_at is null`;
}

async function findAnchor(
  db: Db,
  source: Source,
  wish: Wish,
  sort: readonly SortKey[],
  id: string,
): Promise<{ id: string; keys: (string | null)[] } | null> {
  if (sortsById(sort)) return { id, keys: [] };
  // The scope stands here too: where a foreign row would sort is nobody else's business.
  const [row] = await unprepared(db<{ keys: (string | null)[] }[]>`
    select ${anchorOf(db, source.columns, sort)} as keys from ${db(source.table)}
    where id = ${id}::uuid and ${visible(db, source, wish.visibility)}`);
  return row === undefined ? null : { id, keys: row.keys };
}
