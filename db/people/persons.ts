/** Statements on persons of the realm's own tables. Contact data arrives and leaves encrypted. @module */
import type postgres from "postgres";
import type { Db, Tx } from "../database.ts";

/** A person as stored. */
export interface PersonRow {
  id: string;
  external_id: string | null;
  first_name: string | null;
  last_name: string | null;
  middle_name: string | null;
  city: string | null;
  country: string | null;
  gender: string | null;
  profile_picture: string | null;
  tags: string[];
  custom_attributes: Record<string, unknown>;
  contact: Uint8Array;
  origin: string;
  modified_from: string;
  owner: string;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "external_id",
  "first_name",
  "last_name",
  "middle_name",
  "city",
  "country",
  "gender",
  "profile_picture",
  "tags",
  "custom_attributes",
  "contact",
  "origin",
  "modified_from",
  "owner",
  "updated_at",
  "created_at",
] as const;

/** A number or address of a person, as its digest. */
export interface ContactDigest {
  channel: "phone" | "email";
  digest: Uint8Array;
}

/** A condition on persons: an equal column, a tag, an attribute, or the digest of a contact. */
export type PersonFilter =
  | { kind: "column"; column: keyof PersonRow; value: string }
  | { kind: "tag"; value: string }
  | { kind: "attribute"; name: string; value: string }
  | { kind: "contact"; of: ContactDigest };

/** The part of a list of persons that is read. */
export interface PersonPage {
  filters: readonly PersonFilter[];
  /** Only persons that this user may see as its own; null: all. */
  owner: string | null;
  limit: number;
  offset: number;
  /** Only persons after this id, in the order of ids. */
  after: string | null;
}

/** Adds a person. */
export async function insertPerson(
  tx: Tx,
  row: Omit<PersonRow, "updated_at">,
  contacts: readonly ContactDigest[],
): Promise<PersonRow> {
  const [made] = await tx<PersonRow[]>`
    insert into persons (id, external_id, first_name, last_name, middle_name, city, country, gender,
      profile_picture, tags, custom_attributes, contact, origin, modified_from, owner, created_at)
    values (${row.id}, ${row.external_id}, ${row.first_name}, ${row.last_name}, ${row.middle_name},
      ${row.city}, ${row.country}, ${row.gender}, ${row.profile_picture}, ${row.tags},
      ${tx.json(row.custom_attributes as never)}, ${row.contact}, ${row.origin},
      ${row.modified_from}, ${row.owner}, ${row.created_at})
    returning ${tx(COLUMNS)}`;
  await addContacts(tx, row.id, contacts);
  return made;
}

/** Replaces the fields of a person; contacts are added to those that it has. */
export async function updatePerson(
  tx: Tx,
  row: Omit<PersonRow, "origin" | "owner" | "created_at" | "external_id">,
  contacts: readonly ContactDigest[],
): Promise<PersonRow> {
  const [made] = await tx<PersonRow[]>`
    update persons set first_name = ${row.first_name}, last_name = ${row.last_name},
      middle_name = ${row.middle_name}, city = ${row.city}, country = ${row.country},
      gender = ${row.gender}, profile_picture = ${row.profile_picture}, tags = ${row.tags},
      custom_attributes = ${tx.json(row.custom_attributes as never)}, contact = ${row.contact},
      modified_from = ${row.modified_from}, updated_at = ${row.updated_at}
    where id = ${row.id} returning ${tx(COLUMNS)}`;
  await addContacts(tx, row.id, contacts);
  return made;
}

/** Of one's own a contact is kept; one of another person breaks the key of the table. */
async function addContacts(
  tx: Tx,
  person: string,
  contacts: readonly ContactDigest[],
): Promise<void> {
  if (contacts.length === 0) return;
  const channels = contacts.map(({ channel }) => channel);
  const digests = contacts.map(({ digest }) => digest.toHex());
  await tx`
    insert into person_contacts (channel, digest, person)
    select c.channel, decode(c.digest, 'hex'), ${person}
    from unnest(${channels}::text[], ${digests}::text[]) c(channel, digest)
    where not exists (select from person_contacts p where p.channel = c.channel
      and p.digest = decode(c.digest, 'hex') and p.person = ${person})`;
}

/** Names the identity that a person is the profile of, whose owner it then has; null: of none. */
export async function updateExternalId(
  tx: Tx,
  person: string,
  identity: string | null,
  at: number,
): Promise<void> {
  await tx`
    update persons set external_id = ${identity}, updated_at = ${at},
      owner = coalesce((select i.owner from identities i where i.id = ${identity}), owner)
    where id = ${person}`;
}

