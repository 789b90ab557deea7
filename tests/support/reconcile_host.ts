/**
 * A host on which an operator runs the command `reconcile` as a process: by itself, or on a terminal.
 * @module
 */
import { openDatabase } from "../../db/database.ts";
import { readMasterKey } from "../../domain/security/envelope.ts";
import { openFence } from "../../workers/installation/fence.ts";
import { callCommand, type Ended } from "./called_commands.ts";
import { PLATFORM_KEY, testConfig } from "./realm.ts";

const MAIN = new URL("../../main.ts", import.meta.url);
const { masterKey } = testConfig();
const ALL = [
  ...["--allow-net", "--allow-read", "--allow-write", "--allow-env", "--allow-run"],
  "--allow-sys=uid,statfs",
];

/** A command on a terminal. */
export interface Terminal {
  /** Waits until it has said something; gives all that it has said. */
  until(text: string): Promise<string>;
  type(text: string): Promise<void>;
  /** Waits for its end. */
  end(): Promise<{ code: number; said: string }>;
  /** Takes the terminal away. */
  hangUp(): Promise<void>;
}

/** A host with a folder of its own. */
export interface Host extends AsyncDisposable {
  run(args: readonly string[], more?: Record<string, string>, input?: string): Promise<Ended>;
  /** Runs it in this process, for tests to which it does not matter where it runs: nobody answers there. */
  call(args: readonly string[], more?: Record<string, string>): Promise<Ended>;
  terminal(args: readonly string[]): Terminal;
  /** Starts workers for a moment; tells what keeps them from signing. */
  fault(label?: string | null): Promise<string | null>;
}

/** Whether there is a program that makes terminals, with the options of util-linux. */
export function hasTerminals(): boolean {
  try {
    const { stdout } = new Deno.Command("script", { args: ["--version"] }).outputSync();
    return new TextDecoder().decode(stdout).includes("util-linux");
  } catch {
    return false;
  }
}

/** Makes a host with an empty DATA_DIR. */
export async function host(url: string, env: Record<string, string>): Promise<Host> {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-reconcile-" });
  const settings = {
    ...{ DATABASE_URL: url, PLATFORM_KEY, MASTER_KEY: masterKey!, DATA_DIR: dataDir },
    ...{ LOG_LEVEL: "error", NO_COLOR: "1", ...env },
  };
  const command = (
    args: readonly string[],
  ) => ["run", "--no-prompt", "--cached-only", ...ALL, MAIN.href, "reconcile", ...args];
  return {
    async run(args, more = {}, input) {
      const child = new Deno.Command(Deno.execPath(), {
        args: command(args),
        env: { ...settings, ...more },
        stdin: input === undefined ? "null" : "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      if (input !== undefined) {
        const writer = child.stdin.getWriter();
        // It may end without having read any of it.
        await writer.write(new TextEncoder().encode(input)).catch(() => {});
        await writer.close().catch(() => {});
      }
      const { code, stdout, stderr } = await child.output();
      const read = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code, out: read(stdout), said: read(stderr) };
    },
    call: (args, more = {}) => callCommand("reconcile", args, { ...settings, ...more }),
    terminal: (args) => onTerminal([Deno.execPath(), ...command(args)], settings),
    async fault(label = null) {
      const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
      const master = (await readMasterKey(masterKey!)).id;
      const { platform } = database;
      const fence = await openFence({
        ...{ platform, dataDir, label, master, log: () => {}, loop: false },
      });
      const found = await fence.fault();
      await fence.close();
      await database.close();
      return found;
    },
    [Symbol.asyncDispose]: () => Deno.remove(dataDir, { recursive: true }),
  };
}

function onTerminal(command: readonly string[], env: Record<string, string>): Terminal {
  const line = command.map((word) => `'${word}'`).join(" ");
  const child = new Deno.Command("script", {
    args: ["--quiet", "--return", "--echo", "never", "--command", line, "/dev/null"],
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const writer = child.stdin.getWriter();
  let said = "";
  async function more(): Promise<boolean> {
    const { value, done } = await reader.read();
    said += value ?? "";
    return !done;
  }
  return {
    async until(text) {
      while (!said.includes(text)) {
        if (!await more()) throw new Error(`it ended without saying ${text}: ${said}`);
      }
      return said;
    },
    async type(text) {
      said = "";
      await writer.write(new TextEncoder().encode(text));
    },
    async end() {
      while (await more());
      const { code } = await child.status;
      await writer.close().catch(() => {});
      return { code, said };
    },
    async hangUp() {
      child.kill("SIGKILL");
      while (await more());
      await child.status;
      await writer.abort().catch(() => {});
    },
  };
}
