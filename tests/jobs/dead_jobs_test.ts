/** Jobs as administrators see them, and what they may do with dead ones. */
import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { insertJob, markDone, markFailed } from "../../db/jobs.ts";
import { claimJobs } from "../../db/jobs/claims.ts";
import { serializable } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import type { JobName, JobPayloads } from "../../domain/jobs.ts";
import { failJob, recoverJobs } from "../../domain/jobs/dead_jobs.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { shownText } from "../../domain/shown_texts.ts";
import { listen } from "../support/listening.ts";
import { type Answer, rowsOf, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const limits = (limit: number) => ({ limit, except: [], exchanges: limit });
const SELF = "00000000-0000-7000-8000-000000000001";
const PAYLOADS: JobPayloads = {
  "account.enable": { account: SELF },
  "order.advance": { order: SELF, version: 1 },
  "ramp.open": { account: SELF },
  "ramp.reserve": { account: SELF },
  "token.check": { token: SELF },
  "deposit.sweep": { account: SELF },
  "deposit.swept": { sweep: SELF },
  "exchange.advance": { transfer: SELF },
  "exchange.check": { ramp: SELF },
  "persons.sync": { sync: SELF },
  "message.send": { message: SELF, attempt: 1 },
  "deposit.rescan": { chain: "ETHEREUM", testnet: true, hash: "0x00" },
};
const DISCARDABLE: readonly string[] = ["exchange.check", "message.send", "persons.sync"];

interface Of {
  name?: string;
  payload?: Record<string, unknown>;
  state?: string;
  /** Seconds from now. */
  due?: number;
  error?: string;
  dedupe?: string;
  serialKey?: string;
}

/** Adds a job in a state; those that would be due are years away, unless said. */
async function add(realm: TestRealm, of: Of = {}): Promise<string> {
  const id = newId(Date.now());
  const { name = "persons.sync", payload = { sync: SELF }, state = "dead", error = null } = of;
  await rowsOf(
    realm,
    `insert into jobs (id, name, payload, state, dedupe, serial_key, run_at, locked_until, attempts,
        last_error, finished_at)
      values ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7),
        case when $4 = 'running' then now() + interval '1 hour' end, $8, $9,
        case when $4 in ('done', 'dead') then now() end)`,
    [
      ...[id, name, payload, state, of.dedupe ?? null, of.serialKey ?? null],
      ...[of.due ?? 100_000_000, state === "dead" ? 12 : 1, error],
    ],
  );
  return id;
}

async function rowOf(realm: TestRealm, id: string) {
  const [row] = await rowsOf<Record<string, unknown>>(
    realm,
    "select to_jsonb(j) as row from jobs j where id = $1",
    [id],
  );
  return row.row as Record<string, unknown>;
}

/** Runs a statement with the rights of the role that serves requests. */
async function serving(realm: TestRealm, text: string): Promise<void> {
  const pool = realm.database.realm(locationOf(realm.made.realm));
  await serializable(pool, async (tx) => void await tx.unsafe(text));
}

const codeOf = ({ status, body }: Answer) => [status, body.code];
const idsOf = ({ body }: Answer): string[] => body.map((one: { id: string }) => one.id);
const post = (realm: TestRealm, id: string, act: string, body?: unknown) =>
  realm.admin.send("POST", `/v1/jobs/${id}/${act}`, body);

const test = sharing("jobs of administrators in one realm");

test("jobs are listed by state, page by page, and each is read by its id", async (realm) => {
  await rowsOf(realm, "delete from jobs");
  const dead: string[] = [];
  for (let n = 0; n < 5; n++) dead.push(await add(realm));
  const other = await add(realm, { name: "exchange.check", payload: { ramp: SELF } });
  const late = await add(realm, { state: "ready", due: -61 });
  const due = await add(realm, { state: "ready", due: -30 });
  const later = await add(realm, { state: "ready" });
  const running = await add(realm, { state: "running" });
  await add(realm, { state: "done" });
  const list = async (query: string) => await realm.admin.send("GET", `/v1/jobs${query}`);
  deepEqual(idsOf(await list("")), [...dead, other]);
  deepEqual(idsOf(await list("?state=dead&name=exchange.check")), [other]);
  deepEqual(idsOf(await list("?state=late")), [late]);
  deepEqual(idsOf(await list("?state=ready")), [late, due, later]);
  deepEqual(idsOf(await list("?state=ready&name=exchange.check")), []);
  deepEqual(idsOf(await list("?state=running")), [running]);
  const found: string[] = [];
  for (let path: string | undefined = "/v1/jobs?limit=2"; path !== undefined;) {
    const page: Answer = await realm.admin.send("GET", path);
    ok(page.body.length <= 2);
    found.push(...idsOf(page));
    path = page.headers.get("link")?.match(/<([^>]+)>; rel="next"/)?.[1];
  }
  deepEqual(found, [...dead, other]);
  const one = (await realm.admin.send("GET", `/v1/jobs/${late}`)).body;
  deepEqual([one.id, one.state, one.late, one.payload], [late, "ready", true, { sync: SELF }]);
  ok(one.due_at < Date.now());
  for (const query of ["?state=done", "?after=x", "?limit=0", "?limit=1001", "?name=x", "?x=1"]) {
    equal((await list(query)).status, 400, query);
  }
});

test("only administrators of the realm see jobs or touch them; another realm's do not exist", async (realm) => {
  const id = await add(realm);
  const before = await rowOf(realm, id);
  const asks: [string, string, unknown?][] = [
    ["GET", "/v1/jobs"],
    ["GET", `/v1/jobs/${id}`],
    ["POST", `/v1/jobs/${id}/retry`],
    ["POST", `/v1/jobs/${id}/discard`, { reason: "r" }],
  ];
  const weak = [
    [await realm.user(), "permission.role"],
    [await realm.user({ role: "manage", scope: "realm" }), "permission.role"],
    [await realm.user({ role: "user", scope: "realm" }), "permission.role"],
    [await realm.user({ role: "admin", scope: "own" }), "permission.scope"],
  ] as const;
  for (const ask of asks) {
    for (const [user, code] of weak) deepEqual(codeOf(await user.send(...ask)), [403, code]);
    equal((await realm.nobody(...ask)).status, 401);
    equal((await realm.operator(...ask)).status, 401, "the operator reads the database");
  }
  await using neighbour = await realm.neighbour();
  for (const ask of asks.slice(1)) {
    deepEqual(codeOf(await neighbour.admin.send(...ask)), [404, "job.not_found"], ask[1]);
    const path = ask[1].replace(id, "none");
    deepEqual(codeOf(await realm.admin.send(ask[0], path, ask[2])), [404, "job.not_found"]);
  }
  ok(!idsOf(await neighbour.admin.send("GET", "/v1/jobs")).includes(id));
  deepEqual(await rowOf(realm, id), before);
});

test("a dead job that is retried is due at once, and has attempts like a new one", async (realm) => {
  const id = await add(realm, { error: "Error: no" });
  const key = { "idempotency-key": crypto.randomUUID() };
  const path = `/v1/jobs/${id}/retry`;
  const retried = await realm.admin.send("POST", path, undefined, key);
  equal(retried.status, 200, retried.text);
  const { state, attempts, attempts_max, finished_at } = retried.body;
  deepEqual([state, attempts, attempts_max, finished_at], ["ready", 12, 24, null]);
  const again = await realm.admin.send("POST", path, undefined, key);
  deepEqual([again.status, again.text], [200, retried.text], "a repeat under its key");
  const claimed = (await claimJobs(realm.pool.sql, 60, limits(1000))).find((job) => job.id === id)!;
  equal(claimed.attempts, 13, "no token is given twice");
  // An attempt of before, whose lease ran out, ends nothing of this one.
  await markDone(realm.pool.sql, { ...claimed, attempts: 1 });
  equal((await rowOf(realm, id)).state, "running");
  await markFailed(realm.pool.sql, claimed, "again", 0);
  equal((await rowOf(realm, id)).state, "ready");
  await realm.drain(); // there is no such synchronisation
  equal((await rowOf(realm, id)).state, "done");
  const trail = (await realm.admin.send("GET", `/v1/audit?entity=${id}`)).body;
  deepEqual(trail.map(({ action }: { action: string }) => action), ["POST /v1/jobs/{id}/retry"]);
});

test("a job that waits, runs or has ended is neither retried nor discarded", async (realm) => {
  for (const state of ["ready", "running", "done"]) {
    const id = await add(realm, { state });
    const before = await rowOf(realm, id);
    for (const [act, body] of [["retry"], ["discard", { reason: "r" }]] as const) {
      deepEqual(codeOf(await post(realm, id, act, body)), [409, "version.conflict"], state);
    }
    await serving(realm, `select retry_job('${id}'), discard_job('${id}', null, 'injected')`);
    deepEqual(await rowOf(realm, id), before, state);
  }
  const id = await add(realm);
  equal((await post(realm, id, "discard", { reason: "done by hand" })).status, 200);
  deepEqual(codeOf(await post(realm, id, "retry")), [409, "version.conflict"]);
});

test("a job is discarded with its reason only where no value waits for it", async (realm) => {
  for (const name of Object.keys(PAYLOADS) as JobName[]) {
    const id = await add(realm, { name, payload: { ...PAYLOADS[name] } });
    const before = await rowOf(realm, id);
    const answer = await post(realm, id, "discard", { reason: "not wanted any more" });
    const inject = () => serving(realm, `select discard_job('${id}', null, 'r')`);
    if (!DISCARDABLE.includes(name)) {
      deepEqual(codeOf(answer), [409, "condition.failed"], name);
      await rejects(inject, /jobs_discarded/, name);
      deepEqual(await rowOf(realm, id), before, name);
      continue;
    }
    equal(answer.status, 200, answer.text);
    const reason = "not wanted any more";
    deepEqual(
      [answer.body.state, answer.body.discarded],
      ["discarded", { by: realm.admin.id, reason }],
    );
    ok(!idsOf(await realm.admin.send("GET", "/v1/jobs?limit=1000")).includes(id));
    const [line] = (await realm.admin.send("GET", `/v1/audit?entity=${id}`)).body;
    deepEqual(
      [line.action, line.actor, line.fields],
      ["POST /v1/jobs/{id}/discard", realm.admin.id, ["reason"]],
    );
  }
  const id = await add(realm);
  for (const body of [undefined, {}, { reason: "" }, { reason: "x".repeat(501) }]) {
    equal((await post(realm, id, "discard", body)).status, 400);
  }
});

test("a message whose job is discarded ends, and keeps no content", async (realm) => {
  const body = { to: "+491701234567", content: { text: "one-time code 123456" } };
  const sent = await realm.admin.send("POST", "/v1/apps/message/sms", body);
  equal(sent.status, 201, sent.text);
  const message = sent.body.messages[0].messageId;
  await rowsOf(realm, "delete from jobs where name = 'message.send'");
  const job = await add(realm, { name: "message.send", payload: { message, attempt: 1 } });
  equal((await post(realm, job, "discard", { reason: "too late" })).status, 200);
  const [row] = await rowsOf<Record<string, unknown>>(
    realm,
    "select content, error from messages where id = $1",
    [message],
  );
  const error = { code: "upstream.failed", detail: "an administrator gave it up" };
  deepEqual([row.content, row.error], [null, error]);
  const shown = (await realm.admin.send("GET", `/v1/messages/${message}`)).body;
  notEqual(shown.status.name, sent.body.messages[0].status.name);
});

test("of two administrators at once one changes a dead job, and the other is told", async (realm) => {
  const second = await realm.user({ role: "admin", scope: "realm" });
  for (const act of ["retry", "discard"]) {
    const id = await add(realm);
    const body = act === "retry" ? undefined : { reason: "r" };
    const answers = await Promise.all(
      [realm.admin, second].flatMap(({ send }) => [
        send("POST", `/v1/jobs/${id}/retry`),
        send("POST", `/v1/jobs/${id}/${act}`, body),
      ]),
    );
    deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
    const [{ body: done }] = answers.filter(({ status }) => status === 200);
    equal((await rowOf(realm, id)).state, done.state);
    await rowsOf(realm, "delete from jobs where id = $1", [id]);
  }
});

test("a dead job whose work another job does is not retried beside it", async (realm) => {
  const dead = await add(realm, { dedupe: "once" });
  const waiting = await add(realm, { dedupe: "once", state: "ready" });
  deepEqual(codeOf(await post(realm, dead, "retry")), [409, "version.conflict"]);
  const key = { "idempotency-key": crypto.randomUUID() };
  const path = `/v1/jobs/${dead}/retry`;
  deepEqual(codeOf(await realm.admin.send("POST", path, undefined, key)), [
    409,
    "version.conflict",
  ]);
  equal((await rowOf(realm, dead)).state, "dead");
  await rowsOf(realm, "delete from jobs where id = $1", [waiting]);
  equal((await post(realm, dead, "retry")).status, 200);
});

test("an old job that is retried waits while a younger one of its serial key runs", async (realm) => {
  await rowsOf(realm, "delete from jobs");
  const old = await add(realm, { serialKey: "one at a time" });
  const young = await add(realm, { serialKey: "one at a time", state: "running" });
  const free = await add(realm, { state: "ready", due: -1 });
  equal((await post(realm, old, "retry")).status, 200);
  const claimed = await claimJobs(realm.pool.sql, 60, limits(10));
  deepEqual(claimed.map(({ id }) => id), [free], "and nothing else waits for it");
  await rowsOf(realm, "update jobs set state = 'done' where id = $1", [young]);
  deepEqual((await claimJobs(realm.pool.sql, 60, limits(10))).map(({ id }) => id), [old]);
});

test("a job shows no address of a host, no credential, and of its payload ids alone", async (realm) => {
  const error = "ChainError: eth.nodes.example:8545 gave no answer in 15000 ms; TypeError: " +
    "error sending request for url (https://me:secret@rpc.example/v3/0123456789abcdef); " +
    "10.1.2.3:5432 refused; geth:8545 is not reached; authorization: Basic bWU6c2VjcmV0; " +
    `550 <ana@mail.example> unknown, +1 (555) 0100-200 refused; sent 0x${
      "ab".repeat(120)
    }; chain.stale`;
  const secrets = [
    "example",
    "secret",
    "0123456789abcdef",
    "10.1.2.3",
    "geth",
    "bWU6",
    "abababab",
    "0100",
  ];
  const payload = {
    ...{ message: SELF, attempt: 1, body: "Dear Ana", to: "ana@test.example" },
    nested: { secret: 1 },
  };
  const id = await add(realm, { name: "message.send", payload, error });
  const strange = await add(realm, { name: "no.such", payload, error });
  const { body, text } = await realm.admin.send("GET", `/v1/jobs/${id}`);
  deepEqual(body.payload, { message: SELF, attempt: 1 });
  ok(body.error.startsWith("ChainError: … gave no answer in 15000 ms; TypeError: error sending"));
  ok(body.error.endsWith("chain.stale"), body.error);
  const list = await realm.admin.send("GET", "/v1/jobs?limit=1000");
  const other = await realm.admin.send("GET", `/v1/jobs/${strange}`);
  deepEqual(other.body.payload, {});
  for (const shown of [text, list.text, other.text]) {
    for (const secret of [...secrets, "Ana", "ana@"]) ok(!shown.includes(secret), secret);
  }
});

Deno.test("shown texts name no host in any of its forms, nor what follows it, and ordinary words stay", () => {
  const hosts = [
    ...[
      "evil.example",
      "evil.example/v3/key",
      "*.evil.example",
      "-evil.example",
      "evil.example?k=v",
    ],
    ...["_http._tcp.evil.example", "müller.example", "xn--e1aw.xn--p1ai", "geth:8545/key"],
    ...["::1", "fe80::1%eth0", "2001:db8::1", "2001:db8:0:0:0:0:0:1", "::ffff:10.0.0.1"],
    ...["[2001:db8::1]:8545/key", "10.0.0.1:80/key", "https://evil.example/key"],
    ...["[fe80::1%25eth0]:8545/key", "::1/key", "geth_1.evil:8545/key", "evil.example.:8545/key"],
  ];
  for (const host of hosts) {
    for (const [before, after] of [["", ""], ["to ", " refused"], ["(", ") failed"]]) {
      const shown = shownText(`${before}${host}${after}`);
      ok(
        !/evil|example|key|geth|xn--|ller|db8|fe80|ffff|\d|eth0|:1/.test(shown),
        `${host}: ${shown}`,
      );
      ok(shown.startsWith(before) && shown.endsWith(after), shown);
    }
  }
  const hash = `0x${"ab".repeat(32)}`;
  const plain = [
    ...["no route to 0.5", `${hash} took its place`, `${"cd".repeat(32)}:0 spent`],
    ...["Mr. Smith", "3.5 kg", "U.S.A.", "at 7 a.m.", "v1.2.3", "invoice 12.03.2026", "12:30:15"],
    ...["withdrawal.fee_exceeded: x", "chain.stale", "1/2 of 3", "at 2026-01-01T10:20:30Z", "a: b"],
  ];
  for (const text of plain) equal(shownText(text), text);
  for (const name of ["access_token", "client_secret", "x-api-key"]) {
    ok(!shownText(`{"${name}":"abcdefgh1234"}`).includes("abcdefgh"), name);
  }
  // What a contract gives as its reason may be all dots, and no list of failures waits for it.
  const dots = `${"abc.".repeat(499)}_-`;
  for (let i = 0; i < 100; i++) equal(shownText(dots), dots.slice(0, 500));
});

test("a death is told in the transaction of the death, if anybody listens", async (realm) => {
  await rowsOf(realm, "delete from jobs");
  const dying = async () => {
    const id = newId(Date.now());
    await realm.command((tx) =>
      insertJob(tx, { id, name: "deposit.swept", payload: { sweep: SELF, more: "x" } })
    );
    await rowsOf(realm, "update jobs set attempts = 11 where id = $1", [id]);
    const [job] = await claimJobs(realm.pool.sql, 60, limits(1));
    equal(job.id, id);
    return job;
  };
  const events = (id: string) =>
    rowsOf<{ payload: unknown; owner: string | null }>(
      realm,
      "select payload, owner from events where type = 'job.dead' and entity = $1",
      [id],
    );
  const by = { at: Date.now() };
  const failure = { error: "https://me:secret@node.example", delayMs: 0 };
  const unheard = await dying();
  await realm.command((tx) => failJob(tx, by, unheard, failure));
  deepEqual(await events(unheard.id), [], "nobody listens");
  await listen(realm);
  const lost = await dying();
  await rejects(realm.command(async (tx) => {
    await failJob(tx, by, lost, failure);
    throw new Error("the transaction is lost");
  }));
  deepEqual([(await rowOf(realm, lost.id)).state, await events(lost.id)], ["running", []]);
  await realm.command((tx) => failJob(tx, by, { ...lost, attempts: 11 }, failure));
  deepEqual(await events(lost.id), [], "another attempt holds it");
  const view = (id: string) => [{
    owner: null,
    payload: { id, name: "deposit.swept", payload: { sweep: SELF }, attempts: 12 },
  }];
  await realm.command((tx) => failJob(tx, by, lost, failure));
  deepEqual(await events(lost.id), view(lost.id));
  const [reaped, kept] = [await dying(), await add(realm, { state: "running" })];
  await rowsOf(realm, "update jobs set locked_until = now() - interval '1 s'");
  await realm.command((tx) => recoverJobs(tx, by));
  await realm.command((tx) => recoverJobs(tx, by));
  deepEqual(await events(reaped.id), view(reaped.id), "once");
  deepEqual([(await rowOf(realm, kept)).state, await events(kept)], ["ready", []]);
  notEqual((await rowOf(realm, reaped.id)).finished_at, null);
});
