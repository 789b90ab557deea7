/**
 * The examples, run as a reader would run them: they print what is checked in beside them.
 *
 * @module
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { hasLitecoind } from "../support/nodes/litecoind.ts";

const FOLDER = new URL("../../examples/", import.meta.url);
const CONFIG = ["--config", new URL("../deno.json", import.meta.url).pathname];

interface Run {
  code: number;
  out: string;
  err: string;
}

async function runExample(name: string, env: Record<string, string> = {}): Promise<Run> {
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

/** Leaves out what differs from run to run: hashes, addresses, heights, and prices, small ones as 1e-7. */
function shape(text: string): string {
  return text.replace(/0x[0-9a-fA-F]+/g, "0x")
    .replace(/\b([0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{32,88})\b/g, "name")
    .replace(/\d+(\.\d+)?(e-\d+)?/g, "0");
}

for (
  const [chain, name] of [
    ["Ethereum", "deposit_to_withdrawal"],
    ["Solana", "solana_deposit_to_withdrawal"],
    ["Tron", "tron_deposit_to_withdrawal"],
  ]
) {
  Deno.test(`the example on ${chain} prints the text that is checked in, but for ids, addresses and hashes`, async () => {
    const { code, out, err } = await runExample(name);
    equal(code, 0, err);
    deepEqual(shape(out).split("\n"), shape(await checkedIn(name)).split("\n"));
  });
}

Deno.test({
  name: "the example on Litecoin prints exactly the text that is checked in",
  ignore: !hasLitecoind(),
  fn: async () => {
    const { code, out, err } = await runExample("litecoin_deposit_to_withdrawal");
    equal(code, 0, err);
    equal(out, await checkedIn("litecoin_deposit_to_withdrawal"));
  },
});

Deno.test("the example of a receiver of webhooks prints exactly the text that is checked in", async () => {
  const { code, out, err } = await runExample("webhooks");
  equal(code, 0, err);
  equal(out, await checkedIn("webhooks"));
});

Deno.test("the example of a customer who is taken in prints exactly the text that is checked in", async () => {
  const { code, out, err } = await runExample("onboard_customer");
  equal(code, 0, err);
  equal(out, await checkedIn("onboard_customer"));
});

Deno.test("the quick start prints exactly the text that is checked in", async () => {
  const { code, out, err } = await runExample("quick_start");
  equal(code, 0, err);
  equal(out, await checkedIn("quick_start"));
});

Deno.test("the example of loyalty points prints exactly the text that is checked in", async () => {
  const { code, out, err } = await runExample("loyalty_points");
  equal(code, 0, err);
  equal(out, await checkedIn("loyalty_points"));
});

Deno.test("without litecoind its example names the package to install", async () => {
  const { code, err } = await runExample("litecoin_deposit_to_withdrawal", { PATH: "/nowhere" });
  equal(code, 1);
  match(err, /needs litecoind.*apt-get install --no-install-recommends litecoind/s);
});
