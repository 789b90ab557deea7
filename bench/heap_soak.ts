/**
 * One process of the service, its workers with it, under attack or in all its uses for long: whether what is alive in its
 * heap stays as it is, or something is kept for each request. `deno task bench --only=heap_soak --minutes=10
 * --name=attacks`, or `--name=usual`. @module
 */
import { openProgress } from "../progress.ts";
import { type AttackKeys, ATTACKS } from "./attack_clients.ts";
import { openReceiver } from "./events.ts";
import { chooseGenerator } from "./load.ts";
import { residentMib } from "./memory.ts";
import { median } from "./processes.ts";
import { verdictOf } from "./report.ts";
import { proveSound } from "./soundness.ts";
import {
  type BenchRealm,
  logIn,
  makeRealm,
  removeStand,
  send,
  type Service,
  startService,
  startStand,
  V8_FLAGS,
} from "./stand.ts";
import { LOGIN, USUAL } from "./usual_clients.ts";

/** What was seen at the end of a part of the run. */
interface Sample {
  /** Most resident memory of the part, MiB, and what was left of it when all garbage was collected. */
  most: number;
  left: number;
  /** Alive in the heap, and in buffers that it refers to, MiB. */
  heap: number;
  external: number;
}

/** Kinds of clients, and the modules that run them. */
const RUNS = [
  { run: "attacks", kinds: Object.keys(ATTACKS), module: "attack_clients.ts" },
  { run: "usual", kinds: Object.keys(USUAL), module: "usual_clients.ts" },
];
/** As in {@link benchSoak}: more than this from the second quarter to the last is kept for each request. */
const GROWTH_MUST = 1.1;
const SAMPLES = 20;
const MIB = 2 ** 20;
const ACCOUNTS = 200;
/** Transfers beside all else. */
const CONNECTIONS = 8;
const QUIET_S = 60;
const MONITOR = new URL("heap_monitor.ts", import.meta.url).pathname;

/** Puts a process under load for so many minutes, and tells what is alive in it. */
export async function benchHeapSoak(
  { minutes, name = "attacks" }: { minutes: number; name?: string },
): Promise<void> {
  const chosen = RUNS.flatMap(({ run, kinds, module }) =>
    kinds.filter((kind) => run === name || kind.includes(name)).map((kind) => ({ kind, module }))
  );
  if (chosen.length === 0) throw new Error("--name=attacks, --name=usual, or of one kind");
  const folder = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const work = await Deno.makeTempDir({ prefix: "purser-bench-work-" });
  const stand = await startStand(folder);
  const receiver = openReceiver();
  const file = `${work}/heap.json`;
  const service = await startService(stand, {
    workers: true,
    entry: MONITOR,
    flags: [`${V8_FLAGS},--expose-gc`],
    env: {
      HEAP_FILE: file,
      DATA_DIR: `${folder}/records`,
      WEBHOOKS_ALLOW_PRIVATE: "true",
      ETHEREUM_RPC_URL: "http://127.0.0.1:1", // accounts on it are never ready
      LOG_LEVEL: "error", // their jobs fail
    },
  });
  try {
    const realm = await makeRealm(stand, service, { name: "soaked", accounts: ACCOUNTS });
    const keys = await prepare(service, realm);
    const hook = { url: receiver.url, events: ["transaction.created"] };
    await send(service, realm.key, "/v1/webhooks", hook);
    const generator = await chooseGenerator(work, { own: true, wrk: false });
    const load = { connections: CONNECTIONS, how: "uniform", many: 1 } as const;
    const clients = chosen.map((one) => startClients(one, service, keys));
    const transfers = generator.run(service.port, realm, { ...load, seconds: minutes * 60 });
    const samples = await sample(service, file, minutes * 60 / SAMPLES);
    const { requests, failed } = await transfers;
    for (const one of clients) console.log(`${one.kind}: ${await one.end()}`);
    console.log(
      `${requests} transfers beside them, ${failed} failed; ${receiver.count()} messages`,
    );
    await new Promise((resolve) => setTimeout(resolve, QUIET_S * 1000));
    report(name, samples, await residentMib(service.pid));
    await proveSound(stand, { service, generator }, [realm]);
  } finally {
    await service.stop();
    await receiver.close();
    await Deno.remove(work, { recursive: true });
    await removeStand(stand, folder);
  }
}

/** A user of the lowest role, and transactions for the lists. */
async function prepare(service: Service, realm: BenchRealm): Promise<AttackKeys> {
  await send(service, realm.key, "/v1/users", LOGIN);
  const user = await logIn(service, realm, LOGIN);
  const { application, realmKey } = realm;
  return { user, admin: realm.key, application, realmKey, realm: realm.id };
}

function startClients(
  { kind, module }: { kind: string; module: string },
  { url }: Service,
  keys: AttackKeys,
) {
  const path = new URL(module, import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", path, kind, url],
    env: { ATTACK_KEYS: JSON.stringify(keys) },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  return {
    kind,
    async end(): Promise<string> {
      child.kill("SIGTERM");
      return new TextDecoder().decode((await child.output()).stdout).trim();
    },
  };
}

async function sample({ pid }: Service, file: string, seconds: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const progress = openProgress();
  progress.part("Under load", SAMPLES, "runs");
  while (samples.length < SAMPLES) {
    let most = 0;
    for (const until = performance.now() + seconds * 1000; performance.now() < until;) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      most = Math.max(most, await residentMib(pid));
    }
    const { heap, external } = await collect(pid, file);
    samples.push({ most, left: await residentMib(pid), heap, external });
    progress.add(1);
  }
  progress.end();
  return samples;
}

/** Has the process collect all garbage, and reads what is alive. */
async function collect(pid: number, file: string): Promise<{ heap: number; external: number }> {
  await Deno.remove(file).catch(() => {}); // there is none the first time
  Deno.kill(pid, "SIGUSR2");
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const text = await Deno.readTextFile(file).catch(() => null); // not yet written
    if (text === null) continue;
    const { heap, external } = JSON.parse(text);
    return { heap: heap / MIB, external: external / MIB };
  }
}

/** Prints quarters of the run, and whether the last has more alive than the second. */
function report(name: string, samples: readonly Sample[], afterwards: number): void {
  const quarter = samples.length / 4;
  const quarters = [0, 1, 2, 3].map((at) => samples.slice(at * quarter, (at + 1) * quarter));
  const titles = {
    heap: "alive in the heap, MiB",
    external: "alive outside of it, MiB",
    most: "resident at most, MiB",
    left: "resident, garbage collected, MiB",
  };
  const lines = (Object.keys(titles) as (keyof Sample)[]).map((column) => {
    const of = quarters.map((part) => median(part.map((one) => one[column])));
    const growth = of[3] / of[1];
    const isWell = growth <= GROWTH_MUST;
    const verdict = column === "heap" ? verdictOf(isWell, isWell) ?? "reached" : "";
    const shown = of.map((value) => value.toFixed(0)).join(" | ");
    return `| ${titles[column]} | ${shown} | ${growth.toFixed(2)} ${verdict} |`;
  });
  console.log([
    `One process, ${name}; medians of the parts of each quarter.`,
    "",
    "| | first quarter | second | third | last | last of second |",
    "|---|--:|--:|--:|--:|--:|",
    ...lines,
    "",
    `${QUIET_S} s later ${afterwards.toFixed(0)} MiB are resident.`,
  ].join("\n"));
}
