/**
 * How a handler reaches the domain. command() changes things in one serializable transaction, query()
 * reads, and postTransfer() sends a transfer through the realm's posting queue.
 * @module
 */
import {
  type Answer,
  type AnswerCipher,
  type CommandResult,
  type Db,
  lockOf,
  type LockOption,
  type OptionsFor,
  optionsOf,
  type Pool,
  runCommand,
  runDry,
  runQuery,
  runSearch,
  type TxFor,
} from "../../domain/command.ts";
import { confirmed } from "../../domain/realms/attestations.ts";
import { type NewBatch, transferMany } from "../../domain/ledger/batches.ts";
import { DomainError } from "../../domain/errors.ts";
import { beforehand } from "../../domain/failures.ts";
import {
  type NewTransaction,
  type PostingContext,
  transfer,
} from "../../domain/ledger/transactions.ts";
import type { TransferRequest } from "../../domain/ledger/transfer_answers.ts";
import { dryRunQueue } from "../../domain/ledger/dry_run.ts";
import { problemOf, PROBLEMS } from "./problems.ts";
import { withNext } from "./next_links.ts";
import type { Call, Reply } from "./route.ts";
import { conditional, isKnown, readTagged } from "./preconditions.ts";
import {
  besideQueue,
  listing,
  onPlatform,
  searching,
  withConcurrencyLimit,
} from "./concurrency_limit.ts";
import { readPlatformEarly } from "./early_reads.ts";
import {
  inSteps,
  lagHeader,
  notBeforeOf,
  readQuickly,
  replicaFor,
  withHeaders,
} from "./replica_reads.ts";
import { type Readiness, waitUntilReady } from "./readiness.ts";
import { chargingWork } from "./charged_work.ts";

/** Longest statement of a list with a filter. */
const SEARCH_MS = 5_000;

/** How a request's command runs. */
export interface RequestOptions {
  /** The answer shows a secret: its copy under an idempotency key is encrypted. */
  secret?: boolean;
  /** The realm that a command of the platform is about. */
  realm?: string;
  /** Runs everything and rolls it back; claims no key. */
  dryRun?: boolean;
  /**
   * Compares the realm first, which may have been restored: for commands that return value or hand
   * out an address.
   */
  confirmed?: boolean;
  /** With `Prefer: wait`, answers when the entity has become ready. */
  ready?: Readiness;
}

/** How a command runs, and whether it takes the ledger lock: those that write account rows do. */
export type ExecutionOptions<Locked extends boolean> = RequestOptions & LockOption<Locked>;

/** Runs a change and answers with its view. */
export async function command<P, Q, B, Locked extends boolean = false>(
  call: Call<P, Q, B>,
  work: (tx: TxFor<Locked>) => Promise<unknown>,
  ...given: OptionsFor<Locked, ExecutionOptions<Locked>>
): Promise<Reply> {
  const options = optionsOf<Locked, ExecutionOptions<Locked>>(given);
  if (!options.confirmed) return await change(call, work, options);
  const where = {
    ...{ platform: call.services.platform, realm: call.realm!.id },
    inTurn: <T>(read: () => Promise<T>) => readPlatformEarly(call, read),
  };
  return await confirmed(where, (assertKnown) =>
    change(call, async (tx) => {
      await assertKnown(tx);
      return await work(tx);
    }, options));
}

async function change<P, Q, B, Locked extends boolean>(
  call: Call<P, Q, B>,
  given: (tx: TxFor<Locked>) => Promise<unknown>,
  options: ExecutionOptions<Locked>,
): Promise<Reply> {
  const pool = poolOf(call);
  const { work, beside, tag } = conditional(
    call,
    (tx: TxFor<Locked>) => whileStanding(call, given(tx)),
  );
  if (options.dryRun) {
    const view = await limited(call, () => runDry(pool, work, lockOf<Locked>(options)));
    return { status: call.route.status, body: JSON.stringify(view) };
  }
  const how = {
    ...lockOf<Locked>(options),
    action: `${call.route.method} ${call.route.path}`,
    idempotency: call.idempotency,
    fields: fieldsOf(call.body),
    realm: options.realm,
    beside,
    cipher: options.secret ? cipherOf(call) : undefined,
    print: (result: CommandResult) =>
      "view" in result
        ? { status: call.route.status, body: JSON.stringify(result.view) }
        : refusalOf(call, result.refused),
  };
  const answer = await limited(call, () => runCommand(pool, call.actor, work, how));
  if (call.realm !== null) call.services.wake(call.realm.id);
  const reply = tagged(
    replyOf(answer),
    answer.replayed || answer.status >= 400 ? null : tag(answer.body),
  );
  // A repeat gets the first answer, at once.
  const isMade = answer.status < 400 && !answer.replayed;
  if (options.ready === undefined || call.preferWaitS === 0 || !isMade) return reply;
  return await waitUntilReady(call, pool, reply, options.ready);
}

