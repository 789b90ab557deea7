/**
 * Batches of transfers that come in one request under one idempotency key: all or none, or each by
 * itself. A repeat is answered from the ledger's own rows, so no answer is stored twice.
 * @module
 */
import { z } from "zod";
import type { Db, Pool } from "../../db/database.ts";
import { selectTransactions, type TransactionRow } from "../../db/ledger/posting.ts";
import type { Bulk, Outcome } from "../../db/ledger/posting_protocol.ts";
import type { BulkReplay } from "../../db/ledger/replays.ts";
import { reading } from "../../db/transaction.ts";
import { type Actor, reachesRealm } from "../actor.ts";
import { type Answer, keyReused } from "../command.ts";
import { Flag } from "../entity.ts";
import { DomainError, type ErrorCode, type ErrorExtra } from "../errors.ts";
import { afterwards } from "../failures.ts";
import { refusal, TransactionView } from "./posting.ts";
import { rightsOf } from "../permissions.ts";
import { cachedEndpoints, findEndpoints, type TransferEndpoints } from "./parties.ts";
import { inSlices, joinInSlices } from "../slices.ts";
import {
  moveOf,
  NewTransaction,
  type PostingContext,
  printAsThen,
  printPosted,
} from "./transactions.ts";
import {
  answerPosted,
  answerRefused,
  answerUnresolved,
  type TransferRequest,
} from "./transfer_answers.ts";

/** Transactions that are read at once where a batch is repeated. */
const READ_AT_ONCE = 500;
/** Transfers that one request may hold. */
const BATCH_MAX = 10_000;
/** Greatest body of a batch, in bytes. */
export const BATCH_BODY_MAX = 8 * 1024 * 1024;

/** The body of a request with many transfers. */
export const NewBatch = z.strictObject({
  atomic: Flag,
  transactions: z.array(NewTransaction).min(1).max(BATCH_MAX),
}).meta({ id: "NewBatch" });
/** The body of a request with many transfers. */
export type NewBatch = z.infer<typeof NewBatch>;

/** A batch whose items are not validated yet. */
export const BatchOutline = z.strictObject({
  atomic: Flag,
  transactions: z.array(z.unknown()).min(1).max(BATCH_MAX),
});

/** A problem, as the routes print it. */
const Refusal = z.object({ code: z.string() }).meta({ id: "Problem" });

/** The answer to a batch: for each transfer, in order, its transaction or its refusal. */
export const BatchView = z.object({
  results: z.array(z.union([TransactionView, Refusal])),
}).meta({ id: "Batch" });

/** An item that named no existing account: it was refused before posting. */
interface Unresolved {
  index: number;
  code: ErrorCode;
  message: string;
  extra: ErrorExtra;
}

/**
 * Posts many transfers, in order. In an atomic batch the refusal carries the item's index.
 *
 * @throws {DomainError} idempotency.key_reused; a refusal of an atomic batch, where the request has no key
 */
export async function transferMany(
  context: PostingContext,
  actor: Actor,
  input: NewBatch,
  request: TransferRequest,
): Promise<Answer> {
  const { atomic, transactions } = input;
  const { pool } = context;
  const replay = (kept: BulkReplay) => answerReplay(pool, actor, { input, request }, kept);
  const found = await endpointsOf({ ...context, actor }, transactions, request);
  const lost = found.findIndex((endpoints) => endpoints instanceof DomainError);
  if (atomic && lost >= 0) {
    return await answerUnresolved(pool, request, at(found[lost] as DomainError, lost), replay);
  }
  const bulk = await bulkOf(actor, input, found, request);
  const outcome = await context.queue.postBulk(bulk, request.lostStanding);
  if ("replay" in outcome) return await replay(outcome.replay);
  const { outcomes } = outcome;
  const first = atomic ? outcomes.findIndex((one) => "refused" in one) : -1;
  if (first < 0) {
    return answerPosted(request, await print(actor, transactions, found, outcomes, request));
  }
  const { refused } = outcomes[first] as Extract<Outcome, { refused: string }>;
  const why = refusal(refused, reachesRealm(actor), transactions[first]);
  return await answerRefused(pool, request, at(why, first));
}

/** Writes a batch as the posting queue takes it. */
async function bulkOf(
  actor: Actor,
  { atomic, transactions }: NewBatch,
  found: readonly (TransferEndpoints | DomainError)[],
  request: TransferRequest,
): Promise<Bulk> {
  const unresolved = unresolvedOf(found);
  const moves = await inSlices(
    found,
    (endpoints, index) =>
      endpoints instanceof DomainError ? null : moveOf(actor, transactions[index], endpoints),
  );
  return {
    moves: moves.filter((move) => move !== null),
    atomic,
    key: request.idempotency?.key ?? crypto.randomUUID(),
    fingerprint: request.idempotency?.fingerprint ?? crypto.randomUUID(),
    requestId: request.id,
    unresolved: unresolved.length === 0 ? null : JSON.stringify(unresolved),
    actor: actor.user,
    mayMoveAny: rightsOf(actor).write === "all",
    clientIp: actor.address,
    apiKey: actor.apiKey?.id ?? null,
  };
}

