/** How customers, and those who work for the realm, share the connections of a pool. */
import { deepEqual, equal } from "node:assert/strict";
import {
  besideQueue,
  paging,
  searching,
  withConcurrencyLimit,
} from "../../routes/http/concurrency_limit.ts";
import type { Scope } from "../../domain/actor.ts";
import { until } from "../support/eventually.ts";

Deno.test("customers and those who work for the realm leave each other a connection, whatever they ask for", async () => {
  for (const most of ["customers", "house"] as const) {
    const pool = {};
    const over = Promise.withResolvers<void>();
    const [many, few]: [Scope[], Scope[]] = most === "house" ? [["realm"], []] : [[], ["realm"]];
    let running = 0;
    const hold = async () => {
      running++;
      await over.promise;
    };
    const ask = [0, 1, 2, 3, 4].flatMap((i) => {
      const whose = { user: `${i}`, scopes: many };
      return [
        withConcurrencyLimit(pool, hold, whose),
        besideQueue(pool, hold, whose),
        searching(pool, hold, whose),
        paging(pool, hold, whose),
      ];
    });
    await until(() => running > 0);
    const other = { user: "other", scopes: few };
    const now = () => Promise.resolve("done");
    deepEqual(
      await Promise.all([withConcurrencyLimit(pool, now, other), besideQueue(pool, now, other)]),
      ["done", "done"],
    );
    equal(running, 3, "of four connections");
    over.resolve();
    await Promise.all(ask);
  }
});

Deno.test("of slow work customers and those who work for the realm have every second turn, however much either asks for", async () => {
  for (const many of [[], ["realm"]] as Scope[][]) {
    const pool = {};
    const over = Promise.withResolvers<void>();
    const begun: string[] = [];
    const read = (name: string, scopes: Scope[]) => {
      const work = async () => {
        begun.push(name);
        await over.promise;
      };
      const of = name.startsWith("page") ? paging : searching;
      return of(pool, work, { user: name, scopes });
    };
    const all = Array.from(
      { length: 40 },
      (_, i) => read(`${i % 2 ? "page" : "search"} ${i}`, many),
    );
    const few = many.length === 0 ? ["realm" as const] : [];
    const others = [read("page of others", few), read("search of others", few)];
    await until(() => begun.length === 2);
    over.resolve();
    await Promise.all([...all, ...others]);
    const places = ["page of others", "search of others"].map((name) => begun.indexOf(name));
    deepEqual(places, [2, 4]);
  }
});
