/** Standing of a caller whose request has waited. @module */
import { equal } from "node:assert/strict";
import type { Caller } from "../../routes/http/authentication.ts";
import { openStanding } from "../../routes/http/standing.ts";

Deno.test("a caller whose rights were narrowed is refused each time it is asked, also at once", async () => {
  let at = 1000;
  const callerWith = (...roles: string[]) =>
    ({ actor: { roles, scopes: [] }, realm: {} }) as unknown as Caller;
  const standing = openStanding(() => at, {
    read: () => callerWith("manage", "user"),
    confirm: () => callerWith("user"),
  });
  await standing.admit();
  equal(standing.lost(), null);
  at += 200;
  for (let times = 0; times < 2; times++) equal((await standing.lost())?.code, "auth.revoked");
});
