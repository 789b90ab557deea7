/**
 * The service, and beside it a measure of how long its event loop gave nobody a turn. At each SIGUSR2
 * it writes down what was longest since the last one, into the file that `PAUSES_FILE` names.
 *
 * @module
 */
import { main } from "../main.ts";

const EVERY_MS = 2;

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

await main(Deno.args);
