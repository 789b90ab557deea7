import { deepEqual, equal } from "node:assert/strict";
import { createLog } from "../../log.ts";

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

Deno.test("a log blanks what its name tells to be a secret", () => {
  const lines: string[] = [];
  for (const format of ["json", "pretty"] as const) {
    const log = createLog({ level: "info", format, write: (line) => lines.push(line) });
    log("info", "event", { "x-api-key": "hunter2", password: "hunter2", masterSeed: "hunter2" });
  }
  equal(lines.length, 2);
  equal(lines.join().includes("hunter2"), false);
});
