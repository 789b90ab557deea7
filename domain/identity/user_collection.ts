/** Users as a collection: changes, deletion, and the end of their keys. @module */
import { z } from "zod";
import { endApiKeysOf } from "../../db/identity/api_keys.ts";
import type { Db, Tx } from "../../db/database.ts";
import { brokenConstraint } from "../../db/errors.ts";
import { selectIdentityOfUser } from "../../db/identity/identities.ts";
import {
  countOtherAdmins,
  type ListedUserRow,
  selectListedUsers,
  selectUsers,
  updateUser,
  type UserChanges,
  type UserRow,
} from "../../db/identity/users.ts";
import { forgetWrongCodes } from "../../db/security/second_factors.ts";
import { type Actor, cumulativeRoles, cumulativeScopes, ROLES, SCOPES } from "../actor.ts";
import {
  type Collection,
  MUTABLE_COLUMNS,
  rowFor,
  setDeleted,
  textColumn,
} from "../collections/collection.ts";
import { Flag, FreeForm, NewUsername } from "../entity.ts";
import { foldName } from "../names.ts";
import { DomainError } from "../errors.ts";
import { Password } from "../security/passwords.ts";
import { assertMayGrant } from "../permissions.ts";
import { revokeUser } from "../security/sessions.ts";
import { Channel, loginEmail, RoleList, ScopeList, strongest, TAKEN, viewUser } from "./users.ts";

/** A change of a user. */
export const UserChange = z.strictObject({
  username: NewUsername.optional(),
  password: Password.optional(),
  scopes: ScopeList.optional(),
  roles: RoleList.optional(),
  channel: Channel.optional(),
  data: FreeForm.optional(),
  active: Flag.optional(),
}).meta({ id: "UserChange" });

/** A change whose slow work on the password is done, outside any transaction. */
export type PreparedChange = Omit<z.infer<typeof UserChange>, "password"> & { verifier?: string };

/** Terms of a change of a user. */
export interface ChangeTerms {
  /** Lifetime of keys in seconds: how long a revocation is remembered. */
  ttlS: number;
  /** Refuses actors without a recent login. */
  assertFresh: () => void;
  /** Is told of a user whose e-mail address has changed, as it was before. */
  onNewEmail?: (before: UserRow) => Promise<void>;
  /** Is told of a user whose password has changed, as it was before. */
  onNewPassword?: (before: UserRow) => Promise<void>;
}

/** The collection of users. */
export const USERS: Collection<UserRow, ListedUserRow> = {
  name: "users",
  table: "users",
  deletable: true,
  counted: true,
  notFound: "user.not_found",
  fields: ["password", "error", "deleted"],
  columns: {
    ...MUTABLE_COLUMNS,
    username: textColumn("username"),
    identity: { column: "identity", type: "id" },
    roles: { column: "roles", type: "texts" },
    scopes: { column: "scopes", type: "texts" },
    channel: { column: "channel", type: "json" },
    active: { column: "active", type: "boolean" },
  },
  read: selectUsers,
  readListed: selectListedUsers,
  show: (_db, _actor, rows) => Promise.resolve(rows.map(viewUser)),
  ownId: (_db, actor) => Promise.resolve(actor.user),
  isOwn: (actor, row) => row.id === actor.user,
};

/**
 * Makes the checks of {@link changeUser} that do not depend on the change, before slow work on it.
 *
 * @throws {DomainError} user.not_found, permission.*
 */
export async function assertMayChange(db: Db, actor: Actor, id: string): Promise<UserRow> {
  const row = await rowFor(db, actor, USERS, id, "write");
  assertNotAbove(actor, row);
  return row;
}

/**
 * Changes a user. A new password, role, scope or activity ends all keys of the user, and a new password the
 * hold of its one-time codes. A stolen key
 * cannot take away the name or the address by which a user logs in.
 *
 * @throws {DomainError} user.not_found, permission.*, user.last_admin, username.taken, auth.*
 */
