/**
 * Two processes on one database under load, with faults of every kind between: processes and
 * PostgreSQL killed, ended and stopped, connections cut. KILLS_MINUTES lets it run for longer and
 * prints what was measured; without it each kind happens once.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { type EmbeddedPostgres, startEmbedded } from "../../../db/embedded/embedded.ts";
import { auditAll, verify } from "../../support/proofs.ts";
import { until } from "../../support/eventually.ts";
import { freePort } from "../../support/ports.ts";
import { type Load, startLoad } from "./clients.ts";
import { assertFelt, assertKept, assertWhole, connect, killServer } from "./proof.ts";
import {
  type CrashRealm,
  makeRealm,
  PLATFORM_KEY,
  type Service,
  type Serving,
  startService,
} from "./service.ts";

const MINUTES = Number(Deno.env.get("KILLS_MINUTES") ?? 0);
const CLIENTS = 12;
const ACCOUNTS = 8;
/** Answers between two faults. */
const BETWEEN = 60;

interface Fixture {
  server: EmbeddedPostgres;
  services: readonly [Service, Service];
  /** Those that a load balancer has taken out. */
  away: Set<Service>;
  load: Load;
}

/** The faults, by name. */
const FAULTS: Readonly<Record<string, (fixture: Fixture) => Promise<void>>> = {
  "a process is killed": ({ services: [one] }) => one.kill(),
  "the other process is killed": ({ services: [, two] }) => two.kill(),
  "both processes are killed": async ({ services }) => {
    await Promise.all(services.map((service) => service.kill()));
  },
  "a process is ended by SIGTERM": ({ services: [one] }) => one.kill("SIGTERM"),
  "a process is stopped for a while": async ({ services: [, two], away, load }) => {
    two.pause();
    away.add(two);
    // Its locks are released, and the other one answers.
    await load.more(BETWEEN).finally(() => two.resume());
    away.delete(two);
  },
  "PostgreSQL is killed": ({ server }) => killServer(server),
  "a backend of PostgreSQL is killed": async ({ server }) => {
    const [pid] = await backends(server);
    if (pid !== undefined) tryKill(pid);
  },
  "connections are cut": async ({ server }) => {
    const pids = await backends(server);
    await using sql = connect(server);
    for (const pid of pids.slice(0, 3)) await sql`select pg_terminate_backend(${pid})`;
  },
};

Deno.test("faults of every kind over two processes under load lose nothing and repeat nothing", async (t) => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-kills-" });
  await Deno.chmod(dataDir, 0o755);
  try {
    await using server = await startEmbedded({ dataDir, port: freePort() });
    await using one = await startService(server.url);
    await using two = await startService(server.url);
    const realm = await makeRealm(one, ACCOUNTS);
    const away = new Set<Service>();
    const either = eitherOf([one, two], away);
    const load = startLoad(either, realm, CLIENTS);
    const fixture = { server, services: [one, two] as const, away, load };
    const found = new Map<string, { times: number; silence: number }>();
    const end = Date.now() + MINUTES * 60_000;
    try {
      do {
        for (const [name, happen] of Object.entries(FAULTS)) {
          await load.more(BETWEEN);
          load.silence();
          if (MINUTES === 0) await t.step(name, () => happen(fixture));
          else await happen(fixture);
          await load.more(BETWEEN);
          const before = found.get(name) ?? { times: 0, silence: 0 };
          const silence = Math.max(before.silence, load.silence());
          found.set(name, { times: before.times + 1, silence });
        }
      } while (Date.now() < end);
    } finally {
      await load.finish();
    }
    assertFelt(load);
    await assertWhole(server, realm, load);
    await assertKept(either, realm, load);
    const proven = await assertProven(server, one, realm);
    if (MINUTES > 0) report(found, load, proven);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

/** Asks one or the other, whichever comes; one that does not answer is simply asked again. */
function eitherOf(services: readonly Service[], away: ReadonlySet<Service>): Serving {
  return {
    get url() {
      const there = services.filter((service) => !away.has(service));
      return there[Math.floor(Math.random() * there.length)].url;
    },
    up: () => new Promise((resolve) => setTimeout(resolve, 5)),
  };
}

async function backends(server: EmbeddedPostgres): Promise<number[]> {
  await using sql = connect(server);
  const rows = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where application_name like 'purser%' order by random()`;
  return rows.map(({ pid }) => pid);
}

function tryKill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // it ended by itself
  }
}

/** Waits until every row has its link, and verifies the chain from inside and from outside; gives the verdict. */
async function assertProven(
  server: EmbeddedPostgres,
  service: Service,
  realm: CrashRealm,
): Promise<string> {
  const head = async () => {
    const headers = { "x-api-key": realm.key };
    const response = await fetch(`${service.url}/v1/transactions/head`, { headers });
    const body = await response.json();
    return response.ok ? body : null;
  };
  await until(async () => (await head())?.unsealed === 0, 200);
  const { seq, hash } = await head();
  const { links, wrong } = await auditAll(server.url, PLATFORM_KEY);
  deepEqual([wrong, links], [[], seq], "the audit");
  const known = ["--url", service.url, "--key", realm.key, "--expect", `${seq}:${hash}`];
  const { code, text } = await verify(...known);
  equal(code, 0, text);
  return `audit of ${links} links: sound; verify: ${text.split("\n")[0]}`;
}

function report(
  found: ReadonlyMap<string, { times: number; silence: number }>,
  load: Load,
  proven: string,
): void {
  for (const [name, { times, silence }] of found) {
    console.log(`${name}: ${times} times, longest silence ${(silence / 1000).toFixed(1)} s`);
  }
  const { repeats, replays } = load.stats;
  console.log(
    `${load.acknowledged.length} requests answered, ${repeats} sent again, ` +
      `${replays} told to be repeats; none lost, none twice; ${proven}`,
  );
}
