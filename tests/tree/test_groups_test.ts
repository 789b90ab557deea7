/** The suite's runner: what one test does to its process costs no other test its turn. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { until } from "../support/eventually.ts";
import { runGroups } from "../support/test_groups.ts";
import { newOutput, readOutput } from "../support/test_output.ts";
import { closingLine, reportOf, writeJunit } from "../support/test_report.ts";

/** A module of tests by what stands in it, after the path of a file that says that it hangs. */
const MODULES = {
  waits: `
    Deno.test("passes before", () => {});
    Deno.test("waits", async (t) => {
      await t.step("one", () => {});
      await t.step("two", async () => {
        const server = new Deno.Command("setsid", { args: ["sleep", "1000"], stdout: "inherit" }).spawn();
        Deno.writeTextFileSync(HANGS, String(server.pid));
        setInterval(() => console.log("still here"), 100);
        await new Promise(() => {});
      });
    });
    Deno.test("passes after", () => {});
    Deno.test("fails after", () => { throw new Error("as it must"); });`,
  loops: `
    Deno.test(function loops() { Deno.writeTextFileSync(HANGS, ""); for (;;); });
    Deno.test({ name: "passes behind a loop", fn() {} });`,
  ends: `
    Deno.test("ends its process", async () => {
      await new Promise((resolve) => setTimeout(resolve, 1000)); // the reporter, a thread of its own, prints the title
      Deno.kill(Deno.pid, "SIGKILL");
    });
    Deno.test("passes behind an end", () => {});`,
  throws: `
    Deno.test("is under way", async () => {
      setTimeout(() => { throw new Error("late"); }, 1);
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    });
    Deno.test("passes behind an error", () => {});`,
  breaks: `throw new Error("it does not load");`,
  loads: `
    Deno.writeTextFileSync(HANGS, "");
    for (;;);`,
};

interface Run extends AsyncDisposable {
  folder: string;
  lines: string[];
  /** What tests that hung wrote: the process of a server. */
  servers: string[];
  result: Awaited<ReturnType<typeof runGroups>>;
}

/** Runs groups of modules, under a clock that goes only while a test hangs. */
async function runModules(
  groups: readonly (keyof typeof MODULES)[][],
  signal: (hangs: string) => AbortSignal = () => new AbortController().signal,
): Promise<Run> {
  const folder = await Deno.makeTempDir();
  const hangs = `${folder}/hangs`;
  const [lines, servers]: string[][] = [[], []];
  const due = await Promise.all(groups.map(async (names, n) => {
    const files = names.map((name) => `${folder}/${name}_test.ts`);
    for (const [i, file] of files.entries()) {
      const text = `const HANGS = ${JSON.stringify(hangs)};\n${MODULES[names[i]]}\n`;
      await Deno.writeTextFile(file, text);
    }
    const path = `${folder}/group_${n}.ts`;
    await Deno.writeTextFile(path, files.map((file) => `import "file://${file}";\n`).join(""));
    return { name: `group_${n}`, path, files };
  }));
  let now = 0;
  const result = await runGroups(due, {
    args: ["test", "--config", "tests/deno.json", "--frozen", "--no-check", "-A"],
    ...{
      env: { TEST_DATABASES: "0" },
      atOnce: 1,
      folder,
      junit: true,
      stallMs: 4000,
      signal: signal(hangs),
    },
    now: () => now += isThere(hangs) ? 2000 : 0,
    say(line) {
      lines.push(line);
      if (!line.includes("FAILED: ") || !isThere(hangs)) return;
      servers.push(takeText(hangs));
    },
  });
  const remove = () => Deno.remove(folder, { recursive: true });
  return { folder, lines, servers, result, [Symbol.asyncDispose]: remove };
}

/** Reads a file and removes it. */
function takeText(path: string): string {
  const text = Deno.readTextFileSync(path);
  Deno.removeSync(path);
  return text;
}

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** What is under way of a line of output, and what it says of the tests before. */
const OUTPUT = `running 3 tests from ./g.ts
quick ... ok (5ms)
with ... dots ...
------- output -------
quick ... FAILED (1ms)
----- output end -----
  a step ...
    within ... ok (0ms)
  a step ... FAILED (due to 1 failed step) (1m0s)
  another ... ignored (0ms)
with ... dots ... FAILED (due to 1 failed step) (1m0s)
under way ...
  its step ...`;

