/** Backups and moves out of a database whose text form of values is not that of the database they come to. @module */
import { deepEqual } from "node:assert/strict";
import { testDatabase } from "../support/database.ts";
import { auditAll } from "../support/proofs.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { fixture, reportOf, rowsAt } from "./fixture.ts";
import { moveTo, schemaOf } from "./servers.ts";
import { server } from "./shared_server.ts";

Deno.test("a backup and a move out of a database that writes dates with the day first, and bytes in another form, bring the same", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host, url, superuserUrl, realm } = its;
  const moments = (at: string) =>
    rowsAt(
      at,
      `select id, extract(epoch from created_at)::text as at from ${schemaOf(realm)}.accounts
        order by id`,
    );
  const name = new URL(url).pathname.slice(1);
  await rowsAt(superuserUrl, `alter database "${name}" set datestyle = 'SQL, DMY'`);
  for (const one of [name, new URL(elsewhere.url).pathname.slice(1)]) {
    await rowsAt(superuserUrl, `alter database "${one}" set bytea_output = 'escape'`);
  }
  await rowsAt(superuserUrl, `alter database "${name}" set timezone = 'Asia/Kathmandu'`);
  const before = await moments(url);
  const { path, heads } = await its.backUp();
  deepEqual(reportOf(await host.call(elsewhere.url, "restore", [path])).heads, heads);
  deepEqual(await moments(elsewhere.url), before);
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
  const to = await server.database();
  await moveTo(realm, to);
  deepEqual(await moments(to), before);
});
