/** The collection of deposit applications: creation and changes. @module */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import type { Tx } from "../../db/database.ts";
import {
  type DepositAppRow,
  insertDepositApp,
  selectDepositApps,
  updateDepositAppData,
} from "../../db/deposits/deposit_apps.ts";
import { selectAssigned } from "../../db/accounts/external_addresses.ts";
import {
  selectAccountSummaries,
  selectAliasTargets,
  selectDefaultAccount,
} from "../../db/accounts/account_lookup.ts";
import { assertAccount } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import {
  type Collection,
  MUTABLE_COLUMNS,
  rowFor,
  setDeleted,
  textColumn,
} from "../collections/collection.ts";
import { serveAccount } from "./deposit_accounts.ts";
import { viewWholeApp, viewWholeApps } from "./deposit_apps.ts";
import { addressSpellings } from "../chains/text_forms.ts";
import { FreeForm, text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { isId, newId } from "../ids.ts";
import { notFound } from "../permissions.ts";
import { DestinationParty, fieldOf } from "../ledger/parties.ts";

/** A request for a deposit application. */
export const NewDepositApp = z.strictObject({
  destination: DestinationParty,
  asset: text(40),
  seal: FreeForm.optional(),
  data: FreeForm.default({}),
}).meta({ id: "NewDepositApplication" });
/** A request for a deposit application. */
export type NewDepositApp = z.infer<typeof NewDepositApp>;

/** The collection of deposit applications. */
export const DEPOSIT_APPS: Collection<DepositAppRow> = {
  name: "apps/deposit",
  table: "deposit_apps",
  deletable: true,
  counted: false,
  notFound: "deposit.not_found",
  relations: {
    "source.account": { of: "accounts", id: (row) => row.account },
    "destination.account": { of: "accounts", id: (row) => row.destination },
  },
  fields: ["source", "destination", "error", "deleted"],
  columns: {
    ...MUTABLE_COLUMNS,
    "source.account": { column: "account", type: "id" },
    "destination.account": { column: "destination", type: "id" },
    asset: textColumn("asset"),
    status: textColumn("status"),
    seal: { column: "seal", type: "json", nullable: true },
  },
  read: selectDepositApps,
  show: (db, _actor, rows) => viewWholeApps(db, rows),
};

/**
 * Creates a deposit application: an address of its own whose deposits are forwarded to a virtual
 * account.
 *
 * @throws {DomainError} account.not_found, alias.not_found, address.not_found, account.no_ramp,
 *   account.asset_mismatch, account.not_enabled, asset.suspended, permission.role, permission.owner
 */
export async function createDepositApp(
  tx: LedgerTx,
  actor: Actor,
  input: NewDepositApp,
): Promise<Record<string, unknown>> {
  const target = await resolveTarget(tx, actor, input);
  if (target.type !== "virtual") {
    throw new DomainError("account.no_ramp", "the destination is not a virtual account");
  }
  if (target.asset !== input.asset) {
    throw new DomainError("account.asset_mismatch", "the destination is of another asset");
  }
  if (!target.enabled) throw new DomainError("account.not_enabled", "the destination is not ready");
  if (!target.active) throw new DomainError("account.inactive", "the destination is deactivated");
  const account = await serveAccount(tx, actor, { account: target, data: input.data });
  const row = await insertDepositApp(tx, {
    id: newId(actor.at),
    account: account.id,
    destination: target.id,
    asset: target.asset,
    seal: input.seal ?? null,
    data: input.data,
    owner: actor.user,
    created_at: actor.at,
  });
  return await viewWholeApp(tx, row);
}

/** A change of a deposit application. */
export const DepositAppChange = z.strictObject({ data: FreeForm.optional() }).meta({
  id: "DepositApplicationChange",
});

/**
 * Changes the data of a deposit application.
 *
 * @throws {DomainError} deposit.not_found, permission.role, permission.owner
 */
export async function changeDepositApp(
  tx: Tx,
  actor: Actor,
  input: z.infer<typeof DepositAppChange> & { id: string },
): Promise<Record<string, unknown>> {
  const row = await rowFor(tx, actor, DEPOSIT_APPS, input.id, "write");
  if (input.data !== undefined) {
    await updateDepositAppData(tx, row.id, { data: input.data, at: actor.at });
  }
  return await viewWholeApp(tx, (await selectDepositApps(tx, [row.id]))[0]);
}

/** Deletes or restores a deposit application; its address keeps working. */
export async function removeDepositApp(
  tx: Tx,
  actor: Actor,
  id: string,
  act: "delete" | "undelete",
): Promise<Record<string, unknown>> {
  await rowFor(tx, actor, DEPOSIT_APPS, id, act);
  return await setDeleted(tx, actor, DEPOSIT_APPS, id, act === "delete");
}

async function resolveTarget(tx: Tx, actor: Actor, input: NewDepositApp): Promise<AccountRow> {
  const id = await targetId(tx, input);
  const account = isId(id) ? await selectAccount(tx, id) : null;
  const path = fieldOf(input, "destination");
  if (account?.type === "system") throw notFound("account.not_found", path);
  // The new address is shown as the account's own, so its owner must agree.
  assertAccount(actor, "write", account, path);
  return account;
}

async function targetId(tx: Tx, { destination, asset }: NewDepositApp): Promise<string> {
  if (destination.account !== undefined) return destination.account;
  if (destination.alias !== undefined) {
    const [target] = await selectAliasTargets(tx, [destination.alias]);
    if (target === undefined) throw notFound("alias.not_found", "/destination/alias");
    if (target.account) return target.account;
    const of = { holder: target.identity!, asset, testnet: false };
    const id = await selectDefaultAccount(tx, of);
    if (id === null) throw notFound("account.not_found", "/destination/alias");
    return id;
  }
  const assigned = (await selectAssigned(tx, await addressSpellings(destination.address!)))
    .map(({ account }) => account);
  if (assigned.length === 0) throw notFound("address.not_found", "/destination/address");
  // Chains of one family share addresses.
  const accounts = assigned.length === 1 ? [] : await selectAccountSummaries(tx, assigned);
  const alike = new Map(
    accounts.filter((one) => one.asset === asset).map((one) => [one.id, one.testnet]),
  );
  return assigned.find((id) => alike.get(id) === false) ?? assigned.find((id) => alike.has(id)) ??
    assigned[0];
}
