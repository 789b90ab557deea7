/**
 * The hash chain's share of the cost of a transfer: transfers over 256 connections while the process that extends the
 * chain is stopped, and then nothing but the chain. @module
 */
import type { Field } from "./measure.ts";
import { cpuSeconds, suspend } from "./processes.ts";
import { verdictOf } from "./report.ts";
import { type Service, startService } from "./stand.ts";

const SHARE_MAX = 0.05;

/** Measures it, with the workers of the stand's own service, which is busy with nothing else. */
export async function benchHashChain(field: Field, seconds: number): Promise<void> {
  const { stand, realm, generator, service: working } = field;
  const serving = await startService(stand, { logged: true });
  const waiting = async () => {
    const [{ waiting }] = await stand.sql.unsafe<{ waiting: boolean }[]>(
      `select exists (select from ${realm.schema}.ledger_commits) as waiting`,
    );
    return waiting;
  };
  const linked = async () => {
    while (await waiting()) await pause(20);
  };
  let requests = 0;
  const post = async () => {
    const load = { connections: 256, how: "uniform", many: 1, seconds } as const;
    ({ requests } = await generator.run(serving.port, realm, load));
  };
  try {
    await post(); // a young process compiles
    await linked();
    const idle = await costOf(field, working, () => pause(1000));
    const posting = await whileSuspended(working, () => costOf(field, serving, post));
    const linking = await costOf(field, working, linked);
    const beside = idle.cpu / idle.seconds * linking.seconds;
    const [move, link] = [posting.cpu, linking.cpu - beside].map((cpu) => cpu / requests * 1e6);
    const share = link / (move + link);
    console.log(
      `hash chain: ${link.toFixed(1)} us of processor a transaction beside ${
        move.toFixed(1)
      } us of ` +
        `a transfer over 256 connections, ${(share * 100).toFixed(1)} % of both (must ` +
        `${SHARE_MAX * 100} %) ${verdictOf(share <= SHARE_MAX) ?? ""}`,
    );
  } finally {
    await serving.stop();
  }
}

/** Does something while no step of a service's workers runs. */
async function whileSuspended<T>({ pid }: Service, work: () => Promise<T>): Promise<T> {
  using _suspended = await suspend(pid);
  return await work();
}

/** The processor seconds of a service and of PostgreSQL while something runs. */
async function costOf({ stand }: Field, { pid }: Service, work: () => Promise<void>) {
  const used = async () => await cpuSeconds(pid) + await cpuSeconds(stand.server.pid);
  const [before, start] = [await used(), performance.now()];
  await work();
  return { cpu: await used() - before, seconds: (performance.now() - start) / 1000 };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
