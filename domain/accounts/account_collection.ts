/** Accounts as a collection: lists, states, changes, deletion; and accounts made with an alias. @module */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import {
  type AccountRow,
  type AccountTie,
  clearDefault,
  freezeAccount,
  markActive,
  selectAccount,
  selectAccounts,
  selectAccountTie,
  selectEnabledAmong,
  selectListedAccounts,
  unfreezeAccount,
  updateAccount,
} from "../../db/accounts/accounts.ts";
import type { Db, Tx } from "../../db/database.ts";
import { selectIdentityOfUser } from "../../db/identity/identities.ts";
import { viewAccounts, viewWholeAccount } from "./account_views.ts";
import { assertVirtual } from "./accounts.ts";
import type { Actor } from "../actor.ts";
import { addAlias, withAliases } from "../identity/aliases.ts";
import {
  type Collection,
  findVisible,
  MUTABLE_COLUMNS,
  rowFor,
  setDeleted,
  textColumn,
} from "../collections/collection.ts";
import { Flag, FreeForm, Id } from "../entity.ts";
import { DomainError, invalidField } from "../errors.ts";
import { compare } from "../money.ts";
import { addNote, NoteText } from "../notes.ts";
import { assertMayAssign, isRealmAdmin, notFound, rightsOf } from "../permissions.ts";
import { resolveRamp } from "./ramps.ts";

/** The body of a change of an account. */
export const AccountChange = z.strictObject({
  data: FreeForm.optional(),
  default: Flag.optional().meta({
    description: "Moved by the holder's own user, or by roles manage and admin with scope realm.",
  }),
  ramp: Id.nullable().optional(),
}).meta({ id: "AccountChange" });

/** The body of a change of an account's state. */
export const StateChange = z.strictObject({
  reason: NoteText.optional().meta({
    description:
      "Kept as a note about the account, of the kind `freeze` for a freeze. It takes role manage or " +
      "admin and scope realm; customers do not see it.",
  }),
}).meta({ id: "AccountStateChange" });

/** A state of an account that a caller sets. */
export type SetState = "freeze" | "unfreeze" | "deactivate" | "activate";

/** The reasons why an account cannot be deleted yet. */
const TIES: Readonly<Record<AccountTie, string>> = {
  balance: "total and available balance must both be 0",
  withdrawal: "a withdrawal of this account is still on its way",
  sweep: "value is being carried from this account's address to its ramp",
  deposit: "a deposit to this account has been seen and is not credited yet",
  forward: "value that arrived at a deposit account below is still to be forwarded",
};

/** The collection of accounts. */
export const ACCOUNTS: Collection<AccountRow> = {
  name: "accounts",
  table: "accounts",
  deletable: true,
  counted: true,
  notFound: "account.not_found",
  populate: ["address"],
  relations: {
    holder: { of: "identities", id: (row) => row.holder },
    owner: { of: "users", id: (row) => row.owner },
    ramp: { of: "accounts", id: (row) => row.ramp },
  },
  exported: [
    "id",
    "created_at",
    "type",
    "asset",
    "currency",
    "country",
    "alias",
    "reference",
    "holder",
    "owner",
    "balance.total",
    "balance.available",
    "testnet",
    "default",
    "active",
    "frozen",
    "enabled",
    "updated_at",
    "deleted_at",
  ],
  fields: ["alias", "balance", "address", "error", "deleted"],
  columns: {
    ...MUTABLE_COLUMNS,
    type: textColumn("type"),
    asset: textColumn("asset"),
    currency: textColumn("currency"),
    country: textColumn("country"),
    reference: textColumn("reference", true),
    testnet: { column: "testnet", type: "boolean" },
    default: { column: "is_default", type: "boolean" },
    active: { column: "active", type: "boolean" },
    frozen: { column: "frozen", type: "boolean" },
    enabled: { column: "enabled", type: "boolean" },
    holder: { column: "holder", type: "id", nullable: true },
    ramp: { column: "ramp", type: "id", nullable: true },
    "balance.total": { column: "total", type: "decimal" },
  },
  /** System accounts are shown to realm administrators who ask for them by type. */
  concealed: { field: "type", value: "system", maySee: isRealmAdmin },
  read: selectAccounts,
  readListed: selectListedAccounts,
  async show(db, actor, rows, populate) {
    const views = await viewAccounts(
      db,
      rows,
      populate.has("address") ? { addressFor: actor } : {},
    );
    return await withAliases(db, rows, views);
  },
};

/** Shows one account. */
async function showAccount(
  db: Db,
  actor: Actor,
  row: AccountRow,
): Promise<Record<string, unknown>> {
  return (await ACCOUNTS.show(db, actor, [row], new Set()))[0];
}

/** Returns which of some accounts are ready. */
export async function enabledAmong(db: Db, ids: string[]): Promise<string[]> {
  return await selectEnabledAmong(db, ids);
}

/** Shows an account once it is ready; null until then, and where the actor may not see it. */
export async function findReady(db: Db, actor: Actor, id: string): Promise<unknown | null> {
  const row = await findVisible(db, actor, ACCOUNTS, id);
  return row?.enabled ? await showAccount(db, actor, row) : null;
}

/** Shows an account as {@link findReady} does, with its address. */
export async function findReadyAddress(db: Db, actor: Actor, id: string): Promise<unknown | null> {
  const row = await findVisible(db, actor, ACCOUNTS, id);
  return row?.enabled ? await viewWholeAccount(db, row, { addressFor: actor }) : null;
}

