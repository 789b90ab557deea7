/**
 * Blocks (holds): value that stays in its account and can be spent by its capture alone. A block is
 * opened once and closed once: captured into a transaction, released, or expired. Every change here
 * runs under the ledger lock.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import {
  type BlockRow,
  captureBlock,
  closeBlock,
  closeBlocks,
  expireBlocks,
  insertBlock,
  isOver,
  selectBlock,
  selectBlocks,
} from "../../db/ledger/blocks.ts";
import type { Db, Tx } from "../../db/database.ts";
import type { Posted } from "../../db/ledger/posting_protocol.ts";
import { assertAccount, assertUsable, availableOf } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { PageFields } from "../collections/collection_parameters.ts";
import { Failure, FreeForm, text, Timestamp } from "../entity.ts";
import { DomainError, invalidField } from "../errors.ts";
import { isId, newId } from "../ids.ts";
import { postMove } from "./posting.ts";
import { type Page, parsePage } from "../collections/list_parameters.ts";
import { Amount, assertScale, compare, DecimalText, trim } from "../money.ts";
import { notFound, rightsOf } from "../permissions.ts";
import { showTransaction } from "./transaction_view.ts";
import { DestinationParty, type EndpointNames, findEndpoints } from "./parties.ts";

/** The body of a request to block value. */
export const NewBlock = z.strictObject({
  amount: Amount,
  reason: text(500).optional(),
  expires_at: Timestamp.optional(),
  data: FreeForm.default({}),
}).meta({ id: "NewBlock" });
/** The body of a request to block value. */
export type NewBlock = z.infer<typeof NewBlock>;

/** The body of a request to capture a block. */
export const Capture = z.strictObject({
  destination: DestinationParty,
  amount: Amount.optional(),
  seal: FreeForm.optional(),
  data: FreeForm.optional(),
}).meta({ id: "Capture" });
/** The body of a request to capture a block. */
export type Capture = z.infer<typeof Capture>;

/** A block as shown. */
export const BlockView = z.object({
  id: z.string(),
  account: z.string(),
  amount: DecimalText,
  captured: DecimalText,
  reason: z.string().nullable(),
  status: z.enum(["OPEN", "CAPTURED", "RELEASED", "EXPIRED"]),
  expires_at: z.number().int().nullable(),
  transaction: z.string().nullable(),
  owner: z.string().nullable(),
  created_at: z.number().int(),
  updated_at: z.number().int().optional(),
  data: z.record(z.string(), z.unknown()),
  error: Failure,
}).meta({ id: "Block" });

/** Which blocks of an account are listed. */
export const BlockList = z.strictObject({
  status: z.enum(["OPEN", "CAPTURED", "RELEASED", "EXPIRED"]).optional(),
  ...PageFields,
});
/** Which blocks of an account are listed. */
export type BlockList = z.infer<typeof BlockList>;

/** Which block of which account. */
export interface BlockName {
  account: string;
  block: string;
}

/** A block that the service opens, whose rights have been checked. */
export interface BlockOrder {
  account: AccountRow;
  amount: string;
  reason?: string;
  /** Milliseconds since the epoch. */
  expiresAt?: number;
  data?: Record<string, unknown>;
  /** The withdrawal or chain order that it is for; users can neither release nor capture such a block. */
  reference?: string;
}

/**
 * Blocks a part of an account's available value.
 *
 * @param input.amount a decimal in whole units of the account's asset
 * @throws {DomainError} account.not_found, permission.owner, permission.role, account.not_enabled,
 *   account.inactive, account.frozen, balance.insufficient, request.invalid
 */
export async function createBlock(
  tx: LedgerTx,
  actor: Actor,
  input: NewBlock & { account: string },
): Promise<BlockRow> {
  const account = await writableAccount(tx, actor, input.account);
  if (input.expires_at !== undefined && await isOver(tx, input.expires_at)) {
    throw invalidField("/expires_at", "a time to come is expected");
  }
  return await openBlock(tx, actor, { ...input, account, expiresAt: input.expires_at });
}

/**
 * Opens a block in the caller's transaction, which holds the ledger lock.
 *
 * @throws {DomainError} account.not_enabled, account.inactive, account.frozen, balance.insufficient,
 *   request.invalid
 */
export async function openBlock(tx: LedgerTx, actor: Actor, order: BlockOrder): Promise<BlockRow> {
  const { account, amount } = order;
  assertScale(amount, account.decimals, "/amount");
  assertUsable(account, "account");
  if (compare(availableOf(account), amount) < 0) {
    throw new DomainError(
      "balance.insufficient",
      "the available balance does not cover the amount",
    );
  }
  return await insertBlock(tx, {
    id: newId(actor.at),
    account: account.id,
    amount,
    reason: order.reason ?? null,
    expires_at: order.expiresAt ?? null,
    reference_id: order.reference ?? null,
    data: order.data ?? {},
    owner: actor.kind === "user" ? actor.user : null,
  });
}

/**
 * Releases a block that a user names.
 *
 * @throws {DomainError} account.not_found, block.not_found, block.closed, permission.owner,
 *   permission.role
 */
export async function releaseBlock(tx: LedgerTx, actor: Actor, name: BlockName): Promise<BlockRow> {
  const { block } = await openBlockOf(tx, actor, name);
  return await freeBlock(tx, block.id);
}

/**
 * Releases an open block in the caller's transaction, which holds the ledger lock.
 *
 * @throws {DomainError} block.closed
 */
export async function freeBlock(tx: LedgerTx, id: string): Promise<BlockRow> {
  const closed = await closeBlock(tx, id);
  if (closed === null) throw new DomainError("block.closed", "the block is not open any more");
  return closed;
}

