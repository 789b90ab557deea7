/** A server that is named by its IPv6 address. */
import { deepEqual } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import { testDatabaseUrl } from "../support/database.ts";

/** Whether this machine has a loopback address of IPv6. */
function hasIpv6(): boolean {
  try {
    Deno.listen({ hostname: "::1", port: 0 }).close();
    return true;
  } catch {
    return false;
  }
}

Deno.test({
  name: "a server is reached by its IPv6 address",
  ignore: !hasIpv6(),
  async fn() {
    const url = new URL(testDatabaseUrl());
    const server = { hostname: url.hostname, port: Number(url.port) };
    const relay = Deno.listen({ hostname: "::1", port: 0 });
    const accepted: Promise<unknown>[] = [];
    const accepting = (async () => {
      for await (const caller of relay) {
        const there = await Deno.connect(server);
        accepted.push(Promise.allSettled([
          caller.readable.pipeTo(there.writable),
          there.readable.pipeTo(caller.writable),
        ]));
      }
    })();
    url.host = `[::1]:${(relay.addr as Deno.NetAddr).port}`;
    const database = openDatabase({ url: url.href, prepare: true, parseJson: JSON.parse });
    try {
      const rows = await reading(database.platform, (db) => db`select 1 as one`);
      deepEqual([...rows], [{ one: 1 }]);
    } finally {
      await database.close();
      relay.close();
      await accepting;
      await Promise.all(accepted);
    }
  },
});
