/** A realm whose lists come from a streaming standby, and what tests ask of it. @module */
import { equal } from "node:assert/strict";
import type { EmbeddedPostgres } from "../../db/embedded/embedded.ts";
import { openRelay, type Relay } from "../process/crash/relay.ts";
import { until } from "./eventually.ts";
import { type Answer, type TestRealm, testRealm, type TestUser } from "./realm.ts";
import { at, connectTo, type Standby, startPair } from "./standby.ts";

/** A realm with a replica. */
export interface RealmPair {
  realm: TestRealm;
  primary: EmbeddedPostgres;
  standby: Standby;
  /** The way to the standby. */
  relay: Relay;
  /** Keeps the standby at what it shows, until it is disposed of. */
  pause(): Promise<AsyncDisposable>;
}

/** Has the primary answer. */
export const PRIMARY = { prefer: "read=primary" };
/** A list that may lag. */
export const ACCOUNTS = "/v1/accounts/all?scope=all";

/** The lag that an answer tells; null where the primary answered. */
export function lagOf({ headers }: Answer): string | null {
  return headers.get("replica-lag");
}

/** The ids of a list. */
export function idsOf({ body }: Answer): string[] {
  return body.map(({ id }: { id: string }) => id);
}

/** Why the replica answers nothing. */
export function faultOf({ services }: Pick<TestRealm, "services">): string | null {
  return services.replica!.state().fault;
}

/** How many reads had an outcome. */
export function outcomesOf({ services }: Pick<TestRealm, "services">, name: string): number {
  return new Map<string, number>(services.replica!.outcomes()).get(name) ?? 0;
}

/** Asks until the replica answers. */
export async function fromReplica(user: Pick<TestUser, "send">, path: string): Promise<Answer> {
  return await answered(user, path, (lag) => lag !== null);
}

/** Asks until the primary answers. */
export async function fromPrimary(user: Pick<TestUser, "send">, path: string): Promise<Answer> {
  return await answered(user, path, (lag) => lag === null);
}

async function answered(
  user: Pick<TestUser, "send">,
  path: string,
  fits: (lag: string | null) => boolean,
) {
  let answer: Answer;
  await until(async () => {
    answer = await user.send("GET", path);
    equal(answer.status, 200, answer.text);
    return fits(lagOf(answer));
  }, 100);
  return answer!;
}

/** Tests that share a pair of servers and a realm: each is a step of one test. */
export function onReplica(
  title: string,
): (title: string, work: (pair: RealmPair) => Promise<void>) => void {
  const steps: [string, (pair: RealmPair) => Promise<void>][] = [];
  Deno.test(title, async (t) => {
    const dataDir = await Deno.makeTempDir({ prefix: "purser-replica-" });
    await Deno.chmod(dataDir, 0o755);
    try {
      const settings = { fsync: "off", full_page_writes: "off" };
      const { primary, standby } = await startPair(dataDir, { synchronous: false, settings });
      await using _first = primary;
      await using _second = standby;
      using relay = openRelay(standby.port);
      const env = {
        ...{ DATABASE_URL: primary.url, DATABASE_READ_URL: at(standby.url, relay.port) },
        DATABASE_READ_LAG_SECONDS: "300", // a pause is shorter on any machine
      };
      await using realm = await testRealm({ env });
      await until(() => faultOf(realm) === null);
      const pair = { realm, primary, standby, relay, pause: () => pause(standby, realm) };
      for (const [name, work] of steps) await t.step(name, () => work(pair));
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  });
  return (name, work) => void steps.push([name, work]);
}

async function pause(standby: Standby, realm: TestRealm): Promise<AsyncDisposable> {
  await using sql = connectTo(standby);
  await sql`select pg_wal_replay_pause()`;
  await until(async () =>
    (await sql`select pg_get_wal_replay_pause_state() as state`)[0].state === "paused"
  );
  return {
    async [Symbol.asyncDispose]() {
      await until(() => resumes(standby));
      await until(() => faultOf(realm) === null);
    },
  };
}

/** What was held back is late, and cancels what it conflicts with at once: this statement too. */
async function resumes(standby: Standby): Promise<boolean> {
  await using sql = connectTo(standby);
  try {
    await sql`select pg_wal_replay_resume()`;
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "40001") return false;
    throw error;
  }
}
