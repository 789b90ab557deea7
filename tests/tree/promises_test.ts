import { deepEqual } from "node:assert/strict";
import { checkMarked } from "../../lint/promises.ts";

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
    const { dropped: found } = await checkMarked(root, ["domain/work.ts"]);
    const at = [...found!.matchAll(/^domain\/work\.ts:(\d+)$/gm)].map(([, line]) => Number(line));
    deepEqual(at.sort(), [3, 4, 5, 6, 7, 8, 9]);
    // What assertions narrow stays so, and another fault is told from none.
    const narrowed = [
      'import { ok } from "node:assert/strict";',
      "function stop(): never { throw new Error(); }",
      "export function text(one: string | null, two: number | null): number {",
      "  ok(one !== null);",
      "  if (two === null) stop();",
      "  return one.length + two;",
      "}",
    ];
    for (const wrong of [[], ['export const count: number = "one";']]) {
      const text = [...lines.toSpliced(2, 7), ...narrowed, ...wrong].join("\n");
      await Deno.writeTextFile(new URL("domain/work.ts", root), text);
      deepEqual(await checkMarked(root, ["domain/work.ts"]), {
        dropped: null,
        clean: wrong.length === 0,
      });
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