/** Refuses what was done for a caller that may act no more: it may have waited for locks since it was admitted. */
async function whileStanding<T>(
  { lostStanding }: Pick<Call<unknown, unknown, unknown>, "lostStanding">,
  work: Promise<T>,
): Promise<T> {
  const done = await work;
  const asked = lostStanding();
  const lost = asked === null ? null : await beforehand(asked); // where it fails, all is taken back
  if (lost !== null) throw lost;
  return done;
}

/**
 * Runs reads and answers with a view.
 *
 * @param check what the primary checks before a replica is asked; the work checks it too
 */
export async function query<P, Q, B>(
  call: Call<P, Q, B>,
  work: (db: Db) => Promise<unknown>,
  check?: (db: Db) => Promise<unknown>,
): Promise<Reply> {
  const pool = poolOf(call);
  const replica = replicaFor(call);
  if (replica !== null) {
    // No turn at the primary is held meanwhile: where the replica is slow what only the primary answers waits for none
    // of its reads.
    const found = await withConcurrencyLimit(replica, async () => {
      if (check !== undefined) {
        await withConcurrencyLimit(pool, () => runQuery(pool, check), call.actor);
      }
      return await readQuickly(call, replica, work);
    }, call.actor);
    if (found !== null) return replyWith(call, found.result, lagHeader(found));
  }
  let view: unknown;
  const { body, tag } = await limited(
    call,
    () => runQuery(pool, (db) => readTagged(db, call, async (db) => view = await work(db))),
  );
  const status = isKnown(call.conditions, tag) ? 304 : call.route.status;
  return withNext(call, tagged({ status, body }, tag), view);
}

/** Runs a read whose extent the primary decides; its rows may be a replica's. */
export async function queryInSteps<P, Q, B, Plan>(
  call: Call<P, Q, B>,
  decide: (db: Db) => Promise<Plan>,
  read: (db: Db, plan: Plan) => Promise<unknown>,
): Promise<Reply> {
  if (replicaFor(call) === null) {
    return await query(call, async (db) => await read(db, await decide(db)));
  }
  const { view, headers } = await inSteps(call, decide, read);
  return replyWith(call, view, headers);
}

function replyWith<P, Q, B>(
  call: Call<P, Q, B>,
  view: unknown,
  headers: Record<string, string>,
): Reply {
  const reply = { status: call.route.status, body: JSON.stringify(view) };
  return withHeaders(withNext(call, reply, view), headers);
}

/** The parameters of a list or a count that decide how many rows are read. */
export interface Asked {
  query?: unknown;
  search?: unknown;
  sort?: unknown;
  scope?: unknown;
  limit?: unknown;
  pageSize?: unknown;
}

/** Rows that cost almost nothing to read and print. */
const ROWS_FEW = 100;
/** Rows of a list page by page, unless it is asked for others. */
const ROWS_USUAL = 10;

/**
 * Runs a list or a count. One with a filter or an order of its own may have to read every row, so
 * it waits for its turn. A list of many rows waits among others of its kind.
 *
 * @param counts whether it counts rows that `row_counts` does not have
 * @param usual rows of its answer if the query does not say
 */
export async function search<P, Q extends Asked, B>(
  call: Call<P, Q, B>,
  work: (db: Db) => Promise<unknown>,
  counts = false,
  usual = ROWS_USUAL,
): Promise<Reply> {
  if (!counts && isQuick(call.query)) {
    return await inListTurn(call, () => query(call, work), usual);
  }
  return await readMany(call, work);
}

/** Reads a list: one of many rows in its turn among long lists. */
export async function inListTurn<P, Q extends Asked, B>(
  call: Call<P, Q, B>,
  read: () => Promise<Reply>,
  usual = ROWS_USUAL,
): Promise<Reply> {
  const { limit, pageSize = usual } = call.query;
  if (!(Number(limit ?? pageSize) > ROWS_FEW)) return await read();
  return await listing(poolOf(call), read, { user: call.actor.user, signal: call.signal() });
}

/**
 * Runs reads of very many rows: each waits for its turn among others of its kind, ends after seconds, and costs credits by
 * the time that the database worked for it.
 */
export async function readMany<P, Q, B>(
  call: Call<P, Q, B>,
  work: (db: Db) => Promise<unknown>,
): Promise<Reply> {
  const pool = poolOf(call);
  const signal = call.signal();
  const replica = replicaFor(call);
  const notBefore = notBeforeOf(call);
  const how = { limitMs: SEARCH_MS, isSlow: true, user: call.actor.user, signal, notBefore };
  const { user, scopes } = call.actor;
  return await chargingWork(call, async (timed) => {
    let headers: Record<string, string> = {};
    const read = (db: Db) => timed(() => work(db));
    const find = async () => {
      const found = replica === null ? null : await replica.read(read, how);
      if (found === null) return await runSearch(pool, SEARCH_MS, read, signal);
      headers = lagHeader(found);
      return found.result;
    };
    const view = await searching(pool, find, { user, scopes, signal }).catch((error) => {
      throw signal.aborted ? signal.reason : error;
    });
    return replyWith(call, view, headers);
  });
}

