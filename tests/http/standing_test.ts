/** Standing of a caller whose request has waited. @module */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { DomainError } from "../../domain/errors.ts";
import type { Caller } from "../../routes/http/authentication.ts";
import {
  actorNow,
  admit,
  admitAgain,
  lostStanding,
  openStanding,
} from "../../routes/http/standing.ts";

Deno.test("a caller whose rights were narrowed is refused each time it is asked, also at once", async () => {
  let at = 1000;
  const callerWith = (...roles: string[]) =>
    ({ actor: { roles, scopes: [] }, realm: {} }) as unknown as Caller;
  const standing = openStanding(() => at, {
    read: () => callerWith("manage", "user"),
    confirm: () => callerWith("user"),
  });
  await admit(standing);
  equal(lostStanding(standing), null);
  at += 200;
  for (let times = 0; times < 2; times++) {
    equal((await lostStanding(standing))?.code, "auth.revoked");
  }
});

Deno.test("of a key of which nobody can tell it is not said that it has ended", async () => {
  const standing = (error: Error) =>
    openStanding(Date.now, {
      read: () => Promise.reject(error),
      confirm: () => Promise.reject(error),
    });
  const refused = (code: "service.overloaded" | "rate.limited" | "auth.revoked") =>
    new DomainError(code, "no", { retryAfterS: 1 });
  for (const code of ["service.overloaded", "rate.limited"] as const) {
    await rejects(actorNow(standing(refused(code))), { code });
  }
  await rejects(actorNow(standing(new TypeError("lost"))), TypeError);
  equal(await actorNow(standing(refused("auth.revoked"))), null);
});

Deno.test("an answer about a key that was long in coming is as old as its question", async () => {
  let at = 1000;
  const asked: string[] = [];
  const caller = { actor: { roles: [], scopes: [] }, roles: [], realm: {} } as unknown as Caller;
  const slowly = (what: string, ms: number) => async () => {
    asked.push(what);
    await Promise.resolve();
    at += ms;
    return caller;
  };
  const slow = openStanding(() => at, {
    read: slowly("read", 200),
    confirm: slowly("confirm", 200),
  });
  await admit(slow);
  await admitAgain(slow);
  equal(await lostStanding(slow), null);
  equal(await lostStanding(slow), null);
  deepEqual(asked, ["read", "read", "confirm", "confirm"]);
  asked.length = 0;
  const quick = openStanding(() => at, {
    read: slowly("read", 20),
    confirm: slowly("confirm", 20),
  });
  await admit(quick);
  await admitAgain(quick);
  equal(lostStanding(quick), null);
  deepEqual(asked, ["read"]);
});
