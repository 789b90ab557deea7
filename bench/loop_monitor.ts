/**
 * A measure of how long the event loop gave nobody a turn, beside the service; or, where `MONITORED` says so, beside
 * `nothing`, or a `handler` that reads each request and answers all that wait every 5 ms, as a batch does: what the runtime
 * and the machine take by themselves. At each SIGUSR2 it writes down what was longest since the last one, into the file that
 * `PAUSES_FILE` names.
 *
 * @module
 */
const EVERY_MS = 2;
const BATCH_MS = 5;
const HEAD = { "content-type": "application/json" };
const BODY = JSON.stringify({ text: "x".repeat(600) }); // as long as a transfer's

let last = performance.now(), longest = 0, over = 0, stalls = 0;
setInterval(() => {
  const now = performance.now();
  const pause = now - last - EVERY_MS;
  longest = Math.max(longest, pause);
  if (pause > 50) over++;
  if (pause > 5) stalls++;
  last = now;
}, EVERY_MS);

Deno.addSignalListener("SIGUSR2", () => {
  const file = Deno.env.get("PAUSES_FILE")!;
  Deno.writeTextFileSync(`${file}.new`, JSON.stringify({ longest, over, stalls }));
  Deno.renameSync(`${file}.new`, file);
  longest = over = stalls = 0;
});

/** Answers all that wait together. */
function serveInBatches(): void {
  let waiting: (() => void)[] = [];
  setInterval(() => {
    const all = waiting;
    waiting = [];
    for (const answer of all) answer();
  }, BATCH_MS);
  const handle = async (request: Request) => {
    await request.text();
    await new Promise<void>((answer) => waiting.push(answer));
    return new Response(BODY, { headers: HEAD });
  };
  Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.env.get("PORT")), onListen() {} }, handle);
}

if (Deno.env.has("MONITORED")) serveInBatches(); // which nobody asks where it is `nothing`
else await (await import("../main.ts")).main(Deno.args);
