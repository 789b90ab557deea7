/**
 * The server is promoted under workers of two hosts. A pair of servers is promoted once, so each case has a database
 * there: what some lose, they commit where the standby does not get it any more.
 *
 * @module
 */
import { equal, match, ok, rejects } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { migratePlatform, readMigrations } from "../../db/migrate.ts";
import { selectInstallation } from "../../db/realms/installation.ts";
import { reading } from "../../db/transaction.ts";
import { findWaiting } from "../../domain/realms/promotions.ts";
import { claimEpoch, type Fence } from "../../workers/installation/fence.ts";
import { openRelay } from "../process/crash/relay.ts";
import { until } from "../support/eventually.ts";
import { type FenceHow, type Host, host, type Worker } from "../support/fence_host.ts";
import { at, caughtUp, connectTo, cutOff, startPair } from "../support/standby.ts";

const PROMOTED = /its server was recovered or promoted: its timeline was 00000001, now 00000002/;
const OWED = /now 00000002; records that have not been compared since: 1\. Start the workers/;
const OLDER = /it is older than the record of this host/;

/** An installation of a case, which two hosts work for. */
interface Installation {
  one: Host;
  other: Host;
  worker(host: Host, how?: FenceHow): Promise<Worker>;
  /** Gives the other host a record. */
  join(): Promise<void>;
  /** Why the whole installation is halted; null: it is not. */
  halted(): Promise<string | null>;
  /** How many records other processes are told to be waited for; null: nobody waits. */
  owed(): Promise<number | null>;
  sql(text: string): Promise<Record<string, unknown>[]>;
}

/** What is done before the promotion, where the standby gets nothing any more, and after it. */
type Case = (installation: Installation) => Promise<{
  lost?: () => Promise<void>;
  after: () => Promise<void>;
}>;

/** Two workers, of two hosts with files or of one epoch. */
async function pairOf(
  { worker, join, one, other }: Installation,
  how: FenceHow,
): Promise<[Worker, Worker]> {
  const first = await worker(one, how);
  if (how.label === undefined) await join();
  return [first, await worker(other, how)];
}

const whole = (how: FenceHow): Case => async (installation) => {
  const [first, second] = await pairOf(installation, how);
  return {
    async after() {
      match((await faultOf(first))!, OWED); // the other may have sent what is lost
      await rejects(first.assertOpen(), { fault: "held" });
      for (let round = 0; round < 2; round++) {
        for (const each of [second, first]) equal(await faultOf(each), null);
        for (const each of [second, first]) await each.record();
      }
      equal(await installation.halted(), null);
    },
  };
};

const behind = (how: FenceHow): Case => async (installation) => {
  const [first, second] = await pairOf(installation, how);
  return {
    lost: () => first.record(), // as before each transaction that leaves
    async after() {
      match((await faultOf(second))!, OWED);
      for (const each of [first, second, first]) match((await faultOf(each))!, OLDER);
      await rejects(second.record(), { fault: "held" });
      match((await installation.halted())!, OLDER);
    },
  };
};

const CASES: Record<string, Case> = {
  "two hosts go on after a promotion that lost nothing": whole({}),
  "two processes of one INSTALLATION_EPOCH go on after a promotion that lost nothing": whole({
    label: "1",
  }),
  "a host whose last step was lost halts the other too": behind({}),
  "a process whose last step was lost halts all of its INSTALLATION_EPOCH": behind({ label: "1" }),
  async "a process that starts before others have compared waits for them"(
    { worker, one, other, halted },
  ) {
    const running = await worker(one, { label: "1" });
    return {
      async after() {
        const fresh = await worker(other, { label: "1" });
        match((await faultOf(fresh))!, /it waits for the workers that were there before/);
        equal(await faultOf(running), null);
        equal(await faultOf(fresh), null);
        equal(await halted(), null);
      },
    };
  },
  async "a process that starts when nobody is left halts the installation"(
    { worker, one, other, halted, sql },
  ) {
    const gone = await worker(one, { label: "1" });
    await gone.lose();
    return {
      async after() {
        const fresh = await worker(other, { label: "1" });
        match((await faultOf(fresh))!, /it waits for the workers that were there before/);
        await sql("update platform.installation_witnesses set seen_at = now() - interval '61 s'");
        match((await faultOf(fresh))!, PROMOTED);
        match((await halted())!, PROMOTED);
      },
    };
  },
  async "a host that was lost with the primary holds the others until it is back"(installation) {
    const [gone, left] = await pairOf(installation, {});
    await gone.record();
    await gone.lose();
    return {
      async after() {
        for (let times = 0; times < 2; times++) match((await faultOf(left))!, OWED);
        const { worker, one, halted, owed } = installation;
        equal(await owed(), 1);
        equal(await faultOf(await worker(one)), null);
        equal(await faultOf(left), null);
        equal(await owed(), null);
        equal(await halted(), null);
      },
    };
  },
  async "a host that was gone for more than a minute holds nobody"(installation) {
    const [gone, left] = await pairOf(installation, {});
    await gone.lose();
    await installation.sql(
      "update platform.installation_witnesses set seen_at = now() - interval '61 s'",
    );
    await left.record();
    return { after: async () => equal(await faultOf(left), null) };
  },
  async "where a commit waits for the standby, a host that was lost holds nobody"(installation) {
    await waiting(installation, "*");
    const [gone, left] = await pairOf(installation, {});
    await gone.record();
    await gone.lose();
    await waiting(installation, "");
    return { after: async () => equal(await faultOf(left), null) };
  },
};

