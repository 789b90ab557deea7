/** Pages of one list that the primary and a replica answer, and sessions that a replica ends. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { until } from "../support/eventually.ts";
import {
  ACCOUNTS,
  faultOf,
  fromReplica,
  idsOf,
  lagOf,
  onReplica,
  outcomesOf,
  PRIMARY,
} from "../support/replica_pair.ts";
import { connectTo } from "../support/standby.ts";

const test = onReplica("a realm whose pages come from a replica");

test("a list that descends passes over no row between a page of the primary and the next one", async ({ realm, pause }) => {
  const reader = await realm.user({ role: "manage", scope: "realm" });
  const { name: asset } = await realm.currency("10");
  await fromReplica(reader, ACCOUNTS);
  await using _paused = await pause();
  const made: string[] = [];
  for (let i = 0; i < 6; i++) made.push(await realm.account({ asset }));
  const page = `${ACCOUNTS}&limit=2&sort=-created_at`;
  const first = await reader.send("GET", page, undefined, PRIMARY);
  deepEqual(idsOf(first), [made[5], made[4]]);
  const next = await reader.send("GET", `${page}&after=${made[4]}`);
  deepEqual([lagOf(next), idsOf(next)], [null, [made[3], made[2]]]);
  const query = encodeURIComponent(JSON.stringify({ type: "virtual" }));
  const filtered = await reader.send("GET", `${page}&query=${query}&after=${made[4]}`);
  deepEqual([lagOf(filtered), idsOf(filtered)], [null, [made[3], made[2]]]);
  // One that ascends ends earlier there, and goes on when the replica has more.
  const [oldest] = idsOf(await reader.send("GET", `${ACCOUNTS}&limit=1`));
  ok(lagOf(await reader.send("GET", `${ACCOUNTS}&limit=2&after=${oldest}`)) !== null);
});

test("a session that the replica ends is answered by the primary, and takes the replica away from nobody", async ({ realm, standby }) => {
  const reader = await realm.user({ role: "manage", scope: "realm" });
  await using neighbour = await realm.neighbour();
  await fromReplica(reader, ACCOUNTS);
  await fromReplica(neighbour.admin, ACCOUNTS);
  const { replica } = (await realm.services.realms.find(realm.id))!;
  let pid = 0;
  const reading = replica!.read(async (db) => {
    [{ pid }] = await db<{ pid: number }[]>`select pg_backend_pid() as pid`;
    return await db`select pg_sleep(50)`;
  }, { limitMs: 60_000, user: reader.id });
  await until(() => pid !== 0);
  const lost = outcomesOf(realm, "unreachable");
  await using sql = connectTo(standby);
  await sql`select pg_terminate_backend(${pid})`;
  equal(await reading, null);
  equal(outcomesOf(realm, "unreachable"), lost + 1);
  equal(faultOf(realm), null);
  ok(lagOf(await neighbour.admin.send("GET", ACCOUNTS)) !== null);
  equal(outcomesOf(realm, "unreachable"), lost + 1);
  await fromReplica(reader, ACCOUNTS);
});
