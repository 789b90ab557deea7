/**
 * Transfers: value moved between accounts at once. They ride in the realm's lane; the same rules
 * hold on the slow path, because both end in the same posting function.
 * @module
 */
import { z } from "zod";
import type { Pool } from "../../db/database.ts";
import type { Lane } from "../../db/ledger/posting_queue.ts";
import { selectTransactions, type TransactionRow } from "../../db/ledger/posting.ts";
import type { KeyedMove, Posted } from "../../db/ledger/posting_protocol.ts";
import { type Replay, selectReplay } from "../../db/ledger/replays.ts";
import { reading } from "../../db/transaction.ts";
import { type Actor, reachesRealm } from "../actor.ts";
import { FreeForm, text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { refusal, type TransactionFacts } from "./posting.ts";
import { Amount, AmountOrZero } from "../money.ts";
import { mayRead, rightsOf } from "../permissions.ts";
import {
  DestinationParty,
  type FactsMemory,
  findParties,
  knownParties,
  type Parties,
  SourceParty,
} from "./parties.ts";
import { printTransaction } from "./transaction_json.ts";

export type { FactsMemory };

const Conditions = z.strictObject({
  source_available_gte: AmountOrZero.optional(),
  source_total_eq: AmountOrZero.optional(),
  destination_total_lte: AmountOrZero.optional(),
}).meta({ id: "Conditions" });

/** What is asked for when value is moved. */
export const NewTransaction = z.strictObject({
  source: SourceParty,
  destination: DestinationParty,
  value: Amount,
  asset: text(40).optional(),
  seal: FreeForm.optional(),
  data: FreeForm.optional(),
  reference: text(200).optional(),
  conditions: Conditions.optional(),
}).meta({ id: "NewTransaction" });
/** What is asked for when value is moved. */
export type NewTransaction = z.infer<typeof NewTransaction>;

/** What a transfer needs of its realm. */
export interface Road {
  pool: Pool;
  lane: Pick<Lane, "post" | "postBulk">;
  memory: FactsMemory;
}

/** The idempotency key a transfer comes under. */
export interface TransferKey {
  key: string;
  fingerprint: string;
}

/**
 * How a transfer ended: with a transaction as JSON text, or with what its key stands for. An
 * unresolved refusal came before the key was looked at.
 */
export type TransferResult =
  | { text: string; replayed: boolean }
  | { kept: { status: number; body: string } }
  | { refused: DomainError; replayed: boolean; unresolved?: boolean };

/** Moves value between two accounts. @throws {DomainError} idempotency.key_reused */
export async function transfer(
  road: Road,
  actor: Actor,
  input: NewTransaction,
  idempotency: TransferKey | null,
): Promise<TransferResult> {
  const { memory } = road;
  const parties = knownParties(memory, input) ??
    await reading(road.pool, async (db) => (await findParties({ db, memory }, [input]))[0]);
  if (parties instanceof DomainError) {
    return { refused: parties, replayed: false, unresolved: true };
  }
  const outcome = await road.lane.post(moveOf(actor, input, parties, idempotency));
  if ("posted" in outcome) {
    return { text: printPosted(actor, { input, ...parties }, outcome.posted), replayed: false };
  }
  if ("refused" in outcome) {
    return { refused: refusal(outcome.refused, reachesRealm(actor)), replayed: false };
  }
  return await concludeReplay(road.pool, actor, input, outcome.replay);
}

/** Writes a transfer as the lane takes it. */
export function moveOf(
  actor: Actor,
  input: NewTransaction,
  { source, destination }: Parties,
  claim: TransferKey | null = null,
): KeyedMove {
  return {
    source: source.id,
    destination: destination.id,
    amount: input.value,
    actor: actor.user,
    any: rightsOf(actor).write === "all",
    origin: actor.address,
    apiKey: actor.apiKey?.id ?? null,
    seal: input.seal === undefined ? null : JSON.stringify(input.seal),
    data: input.data === undefined ? null : JSON.stringify(input.data),
    reference: input.reference ?? null,
    more: moreOf(input, mayRead(actor, destination.owner)),
    key: claim === null ? null : claim.key,
    fingerprint: claim === null ? null : claim.fingerprint,
  };
}

/** Whether a condition holds tells a balance: the ledger checks none on what may not be read. */
function moreOf(input: NewTransaction, seen: boolean): string | null {
  const { asset, conditions } = input;
  if (asset === undefined && conditions === undefined) return null;
  const unread = conditions?.destination_total_lte !== undefined && !seen;
  return JSON.stringify({ asset, ...conditions, ...(unread ? { destination_unread: true } : {}) });
}

/**
 * Answers a request whose key was seen before.
 *
 * @throws {DomainError} idempotency.key_reused
 */
export async function concludeReplay(
  pool: Pool,
  actor: Actor,
  input: NewTransaction,
  replay: Replay,
): Promise<TransferResult> {
  if (!replay.same) {
    throw new DomainError("idempotency.key_reused", "this key came with another request before");
  }
  if (replay.status !== null) return { kept: { status: replay.status, body: replay.body! } };
  if (replay.transaction === null) {
    return { refused: refusal(replay.body!, reachesRealm(actor)), replayed: !replay.own };
  }
  const { transaction } = replay;
  const [row] = await reading(pool, (db) => selectTransactions(db, [transaction]));
  return { text: printAsThen(actor, input, row), replayed: !replay.own };
}

/**
 * Answers a request that was refused before its key was looked at: what the key stands for is the
 * answer. Null: it stands for nothing, so the refusal stands, and is to be kept.
 *
 * @throws {DomainError} idempotency.key_reused
 */
export async function postedUnder(
  pool: Pool,
  actor: Actor,
  input: NewTransaction,
  claim: TransferKey,
): Promise<TransferResult | null> {
  const replay = await reading(pool, (db) => selectReplay(db, claim));
  return replay === null ? null : await concludeReplay(pool, actor, input, replay);
}

/** Prints a transaction as it was first answered: not sealed yet, its free-form parts as given. */
export function printAsThen(actor: Actor, input: NewTransaction, row: TransactionRow): string {
  const given = { data: input.data ?? null, seal: input.seal ?? null };
  const then = { seq: null, hash: null, updated_at: null, ...given };
  return printTransaction({ ...row, ...then }, (owner) => mayRead(actor, owner));
}

/** Prints a transaction that has just been posted. */
export function printPosted(
  actor: Actor,
  asked: { input: NewTransaction } & Parties,
  posted: Posted,
): string {
  return printTransaction(factsOf(actor, asked, posted), (owner) => mayRead(actor, owner));
}

function factsOf(
  actor: Actor,
  { input, source, destination }: { input: NewTransaction } & Parties,
  posted: Posted,
): TransactionFacts {
  return {
    id: posted.id,
    seq: null,
    hash: null,
    type: "transfer",
    source: source.id,
    source_owner: source.owner,
    source_holder: source.holder,
    destination: destination.id,
    destination_owner: destination.owner,
    destination_holder: destination.holder,
    asset: source.asset,
    amount: input.value,
    fiat_currency: posted.fiatRate === null ? null : source.currency,
    fiat_rate: posted.fiatRate,
    fiat_value: posted.fiatValue,
    seal: input.seal ?? null,
    data: input.data ?? null,
    reference: input.reference ?? null,
    address_data: null,
    reverts: null,
    source_total: posted.sourceTotal,
    source_blocked: posted.sourceBlocked,
    destination_total: posted.destinationTotal,
    destination_blocked: posted.destinationBlocked,
    owner: actor.user,
    created_at: posted.at,
  };
}
