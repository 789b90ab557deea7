/** What requests read before their command, and transfers beside their queue, takes places and turns like all else. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import {
  besideQueue,
  readingPlatform,
  withConcurrencyLimit,
} from "../../routes/http/concurrency_limit.ts";
import { waitUntilReady } from "../../routes/http/readiness.ts";
import type { Call } from "../../routes/http/route.ts";
import { DomainError } from "../../domain/errors.ts";
import { until } from "../support/eventually.ts";
import { rowsOf } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { EMAIL, WHATSAPP } from "../messages/fixture.ts";

const test = sharing("reads before commands in one realm");

/** Takes all places that customers have at a pool, or all there are, until it is told to leave. */
function takeAll(pool: object, whole = false, onTaken = () => {}): () => Promise<unknown> {
  const over = Promise.withResolvers<void>();
  const all = Array.from({ length: whole ? 1000 : 950 }, (_, i) => {
    const whose = { user: `${i}`, scopes: whole ? ["realm" as const] : [] };
    const work = () => {
      onTaken();
      return over.promise;
    };
    return withConcurrencyLimit(pool, work, whose).catch(() => {});
  });
  return () => {
    over.resolve();
    return Promise.all(all);
  };
}

test("what is read before a message or a password, dry runs of transfers and lists of events take places like all requests", async (realm) => {
  const statements: string[] = [];
  await using process = realm.another({}, (text) => statements.push(text));
  const user = await realm.user();
  const { id, identity, key } = user;
  const other = await realm.user();
  const { account, name } = await realm.currency("10");
  const from = await realm.account({ asset: name, by: user, from: account, total: "1" });
  const move = { source: { account: from }, destination: { account }, value: "1" };
  const customer = process.send(key);
  const email = { content: EMAIL };
  const dry = () => customer("POST", "/v1/transactions?dry_run=true", move);
  equal((await dry()).status, 201, "its accounts are known from now on");
  const { pool } = (await process.services.realms.find(realm.id))!;
  const leave = takeAll(pool);
  statements.length = 0;
  const answers = [dry()];
  for (
    const [method, path, body] of [
      ["POST", `/v1/users/${id}/message/email`, email],
      ["POST", `/v1/users/${id}/message/whatsapp`, { content: WHATSAPP }],
      ["POST", `/v1/identities/${identity}/person/message/email`, email],
      ["PATCH", `/v1/users/${other.id}`, { password: "correct horse battery" }],
      ["GET", "/v1/events/all", undefined],
    ] as const
  ) {
    const headers = { "idempotency-key": crypto.randomUUID() };
    answers.push(customer(method, path, body, method === "POST" ? headers : {}));
  }
  const statuses = (await Promise.all(answers)).map(({ status, text }) =>
    status === 503 ? status : text
  );
  const asked = statements.filter((text) => /kept_answer|identities|users|event|ledger/.test(text));
  await leave();
  deepEqual([statuses, asked], [Array(6).fill(503), []]);
  equal((await dry()).status, 201);
});

test("the profiles that a list of identities is shown with take a place of their own", async (realm) => {
  const made = await realm.admin.send("POST", "/v1/identities/person", {
    person: { firstName: "P" },
  });
  equal(made.status, 201, made.text);
  let leave = () => Promise.resolve<unknown>(null);
  let free = -1;
  await using process = realm.another({}, (text) => {
    if (!/from persons/.test(text) || free >= 0) return;
    free = 0;
    leave = takeAll(pool, true, () => free++);
  });
  const { pool } = (await process.services.realms.find(realm.id))!;
  const path = "/v1/identities/all?populate=person";
  const { status, body } = await process.send(realm.admin.key)("GET", path);
  await leave();
  const names = body.flatMap((row: { person: { firstName: string } | null }) => row.person ?? []);
  deepEqual([status, names.map((one: { firstName: string }) => one.firstName)], [200, ["P"]]);
  equal(free, 999);
});

