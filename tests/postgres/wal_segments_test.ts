/** The size and the preallocation of the write-ahead log, without a server. @module */
import { deepEqual, equal } from "node:assert/strict";
import { join } from "node:path";
import { preallocateLater } from "../../db/embedded/wal_segments.ts";
import { measuredSizes, walSizes } from "../../db/embedded/wal_sizes.ts";

const GIB = 1024 ** 3;

Deno.test("the log grows to an eighth of its room, to 4 GB at most and never less than its server needs", () => {
  const sizes = [1000 * GIB, 32 * GIB, 32 * GIB - 1, 8 * GIB, 2 * GIB, GIB, GIB - 1, 0].map(
    (room) => {
      const { max_wal_size, min_wal_size } = walSizes(room);
      return `${min_wal_size} to ${max_wal_size}`;
    },
  );
  deepEqual(sizes, [
    ...["1024MB to 4096MB", "1024MB to 4096MB", "1008MB to 4032MB", "256MB to 1024MB"],
    ...["64MB to 256MB", "32MB to 128MB", "32MB to 128MB", "32MB to 128MB"],
  ]);
});

Deno.test("a log whose room cannot be measured has the sizes of PostgreSQL, and one behind a link those of its own disk", async () => {
  const folder = await Deno.makeTempDir();
  deepEqual(await measuredSizes(folder), {}, "the server starts without");
  await Deno.mkdir(join(folder, "log"));
  await Deno.symlink(join(folder, "log"), join(folder, "pg_wal"));
  equal(Object.keys(await measuredSizes(folder)).length, 2);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a preallocation that cannot start ends no process", async () => {
  const superuserUrl = "postgres://postgres:none@127.0.0.1:1/purser";
  const { done, stop } = preallocateLater({ superuserUrl, clusterDir: "/\0" }, { delayMs: 0 });
  await done;
  await stop();
});
