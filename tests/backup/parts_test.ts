/** Backups of a realm whose ledger has parts. @module */
import { deepEqual, equal } from "node:assert/strict";
import { auditAll } from "../support/proofs.ts";
import { testDatabase } from "../support/database.ts";
import { cutNow } from "../support/parts.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { fixture, reportOf, rowsAt } from "./fixture.ts";

Deno.test("a restored ledger has the parts of the one that was backed up, with the same rows and triggers", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { realm, host } = its;
  for (let part = 0; part < 2; part++) {
    await cutNow(realm);
    await its.transfer();
  }
  const made = await its.backUp();
  const restored = reportOf(await host.call(elsewhere.url, "restore", [made.path]));
  deepEqual([restored.heads, restored.rows], [made.heads, made.rows]);
  const schema = `realm_${realm.id.replaceAll("-", "")}`;
  const layout = `
    select c.relname as part, pg_get_expr(c.relpartbound, c.oid) as bound,
      (select count(*)::integer from pg_trigger t where t.tgrelid = c.oid and t.tgenabled = 'O') as triggers,
      (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %s', c.oid::regclass), false, true, '')))[1]::text as rows
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where p.relkind = 'p' and p.relnamespace = '${schema}'::regnamespace order by 1`;
  const parts = await rowsAt(elsewhere.url, layout);
  equal(parts.length, 6);
  deepEqual(parts, await rowsAt(its.url, layout));
  const triggers = `select c.relname, t.tgname, t.tgenabled::text as enabled
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = '${schema}'::regnamespace and not t.tgisinternal order by 1, 2`;
  deepEqual(await rowsAt(elsewhere.url, triggers), await rowsAt(its.url, triggers));
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
});
