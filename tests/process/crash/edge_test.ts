/**
 * The service as an edge platform runs it: isolates without files and programs, which end without a word,
 * and a cron in place of loops.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { testDatabase } from "../../support/database.ts";
import { until } from "../../support/eventually.ts";
import { startLoad } from "./clients.ts";
import { assertKept, assertWhole } from "./proof.ts";
import { makeRealm, PLATFORM_KEY, startService } from "./service.ts";

const ROOT = new URL("../../../", import.meta.url);
/** As on the platform: no file is written, no program started, nothing of the system told. */
const PERMISSIONS = ["--no-prompt", "--allow-net", "--allow-env", `--allow-read=${ROOT.pathname}`];
const SETTINGS = {
  DENO_DEPLOYMENT_ID: "one",
  INSTALLATION_EPOCH: "one",
  EXCHANGES: "none",
};
const CLIENTS = 4;

Deno.test("on an edge platform isolates that end without a word lose nothing, and ticks do their work", async () => {
  await using database = await testDatabase();
  await migrate(database.url);
  const start = () => startService(database.url, SETTINGS, undefined, PERMISSIONS);
  await using one = await start();
  await using two = await start();
  const realm = await makeRealm(one, 4);
  const loads = [one, two].map((service) => startLoad(service, realm, CLIENTS));
  try {
    for (const service of [one, two]) {
      await Promise.all(loads.map((load) => load.more(5 * CLIENTS)));
      await service.kill();
    }
    await Promise.all(loads.map((load) => load.more(5 * CLIENTS)));
  } finally {
    await Promise.all(loads.map((load) => load.finish()));
  }
  const all = { acknowledged: loads.flatMap(({ acknowledged }) => acknowledged) };
  await assertWhole(database, realm, all);
  await assertKept(two, realm, all);
  // Nothing but the cron, once a minute, extends the chain there.
  await until(
    async () => (await get(two.url, realm.key, "/v1/transactions/head")).unsealed === 0,
    500,
  );
  const { valid, break: fault } = await get(two.url, realm.key, "/v1/transactions/verify");
  deepEqual([valid, fault], [true, null]);
});

/** The command that runs before a deployment. */
async function migrate(url: string): Promise<void> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--cached-only", ...PERMISSIONS, new URL("main.ts", ROOT).href, "migrate"],
    env: { DATABASE_URL: url, PLATFORM_KEY, WORKERS: "off" },
  }).output();
  equal(code, 0, new TextDecoder().decode(stderr));
}

async function get(url: string, key: string, path: string) {
  const answer = await fetch(`${url}${path}`, { headers: { "x-api-key": key } });
  equal(answer.status, 200, `${path} is answered`);
  return await answer.json();
}
