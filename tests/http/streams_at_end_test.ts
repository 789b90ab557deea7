/** Answers that are sent while they are read, where nobody reads them or the service ends. */
import { deepEqual, rejects } from "node:assert/strict";
import type { Pool } from "../../domain/command.ts";
import { randomId } from "../../domain/ids.ts";
import { openEventStream } from "../../routes/http/event_stream.ts";
import { streamOf } from "../../routes/http/exports.ts";
import { openEnding } from "../../routes/http/shutdown.ts";
import { holdingTimers } from "../support/held_timers.ts";

/** Opens a stream of events that has none, of a key that nobody answers for. */
function openSilent(user: string, ending = openEnding(), pool = {} as Pool) {
  return openEventStream({
    ...{ pool, user, seesAll: false, asked: {}, after: randomId(Date.now()), ending },
    actorNow: () => new Promise<never>(() => {}),
    note: () => Promise.resolve(),
  });
}

async function* lines(): AsyncGenerator<string> {
  yield* ["one", "two"];
}

Deno.test("streams and exports that are opened while the service ends are ended at once", async () => {
  const ending = openEnding();
  ending.begin();
  const stream = (await openSilent("one", ending)).getReader();
  deepEqual(await stream.read(), { done: true, value: undefined });
  let left = 0;
  const place = { leave: () => void left++, holdFor: () => {} };
  const reader = streamOf(lines(), { place, ending }).getReader();
  await rejects(reader.read(), { code: "service.overloaded" });
  deepEqual(left, 1);
});

Deno.test("a stream that nobody begins to read gives its place back", async () => {
  const pool = {} as Pool;
  const open = () => openSilent("one", openEnding(), pool);
  using timers = holdingTimers();
  for (let i = 0; i < 20; i++) await open();
  await rejects(open(), { code: "rate.limited" });
  await timers.run();
  await (await open()).cancel();
});
