import { deepEqual, equal, match } from "node:assert/strict";
import { startAnvil } from "../support/nodes/anvil.ts";
import { freePort } from "../support/ports.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { PLATFORM_KEY, testRealm } from "../support/realm.ts";

const MAIN = new URL("../../main.ts", import.meta.url);

Deno.test("the serving half has no master key and reaches its listener and PostgreSQL, nothing else", async () => {
  await using anvil = await startAnvil(31337);
  const chain = { ETHEREUM_TESTNET_RPC_URL: anvil.url };
  // The realm's workers are this process; the serving half is another, behind the wall.
  await using realm = await testRealm({ env: chain });
  await using serving = await startServing(chain);
  const login = await fetch(`${serving.address}/v1/auth/me`, {
    headers: { "x-api-key": realm.admin.key },
  });
  equal(login.status, 200, await login.text());
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${serving.address}${path}`, {
      method,
      headers: { "x-api-key": realm.admin.key, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return await answer.json();
  };
  const ramp = await send("POST", "/v1/accounts", { type: "ramp", asset: "ETH", testnet: true });
  deepEqual([ramp.enabled, ramp.ramp], [false, { address: null }]);
  await realm.drain();
  const opened = await send("GET", `/v1/accounts/${ramp.id}`);
  equal(opened.enabled, true);
  const given = await send("POST", `/v1/accounts/${ramp.id}/address`, {});
  match(given.address.address, /^0x[0-9a-fA-F]{40}$/);
  const assets: { code: string; configured_testnet: boolean }[] = await send("GET", "/v1/assets");
  equal(assets.find((one) => one.code === "ETH")?.configured_testnet, true);
});

/** Starts a process that only serves, with the permissions of the wall. */
async function startServing(env: Record<string, string>) {
  const port = freePort();
  const database = new URL(testDatabaseUrl());
  const reach = `127.0.0.1:${port},${database.hostname}:${database.port}`;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--cached-only",
      "--no-prompt",
      `--allow-net=${reach}`,
      `--allow-read=${new URL("../../migrations", import.meta.url).pathname}`,
      "--allow-env",
    ]
      .concat(MAIN.href, "start"),
    env: {
      PORT: `${port}`,
      DATABASE_URL: testDatabaseUrl(),
      PLATFORM_KEY,
      MASTER_KEY: "",
      WORKERS: "off",
      BASE_URL: "http://purser.test",
      LOG_FORMAT: "json",
      LOG_LEVEL: "info",
      ...env,
    },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const log = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; !text.includes('"serving"');) {
    const { value, done } = await log.read();
    if (done) throw new Error(`the serving half ended: ${text}`);
    text += value;
  }
  const emptied = (async () => {
    while (!(await log.read()).done);
  })();
  return {
    address: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await emptied;
    },
  };
}
