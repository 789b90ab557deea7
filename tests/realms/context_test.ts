import { equal, notEqual, ok } from "node:assert/strict";
import { openRealmContexts } from "../../domain/realms/context.ts";
import { claimsOf, revokeKey } from "../../domain/security/sessions.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

const HOUR_MS = 3_600_000;

Deno.test("the realm that was unused for longest is forgotten first; each keeps its one queue", async () => {
  await using first = await testRealm();
  await using second = await first.neighbour();
  await using third = await first.neighbour();
  const contexts = openRealmContexts(first.database, Date.now, { contextsMax: 2 });
  const find = async (id: string) => (await contexts.find(id))!;
  const one = await find(first.id);
  const two = await find(second.id);
  const queue = two.queue();
  equal(await find(first.id), one); // used again: the second is the older now
  await find(third.id);
  equal(await find(first.id), one);
  const again = await find(second.id);
  notEqual(again, two);
  equal(again.queue(), queue);
  equal(contexts.queues().length, 1);
});

Deno.test("a key is read once, and waiting requests hear of an unreachable realm", async () => {
  await using realm = await testRealm();
  const asked: Promise<unknown>[] = [];
  const context = (await realm.services.realms.find(realm.id))!;
  const isRevoked = context.isRevoked.bind(context);
  const at = Date.now();
  Object.assign(realm.services, { now: () => at }); // a request that takes long asks again
  let times = 0;
  Object.assign(context, {
    isRevoked: (...given: Parameters<typeof isRevoked>) => {
      times++;
      const answer = isRevoked(...given);
      if (answer instanceof Promise) asked.push(answer);
      return answer;
    },
  });
  context.refresh();
  const { status } = await realm.admin.send("GET", "/v1/auth/me");
  equal(status, 200);
  equal(times, 1);
  ok(asked.length <= 1);
});

Deno.test("a clock that is set back, or was ahead for a moment, hides and forgets no revoked key", async () => {
  await using realm = await testRealm();
  let ahead = 0;
  const contexts = openRealmContexts(realm.database, () => Date.now() + ahead);
  const context = (await contexts.find(realm.id))!;
  const revoked =
    (await rowsOf<{ at: string }>(realm, "select extract(epoch from now()) as at"))[0];
  const at = Math.floor(Number(revoked.at) * 1000);
  const [first, second] = [1, 2].map(() => claimsOf(realm.made.admin, realm.made.realm, at, 3600));
  equal(await context.isRevoked(first), false);
  ahead = -HOUR_MS; // behind by an hour: what was known seems to come from the future
  await realm.command((tx) => revokeKey(tx, { at }, first));
  equal(await context.isRevoked(first), true, "seen although the clock was set back");
  ahead = 0;
  equal(await context.isRevoked(first), true);
  ahead = 2 * HOUR_MS; // by this clock the key has expired, and its revocation with it
  await context.isRevoked(second);
  ahead = 0;
  equal(await context.isRevoked(first), true, "kept although the clock was ahead");
  equal(await context.isRevoked(second), false);
  equal(context.time(at + HOUR_MS), at + HOUR_MS);
  ahead = -HOUR_MS;
  await context.isRevoked(second);
  const told = context.time(Date.now() - HOUR_MS);
  ok(told >= at && Number.isInteger(told), "the database's time, where the process is behind");
});