export async function changeUser(
  tx: Tx,
  actor: Actor,
  id: string,
  input: PreparedChange,
  { ttlS, assertFresh, onNewEmail, onNewPassword }: ChangeTerms,
): Promise<UserRow> {
  const row = await assertMayChange(tx, actor, id);
  const changes = changesOf(actor, row, input);
  const next = { ...row, ...changes };
  assertMayGrant(actor, changes.roles === undefined ? [] : cumulative(next).roles, []);
  assertMayGrant(actor, [], changes.scopes === undefined ? [] : cumulative(next).scopes);
  const isNamed = isAdmin({ ...row, active: true }) && next.email !== row.email; // it may be reactivated
  if (next.username !== row.username || isNamed) assertFresh();
  if (isAdmin(row) && !isAdmin(next)) await assertNotLast(tx, row.id);
  const ends = input.verifier !== undefined || row.active !== next.active ||
    `${row.roles}` !== `${next.roles}` || `${row.scopes}` !== `${next.scopes}`;
  if (ends) await revokeUser(tx, actor, row.id, ttlS);
  if (next.email !== row.email) await onNewEmail?.(row);
  if (input.verifier !== undefined) {
    await forgetWrongCodes(tx, row.id); // who tried them does not have the new password
    await onNewPassword?.(row);
  }
  try {
    return await tx.savepoint((sp) =>
      updateUser(sp, row.id, { ...next, folded: foldName(next.username) }, actor.at)
    );
  } catch (error) {
    const broken = brokenConstraint(error);
    if (!TAKEN.includes(broken ?? "")) throw error;
    throw new DomainError("username.taken", "this username or e-mail address is taken");
  }
}

/**
 * Deletes a user and ends all its keys.
 *
 * @throws {DomainError} user.not_found, permission.*, user.last_admin
 */
export async function removeUser(
  tx: Tx,
  actor: Actor,
  id: string,
  ttlS: number,
): Promise<Record<string, unknown>> {
  const row = await rowFor(tx, actor, USERS, id, "deleteUser");
  assertNotAbove(actor, row);
  if (isAdmin(row)) await assertNotLast(tx, row.id);
  await revokeUser(tx, actor, row.id, ttlS);
  await endApiKeysOf(tx, row.id, actor.at); // for good, also where the user is restored
  return await setDeleted(tx, actor, USERS, row.id, true);
}

/**
 * Restores a user.
 *
 * @throws {DomainError} user.not_found, permission.*, username.taken
 */
export async function restoreUser(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<Record<string, unknown>> {
  const row = await rowFor(tx, actor, USERS, id, "undelete");
  assertNotAbove(actor, row);
  try {
    return await tx.savepoint((sp) => setDeleted(sp, actor, USERS, row.id, false));
  } catch (error) {
    if (brokenConstraint(error) !== "users_admin_email") throw error;
    throw new DomainError("username.taken", "another administrator has this e-mail address now");
  }
}

/** The id of the actor's own identity, which it always sees. */
export async function ownIdentity(db: Db, actor: Actor): Promise<string | null> {
  return (await selectIdentityOfUser(db, actor.user))?.id ?? null;
}

function changesOf(actor: Actor, row: UserRow, input: PreparedChange): UserChanges {
  const { verifier, roles, scopes, channel, ...rest } = input;
  const email = loginEmail({ channel: channel ?? row.channel, data: input.data ?? row.data });
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    ...(verifier === undefined
      ? {}
      : { verifier, password_digest: crypto.randomUUID().replaceAll("-", "") }),
    ...(roles === undefined ? {} : { roles: cumulativeRoles(strongest(ROLES, roles)) }),
    ...(scopes === undefined ? {} : { scopes: cumulativeScopes(strongest(SCOPES, scopes)) }),
    ...(channel === undefined ? {} : { channel }),
    ...(actor.kind === "worker" || (channel ?? input.data) === undefined ? {} : { email }),
  };
}

function cumulative(row: Pick<UserRow, "roles" | "scopes">) {
  return {
    roles: ROLES.filter((role) => row.roles.includes(role)),
    scopes: SCOPES.filter((scope) => row.scopes.includes(scope)),
  };
}

/**
 * Refuses changes of a user with more rights than the actor, because these would raise the actor's
 * own.
 *
 * @throws {DomainError} permission.role, permission.scope
 */
export function assertNotAbove(actor: Actor, row: Pick<UserRow, "roles" | "scopes">): void {
  const { roles, scopes } = cumulative(row);
  assertMayGrant(actor, roles, scopes);
}

function isAdmin(row: Pick<UserRow, "roles" | "scopes" | "active">): boolean {
  return row.active && row.roles.includes("admin") && row.scopes.includes("realm");
}

async function assertNotLast(tx: Tx, id: string): Promise<void> {
  if (await countOtherAdmins(tx, id) > 0) return;
  throw new DomainError("user.last_admin", "the realm's last administrator must stay");
}
