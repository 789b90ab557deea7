/** The realm that the bench leaves behind, examined as its readers are told to. @module */
import { equal, match, ok } from "node:assert/strict";
import { transfersOf } from "../../bench/load.ts";
import { type Figures, show } from "../../bench/report.ts";
import { reportOf, type Sample } from "../../bench/soak.ts";
import { falselyHeard } from "../../bench/soundness.ts";
import { meanOf, printStatements } from "../../bench/statements.ts";
import { freePort } from "../support/ports.ts";
import { taskArgs } from "../support/tasks.ts";

const ROOT = new URL("../../", import.meta.url);

/** Runs a task to its end. */
async function task(
  name: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...await taskArgs(name), ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", LOG_LEVEL: "error", ...env },
  }).output();
  const decoder = new TextDecoder();
  return { code, text: `${decoder.decode(stdout)}${decoder.decode(stderr)}`.trim() };
}

/** Runs the service until `work` has ended. */
async function serving<T>(
  env: Record<string, string>,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const PORT = String(freePort());
  const child = new Deno.Command(Deno.execPath(), {
    args: await taskArgs("start"),
    cwd: ROOT,
    env: { LOG_LEVEL: "error", PORT, ...env },
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  try {
    const url = `http://127.0.0.1:${PORT}`;
    await until(async () => {
      const answer = await fetch(`${url}/health/live`).catch(() => null);
      await answer?.body?.cancel();
      return answer?.ok === true;
    });
    return await work(url);
  } finally {
    child.kill("SIGTERM");
    await child.status;
  }
}

/** Waits for an expected result, up to a limit of time. */
async function until(come: () => Promise<boolean>): Promise<void> {
  const late = performance.now() + 300_000;
  while (!await come()) {
    if (performance.now() > late) throw new Error("it does not come");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

Deno.test("the bench refuses a part that there is not, and names those that there are", async () => {
  const { code, text } = await task("bench", ["--only=singel"]);
  equal(code, 1);
  match(text, /^--only=singel is no part/);
  for (const part of ["hash_chain", "older", "single, hot, 256"]) ok(text.includes(part), part);
});

Deno.test("audit and verify find the realm of the bench sound", async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser-test-bench-" });
  try {
    const quick = ["--quick", "--own", "--rounds=1", "--seconds=0.3", "--only=uniform, 32"];
    const bench = await task("bench", [...quick, `--keep=${folder}`]);
    equal(bench.code, 0, bench.text);
    match(bench.text, /\| single, uniform, 32 \| \d+ \|/);
    match(bench.text, /^what the rows left, \d+ transactions .*: audit and verify find it sound/m);
    const kept = Number(/(\d+) transactions are kept in/.exec(bench.text)?.[1]);
    const audit = await task("audit", [], { DATA_DIR: folder });
    equal(audit.code, 0, audit.text);
    match(audit.text, /^realm bench \([0-9a-f-]{36}\): \d+ links, sound, head \d+:[0-9a-f]{64}$/);
    // Keys are bound to the address that the bench served at.
    const env = { DATA_DIR: folder, BASE_URL: "http://127.0.0.1:8080" };
    await serving(env, async (url) => {
      const key = await Deno.readTextFile(`${folder}/user_key`);
      await until(async () => {
        const head = await fetch(`${url}/v1/transactions/head`, { headers: { "x-api-key": key } });
        return (await head.json()).unsealed === 0;
      });
      const verify = await task("verify", ["--url", url, "--key", key]);
      equal(verify.code, 0, verify.text);
      match(
        verify.text,
        new RegExp(`^ok: ${kept} transactions and \\d+ events recomputed\nhead \\d+:`),
      );
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Samples of eight moments, the same but for what is given by their number. */
function samplesOf(differing: (i: number) => Partial<Sample>): Sample[] {
  const same = { rate: 5000, failed: 0, p50: 8, p99: 30, postgres: 200, unlinked: 5, dead: 100 };
  return Array.from({ length: 8 }, (_, i) => ({
    ...{ ...same, minute: i + 1, serving: 150, working: 120, accounts: 3 },
    ...{ transactions: i * 1000, database: 100 + i },
    ...differing(i),
  }));
}

Deno.test("a row misses its figure where the service takes more of the processor than it may", () => {
  const figures: Figures = {
    ...{ rate: 10_000, ratio: 3, p50: 1, p99: 2, max: 3, failed: 0, lost: 0 },
    ...{ service: 0.6, postgres: 0.4, cost: 100 },
  };
  const how = {
    generator: { name: "wrk" },
    yardsticks: { independent: { name: "pgbench" } },
    rounds: 1,
    seconds: 1,
  };
  const row = { name: "single", must: 2, aim: 3, serviceMax: 50 };
  const missed = /MISSED\*\*: single: 60\.0 us of service, must 50/;
  match(show([row], [[figures]], how), missed);
  ok(!missed.test(show([row], [[{ ...figures, service: 0.5 }]], how)));
});

Deno.test("refused requests are no transfers, and a bench fails where one was refused, or answered and not posted", () => {
  const load = { connections: 4, how: "uniform", many: 1000, seconds: 1 } as const;
  const run = { requests: 10, failed: 4, seconds: 1, p50: 1, p99: 1, max: 1 };
  equal(transfersOf(run, load), 6000);
  equal(falselyHeard({ transfers: 6000, failed: 0 }, 6000 + load.many).length, 0);
  match(falselyHeard({ transfers: 6000, failed: 0 }, 5999).join(), /6000 .* answered, 5999 posted/);
  match(falselyHeard({ transfers: 6000, failed: 4 }, 6000).join(), /^4 requests were refused/);
});

Deno.test("a statement's share is that of the turns in which the service is under load", () => {
  const shares = meanOf([new Map([["a", 0.5], ["b", 0.2]]), new Map([["a", 0.3]])]);
  equal(shares.get("a"), 0.4);
  equal(shares.get("b"), 0.1);
});

Deno.test("a bench fails where a statement beside the posting takes more than a third of a core", () => {
  const { exitCode } = Deno;
  const failedBy = (text: string, share: number) => {
    Deno.exitCode = 0;
    printStatements(new Map([[text, share]]), "in a test");
    return Deno.exitCode !== 0;
  };
  try {
    equal(failedBy("select id from transactions where id = any ($1::uuid[])", 0.4), true);
    equal(failedBy("select id from transactions where id = any ($1::uuid[])", 0.3), false);
    equal(failedBy("call ledger_queued_now($1)", 0.9), false);
  } finally {
    Deno.exitCode = exitCode;
  }
});

Deno.test("a long run misses its aim where memory or the table of accounts keeps growing", () => {
  const steady = reportOf(
    samplesOf((i) => ({ rate: 5000 - 100 * i, serving: i < 2 ? 90 : 150 })),
    "",
  );
  match(steady, /\nNothing that must stay as it is has grown/);
  match(steady, /: 7000 transactions, 0 requests failed; 1049 bytes of database for each/);
  for (
    const [differing, missed] of [
      [(i: number) => ({ serving: 150 + 8 * i }), "serving half, MiB"],
      [(i: number) => ({ working: 120 + 8 * i }), "working half, MiB"],
      [(i: number) => ({ accounts: 3 + i }), "accounts with indexes, MiB"],
      [(i: number) => ({ failed: i === 3 ? 1 : 0 }), "failed requests"],
    ] as const
  ) {
    equal(reportOf(samplesOf(differing), "").split("\n").at(-1), `**MISSED**: ${missed}`);
  }
});

Deno.test("a long run loads both halves, and leaves a sound realm and a picture", async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser-test-bench-" });
  try {
    const picture = `${folder}/soak.svg`;
    const soak = ["--only=soak", "--minutes=0.02", "--seconds=0.3", "--own", "--connections=8"];
    const bench = await task("bench", [...soak, `--picture=${picture}`]);
    equal(bench.code, 0, bench.text);
    const [, transactions, failed] = /: (\d+) transactions, (\d+) requests failed/.exec(
      bench.text,
    )!;
    equal(failed, "0");
    // The rest: what its accounts got at first.
    const [, sound] = /^what the rows left, (\d+) .*: audit and verify find it sound/m.exec(
      bench.text,
    )!;
    ok(Number(transactions) > 0 && Number(sound) >= Number(transactions), bench.text);
    const drawn = await Deno.readTextFile(picture);
    match(drawn, /^<svg .*>99th percentile<\/text>.*<\/svg>\n$/s);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
