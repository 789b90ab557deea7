import { deepEqual, equal, ok } from "node:assert/strict";
import { idBound, idTime, isId, newId, newIds } from "../../domain/ids.ts";

Deno.test("newIds() ascend, carry one time, and are UUIDs of version 7", () => {
  const now = Date.now();
  const { ids, at } = newIds(now, 20_000);
  deepEqual([...ids].sort(), ids);
  equal(new Set(ids).size, ids.length);
  ok(at >= now);
  for (const id of [ids[0], ids[9999], ids[19_999]]) {
    equal(idTime(id), at);
    ok(isId(id));
    equal(id[14], "7");
    ok("89ab".includes(id[19]));
  }
});

Deno.test("newId() ascends even when the clock goes back", () => {
  const now = Date.now(); // later ids of this process are no earlier
  const ids = [newId(now), newId(now - 500), newId(now - 100_000), newId(now + 1)];
  deepEqual([...ids].sort(), ids);
});

Deno.test("idBound() parts the ids of a moment from later ones", () => {
  const { ids, at: given } = newIds(Date.now(), 100);
  ok(ids.every((id) => id <= idBound(given)));
  ok(ids.every((id) => id > idBound(given - 1)));
});

Deno.test("isId() refuses texts that can name nothing", () => {
  for (const text of ["", "1", "x".repeat(36), newId(1).toUpperCase(), `${newId(1)} `, "null"]) {
    equal(isId(text), false, text);
  }
});
