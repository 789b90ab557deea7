/**
 * For how long one request keeps the event loop of the service from all others, beside a quiet one in
 * the same run. `deno task bench --only=pauses [--rounds=N]`
 *
 * @module
 */
import { join } from "node:path";
import { median } from "./processes.ts";
import {
  type BenchRealm,
  makeRealm,
  removeStand,
  type Service,
  startService,
  startStand,
} from "./stand.ts";

/** How long a pause may be on a machine that does nothing else. */
const MUST_MS = 50;
const ACCOUNTS = 200;
const ITEMS = 10_000;
/** A service that watches its own event loop. */
export const MONITOR = new URL("loop_monitor.ts", import.meta.url).pathname;

interface Pauses {
  /** Milliseconds. */
  longest: number;
  /** Pauses of more than 50 ms. */
  over: number;
  /** Pauses of more than 5 ms. */
  stalls: number;
}

/** Kinds of free-form data of a batch: each fills some 500 bytes of an item. */
const DATA: Readonly<Record<string, (i: number) => unknown>> = {
  text: () => ({ text: "x".repeat(500) }),
  "many members": (i) =>
    Object.fromEntries(Array.from({ length: 30 }, (_, k) => [`k${k}`, `${i}`])),
  escapes: () => ({ text: '"\n'.repeat(125) }),
};

/** Measures every request. */
export async function benchPauses(rounds: number): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const work = await Deno.makeTempDir({ prefix: "purser-bench-work-" });
  const file = join(work, "pauses.json");
  const stand = await startStand(folder);
  const service = await startService(stand, {
    entry: MONITOR,
    env: { PAUSES_FILE: file },
  });
  try {
    const realm = await makeRealm(stand, service, { name: "pauses", accounts: ACCOUNTS });
    const requests = requestsOf(service, realm);
    console.log(
      "| request | longest pause, ms | of each round | pauses over 50 ms |\n|---|--:|---|--:|",
    );
    for (const [name, ask] of Object.entries(requests)) {
      const found: Pauses[] = [];
      for (let i = 0; i < rounds; i++) {
        await readPauses(service, file);
        await ask(i);
        found.push(await readPauses(service, file));
      }
      const each = found.map(({ longest }) => longest);
      const verdict = median(each) > MUST_MS ? " **over**" : "";
      const over = found.reduce((sum, one) => sum + one.over, 0);
      console.log(
        `| ${name} | ${median(each).toFixed(1)}${verdict} | ${
          each.map((ms) => ms.toFixed(1)).join(", ")
        } | ${over} |`,
      );
    }
  } finally {
    await service.stop();
    await Deno.remove(work, { recursive: true });
    await removeStand(stand, folder);
  }
}

/** Has the monitor write down what it saw, and reads it. */
export async function readPauses(service: Service, file: string): Promise<Pauses> {
  await new Promise((resolve) => setTimeout(resolve, 200)); // the end of a long pause is seen too
  await Deno.remove(file).catch(() => {});
  Deno.kill(service.pid, "SIGUSR2");
  for (;;) {
    const text = await Deno.readTextFile(file).catch(() => null);
    if (text !== null) return JSON.parse(text);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function requestsOf(
  { url }: Service,
  { key, accounts }: BenchRealm,
): Record<string, (round: number) => Promise<unknown>> {
  const ask = async (path: string, body?: string, more: Record<string, string> = {}) => {
    const response = await fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { "x-api-key": key, "content-type": "application/json", ...more },
      body,
    });
    await response.bytes();
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
  };
  const batch = "/v1/transactions/batch";
  const rows: [string, (round: number) => Promise<unknown>][] = [
    ["OpenAPI document, first of its process and then kept", () => ask("/v1/openapi.json")],
    ["nothing", () => new Promise((resolve) => setTimeout(resolve, 2000))],
  ];
  for (const [name, data] of Object.entries(DATA)) {
    const body = bodyOf(accounts, data);
    const size = `${ITEMS} transfers with ${name}, ${(body.length / 2 ** 20).toFixed(1)} MiB`;
    rows.push(
      [
        size,
        (round) => ask(batch, body, { "idempotency-key": `${name} ${round}`.replaceAll(" ", "-") }),
      ],
      [
        `the same again`,
        (round) => ask(batch, body, { "idempotency-key": `${name} ${round}`.replaceAll(" ", "-") }),
      ],
      [`the same, tried`, () => ask(`${batch}?dry_run=true`, body)],
    );
  }
  rows.push(["a page of a list", () => ask("/v1/transactions?pageSize=100")]);
  return Object.fromEntries(
    rows.map(([name, run], i) => [name.startsWith("the same") ? `${name} (${i})` : name, run]),
  );
}

function bodyOf(accounts: readonly string[], data: (i: number) => unknown): string {
  return JSON.stringify({
    atomic: true,
    transactions: Array.from({ length: ITEMS }, (_, i) => ({
      source: { account: accounts[i % ACCOUNTS] },
      destination: { account: accounts[(i + 1) % ACCOUNTS] },
      value: "1.5",
      data: data(i),
    })),
  });
}
