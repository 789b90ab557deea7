/**
 * Transfers between accounts, through the realm's posting queue. Other postings obey the same
 * rules, because all use the same posting function.
 * @module
 */
import { z } from "zod";
import type { Pool } from "../../db/database.ts";
import type { PostingQueue } from "../../db/ledger/posting_queue.ts";
import { selectTransactions, type TransactionRow } from "../../db/ledger/posting.ts";
import type { KeyedMove, Posted } from "../../db/ledger/posting_protocol.ts";
import type { Replay } from "../../db/ledger/replays.ts";
import { reading } from "../../db/transaction.ts";
import { type Actor, reachesRealm } from "../actor.ts";
import { type Answer, type IdempotencyClaim, keyReused } from "../command.ts";
import { FreeForm, text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { afterwards } from "../failures.ts";
import { refusal, type TransactionFields } from "./posting.ts";
import { Amount, AmountOrZero } from "../money.ts";
import { mayReadAccount, rightsOf } from "../permissions.ts";
import {
  type AccountCache,
  cachedEndpoints,
  DestinationParty,
  findEndpoints,
  SourceParty,
  type TransferEndpoints,
} from "./parties.ts";
import { printTransaction } from "./transaction_json.ts";
import {
  answerPosted,
  answerRefused,
  answerUnresolved,
  type TransferRequest,
} from "./transfer_answers.ts";

export type { AccountCache };

const Conditions = z.strictObject({
  source_available_gte: AmountOrZero.optional(),
  source_total_eq: AmountOrZero.optional(),
  destination_total_lte: AmountOrZero.optional(),
}).meta({ id: "Conditions" });

/** The body of a transfer. */
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
/** The body of a transfer. */
export type NewTransaction = z.infer<typeof NewTransaction>;

/** The parts of a realm that a transfer needs. */
export interface PostingContext {
  pool: Pool;
  queue: Pick<PostingQueue, "post" | "postBulk">;
  cache: AccountCache;
}

/**
 * Moves value between two accounts.
 *
 * @throws {DomainError} idempotency.key_reused; a refusal, where the request has no key
 */
export function transfer(
  context: PostingContext,
  actor: Actor,
  input: NewTransaction,
  request: TransferRequest,
): Promise<Answer> {
  const asked = { input, request };
  const endpoints = cachedEndpoints(context.cache, input);
  return endpoints === null
    ? findAndPost(context, actor, asked)
    : post(context, actor, asked, endpoints);
}

/** A request for a transfer. */
interface Asked {
  input: NewTransaction;
  request: TransferRequest;
}

/** Reads the accounts of a transfer, and posts it. */
async function findAndPost(
  context: PostingContext,
  actor: Actor,
  asked: Asked,
): Promise<Answer> {
  const { cache, pool } = context;
  const { input, request } = asked;
  const endpoints = await request.besideQueue(async () =>
    cachedEndpoints(cache, input) ?? // found meanwhile, for another transfer
      await reading(pool, async (db) => (await findEndpoints({ db, cache, actor }, [input]))[0])
  );
  if (!(endpoints instanceof DomainError)) return await post(context, actor, asked, endpoints);
  const replay = (kept: Replay) => answerReplay(pool, actor, asked, kept);
  return await answerUnresolved(pool, request, endpoints, replay);
}

/** Posts a transfer. A function that is suspended while it waits would keep three times as much memory. */
function post(
  { pool, queue }: PostingContext,
  actor: Actor,
  asked: Asked,
  endpoints: TransferEndpoints,
): Promise<Answer> {
  const { input, request } = asked;
  const move = moveOf(actor, input, endpoints, request.idempotency);
  return queue.post(move, request.lostStanding).then((outcome) => {
    if ("posted" in outcome) {
      return answerPosted(request, printPosted(actor, { input, ...endpoints }, outcome.posted));
    }
    if ("replay" in outcome) return answerReplay(pool, actor, asked, outcome.replay);
    return answerRefused(pool, request, refusal(outcome.refused, reachesRealm(actor), input));
  });
}

/** Builds the move that the posting queue takes. */
export function moveOf(
  actor: Actor,
  input: NewTransaction,
  { source, destination }: TransferEndpoints,
  claim: IdempotencyClaim | null = null,
): KeyedMove {
  return {
    source: source.id,
    destination: destination.id,
    amount: input.value,
    actor: actor.user,
    mayMoveAny: rightsOf(actor).write === "all",
    clientIp: actor.address,
    apiKey: actor.apiKey?.id ?? null,
    seal: input.seal === undefined ? null : JSON.stringify(input.seal),
    data: input.data === undefined ? null : JSON.stringify(input.data),
    reference: input.reference ?? null,
    extras: extrasOf(input, mayReadAccount(actor, destination.owner)),
    key: claim === null ? null : claim.key,
    fingerprint: claim === null ? null : claim.fingerprint,
  };
}

/**
 * The result of a condition reveals a balance, so conditions on accounts that the actor may not
 * read are refused.
 */
function extrasOf(input: NewTransaction, seen: boolean): string | null {
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
async function answerReplay(
  pool: Pool,
  actor: Actor,
  { input, request }: Asked,
  replay: Replay,
): Promise<Answer> {
  if (!replay.same) throw keyReused();
  if (replay.status !== null) return { status: replay.status, body: replay.body!, replayed: true };
  if (replay.transaction === null) {
    const refused = refusal(replay.body!, reachesRealm(actor), input);
    return await answerRefused(pool, request, refused, !replay.own);
  }
  const { transaction } = replay;
  const read = () => reading(pool, (db) => selectTransactions(db, [transaction]));
  const [row] =
    await (replay.own ? afterwards(request.besideQueue(read)) : request.besideQueue(read));
  return answerPosted(request, printAsThen(actor, input, row), !replay.own);
}

/** Prints a transaction as it was first answered: without a link, its free-form parts as given. */
export function printAsThen(actor: Actor, input: NewTransaction, row: TransactionRow): string {
  const given = { data: input.data ?? null, seal: input.seal ?? null };
  const then = { seq: null, hash: null, updated_at: null, ...given };
  return printTransaction({ ...row, ...then }, (owner) => mayReadAccount(actor, owner));
}

/** Prints a transaction that has just been posted. */
export function printPosted(
  actor: Actor,
  asked: { input: NewTransaction } & TransferEndpoints,
  posted: Posted,
): string {
  return printTransaction(fieldsOf(actor, asked, posted), (owner) => mayReadAccount(actor, owner));
}

function fieldsOf(
  actor: Actor,
  { input, source, destination }: { input: NewTransaction } & TransferEndpoints,
  posted: Posted,
): TransactionFields {
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
