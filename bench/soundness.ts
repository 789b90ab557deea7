/**
 * Whether what the rows left is sound: `deno task audit` and `deno task verify` as users run them, over each realm that
 * was under load; and whether every transfer that callers were told of is in it. @module
 */
import type { Generator, Heard } from "./load.ts";
import {
  type BenchRealm,
  countTransactions,
  readTask,
  ROOT,
  type Service,
  settingsOf,
  type Stand,
} from "./stand.ts";

/** How long the hash chain may take to link what the rows have left. */
const LINKED_MAX_MS = 120_000;

/**
 * Prints a line for each realm; a realm that is not sound lets the bench fail, and so does a request that was refused, or a
 * transfer that was answered and not posted.
 */
export async function proveSound(
  stand: Stand,
  { service, generator }: { service: Service; generator: Pick<Generator, "heard"> },
  realms: readonly BenchRealm[],
): Promise<void> {
  for (const realm of new Set(realms)) {
    const begin = performance.now();
    const unlinked = await linkAll(stand, realm);
    const [audited, verified] = await Promise.all([
      audit(stand, realm),
      task("verify", ["--url", service.url, "--key", realm.key], {}),
    ]);
    // Counted last: requests that their sender gave up may have been posted until the last link was made.
    const count = await countTransactions(stand, realm);
    const isWhole = verified.startsWith(`ok: ${count} transactions and `);
    const wrong = [unlinked, audited, isWhole ? null : `verify: ${verified}`]
      .filter((one) => one !== null)
      .concat(falselyHeard(generator.heard(realm), count - realm.begun));
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    const result = wrong.length > 0
      ? `**FAILED**: ${wrong.join("; ")}`
      : "audit and verify find it sound";
    console.log(
      `what the rows left, ${count} transactions of ${realm.schema}: ${result} (${seconds} s)`,
    );
    if (wrong.length > 0) Deno.exitCode = 1;
  }
}

/**
 * What callers were told and is not so. More may be posted than they heard of: a generator leaves requests when its time
 * is up.
 */
export function falselyHeard({ transfers, failed }: Heard, posted: number): string[] {
  return [
    ...(failed > 0 ? [`${failed} requests were refused or not answered`] : []),
    ...(posted < transfers ? [`${transfers} transfers were answered, ${posted} posted`] : []),
  ];
}

/** Waits until every transaction has its link in the hash chain; says what is left after that. */
async function linkAll({ sql }: Stand, { schema }: BenchRealm): Promise<string | null> {
  for (const late = performance.now() + LINKED_MAX_MS; performance.now() < late;) {
    const [{ waiting }] = await sql.unsafe<{ waiting: boolean }[]>(
      `select exists (select from ${schema}.ledger_commits) as waiting`,
    );
    if (!waiting) return null;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return `not linked after ${LINKED_MAX_MS / 1000} s`;
}

async function audit(stand: Stand, { id }: BenchRealm): Promise<string | null> {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-bench-audit-" });
  try {
    const settings = { ...settingsOf(stand), DATA_DIR: dataDir };
    const text = await task("audit", ["--realm", id], settings);
    return / links, sound, head /.test(text) ? null : `audit: ${text}`;
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** Runs a task to its end; gives the beginning of what it said, with its exit code where it failed. */
async function task(
  name: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...await readTask(name), ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
  }).output();
  const decoder = new TextDecoder();
  const text = code === 0
    ? decoder.decode(stdout)
    : `ended with ${code}: ${decoder.decode(stdout)}${decoder.decode(stderr)}`;
  return text.trim().slice(0, 1000).replaceAll(/\s*\n\s*/g, ", ");
}
