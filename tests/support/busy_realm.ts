/**
 * A realm in which something of every kind has happened, for tests that corrupt it.
 *
 * @module
 */
import { equal } from "node:assert/strict";
import { upsertSolvency } from "../../db/audit/solvency.ts";
import { insertSolvencySample } from "../../db/audit/solvency_samples.ts";
import { counterparty } from "../../domain/ledger/posting.ts";
import { totpCode } from "../../domain/security/totp.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { workerContextOf } from "./evm_fixture.ts";
import { type TestRealm, testRealm } from "./realm.ts";

/** A ledger in which something of every kind has happened. */
export async function busyRealm(): Promise<TestRealm> {
  const realm = await testRealm();
  const send = async (path: string, body: unknown, key?: string) => {
    const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
    const answer = await realm.admin.send("POST", path, body, headers);
    equal(answer.status < 300, true, answer.text);
    return answer.body;
  };
  const { id, name, account } = await send("/v1/currencies", { name: "GOLD", supply: "1000" });
  const other = await realm.account({ asset: name });
  await realm.admin.send("PUT", "/v1/rates", { base: "GOLD", currency: "USD", rate: "3.335" });
  const move = { source: { account }, destination: { account: other }, value: "10.5" };
  const first = await send("/v1/transactions", { ...move, seal: { n: 1 } }, "k1");
  await send("/v1/transactions", move, "k2");
  await send("/v1/transactions/batch", { atomic: true, transactions: [move, move] }, "k3");
  await send(`/v1/transactions/${first.id}/revert`, {});
  await send(`/v1/currencies/${id}/issue`, { amount: "7" });
  await send(`/v1/currencies/${id}/destroy`, { amount: "3" });
  const blocks = `/v1/accounts/${account}/blocks`;
  const captured = await send(blocks, { amount: "5" });
  await send(`${blocks}/${captured.id}/capture`, { destination: { account: other }, amount: "2" });
  await send(blocks, { amount: "20" });
  await send(`/v1/accounts/${other}/freeze`, undefined);
  await send("/v1/transactions", { ...move, data: { beside: "it" } });
  await send(`/v1/accounts/${other}/unfreeze`, undefined);
  await send("/v1/transactions", { ...move, reference: "r-1" }, "k4");
  await realm.admin.send("POST", "/v1/transactions", { ...move, value: "99999" }, {
    "idempotency-key": "k5",
  });
  const transactions = [move, { ...move, value: "99999" }];
  await send("/v1/transactions/batch", { atomic: false, transactions }, "k6");
  const released = await send(blocks, { amount: "6", reason: "r", data: { x: 1 } }, "k7");
  await realm.admin.send("DELETE", `${blocks}/${released.id}`);
  await send("/v1/aliases", { type: "account", alias: "mine", account });
  const { id: stop } = await send("/v1/stops", { what: "moves", asset: "BTC", reason: "r" });
  await realm.admin.send("DELETE", `/v1/stops/${stop}`);
  await missCoins(realm);
  await send("/v1/solvency/write-off", { asset: "BTC", amount: "0.25", reason: "r" });
  const machine = { name: "importer", addresses: ["127.0.0.0/8"], expires_at: Date.now() + 1e9 };
  const { key } = await send("/v1/keys", { ...machine, roles: "manage" });
  const byMachine = await realm.nobody("POST", "/v1/transactions", move, { "x-api-key": key });
  equal(byMachine.status, 201, byMachine.text);
  const { secret } = await send(`/v1/users/${realm.admin.id}/totp`, undefined);
  const code = totpCode(secret, Math.floor(Date.now() / 30_000));
  await send(`/v1/users/${realm.admin.id}/totp/confirm`, { code });
  await extendHashChain(realm.pool, Date.now);
  await send("/v1/transactions", move);
  await send("/v1/aliases", { type: "account", alias: "other", account: other });
  return realm;
}

/** Lets comparisons of two hours find coins missing. */
export async function missCoins(realm: TestRealm): Promise<void> {
  const at = Date.now();
  const actor = { ...(await workerContextOf(realm)).actor, at };
  await realm.command(async (tx) => {
    await counterparty(tx, actor, "world", { code: "BTC", decimals: 8, testnet: false });
    const [{ position }] = await tx<{ position: string }[]>`
      select id as position from transactions order by id desc limit 1`;
    const found = {
      assets: "0",
      liabilities: "0",
      fees: "0.5",
      pending: "0",
      sending: "0",
      drift: "-0.5",
    };
    const verdict = { solvent: false, stopped: true, provisional: false, ramps: [] };
    const row = { asset: "BTC", testnet: false, ...found, height: 9, position, ...verdict };
    for (const checked_at of [at - 3_600_000, at]) {
      await upsertSolvency(tx, { ...row, checked_at });
      await insertSolvencySample(tx, { ...row, checked_at });
    }
  }, { lockLedger: true });
}
