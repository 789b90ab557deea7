import { deepEqual, equal, rejects } from "node:assert/strict";
import { join } from "node:path";
import { localKey, replaceKey } from "../../launcher/secrets.ts";

Deno.test("a key of an installation is never made anew in the place of one that was cut short", async () => {
  const dataDir = await Deno.makeTempDir();
  try {
    const key = await localKey(dataDir, "master_key");
    equal(await localKey(dataDir, "master_key"), key);
    equal((await Deno.stat(join(dataDir, "master_key"))).mode! & 0o777, 0o600);
    await Deno.writeTextFile(join(dataDir, "master_key"), "");
    await rejects(localKey(dataDir, "master_key"), /is empty: put the key back/);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("the next master key is on the disk, whole, until it is in its place", async () => {
  const dataDir = await Deno.makeTempDir();
  try {
    await localKey(dataDir, "master_key");
    const next = await localKey(dataDir, "master_key.next");
    // A folder in its place stops the last step: the only copy of the key must have stayed.
    await Deno.remove(join(dataDir, "master_key"));
    await Deno.mkdir(join(dataDir, "master_key"));
    await rejects(replaceKey(dataDir, "master_key", next));
    equal(await Deno.readTextFile(join(dataDir, "master_key.next")), next);
    await Deno.chmod(join(dataDir, "master_key.next"), 0o400);
    await Deno.remove(join(dataDir, "master_key"));
    await replaceKey(dataDir, "master_key", next); // it does not write over the copy
    equal(await localKey(dataDir, "master_key"), next);
    const left = await Array.fromAsync(Deno.readDir(dataDir), ({ name }) => name);
    deepEqual(left.filter((name) => !name.endsWith(".draft")), ["master_key"]);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
