/**
 * Two processes behind PgBouncer in transaction mode, where a session is another one after each transaction. Runs where PgBouncer is
 * installed.
 *
 * @module
 */
import { startEmbedded } from "../../../db/embedded/embedded.ts";
import { POOLER, startPooler } from "../../support/pooler.ts";
import { startLoad } from "./clients.ts";
import { assertKept, assertWhole } from "./proof.ts";
import { type CrashRealm, makeRealm, startService } from "./service.ts";

const CLIENTS = 8;

Deno.test({
  name: "behind PgBouncer in transaction mode realms keep apart, and a killed pooler loses nothing",
  ignore: POOLER === null, // the package `pgbouncer` is not installed
  async fn() {
    const dataDir = await Deno.makeTempDir({ prefix: "purser-pgbouncer-" });
    await Deno.chmod(dataDir, 0o755);
    try {
      await using server = await startEmbedded({ dataDir, port: 0 });
      await using pooler = await startPooler(server, dataDir);
      const settings = { DATABASE_PREPARE: "off" };
      await using one = await startService(pooler.url, settings);
      await using two = await startService(pooler.url, settings);
      const realms: CrashRealm[] = [await makeRealm(one, 6), await makeRealm(two, 6)];
      const loads = realms.flatMap((realm, n) =>
        [one, two].map((service) => ({ realm: n, load: startLoad(service, realm, CLIENTS) }))
      );
      try {
        await Promise.all(loads.map(({ load }) => load.more(5 * CLIENTS)));
        await pooler.kill();
        await Promise.all(loads.map(({ load }) => load.more(5 * CLIENTS)));
      } finally {
        await Promise.all(loads.map(({ load }) => load.finish()));
      }
      for (const [n, realm] of realms.entries()) {
        const both = {
          acknowledged: loads.filter((one) => one.realm === n)
            .flatMap(({ load }) => load.acknowledged),
        };
        await assertWhole(server, realm, both);
        await assertKept(n === 0 ? two : one, realm, both);
      }
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});
