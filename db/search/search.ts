/**
 * Statements of the search: exact keys and prefixes, each found by an index. What a caller may not
 * see is left out within the index too, so that a search of few rows reads few, whoever owns the
 * others. They are planned for the rows that there are: a plan made on small tables may pass over
 * the index of a key.
 * @module
 */
import type { Db } from "../database.ts";
import { type Fragment, unprepared } from "../collections/filter.ts";

/** An entity that was found. */
export interface FoundRow {
  kind: FoundKind;
  id: string;
  title: string;
  subtitle: string;
  match: FoundMatch;
}

/** Kinds of entities that are found. */
export const FOUND_KINDS = [
  "user",
  "identity",
  "account",
  "alias",
  "currency",
  "transaction",
  "deposit",
  "unmatched",
  "withdrawal",
] as const;
/** A kind of entity that is found. */
export type FoundKind = typeof FOUND_KINDS[number];

/** What of an entity equals the text, or begins with it. */
export const FOUND_MATCHES = [
  "id",
  "username",
  "email",
  "contact",
  "alias",
  "name",
  "reference",
  "hash",
  "address",
  "destination",
] as const;
/** What of an entity equals the text, or begins with it. */
export type FoundMatch = typeof FOUND_MATCHES[number];

/** Who searches, and how much is wanted. */
export interface SearchReach {
  /** Whose entities are found; null: everybody's. */
  owner: string | null;
  /** The user who searches: its own record is found whoever owns it. */
  user: string;
  /** Whether unmatched deposits are found. */
  unmatched: boolean;
  /** Most rows of each kind. */
  limit: number;
}

/** Greatest character: behind every text that goes on after a prefix. */
const LAST = "\u{10ffff}";

/** Finds the entity with an id. */
export async function selectById(db: Db, reach: SearchReach, id: string): Promise<FoundRow[]> {
  const { user } = reach;
  const own = ownedBy(db, reach);
  const isId = db`x.id = ${id}`;
  const kinds = [
    db`select 'user' as kind, x.id, ${shownUser(db)} from users x
      where ${isId} and x.deleted_at is null and (${own} or x.id = ${user})`,
    db`select 'identity', x.id, ${shownIdentity(db)} from identities x
      where ${isId} and x.deleted_at is null
        and (${own} or x.id = (select u.identity from users u where u.id = ${user}))`,
    db`select 'account', x.id, ${shownAccount(db)} from accounts x
      where ${isId} and x.deleted_at is null and x.type <> 'system' and ${own}`,
    db`select 'alias', x.id, ${shownAlias(db)} from aliases x
      where ${isId} and x.deleted_at is null and ${own}`,
    db`select 'currency', x.id, x.name, 'currency' from currencies x
      where ${isId} and x.deleted_at is null and ${own}`,
    db`select 'transaction', x.id, ${shownAmount(db)}, x.type from transactions x
      where ${isId} and (${own} or exists (select from accounts a
        where a.id in (x.source, x.destination) and ${ownedBy(db, reach, db`a.owner`)}))`,
    db`select 'deposit', x.id, ${
      shownAmount(db)
    }, x.status from deposits x where ${isId} and ${own}`,
    db`select 'unmatched', x.id, ${shownUnmatched(db)} from unmatched_deposits x
      where ${isId} and ${reach.unmatched}`,
    db`select 'withdrawal', x.id, ${shownAmount(db)}, x.status from withdrawals x
      where ${isId} and ${own}`,
  ];
  return await unprepared(db<FoundRow[]>`
    select kind, id, title, subtitle, 'id' as match
    from (${united(db, kinds)}) f(kind, id, title, subtitle)`);
}