/** Whether rows are read by an index alone: all or one's own, as they were made. */
function isQuick({ query, search, sort = "created_at", scope = "own" }: Asked): boolean {
  if (query !== undefined || search !== undefined) return false;
  return /^-?(created_at|createdAt|id)$/.test(`${sort}`) && /^(own|all)$/.test(`${scope}`);
}

/** Sends a transfer through the realm's posting queue. */
export function postTransfer<P>(call: Call<P, DryRunQuery, NewTransaction>): Promise<Reply> {
  const request = transferRequest(call, call.route.status);
  return transfer(postingContextOf(call), call.actor, call.body, request).then(replyOf);
}

/** Sends the transfers of one request through the realm's posting queue, as a batch of their own. */
export async function postTransfers<P>(call: Call<P, DryRunQuery, NewBatch>): Promise<Reply> {
  const request = transferRequest(call, call.body.atomic ? call.route.status : 200);
  return replyOf(await transferMany(postingContextOf(call), call.actor, call.body, request));
}

/** A dry run claims no key: its answer did not happen. */
function transferRequest<P, B>(call: Call<P, DryRunQuery, B>, status: number): TransferRequest {
  return {
    id: call.requestId,
    idempotency: call.query.dry_run ? null : call.idempotency,
    status,
    problem: (refused, requestId) => refusalOf(call, refused, requestId),
    besideQueue: (work) => beforehand(besideQueue(call.realm!.pool, work, call.actor)),
    lostStanding: call.lostStanding,
  };
}

/** The query of a request that can be a dry run. */
export interface DryRunQuery {
  dry_run: boolean;
}

function postingContextOf<P, B>(call: Call<P, DryRunQuery, B>): PostingContext {
  const realm = call.realm!;
  const queue = call.query.dry_run ? limitedDryRun(call) : realm.queue();
  return { pool: realm.pool, queue, cache: realm.accountCache };
}

/** A dry run has a transaction of its own, which takes the place of a request. */
function limitedDryRun<P, Q, B>(call: Call<P, Q, B>): PostingContext["queue"] {
  const queue = dryRunQueue(call.realm!.pool);
  return {
    post: (move) => limited(call, () => queue.post(move)),
    postBulk: (bulk) => limited(call, () => queue.postBulk(bulk)),
  };
}

function fieldsOf(body: unknown): string[] | null {
  return typeof body === "object" && body !== null ? Object.keys(body) : null;
}

/** Binds the stored copy of an answer to its idempotency key. */
function cipherOf<P, Q, B>(call: Call<P, Q, B>): AnswerCipher {
  const { secrets } = call.services;
  const subject = call.idempotency?.key ?? "";
  return {
    encrypt: (body) => secrets.encrypt("answer", subject, body).toBase64(),
    decrypt: (kept) =>
      kept.startsWith("{") // an answer in its place, which shows no secret
        ? kept
        : secrets.decrypt("answer", subject, Uint8Array.fromBase64(kept)),
  };
}

function poolOf<P, Q, B>(call: Call<P, Q, B>): Pool {
  return call.realm?.pool ?? call.services.platform;
}

/** Runs work of a request within the limits of its pool; users of a realm take turns at the platform's. */
function limited<P, Q, B, T>(call: Call<P, Q, B>, work: () => Promise<T>): Promise<T> {
  const { actor } = call;
  const run = () => withConcurrencyLimit(poolOf(call), work, actor);
  const isUsers = call.realm === null && actor.kind === "user" && actor.realm.id !== "";
  if (!isUsers) return run();
  return onPlatform(actor.realm.id, run, { user: actor.user, signal: call.signal() });
}

function refusalOf<P, Q, B>(
  call: Call<P, Q, B>,
  refused: DomainError,
  requestId = call.requestId,
): { status: number; body: string } {
  const { config } = call.services;
  return {
    status: PROBLEMS[refused.code].status,
    body: JSON.stringify(problemOf(refused, config.baseUrl, requestId)),
  };
}

function replyOf(answer: Answer): Reply {
  return {
    status: answer.status,
    body: answer.body,
    headers: answer.replayed ? { "idempotency-replayed": "true" } : undefined,
  };
}

function tagged(reply: Reply, tag: string | null): Reply {
  return tag === null ? reply : { ...reply, headers: { ...reply.headers, etag: tag } };
}
