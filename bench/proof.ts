/**
 * The cost of proof: how fast a backlog is linked, whether the hash chain keeps up with the posting
 * queue at its full rate, and the time and memory of audit and verify, on a ledger of so many
 * transactions.
 *
 * `deno run -A bench/proof.ts [--transactions=100000] [--seconds=3] [--keep=folder]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { chooseGenerator, type Generator } from "./load.ts";
import { cpuSeconds } from "./processes.ts";
import {
  type BenchRealm,
  countTransactions,
  keepStand,
  makeRealm,
  removeStand,
  type Service,
  settingsOf,
  type Stand,
  startService,
  startStand,
} from "./stand.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const ACCOUNTS = 1000;
const POLL_MS = 100;

/** The parts of a run. */
interface Field {
  stand: Stand;
  realm: BenchRealm;
  generator: Generator;
}

if (import.meta.main) await main(Deno.args);

/** Fills a ledger, seals it, proves it, and prints what each took. */
export async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      transactions: { type: "string", default: "100000" },
      seconds: { type: "string", default: "3" },
      keep: { type: "string" },
    },
  });
  const folder = values.keep ?? await Deno.makeTempDir({ prefix: "purser-proof-" });
  const work = await Deno.makeTempDir({ prefix: "purser-proof-work-" });
  const stand = await startStand(folder);
  try {
    const serving = await startService(stand);
    const realm = await makeRealm(stand, serving, { name: "proof", accounts: ACCOUNTS });
    const field = {
      stand,
      realm,
      generator: await chooseGenerator(work, { own: true, wrk: false }),
    };
    await fill(field, serving, Number(values.transactions));
    await serving.stop();
    const service = await startService(stand, { workers: true });
    try {
      await drain(field, service);
      await besideLoad(field, service, Number(values.seconds));
      await prove(field, service);
    } finally {
      await service.stop();
    }
    if (values.keep !== undefined) await keepStand(folder, realm);
  } finally {
    await Deno.remove(work, { recursive: true });
    await (values.keep === undefined ? removeStand(stand, folder) : stand.stop());
  }
}

async function fill(field: Field, service: Service, to: number): Promise<void> {
  const { stand, realm, generator } = field;
  const load = { connections: 4, how: "uniform", many: 1000, seconds: 1 } as const;
  while (await countTransactions(stand, realm) < to) {
    await generator.run(service.port, realm, load);
  }
  await stand.sql.unsafe(`vacuum analyze ${realm.schema}.transactions`);
}

/** Seals all that waits, with nothing else to do. */
async function drain({ stand, realm }: Field, service: Service): Promise<void> {
  const end = await linkedIn(stand, realm) + await waitingIn(stand, realm);
  const before = await linkedIn(stand, realm);
  const start = performance.now();
  const cpu = await cpuOf(stand, service);
  await until(async () => (await linkedIn(stand, realm)) >= end);
  const seconds = (performance.now() - start) / 1000;
  const used = await cpuOf(stand, service);
  const count = end - before;
  const each = (seconds: number) => (seconds / count * 1e6).toFixed(1);
  console.log(
    `a backlog of ${count}: ${seconds.toFixed(1)} s, ${Math.round(count / seconds)}/s; ` +
      `${each(used.service - cpu.service)} us of the service and ` +
      `${each(used.postgres - cpu.postgres)} us of PostgreSQL a transaction`,
  );
}

/** The queue at its full rate, singly and in batches, with the sealer beside it. */
async function besideLoad(field: Field, service: Service, seconds: number): Promise<void> {
  const { stand, realm, generator } = field;
  for (const [connections, many] of [[256, 1], [4, 1000]]) {
    let running = true;
    let most = 0;
    const watching = until(async () => {
      most = Math.max(most, await waitingIn(stand, realm));
      return !running;
    });
    const load = { connections, how: "uniform", many, seconds } as const;
    const { requests, failed, seconds: took } = await generator.run(service.port, realm, load);
    if (failed > 0) throw new Error(`${failed} requests failed`);
    const left = await waitingIn(stand, realm);
    running = false;
    await watching;
    const start = performance.now();
    await until(async () => (await waitingIn(stand, realm)) === 0);
    console.log(
      `${connections} connections, ${many} a request: ${Math.round(requests * many / took)}/s; ` +
        `at most ${most} waited for their links, ${left} at the end, none ` +
        `${((performance.now() - start) / 1000).toFixed(1)} s later`,
    );
  }
}

/** Audit and verify, each as the process that a user starts. */
async function prove({ stand, realm }: Field, service: Service): Promise<void> {
  const count = await countTransactions(stand, realm);
  const env = settingsOf(stand);
  const flags = ["--url", service.url, "--key", realm.key];
  const spilled = await spilledBytes(stand);
  for (
    const [name, args, more] of [
      ["audit", ["run", "-A", "main.ts", "audit"], env],
      ["verify", ["run", "-A", "examples/verify.ts", ...flags], {}],
    ] as const
  ) {
    const { seconds, peakMib, text } = await watched(args, more);
    console.log(
      `${name} of ${count} transactions: ${seconds.toFixed(1)} s, at most ${peakMib} MiB: ${text}`,
    );
  }
  const mib = Math.round((await spilledBytes(stand) - spilled) / 2 ** 20);
  console.log(`PostgreSQL sorted ${mib} MiB on disk meanwhile`);
}

/** Runs a program to its end and watches the most memory that it takes. */
async function watched(args: readonly string[], env: Record<string, string>) {
  const start = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let peakKib = 0;
  let running = true;
  const watching = until(async () => {
    const status = await Deno.readTextFile(`/proc/${child.pid}/status`).catch(() => "");
    peakKib = Math.max(peakKib, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    return !running;
  });
  const { code, stdout } = await child.output();
  running = false;
  await watching;
  const text = new TextDecoder().decode(stdout).trim().split("\n").slice(-1)[0];
  if (code !== 0) throw new Error(`it ended with ${code}: ${text}`);
  return {
    seconds: (performance.now() - start) / 1000,
    peakMib: Math.round(peakKib / 1024),
    text,
  };
}

async function linkedIn({ sql }: Stand, { schema }: BenchRealm): Promise<number> {
  return Number((await sql.unsafe(`select seq from ${schema}.chain_head`))[0].seq);
}

async function waitingIn({ sql }: Stand, { schema }: BenchRealm): Promise<number> {
  const [{ n }] = await sql.unsafe(
    `select coalesce(sum(cardinality(transactions) + cardinality(events)), 0) as n
      from ${schema}.ledger_commits`,
  );
  return Number(n);
}

async function spilledBytes({ sql }: Stand): Promise<number> {
  await sql`select pg_stat_clear_snapshot()`;
  const [{ bytes }] = await sql`
    select temp_bytes as bytes from pg_stat_database where datname = current_database()`;
  return Number(bytes);
}

async function cpuOf(stand: Stand, service: Service) {
  return {
    service: await cpuSeconds(service.pid),
    postgres: await cpuSeconds(stand.server.pid),
  };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!await holds()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
