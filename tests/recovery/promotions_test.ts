/**
 * What workers make of a server's timeline, where a record says of the rows what two promotions, or a long absence of
 * the server, leave behind.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createApp } from "../../routes/http/app.ts";
import { host } from "../support/fence_host.ts";
import { patientProbes } from "../support/held_timers.ts";
import { backups } from "../support/installation.ts";
import { PLATFORM_KEY, type TestRealm, testRealm } from "../support/realm.ts";

const OWED = /records that have not been compared since: 1\. Start the workers/;

/** An installation whose rows a test changes. */
async function installed() {
  const stack = new AsyncDisposableStack();
  const own = stack.use(await backups());
  const realm: TestRealm = stack.use(await testRealm({ env: { DATABASE_URL: own.url } }));
  const sql = async (text: string) => [...await realm.database.platform.sql.unsafe(text)];
  return {
    ...{ own, realm, sql },
    one: stack.use(await host()),
    other: stack.use(await host()),
    /** Has the installation, and its records, be of a server that has been promoted since. */
    promoted: () =>
      sql(`update platform.installation set timeline = '00000000';
        update platform.installation_witnesses set timeline = '00000000'`),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("a host that was lost with the primary holds the others also after a second promotion, a minute later", async () => {
  await using at = await installed();
  const [gone, left] = [
    await at.one.fence(at.own.url, { label: "1" }),
    await at.other.fence(at.own.url, { label: "1" }),
  ];
  await using _left = left;
  await gone.lose();
  await at.promoted();
  await at.sql(
    "update platform.installation_witnesses set seen_at = now() - interval '2 minutes'",
  );
  match((await left.fault())!, OWED);
  // The server is promoted once more: what was compared on its second timeline is to be compared again.
  await at.sql(
    "update platform.installation_witnesses set timeline = '0000000X' where timeline = '00000001'",
  );
  for (let times = 0; times < 2; times++) match((await left.fault())!, OWED);
});

Deno.test("a record that a server which was away for days has of another process is compared before it is forgotten", async () => {
  await using at = await installed();
  const gone = await at.one.fence(at.own.url, { label: "1" });
  await using left = await at.other.fence(at.own.url, { label: "1" });
  await gone.lose();
  await at.promoted();
  await at.sql("update platform.installation_witnesses set seen_at = now() - interval '3 days'");
  for (let times = 0; times < 2; times++) match((await left.fault())!, OWED);
});

Deno.test("a process that starts while others have long been waiting for one waits as well, and halts nothing", async () => {
  await using at = await installed();
  await using slow = await at.one.fence(at.own.url, { label: "1" });
  await using quick = await at.other.fence(at.own.url, { label: "1" });
  await at.promoted();
  match((await quick.fault())!, OWED);
  await at.sql("update platform.installation_witnesses set seen_at = now() - interval '61 s'");
  const now = performance.now.bind(performance);
  try {
    performance.now = () => now() + 61_000;
    match((await quick.fault())!, OWED);
  } finally {
    performance.now = now;
  }
  await using fresh = await at.other.fence(at.own.url, { label: "1" });
  match((await fresh.fault())!, /it waits for the workers that were there before/);
  for (const each of [slow, quick, fresh]) equal(await each.fault(), null);
});

Deno.test("a server that tells its timeline only since the installation was claimed is not written to at each comparison", async () => {
  await using at = await installed();
  await using worker = await at.one.fence(at.own.url);
  await at.sql("update platform.installation set timeline = null");
  equal(await worker.fault(), null);
  const read =
    "select timeline, (select count from platform.installation_witnesses)::integer as count from platform.installation";
  const before = await at.sql(read);
  for (let times = 0; times < 3; times++) equal(await worker.fault(), null);
  const after = await at.sql(read);
  equal(JSON.stringify(after), JSON.stringify(before));
  match(JSON.stringify(after), /"00000001"/);
});

/** What a process without workers tells, which has remembered nothing. */
async function told({ realm, own }: Awaited<ReturnType<typeof installed>>) {
  await using other = realm.another({ DATABASE_URL: own.url });
  const app = createApp(other.services, PLATFORM_KEY);
  const ask = (path: string) =>
    app(
      new Request(`http://purser.test${path}`, { headers: { "x-api-key": PLATFORM_KEY } }),
      "127.0.0.1",
    );
  using _held = patientProbes();
  const ready = await ask("/health/ready");
  const metrics = await (await ask("/metrics")).text();
  const measured = (name: string) =>
    Number(new RegExp(`^purser_installation_${name} (\\d+)$`, "m").exec(metrics)?.[1]);
  return {
    status: ready.status,
    waiting: (await ready.json()).checks.installation.waiting,
    measured: [measured("waiting"), measured("records_owed")],
  };
}

Deno.test("while hosts are waited for after a promotion, health and metrics say so and name their records, as the logs of these hosts do", async () => {
  await using at = await installed();
  const lines: Record<string, unknown>[] = [];
  const log = (_: string, message: string, more?: object) => void lines.push({ message, ...more });
  const gone = await at.one.fence(at.own.url, { label: "1", log });
  const [{ record }] = lines.filter(({ message }) => message === "compared");
  lines.length = 0;
  await using left = await at.other.fence(at.own.url, { label: "1", log });
  equal(await left.fault(), null);
  deepEqual(await told(at), { status: 200, waiting: null, measured: [0, 0] });
  await gone.lose();
  await at.promoted();
  const fault = await left.fault();
  match(fault!, OWED);
  const [said] = lines.filter(({ message }) => message === "nothing is signed");
  deepEqual([said.fault, said.records], [fault, [record]]);
  const [{ seen_at }] = await at.sql(
    `select seen_at from platform.installation_witnesses where id = '${record}'`,
  );
  const { status, waiting, measured } = await told(at);
  equal(status, 200); // it serves
  deepEqual(waiting, {
    detail: fault,
    owed: 1,
    records: [{ record, seen_at: new Date(seen_at as string).toISOString() }],
  });
  ok(!JSON.stringify(waiting).includes("token"));
  deepEqual(measured, [1, 1]);
  // Where nobody has compared yet there may be none to wait for, and yet nothing is signed.
  await at.sql("delete from platform.installation_witnesses where id = '" + record + "'");
  deepEqual((await told(at)).measured, [1, 0]);
  equal(await left.fault(), null);
  deepEqual(await told(at), { status: 200, waiting: null, measured: [0, 0] });
});
