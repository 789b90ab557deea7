/** Runs load against the service, with wrk or with our own generator. @module */
import { type Choice, formText, type LoadFigures, type RequestForm } from "./generator.ts";
import { isInstalled, output } from "./processes.ts";

/** The requests. */
export interface Load {
  connections: number;
  how: Choice;
  /** Transfers in one request; 1 is the single route. */
  many: number;
  seconds: number;
}

/** Whose accounts meet: a realm, or a service that is not this one. */
export interface Target {
  id: string;
  /** A user key; without meaning where there is a form. */
  key: string;
  accounts: readonly string[];
  form?: RequestForm;
}

/** A load generator. */
export interface Generator {
  /** Its name, and whether its percentiles are of the times as they were. */
  readonly name: string;
  run(port: number, target: Target, load: Load): Promise<LoadFigures>;
  /** What all runs until now were answered, for one target. */
  heard(target: Target): Heard;
}

/** What callers were told. */
export interface Heard {
  /** Transfers in requests that were answered well: each of them says that it was posted. */
  transfers: number;
  /** Requests that were refused, or not answered. */
  failed: number;
}

/** Transfers of a run that callers were told of as posted: a refusal costs a service less, and is none. */
export function transfersOf({ requests, failed }: LoadFigures, { many }: Load): number {
  return Math.max(0, requests - failed) * many;
}

const LUA = new URL("load.lua", import.meta.url).pathname;
const OWN = new URL("generator.ts", import.meta.url).pathname;

/**
 * Chooses a generator: wrk, which takes less of the machine than ours, where it is installed. wrk corrects
 * its percentiles for requests that it would have sent; `load.lua` takes the correction back.
 *
 * @param folder where lists of accounts are written
 * @param asked `own` for our generator in any case, `wrk` to refuse where wrk is missing
 */
export async function chooseGenerator(
  folder: string,
  asked: { own: boolean; wrk: boolean },
): Promise<Generator> {
  const useWrk = (asked.wrk || !asked.own) && await isInstalled("wrk");
  if (asked.wrk && !useWrk) throw new Error("wrk is not installed: leave --wrk out");
  const lists = new Map<string, Promise<string>>();
  let corrected = false;
  const send = useWrk ? withWrk : withOwn;
  return {
    get name() {
      if (!useWrk) return "bench/generator.ts";
      return corrected ? "wrk (some times corrected by it)" : "wrk (times as they were)";
    },
    ...noting(send),
  };

  async function withWrk(port: number, target: Target, load: Load): Promise<LoadFigures> {
    const { connections, seconds, how, many } = load;
    const whole = Math.max(1, Math.round(seconds)); // wrk takes no part of a second
    const text = await output("wrk", [
      ...["-t", "1", "-c", `${connections}`, "-d", `${whole}s`, "--timeout", "30s"],
      ...["-s", LUA, `http://127.0.0.1:${port}`, "--"],
      ...[target.key, await list(target), how, `${many}`, `${connections}`, ...await form(target)],
    ]);
    const figures = JSON.parse(text.slice(text.lastIndexOf("@{") + 1));
    corrected ||= figures.corrected;
    return {
      requests: figures.requests,
      failed: figures.failed,
      seconds: figures.micros / 1e6,
      p50: figures.p50 / 1000,
      p99: figures.p99 / 1000,
      max: figures.max / 1000,
    };
  }

  async function withOwn(port: number, target: Target, load: Load): Promise<LoadFigures> {
    const { connections, seconds, how, many } = load;
    const args = [port, connections, seconds, target.key, await list(target), how, many].map(
      String,
    );
    const all = [...args, ...await form(target)];
    return JSON.parse(await output(Deno.execPath(), ["run", "-A", OWN, ...all]));
  }

  /** The file of a target's form, where it has one. */
  async function form(target: Target): Promise<string[]> {
    if (target.form === undefined) return [];
    const path = `${folder}/${target.id}.form`;
    await Deno.writeTextFile(path, formText(target.form));
    return [path];
  }

  /** Two generators may begin at once, so a target's list is written before the first of them reads. */
  function list({ id, accounts }: Target): Promise<string> {
    const path = `${folder}/${id}.accounts`;
    const written = lists.get(path) ??
      Deno.writeTextFile(path, accounts.join("\n") + "\n").then(() => path);
    lists.set(path, written);
    return written;
  }
}

/** Keeps in mind what a generator's runs were answered. */
function noting(send: Generator["run"]): Pick<Generator, "run" | "heard"> {
  const told = new Map<string, Heard>();
  const heard = ({ id }: Target) => told.get(id) ?? { transfers: 0, failed: 0 };
  return {
    heard,
    async run(port, target, load) {
      const figures = await send(port, target, load);
      const { transfers, failed } = heard(target);
      told.set(target.id, {
        transfers: transfers + transfersOf(figures, load),
        failed: failed + figures.failed,
      });
      return figures;
    },
  };
}
