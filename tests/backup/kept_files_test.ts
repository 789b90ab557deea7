/** Which backups of a folder stay. */
import { deepEqual } from "node:assert/strict";
import { join } from "node:path";
import { keepNewest, nameOf, scopeOf } from "../../workers/backup/files.ts";

const INSTALLATION = { installation: "00000000-0000-7000-8000-000000000001", without: [] };
const SCOPE = scopeOf(INSTALLATION, null);
const INCOMPLETE = scopeOf({ ...INSTALLATION, without: [crypto.randomUUID()] }, null);
const AT = Date.UTC(2026, 10, 23);
const name = (at: number, number: number) => nameOf(SCOPE, at, `${number}`.padStart(8, "0"));

Deno.test("the backup that was just made stays, also one of the same second or before a clock that was set back", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [older, old, same, other, incomplete] = [
      name(AT, 1),
      name(AT + 5000, 9),
      name(AT + 5000, 2),
      nameOf(scopeOf(INSTALLATION, "00000000-0000-7000-8000-000000000002"), AT, "00000003"),
      nameOf(INCOMPLETE, AT + 6000, "00000005"),
    ];
    const files = async () =>
      (await Array.fromAsync(Deno.readDir(folder))).map((f) => f.name).sort();
    for (const one of [older, old, same, other, incomplete]) {
      await Deno.writeTextFile(join(folder, one), "");
    }
    deepEqual(await keepNewest(folder, { scope: SCOPE, count: 9, made: same }), []);
    deepEqual(await keepNewest(folder, { scope: SCOPE, count: 2, made: same }), [older]);
    deepEqual(await keepNewest(folder, { scope: SCOPE, count: 1, made: same }), [old]);
    const early = name(AT - 60_000, 4);
    await Deno.writeTextFile(join(folder, early), "");
    deepEqual(await keepNewest(folder, { scope: SCOPE, count: 1, made: early }), [same]);
    deepEqual(await files(), [early, other, incomplete].sort());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
