/**
 * The yardstick: the same move called straight in PostgreSQL, one serializable prepared call per
 * transfer, over pgbench or, where that is not installed, over our own client.
 *
 * @module
 */
import type { LoadFigures } from "./generator.ts";
import { isInstalled, output, quantile } from "./processes.ts";
import type { BenchRealm, Stand } from "./stand.ts";

/** How the yardstick runs. */
export interface YardstickRun {
  clients: number;
  how: "uniform" | "hot";
  seconds: number;
}

/** The yardstick on a realm that nothing else touches. */
export interface Yardstick {
  name: string;
  run(of: YardstickRun): Promise<LoadFigures & { retries: number }>;
}

const SQL = new URL("yardstick.sql", import.meta.url);
const OWN = new URL("yardstick_client.ts", import.meta.url).pathname;

/** The statement, with the actor filled in; $s and $d stand for the two accounts. */
function statement(actor: string, s: string, d: string): string {
  return `select bench_one(gen_random_uuid(), gen_random_uuid(), uuidv7(), bench_account(${s}),
    bench_account(${d}), 1, '${actor}')`.replaceAll(/\s+/g, " ");
}

/** Prepares the yardstick's accounts and its function in a realm's own tables. */
export async function openYardstick(
  stand: Stand,
  realm: BenchRealm,
  options: { folder: string; accounts: number; own: boolean },
): Promise<Yardstick> {
  const { sql } = stand;
  const path = `set search_path to ${realm.schema};`;
  await sql.unsafe(path + await Deno.readTextFile(SQL));
  for (const table of ["transactions", "entries"]) {
    await sql.unsafe(`drop trigger ${table}_append_only on ${realm.schema}.${table}`);
  }
  await sql.unsafe(`set search_path to ${realm.schema};
    insert into accounts (id, type, asset, decimals, active, enabled, currency, currency_places,
      country, holder, owner, created_at)
    select bench_account(n), 'virtual', 'BENCH', 18, true, true, 'USD', 2, 'US', '${realm.admin}',
      '${realm.admin}', now() from generate_series(1, ${options.accounts}) n`);

  /** Every run begins the same: nothing posted yet, all accounts full. */
  async function reset(): Promise<void> {
    await sql.unsafe(`set search_path to ${realm.schema};
      truncate transactions, entries, idempotency;
      update accounts set total = 1000000, seq = 0;`);
    await sql.unsafe(`vacuum analyze ${realm.schema}.accounts`);
  }

  const pgbench = !options.own && await isInstalled("pgbench");
  return {
    name: pgbench ? "pgbench" : "bench/yardstick_client.ts",
    async run(of) {
      await reset();
      return await (pgbench ? withPgbench(of) : withOwn(of));
    },
  };

  async function withPgbench(of: YardstickRun): Promise<LoadFigures & { retries: number }> {
    const script = `${options.folder}/yardstick-${of.how}.pgbench`;
    await Deno.writeTextFile(script, script_(of.how));
    for await (const { name } of Deno.readDir(options.folder)) {
      if (name.startsWith("times.")) await Deno.remove(`${options.folder}/${name}`);
    }
    const url = new URL(stand.server.superuserUrl);
    const text = await output("pgbench", [
      ...["-n", "-M", "prepared", "-c", `${of.clients}`, "-j", "1", "-T", `${of.seconds}`],
      ...["-f", script, "-D", `n=${options.accounts}`, "--max-tries=0"],
      ...["-l", "--log-prefix=times", "-h", "127.0.0.1", "-p", url.port, "-U", "postgres"],
      "purser",
    ], { cwd: options.folder, env: environment(url) });
    const number = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? NaN);
    const requests = number(/number of transactions actually processed: (\d+)/);
    const times = await readTimes();
    return {
      requests,
      failed: number(/number of failed transactions: (\d+)/) || 0,
      seconds: requests / number(/tps = ([\d.]+)/),
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
      retries: number(/total number of retries: (\d+)/) || 0,
    };
  }

  function script_(how: "uniform" | "hot"): string {
    const choose = how === "uniform"
      ? "\\set s random(1, :n)\n\\set d random(1, :n - 1)\n" +
        "\\set d case when :d >= :s then :d + 1 else :d end\n"
      : "\\set o random(2, :n)\n\\set w random(1, 2)\n" +
        "\\set s case when :w = 1 then 1 else :o end\n\\set d case when :w = 1 then :o else 1 end\n";
    return choose + statement(realm.admin, ":s", ":d") + ";\n";
  }

  function environment(url: URL): Record<string, string> {
    return {
      PGPASSWORD: url.password,
      PGOPTIONS: `-c search_path=${realm.schema} -c default_transaction_isolation=serializable`,
    };
  }

  async function readTimes(): Promise<number[]> {
    const times: number[] = [];
    for await (const { name } of Deno.readDir(options.folder)) {
      if (!name.startsWith("times.")) continue;
      for (const line of (await Deno.readTextFile(`${options.folder}/${name}`)).split("\n")) {
        const micros = Number(line.split(" ")[2]);
        if (micros > 0) times.push(micros / 1000);
      }
    }
    return times.sort((a, b) => a - b);
  }

  async function withOwn(of: YardstickRun): Promise<LoadFigures & { retries: number }> {
    const plan = {
      url: stand.server.superuserUrl,
      schema: realm.schema,
      statement: statement(realm.admin, "$1::bigint", "$2::bigint"),
      accounts: options.accounts,
      ...of,
    };
    return JSON.parse(await output(Deno.execPath(), ["run", "-A", OWN, JSON.stringify(plan)]));
  }
}
