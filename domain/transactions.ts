/**
 * Transfers: value moved between accounts at once. They ride in the realm's lane; the same rules
 * hold on the slow path, because both end in the same posting function.
 * @module
 */
import { z } from "zod";
import type { Db } from "../db/database.ts";
import { type AccountFacts, selectAliasTarget, selectFacts } from "../db/facts.ts";
import type { Lane } from "../db/lane.ts";
import { type Outcome, type Posted, selectTransactions } from "../db/ledger.ts";
import { type Actor, reachesRealm } from "./actor.ts";
import { FreeForm, Id, text } from "./entity.ts";
import { DomainError } from "./errors.ts";
import { isId } from "./ids.ts";
import { refusal, viewTransaction } from "./ledger.ts";
import { Amount, AmountOrZero } from "./money.ts";
import { covers, notFound, rightsOf } from "./permissions.ts";

const Party = z.strictObject({ account: Id.optional(), alias: text(200).optional() })
  .refine(
    (party) => (party.account === undefined) !== (party.alias === undefined),
    "exactly one of account and alias is expected",
  );

const Conditions = z.strictObject({
  source_available_gte: AmountOrZero.optional(),
  source_total_eq: AmountOrZero.optional(),
  destination_total_lte: AmountOrZero.optional(),
}).meta({ id: "Conditions" });

/** What is asked for when value is moved. */
export const NewTransaction = z.strictObject({
  source: Party,
  destination: Party,
  value: Amount,
  asset: text(40).optional(),
  seal: FreeForm.optional(),
  data: FreeForm.optional(),
  reference: text(200).optional(),
  conditions: Conditions.optional(),
}).meta({ id: "NewTransaction" });
/** What is asked for when value is moved. */
export type NewTransaction = z.infer<typeof NewTransaction>;

/** The unchanging facts of accounts, remembered per realm. */
export interface FactsMemory {
  get(id: string): AccountFacts | undefined;
  set(id: string, facts: AccountFacts): void;
}

/** How a transfer ended: with a transaction, or with what its idempotency key stands for. */
export type TransferResult =
  | { transaction: Record<string, unknown>; replayed: boolean }
  | { kept: { status: number; body: string } }
  | { refused: DomainError; replayed: boolean };

/** The idempotency key a transfer comes under. */
export interface TransferKey {
  key: string;
  fingerprint: string;
}

/**
 * Moves value between two accounts.
 *
 * @throws {DomainError} account.not_found, alias.not_found, permission.owner, account.frozen,
 *   account.inactive, account.not_enabled, account.asset_mismatch, balance.insufficient,
 *   condition.failed, reference.taken, request.invalid, idempotency.key_reused
 */
export async function transfer(
  road: { db: Db; lane: Lane; memory: FactsMemory },
  actor: Actor,
  input: NewTransaction,
  idempotency: TransferKey | null,
): Promise<TransferResult> {
  const { source, destination } = await resolveParties(road, input);
  const outcome = await road.lane.post({
    source: source.id,
    destination: destination.id,
    amount: input.value,
    actor: actor.user,
    any: rightsOf(actor).write === "all",
    origin: actor.address,
    seal: input.seal === undefined ? null : JSON.stringify(input.seal),
    data: input.data === undefined ? null : JSON.stringify(input.data),
    reference: input.reference ?? null,
    more: moreOf(input),
    key: idempotency?.key ?? null,
    fingerprint: idempotency?.fingerprint ?? null,
  });
  return await conclude(road.db, actor, { input, source, destination }, outcome);
}

async function conclude(
  db: Db,
  actor: Actor,
  asked: { input: NewTransaction; source: AccountFacts; destination: AccountFacts },
  outcome: Outcome,
): Promise<TransferResult> {
  if ("posted" in outcome) {
    return { transaction: viewPosted(actor, asked, outcome.posted), replayed: false };
  }
  if ("refused" in outcome) {
    return { refused: refusal(outcome.refused, reachesRealm(actor)), replayed: false };
  }
  const { replay } = outcome;
  if (!replay.same) {
    throw new DomainError("idempotency.key_reused", "this key came with another request before");
  }
  if (replay.status !== null) return { kept: { status: replay.status, body: replay.body! } };
  if (replay.transaction === null) {
    return { refused: refusal(replay.body!, reachesRealm(actor)), replayed: true };
  }
  // The answer as it was then: seq and hash had not been given yet, and data has not been changed.
  const [row] = await selectTransactions(db, [replay.transaction]);
  const asThen = { ...row, seq: null, hash: null, data: asked.input.data ?? null };
  return { transaction: viewTransaction(asThen, (owner) => sees(actor, owner)), replayed: true };
}

function viewPosted(
  actor: Actor,
  asked: { input: NewTransaction; source: AccountFacts; destination: AccountFacts },
  posted: Posted,
): Record<string, unknown> {
  const { input, source, destination } = asked;
  return viewTransaction({
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
  }, (owner) => sees(actor, owner));
}

function sees(actor: Actor, owner: string | null): boolean {
  return covers(rightsOf(actor).read, actor, owner);
}

async function resolveParties(
  road: { db: Db; memory: FactsMemory },
  input: NewTransaction,
): Promise<{ source: AccountFacts; destination: AccountFacts }> {
  const sourceId = input.source.account ?? await accountOfAlias(road.db, input.source.alias!);
  const destinationId = input.destination.account ??
    await accountOfAlias(road.db, input.destination.alias!);
  for (const [id, side] of [[sourceId, "source"], [destinationId, "destination"]]) {
    if (!isId(id)) throw refusal(`${side}.not_found`, false);
  }
  let source = road.memory.get(sourceId);
  let destination = road.memory.get(destinationId);
  if (source === undefined || destination === undefined) {
    for (const facts of await selectFacts(road.db, [sourceId, destinationId])) {
      road.memory.set(facts.id, facts);
      if (facts.id === sourceId) source = facts;
      if (facts.id === destinationId) destination = facts;
    }
    if (source === undefined) throw refusal("source.not_found", false);
    if (destination === undefined) throw refusal("destination.not_found", false);
  }
  return { source, destination };
}

async function accountOfAlias(db: Db, alias: string): Promise<string> {
  const target = await selectAliasTarget(db, alias);
  if (target?.account == null) throw notFound("alias.not_found");
  return target.account;
}

function moreOf(input: NewTransaction): string | null {
  if (input.asset === undefined && input.conditions === undefined) return null;
  return JSON.stringify({ asset: input.asset, ...input.conditions });
}

/**
 * Finds a transaction that the actor made, or that moved value of an account it may see.
 *
 * @throws {DomainError} transaction.not_found
 */
export async function findTransaction(
  db: Db,
  actor: Actor,
  id: string,
): Promise<Record<string, unknown>> {
  const [row] = isId(id) ? await selectTransactions(db, [id]) : [];
  const owners = row === undefined ? [] : [row.owner, row.source_owner, row.destination_owner];
  if (!owners.some((owner) => sees(actor, owner))) throw notFound("transaction.not_found");
  return viewTransaction(row, (owner) => sees(actor, owner));
}