/** Has commits wait for the standbys of a name. */
async function waiting({ sql }: Installation, name: string): Promise<void> {
  await sql(`alter system set synchronous_standby_names = '${name}'`);
  await sql("select pg_reload_conf()");
  await until(async () => {
    const [row] = await sql("select current_setting('synchronous_standby_names') as name");
    return row.name === name;
  });
}

/** The answer of a fence, once the server can be reached. */
async function faultOf(worker: Fence): Promise<string | null> {
  let answer: { fault: string | null } | null = null;
  await until(async () => {
    answer = await worker.fault().then((fault) => ({ fault }), () => null);
    return answer !== null;
  });
  return answer!.fault;
}

Deno.test("workers of two hosts whose server is promoted go on where nothing was lost, and sign nothing where something may be", async (t) => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-promotion-" });
  await Deno.chmod(dataDir, 0o755);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(dataDir, { recursive: true }));
  const pair = await startPair(dataDir, { synchronous: false });
  const [primary, standby] = [stack.use(pair.primary), stack.use(pair.standby)];
  const relay = stack.use(openRelay(Number(new URL(primary.url).port)));
  const superuser = { superuserUrl: at(primary.superuserUrl, relay.port) };
  const url = at(primary.url, relay.port);
  await using migrating = openDatabaseOf(url);
  await migratePlatform(migrating.platform.sql, (await readMigrations()).platform);
  await migrating.close();
  const running: (readonly [string, Awaited<ReturnType<Case>>])[] = [];
  for (const [index, [title, begin]] of Object.entries(CASES).entries()) {
    const installation = await installationOf(stack, { url, superuser, name: `case_${index}` });
    running.push([title, await begin(installation)]);
  }
  await caughtUp(primary, standby);
  {
    const there = new URL(standby.url);
    there.pathname = "case_0";
    await using database = openDatabaseOf(there.href);
    ok((await reading(database.platform, selectInstallation)).timeline);
    equal(await findWaiting(database.platform), null, "a standby has no timeline of its own");
  }
  await cutOff(primary);
  for (const [, { lost }] of running) await lost?.();
  relay.leadTo(null);
  Deno.kill(primary.pid, "SIGKILL");
  await using sql = connectTo(standby);
  await sql`select pg_promote()`;
  relay.leadTo(standby.port);
  for (const [title, { after }] of running) await t.step(title, after);
});

function openDatabaseOf(url: string) {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
  return { ...database, [Symbol.asyncDispose]: () => database.close() };
}

/** Makes an installation in a database of its own. */
async function installationOf(
  stack: AsyncDisposableStack,
  { url, superuser, name }: { url: string; superuser: { superuserUrl: string }; name: string },
): Promise<Installation> {
  const address = new URL(url);
  const template = address.pathname.slice(1);
  address.pathname = name;
  const here = address.href;
  const sql = async (text: string) => {
    const of = new URL(superuser.superuserUrl);
    of.pathname = name;
    await using connection = connectTo({ superuserUrl: of.href });
    return await connection.unsafe(text);
  };
  {
    await using connection = connectTo(superuser);
    await connection.unsafe(
      `create database ${name} template ${template} owner ${address.username}`,
    );
  }
  const [one, other] = [stack.use(await host()), stack.use(await host())];
  return {
    ...{ one, other, sql },
    worker: async (on, how) => stack.use(await on.fence(here, how)),
    async join() {
      await using database = openDatabaseOf(here);
      const { platform } = database;
      await claimEpoch({ platform, dataDir: other.dataDir, label: null }, "join");
    },
    async halted() {
      await using database = openDatabaseOf(here);
      return (await reading(database.platform, selectInstallation)).halted?.detail ?? null;
    },
    async owed() {
      await using database = openDatabaseOf(here);
      return (await findWaiting(database.platform))?.owed ?? null;
    },
  };
}
