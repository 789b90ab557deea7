/**
 * The statements of the generic routes: which rows of a collection a caller sees, in which order,
 * and how many. Visibility is a clause of its own beside the caller's condition.
 * @module
 */
import type { Db, Tx } from "../database.ts";
import {
  type Columns,
  type Condition,
  expressionOf,
  type Fragment,
  type ListQuery,
  searchOf,
  type Target,
  unprepared,
} from "./filter.ts";
import { whereOf } from "./filter.ts";
import { rowsOf } from "./rows.ts";
import { afterOf, anchorOf, orderOf, type SortKey, sortsById } from "./sort.ts";

/** The table behind a collection. */
export interface Source {
  table: string;
  /** The view that lists read instead of the table, with more columns and the same ids. */
  listed?: string;
  columns: Columns;
  /** Whether rows can be deleted (a column deleted_at). */
  deletable: boolean;
  /**
   * Whether `row_counts` counts this table's rows by owner: in the transaction that adds them, or
   * (`linked`) when they get their links in the hash chain, so that later ones are counted one by
   * one.
   */
  counted: boolean | "linked";
}

/** Which rows are visible: the union of some reaches, living, deleted or both. */
export interface Visibility {
  reaches: readonly ("all" | "own" | "incoming" | "outgoing")[];
  user: string;
  /** A row that counts as one's own whatever its owner: one's user record, one's identity. */
  ownId: string | null;
  deleted: "no" | "only" | "too";
  /** Rows without an owner, which lists leave out unless `shown`. */
  concealed: { rows: Condition; shown: boolean } | null;
  /** What else visible rows meet; null: nothing. */
  within: Condition | null;
}

