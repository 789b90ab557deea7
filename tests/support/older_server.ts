/** A server that falls back to an older state of its data at the same address, as where a late standby takes its place. @module */
import { join } from "node:path";
import { type EmbeddedPostgres, startEmbedded } from "../../db/embedded/embedded.ts";
import { freePort } from "./ports.ts";

/** A server whose state can be kept and come back. */
export interface OlderServer extends AsyncDisposable {
  readonly url: string;
  /** Keeps its present state; it is away meanwhile. */
  keep(): Promise<void>;
  /** Has the kept state served in the place of the present one. */
  fallBack(): Promise<void>;
}

/** Starts such a server. */
export async function olderServer(): Promise<OlderServer> {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-older-" });
  const options = { dataDir, port: freePort(), settings: { fsync: "off" } };
  let server: EmbeddedPostgres = await startEmbedded(options);
  const { url, clusterDir } = server;
  const [present, kept] = ["pgdata", "kept"].map((name) => join(clusterDir, name));
  const copy = async (from: string, to: string) => {
    await server.stop();
    await Deno.remove(to, { recursive: true }).catch(() => {}); // the first time there is none
    const { success } = await new Deno.Command("cp", { args: ["-a", from, to] }).output();
    if (!success) throw new Error("the cluster could not be copied");
    server = await startEmbedded(options);
  };
  return {
    url,
    keep: () => copy(present, kept),
    fallBack: () => copy(kept, present),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await Deno.remove(dataDir, { recursive: true });
      await Deno.remove(clusterDir, { recursive: true }).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error; // it was below the folder
      });
    },
  };
}
