/** Whether a caller hears that what it asked for may have been done, where the database does not answer. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import type { Pool } from "../../domain/command.ts";
import { DomainError } from "../../domain/errors.ts";
import { failureOf } from "../../domain/failures.ts";
import { transferMany } from "../../domain/ledger/batches.ts";
import { transfer } from "../../domain/ledger/transactions.ts";
import type { TransferRequest } from "../../domain/ledger/transfer_answers.ts";
import { insertAudit } from "../../db/records.ts";
import { using as withConnections } from "../../db/transaction.ts";
import { withConcurrencyLimit } from "../../routes/http/concurrency_limit.ts";
import { readEarly, readPlatformEarly } from "../../routes/http/early_reads.ts";
import { command } from "../../routes/http/execution.ts";
import type { Call } from "../../routes/http/route.ts";
import { holdingTimers } from "../support/held_timers.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

const LOST = Object.assign(new Error("the connection was lost"), { code: "CONNECTION_CLOSED" });
const lost = () => Promise.reject(LOST);

/** What the caller of a request hears that fails. */
async function heard(request: Promise<unknown>): Promise<string> {
  const error = await request.then(() => new Error("it passed"), (error: unknown) => error);
  const told = failureOf(error);
  if (told === null) throw error;
  return told.message.includes("may have been done") ? "may be done" : "not done";
}

Deno.test("a request whose database never answers hears of its own limit of time that it may be done", async () => {
  using timers = holdingTimers();
  const pool = {
    ...{ sql: { options: {} }, settings: "", renew: () => {} },
    enter: () => Promise.resolve(() => {}),
  } as unknown as Pool;
  const work = () => withConnections(pool, () => new Promise<never>(() => {}));
  const told = heard(withConcurrencyLimit({}, work));
  while (timers.count() < 2) await null;
  await timers.run();
  equal(await told, "may be done");
});

Deno.test("what fails at a question before it is done was not done, also where that question's answer was lost", async () => {
  await using realm = await testRealm();
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const action = `t.${crypto.randomUUID()}`;
  const call = {
    ...{ services: realm.services, realm: { id: realm.id, pool }, actor: realm.admin.actor },
    ...{ route: { method: "POST", path: "/v1/t", status: 201 }, conditions: {}, query: {} },
    ...{ body: {}, idempotency: null, preferWaitS: 0, lostStanding: lost },
    ...{ headers: new Headers(), signal: () => new AbortController().signal },
  } as unknown as Call<unknown, unknown, unknown>;
  const asked = [
    command(call, async (tx) => {
      const at = Date.now();
      const line = { id: crypto.randomUUID(), actor: null, action, entity: null, fields: null };
      await insertAudit(tx, { ...line, request_id: "t", address: null, created_at: at });
    }),
    readEarly(call, lost),
    readPlatformEarly(call, lost),
  ];
  deepEqual(await Promise.all(asked.map(heard)), Array(3).fill("not done"));
  deepEqual(await rowsOf(realm, "select 1 from audit where action = $1", [action]), []);
});

Deno.test("a transfer that was posted before its connection was lost may be done, where its row cannot be read now", async () => {
  await using realm = await testRealm();
  const { account, name } = await realm.currency("10");
  const input = {
    source: { account },
    destination: { account: await realm.account({ asset: name }) },
    value: "1",
  };
  const posted = await realm.admin.send("POST", "/v1/transactions", input);
  equal(posted.status, 201, posted.text);
  const { pool, accountCache: cache } = (await realm.services.realms.find(realm.id))!;
  const kept = {
    ...{ same: true, own: true, status: null, body: null, transaction: posted.body.id },
    ...{ request: "r", transactions: [posted.body.id], refusals: null, unresolved: null },
  };
  const replay = () => Promise.resolve({ replay: kept });
  const context = { pool, cache, queue: { post: replay, postBulk: replay } };
  const busy = new DomainError("service.overloaded", "too many wait", { retryAfterS: 1 });
  const ask = (why: Error) => {
    const request = {
      ...{ id: "r", idempotency: null, status: 201, lostStanding: () => null },
      besideQueue: () => Promise.reject(why),
    } as unknown as TransferRequest;
    const { actor } = realm.admin;
    return [
      transfer(context, actor, input, request),
      transferMany(context, actor, { atomic: true, transactions: [input, input] }, request),
    ];
  };
  for (const why of [busy, Object.assign(new Error("none"), { code: "ECONNREFUSED" })]) {
    deepEqual(await Promise.all(ask(why).map(heard)), ["may be done", "may be done"]);
  }
  const broken = new TypeError("a fault of ours");
  for (const one of ask(broken)) await rejects(one, broken);
});
