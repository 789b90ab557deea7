/**
 * Stalls: counts how often the service's event loop is blocked for more than 5 ms during transfers, beside what the runtime
 * and the machine take by themselves. @module
 */
import { join } from "node:path";
import type { Target } from "./load.ts";
import type { Field } from "./measure.ts";
import { MONITOR, readPauses } from "./pauses.ts";
import { suspend } from "./processes.ts";
import { verdictOf } from "./report.ts";
import { type Service, startService } from "./stand.ts";

/** Runs transfers against a service that watches its own event loop. */
export async function benchStalls(field: Field, folder: string, seconds: number): Promise<void> {
  using _other = await suspend(field.service.pid); // whose workers would do the work of this one's
  await using service = await watched(field, join(folder, "service"), { workers: true });
  await using idle = await watched(field, join(folder, "idle"), { monitored: "nothing" });
  await using empty = await watched(field, join(folder, "empty"), { monitored: "handler" });
  for (const connections of [32, 256]) {
    const load = { connections, how: "uniform", many: 1, seconds } as const;
    const under = async ({ port }: Service, realm: Target) => {
      await field.generator.run(port, realm, { ...load, seconds: 1 });
      for (const one of [service, idle, empty]) await one.read();
      await field.generator.run(port, realm, load);
    };
    const told = async ({ read }: { read(): Promise<{ stalls: number; longest: number }> }) => {
      const { stalls, longest } = await read();
      return {
        stalls,
        text: `${(stalls / seconds).toFixed(1)} a second, the longest ${longest.toFixed(1)} ms`,
      };
    };
    await under(service, field.realm);
    const [own, beside] = [await told(service), await told(idle)];
    await under(empty, { ...field.realm, id: `answered for ${field.realm.id}` }); // nothing is posted
    const bare = await told(empty);
    console.log(
      `stalls of the event loop of more than 5 ms, single transfers over ${connections} connections: ${own.text} ` +
        `(must 0 a second) ${verdictOf(own.stalls === 0) ?? ""}; of a process beside it that ` +
        `does nothing: ${beside.text}; of an empty handler under the same load: ${bare.text}`,
    );
  }
}

/** Starts a process that watches its own event loop. */
async function watched(
  { stand }: Field,
  file: string,
  { monitored, workers }: { monitored?: "nothing" | "handler"; workers?: boolean },
) {
  const env = { PAUSES_FILE: file, ...(monitored === undefined ? {} : { MONITORED: monitored }) };
  const service = await startService(stand, { workers, logged: true, entry: MONITOR, env });
  return {
    ...service,
    read: () => readPauses(service, file),
    [Symbol.asyncDispose]: () => service.stop(),
  };
}
