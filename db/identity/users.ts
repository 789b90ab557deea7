/** Statements on users and their identities. @module */
import type { ListQuery } from "../collections/filter.ts";
import type { Db, Tx } from "../database.ts";

/** A user as stored. */
export interface UserRow {
  id: string;
  username: string;
  email: string | null;
  verifier: string;
  password_digest: string;
  identity: string;
  roles: string[];
  scopes: string[];
  channel: Record<string, unknown>;
  data: Record<string, unknown>;
  active: boolean;
  owner: string;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "username",
  "email",
  "verifier",
  "password_digest",
  "identity",
  "roles",
  "scopes",
  "channel",
  "data",
  "active",
  "owner",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** What a list shows of a user. */
export type ListedUserRow = Omit<UserRow, "email" | "verifier">;

const LISTED_COLUMNS = COLUMNS.filter((column) => column !== "email" && column !== "verifier");

/** Fields of a new user. */
export type NewUserRow = Omit<UserRow, "error" | "deleted_at" | "updated_at" | "active"> & {
  /** The form of the name under which no other user may be. */
  folded: string;
};

/** Adds a user. */
export async function insertUser(tx: Tx, user: NewUserRow): Promise<UserRow> {
  const [row] = await tx<UserRow[]>`
    insert into users (id, username, folded, email, verifier, password_digest, identity, roles, scopes,
      channel, data, owner, created_at)
    values (${user.id}, ${user.username}, ${user.folded}, ${user.email}, ${user.verifier}, ${user.password_digest},
      ${user.identity}, ${user.roles}, ${user.scopes}, ${tx.json(user.channel as never)},
      ${tx.json(user.data as never)}, ${user.owner}, ${user.created_at})
    returning ${tx(COLUMNS)}`;
  return row;
}

/** Reads one user, deleted ones too. */
export async function selectUser(db: Db, id: string): Promise<UserRow | null> {
  const [row] = await db<UserRow[]>`select ${db(COLUMNS)} from users where id = ${id}`;
  return row ?? null;
}

/** Finds the user that logs in by this name. */
export async function selectUserByName(db: Db, username: string): Promise<UserRow | null> {
  const [row] = await db<UserRow[]>`
    select ${db(COLUMNS)} from users where username = ${username} and deleted_at is null`;
  return row ?? null;
}

/**
 * Finds the realm administrator that logs in by this e-mail address or name. Where both are given both must be its own:
 * else its password could be tried under any number of other names, each of which counts by itself.
 */
export async function selectAdmin(
  db: Db,
  login: { email: string | null; username: string | null },
): Promise<UserRow | null> {
  const [row] = await db<UserRow[]>`
    select ${db(COLUMNS)} from users
    where (${login.email}::text is null or email = ${login.email})
      and (${login.username}::text is null or username = ${login.username})
      and ${login.email ?? login.username}::text is not null
      and 'admin' = any (roles) and 'realm' = any (scopes) and deleted_at is null
    order by id limit 1`;
  return row ?? null;
}

/** Gives the e-mail addresses of the administrators of the realm, by their index: that of all addresses costs as little. */
export async function selectAdminEmails(
  db: Db,
  limit: number,
): Promise<{ id: string; email: string }[]> {
  return await db<{ id: string; email: string }[]>`
    select id, email from (select id, email, active from users
      where 'admin' = any (roles) and 'realm' = any (scopes) and deleted_at is null offset 0) u
    where active and email is not null order by id limit ${limit}`;
}

/** Reads users by their ids, deleted ones too. */
export async function selectUsers(db: Db, ids: string[]): Promise<UserRow[]> {
  return await db<UserRow[]>`select ${db(COLUMNS)} from users where id = any (${ids}::uuid[])`;
}

/** Reads a part of a list of users. */
export async function selectListedUsers(db: Db, list: ListQuery): Promise<ListedUserRow[]> {
  return await list<ListedUserRow>(db`${db(LISTED_COLUMNS)}`);
}

/** Fields of a user that may change. */
export type UserChanges = Partial<
  Pick<
    UserRow,
    | "username"
    | "email"
    | "verifier"
    | "password_digest"
    | "roles"
    | "scopes"
    | "channel"
    | "data"
    | "active"
  >
>;

/** Changes a user. */
export async function updateUser(
  tx: Tx,
  id: string,
  to: UserRow & UserChanges & { folded: string },
  now: number,
): Promise<UserRow> {
  const [row] = await tx<UserRow[]>`
    update users set username = ${to.username}, folded = ${to.folded}, email = ${to.email}, verifier = ${to.verifier},
      password_digest = ${to.password_digest}, roles = ${to.roles}, scopes = ${to.scopes},
      channel = ${tx.json(to.channel as never)}, data = ${tx.json(to.data as never)},
      active = ${to.active}, updated_at = ${now}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}

/**
 * Counts the realm's active administrators other than one user. Under serializable isolation two
 * demotions at once cannot both count the other.
 */
export async function countOtherAdmins(tx: Tx, id: string): Promise<number> {
  const [row] = await tx<{ n: string }[]>`
    select count(*) as n from users
    where id <> ${id} and active and deleted_at is null
      and 'admin' = any (roles) and 'realm' = any (scopes)`;
  return Number(row.n);
}

/** The customer (topmost creator below the house) that a user belongs to; null for users of scope realm, who work for it. */
export async function selectCustomerOf(db: Db, user: string): Promise<string | null> {
  const [row] = await db<{ root: string | null }[]>`
    select root from users where id = ${user} and not 'realm' = any (scopes)`;
  return row?.root ?? null;
}
