/**
 * The examples, run as a reader would run them: they print what is checked in beside them. They mostly wait, for blocks
 * and for processes to start, so all run at once. One starts all that it needs, as it does for a reader; the others
 * share an installation, each in a realm of its own, with the node of Ethereum or one that the example starts.
 *
 * @module
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { startEthereum } from "../../examples/ethereum_node.ts";
import { freePort, lineOf } from "../../examples/installation.ts";
import { testDatabase } from "../support/database.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { PLATFORM_KEY } from "../support/realm.ts";

const ROOT = new URL("../../", import.meta.url);
const FOLDER = new URL("examples/", ROOT);
const CONFIG = ["--config", new URL("../deno.json", import.meta.url).pathname];

type Env = Record<string, string>;

interface Run {
  code: number;
  out: string;
  err: string;
}

async function runExample(name: string, env: Env = {}): Promise<Run> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--cached-only", "-A", ...CONFIG, new URL(`${name}.ts`, FOLDER).pathname],
    env: { NO_COLOR: "1", ...env },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

async function checkedIn(name: string): Promise<string> {
  return await Deno.readTextFile(new URL(`${name}.txt`, FOLDER));
}

/** Leaves out what differs from run to run: ids, hashes, addresses, heights, and prices, small ones as 1e-7. */
function shape(text: string): string {
  return text.replace(/0x[0-9a-fA-F]+/g, "0x")
    .replace(
      /\b([0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[1-9A-HJ-NP-Za-km-z]{32,88})\b/g,
      "name",
    )
    .replace(/\d+(\.\d+)?(e-\d+)?/g, "0");
}

/** Examples that print the same text in every run. */
const EXACT = ["quick_start", "loyalty_points", "onboard_customer", "webhooks"];
/** Examples in whose text ids, addresses, hashes and prices differ. */
const SHAPED = ["exchange", "payroll", "reconciliation"];
/** Examples that start nodes of their own, the first one an installation too. */
const ALONE = "deposit_to_withdrawal";
const OF_NODES = ["solana_deposit_to_withdrawal", "tron_deposit_to_withdrawal"];
const LITECOIN = "litecoin_deposit_to_withdrawal";

async function prints(name: string, form: (text: string) => string, env: Env = {}): Promise<void> {
  const { code, out, err } = await runExample(name, env);
  equal(code, 0, err);
  const wanted = form(await checkedIn(name)).split("\n");
  const told = out.split("\n");
  equal(told.length, wanted.length, out);
  // Only lines that differ, as they were printed: of long texts a failure shows no more than the beginning.
  deepEqual(told.filter((line, n) => form(line) !== wanted[n]), []);
}

const whole = (text: string) => text;

/** Starts an installation that examples share; gives the settings by which they find it. */
async function startShared(ethereum: string): Promise<AsyncDisposable & { env: Env }> {
  const database = await testDatabase();
  const dataDir = await Deno.makeTempDir({ prefix: "purser-examples-" });
  const port = `${freePort()}`;
  const nodes = {
    ETHEREUM_RPC_URL: ethereum,
    // Where the examples start them.
    SOLANA_TESTNET_RPC_URL: `http://127.0.0.1:${freePort()}`,
    TRON_RPC_URL: `http://127.0.0.1:${freePort()}`,
    LITECOIN_TESTNET_RPC_URL: `http://me:me@127.0.0.1:${freePort()}`,
  };
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", new URL("launcher/launch.ts", ROOT).pathname, "start"],
    env: {
      ...{ DATABASE_URL: database.url, DATA_DIR: dataDir, PORT: port, PLATFORM_KEY },
      MASTER_KEY: btoa("0123456789abcdef0123456789abcdef"),
      ...nodes,
      ...{ TRON_GENESIS_HASH: "any", LITECOIN_TESTNET_NETWORK: "regtest" },
      ...{
        ETHEREUM_CONFIRMATIONS: "2",
        TRON_CONFIRMATIONS: "2",
        LITECOIN_TESTNET_CONFIRMATIONS: "2",
      },
      POLL_INTERVAL_MS: "500",
      ...{ WEBHOOKS_ALLOW_PRIVATE: "true", LOG_FORMAT: "json", LOG_LEVEL: "info" },
    },
    stdin: "null",
    stderr: "piped",
  }).spawn();
  await lineOf(child.stderr, /"(serving)"/);
  return {
    env: { PURSER_URL: `http://127.0.0.1:${port}`, PLATFORM_KEY, ...nodes },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(dataDir, { recursive: true });
      await database[Symbol.asyncDispose]();
    },
  };
}

Deno.test("each example prints the text that is checked in beside it", async (t) => {
  await using node = await startEthereum();
  await using shared = await startShared(node.url);
  const step = (name: string, form: typeof whole, env: Env = {}, ignore = false) =>
    t.step({
      ...{ name: `examples/${name}.ts`, ignore, fn: () => prints(name, form, env) },
      // They run beside each other; the test around them is watched.
      ...{ sanitizeOps: false, sanitizeResources: false, sanitizeExit: false },
    });
  const passed = await Promise.all([
    step(ALONE, shape),
    step(LITECOIN, whole, shared.env, !hasLitecoind()),
    ...OF_NODES.map((name) => step(name, shape, shared.env)),
    ...SHAPED.map((name) => step(name, shape, shared.env)),
    ...EXACT.map((name) => step(name, whole, shared.env)),
  ]);
  equal(passed.length, 2 + OF_NODES.length + SHAPED.length + EXACT.length);
});

Deno.test("without litecoind its example names the package to install", async () => {
  const { code, err } = await runExample("litecoin_deposit_to_withdrawal", { PATH: "/nowhere" });
  equal(code, 1);
  match(err, /needs litecoind.*apt-get install --no-install-recommends litecoind/s);
});
