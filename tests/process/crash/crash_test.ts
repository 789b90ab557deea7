/**
 * Crash safety, with real processes and PostgreSQL's usual durability: the service is killed in
 * mid-load, then PostgreSQL, again and again. Nothing that was acknowledged may be lost, and nothing
 * may happen twice. CRASH_KILLS sets how often each is killed: by chance, so more often finds more.
 *
 * @module
 */
import { startEmbedded } from "../../../db/embedded/embedded.ts";
import { freePort } from "../../support/ports.ts";
import { type Load, startLoad } from "./clients.ts";
import { assertFelt, assertKept, assertWhole, killServer } from "./proof.ts";
import { makeRealm, startService } from "./service.ts";

const KILLS = Number(Deno.env.get("CRASH_KILLS") ?? 3);
const CLIENTS = 16;
const ACCOUNTS = 8;
/** Answers between two kills: at least one of each client, then a number that nobody can foresee. */
const BETWEEN = [CLIENTS, 60] as const;

Deno.test("kill -9 of the service, then of PostgreSQL, loses nothing and repeats nothing", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-crash-" });
  await Deno.chmod(dataDir, 0o755);
  try {
    await using server = await startEmbedded({ dataDir, port: freePort() });
    await using service = await startService(server.url);
    const realm = await makeRealm(service, ACCOUNTS);
    const load = startLoad(service, realm, CLIENTS);
    try {
      for (let n = 0; n < KILLS; n++) {
        await moment(load);
        await service.kill();
      }
      for (let n = 0; n < KILLS; n++) {
        await moment(load);
        await killServer(server);
      }
      await moment(load);
    } finally {
      await load.finish();
    }
    assertFelt(load);
    await assertWhole(server, realm, load);
    await assertKept(service, realm, load);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

/** A random moment in mid-load. */
async function moment(load: Load): Promise<void> {
  const [least, most] = BETWEEN;
  await load.more(least + Math.floor(Math.random() * (most - least)));
}