/** Finds deposits and withdrawals by the hash of their transaction on a chain, in any of its forms. */
export async function selectByHash(
  db: Db,
  reach: SearchReach,
  forms: readonly string[],
): Promise<FoundRow[]> {
  const own = ownedBy(db, reach);
  const limit = db`limit ${reach.limit}`;
  const kinds = [
    db`(select 'deposit' as kind, x.id, ${shownAmount(db)}, x.status from deposits x
      where x.hash = any (${forms as string[]}::text[]) and ${own} ${limit})`,
    db`(select 'unmatched', x.id, ${shownUnmatched(db)} from unmatched_deposits x
      where x.hash = any (${forms as string[]}::text[]) and ${reach.unmatched} ${limit})`,
    db`(select 'withdrawal', x.id, ${shownAmount(db)}, x.status from withdrawals x
      where x.hash = any (${forms as string[]}::text[]) and ${own} ${limit})`,
  ];
  return await unprepared(db<FoundRow[]>`
    select kind, id, title, subtitle, 'hash' as match
    from (${united(db, kinds)}) f(kind, id, title, subtitle)`);
}

/** Finds accounts by an address that is theirs or linked to them, and the latest withdrawals to it. */
export async function selectByAddress(
  db: Db,
  reach: SearchReach,
  forms: readonly string[],
): Promise<FoundRow[]> {
  const own = ownedBy(db, reach);
  const account = db`lateral (select x.id, x.asset, x.type, x.testnet, x.reference from accounts x
    where x.id = o.account and x.deleted_at is null and ${own} offset 0) x`;
  const form = db`unnest(${forms as string[]}::text[]) g(address)`;
  return await unprepared(db<FoundRow[]>`
    select * from (
      select 'account' as kind, x.id, ${shownAccount(db)}, 'address' as match
      from ${form}, lateral (select o.account from addresses o
        where o.address = g.address offset 0) o, ${account} limit ${reach.limit}
    ) a(kind, id, title, subtitle, match)
    union all select * from (
      select 'account', x.id, ${shownAccount(db)}, 'address'
      from ${form}, lateral (select o.account from external_addresses o
        where o.address = g.address and o.deleted_at is null offset 0) o, ${account}
      limit ${reach.limit}
    ) e
    union all select 'withdrawal', w.id, w.title, w.status, 'destination'
    from ${form}, lateral (select x.id, ${shownAmount(db)} as title, x.status from withdrawals x
      where x.destination = g.address and ${own} order by x.id desc
      limit ${reach.limit}) w`);
}

/** Finds entities by an exact text: an e-mail address, the reference of an account. */
export async function selectByText(db: Db, reach: SearchReach, text: string): Promise<FoundRow[]> {
  const own = ownedBy(db, reach);
  const limit = db`limit ${reach.limit}`;
  return await unprepared(db<FoundRow[]>`
    (select 'user' as kind, x.id, ${shownUser(db)}, 'email' as match from users x
      where x.email = lower(${text}) and x.deleted_at is null and ${own} ${limit})
    union all (select 'account', x.id, ${shownAccount(db)}, 'reference' from accounts x
      where x.reference = ${text} and x.deleted_at is null and ${own} ${limit})`);
}

/** Finds entities whose name begins with a text, whatever its case, in the order of their names. */
export async function selectByPrefix(
  db: Db,
  reach: SearchReach,
  text: string,
): Promise<FoundRow[]> {
  const arms = [
    db`(select 'user' as kind, x.id, ${shownUser(db)}, 'username' as match from users x
      where ${prefixed(db, reach, NAMES.users(db), text)})`,
    db`(select 'alias', x.id, ${shownAlias(db)}, 'alias' from aliases x
      where ${prefixed(db, reach, NAMES.aliases(db), text)})`,
    db`(select 'identity', x.id, ${shownIdentity(db)}, 'name' from identities x
      where ${prefixed(db, reach, NAMES.identities(db), text)})`,
  ];
  if (reach.owner !== null) arms.push(...ownRecords(db, reach, text));
  return await unprepared(db<FoundRow[]>`
    select * from (${united(db, arms)}) f(kind, id, title, subtitle, match)`);
}