/** The caller's condition and search. */
export interface Selection {
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

/** The owner that stands for all owners in `row_counts`. */
const EVERYONE = "00000000-0000-0000-0000-000000000000";

/** Gives the ids of a part of a list, in order; null if there is no row to begin after. */
export async function selectIds(
  db: Db,
  source: Source,
  selection: Selection,
  slice: Slice,
): Promise<string[] | null> {
  const query = await listQuery(db, source, selection, slice);
  return query === null ? null : (await query<{ id: string }>(db`id`)).map((row) => row.id);
}

/**
 * Writes the statement of a part of a list; null if there is no row to begin after. The list of a realm's or of one's
 * own rows has no parameters: the driver sends an unprepared statement with parameters twice.
 */
export async function listQuery(
  db: Db,
  source: Source,
  selection: Selection,
  slice: Slice,
): Promise<ListQuery | null> {
  const { sort, after, limit, offset } = slice;
  let behind = db`true`;
  if (after !== null) {
    const anchor = await findAnchor(db, source, selection.visibility, sort, after);
    if (anchor === null) return null;
    behind = afterOf(db, source.columns, sort, anchor);
  }
  const rest = db`${matching(db, source, selection)} and ${behind}`;
  const order = orderOf(db, source.columns, sort);
  const where = armed(selection.visibility)
    ? twoArms(
      db,
      source,
      selection.visibility,
      db`${rest} order by ${order} limit ${whole(db, limit + offset)}`,
    )
    : db`${reachOf(db, source, selection.visibility)} and ${rest}`;
  // A cached plan does not know whether a user has few accounts or many, nor how far a table has grown since.
  return async <Row>(columns: Fragment) => {
    const query = db`
      select ${columns} from ${listOf(db, source)} where ${where} order by ${order}
      limit ${whole(db, limit)} offset ${whole(db, offset)}`;
    return rowsOf<Row>(await unprepared(query).values());
  };
}

/** Writes an id into a statement. */
function idText(db: Db, id: string): Fragment {
  return /^[0-9a-f-]{36}$/.test(id) ? db.unsafe(`'${id}'::uuid`) : db`${id}::uuid`;
}

/** Writes the condition of concealed rows, whose value the code declares. */
function concealing(db: Db, { columns }: Source, rows: Condition): Fragment {
  const plain = rows.op === "eq" && typeof rows.value === "string" && /^[a-z]+$/.test(rows.value);
  if (!plain) return whereOf(db, columns, rows);
  return db`${expressionOf(db, columns, rows.at)} = ${db.unsafe(`'${rows.value}'`)}`;
}

/** Writes a whole number into a statement. */
function whole(db: Db, number: number): Fragment {
  if (!Number.isSafeInteger(number) || number < 0) throw new TypeError(`${number} is no count`);
  return db.unsafe(`${number}`);
}

/** Counts the rows that match; plain counts of a counted table do not read it. */
export async function countMatching(db: Db, source: Source, selection: Selection): Promise<number> {
  const { reaches, user, ownId, concealed, within } = selection.visibility;
  const counted = isPlain(selection) && reaches.length === 1 && !concealed?.shown &&
    within === null;
  if (counted && source.counted && (reaches[0] === "all" || reaches[0] === "own")) {
    const owner = reaches[0] === "all" ? EVERYONE : user;
    if (source.counted === "linked") return await countLinked(db, owner);
    const foreign = armed(selection.visibility)
      ? await countForeign(db, source, selection.visibility, ownId!)
      : 0;
    return foreign + await sumCounts(db, source, owner, selection.visibility.deleted);
  }
  const query = db<{ n: string }[]>`
    select count(*) as n from ${listOf(db, source)}
    where ${reachOf(db, source, selection.visibility)} and ${matching(db, source, selection)}`;
  const [row] = await unprepared(query);
  return Number(row.n);
}

async function sumCounts(
  db: Db,
  source: Source,
  owner: string,
  deleted: Visibility["deleted"],
): Promise<number> {
  const [row] = await db<{ living: string; dead: string }[]>`
    select coalesce(sum(living), 0) as living, coalesce(sum(dead), 0) as dead from row_counts
    where collection = ${source.table} and owner = ${owner}::uuid`;
  const living = deleted === "only" ? 0 : Number(row.living);
  return living + (deleted === "no" ? 0 : Number(row.dead));
}

/** Counts the row that is one's own and has another owner: one or none. */
async function countForeign(
  db: Db,
  source: Source,
  visibility: Visibility,
  ownId: string,
): Promise<number> {
  const rows = await db`
    select 1 from ${listOf(db, source)} where id = ${ownId}::uuid
      and owner is distinct from ${visibility.user}::uuid and ${alive(db, source, visibility)}`;
  return rows.length;
}

/**
 * Counts transactions: those with links were counted, those without are few. One statement, one
 * snapshot.
 */
async function countLinked(db: Db, owner: string): Promise<number> {
  const [row] = owner === EVERYONE
    ? await db<{ n: string }[]>`
      select transactions - (select coalesce(sum(a.transactions), 0) from archived_parts a)
        + (select coalesce(sum(cardinality(c.transactions)), 0) from ledger_commits c) as n
      from chain_head`
    : await db<{ n: string }[]>`
      select (select coalesce(sum(living), 0) from row_counts
          where collection = 'transactions' and owner = ${owner}::uuid)
        + (select count(*) from ledger_commits c, unnest(c.transactions) u(id),
          lateral (select t.owner from transactions t where t.id = u.id offset 0) t
          where t.owner = ${owner}::uuid) as n`;
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
    select 1 from ${listOf(db, source)} where id = ${id}::uuid
      and ${reachOf(db, source, visibility, true)} and ${alive(db, source, visibility)}`;
  return rows.length > 0;
}

/** Marks a row deleted or restored; returns whether that changed it. */
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

/** Adds up the deltas of owners that have new ones, so that a count reads few rows. */
export async function compactRowCounts(db: Db): Promise<void> {
  await db`
    with busy as (
      select distinct collection, owner from (
        select collection, owner from row_counts where not summed limit 100000) fresh
    ), gone as (
      delete from row_counts t using busy b where t.collection = b.collection and t.owner = b.owner
      returning t.collection, t.owner, t.living, t.dead
    )
    insert into row_counts (collection, owner, living, dead, summed)
    select collection, owner, sum(living), sum(dead), true from gone group by collection, owner`;
}

function listOf(db: Db, source: Source) {
  return db(source.listed ?? source.table);
}

function isPlain(selection: Selection): boolean {
  return selection.search === null && selection.condition.op === "and" &&
    selection.condition.of.length === 0;
}

/**
 * Whether own rows are found in two ways: by the owner, and by the id of a row of another owner.
 */
function armed({ reaches, ownId }: Visibility): boolean {
  return ownId !== null && reaches.length === 1 && reaches[0] === "own";
}

function isFlow({ reaches }: Visibility): boolean {
  return reaches.some((reach) => reach === "incoming" || reach === "outgoing");
}

/** Writes the caller's condition for the rows within reach. */
function matching(db: Db, source: Source, selection: Selection): Fragment {
  const { columns } = source;
  const search = selection.search === null
    ? db`true`
    : searchOf(db, columns, selection.search.targets, selection.search.text);
  return db`${alive(db, source, selection.visibility)}
    and ${whereOf(db, columns, selection.condition)} and ${search}`;
}

/** Living rows, deleted ones or both; never those that lists leave out. */
function alive(db: Db, source: Source, { deleted, concealed, within }: Visibility): Fragment {
  const shown = concealed === null || concealed.shown
    ? db`true`
    : db`not (${concealing(db, source, concealed.rows)})`;
  const listed = within === null ? shown : db`${shown} and ${whereOf(db, source.columns, within)}`;
  if (!source.deletable || deleted === "too") return listed;
  return deleted === "only"
    ? db`${listed} and deleted_at is not null`
    : db`${listed} and deleted_at is null`;
}

/** Rows within reach, in parentheses. `one`: they are few already, so each can be checked. */
function reachOf(
  db: Db,
  source: Source,
  visibility: Visibility,
  one = false,
): Fragment {
  const { reaches, user, ownId, concealed } = visibility;
  if (reaches.includes("all")) return db`(true)`;
  const parts = reaches.map((reach) => {
    if (reach === "own") {
      return ownId === null
        ? db`owner = ${idText(db, user)}`
        : db`(owner = ${idText(db, user)} or id = ${idText(db, ownId!)})`;
    }
    const account = reach === "incoming" ? db`destination` : db`source`;
    return db`exists (select from accounts a where a.id = ${account} and a.owner = ${
      idText(db, user)
    })`;
  });
  if (concealed?.shown) parts.push(whereOf(db, source.columns, concealed.rows));
  if (isFlow(visibility) && !one) return db`id in (${flowing(db, source, visibility)})`;
  return db`(${parts.reduce((all, part) => db`${all} or ${part}`)})`;
}

/** The ids of transactions within reach, found by their accounts: no other index serves this. */
function flowing(db: Db, source: Source, { reaches, user }: Visibility): Fragment {
  const mine = db`(select id from accounts where owner = ${idText(db, user)})`;
  return reaches.map((reach) => {
    if (reach === "own") {
      return db`select id from ${listOf(db, source)} where owner = ${idText(db, user)}`;
    }
    const sign = reach === "incoming" ? db`amount > 0` : db`amount < 0`;
    return db`select transaction from entries where account in ${mine} and ${sign}`;
  }).reduce((all, part) => db`${all} union all ${part}`);
}

/** Rows by their owner and the one by its id, each found by an index; an `or` would read them all. */
function twoArms(db: Db, source: Source, visibility: Visibility, rest: Fragment): Fragment {
  const { user, ownId } = visibility;
  const table = listOf(db, source);
  return db`id in (
    (select id from ${table} where owner = ${idText(db, user)} and ${rest})
    union all
    (select id from ${table} where id = ${idText(db, ownId!)} and ${rest}))`;
}

async function findAnchor(
  db: Db,
  source: Source,
  visibility: Visibility,
  sort: readonly SortKey[],
  id: string,
): Promise<{ id: string; keys: (string | null)[] } | null> {
  if (sortsById(sort)) return { id, keys: [] };
  // The scope is checked here too: the sort position of a foreign row must not be revealed.
  const [row] = await unprepared(db<{ keys: (string | null)[] }[]>`
    select ${anchorOf(db, source.columns, sort)} as keys from ${listOf(db, source)}
    where id = ${id}::uuid and ${reachOf(db, source, visibility, true)}
      and ${alive(db, source, visibility)}`);
  return row === undefined ? null : { id, keys: row.keys };
}
