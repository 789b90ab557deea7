import { deepEqual, equal, ok } from "node:assert/strict";
import { bufferLines, createLog, type LineSink, openLineOutput } from "../../log.ts";
import { until } from "../support/eventually.ts";

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

const LOG = new URL("../../log.ts", import.meta.url).href;

/** Runs code in a process whose log goes to its standard error, as the service's does. */
function logging(code: string): Deno.Command {
  const open = `import { bufferLines, openLineOutput } from "${LOG}"; ` +
    "const log = bufferLines(openLineOutput((lost) => `${lost} lost`).write); ";
  return new Deno.Command(Deno.execPath(), { args: ["eval", open + code], stderr: "piped" });
}

for (const level of ["info", "error"]) {
  Deno.test(`no line of level ${level} is lost when a process exits or fails`, async () => {
    const endings = [
      "Deno.exit(3)",
      "throw new Error('bad')",
      "Promise.reject(new Error('bad'))",
      "",
    ];
    const outputs = await Promise.all(endings.map(async (ending) => {
      const last = `log("the line", "${level}"); ${ending}`;
      const code = `log("long before", "${level}"); setTimeout(() => { ${last} }, 300);`;
      const { stderr } = await logging(code).output();
      return new TextDecoder().decode(stderr).split("\n").slice(0, 2);
    }));
    deepEqual(outputs, endings.map(() => ["long before", "the line"]));
  });
}

/** A reader that can stand still, and a disk that can be full. */
function openSink() {
  const state = { text: "", full: false, some: 0, goOn: Promise.resolve() };
  const writeSync = (bytes: Uint8Array) => {
    const part = bytes.subarray(0, state.some || bytes.length);
    if (state.full && state.some === 0) throw new Error("No space left on device");
    state.some = 0;
    state.text += new TextDecoder().decode(part);
    return part.length;
  };
  const sink: LineSink = {
    writeSync,
    async write(bytes) {
      await state.goOn;
      return writeSync(bytes);
    },
  };
  return { state, sink };
}

Deno.test("lines wait for a reader that stands still up to a limit, and a line says how many were lost beyond it", async () => {
  const { state, sink } = openSink();
  const { promise, resolve } = Promise.withResolvers<void>();
  state.goOn = promise;
  const output = openLineOutput((lost) => `${lost} lost`, sink, 100);
  output.write("first"); // takes its way alone
  await output.written(1);
  for (let i = 0; i < 50; i++) output.write(`line ${i}`);
  ok(output.lost() > 30, `${output.lost()}`);
  resolve();
  await until(() => state.text.includes("line 10\n"));
  const kept = 50 - output.lost();
  output.write("next");
  await until(() => state.text.endsWith("next\n"));
  const lines = [
    "first",
    `${50 - kept} lost`,
    ...Array.from({ length: kept }, (_, i) => `line ${i}`),
  ];
  deepEqual(state.text.split("\n"), [...lines, "next", ""]);
});

Deno.test("an output outlives a disk that is full, and the line that was torn there has an end", async () => {
  const { state, sink } = openSink();
  const output = openLineOutput((lost) => `${lost} lost`, sink);
  output.write("one");
  await until(() => state.text === "one\n");
  [state.full, state.some] = [true, 3];
  output.write("two and\nthree");
  await until(() => output.lost() === 2);
  equal(state.text, "one\ntwo");
  output.write("four");
  await until(() => output.lost() === 3);
  state.full = false;
  output.write("five");
  await until(() => state.text.endsWith("five\n"));
  equal(state.text, "one\ntwo\n3 lost\nfive\n");
});

Deno.test("a process whose reader stands still ends all the same", async () => {
  const write = "for (let i = 0; i < 20_000; i++) log('x'.repeat(99), 'warn');";
  const child = logging(`${write} setTimeout(() => Deno.exit(3), 500);`).spawn();
  equal((await child.status).code, 3); // nobody has read
  await child.stderr.cancel();
});
