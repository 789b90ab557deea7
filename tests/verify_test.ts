import { deepEqual, equal, match } from "node:assert/strict";
import { createApp } from "../routes/app.ts";
import { sealRealm } from "../workers/seals.ts";
import { PLATFORM_KEY, testRealm } from "./support/realm.ts";
import { tamper } from "./support/tamper.ts";

const ROOT = new URL("../", import.meta.url);

/** Runs the auditor's script as an auditor would. */
async function verify(...args: string[]): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--allow-net=127.0.0.1",
      "--allow-env",
      "examples/verify.ts",
      ...args,
    ],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, text: (decoder.decode(stdout) + decoder.decode(stderr)).trim() };
}

Deno.test("an auditor recomputes the chain from the API alone, and sees what was changed", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const seals = ['{"z":1.000000000000000001,"a":[1e3,"é",{}]}', '{"n":0.10}', "{}", null];
  for (const seal of seals) {
    const body = `{"source":{"account":"${account}"},"destination":{"account":"${other}"},` +
      `"value":1.5,"reference":${JSON.stringify(`"${seal}\n`)}${seal ? `,"seal":${seal}` : ""}}`;
    equal((await realm.admin.send("POST", "/v1/transactions", body)).status, 201);
  }
  await realm.admin.send("PUT", "/v1/rates", { base: name, currency: "USD", rate: "1.25" });
  const move = { source: { account }, destination: { account: other }, value: "3" };
  const { body } = await realm.admin.send("POST", "/v1/transactions", move);
  await realm.admin.send("POST", `/v1/transactions/${body.id}/revert`, { data: { not: "sealed" } });
  await sealRealm(realm.pool, Date.now);
  const app = createApp(realm.services, PLATFORM_KEY);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => app(request, "127.0.0.1"),
  );
  const known = ["--url", `http://127.0.0.1:${server.addr.port}`, "--key", realm.admin.key];
  try {
    const sound = await verify(...known);
    const head = (await realm.admin.send("GET", "/v1/transactions/head")).body;
    deepEqual(sound, {
      code: 0,
      text: `ok: 7 transactions recomputed\nhead 7:${head.hash}`,
    });
    equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
    const third = (await realm.admin.send("GET", "/v1/transactions/chain?after=2&limit=1")).body[0];
    const part = await verify(...known, "--from", `3:${third.hash}`, "--expect", `7:${head.hash}`);
    match(part.text, /^ok: 4 transactions recomputed\n1 more wait to be sealed\nhead 7:/);
    const other_ = await verify(...known, "--expect", `7:${"ab".repeat(32)}`);
    deepEqual(other_, { code: 1, text: "BROKEN at 7: not the head that was kept" });
    const late = await verify(...known, "--expect", `9:${head.hash}`);
    deepEqual(late.code, 1);
    await tamper(
      realm,
      `update transactions set seal = '{"n":0.2}' where id =
        (select transaction from seals where seq = 3)`,
    );
    const broken = await verify(...known);
    equal(broken.code, 1);
    match(broken.text, /^BROKEN at 3: the hash should be [0-9a-f]{64}$/);
  } finally {
    await server.shutdown();
  }
  deepEqual((await verify("--from", "x")).code, 2);
});