test("what transfers ask for beside their queue takes turns: accounts that are not known, refusals and repeats", async (realm) => {
  const statements: string[] = [];
  await using process = realm.another({}, (text) => statements.push(text));
  const customer = await realm.user();
  const { account: ramp, name } = await realm.currency("10");
  const account = await realm.account({ asset: name, by: customer, from: ramp, total: "5" });
  const [to, unseen] = [await realm.account({ asset: name }), await realm.account({ asset: name })];
  const { pool } = (await process.services.realms.find(realm.id))!;
  const [send, staff] = [process.send(customer.key), process.send(realm.admin.key)];
  const moveBy = (
    by: typeof send,
    source: string,
    destination: string,
    value: string,
    key: string,
  ) =>
    by("POST", "/v1/transactions", {
      source: { account: source },
      destination: { account: destination },
      value,
    }, { "idempotency-key": key });
  const move = (destination: string, value: string, key: string) =>
    moveBy(send, account, destination, value, key);
  const posted = crypto.randomUUID();
  equal((await move(to, "1", posted)).status, 201);
  const over = Promise.withResolvers<void>();
  const held = [1, 2, 3].map((i) => besideQueue(pool, () => over.promise, { user: `${i}` }));
  let waiting = 0;
  const counted = <T>(answer: Promise<T>) => (waiting++, answer.finally(() => waiting--));
  statements.length = 0;
  const answers = [
    counted(move(unseen, "1", crypto.randomUUID())),
    counted(move(to, "100", crypto.randomUUID())),
    counted(move(to, "1", posted)),
    counted(send("POST", "/v1/transactions/batch", {
      atomic: false,
      transactions: [{
        source: { account },
        destination: { account: crypto.randomUUID() },
        value: "1",
      }],
    })),
  ];
  equal((await move(to, "1", crypto.randomUUID())).status, 201, "others pass beside them");
  for (let i = 0; i < 10; i++) equal((await staff("GET", "/v1/accounts")).status, 200);
  const asked = statements.filter((text) =>
    /from accounts|from transactions t|idempotency_earlier/.test(text)
  );
  equal(
    (await moveBy(staff, ramp, unseen, "1", crypto.randomUUID())).status,
    201,
    "nor does staff wait",
  );
  equal(waiting, 4);
  over.resolve();
  await Promise.all(held);
  const ends = (await Promise.all(answers)).map(({ status, body }) => [status, body.code]);
  deepEqual(asked, []);
  deepEqual(ends.slice(0, 3), [[201, undefined], [409, "balance.insufficient"], [201, undefined]]);
  equal(ends[3][0], 200);
  const sums = await rowsOf<{ total: string }>(
    realm,
    "select total::text from accounts where id = $1",
    [to],
  );
  deepEqual(sums, [{ total: "2" }]);
});

Deno.test("besideQueue() runs three at once, in turns of users, and lets nobody keep others out", async () => {
  const pool = {};
  const over = Promise.withResolvers<void>();
  const begun: string[] = [];
  const ask = (user: string) =>
    besideQueue(pool, async () => {
      begun.push(user);
      await over.promise;
    }, { user });
  const many = Array.from({ length: 10_003 }, () => ask("many"));
  const ends = Promise.allSettled(many);
  await until(() => begun.length === 3);
  const few = [ask("few"), ask("one")];
  await rejects(ask("many"), { code: "service.overloaded" });
  over.resolve();
  await Promise.all(few);
  deepEqual(begun.slice(3, 7), ["many", "few", "one", "many"]);
  const refused = (await ends).filter(({ status }) => status === "rejected").length;
  equal(refused, 2, "the last two of who had most gave way");
});

test("what requests read of the platform's database before their own work takes turns within their realm", async (realm) => {
  const statements: string[] = [];
  await using process = realm.another({}, (text) => statements.push(text));
  const send = process.send(realm.admin.key);
  const { account } = await realm.currency("10");
  equal((await send("GET", "/v1/auth/me")).status, 200);
  const over = Promise.withResolvers<void>();
  const held = [1, 2].map((i) => readingPlatform(realm.id, () => over.promise, { user: `${i}` }));
  statements.length = 0;
  const address = "0x52908400098527886E0F7030069857D2E4169EE7";
  const answers = [
    send("POST", `/v1/accounts/${account}/assign/${address}`),
    send("POST", `/v1/users/${realm.admin.id}/totp`),
    send("POST", `/v1/accounts/${account}/address`, {}),
  ];
  let ended = 0;
  for (const answer of answers) answer.then(() => ended++, () => ended++);
  equal((await send("GET", `/v1/accounts/${account}`)).status, 200);
  const asked = statements.filter((text) => /address_directory|installation|steps/.test(text));
  equal(ended, 0);
  over.resolve();
  await Promise.all(held);
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  deepEqual(asked, []);
  equal(statuses[1], 201);
  equal(statuses.includes(503), false, `${statuses}`);
});

test("a request that waited for what it made gets its first state where the present one cannot be read", async (realm) => {
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const reply = { status: 201, body: '{"id":"one"}' };
  const among = (_db: unknown, ids: string[]) => Promise.resolve(ids);
  const isReady = (): Promise<unknown> => Promise.resolve({ id: "one", is: "ready" });
  const signal = () => new AbortController().signal;
  const waiting = (actorNow: () => Promise<unknown>, view = isReady) =>
    waitUntilReady(
      { preferWaitS: 10, signal, actorNow } as Call<unknown, unknown, unknown>,
      pool,
      reply,
      { among, view },
    );
  const busy = new DomainError("service.overloaded", "too many wait", { retryAfterS: 1 });
  const limited = new DomainError("rate.limited", "too many wrong keys", { retryAfterS: 60 });
  for (const why of [busy, limited]) {
    equal((await waiting(() => Promise.reject(why))).body, reply.body, why.code);
  }
  equal((await waiting(() => Promise.resolve(null))).body, reply.body);
  equal(
    (await waiting(() => Promise.resolve({ ...realm.admin.actor }))).body.includes("ready"),
    true,
  );
  const leave = takeAll(pool);
  const actor = (await realm.user()).actor;
  equal((await waiting(() => Promise.resolve(actor))).body, reply.body);
  await leave();
  // Refused is what became of it, not what was asked to see it.
  const refused = new DomainError("token.invalid", "it is no token");
  const hidden = () => Promise.reject(new DomainError("permission.role", "not shown any more"));
  equal((await waiting(() => Promise.resolve(actor), hidden)).body, reply.body);
  await rejects(waiting(() => Promise.resolve(actor), () => Promise.resolve(refused)), refused);
});
