/** When deliveries are tried again, as the contract's table says it. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { DOWN_AFTER, resumeAt, retryAt } from "../../domain/webhooks/schedule.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const START = Date.UTC(2026, 0, 1);
const TABLE = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
];

/** The times of all attempts, each of which fails at once. */
function attemptsOf(random: () => number, start = START): number[] {
  const times = [start];
  for (let at: number | null = start;;) {
    at = retryAt({ attempts: times.length, firstAt: start, at }, random());
    if (at === null) return times;
    times.push(at);
  }
}

Deno.test("a delivery is tried after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h and then every 4 h, with at most a tenth more, within 24 h", () => {
  deepEqual(attemptsOf(() => 0).map((at) => at - START), [
    ...[0, 5, 35, 155, 755, 2555].map((s) => s * SECOND_MS),
    ...[0, 4, 8, 12, 16, 20].map((hours) => 6155 * SECOND_MS + hours * HOUR_MS),
  ]);
  let seed = 1;
  const draw = () => (seed = seed * 48_271 % 2_147_483_647) / 2_147_483_647;
  for (const random of [() => 0, () => 1, ...Array.from({ length: 500 }, () => draw)]) {
    const times = attemptsOf(random);
    for (const [n, at] of times.slice(1).entries()) {
      const [pause, least] = [at - times[n], TABLE[n] ?? 4 * HOUR_MS];
      ok(pause >= least && pause <= least * 1.1 + 1, `${pause} ms after attempt ${n + 1}`);
    }
    const last = times.at(-1)! - START;
    ok(last <= 24 * HOUR_MS, "nothing later than 24 h");
    ok(last > 24 * HOUR_MS - 1.1 * 4 * HOUR_MS, "and none that would still fit is left out");
    ok(times.length === 12 || times.length === 11, `${times.length} attempts`);
  }
  // Jitter parts deliveries that failed together.
  const second = Array.from({ length: 100 }, () => attemptsOf(draw)[6]);
  ok(new Set(second).size > 90);
});

Deno.test("a clock that is set back or ahead leads to no attempt in the past, and to none beyond a day", () => {
  for (const apart of [-HOUR_MS, -400 * 24 * HOUR_MS, 0, HOUR_MS, 400 * 24 * HOUR_MS]) {
    for (let attempts = 1; attempts < 1000; attempts *= 3) {
      const at = START + apart;
      const next = retryAt({ attempts, firstAt: START, at }, 1);
      if (next === null) ok(apart > 0);
      else ok(next > at && next <= at + 4.4 * HOUR_MS, `${next - at}`);
    }
  }
});

Deno.test("a receiver that is down is asked after 5 s at first, and once a minute for as long as it lasts", () => {
  for (let failures = 0; failures < DOWN_AFTER; failures++) equal(resumeAt(failures, START), null);
  const pauses = Array.from({ length: 6 }, (_, n) => resumeAt(DOWN_AFTER + n, START)! - START);
  deepEqual(pauses, [5, 10, 20, 40, 60, 60].map((s) => s * SECOND_MS));
  for (const failures of [1e3, 1e6, 2 ** 31 - 1]) {
    equal(resumeAt(failures, START), START + MINUTE_MS);
  }
});