/** Names the identities that persons are the profiles of, whose owners they then have. */
export async function updateExternalIds(
  tx: Tx,
  links: readonly { person: string; identity: string }[],
  at: number,
): Promise<void> {
  await tx`
    update persons p set external_id = l.identity, updated_at = ${at}, owner = i.owner
    from unnest(${links.map((link) => link.person)}::uuid[],
      ${links.map((link) => link.identity)}::uuid[]) l(person, identity)
      join identities i on i.id = l.identity
    where p.id = l.person`;
}

/** Reads persons by their ids. */
export async function selectPersons(db: Db, ids: readonly string[]): Promise<PersonRow[]> {
  return await db<PersonRow[]>`
    select ${db(COLUMNS)} from persons where id = any (${ids as string[]}::uuid[])`;
}

/** Reads and locks a person. */
export async function lockPerson(tx: Tx, id: string): Promise<PersonRow | null> {
  const [row] = await tx<PersonRow[]>`
    select ${tx(COLUMNS)} from persons where id = ${id} for update`;
  return row ?? null;
}

/** A person, and the identity that it is the profile of. */
export type PersonLink = Pick<PersonRow, "id" | "external_id">;

/**
 * Finds a part of the list of persons, oldest first. A user's own are those of its identities, and
 * those that it owns while no identity has them.
 */
export async function selectPersonPage(db: Db, page: PersonPage): Promise<PersonLink[]> {
  const { owner } = page;
  const own = owner === null ? db`true` : db`
    p.id in (
      select case when i.person ~ '^[0-9a-f-]{36}$' then i.person::uuid end
      from identities i where i.owner = ${owner} and i.person is not null
      union all
      select q.id from persons q where q.owner = ${owner}
        and not exists (select from identities i where i.person = q.id::text))`;
  return await db<PersonLink[]>`
    select p.id, p.external_id from persons p
    where ${own} and ${page.after === null ? db`true` : db`p.id > ${page.after}`}
      and ${allOf(db, page.filters.map((filter) => conditionOf(db, filter)))}
    order by p.id limit ${page.limit} offset ${page.offset}`;
}

function allOf(db: Db, conditions: ReturnType<typeof conditionOf>[]) {
  return conditions.reduce((all, one) => db`${all} and ${one}`, db`true`);
}

function conditionOf(db: Db, filter: PersonFilter): postgres.PendingQuery<postgres.Row[]> {
  switch (filter.kind) {
    case "column":
      return db`p.${db(filter.column)}::text = ${filter.value}`;
    case "tag":
      return db`${filter.value} = any (p.tags)`;
    case "attribute":
      return db`p.custom_attributes ->> ${filter.name} = ${filter.value}`;
    case "contact":
      return db`exists (select from person_contacts c where c.person = p.id
        and c.channel = ${filter.of.channel} and c.digest = ${filter.of.digest})`;
  }
}

/** Says which person or identity an idempotent answer shows, so that it can be erased with the person. */
export async function markAnswer(tx: Tx, key: string, profile: string): Promise<void> {
  await tx`update idempotency set profile = ${profile} where key = ${key}`;
}

/** Replaces the stored answers that show a person, or its identity from before it had any. */
export async function replaceAnswers(
  tx: Tx,
  { identity, person }: { identity: string; person: string },
  answer: { status: number; body: string },
): Promise<void> {
  await tx`
    with earlier as (
      update idempotency_earlier set status = ${answer.status}, body = ${answer.body}, profile = null
      where profile in (${person}, ${identity}))
    update idempotency set status = ${answer.status}, body = ${answer.body}, profile = null
    where profile in (${person}, ${identity})`;
}

/** Deletes a person with its events and digests; false where there is none. */
export async function deletePerson(tx: Tx, id: string): Promise<boolean> {
  return (await tx`delete from persons where id = ${id} returning id`).length > 0;
}

/** A custom event as stored. */
export interface PersonEventRow {
  id: string;
  person: string;
  definition: string;
  properties: Uint8Array;
  owner: string;
  created_at: number;
}

/** Adds a custom event of a person. */
export async function insertPersonEvent(tx: Tx, row: PersonEventRow): Promise<void> {
  await tx`insert into person_events ${tx({ ...row })}`;
}

/** A part of the custom events of a person. */
export interface EventPart {
  /** Only events before this id; null: from the latest. */
  before: string | null;
  limit: number;
  /** Bytes of all properties together, as stored. */
  sizeMax: number;
}

/** Reads a part of the custom events of a person, the latest first. */
export async function selectPersonEvents(
  db: Db,
  person: string,
  { before, limit, sizeMax }: EventPart,
): Promise<PersonEventRow[]> {
  return await db<PersonEventRow[]>`
    select id, person, definition, properties, owner, created_at from (
      select id, person, definition, properties, owner, created_at,
        sum(octet_length(properties)) over (order by id desc) as size
      from person_events
      where person = ${person} and ${before === null ? db`true` : db`id < ${before}`}
      order by id desc limit ${limit}) e
    where size <= ${sizeMax} order by id desc`;
}
