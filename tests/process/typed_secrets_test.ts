/** Secrets that are typed on a terminal: nothing of them is shown. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { hasTerminals } from "../support/reconcile_host.ts";

const INPUT = new URL("../../commands/input.ts", import.meta.url).href;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;
const PROGRAM = `
  import { readSecret } from "${INPUT}";
  const ask = () => readSecret("the password", 2);
  const told = await ask().then(async (text) => text === await ask() && "typed " + text.length, (error) => error.message);
  console.log("<" + told + ">");`;

/** Types keys on a terminal that shows what is typed, each as soon as it is asked for; gives all that stands there. */
async function type(keys: readonly string[]): Promise<{ code: number; shown: string }> {
  const folder = await Deno.makeTempDir({ prefix: "purser-typed-" });
  const file = `${folder}/program.ts`;
  await Deno.writeTextFile(file, PROGRAM);
  const line =
    `'${Deno.execPath()}' run --config '${CONFIG}' --quiet --no-prompt --cached-only --no-check '${file}'`;
  const child = new Deno.Command("script", {
    args: ["--quiet", "--return", "--echo", "always", "--command", line, "/dev/null"],
    ...{ stdin: "piped", stdout: "piped", stderr: "null" },
  }).spawn();
  const writer = child.stdin.getWriter();
  let shown = "";
  let left = [...keys];
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    shown += text;
    const asked = shown.split(/(?:the password|the same again): /).length - 1;
    while (left.length > 0 && keys.length - left.length < asked) {
      await writer.write(new TextEncoder().encode(left[0]));
      left = left.slice(1);
    }
  }
  const { code } = await child.status;
  await writer.close().catch(() => {});
  await Deno.remove(folder, { recursive: true });
  return { code, shown };
}

Deno.test({
  name:
    "a password that is typed is not shown, may be corrected, is asked for once more, and Ctrl-C ends it",
  ignore: !hasTerminals(),
  async fn() {
    const well = await type(["secret word\n", "wrong\x15secret wOö\x7f\x7ford\r"]);
    deepEqual([well.code, well.shown.includes("<typed 11>")], [0, true], well.shown);
    ok(!/secret|wrong/.test(well.shown), well.shown);
    const other = await type(["secret word\n", "secret\n"]);
    ok(other.shown.includes("<the password: not the same was typed>"), other.shown);
    const ended = await type(["secr\x03"]);
    deepEqual([ended.code, ended.shown.includes("<")], [130, false], ended.shown);
    equal(/secr/.test(ended.shown), false);
  },
});
