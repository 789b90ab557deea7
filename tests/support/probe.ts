/**
 * Tries what no process of the service may do and prints what succeeded, as JSON. It is run with
 * the flags of a command; its only argument names the places to try.
 *
 * @module
 */

/** Places that are tried. */
export interface Targets {
  /** Files that must not be read. */
  readonly read: readonly string[];
  /** Files that must not be written; where it succeeds, nothing is changed. */
  readonly written: readonly string[];
  /** Programs that must not be run. */
  readonly run: readonly string[];
  /** A folder where symbolic and hard links are tried. */
  readonly folder: string;
  /** Ports of this machine that must not be reached. */
  readonly ports: readonly number[];
}

async function tryAll(targets: Targets): Promise<string[]> {
  const { read, written, run, folder, ports } = targets;
  const attempts: [string, () => unknown][] = [
    ...run.map((path): [string, () => unknown] => [
      `run ${path}`,
      () => new Deno.Command(path, { args: ["--version"] }).output(),
    ]),
    ...read.map((path): [string, () => unknown] => [`read ${path}`, () => Deno.open(path)]),
    ...written.map((path): [string, () => unknown] => [
      `write ${path}`,
      () => Deno.open(path, { append: true, create: true }),
    ]),
    ["symbolic link", () => Deno.symlink("/etc", `${folder}/link`)],
    ["hard link", () => Deno.link(read[0], `${folder}/link`)],
    ["rename", () => Deno.rename(read[0], `${folder}/renamed`)],
    ["rename away", () => Deno.rename(folder, `${folder}.away`)],
    ...ports.map((port): [string, () => unknown] => [
      `reach ${port}`,
      () => Deno.connect({ hostname: "127.0.0.1", port }),
    ]),
    ["reach metadata", () => fetch("http://169.254.169.254/latest/meta-data/")],
    ["resolve a name", () => Deno.resolveDns("secrets.example", "TXT")],
    ["import from elsewhere", () => import(`https://esm.sh/${"purser"}?secret`)],
    ["load a library", () => Deno.dlopen("libc.so.6", {})],
    ["host name", () => Deno.hostname()],
    ["signal", () => Deno.kill(Deno.ppid, "SIGCONT")],
  ];
  const succeeded: string[] = [];
  for (const [name, attempt] of attempts) {
    try {
      await attempt();
      succeeded.push(name);
    } catch (error) {
      const { name: kind, message } = error as Error;
      const refused = kind === "NotCapable" ||
        /Requires .* access|NotCapable|permission/.test(message);
      if (!refused) succeeded.push(`${name}: ${kind} ${message}`);
    }
  }
  return succeeded;
}

async function main(): Promise<void> {
  console.log(JSON.stringify(await tryAll(JSON.parse(Deno.args[0]))));
  Deno.exit();
}

if (import.meta.main) {
  main().catch((error) => {
    console.error(error);
    Deno.exit(1);
  });
}
