/** Which routes a replica may answer, and what they say of it. */
import { deepEqual, equal } from "node:assert/strict";
import { randomId } from "../../domain/ids.ts";
import { describe, type Json } from "../../routes/http/openapi.ts";
import { tableOf } from "../../routes/http/preconditions.ts";
import { shownBefore } from "../../routes/http/replica_reads.ts";
import { allRoutes } from "../../routes/http/route_list.ts";

const lagging = allRoutes().filter(({ mayLag }) => mayLag);

Deno.test("a replica may answer lists, statements, exports and statistics, and no other route", () => {
  // Not of users, keys and stops, which say who may do what, nor of what there are few of.
  const collections = [
    ...["accounts", "aliases", "apps/deposit", "deposits", "identities", "messages"],
    ...["transactions", "withdrawals"],
  ];
  const expected = [
    ...collections.flatMap((name) => ["", "/all", "/count"].map((rest) => `/v1/${name}${rest}`)),
    ...["entries", "balances", "statement"].map((name) => `/v1/accounts/{id}/${name}`),
    ...["flows", "withdrawals", "deposits"].map((name) => `/v1/stats/${name}`),
  ];
  deepEqual(lagging.map(({ path }) => path).sort(), expected.sort());
});

Deno.test("what a replica may answer changes nothing, has no version, and is a user's", () => {
  for (const route of lagging) {
    deepEqual([route.method, route.access, tableOf(route)], ["GET", "user", null], route.path);
  }
});

Deno.test("the document tells of each such route how to ask the primary, and how the lag is told", () => {
  const { paths } = describe(allRoutes()) as { paths: Record<string, Json> };
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods as Record<string, Json>)) {
      const route = allRoutes().find((one) =>
        one.path === path && one.method === method.toUpperCase()
      )!;
      const headers = Object.values(operation.responses as Record<string, Json>)
        .flatMap((answer) => Object.keys((answer.headers ?? {}) as Json));
      if (headers.length > 0) equal(headers.includes("replica-lag"), route.mayLag === true, path);
    }
  }
});

Deno.test("a list that descends is continued by a replica that has all before its row, and by no other", () => {
  const now = { ms: Date.now(), monotonic: 1_000_000 };
  const ago = (ms: number) => randomId(now.ms - ms);
  const of = (after: unknown, sort?: unknown) => shownBefore({ after, sort }, now);
  equal(of(ago(0), "-created_at"), now.monotonic + 60_000); // no replica has that yet
  equal(of(ago(3_600_000), ["name", "-id"]), now.monotonic - 3_540_000);
  equal(of(ago(3_600_000), "name, -id"), now.monotonic - 3_540_000);
  equal(of("x", "-id"), Infinity);
  for (const sort of [undefined, "created_at", "a-b"]) equal(of(ago(0), sort), undefined);
  for (const query of [undefined, {}, { sort: "-id" }, { sort: "-id", after: "" }]) {
    equal(shownBefore(query, now), undefined);
  }
});
