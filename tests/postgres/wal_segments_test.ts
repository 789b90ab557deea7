/** The preallocation of the write-ahead log, without a server. @module */
import { preallocateLater } from "../../db/embedded/wal_segments.ts";

Deno.test("a preallocation that cannot start ends no process", async () => {
  const superuserUrl = "postgres://postgres:none@127.0.0.1:1/purser";
  const { done, stop } = preallocateLater({ superuserUrl, clusterDir: "/\0" }, { delayMs: 0 });
  await done;
  await stop();
});
