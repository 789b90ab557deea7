/**
 * The hash chain's share of the cost of a transfer: transfers over 256 connections while the process that extends the
 * chain is stopped, and then nothing but the chain. @module
 */
import type { Field } from "./measure.ts";
import { cpuSeconds } from "./processes.ts";
import { verdictOf } from "./report.ts";
import { type Service, startService } from "./stand.ts";

const SHARE_MAX = 0.05;

/** Measures it, on a stand whose own service is stopped meanwhile. */
export async function benchHashChain(field: Field, seconds: number): Promise<void> {
  const { stand, realm, generator } = field;
  const serving = await startService(stand);
  const working = await startService(stand, { workers: true });
  const waiting = async () => {
    const [{ waiting }] = await stand.sql.unsafe<{ waiting: boolean }[]>(
      `select exists (select from ${realm.schema}.ledger_commits) as waiting`,
    );
    return waiting;
  };
  const linked = async () => {
    while (await waiting()) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  try {
    await linked();
    const idle = await costOf(field, working, () => pause(1000));
    Deno.kill(working.pid, "SIGSTOP");
    let requests = 0;
    const posting = await costOf(field, serving, async () => {
      const load = { connections: 256, how: "uniform", many: 1, seconds } as const;
      ({ requests } = await generator.run(serving.port, realm, load));
    });
    Deno.kill(working.pid, "SIGCONT");
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
    Deno.kill(working.pid, "SIGCONT");
    await Promise.all([serving.stop(), working.stop()]);
  }
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