/** Gives a new account its alias, if it is to have one, and shows it. @throws {DomainError} alias.taken */
export async function nameAccount(
  tx: Tx,
  actor: Actor,
  row: AccountRow,
  alias: string | undefined,
): Promise<Record<string, unknown>> {
  if (alias !== undefined) {
    await addAlias(tx, actor, { alias, type: "account", account: row.id, data: {} });
  }
  return { ...await viewWholeAccount(tx, row), alias: alias ?? null };
}

/**
 * Changes an account. The default mark moves from the account that had it.
 *
 * @throws {DomainError} account.not_found, permission.owner, permission.role, permission.scope,
 *   ramp.not_found, account.asset_mismatch, request.invalid
 */
export async function changeAccount(
  tx: LedgerTx,
  actor: Actor,
  id: string,
  input: z.infer<typeof AccountChange>,
): Promise<Record<string, unknown>> {
  const row = await accountFor(tx, actor, id, "write");
  if (input.ramp !== undefined && row.type !== "virtual") {
    throw invalidField("/ramp", "only virtual accounts are given a ramp");
  }
  if (typeof input.ramp === "string") {
    await resolveRamp(tx, actor, input.ramp, { asset: row.asset, testnet: row.testnet });
  }
  if (input.default !== undefined && input.default !== row.is_default) {
    await moveDefault(tx, actor, row, input.default);
  }
  await updateAccount(tx, row.id, {
    data: input.data ?? row.data,
    is_default: input.default ?? row.is_default,
    ramp: input.ramp === undefined ? row.ramp : input.ramp,
  }, actor.at);
  return await showAccount(tx, actor, (await selectAccount(tx, row.id))!);
}

/**
 * Changes an account's state; asking for the present state is no error. An account that the realm
 * or the service has frozen is unfrozen by the realm alone. A reason becomes a note about the account.
 *
 * @throws {DomainError} account.not_found, permission.owner, account.not_empty; with a reason permission.role,
 *   permission.scope
 */
export async function setState(
  tx: LedgerTx,
  actor: Actor,
  id: string,
  { state, reason }: z.infer<typeof StateChange> & { state: SetState },
): Promise<Record<string, unknown>> {
  const row = await accountFor(tx, actor, id, "write");
  if (state === "deactivate") assertEmpty(row);
  if (state === "activate" && !row.enabled) {
    throw new DomainError("account.not_enabled", "the account is not ready yet");
  }
  const realm = rightsOf(actor).write === "all";
  if (state === "unfreeze" && row.frozen_by_realm && !realm) {
    throw new DomainError("permission.owner", "a manager or administrator froze this account");
  }
  const user = actor.kind === "user" ? actor.user : null;
  if (state === "freeze") await freezeAccount(tx, row.id, { user, realm, at: actor.at });
  else if (state === "unfreeze") await unfreezeAccount(tx, row.id, { realm, at: actor.at });
  else await markActive(tx, row.id, state === "activate", actor.at);
  if (reason !== undefined) await addNote(tx, actor, { entity: row.id, kind: state, text: reason });
  return await showAccount(tx, actor, (await selectAccount(tx, row.id))!);
}

/**
 * Checks who may set the default account, which receives payments to its identity: the identity's
 * own user, or a manager.
 */
async function moveDefault(
  tx: LedgerTx,
  actor: Actor,
  row: AccountRow,
  to: boolean,
): Promise<void> {
  if (to) assertVirtual(row.type);
  const own = await selectIdentityOfUser(tx, actor.user);
  if (own === null || own.id !== row.holder || own.deleted_at !== null) assertMayAssign(actor);
  if (!to) return;
  await clearDefault(tx, { holder: row.holder!, asset: row.asset, testnet: row.testnet });
}

/**
 * Deletes an account that holds no value and expects none.
 *
 * @throws {DomainError} account.not_found, permission.*, account.not_empty
 */
export async function removeAccount(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<Record<string, unknown>> {
  const row = await accountFor(tx, actor, id, "delete");
  const tie = await selectAccountTie(tx, row.id);
  if (tie !== null) throw new DomainError("account.not_empty", TIES[tie]);
  return await setDeleted(tx, actor, ACCOUNTS, id, true);
}

/** Restores an account. It comes back without the default mark: another may carry it meanwhile. */
export async function restoreAccount(
  tx: LedgerTx,
  actor: Actor,
  id: string,
): Promise<Record<string, unknown>> {
  const row = await accountFor(tx, actor, id, "undelete");
  if (row.is_default && row.deleted_at !== null) {
    await updateAccount(tx, row.id, { ...row, is_default: false }, actor.at);
  }
  return await setDeleted(tx, actor, ACCOUNTS, id, false);
}

/** Finds an account to change; system accounts cannot be changed. */
async function accountFor(
  tx: Tx,
  actor: Actor,
  id: string,
  act: "write" | "delete" | "undelete",
): Promise<AccountRow> {
  const row = await rowFor(tx, actor, ACCOUNTS, id, act);
  if (row.type !== "system") return row;
  if (!isRealmAdmin(actor)) throw notFound("account.not_found");
  throw new DomainError("permission.owner", "this account belongs to the ledger itself");
}

function assertEmpty(row: AccountRow): void {
  if (compare(row.total, "0") === 0 && compare(row.blocked, "0") === 0) return;
  throw new DomainError("account.not_empty", "total and available balance must both be 0");
}
