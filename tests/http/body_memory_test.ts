/** How many bytes of bodies are held at once, wherever their requests wait. */
import { deepEqual, equal, throws } from "node:assert/strict";
import { openBodyHold } from "../../routes/http/body_memory.ts";
import { besideQueue } from "../../routes/http/concurrency_limit.ts";
import type { Scope } from "../../domain/actor.ts";
import { until } from "../support/eventually.ts";
import { testRealm } from "../support/realm.ts";

const MIB = 1024 * 1024;

Deno.test("of the memory of bodies a user has at most as much as is left, and customers leave some to others", () => {
  const pool = {};
  const hold = (user: string, size: number, ...scopes: Scope[]) => {
    const one = openBodyHold(pool, { user, scopes, address: null });
    one.grow(size);
    return one;
  };
  const refusal = { code: "service.overloaded" };
  const all = Array.from({ length: 12 }, () => hold("one", MIB));
  throws(() => hold("one", MIB), refusal);
  all.push(...Array.from({ length: 6 }, () => hold("two", MIB)));
  throws(() => hold("two", MIB), refusal);
  for (const user of ["three", "four", "five", "six", "seven"]) all.push(hold(user, MIB));
  hold("one", 4096); // small ones are not counted
  const slow = openBodyHold(pool, { user: "eight", scopes: ["own"], address: null });
  slow.grow(10_000);
  throws(() => slow.grow(MIB), refusal);
  all.push(...Array.from({ length: 4 }, () => hold("staff", MIB, "own", "realm")));
  for (const one of [...all, slow]) one.leave();
  slow.leave(); // of which nothing is left
  for (const one of Array.from({ length: 12 }, () => hold("one", MIB))) one.leave();
});

Deno.test("of the memory of bodies callers without a key have shares by their networks", () => {
  const pool = {};
  const hold = (address: string, size = MIB) => {
    const one = openBodyHold(pool, { user: "", scopes: [], address });
    one.grow(size);
    return one;
  };
  const all = Array.from({ length: 12 }, (_, i) => hold(`2001:db8:1:${i}::1`));
  throws(() => hold("2001:db8:1:ffff::1"), { code: "service.overloaded" });
  all.push(hold("2001:db8:2::1"), hold("192.0.2.1"), hold("192.0.2.2"));
  for (const one of all) one.leave();
});

Deno.test("of the memory of all realms one has at most as much as is left", () => {
  const all: { leave(): void }[] = [];
  const counts = Array.from({ length: 10 }, () => {
    const pool = {};
    for (let count = 0;; count++) {
      const one = openBodyHold(pool, { user: "one", scopes: ["realm"], address: null });
      try {
        one.grow(MIB);
        all.push(one);
      } catch {
        return count;
      }
    }
  });
  deepEqual(counts.slice(0, 5), Array(5).fill(16));
  equal(counts.every((count) => count > 0) && all.length <= 128, true, `${counts}`);
  for (const one of all) one.leave();
});

Deno.test("requests whose bodies wait are refused by their bytes, and those who work for the realm go on", async () => {
  await using realm = await testRealm();
  const customer = await realm.user();
  const { name, account } = await realm.currency("10");
  const own = await realm.account({ asset: name, by: customer, from: account, total: "1" });
  await using process = realm.another();
  const { pool } = (await process.services.realms.find(realm.id))!;
  const over = Promise.withResolvers<void>();
  const held = [1, 2, 3].map((i) => besideQueue(pool, () => over.promise, { user: `${i}` }));
  const send = process.send(customer.key);
  const move = (size: number) =>
    send("POST", "/v1/transactions", {
      source: { account: own },
      destination: { account: crypto.randomUUID() }, // which is looked for beside the queue
      value: "1",
      seal: { text: "x".repeat(size) },
    });
  let refused = 0;
  const large = Array.from({ length: 250 }, async () => {
    const { status, body } = await move(60_000);
    if (status === 503) refused++;
    return `${status} ${body.code}`;
  });
  await until(() => refused > 0);
  const small = move(10);
  equal((await process.send(realm.admin.key)("GET", "/v1/accounts")).status, 200);
  over.resolve();
  await Promise.all(held);
  const told = Object.groupBy(await Promise.all(large), (one) => one);
  deepEqual(Object.keys(told).sort(), ["404 account.not_found", "503 service.overloaded"]);
  const found = told["404 account.not_found"]!.length;
  equal(found > 190 && found < 220, true, `${found} of 60 kB in 12 MiB`);
  equal((await small).status, 404);
  equal((await move(60_000)).status, 404, "what was held is given back");
});
