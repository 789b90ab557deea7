/**
 * Posting: each transaction has two entries that sum to zero. Refusals of the database's posting
 * functions become problems here.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import { upsertSystemAccount } from "../../db/accounts/accounts.ts";
import { applyMoves, type TransactionRow } from "../../db/ledger/posting.ts";
import type { Move, Outcome, Posted } from "../../db/ledger/posting_protocol.ts";
import type { Actor } from "../actor.ts";
import { minorUnits } from "../codes.ts";
import { DomainError, invalidField } from "../errors.ts";
import { Failure, idOf } from "../entity.ts";
import { newId } from "../ids.ts";
import { DecimalText, subtract, trim } from "../money.ts";
import { type EndpointNames, noEndpoint } from "./parties.ts";

/** The kinds of transactions. */
export type MoveType =
  | "transfer"
  | "deposit"
  | "forward"
  | "withdrawal"
  | "return"
  | "fee"
  | "issue"
  | "destroy"
  | "capture"
  | "revert";

/** An internal move: rights have been checked, system accounts may take part. */
export interface InternalMove {
  type: MoveType;
  source: string;
  destination: string;
  amount: string;
  seal?: Record<string, unknown> | null;
  data?: Record<string, unknown> | null;
  reverts?: string;
  addressData?: Record<string, unknown> | null;
  /** The id that the transaction gets, drawn from the ledger just before. */
  reserved?: string;
}

const BalanceView = z.object({ total: DecimalText, available: DecimalText }).nullable();
const PartyView = z.object({
  account: idOf("Account"),
  owner: z.string().nullable(),
  holder: z.string().nullable(),
});

/** The type of a transaction as shown. */
export const TypeView = z.enum([
  "transfer",
  "deposit",
  "forward",
  "withdrawal",
  "return",
  "fee",
  "issue",
  "destroy",
  "capture",
  "revert",
]);

/** A transaction as shown. */
export const TransactionView = z.object({
  id: z.string(),
  seq: z.number().int().nullable(),
  hash: z.string().nullable(),
  type: TypeView,
  status: z.literal("DONE"),
  source: PartyView,
  destination: PartyView,
  asset: z.string(),
  amount: DecimalText,
  fiat: z.object({ currency: z.string(), rate: DecimalText, value: DecimalText }).nullable(),
  seal: z.record(z.string(), z.unknown()).nullable(),
  data: z.record(z.string(), z.unknown()),
  reference: z.string().nullable(),
  address_data: z.record(z.string(), z.unknown()).optional(),
  reverts: z.string().optional(),
  balances: z.object({ source: BalanceView, destination: BalanceView }),
  owner: z.string().nullable(),
  created_at: z.number().int(),
  updated_at: z.number().int().optional(),
  error: Failure,
}).meta({ id: "Transaction" });

/** The reason why nothing of a deposit account is available. */
const NOT_SPENDABLE = "a deposit account has nothing available: the service alone moves its value";

/** The fields that a transaction's view is made from. */
export type TransactionFields = Omit<TransactionRow, "testnet">;

/**
 * Posts one internal move in a transaction that holds the ledger lock.
 *
 * @param options.force books a chain event whatever state the accounts are in; for workers
 * @param options.named the endpoints as the body of the request names them
 * @throws {DomainError} balance.insufficient, account.*, request.invalid
 */
export async function postMove(
  tx: LedgerTx,
  actor: Actor,
  move: InternalMove,
  options: { force?: boolean; named?: EndpointNames } = {},
): Promise<Posted> {
  const [outcome] = await applyMoves(tx, [rowOf(actor, move)], {
    type: move.type,
    reserved: move.reserved,
    force: options.force,
  });
  return postedOf(outcome, options.named);
}

/**
 * Posts internal moves of one type in their order, in a transaction that holds the ledger lock. One refusal refuses all.
 *
 * @param options.force books chain events whatever state the accounts are in; for workers
 * @throws {DomainError} balance.insufficient, account.*, request.invalid
 */
export async function postMoves(
  tx: LedgerTx,
  actor: Actor,
  moves: readonly InternalMove[],
  options: { force?: boolean } = {},
): Promise<void> {
  if (moves.length === 0) return;
  const [{ type }] = moves;
  if (moves.some((one) => one.type !== type)) throw new TypeError("moves of one type are expected");
  const rows = moves.map((move) => rowOf(actor, move));
  const outcomes = await applyMoves(tx, rows, { type, atomic: true, force: options.force });
  // Of refused moves the others have no outcome.
  for (const outcome of outcomes) if ("refused" in outcome) throw refusal(outcome.refused, false);
}

function rowOf(actor: Actor, move: InternalMove): Move {
  const extras = move.reverts === undefined && !move.addressData
    ? null
    : JSON.stringify({ reverts: move.reverts, address_data: move.addressData ?? undefined });
  return {
    source: move.source,
    destination: move.destination,
    amount: move.amount,
    actor: actor.kind === "user" ? actor.user : null,
    mayMoveAny: true,
    clientIp: actor.address,
    apiKey: actor.apiKey?.id ?? null,
    seal: move.seal ? JSON.stringify(move.seal) : null,
    data: move.data ? JSON.stringify(move.data) : null,
    reference: null,
    extras,
  };
}

