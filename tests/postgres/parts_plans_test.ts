/** What a ledger in parts is read for. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { SHOWN_BESIDE, SHOWN_JOINS } from "../../db/ledger/posting.ts";
import { cutNow } from "../support/parts.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

Deno.test("one part is read for a transaction, for the newest page and for the newest id, however many there are", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("1000000");
  const other = await realm.account({ asset: name });
  const body = { source: { account }, destination: { account: other }, value: "1" };
  const ids: string[] = [];
  for (let part = 0; part < 4; part++) {
    if (part > 0) await cutNow(realm);
    const transactions = new Array(50).fill(body);
    const { status } = await realm.admin.send("POST", "/v1/transactions/batch", {
      transactions,
      atomic: true,
    });
    equal(status < 300, true);
    const [{ id }] = await rowsOf<{ id: string }>(realm, "select ledger_newest() as id");
    ids.push(id);
  }
  await rowsOf(realm, "analyze transactions");
  await rowsOf(realm, "analyze entries");
  /** The parts that a statement reads, by the plan of its run. */
  const partsRead = async (statement: string) => {
    const rows = await rowsOf<Record<string, string>>(
      realm,
      `explain (analyze, costs off, timing off) ${statement}`,
    );
    const lines = rows.map((row) => Object.values(row)[0]);
    const found = lines.filter((line) => !line.includes("never executed"))
      .map((line) => / on (transactions_\w+|entries_\w+)/.exec(line)?.[1]);
    return [...new Set(found.filter((part) => part !== undefined))].sort();
  };
  deepEqual(await partsRead("select id from transaction_list order by id desc limit 25"), [
    "transactions_newest",
  ]);
  for (const [at, id] of ids.entries()) {
    const read = await partsRead(
      `select t.id, t.amount, ${SHOWN_BESIDE} from transactions t ${SHOWN_JOINS} where t.id = any ('{${id}}'::uuid[])`,
    );
    equal(read.length, 2, read.join());
    equal(new Set(read.map((part) => part.replace(/^[a-z]+_/, ""))).size, 1);
    equal(read.includes("transactions_newest"), at === 3);
  }
  const [{ definition }] = await rowsOf<{ definition: string }>(
    realm,
    "select string_agg(prosrc, ' ') as definition from pg_proc where proname in ('ledger_apply', 'ledger_single')",
  );
  const newest = [...definition.matchAll(/from (\w+) t order by t\.id desc limit 1/g)].map((
    [, table],
  ) => table);
  ok(newest.length >= 2);
  deepEqual([...new Set(newest)], ["transactions_newest"]);
});
