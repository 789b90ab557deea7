/** Overload: bounded queues answer 503 with retry-after, and nothing is lost or left behind. @module */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { openPostingQueue } from "../../db/ledger/posting_queue.ts";
import type { RealmContext } from "../../domain/realms/context.ts";
import { createApp } from "../../routes/http/app.ts";
import { LOCKS_HERE } from "../support/locks.ts";
import { type Answer, PLATFORM_KEY, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { assertInvariants } from "./invariants.ts";

/** Moves of one user that may wait, of those of all. */
const WAITING_MAX = 100;
const WAITING_OF_ALL = 133;
const ASKED = 400;
/** Requests of one realm that may wait for the database. */
const WAITING = 800;

Deno.test("more moves than may wait are answered 503 with retry-after, and the rest as ever", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("1000000");
  const other = await realm.account({ asset: name });
  await using service = await withSmallQueue(realm);
  const { send, queue } = service;
  const move = (value: string, key?: string) =>
    send("/v1/transactions", {
      source: { account },
      destination: { account: other },
      value,
    }, key);
  equal((await move("1")).status, 201);

  const lock = await holdLedgerLock(realm);
  const early = Array.from({ length: ASKED }, (_, i) => move("1", `key-${i}`));
  let refused = 0;
  let deepest = 0;
  for (const one of early) {
    one.then(({ status }) => {
      if (status === 503) refused++;
      deepest = Math.max(deepest, queue.depth());
    }).catch(() => {}); // awaited below
  }
  await until(() => refused === ASKED - WAITING_MAX);
  ok(deepest <= WAITING_MAX, `at most ${WAITING_MAX} wait, not ${deepest}`);
  equal(queue.depth(), WAITING_MAX);
  const batch = {
    atomic: true,
    transactions: [moveBody(account, other), moveBody(account, other)],
  };
  assertOverloaded(await send("/v1/transactions/batch", batch));
  assertOverloaded(await send("/v1/transactions/batch", { ...batch, atomic: false }));
  // A request that moves no value is answered meanwhile.
  equal((await realm.admin.send("GET", `/v1/accounts/${account}`)).status, 200);
  await lock.open();

  const answers = await Promise.all(early);
  equal(queue.depth(), 0);
  const codes = answers.map(({ status }) => status);
  deepEqual([...new Set(codes)].sort(), [201, 503]);
  for (const answer of answers) if (answer.status === 503) assertOverloaded(answer);
  // A refused move was not done and is not kept under its key: sent again, it is done.
  const again = await Promise.all(codes.slice(0, 150).map((_, i) => move("1", `key-${i}`)));
  for (const [i, { status, headers }] of again.entries()) {
    if (status === 503) continue; // 150 are more than may wait as well
    equal(status, 201);
    equal(headers.get("idempotency-replayed"), codes[i] === 201 ? "true" : null);
  }
  const redone = again.filter(({ status }, i) => status === 201 && codes[i] !== 201).length;
  const done = codes.filter((status) => status === 201).length;
  equal((await realm.balance(other)).total, String(1 + done + redone));
  equal((await move("1")).status, 201);
  await assertInvariants(realm);
});

Deno.test("more commands than may wait are answered 503 with retry-after, and the rest as ever", async () => {
  await using realm = await testRealm();
  const { account } = await realm.currency("1000");
  const lock = await holdLedgerLock(realm);
  const block = (amount: string) =>
    realm.admin.send("POST", `/v1/accounts/${account}/blocks`, { amount });
  const waiting = Array.from({ length: WAITING }, (_, i) => block(i < 60 ? "1" : "5000"));
  const late = await Promise.all(Array.from({ length: 20 }, () => block("1")));
  for (const answer of late) assertOverloaded(answer);
  equal((await realm.nobody("GET", "/health/live")).status, 200);
  await lock.open();
  const codes = (await Promise.all(waiting)).map(({ status }) => status);
  deepEqual(codes, codes.map((_, i) => i < 60 ? 201 : 409));
  deepEqual(await realm.balance(account), { total: "1000", available: "940" });
  await assertInvariants(realm);
});

/** A refusal that says when to come back. */
function assertOverloaded(answer: Pick<Answer, "status" | "headers" | "body">): void {
  equal(answer.status, 503);
  equal(answer.body.code, "service.overloaded");
  equal(answer.headers.get("content-type"), "application/problem+json");
  match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
}

/** A service with a queue in which few may wait, reached over HTTP. */
async function withSmallQueue(realm: TestRealm) {
  const context = (await realm.services.realms.find(realm.id))!;
  const queue = openPostingQueue(realm.database.postingPool(context.location), {
    waitingMax: WAITING_OF_ALL,
  });
  const small: RealmContext = Object.create(context, { queue: { value: () => queue } });
  const realms = { ...realm.services.realms, find: () => small };
  const log = () => {}; // each refusal is a line, and here are many
  const app = createApp({ ...realm.services, realms, log }, PLATFORM_KEY);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => app(request, "127.0.0.1"),
  );
  const client = Deno.createHttpClient({});
  const send = async (path: string, body: unknown, key?: string) => {
    const response = await fetch(`http://127.0.0.1:${server.addr.port}${path}`, {
      client,
      method: "POST",
      headers: {
        "x-api-key": realm.admin.key,
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      body: JSON.stringify(body),
    });
    const { status, headers } = response;
    return { status, headers, body: await response.json() };
  };
  return {
    send,
    queue,
    async [Symbol.asyncDispose]() {
      client.close();
      await server.shutdown();
    },
  };
}

/** Takes the ledger lock as a long transaction would, until it is opened. */
async function holdLedgerLock(realm: TestRealm): Promise<{ open(): Promise<void> }> {
  const taken = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = realm.command(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`; // longer than a process may
    taken.resolve();
    await release.promise;
  }, { lockLedger: true });
  await taken.promise;
  const [{ held }] = await rowsOf<{ held: number }>(
    realm,
    `select count(*)::int as held from ${LOCKS_HERE} l
      where relation = 'ledger_lock'::regclass and granted`,
  );
  equal(held, 1);
  return {
    async open() {
      release.resolve();
      await holding;
    },
  };
}

function moveBody(source: string, destination: string): unknown {
  return { source: { account: source }, destination: { account: destination }, value: "1" };
}

/** Waits for an expected result, up to a limit of time. */
async function until(come: () => boolean): Promise<void> {
  const late = performance.now() + 300_000;
  while (!come()) {
    if (performance.now() > late) throw new Error("it does not come");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
