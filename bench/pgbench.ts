/** One statement, called again and again by pgbench, with the time of every call. @module */
import type { Choice, LoadFigures } from "./generator.ts";
import { output, quantile } from "./processes.ts";

/** What pgbench runs, and how. */
export interface PgbenchRun {
  /** Address of the database, as its superuser. */
  url: string;
  /** Where it writes files. */
  folder: string;
  /** Of the file of its script; no two that are in use at once have the same. */
  name: string;
  /** The statement of a transfer between two numbered accounts. */
  statement(source: string, destination: string): string;
  how: Choice;
  accounts: number;
  clients: number;
  seconds: number;
  /** Settings of its sessions. */
  settings: Readonly<Record<string, string>>;
}

/** Runs it with prepared statements; lost races are repeated at once, any other refusal ends the run. @throws {Error} */
export async function runPgbench(of: PgbenchRun): Promise<LoadFigures & { retries: number }> {
  const { folder } = of;
  const path = `${folder}/${of.name}-${of.how}.pgbench`;
  await Deno.writeTextFile(path, script(of.how, of.statement));
  await takeTimes(folder);
  const { port, password, pathname } = new URL(of.url);
  const text = await output("pgbench", [
    ...["-n", "-M", "prepared", "-c", `${of.clients}`, "-j", "1", "-T", `${of.seconds}`],
    ...["-f", path, "-D", `n=${of.accounts}`, "--max-tries=0", "-l", "--log-prefix=times"],
    ...["-h", "127.0.0.1", "-p", port, "-U", "postgres", pathname.slice(1)],
  ], {
    cwd: folder,
    env: {
      PGPASSWORD: password,
      PGOPTIONS: Object.entries(of.settings).map(([name, to]) =>
        `-c ${name}=${to.replaceAll(" ", "\\ ")}`
      ).join(" "),
    },
  });
  const number = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? NaN);
  const requests = number(/number of transactions actually processed: (\d+)/);
  const times = await takeTimes(folder);
  return {
    requests,
    failed: number(/number of failed transactions: (\d+)/) || 0,
    seconds: requests / number(/tps = ([\d.]+)/),
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    max: times.at(-1) ?? NaN,
    retries: number(/total number of retries: (\d+)/) || 0,
  };
}

function script(how: Choice, statement: PgbenchRun["statement"]): string {
  const choose = {
    uniform: "\\set s random(1, :n)\n\\set d random(1, :n - 1)\n" +
      "\\set d case when :d >= :s then :d + 1 else :d end\n",
    hot: "\\set o random(2, :n)\n\\set w random(1, 2)\n" +
      "\\set s case when :w = 1 then 1 else :o end\n\\set d case when :w = 1 then :o else 1 end\n",
    collect: "\\set s random(2, :n)\n\\set d 1\n",
  };
  return choose[how] + statement(":s", ":d") + ";\n";
}

/** Reads what pgbench logged of each transaction, sorted, in milliseconds, and clears it away. */
async function takeTimes(folder: string): Promise<number[]> {
  const times: number[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.startsWith("times.")) continue;
    for (const line of (await Deno.readTextFile(`${folder}/${name}`)).split("\n")) {
      const micros = Number(line.split(" ")[2]);
      if (micros > 0) times.push(micros / 1000);
    }
    await Deno.remove(`${folder}/${name}`);
  }
  return times.sort((a, b) => a - b);
}
