/**
 * The ways inward. command() changes things in one serializable transaction, query() reads, and
 * move() sends a transfer down the realm's lane. Idempotency keys are read here and nowhere else.
 * @module
 */
import { hash } from "node:crypto";
import {
  type Answer,
  type Db,
  type IdempotencyClaim,
  keepRefusal,
  type Pool,
  runCommand,
  runQuery,
  runTrial,
  type Tx,
} from "../domain/command.ts";
import { DomainError } from "../domain/errors.ts";
import { type NewTransaction, transfer } from "../domain/transactions.ts";
import { problemOf, PROBLEMS } from "./errors.ts";
import type { Call, Reply } from "./route.ts";

const KEY = /^[\x21-\x7e]{1,255}$/;

/** How a command runs. */
export interface DoorOptions {
  /** Takes the ledger's gate: for whatever writes an account row. */
  gate?: boolean;
  /** Does everything and takes it back; answers what would have been. No key is claimed. */
  dryRun?: boolean;
  /**
   * With `Prefer: wait`, looks at the entity until this gives its view; null while it is not ready.
   */
  ready?: (db: Db, id: string) => Promise<unknown | null>;
}

/** Runs a change and answers with its view. */
export async function command<P, Q, B>(
  call: Call<P, Q, B>,
  work: (tx: Tx) => Promise<unknown>,
  options: DoorOptions = {},
): Promise<Reply> {
  const pool = poolOf(call);
  if (options.dryRun) {
    const view = await runTrial(pool, work, { gate: options.gate ?? false });
    return { status: call.route.status, body: JSON.stringify(view) };
  }
  const answer = await runCommand(pool, call.actor, work, {
    action: `${call.route.method} ${call.route.path}`,
    idempotency: call.idempotency,
    gate: options.gate ?? false,
    print: (result) =>
      "view" in result
        ? { status: call.route.status, body: JSON.stringify(result.view) }
        : refusalOf(call, result.refused),
  });
  if (call.realm !== null) call.services.wake(call.realm.id);
  const reply = replyOf(answer);
  if (options.ready === undefined || call.preferWaitS === 0 || answer.status >= 400) return reply;
  return await waitUntilReady(call, pool, reply, options.ready);
}

/** Runs reads and answers with a view. */
export async function query<P, Q, B>(
  call: Call<P, Q, B>,
  work: (db: Db) => Promise<unknown>,
): Promise<Reply> {
  const view = await runQuery(poolOf(call), work);
  return { status: call.route.status, body: JSON.stringify(view) };
}

/** Sends a transfer down the realm's lane. */
export async function move<P, Q>(call: Call<P, Q, NewTransaction>): Promise<Reply> {
  const realm = call.realm!;
  const road = { db: realm.pool.sql, lane: realm.lane(), memory: realm.memory };
  const result = await transfer(road, call.actor, call.body, call.idempotency);
  if ("kept" in result) return replyOf({ ...result.kept, replayed: true });
  if ("transaction" in result) {
    call.services.wake(realm.id);
    return replyOf({
      status: call.route.status,
      body: JSON.stringify(result.transaction),
      replayed: result.replayed,
    });
  }
  if (call.idempotency === null) throw result.refused;
  const refusal = refusalOf(call, result.refused);
  const kept = await keepRefusal(realm.pool, call.idempotency, refusal);
  return replyOf({ ...kept, replayed: result.replayed });
}

/**
 * Reads the idempotency key of a request: scope is realm, user and key; the request is told apart by
 * its method, path and body.
 *
 * @throws {DomainError} request.invalid
 */
export function claimOf(
  header: string | null,
  user: string,
  request: { method: string; path: string; body: string },
): IdempotencyClaim | null {
  if (header === null) return null;
  if (!KEY.test(header)) {
    const message = "1 to 255 visible ASCII characters are expected";
    throw new DomainError("request.invalid", `idempotency-key: ${message}`, {
      errors: [{ path: "idempotency-key", message }],
    });
  }
  return {
    key: hash("sha256", `${user}\0${header}`, "hex").slice(0, 32),
    fingerprint: hash("sha256", `${request.method}\0${request.path}\0${request.body}`, "hex")
      .slice(0, 32),
  };
}

function poolOf<P, Q, B>(call: Call<P, Q, B>): Pool {
  return call.realm?.pool ?? call.services.platform;
}

function refusalOf<P, Q, B>(
  call: Call<P, Q, B>,
  refused: DomainError,
): { status: number; body: string } {
  const { config } = call.services;
  return {
    status: PROBLEMS[refused.code].status,
    body: JSON.stringify(problemOf(refused, config.baseUrl, call.requestId)),
  };
}

function replyOf(answer: Answer): Reply {
  return {
    status: answer.status,
    body: answer.body,
    headers: answer.replayed ? { "idempotency-replayed": "true" } : undefined,
  };
}

/** Answers when the entity has become ready, or with what it was when the time is up. */
async function waitUntilReady<P, Q, B>(
  call: Call<P, Q, B>,
  pool: Pool,
  reply: Reply,
  ready: (db: Db, id: string) => Promise<unknown | null>,
): Promise<Reply> {
  const headers = { ...reply.headers, "preference-applied": `wait=${call.preferWaitS}` };
  const id = (JSON.parse(reply.body) as { id: string }).id;
  const until = call.services.now() + call.preferWaitS * 1000;
  for (let pauseMs = 5; call.services.now() < until; pauseMs = Math.min(250, pauseMs * 1.5)) {
    const view = await runQuery(pool, (db) => ready(db, id));
    if (view !== null) return { ...reply, body: JSON.stringify(view), headers };
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return { ...reply, headers };
}
