/** Exchanges of the tables of stored answers beside callers that repeat themselves. */
import { deepEqual, equal } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { renewOldAnswers } from "../../workers/schedule/kept_answers.ts";
import { until } from "../support/eventually.ts";
import { age, keptOf, MANY, renew } from "../support/generations.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

const ROUNDS = 4;
const CALLERS = 10;
/** Calls after the exchange. */
const CALLS = 60;
/** Of so many keys, the newest ones, each call takes one. */
const NEWEST = 6;

Deno.test("callers in two processes that repeat themselves beside exchanges move each value once, and none meets an error", async () => {
  await using realm = await testRealm();
  equal(await renew(realm, MANY), null);
  const { name, account } = await realm.currency("1000000");
  const other = await realm.account({ asset: name });
  await using second = realm.another();
  const senders = [realm.admin.send, second.send(realm.admin.key)];
  const item = { source: { account }, destination: { account: other }, value: "1" };
  const kinds = [
    ["/v1/transactions", item],
    ["/v1/transactions/batch", { atomic: true, transactions: [item, item] }],
    ["/v1/identities", {}],
    ["/v1/transactions", { ...item, value: "500000000" }],
  ] as const;
  const never = new AbortController().signal;
  const first = new Map<string, string>();
  let [moved, identities] = [0, 1]; // the administrator has one
  for (let round = 0; round < ROUNDS; round++) {
    let [calls, left] = [0, Infinity];
    const call = async (caller: number) => {
      while (left-- > 0) {
        const number = Math.floor(calls++ / 4 + Math.random() * NEWEST);
        const [path, body] = kinds[number % kinds.length];
        const key = `${round}-${number}`;
        const answer = await senders[caller % 2]("POST", path, body, { "idempotency-key": key });
        const [status] = [409, 422].includes(answer.status) ? ["refused"] : ["done"];
        equal(status, number % kinds.length === 3 ? "refused" : "done", answer.text);
        // Every answer of a key is the first one, whoever got that; the instance of a problem is kept with it.
        equal(answer.text, first.get(key) ?? answer.text);
        if (!first.has(key)) {
          first.set(key, answer.text);
          moved += [1, 2, 0, 0][number % kinds.length];
          identities += number % kinds.length === 2 ? 1 : 0;
        }
      }
    };
    const called = Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)));
    // What the exchange drops was claimed before the exchange of the round before; nobody repeats it any more.
    await age(realm);
    await until(() => Promise.resolve(calls > 4 * NEWEST));
    equal((await renewOldAnswers(realm.pool, 1, never)).renewal, "exchanged");
    left = CALLS;
    await called;
  }
  equal((await realm.balance(other)).total, String(moved));
  const [{ n }] = await rowsOf<{ n: number }>(
    realm,
    "select count(*)::integer as n from identities where data = '{}' and owner = $1",
    [realm.admin.id],
  );
  equal(n, identities);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  const kept = await keptOf(realm);
  equal(kept.every((count) => count > 0), true, `${kept}`);
});
