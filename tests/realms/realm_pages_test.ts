import { deepEqual } from "node:assert/strict";
import { allRealms } from "../../db/realms/realm_pages.ts";
import { selectRealmsById } from "../../db/realms/realms.ts";
import { testRealm } from "../support/realm.ts";

Deno.test("work on all realms reaches one that is made meanwhile, after a page that was not full", async () => {
  await using first = await testRealm();
  await using second = await first.neighbour();
  const made = [first.id];
  const seen: string[] = [];
  const realms = allRealms(first.database.platform, {
    size: 2,
    select: async (db, after) =>
      (await selectRealmsById(db, made)).filter(({ id }) => after === null || id > after),
  });
  for await (const { id } of realms) {
    seen.push(id);
    if (seen.length === 1) made.push(second.id);
  }
  deepEqual(seen, [first.id, second.id]);
});
