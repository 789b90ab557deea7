/** A cut of the ledger's parts that no worker ends: from its bound on it would refuse every posting. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { selectPartsState } from "../../db/ledger/parts.ts";
import { reading, snapshot } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { until } from "../support/eventually.ts";
import { carryCutOn } from "../support/parts.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

const AHEAD_MS = 500;

const boundOf = async (realm: TestRealm) => (await reading(realm.pool, selectPartsState)).bound;

/** Begins a cut, loses its worker after a step, and waits until its time has come. */
async function forget(realm: TestRealm, step: string): Promise<void> {
  const bound = Date.now() + AHEAD_MS;
  const onStep = (reached: string) => {
    if (reached === step) throw new Error("killed");
  };
  const options = { boundAfter: () => bound, givenUpMs: -Infinity, onStep };
  equal(await carryCutOn(realm, options).catch((error) => error.message), "killed");
  await until(() => Date.now() > bound);
  equal(await boundOf(realm), bound);
}

Deno.test("a cut that its worker left is taken back by the first posting after its time", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const post = async (path: string, body: unknown) => {
    const answer = await realm.admin.send("POST", path, body);
    equal(answer.status, 201, answer.text);
    return answer.body;
  };
  const { id } = await post("/v1/transactions", move);
  const ways: Record<string, () => Promise<unknown>> = {
    single: () => post("/v1/transactions", move),
    many: () => Promise.all(Array.from({ length: 20 }, () => post("/v1/transactions", move))),
    batch: () => post("/v1/transactions/batch", { atomic: true, transactions: [move, move] }),
    command: () => post(`/v1/transactions/${id}/revert`, {}),
    issue: () => realm.currency("7"),
  };
  const steps = ["bound", "validated transactions", "validated entries"];
  for (const [at, way] of Object.values(ways).entries()) {
    await forget(realm, steps[at % steps.length]);
    await way();
    equal(await boundOf(realm), null);
  }
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("nobody takes a cut back before its time", async () => {
  await using realm = await testRealm();
  const onStep = () => {
    throw new Error("killed");
  };
  await carryCutOn(realm, { onStep }).catch(() => {});
  const bound = await boundOf(realm);
  ok(bound !== null && bound > Date.now());
  await rowsOf(realm, "select release_bound()");
  equal(await boundOf(realm), bound);
});

Deno.test("postings that a late cut refuses are told to come again while a reader has the tables", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const post = () => realm.admin.send("POST", "/v1/transactions", move);
  await forget(realm, "bound");
  await snapshot(realm.pool, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select from entries limit 1`;
    const { status, body } = await post();
    deepEqual([status, body.code], [503, "service.overloaded"]);
  });
  equal((await post()).status, 201);
});
