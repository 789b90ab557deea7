/** What is logged, and shown, of a chain whose nodes are away. */
import { deepEqual, equal } from "node:assert/strict";
import { openChains } from "../../workers/chains/registry.ts";
import { logFailure, logRecovery } from "../../workers/scanning/scan_failures.ts";
import { scanNetwork } from "../../workers/scanning/scanner.ts";
import { workerContext } from "../../workers/worker_context.ts";
import { testConfig, testRealm } from "../support/realm.ts";

const PLACE = { chain: "ETHEREUM", network: "main" } as const;

Deno.test("a node that is never reached is logged once, and then after ever longer pauses; its chain is unhealthy", async () => {
  const env = { ETHEREUM_RPC_URL: "http://127.0.0.1:1" };
  await using realm = await testRealm({ env });
  const chains = openChains(testConfig(env).chains);
  const { signal } = new AbortController();
  let now = Date.now();
  const times: number[] = [];
  const begun = now;
  const log = (_level: string, event: string) => {
    if (event === "a chain cannot be scanned") times.push((now - begun) / 1000);
  };
  const poll = () => {
    const shared = { database: realm.database, log, chains, now: () => now, signer: null! };
    const target = { realm: realm.made.realm, pool: realm.pool, signal };
    return scanNetwork(workerContext(shared, target), PLACE);
  };
  for (let i = 0; i < 200; i++, now += 5000) equal(await poll(), "stuck");
  deepEqual(times, [0, 60, 180, 420, 900]);
  const [shown] = (await realm.admin.send("GET", "/v1/chains")).body;
  deepEqual(
    [shown.chain, shown.healthy, shown.height],
    ["ETHEREUM", null, null],
    "no ramp needs it",
  );
  chains.close();
});

Deno.test("of a chain that cannot be scanned another reason is logged at once, other numbers are not, and so is its return", () => {
  const lines: unknown[] = [];
  const log = (level: string, event: string, { polls }: { polls?: unknown }) =>
    void lines.push(`${level} ${event} ${polls}`);
  const of = (realm: string, at: number) =>
    ({ chains, realm: { id: realm }, actor: { at }, log }) as unknown as Parameters<
      typeof logFailure
    >[0];
  const chains = {};
  const fail = (realm: string, at: number, why: string) =>
    logFailure(of(realm, at), PLACE, new Error(why));
  fail("one", 0, "the newest block is 10 blocks ahead");
  fail("two", 0, "is not reached");
  fail("one", 1, "the newest block is 11 blocks ahead");
  fail("one", 2, "gave no answer");
  fail("one", 3, "gave no answer");
  logRecovery(of("one", 4), PLACE);
  logRecovery(of("one", 5), PLACE);
  fail("one", 6, "gave no answer");
  const failed = "warn a chain cannot be scanned";
  deepEqual(lines, [
    `${failed} 1`,
    `${failed} 1`,
    `${failed} 3`,
    "info a chain is scanned again 4",
    `${failed} 1`,
  ]);
});
