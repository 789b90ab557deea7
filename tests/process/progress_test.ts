import { deepEqual, equal, match } from "node:assert/strict";
import { formatProgress, openProgress, type ProgressOutput } from "../../progress.ts";
import type { Command } from "../../launcher/permissions.ts";
import { fixture, reportOf } from "../backup/fixture.ts";

/** An output that keeps what is written, and a clock that is set by hand. */
function opened(form: ProgressOutput["form"], columns = 0) {
  const written: string[] = [];
  const clock = { ms: 0 };
  const output = { form, write: (text: string) => written.push(text), columns: () => columns };
  return { written, clock, progress: openProgress(output, () => clock.ms) };
}

Deno.test("progress in a terminal is one line with rate and time left, and lines that stay are above it", () => {
  const { written, clock, progress } = opened("line");
  progress.part("Copying", 10e6, "bytes");
  clock.ms = 100;
  progress.add(1e6); // too soon to be shown
  clock.ms = 2_000;
  progress.add(1.5e6);
  progress.note("a realm is restored");
  progress.end();
  const line = "\r\x1b[KCopying: 2.5 of 10 MB, 25 %, 1.3 MB/s, 6 s left";
  deepEqual(written, [
    ...["\r\x1b[KCopying: 0 of 10 MB", line],
    ...["\r\x1b[K", "a realm is restored\n", line, "\r\x1b[K"],
  ]);
});

Deno.test("a line of progress is no wider than its terminal", () => {
  const { written, progress } = opened("line", 20);
  progress.part("Fetching what the service needs", 12, "packages");
  deepEqual(written, ["\r\x1b[KFetching what the s"]);
});

Deno.test("progress elsewhere is a plain line every five seconds, and nothing where the work is short", () => {
  const short = opened("lines");
  short.progress.part("Auditing", 40, "checks");
  short.clock.ms = 4_999;
  short.progress.add(40);
  short.progress.end();
  deepEqual(short.written, []);

  const { written, clock, progress } = opened("lines");
  progress.part("Migrating", 1000, "realms");
  for (clock.ms = 100; clock.ms <= 12_000; clock.ms += 100) progress.add(1);
  progress.end();
  deepEqual(written, [
    "Migrating: 50 of 1000 realms, 5 %, 10 realms/s, 95 s left\n",
    "Migrating: 100 of 1000 realms, 10 %, 10 realms/s, 90 s left\n",
    "Migrating: 120 of 1000 realms, 12 %, 9.9 realms/s, 89 s left\n",
  ]);
});

Deno.test("machines read no progress, and the lines that stay", () => {
  const { written, clock, progress } = opened("none");
  progress.part("Migrating", 2, "realms");
  clock.ms = 60_000;
  progress.add(1);
  progress.note("a realm is restored");
  progress.end();
  deepEqual(written, ["a realm is restored\n"]);
});

Deno.test("a task that outgrows what was estimated tells no time left, and a slow one its rate a minute", () => {
  const base = { name: "Growing", unit: "links", ms: 100_000 } as const;
  equal(formatProgress({ ...base, total: 10, count: 200 }), "Growing: 200 links, 2 links/s");
  equal(formatProgress({ ...base, total: null, count: 200 }), "Growing: 200 links, 2 links/s");
  equal(formatProgress({ ...base, total: null, count: 0 }), "Growing");
  equal(
    formatProgress({ ...base, total: 100, count: 1 }),
    "Growing: 1 of 100 links, 1 %, 0.6 links/min, 2 h 45 min left",
  );
});

Deno.test("commands show their progress in a terminal, and leave standard output to be parsed", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  await using from = await fixture();
  const shown = async (command: Command, ...args: string[]) => {
    const { code, out, said } = await from.host.runInTerminal(from.url, command, args);
    equal(code, 0, said);
    return { out, lines: said.split("\r\x1b[K") };
  };
  const made = await shown("backup");
  const { path } = JSON.parse(made.out);
  match(made.lines.at(-2)!, /^Copying: [\d.]+ of [\d.]+ MB/);
  equal(made.lines.at(-1), "", "the line is taken away at the end");
  const audited = await shown("audit");
  match(audited.lines[1], /^Auditing: 0 of \d+ checks$/);
  match(audited.out, /^realm .*: \d+ links, sound, head /);
  equal((await shown("migrate")).lines[1], "Granting rights: 0 of 1 realms");
  const read = await shown("restore", path, "--check");
  equal(JSON.parse(read.out).verdict, "whole");
  match(read.lines[1], /^Reading: 0 of [\d.]+ MB$/);
  // The same without a terminal.
  const plain = await from.host.run(from.url, "backup", []);
  reportOf(plain);
  equal(plain.said.includes("\r"), false, plain.said);
});
