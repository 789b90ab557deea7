import { deepEqual, equal, rejects } from "node:assert/strict";
import { openTaskQueue, runQueued } from "../../workers/task_queue.ts";

Deno.test("runQueued() runs four tasks at once, and an unfinished one rejoins the end", async () => {
  const queue = openTaskQueue();
  const order: string[] = [];
  let busy = 0;
  let most = 0;
  const worker = (name: string, turns: number) =>
    runQueued(queue, async () => {
      order.push(name);
      most = Math.max(most, ++busy);
      await Promise.resolve();
      busy--;
      return --turns > 0;
    });
  const names = ["a", "b", "c", "d", "e", "f"];
  await Promise.all(names.map((name) => worker(name, name === "a" ? 3 : 1)));
  equal(most, 4);
  deepEqual(order.slice(0, 6), names, "a waiting task runs before a second turn");
  deepEqual(order.slice(6), ["a", "a"]);
  deepEqual(queue, { running: 0, waiting: [] });
});

Deno.test("runQueued() makes room also when a task fails", async () => {
  const queue = openTaskQueue();
  for (let i = 0; i < 8; i++) {
    await rejects(runQueued(queue, () => Promise.reject(new TypeError("no"))), TypeError);
  }
  equal(queue.running, 0);
});
