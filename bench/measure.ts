/** Runs one line of the table once, and reads its cost. @module */
import { type Generator, transfersOf } from "./load.ts";
import { cpuSeconds } from "./processes.ts";
import type { Figures, Row } from "./report.ts";
import { type BenchRealm, countRollbacks, type Service, type Stand } from "./stand.ts";
import type { Yardstick } from "./yardstick.ts";

/** The parts of a run. */
export interface Field {
  stand: Stand;
  service: Service;
  realm: BenchRealm;
  generator: Generator;
  yardsticks: Readonly<Record<"own" | "independent", Yardstick>>;
}

/** Runs a row once. */
export async function measure(field: Field, row: Row, services: Service[]): Promise<Figures> {
  const { stand, generator, yardsticks } = field;
  const realm = row.realm ?? field.realm;
  const before = await readCounters(stand, services);
  let transfers = 0, failed = 0, seconds = 0, p50 = 0, p99 = 0, max = 0, lost = 0;
  if (row.yardstick !== undefined) {
    const run = await yardsticks[row.yardstick.of].run(row.yardstick);
    ({ requests: transfers, failed, seconds, p50, p99, max } = run);
    lost = run.retries;
  } else {
    const load = row.load!;
    const connections = Math.max(1, load.connections / services.length);
    const runs = await Promise.all(
      services.map(({ port }) => generator.run(port, realm, { ...load, connections })),
    );
    for (const run of runs) {
      transfers += transfersOf(run, load);
      failed += run.failed;
      seconds = Math.max(seconds, run.seconds);
      p50 = Math.max(p50, run.p50);
      p99 = Math.max(p99, run.p99);
      max = Math.max(max, run.max);
    }
  }
  const after = await readCounters(stand, services);
  if (row.load !== undefined) lost = after.rollbacks - before.rollbacks;
  const service = after.service - before.service;
  const postgres = after.postgres - before.postgres;
  return {
    rate: transfers / seconds,
    ratio: NaN,
    p50,
    p99,
    max,
    failed,
    service: service / seconds,
    postgres: postgres / seconds,
    cost: (service + postgres) / transfers * 1e6,
    lost,
  };
}

async function readCounters(stand: Stand, services: Service[]) {
  let service = 0;
  for (const { pid } of services) service += await cpuSeconds(pid);
  const postgres = await cpuSeconds(stand.server.pid);
  return { service, postgres, rollbacks: await countRollbacks(stand) };
}
