/**
 * A primary dies under load and its streaming standby takes its place, behind one address. With a synchronous standby
 * nothing that was acknowledged may be lost; without one PostgreSQL itself may lose it.
 *
 * @module
 */
import { until } from "../../support/eventually.ts";
import { at, startPair } from "../../support/standby.ts";
import { startLoad } from "./clients.ts";
import { assertFelt, assertKept, assertWhole, connect } from "./proof.ts";
import { openRelay } from "./relay.ts";
import { makeRealm, startService } from "./service.ts";

const CLIENTS = 8;

Deno.test("a synchronous standby that takes the primary's place has all that was acknowledged, and nothing twice", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-failover-" });
  await Deno.chmod(dataDir, 0o755);
  try {
    const { primary, standby } = await startPair(dataDir, { synchronous: true });
    await using first = primary;
    await using second = standby;
    using relay = openRelay(Number(new URL(first.url).port));
    await using service = await startService(at(first.url, relay.port));
    const realm = await makeRealm(service, 6);
    const load = startLoad(service, realm, CLIENTS);
    try {
      await load.more(10 * CLIENTS);
      relay.leadTo(null); // whoever takes over makes sure first that nobody writes to the old one
      Deno.kill(first.pid, "SIGKILL");
      await until(() => load.stats.repeats > 0); // somebody is refused before the other one answers
      await using sql = connect(second);
      await sql`select pg_promote()`;
      relay.leadTo(second.port);
      await load.more(10 * CLIENTS);
    } finally {
      await load.finish();
    }
    assertFelt(load);
    await assertWhole(second, realm, load);
    await assertKept(service, realm, load);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
