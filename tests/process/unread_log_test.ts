/** The service while nobody reads its log, and while the log's disk is full. @module */
import { equal, ok } from "node:assert/strict";
import { testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { startService } from "../support/started_service.ts";

async function lostLines(url: string): Promise<number> {
  const { signal } = asked();
  const text =
    await (await fetch(`${url}/metrics`, { headers: { "x-api-key": PLATFORM_KEY }, signal }))
      .text();
  return Number(/^purser_log_lines_lost_total (\d+)/m.exec(text)![1]);
}

/** A request that a service which stands still does not answer. */
function asked(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(120_000) };
}

async function ask(url: string): Promise<void> {
  const headers = { "x-request-id": "r".repeat(100) };
  const answer = await fetch(`${url}/v1/auth/me`, { headers, ...asked() });
  equal(answer.status, 401);
  await answer.body?.cancel();
}

Deno.test("a service whose log nobody reads answers requests, and ends when it is told to", async () => {
  await using service = await startService("");
  // More than the pipe holds, and what this process may have taken from it.
  for (let i = 0; i < 2000; i++) await ask(service.url);
  equal(await lostLines(service.url), 0); // they wait in memory
  equal(await service.end(), 0);
});

Deno.test({
  name:
    "a service whose log's disk is full starts, answers requests, and counts the lines that were lost",
  ignore: Deno.build.os !== "linux", // there is a disk that is always full
  async fn() {
    await using service = await startService("2>/dev/full");
    for (let i = 0; i < 3; i++) await ask(service.url);
    await until(async () => await lostLines(service.url) >= 3);
    ok(await lostLines(service.url) < 100);
    equal(await service.end(), 0);
  },
});

Deno.test({
  name: "the first start of a sandbox keeps its keys in their file where nothing can be printed",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using own = await testDatabase();
    const folder = await Deno.makeTempDir({ prefix: "purser-keys-" });
    try {
      const main = new URL("../../main.ts", import.meta.url).href;
      const run = ["run", "--no-check", "--cached-only", "-A", main, "start"];
      await using service = await startService(">/dev/full 2>/dev/full", {
        args: [...run, "--sandbox", `${folder}/keys`],
        databaseUrl: own.url,
      });
      await until(() => Deno.stat(`${folder}/keys`).then(() => true, () => false));
      for (let i = 0; i < 3; i++) await ask(service.url);
      await until(async () => await lostLines(service.url) >= 3);
      equal(await service.end(), 0);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