/** Finds the identity whose person has a number or an e-mail address, by its digest. */
export async function selectByContact(
  db: Db,
  reach: SearchReach,
  contacts: readonly { channel: string; digest: Uint8Array }[],
): Promise<FoundRow[]> {
  const channels = contacts.map(({ channel }) => channel);
  const digests = contacts.map(({ digest }) => digest.toHex());
  return await unprepared(db<FoundRow[]>`
    select 'identity' as kind, x.id, ${shownIdentity(db)}, 'contact' as match
    from unnest(${channels}::text[], ${digests}::text[]) g(channel, digest),
      lateral (select c.person from person_contacts c
        where c.channel = g.channel and c.digest = decode(g.digest, 'hex') offset 0) c,
      lateral (select x.id, x.type, x.country, x.data from identities x
        where x.person = c.person::text and x.deleted_at is null and ${ownedBy(db, reach)}
        offset 0) x
    limit ${reach.limit}`);
}

/** The names by which entities are found, as their indexes have them. */
const NAMES = {
  users: (db: Db) => db`lower(x.username)`,
  aliases: (db: Db) => db`lower(x.alias)`,
  identities: (db: Db) => db`lower(left(x.data ->> 'name', 200))`,
};

/** One's own records, which may have another owner: found by their ids, and then compared. */
function ownRecords(db: Db, { owner, user }: SearchReach, text: string): Fragment[] {
  return [
    db`(select 'user', x.id, ${shownUser(db)}, 'username' from (
        select * from users where id = ${user} offset 0) x
      where x.owner is distinct from ${owner} and x.deleted_at is null
        and ${between(db, NAMES.users(db), text)})`,
    db`(select 'identity', x.id, ${shownIdentity(db)}, 'name' from (
        select i.* from users u, identities i where u.id = ${user} and i.id = u.identity offset 0) x
      where x.owner is distinct from ${owner} and x.deleted_at is null
        and ${between(db, NAMES.identities(db), text)})`,
  ];
}

/** The living rows within reach whose name begins with a text: first ones in the order of their index. */
function prefixed(db: Db, reach: SearchReach, name: Fragment, text: string): Fragment {
  return db`x.deleted_at is null and ${ownedBy(db, reach)} and ${between(db, name, text)}
    order by ${name} using ~<~ limit ${reach.limit}`;
}

/** Compares byte by byte, as the index does: no character of the text stands for others. */
function between(db: Db, name: Fragment, text: string): Fragment {
  return db`${name} ~>=~ lower(${text}) and ${name} ~<~ (lower(${text}) || ${LAST})`;
}

function ownedBy(db: Db, { owner }: SearchReach, column = db`x.owner`): Fragment {
  return owner === null ? db`true` : db`${column} = ${owner}`;
}

function united(db: Db, parts: readonly Fragment[]): Fragment {
  return parts.reduce((all, part) => db`${all} union all ${part}`);
}

// What a row is shown by: a title and a subtitle.
function shownUser(db: Db): Fragment {
  return db`x.username as title, array_to_string(x.roles, ', ') as subtitle`;
}

function shownIdentity(db: Db): Fragment {
  return db`coalesce(left(x.data ->> 'name', 200), x.id::text) as title,
    x.type || ', ' || x.country as subtitle`;
}

function shownAccount(db: Db): Fragment {
  return db`coalesce(x.reference, x.id::text) as title,
    x.type || ', ' || x.asset || case when x.testnet then ', testnet' else '' end as subtitle`;
}

function shownAlias(db: Db): Fragment {
  return db`x.alias as title, x.type || ' ' || coalesce(x.account, x.identity) as subtitle`;
}

function shownAmount(db: Db): Fragment {
  return db`trim_scale(x.amount) || ' ' || x.asset`;
}

function shownUnmatched(db: Db): Fragment {
  return db`coalesce(x.asset, x.contract, x.chain) as title, x.chain || ', ' || x.network as subtitle`;
}
