/**
 * Whether attacks slow a realm: transfers of a realm over a few connections, quiet and under each
 * attack in turns, and the ratio of the two. `deno task bench --only=attacks [--name=text]
 * [--rounds=N] [--seconds=N]`
 *
 * @module
 */
import { type AttackKeys, ATTACKS } from "./attack_clients.ts";
import type { LoadFigures } from "./generator.ts";
import { chooseGenerator, type Generator } from "./load.ts";
import { median } from "./processes.ts";
import {
  type BenchRealm,
  logIn,
  makeRealm,
  removeStand,
  send,
  type Service,
  startService,
  startStand,
} from "./stand.ts";

/** How much later the 99th of a hundred transfers may be answered under an attack. */
const MUST = 3;
const ACCOUNTS = 200;
const CONNECTIONS = 4;
const CLIENTS = new URL("attack_clients.ts", import.meta.url).pathname;
/** Time that an attack is given to take hold. */
const RISE_MS = 2000;
/** Rows that the search reads. */
const ROWS = 30_000;

interface Field {
  service: Service;
  realm: BenchRealm;
  generator: Generator;
  keys: AttackKeys;
  seconds: number;
}

/** Measures every attack, or those whose name contains a text. */
export async function benchAttacks(
  how: { rounds: number; seconds: number; name?: string },
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const work = await Deno.makeTempDir({ prefix: "purser-bench-work-" });
  const stand = await startStand(folder);
  // A chain whose node is away: accounts on it are never ready.
  const env = { ETHEREUM_RPC_URL: "http://127.0.0.1:1" };
  const service = await startService(stand, { env });
  try {
    const realm = await makeRealm(stand, service, { name: "attacked", accounts: ACCOUNTS });
    const generator = await chooseGenerator(work, { own: true, wrk: false });
    const keys = await keysOf(service, realm);
    await fill(service, realm);
    const field = { service, realm, generator, keys, seconds: how.seconds };
    await quiet(field);
    const names = Object.keys(ATTACKS).filter((name) => name.includes(how.name ?? ""));
    const lines = [];
    for (const name of names) lines.push(await row(field, name, how.rounds));
    console.log(table(lines, how, generator.name));
  } finally {
    await service.stop();
    await Deno.remove(work, { recursive: true });
    await removeStand(stand, folder);
  }
}

interface Line {
  name: string;
  before: number;
  during: number;
  ratio: number;
  /** Transfers a second under the attack, of those before. */
  share: number;
  failed: number;
  answers: Record<string, number>;
}

/** One attack, in rounds of quiet and attack. */
async function row(field: Field, name: string, rounds: number): Promise<Line> {
  const before: LoadFigures[] = [], during: LoadFigures[] = [];
  const answers: Record<string, number> = {};
  for (let i = 0; i < rounds; i++) {
    before.push(await quiet(field));
    const attack = startAttack(field, name);
    await new Promise((resolve) => setTimeout(resolve, RISE_MS));
    during.push(await quiet(field));
    for (const [status, times] of Object.entries(await attack.end())) {
      answers[status] = (answers[status] ?? 0) + times;
    }
  }
  const p99 = (runs: LoadFigures[]) => median(runs.map((run) => run.p99));
  const rate = (runs: LoadFigures[]) => median(runs.map((run) => run.requests / run.seconds));
  const ratio = median(during.map((run, i) => run.p99 / before[i].p99));
  const line = {
    name,
    before: p99(before),
    during: p99(during),
    ratio,
    share: rate(during) / rate(before),
    failed: during.reduce((sum, run) => sum + run.failed, 0),
    answers,
  };
  console.error(`  ${name}: ${ratio.toFixed(2)} ${JSON.stringify(answers)}`);
  return line;
}

/** Transfers and nothing of ours beside them. */
function quiet({ generator, service, realm, seconds }: Field): Promise<LoadFigures> {
  const load = { connections: CONNECTIONS, how: "uniform", many: 1, seconds } as const;
  return generator.run(service.port, realm, load);
}

function startAttack({ service, keys }: Field, name: string) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", CLIENTS, name, service.url],
    env: { ATTACK_KEYS: JSON.stringify(keys) },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  return {
    async end(): Promise<Record<string, number>> {
      child.kill("SIGTERM");
      const { stdout } = await child.output();
      return JSON.parse(new TextDecoder().decode(stdout).trim() || "{}");
    },
  };
}

/** A user of the lowest role, and what every client carries. */
async function keysOf(service: Service, realm: BenchRealm): Promise<AttackKeys> {
  const name = "attacker";
  const password = "an attacker's password";
  await send(service, realm.key, "/v1/users", { username: name, password });
  const user = await logIn(service, realm, { username: name, password });
  const { application, realmKey } = realm;
  return { user, admin: realm.key, application, realmKey, realm: realm.id };
}

/** Transactions with text, for the searches. */
async function fill(service: Service, { key, accounts }: BenchRealm): Promise<void> {
  for (let i = 0; i < ROWS; i += 1000) {
    await send(service, key, "/v1/transactions/batch", {
      atomic: true,
      transactions: Array.from({ length: 1000 }, (_, n) => ({
        source: { account: accounts[n % ACCOUNTS] },
        destination: { account: accounts[(n + 1) % ACCOUNTS] },
        value: "1",
        data: { n, text: `lorem ipsum dolor sit amet ${i + n}`, more: { a: [1, 2, 3] } },
      })),
    });
  }
}

function table(
  lines: readonly Line[],
  { rounds, seconds }: { rounds: number; seconds: number },
  generator: string,
): string {
  return [
    `Transfers over ${CONNECTIONS} connections by ${generator}; medians of ${rounds} rounds of ` +
    `${seconds} s, quiet and under attack in turns; p99 must stay within ${MUST} times.`,
    "",
    "| attack | p99 before, ms | p99 during, ms | ratio | transfers of before | failed | answers |",
    "|---|--:|--:|--:|--:|--:|---|",
    ...lines.map(({ name, before, during, ratio, share, failed, answers }) => {
      const told = Object.entries(answers).map(([status, times]) => `${times} × ${status}`).join();
      const verdict = ratio <= MUST ? "" : " **over**";
      return `| ${name} | ${before.toFixed(1)} | ${during.toFixed(1)} | ${
        ratio.toFixed(2)
      }${verdict} ` +
        `| ${(share * 100).toFixed(0)} % | ${failed} | ${told} |`;
    }),
    "",
  ].join("\n");
}
