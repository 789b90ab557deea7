/** Stalls: counts how often the service's event loop is blocked for more than 5 ms during transfers. @module */
import { join } from "node:path";
import type { Field } from "./measure.ts";
import { MONITOR, readPauses } from "./pauses.ts";
import { suspend } from "./processes.ts";
import { verdictOf } from "./report.ts";
import { startService } from "./stand.ts";

/** Runs transfers against a service that watches its own event loop. */
export async function benchStalls(field: Field, folder: string, seconds: number): Promise<void> {
  const file = join(folder, "stalls.json");
  using _other = await suspend(field.service.pid); // whose workers would do the work of this one's
  const service = await startService(field.stand, {
    workers: true,
    logged: true,
    entry: MONITOR,
    env: { PAUSES_FILE: file },
  });
  try {
    for (const connections of [32, 256]) {
      const load = { connections, how: "uniform", many: 1, seconds } as const;
      await field.generator.run(service.port, field.realm, { ...load, seconds: 1 });
      await readPauses(service, file);
      await field.generator.run(service.port, field.realm, load);
      const { stalls, longest } = await readPauses(service, file);
      console.log(
        `event loop, single transfers over ${connections} connections: ` +
          `${(stalls / seconds).toFixed(1)} stalls of more than 5 ms a second (must 0), ` +
          `the longest ${longest.toFixed(1)} ms ${verdictOf(stalls === 0) ?? ""}`,
      );
    }
  } finally {
    await service.stop();
  }
}
