/** Statements on notes. @module */
import type { Db, Tx } from "./database.ts";

/** A note as stored. */
export interface NoteRow {
  id: string;
  collection: NotedCollection;
  entity: string;
  kind: string;
  /** Null after the data of its person was erased. */
  text: string | null;
  owner: string;
  erased_at: number | null;
  created_at: number;
}

/** The collections whose entities have notes. */
export const NOTED_COLLECTIONS = [
  "accounts",
  "deposits",
  "identities",
  "transactions",
  "users",
  "withdrawals",
] as const;
/** A collection whose entities have notes. */
export type NotedCollection = typeof NOTED_COLLECTIONS[number];

/** An entity that a note is about, and whose data the note is. */
export interface Noted {
  collection: NotedCollection;
  /** The identity that the entity belongs to; null for a transaction, which has two sides. */
  identity: string | null;
  /** The person that the identity has now. */
  person: string | null;
}

const COLUMNS = ["id", "collection", "entity", "kind", "text", "owner", "erased_at", "created_at"];

/** Finds an entity by its id, whatever it is; null where there is none. */
export async function selectNoted(db: Db, id: string): Promise<Noted | null> {
  const [row] = await db<Noted[]>`
    select n.collection, n.identity, i.person from (
      select 'accounts' as collection, holder as identity from accounts where id = ${id}
      union all select 'identities', id from identities where id = ${id}
      union all select 'users', identity from users where id = ${id}
      union all select 'transactions', null from transactions where id = ${id}
      union all select 'deposits', a.holder from deposits d left join accounts a on a.id = d.account
        where d.id = ${id}
      union all select 'withdrawals', a.holder from withdrawals w left join accounts a on a.id = w.account
        where w.id = ${id}
    ) n left join identities i on i.id = n.identity limit 1`;
  return row ?? null;
}

/** Adds a note. */
export async function insertNote(
  tx: Tx,
  note: Omit<NoteRow, "erased_at"> & Noted,
): Promise<NoteRow> {
  const [row] = await tx<NoteRow[]>`
    insert into notes (id, collection, entity, identity, person, kind, text, owner, created_at)
    values (${note.id}, ${note.collection}, ${note.entity}, ${note.identity}, ${note.person},
      ${note.kind}, ${note.text}, ${note.owner}, ${note.created_at})
    returning ${tx(COLUMNS)}`;
  return row;
}

/** Reads notes, the latest first, after one of them. */
export async function selectNotes(
  db: Db,
  { entity, after, limit }: { entity: string | null; after: string | null; limit: number },
): Promise<NoteRow[]> {
  return await db<NoteRow[]>`
    select ${db(COLUMNS)} from notes
    where ${entity === null ? db`true` : db`entity = ${entity}`}
      and ${after === null ? db`true` : db`id < ${after}`}
    order by id desc limit ${limit}`;
}

/**
 * Erases the texts of the notes about a person, wherever they are, and of those about its identity: of persons that had it
 * and were forgotten by customers, also where another had it then, and from before it had any. Notes about a person
 * that was not forgotten stay.
 *
 * @param person null where the identity has none any more
 * @returns how many were about a person
 */
export async function eraseNotesOf(
  tx: Tx,
  { identity, person, at }: { identity: string; person: string | null; at: number },
): Promise<number> {
  const rows = await tx<{ person: string | null }[]>`
    update notes set text = null, erased_at = ${at}
    where erased_at is null and id in (
      select id from notes where person = ${person}
      union all select id from notes where identity = ${identity} and person is null
      union all select id from notes where forgotten_at is not null and person in (
        select person from notes
        where identity = ${identity} and forgotten_at is not null and erased_at is null))
    returning person`;
  return rows.filter(({ person }) => person !== null).length;
}

/** Marks the notes about a person that a customer forgot: their texts stay until the realm forgets it too. */
export async function markForgotten(
  tx: Tx,
  { person, at }: { person: string; at: number },
): Promise<void> {
  await tx`
    update notes set forgotten_at = ${at}
    where person = ${person} and forgotten_at is null and erased_at is null`;
}
