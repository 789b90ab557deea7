import { deepEqual, equal, match } from "node:assert/strict";
import { allocatorOf } from "../../launcher/allocator.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { freePort } from "../support/ports.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { taskArgs } from "../support/tasks.ts";

const LIMITS = ["MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"];

/** The text of a file about a process, which the tests' own rights do not reach. */
async function textOf(path: string): Promise<string> {
  const { stdout } = await new Deno.Command("cat", { args: [path] }).output();
  return new TextDecoder().decode(stdout);
}

Deno.test("a library of the system is taken for the service's memory, and none that others may write to", async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser-allocator-" });
  const [early, late] = [`${folder}/early`, `${folder}/late`];
  const libraryOf = async () => (await allocatorOf({}, [early, late])).LD_PRELOAD;
  try {
    equal(await libraryOf(), undefined, "there is no such folder");
    await Deno.mkdir(late);
    deepEqual(Object.keys(await allocatorOf({}, [early, late])), LIMITS);
    const mimalloc = `${late}/libmimalloc.so.2`;
    await Deno.writeTextFile(mimalloc, "", { mode: 0o644 });
    await Deno.chmod(mimalloc, 0o664);
    equal(await libraryOf(), undefined, "a group may write to it");
    await Deno.chmod(mimalloc, 0o644);
    // A file of somebody who is not the superuser is none of the system.
    const isSystem = Deno.uid() === 0;
    equal(await libraryOf(), isSystem ? mimalloc : undefined);
    await Deno.mkdir(early);
    const jemalloc = `${early}/libjemalloc.so.2`;
    await Deno.writeTextFile(jemalloc, "", { mode: 0o644 });
    await Deno.chmod(jemalloc, 0o644);
    equal(await libraryOf(), isSystem ? jemalloc : undefined, "the quicker one comes first");
    const chosen = await allocatorOf({ LD_PRELOAD: "libother.so" }, [early, late]);
    equal(chosen.LD_PRELOAD, "libother.so");
    equal((await allocatorOf({ LD_PRELOAD: "" }, [early, late])).LD_PRELOAD, "");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name:
    "a service that the launcher starts has the allocator that was chosen, and nothing else of the shell",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const child = new Deno.Command(Deno.execPath(), {
      args: await taskArgs("start"),
      env: {
        DATABASE_URL: testDatabaseUrl(),
        PLATFORM_KEY,
        MASTER_KEY: btoa("0123456789abcdef0123456789abcdef"),
        WORKERS: "off",
        PORT: `${freePort()}`,
        LOG_LEVEL: "info",
        LOG_FORMAT: "json",
        LD_PRELOAD: "libresolv.so.2", // a library of glibc that is there everywhere, and that the runtime does without
        MIMALLOC_SHOW_ERRORS: "0",
        LD_DEBUG_OUTPUT: "/nonexistent/shell",
      },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const log = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (let text = ""; !text.includes('"serving"');) {
        const { value, done } = await log.read();
        if (done) throw new Error(`the service ended: ${text}`);
        text += value;
      }
      const [service] = (await textOf(`/proc/${child.pid}/task/${child.pid}/children`))
        .trim().split(" ");
      const environment = (await textOf(`/proc/${service}/environ`)).split("\0");
      const preloaded = environment.filter((one) => /^(LD_|MIMALLOC_)/.test(one)).toSorted();
      deepEqual(preloaded, ["LD_PRELOAD=libresolv.so.2", "MIMALLOC_SHOW_ERRORS=0"]);
      match(await textOf(`/proc/${service}/maps`), /libresolv\.so\.2/);
    } finally {
      child.kill("SIGTERM");
      while (!(await log.read()).done);
      await child.status;
    }
  },
});
