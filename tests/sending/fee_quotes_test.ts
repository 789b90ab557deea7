import { deepEqual, equal, ok } from "node:assert/strict";
import { reading } from "../../db/transaction.ts";
import { estimateFee } from "../../domain/sending/fees.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { openSharedAnswers, refreshFees } from "../../workers/sending/fee_quotes.ts";
import { startTimetable } from "../../workers/schedule/timetable.ts";
import { startAnvil } from "../support/nodes/anvil.ts";
import { OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { startFaultyNode } from "../support/nodes/faulty_node.ts";
import { installToken } from "../support/token_contracts.ts";

/** Opens a ramp of ETH; nothing but its own job runs. */
async function openRamp(realm: TestRealm): Promise<string> {
  const made = await realm.admin.send("POST", "/v1/accounts", { type: "ramp", asset: "ETH" });
  equal(made.status, 201, made.text);
  await realm.drain();
  return made.body.id;
}

async function estimate(realm: TestRealm, account: string) {
  const wanted = { account, address: OUTSIDE, amount: "1" };
  return await realm.admin.send("POST", "/v1/withdrawals/estimate", wanted);
}

Deno.test("a ramp that is ready has its prices: nobody waits for the next round of quotes", async () => {
  await using anvil = await startAnvil(1);
  await anvil.mine();
  await using realm = await testRealm({ env: { ETHEREUM_RPC_URL: anvil.url } });
  const ramp = await openRamp(realm);
  const answer = await estimate(realm, ramp);
  equal(answer.status, 200, answer.text);
});

Deno.test("quotes that are young are used as they are after a start; old ones are renewed by its first pass", async () => {
  await using anvil = await startAnvil(1);
  await anvil.mine();
  let asked = 0;
  await using node = startFaultyNode(anvil.url, ({ method }) => {
    if (method === "eth_feeHistory") asked++;
    return undefined;
  });
  await using realm = await testRealm({ env: { ETHEREUM_RPC_URL: node.url } });
  const ramp = await openRamp(realm);
  const before = asked;
  await rowsOf(realm, "update fee_quotes set quoted_at = now() - interval '9 minutes'");
  equal((await estimate(realm, ramp)).status, 200);
  await rowsOf(realm, "update fee_quotes set quoted_at = now() - interval '11 minutes'");
  deepEqual((await estimate(realm, ramp)).body.code, "chain.stale");
  equal(asked, before);
  const { chains, signer, log } = await workerContextOf(realm);
  const options = { database: realm.database, log, now: Date.now, chains, signer, rates: null };
  const timetable = startTimetable(options, { loop: false, only: realm.id });
  await timetable.drain(300_000);
  await timetable.stop();
  chains.close();
  const answer = await estimate(realm, ramp);
  equal(answer.status, 200, answer.text);
  ok(asked > before);
});

Deno.test("a price that a process dated into the future, as its clock was far ahead, gives way to the next one", async () => {
  await using anvil = await startAnvil(1);
  await anvil.mine();
  await using realm = await testRealm({ env: { ETHEREUM_RPC_URL: anvil.url } });
  await openRamp(realm);
  await rowsOf(realm, "update fee_quotes set quoted_at = now() + interval '1 day', base = 1");
  const context = await workerContextOf(realm);
  await refreshFees(context);
  context.chains.close();
  const quotes = await rowsOf<{ future: boolean; base: string }>(
    realm,
    "select quoted_at > now() as future, base::text as base from fee_quotes",
  );
  ok(quotes.length > 0 && quotes.every(({ future, base }) => !future && base !== "1"));
});

Deno.test("a node without prices keeps no ramp from opening", async () => {
  await using anvil = await startAnvil(1);
  await anvil.mine();
  await using node = startFaultyNode(
    anvil.url,
    ({ method }) => method === "eth_feeHistory" ? {} : undefined,
  );
  await using realm = await testRealm({ env: { ETHEREUM_RPC_URL: node.url } });
  const ramp = await openRamp(realm);
  equal((await realm.admin.send("GET", `/v1/accounts/${ramp}`)).body.enabled, true);
  deepEqual((await estimate(realm, ramp)).body.code, "chain.stale");
  const context = await workerContextOf(realm);
  await refreshFees(context, { chain: "ETHEREUM", network: "main" });
  context.chains.close();
});

Deno.test("a chain whose node was taken out of the settings is asked for no prices, and fills no log", async () => {
  await using anvil = await startAnvil(1);
  await anvil.mine();
  await using realm = await testRealm({ env: { ETHEREUM_RPC_URL: anvil.url } });
  await openRamp(realm);
  const context = await workerContextOf(realm);
  context.chains.close();
  const { ETHEREUM } = realm.services.config.chains;
  const off = { ...ETHEREUM, main: { ...ETHEREUM.main, rpcUrls: [] } };
  const lines: string[] = [];
  const chains = openChains({ ...realm.services.config.chains, ETHEREUM: off });
  await refreshFees({ ...context, chains, log: (_level, message) => void lines.push(message) });
  equal(lines.length, 0);
  // One that does not answer is told of.
  const away = { ...ETHEREUM, main: { ...ETHEREUM.main, rpcUrls: ["http://127.0.0.1:9"] } };
  const silent = openChains({ ...realm.services.config.chains, ETHEREUM: away });
  await refreshFees({ ...context, chains: silent, log: (_, message) => void lines.push(message) });
  deepEqual(lines, ["no prices"]);
  silent.close();
});

Deno.test("prices that realms share are kept for ten seconds, however many tokens they ask for", () => {
  let time = 0;
  const answers = openSharedAnswers<number>(() => time);
  for (let token = 0; token < 1000; token++) {
    answers.ask(`token ${token}`, () => token);
    time += 100;
  }
  equal(answers.size, 100);
  equal(answers.ask("token 999", () => -1), 999);
  answers.forget("token 999", 998); // a later answer stays when an earlier one fails
  equal(answers.ask("token 999", () => -1), 999);
  time += 10_000;
  equal(answers.ask("token 999", () => 1), 1);
  equal(answers.size, 1);
});

Deno.test("a process whose clock is hours ahead charges the same fee: prices and rates are as old as the database's clock says", async () => {
  await using anvil = await startAnvil(1);
  await anvil.mine();
  await using realm = await testRealm({ env: { ETHEREUM_RPC_URL: anvil.url } });
  await installToken(anvil, "USDC");
  const made = await realm.admin.send("POST", "/v1/accounts", { type: "ramp", asset: "USDC" });
  equal(made.status, 201, made.text);
  await realm.drain();
  for (const [base, rate] of [["ETH", "2500"], ["USDC", "1"]]) {
    await realm.admin.send("PUT", "/v1/rates", { base, currency: "USD", rate });
  }
  const { chains, hotFeeMaxFactor, webhooks } = realm.services.config;
  const feeAt = (at: number) =>
    reading(realm.pool, (db) =>
      estimateFee(db, {
        ...realm.admin.actor,
        at,
        settings: { chains, hotFeeMaxFactor, webhooks },
      }, { account: made.body.id, address: OUTSIDE, amount: "1", speed: "medium" }));
  const fee = await feeAt(Date.now());
  ok(Number(fee) > 0, fee);
  equal(await feeAt(Date.now() + 7_200_000), fee);
});