Deno.test("the output of a process says what has ended and what is under way, wherever it is cut", () => {
  for (const size of [1, 7, OUTPUT.length]) {
    const output = newOutput();
    const [ended, written]: string[][] = [[], []];
    for (let at = 0; at < OUTPUT.length; at += size) {
      readOutput(output, OUTPUT.slice(at, at + size), {
        ended: ({ path, outcome, took }) => ended.push(`${path.join("/")} ${outcome} ${took}`),
        written: (line) => written.push(line),
      });
    }
    deepEqual(written, ["quick ... FAILED (1ms)"]);
    deepEqual(ended, [
      "quick ok 5ms",
      "with ... dots/a step/within ok 0ms",
      "with ... dots/a step FAILED 1m0s",
      "with ... dots/another ignored 0ms",
      "with ... dots FAILED 1m0s",
    ]);
    deepEqual(output.running, ["under way", "its step"]);
    equal(output.complete, false);
    equal(closingLine(output.counts), "1 passed, 1 failed");
  }
});

Deno.test("a test that hangs is failed by its name, its servers end, and all other tests have their turn", async () => {
  await using run = await runModules([["waits", "ends"], ["loops"]]);
  const { result, lines, servers, folder } = run;
  deepEqual(
    lines.filter((line) => line.includes(" ... ")).map((line) => line.replace(/ \(.*/, "")),
    [
      "group_0 => passes before ... ok",
      "group_0 => waits ... one ... ok",
      "group_0 => waits ... two ... FAILED: no test ended for 4 s",
      "group_0 => passes after ... ok",
      "group_0 => fails after ... FAILED",
      "group_0 => ends its process ... FAILED: its process ended with code 137",
      "group_0 => passes behind an end ... ok",
      "group_1 => loops ... FAILED: no test ended for 4 s",
      "group_1 => passes behind a loop ... ok",
    ],
  );
  match(servers[0], /^\d+$/);
  equal(isThere(`/proc/${servers[0]}/stat`), false);
  equal(closingLine(result.counts), "4 passed, 4 failed");
  equal(result.success, false);
  const report = reportOf(result, 61_000);
  for (const title of ["waits ... two", "loops", "ends its process", "fails after"]) {
    ok(report.some((line) => line.startsWith(`${title} => `)), title);
  }
  equal(report.at(-1), "FAILED | 4 passed (1 step) | 4 failed (1m1s)");
  const junit = `${folder}/junit.xml`;
  await writeJunit(junit, result, 61_000);
  const text = await Deno.readTextFile(junit);
  match(text, /<testsuites name="deno test" tests="8" failures="4" errors="0" time="61.000">/);
});

Deno.test("of a group with a module that never loads, the others' tests run, and it is named", async () => {
  await using run = await runModules([["loads", "ends"]]);
  equal(closingLine(run.result.counts), "1 passed, 2 failed");
  const named = run.result.failures.map((line) => line.replaceAll(`${run.folder}/`, ""));
  deepEqual(named, [
    "loads_test.ts => group_0",
    "ends its process => group_0",
  ]);
});

Deno.test("an error that no test caught costs the test that was under way, and a module that does not load itself", async () => {
  await using run = await runModules([["throws"], ["breaks", "ends"]]);
  equal(closingLine(run.result.counts), "2 passed, 4 failed");
  const named = run.result.failures.map((line) => line.replace(/^\S*\//, ""));
  deepEqual(named, [
    "group_0.ts (uncaught error)",
    "is under way => group_0 (under way at an uncaught error)",
    "group_1.ts (uncaught error)",
    "ends its process => group_1",
  ]);
});

Deno.test("a run that is ended names what was under way, and begins nothing else", async () => {
  await using run = await runModules([["waits"], ["loops"]], (hangs) => {
    const ended = new AbortController();
    until(() => isThere(hangs)).then(() => ended.abort()).catch((error) => ended.abort(error));
    return ended.signal;
  });
  const last = run.lines.at(-1);
  equal(last, "group_0 => waits ... two ... FAILED: the run was ended");
  equal(closingLine(run.result.counts), "1 passed, 1 failed");
});