function unresolvedOf(found: readonly (TransferEndpoints | DomainError)[]): Unresolved[] {
  return found.flatMap((endpoints, index) => {
    if (!(endpoints instanceof DomainError)) return [];
    const { code, message, extra } = endpoints;
    return [{ index, code, message, extra }];
  });
}

async function endpointsOf(
  { actor, cache, pool }: PostingContext & { actor: Actor },
  transactions: readonly NewTransaction[],
  { besideQueue }: TransferRequest,
): Promise<(TransferEndpoints | DomainError)[]> {
  const known: TransferEndpoints[] = [];
  for (const named of transactions) {
    const endpoints = cachedEndpoints(cache, named);
    if (endpoints === null) break;
    known.push(endpoints);
  }
  if (known.length === transactions.length) return known;
  const find = (db: Db) => findEndpoints({ db, cache, actor }, transactions);
  return await besideQueue(() => reading(pool, find));
}

async function print(
  actor: Actor,
  transactions: readonly NewTransaction[],
  found: readonly (TransferEndpoints | DomainError)[],
  outcomes: readonly Outcome[],
  request: TransferRequest,
): Promise<string> {
  let next = 0;
  const results = await joinInSlices(found, (endpoints, i) => {
    if (endpoints instanceof DomainError) return request.problem(endpoints, request.id).body;
    const outcome = outcomes[next++];
    if ("posted" in outcome) {
      const { source, destination } = endpoints;
      return printPosted(actor, { input: transactions[i], source, destination }, outcome.posted);
    }
    const { refused } = outcome as Extract<Outcome, { refused: string }>;
    const why = refusal(refused, reachesRealm(actor), transactions[i]);
    return request.problem(why, request.id).body;
  });
  return `{"results":[${results}]}`;
}

/** Answers a request whose key was seen before. */
async function answerReplay(
  pool: Pool,
  actor: Actor,
  { input: { transactions }, request }: { input: NewBatch; request: TransferRequest },
  kept: BulkReplay,
): Promise<Answer> {
  if (!kept.same) throw keyReused();
  if (kept.status !== null) return { status: kept.status, body: kept.body!, replayed: true };
  const replayed = !kept.own;
  if (kept.transactions === null) {
    const [, index, why] = /^(\d+) (.*)$/.exec(kept.body!)!;
    const item = Number(index);
    const refused = refusal(why, reachesRealm(actor), transactions[item]);
    return await answerRefused(pool, request, at(refused, item), replayed);
  }
  const ids = kept.transactions.filter((_, i) => !kept.refusals?.[i]);
  const read = rowsAsThen(pool, ids, request);
  const byId = await (kept.own ? afterwards(read) : read);
  const unresolved = new Map(
    (kept.unresolved as Unresolved[] | null ?? []).map((one) => [one.index, one]),
  );
  let next = 0;
  const results = await joinInSlices(transactions, (input, i) => {
    const lost = unresolved.get(i);
    if (lost !== undefined) {
      return request.problem(new DomainError(lost.code, lost.message, lost.extra), kept.request!)
        .body;
    }
    const why = kept.refusals?.[next];
    const id = kept.transactions![next++];
    if (why) return request.problem(refusal(why, reachesRealm(actor), input), kept.request!).body;
    return printAsThen(actor, input, byId.get(id)!);
  });
  return answerPosted(request, `{"results":[${results}]}`, replayed);
}

/**
 * Reads transactions in parts, without their free-form data, which is printed as it was given and
 * may have grown since.
 */
async function rowsAsThen(
  pool: Pool,
  ids: readonly string[],
  { besideQueue }: TransferRequest,
): Promise<Map<string, TransactionRow>> {
  const byId = new Map<string, TransactionRow>();
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const part = ids.slice(from, from + READ_AT_ONCE);
    const rows = await besideQueue(() => reading(pool, (db) => selectTransactions(db, part)));
    for (const row of rows) byId.set(row.id, { ...row, data: null, seal: null });
  }
  return byId;
}

/** Makes the refusal of an item that of its batch: paths of its fields become those of the body. */
function at({ code, message, extra }: DomainError, index: number): DomainError {
  const errors = extra.errors?.map((fault) => {
    return { ...fault, path: `/transactions/${index}${fault.path}` };
  });
  const more = errors === undefined ? { index } : { index, errors };
  return new DomainError(code, message, { ...extra, ...more });
}
