/**
 * The audit of what tests leave behind (`left_behind.ts`), as a process beside them: it begins with the databases of
 * those that have ended.
 *
 * @module
 */

const ROOT = new URL("../../", import.meta.url);

/** A process that audits databases when their tests have ended. */
export interface LeftAudit {
  /**
   * Has a database audited, and then dropped: a run's databases take more memory than many machines have.
   *
   * @param beside the address of another one of the server, from which it is dropped; left out: it stays
   */
  of(url: string, beside?: string): void;
  /** Waits for the last; gives the exit code. */
  end(): Promise<number>;
  leave(): void;
}

/** Starts the process, with flags of `deno run`. */
export function auditLeft(flags: readonly string[]): LeftAudit {
  const script = new URL("left_behind.ts", import.meta.url).href;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, script],
    cwd: ROOT,
    stdin: "piped",
  }).spawn();
  // What ends the run may have ended it too.
  let running = true;
  child.status.then(() => running = false).catch(() => {});
  const writer = child.stdin.getWriter();
  // If it has ended its code says so.
  const named = (url: string, beside = "") =>
    void writer.write(new TextEncoder().encode(`${url} ${beside}\n`)).catch(() => {});
  return {
    of: named,
    async end() {
      await writer.close().catch(() => {});
      return (await child.status).code;
    },
    leave() {
      if (running) child.kill("SIGKILL");
    },
  };
}
