import { deepEqual, equal } from "node:assert/strict";
import { bufferLines, createLog } from "../../log.ts";

Deno.test("a log writes one JSON line per event, from its level upward", () => {
  const lines: string[] = [];
  const log = createLog({ level: "warn", format: "json", write: (line) => lines.push(line) });
  log("info", "not this");
  log("warn", "this", { count: 2n, error: new TypeError("odd") });
  equal(lines.length, 1);
  const { time, ...rest } = JSON.parse(lines[0]);
  equal(Number.isNaN(Date.parse(time)), false);
  deepEqual(rest, { level: "warn", message: "this", count: "2", error: "TypeError: odd" });
});

Deno.test("a log blanks fields with the name of a secret", () => {
  const lines: string[] = [];
  for (const format of ["json", "pretty"] as const) {
    const log = createLog({ level: "info", format, write: (line) => lines.push(line) });
    log("info", "event", { "x-api-key": "hunter2", password: "hunter2", masterSeed: "hunter2" });
  }
  equal(lines.length, 2);
  equal(lines.join().includes("hunter2"), false);
});

Deno.test("buffered lines are written together, and with a warning at once", async () => {
  const writes: string[] = [];
  const { promise: written, resolve } = Promise.withResolvers<void>();
  const write = bufferLines((lines) => {
    writes.push(lines);
    if (writes.length === 2) resolve();
  });
  write("first", "info");
  write("second", "info");
  deepEqual(writes, []);
  write("third", "warn");
  deepEqual(writes, ["first\nsecond\nthird"]);
  write("fourth", "info");
  await written;
  deepEqual(writes, ["first\nsecond\nthird", "fourth"]);
});

Deno.test("no buffered line is lost when a process exits or fails", async () => {
  const url = new URL("../../log.ts", import.meta.url).href;
  const endings = [
    "Deno.exit(3)",
    "throw new Error('bad')",
    "Promise.reject(new Error('bad'))",
    "",
  ];
  const outputs = await Promise.all(endings.map(async (ending) => {
    const code = `import { bufferLines } from "${url}"; ` +
      `bufferLines((lines) => console.error(lines))("the line", "info"); ${ending}`;
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", code],
    }).output();
    return new TextDecoder().decode(stderr).split("\n")[0];
  }));
  deepEqual(outputs, endings.map(() => "the line"));
});
