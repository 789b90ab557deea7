/** Positions in the primary's log, and the users who wrote a moment ago. */
import { deepEqual, equal } from "node:assert/strict";
import { factsOf, openPositions, type ServerFacts } from "../../db/replica_positions.ts";
import { openWriters } from "../../db/replica_writers.ts";

const server = (of: Partial<ServerFacts> = {}): ServerFacts => ({
  ...{ isStandby: false, lsn: 0n, cluster: "7", timeline: 1 },
  ...of,
});

Deno.test("a standby shows the newest moment whose position it has replayed, also where nothing is written", () => {
  const positions = openPositions();
  equal(positions.shownAt(10n), -Infinity);
  positions.add({ at: 1000, lsn: 10n }, server());
  positions.add({ at: 2000, lsn: 20n }, server());
  positions.add({ at: 3000, lsn: 20n }, server());
  deepEqual([9n, 10n, 19n, 20n, 99n].map(positions.shownAt), [-Infinity, 1000, 1000, 3000, 3000]);
  equal(positions.newest(), 3000);
  positions.add({ at: 700_000, lsn: 30n }, server());
  equal(positions.shownAt(20n), -Infinity); // older than what is measured
});

Deno.test("positions of another primary say nothing of a standby of the first", () => {
  const positions = openPositions();
  positions.add({ at: 1000, lsn: 10n }, server());
  equal(positions.isOurs(server({ isStandby: true })), true);
  positions.add({ at: 2000, lsn: 15n }, server({ timeline: 2 }));
  equal(positions.isOurs(server({ isStandby: true })), false);
  equal(positions.isOurs(server({ isStandby: true, timeline: 2 })), true);
  equal(positions.isOurs(server({ isStandby: true, timeline: 2, cluster: "8" })), false);
  equal(positions.shownAt(12n), -Infinity);
});

Deno.test("facts of a server are read as the driver gives them", () => {
  const row = { standby: true, lsn: "123456789012345678", cluster: "7421", timeline: 3 };
  deepEqual(
    factsOf(row),
    server({ isStandby: true, lsn: 123456789012345678n, cluster: "7421", timeline: 3 }),
  );
});

Deno.test("who wrote a moment ago is remembered; where they are too many, all count as such", () => {
  const writers = openWriters(60_000, 2);
  equal(writers.last("realm", "a"), -Infinity);
  const before = performance.now();
  writers.note("realm", "a");
  equal(writers.last("realm", "a") >= before, true);
  equal(writers.last("other", "a"), -Infinity);
  writers.note("realm", "b");
  writers.note("realm", "c");
  equal(writers.last("realm", "a") >= before, true);
  equal(writers.last("realm", "nobody") >= before, true);
  const brief = openWriters(-1);
  brief.note("realm", "a");
  equal(brief.last("realm", "a"), -Infinity);
});
