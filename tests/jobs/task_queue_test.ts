import { deepEqual, equal, rejects } from "node:assert/strict";
import { inTurns, openLine } from "../../workers/task_queue.ts";

Deno.test("inTurns() lets four work side by side, and sends who is not done to the end", async () => {
  const line = openLine();
  const order: string[] = [];
  let busy = 0;
  let most = 0;
  const worker = (name: string, turns: number) =>
    inTurns(line, async () => {
      order.push(name);
      most = Math.max(most, ++busy);
      await Promise.resolve();
      busy--;
      return --turns > 0;
    });
  const names = ["a", "b", "c", "d", "e", "f"];
  await Promise.all(names.map((name) => worker(name, name === "a" ? 3 : 1)));
  equal(most, 4);
  deepEqual(order.slice(0, 6), names, "whoever waits comes before a second turn");
  deepEqual(order.slice(6), ["a", "a"]);
  deepEqual(line, { busy: 0, waiting: [] });
});

Deno.test("inTurns() makes room also when the work fails", async () => {
  const line = openLine();
  for (let i = 0; i < 8; i++) {
    await rejects(inTurns(line, () => Promise.reject(new TypeError("no"))), TypeError);
  }
  equal(line.busy, 0);
});
