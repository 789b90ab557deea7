/** How much the server reads for its figures of tables that every posting writes. @module */
import { deepEqual } from "node:assert/strict";
import { cutNow } from "../support/parts.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

/** The targets of all columns of the tables that grow with every posting, by table. */
async function targets(realm: TestRealm): Promise<Record<string, string>> {
  const rows = await rowsOf<{ name: string; targets: string }>(
    realm,
    `select c.relname::text as name, string_agg(distinct coalesce(a.attstattarget::text, 'none'), ' ') as targets
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      and c.relname ~ '^(transactions|entries|idempotency|batches|chain_links|transaction_references|transaction_data)(_|$)'
    group by c.relname`,
  );
  return Object.fromEntries(rows.map((row) => [row.name, row.targets]));
}

Deno.test("figures of the tables that every posting writes are taken of few rows, also in a part that is cut", async () => {
  await using realm = await testRealm();
  await cutNow(realm);
  const found = await targets(realm);
  deepEqual(new Set(Object.values(found)), new Set(["20"]), JSON.stringify(found));
  deepEqual(Object.keys(found).filter((name) => /^(transactions|entries)_/.test(name)).length, 4);
});
