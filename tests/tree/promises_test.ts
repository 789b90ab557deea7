import { deepEqual, equal } from "node:assert/strict";
import { droppedPromises } from "../../lint/promises.ts";

Deno.test("a promise that nobody awaits or catches is found, by its type", async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser-lint-" });
  const root = new URL(`file://${folder}/`);
  const lines = [
    "export async function work(): Promise<number> { return await Promise.resolve(1); }",
    "const stay: { run(): void | Promise<void>; sync(): void } = { run() {}, sync() {} };",
    "work();",
    "void work();",
    "stay.run();",
    "work().then(() => {});",
    "work().finally(() => {});",
    "setTimeout(async () => { await work(); }, 1);",
    "[1].forEach(async () => { await work(); });",
    "await work();",
    "work().catch(() => {});",
    "void work().then(() => {}, () => {});",
    "work().catch(() => {}).finally(() => {});",
    "stay.sync();",
    "setTimeout(() => {}, 1);",
  ];
  try {
    await Deno.writeTextFile(new URL("deno.json", root), "{}");
    await Deno.writeTextFile(new URL("deno.lock", root), '{"version":"5"}');
    await Deno.mkdir(new URL("domain/", root));
    await Deno.writeTextFile(new URL("domain/work.ts", root), lines.join("\n"));
    const found = await droppedPromises(root, ["domain/work.ts"]);
    const at = [...found!.matchAll(/^domain\/work\.ts:(\d+)$/gm)].map(([, line]) => Number(line));
    deepEqual(at.sort(), [3, 4, 5, 6, 7, 8, 9]);
    await Deno.writeTextFile(new URL("domain/work.ts", root), lines.toSpliced(2, 7).join("\n"));
    equal(await droppedPromises(root, ["domain/work.ts"]), null);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
