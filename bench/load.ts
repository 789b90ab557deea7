/** Runs load against the service, with our own generator or with wrk. @module */
import type { LoadFigures } from "./generator.ts";
import { isInstalled, output } from "./processes.ts";
import type { BenchRealm } from "./stand.ts";

/** The requests. */
export interface Load {
  connections: number;
  /** Which accounts meet: any two, or one hot account and any other. */
  how: "uniform" | "hot";
  /** Transfers in one request; 1 is the single route. */
  many: number;
  seconds: number;
}

/** A load generator. */
export interface Generator {
  name: string;
  run(port: number, realm: BenchRealm, load: Load): Promise<LoadFigures>;
}

const LUA = new URL("load.lua", import.meta.url).pathname;
const OWN = new URL("generator.ts", import.meta.url).pathname;

/**
 * Chooses a generator: our own, which tells times as they were, or wrk if it is asked for, whose percentiles
 * are corrected for requests that it would have sent.
 *
 * @param folder where lists of accounts are written
 */
export async function chooseGenerator(folder: string, wrk: boolean): Promise<Generator> {
  if (wrk && !await isInstalled("wrk")) throw new Error("wrk is not installed: leave --wrk out");
  const lists = new Map<string, Promise<string>>();
  return {
    name: wrk ? "wrk (times corrected)" : "bench/generator.ts",
    run: wrk ? withWrk : withOwn,
  };

  async function withWrk(port: number, realm: BenchRealm, load: Load): Promise<LoadFigures> {
    const { connections, seconds, how, many } = load;
    const text = await output("wrk", [
      ...["-t", "1", "-c", `${connections}`, "-d", `${seconds}s`, "--timeout", "30s"],
      ...["-s", LUA, `http://127.0.0.1:${port}`, "--"],
      ...[realm.key, await list(realm), how, `${many}`],
    ]);
    const figures = JSON.parse(text.slice(text.indexOf("@{") + 1));
    return {
      requests: figures.requests,
      failed: figures.failed,
      seconds: figures.micros / 1e6,
      p50: figures.p50 / 1000,
      p99: figures.p99 / 1000,
      max: figures.max / 1000,
    };
  }

  async function withOwn(port: number, realm: BenchRealm, load: Load): Promise<LoadFigures> {
    const { connections, seconds, how, many } = load;
    const args = [port, connections, seconds, realm.key, await list(realm), how, many].map(String);
    return JSON.parse(await output(Deno.execPath(), ["run", "-A", OWN, ...args]));
  }

  /** Two generators may begin at once, so a realm's list is written before the first of them reads. */
  function list(realm: BenchRealm): Promise<string> {
    const path = `${folder}/${realm.id}.accounts`;
    const written = lists.get(path) ??
      Deno.writeTextFile(path, realm.accounts.join("\n") + "\n").then(() => path);
    lists.set(path, written);
    return written;
  }
}
