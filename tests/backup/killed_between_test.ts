/** A restore of one realm to another server that is killed between its two commits. @module */
import { deepEqual, equal, match } from "node:assert/strict";
import { until } from "../support/eventually.ts";
import { fixture, reportOf, rowsAt } from "./fixture.ts";
import { holding } from "./holding.ts";
import { moveTo, schemaOf, withMoney } from "./servers.ts";
import { server } from "./shared_server.ts";

const HOLD = "select pg_advisory_xact_lock(4711)";
/** The end of a transaction that changes the directory waits for a lock. */
const WAITING = `create function public.wait() returns trigger language plpgsql as $$
  begin perform pg_advisory_xact_lock(4711); return null; end $$;
  create constraint trigger waits after update on platform.realms deferrable initially deferred
    for each row execute function public.wait()`;
const WAITERS = `select pid from pg_stat_activity where datname = current_database()
  and wait_event_type = 'Lock' and wait_event = 'advisory'`;

Deno.test("what a restore of one realm left on another server, where it was killed between its two commits, the next one drops, unless a worker has used it", async () => {
  await using its = await fixture();
  const { host, url, superuserUrl, realm } = its;
  await using away = await realm.neighbour();
  await moveTo(away, await server.database());
  await withMoney(away);
  const { path } = reportOf(await host.call(url, "backup", ["--realm", away.id], server.env));
  const to = await server.database();
  const schema = schemaOf(away);
  const args = [path, "--to", "-"];
  const [{ database_url_encrypted: home }] = await rowsAt<{ database_url_encrypted: Uint8Array }>(
    url,
    `select database_url_encrypted from platform.realms where id = '${away.id}'`,
  );
  const place = new URL(away.services.secrets.decrypt("database_url", away.id, home)!);
  await rowsAt(place.href, `alter schema ${schema} rename to lost`);
  await rowsAt(superuserUrl, WAITING);
  {
    await using _lock = await holding(url, HOLD);
    const { child, end } = host.start(url, "restore", args, server.env, to);
    await until(async () => (await rowsAt(url, WAITERS)).length > 0);
    child.kill("SIGKILL");
    await end();
    await rowsAt(superuserUrl, `select pg_terminate_backend(pid) from (${WAITERS}) w`);
    await until(async () => (await rowsAt(url, WAITERS)).length === 0);
  }
  await rowsAt(superuserUrl, "drop trigger waits on platform.realms");
  const used = (place: string) =>
    rowsAt(to, `update ${schema}.attestations set place = ${place} returning 1`);
  equal((await used(`${schema}.database_place()`)).length, 1, "it is there");
  const refused = await host.run(url, "restore", args, server.env, to);
  deepEqual([refused.code, refused.out], [1, ""]);
  match(refused.said, new RegExp(`the schema ${schema} exists already`));
  await used("null");
  const again = await host.run(url, "restore", args, server.env, to);
  match(again.said, new RegExp(`a restore did not end: what it left in the schema ${schema}`));
  equal(reportOf(again).realms, 1);
  const notes = await rowsAt<{ note: string | null }>(
    to,
    `select obj_description('${schema}'::regnamespace, 'pg_namespace') as note`,
  );
  deepEqual(notes, [{ note: null }]);
});