/**
 * Releases open blocks in the caller's transaction, which holds the ledger lock.
 *
 * @throws {DomainError} block.closed
 */
export async function freeBlocks(tx: LedgerTx, ids: readonly string[]): Promise<void> {
  const closed = await closeBlocks(tx, ids);
  if (closed.length < ids.length) {
    throw new DomainError("block.closed", "a block is not open any more");
  }
}

/**
 * Captures a block that a user names, or a part of it; the rest becomes available again.
 *
 * @throws {DomainError} account.not_found, block.not_found, block.closed, permission.owner,
 *   permission.role, alias.not_found, account.frozen, account.inactive, account.not_enabled,
 *   account.asset_mismatch, request.invalid
 */
export async function capture(
  tx: LedgerTx,
  actor: Actor,
  input: Capture & BlockName,
): Promise<Record<string, unknown>> {
  const { block, account } = await openBlockOf(tx, actor, input);
  const amount = input.amount ?? trim(block.amount);
  assertScale(amount, account.decimals, "/amount");
  if (compare(amount, block.amount) > 0) {
    throw invalidField("/amount", "this is more than is blocked");
  }
  const cache = { get: () => undefined, set: () => {} };
  const named = { source: { account: account.id }, destination: input.destination };
  const [endpoints] = await findEndpoints({ db: tx, cache, actor }, [named]);
  if (endpoints instanceof DomainError) throw endpoints;
  const posted = await spendBlock(tx, actor, {
    block,
    destination: endpoints.destination.id,
    named,
    amount,
    seal: input.seal,
    data: input.data,
  });
  return await showTransaction(tx, actor, posted.id);
}

/**
 * Captures an open block in the caller's transaction, which holds the ledger lock.
 *
 * @param order.amount at most the blocked amount; the rest is released
 * @throws {DomainError} block.closed, account.*, request.invalid
 */
export async function spendBlock(
  tx: LedgerTx,
  actor: Actor,
  order: {
    block: BlockRow;
    destination: string;
    /** The endpoints as the body of the request names them; none where it does not. */
    named?: EndpointNames;
    amount: string;
    seal?: Record<string, unknown>;
    data?: Record<string, unknown>;
  },
): Promise<Posted> {
  const closed = await captureBlock(tx, order.block.id, order.amount);
  if (closed === null) throw new DomainError("block.closed", "the block is not open any more");
  return await postMove(tx, actor, {
    type: "capture",
    source: closed.account,
    destination: order.destination,
    amount: order.amount,
    seal: order.seal,
    data: order.data,
    reserved: closed.transaction,
  }, { named: order.named });
}

async function openBlockOf(
  tx: Tx,
  actor: Actor,
  name: BlockName,
): Promise<{ block: BlockRow; account: AccountRow }> {
  const account = await writableAccount(tx, actor, name.account);
  const block = await findRow(tx, account.id, name.block);
  const over = block.expires_at !== null && await isOver(tx, block.expires_at);
  if (block.status !== "OPEN" || over) {
    throw new DomainError("block.closed", "the block is not open any more");
  }
  if (block.owner !== actor.user && rightsOf(actor).write !== "all") {
    throw new DomainError("permission.owner", "another user opened this block");
  }
  if (block.reference_id !== null) {
    throw new DomainError("permission.owner", "the service itself holds this block");
  }
  return { block, account };
}

async function writableAccount(tx: Tx, actor: Actor, id: string): Promise<AccountRow> {
  const account = isId(id) ? await selectAccount(tx, id) : null;
  assertAccount(actor, "write", account);
  if (account.type === "system") throw notFound("account.not_found");
  return account;
}

async function findRow(db: Db, account: string, id: string): Promise<BlockRow> {
  const block = isId(id) ? await selectBlock(db, account, id) : null;
  if (block === null) throw notFound("block.not_found");
  return block;
}

/**
 * Finds a block of an account that the actor may see.
 *
 * @throws {DomainError} account.not_found, block.not_found
 */
export async function findBlock(db: Db, actor: Actor, name: BlockName): Promise<BlockRow> {
  const account = isId(name.account) ? await selectAccount(db, name.account) : null;
  assertAccount(actor, "read", account);
  return await findRow(db, account.id, name.block);
}

/**
 * Lists the blocks of an account that the actor may see, oldest first, by pages.
 *
 * @throws {DomainError} account.not_found, query.invalid
 */
export async function listBlocks(
  db: Db,
  actor: Actor,
  input: BlockList & { account: string },
): Promise<{ rows: BlockRow[]; total: number; page: Page }> {
  const page = parsePage(input);
  const account = isId(input.account) ? await selectAccount(db, input.account) : null;
  assertAccount(actor, "read", account);
  const part = { status: input.status ?? null, limit: page.limit, offset: page.offset };
  return { ...await selectBlocks(db, account.id, part), page };
}

/** Blocks that one transaction expires at most: the ledger lock is held meanwhile. */
export const EXPIRED_MAX = 500;

/** Expires blocks past their expiry, at most {@link EXPIRED_MAX}; returns how many. */
export async function expireDueBlocks(tx: LedgerTx): Promise<number> {
  return await expireBlocks(tx, EXPIRED_MAX);
}

/** Shows a block. */
export function viewBlock(row: BlockRow): Record<string, unknown> {
  return {
    id: row.id,
    account: row.account,
    amount: trim(row.amount),
    captured: trim(row.captured),
    reason: row.reason,
    status: row.status,
    expires_at: row.expires_at,
    transaction: row.transaction,
    owner: row.owner,
    created_at: row.created_at,
    ...(row.closed_at === null ? {} : { updated_at: row.closed_at }),
    data: row.data,
    error: null,
  };
}
