/** Costs of paths other than transfers, measured in a process of its own, which has the parts that tests use. @module */
import { allocatorOf } from "../launcher/allocator.ts";
import { removeStand, startStand, V8_FLAGS } from "./stand.ts";

/** Runs `path_costs.ts` on a fresh database; deposits with their sweeps and empty handlers take longer than all else. */
export async function benchPaths(
  seconds: number,
  { whole = true }: { whole?: boolean } = {},
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const stand = await startStand(folder);
  try {
    const { server } = stand;
    const root = new URL("../", import.meta.url);
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: ["run", V8_FLAGS, "-A", "--config", "tests/deno.json", "bench/path_costs.ts"]
        .concat(`${seconds}`, whole ? "whole" : []),
      cwd: root,
      env: {
        ...await allocatorOf(Deno.env.toObject()),
        TEST_DATABASE_URL: server.url,
        TEST_SUPERUSER_URL: server.superuserUrl,
        BENCH_POSTGRES: `${server.pid}`,
      },
    }).spawn().status;
    if (code !== 0) throw new Error("a request was refused: see above");
  } finally {
    await removeStand(stand, folder);
  }
}
