import { equal, notEqual, ok } from "node:assert/strict";
import { openRealmContexts } from "../../domain/realm_context.ts";
import { testRealm } from "../support/realm.ts";

Deno.test("the realm that was unused for longest is forgotten first; each keeps its one lane", async () => {
  await using first = await testRealm();
  await using second = await first.neighbour();
  await using third = await first.neighbour();
  const contexts = openRealmContexts(first.database, Date.now, 2);
  const find = async (id: string) => (await contexts.find(id))!;
  const one = await find(first.id);
  const two = await find(second.id);
  const lane = two.lane();
  equal(await find(first.id), one); // used again: the second is the older now
  await find(third.id);
  equal(await find(first.id), one);
  const again = await find(second.id);
  notEqual(again, two);
  equal(again.lane(), lane);
  equal(contexts.lanes().length, 1);
});

Deno.test("a key is asked for once, and a realm that is away is told to those who wait", async () => {
  await using realm = await testRealm();
  const asked: Promise<unknown>[] = [];
  const context = (await realm.services.realms.find(realm.id))!;
  const isRevoked = context.isRevoked.bind(context);
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
