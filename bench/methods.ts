/** Sets the ways in which others do a transfer beside the yardstick, on the yardstick's tables. @module */
import { type Field, measure } from "./measure.ts";
import { median } from "./processes.ts";
import type { Figures } from "./report.ts";

import { freePort } from "../tests/support/ports.ts";
import { waitUntilAnswers } from "./stand.ts";

/** The accounts of the yardstick. */
const ACCOUNTS = Array.from(
  { length: 1000 },
  (_, i) => `00000000-0000-7000-8000-${String(i + 1).padStart(12, "0")}`,
);
const SERVER = new URL("method_server.ts", import.meta.url).pathname;
const METHODS = {
  transaction: "one serializable transaction per transfer",
  locks: "row locks, read committed",
  call: "one serializable call per transfer",
} as const;

/** Measures each method over HTTP and prints its ratio to the yardstick of the same round. */
export async function compareMethods(
  field: Field,
  options: { seconds: number; rounds: number },
): Promise<void> {
  const { seconds } = options;
  const run32 = { of: "own", clients: 32, how: "uniform", seconds } as const;
  const base = { name: "yardstick", yardstick: run32 };
  for (const [method, title] of Object.entries(METHODS)) {
    for (const how of ["uniform", "hot"] as const) {
      const found: Figures[] = [];
      for (let i = 0; i < options.rounds; i++) {
        const { rate } = await measure(field, base, [field.service]);
        found.push({ ...await run(field, method, how, seconds), ratio: NaN });
        found[i].ratio = found[i].rate / rate;
      }
      const of = (name: keyof Figures) => median(found.map((figures) => figures[name]));
      console.log(
        `method, ${title}, ${how}, 32: ${Math.round(of("rate"))}/s, ${of("ratio").toFixed(2)} of ` +
          `the yardstick, p50 ${of("p50").toFixed(1)} ms, p99 ${of("p99").toFixed(1)} ms`,
      );
    }
  }
}

async function run(
  field: Field,
  method: string,
  how: "uniform" | "hot",
  seconds: number,
): Promise<Figures> {
  const { yardsticks: { own: yardstick }, stand } = field;
  const port = freePort();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", SERVER, `${port}`, stand.server.superuserUrl, yardstick.schema, method],
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  try {
    await waitUntilAnswers(`http://127.0.0.1:${port}/`);
    await yardstick.reset();
    const realm = { ...field.realm, id: "method", accounts: ACCOUNTS };
    const load = { connections: 32, how, many: 1, seconds };
    const service = { url: "", port, pid: child.pid, stop: () => Promise.resolve() };
    return await measure({ ...field, realm }, { name: method, load }, [service]);
  } finally {
    child.kill("SIGTERM");
    await child.status;
  }
}