/**
 * Returns a posted move's figures.
 *
 * @throws {DomainError} the ledger's refusal
 */
function postedOf(outcome: Outcome, named?: EndpointNames): Posted {
  if ("posted" in outcome) return outcome.posted;
  if ("refused" in outcome) throw refusal(outcome.refused, false, named);
  throw new TypeError("an internal move has no idempotency key");
}

/**
 * Translates the ledger's refusal of a move into a problem.
 *
 * @param visible whether the actor may see accounts of others
 * @param named the endpoints as the body of the request names them; none where it does not
 */
export function refusal(why: string, visible: boolean, named?: EndpointNames): DomainError {
  switch (why) {
    case "source.forbidden":
      if (visible) {
        return new DomainError("permission.owner", "the source account belongs to another user");
      }
      // In the words of the next case: who may not see the account is not told that it exists.
      return refusal("source.not_found", visible, named);
    case "source.not_found":
    case "destination.not_found": {
      const which = why === "source.not_found" ? "source" : "destination";
      if (named !== undefined) return noEndpoint(named, which);
      return new DomainError("account.not_found", `there is no such ${which} account`);
    }
    case "source.deposit":
      return new DomainError("balance.insufficient", NOT_SPENDABLE);
    case "destination.deposit":
      return invalidField(
        "/destination",
        "a deposit account receives deposits of its chain and nothing else",
      );
    case "destination.unread": {
      const why = "a condition on the destination takes the right to read it";
      return new DomainError("permission.owner", why);
    }
    case "same_account":
      return invalidField("/destination", "source and destination are the same account");
    case "asset_mismatch":
      return new DomainError("account.asset_mismatch", "the accounts are not of the same asset");
    case "scale":
      return invalidField("/value", "the amount has more decimal places than its asset");
    case "source.not_enabled":
    case "destination.not_enabled":
      return new DomainError(
        "account.not_enabled",
        `the ${why.split(".")[0]} account is not ready yet`,
      );
    case "source.inactive":
    case "destination.inactive":
      return new DomainError("account.inactive", `the ${why.split(".")[0]} account is deactivated`);
    case "source.frozen":
      return new DomainError("account.frozen", "the source account is frozen");
    case "insufficient":
      return new DomainError(
        "balance.insufficient",
        "the available balance does not cover the amount",
      );
    case "stopped":
      return new DomainError("stop.active", "a stop is in force: nothing of this kind moves now");
    case "reference":
      return new DomainError("reference.taken", "another transaction carries this reference");
    default:
      if (why.startsWith("condition.")) {
        return new DomainError("condition.failed", `the condition ${why.slice(10)} does not hold`);
      }
      throw new TypeError(`the ledger refused a move for an unknown reason: ${why}`);
  }
}

/** Finds or creates the system account on the other side of a posting: `world` or `fees`. */
export async function counterparty(
  tx: LedgerTx,
  actor: Actor,
  system: "world" | "fees",
  asset: { code: string; decimals: number; testnet: boolean },
): Promise<string> {
  return await upsertSystemAccount(tx, {
    id: newId(actor.at),
    system,
    asset: asset.code,
    testnet: asset.testnet,
    decimals: asset.decimals,
    currency: actor.realm.accountingCurrency,
    currency_places: minorUnits(actor.realm.accountingCurrency),
    country: actor.realm.country,
    created_at: actor.at,
  });
}

/** Shows a transaction; a balance only where its account may be seen. */
export function viewTransaction(
  fields: TransactionFields,
  sees: (owner: string | null) => boolean,
): Record<string, unknown> {
  return {
    id: fields.id,
    seq: fields.seq === null ? null : Number(fields.seq),
    hash: fields.hash,
    type: fields.type,
    status: "DONE",
    source: {
      account: fields.source,
      owner: fields.source_owner,
      holder: fields.source_holder,
    },
    destination: {
      account: fields.destination,
      owner: fields.destination_owner,
      holder: fields.destination_holder,
    },
    asset: fields.asset,
    amount: trim(fields.amount),
    fiat: fields.fiat_currency === null ? null : {
      currency: fields.fiat_currency,
      rate: trim(fields.fiat_rate!),
      value: trim(fields.fiat_value!),
    },
    seal: fields.seal,
    data: fields.data ?? {},
    reference: fields.reference,
    ...(fields.address_data === null ? {} : { address_data: fields.address_data }),
    ...(fields.reverts === null ? {} : { reverts: fields.reverts }),
    balances: {
      source: sees(fields.source_owner)
        ? balanceOf(fields.source_total, fields.source_blocked)
        : null,
      destination: sees(fields.destination_owner)
        ? balanceOf(fields.destination_total, fields.destination_blocked)
        : null,
    },
    owner: fields.owner,
    created_at: fields.created_at,
    ...(fields.updated_at ? { updated_at: fields.updated_at } : {}),
    error: null,
  };
}

/** Shows a balance: its total and its available part, which is zero while the account is frozen. */
export function balanceOf(
  total: string,
  blocked: string | null,
): { total: string; available: string } {
  const trimmed = trim(total);
  if (blocked === null) return { total: trimmed, available: "0" }; // frozen
  return { total: trimmed, available: blocked === "0" ? trimmed : subtract(trimmed, blocked) };
}
