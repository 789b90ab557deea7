/** Users: they log in and own entities. Each is linked to one identity. @module */
import { z } from "zod";
import { brokenConstraint } from "../../db/errors.ts";
import type { Db, Tx } from "../../db/database.ts";
import { selectIdentity } from "../../db/identity/identities.ts";
import {
  insertUser,
  type ListedUserRow,
  selectUser,
  type UserRow,
} from "../../db/identity/users.ts";
import {
  type Actor,
  cumulativeRoles,
  cumulativeScopes,
  type Role,
  ROLES,
  type Scope,
  SCOPES,
} from "../actor.ts";
import {
  EntityFields,
  type EntityView,
  FreeForm,
  Id,
  NewUsername,
  text,
  viewEntity,
} from "../entity.ts";
import { DomainError } from "../errors.ts";
import { createIdentity } from "./identities.ts";
import { isId, newId } from "../ids.ts";
import { foldName } from "../names.ts";
import { Password } from "../security/passwords.ts";
import { assertMay, assertMayCreateUser, assertMayGrant, notFound } from "../permissions.ts";

/** A comma-separated list of words, as roles and scopes are written. */
function wordList<const T extends readonly [string, ...string[]]>(words: T, example: string) {
  return z.string().transform((given, context): T[number][] => {
    const list = given.split(",").map((word) => word.trim()).filter((word) => word !== "");
    const unknown = list.find((word) => !words.includes(word));
    if (unknown === undefined && list.length > 0) return list;
    context.addIssue({
      code: "custom",
      message: `a comma-separated list of ${words.join(", ")} is expected`,
    });
    return z.NEVER;
  }).meta({
    description: `Comma-separated: ${words.join(", ")}.`,
    pattern: `^[ ,]*(?:${words.join("|")})(?:[ ]*,[ ]*(?:${words.join("|")})?)*[ ]*$`,
    example,
  });
}

/** A list of roles. */
export const RoleList: z.ZodType<Role[]> = wordList(ROLES, "user");
/** A list of scopes. */
export const ScopeList: z.ZodType<Scope[]> = wordList(SCOPES, "own");

/** An address for each messaging channel. */
export const Channel = z.strictObject({
  phone: text(30).optional(),
  sms: text(30).optional(),
  whatsapp: text(30).optional(),
  email: z.email().max(254).optional(),
}).meta({ id: "Channel" });

/** Constraints on names and addresses that another user may already have. */
export const TAKEN: readonly string[] = [
  "users_username_key",
  "users_folded_key",
  "users_admin_email",
];

/** A request for a user. */
export const NewUser = z.strictObject({
  username: NewUsername,
  password: Password,
  scopes: ScopeList.default(["own"]),
  roles: RoleList.default(["user"]),
  identity: Id.optional(),
  channel: Channel.default({}),
  data: FreeForm.default({}),
}).meta({ id: "NewUser" });
/** A request for a user. */
export type NewUser = z.infer<typeof NewUser>;

/**
 * Tells whether rights exceed those of every user; then the password opens more than the user's own
 * entities.
 */
export function givesRights({ roles, scopes }: { roles?: Role[]; scopes?: Scope[] }): boolean {
  return (roles ?? []).some((role) => role !== "user") ||
    (scopes ?? []).some((scope) => scope !== "own");
}

/** A user as shown. */
export const UserView = z.object({
  id: z.string(),
  username: z.string(),
  password: z.string().meta({
    description: "An opaque digest: neither is nor reveals the verifier.",
  }),
  identity: z.string(),
  scopes: z.string().meta({ example: "realm,own" }),
  roles: z.string().meta({ example: "admin,manage,user" }),
  channel: z.record(z.string(), z.unknown()),
  active: z.boolean(),
  ...EntityFields,
}).meta({ id: "User" });

/** A user ready to be created: the slow work on its password is done, outside any transaction. */
export type PreparedUser = Omit<NewUser, "password"> & { verifier: string; email?: string };

/**
 * Creates a user and, unless one is named, its identity, which belongs to the new user.
 *
 * @throws {DomainError} permission.role, permission.scope, username.taken, identity.not_found
 */
export async function createUser(tx: Tx, actor: Actor, input: PreparedUser): Promise<UserRow> {
  assertMayCreateUser(actor);
  const roles = cumulativeRoles(strongest(ROLES, input.roles));
  const scopes = cumulativeScopes(strongest(SCOPES, input.scopes));
  assertMayGrant(actor, roles, scopes);
  const id = newId(actor.at);
  const identity = input.identity === undefined
    ? (await createIdentity(tx, actor, { type: "neutral", data: {}, owner: id })).id
    : await nameIdentity(tx, actor, input.identity);
  try {
    return await tx.savepoint((sp) =>
      insertUser(sp, {
        id,
        username: input.username,
        folded: foldName(input.username),
        email: input.email?.toLowerCase() ?? loginEmail(input),
        verifier: input.verifier,
        password_digest: crypto.randomUUID().replaceAll("-", ""),
        identity,
        roles,
        scopes,
        channel: input.channel,
        data: input.data,
        owner: actor.kind === "user" ? actor.user : id,
        created_at: actor.at,
      })
    );
  } catch (error) {
    const broken = brokenConstraint(error);
    if (!TAKEN.includes(broken ?? "")) throw error;
    throw new DomainError("username.taken", "this username or e-mail address is taken");
  }
}

/** Shows a user; never its verifier. */
export function viewUser(row: ListedUserRow): EntityView & Record<string, unknown> {
  return {
    id: row.id,
    username: row.username,
    password: row.password_digest,
    identity: row.identity,
    scopes: row.scopes.join(","),
    roles: row.roles.join(","),
    channel: row.channel,
    active: row.active,
    ...viewEntity(row),
  };
}

async function nameIdentity(tx: Tx, actor: Actor, id: string): Promise<string> {
  const row = isId(id) ? await selectIdentity(tx, id) : null;
  if (row === null || row.deleted_at !== null) throw notFound("identity.not_found", "/identity");
  assertMay(actor, "read", { owner: row.owner, what: "identity.not_found", path: "/identity" });
  return row.id;
}

/** The address that an administrator may log in with: of its channels, or else of its data. */
export function loginEmail(
  of: { channel: Record<string, unknown>; data: Record<string, unknown> },
): string | null {
  const given = z.email().max(254).safeParse(of.channel.email ?? of.data.email);
  return given.success ? given.data.toLowerCase() : null;
}

/** The strongest of the words given. */
export function strongest<T extends Role | Scope>(order: readonly T[], given: readonly T[]): T {
  return order.findLast((word) => given.includes(word)) ?? order[0];
}

/**
 * Finds a user that the actor may see; the actor's own record is always visible.
 *
 * @throws {DomainError} user.not_found
 */
export async function findUser(db: Db, actor: Actor, id: string): Promise<UserRow> {
  const row = isId(id) ? await selectUser(db, id) : null;
  if (row === null || row.deleted_at !== null) throw notFound("user.not_found");
  const owner = row.id === actor.user ? actor.user : row.owner;
  assertMay(actor, "read", { owner, what: "user.not_found" });
  return row;
}
