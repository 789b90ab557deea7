/** The unit of systemd that makes a backup: its command works with its settings and nothing else. @module */
import { deepEqual, equal, match } from "node:assert/strict";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { realmDatabase } from "../support/database.ts";
import { PLATFORM_KEY, testRealm } from "../support/realm.ts";

/** Reads what a unit runs, and the settings that it gives. */
async function readUnit(file: string): Promise<{ args: string[]; env: Record<string, string> }> {
  const unit = await Deno.readTextFile(file);
  const [_, ...args] = /^ExecStart=(.*)$/m.exec(unit)![1].split(" ");
  const [, settings] = /^Environment=(.*)$/m.exec(unit)!;
  const env = Object.fromEntries(settings.split(" ").map((setting) => setting.split("=")));
  return { args, env };
}

Deno.test("the backup that systemd's timer starts is made with the settings of its unit alone", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const folder = await Deno.makeTempDir({ prefix: "purser-unit-" });
  const unit = await readUnit("deploy/purser-backup.service");
  const recipient = await identityToRecipient(await generateX25519Identity());
  const here = ["HOME", "DENO_DIR"].map((name) => [name, Deno.env.get(name)] as const)
    .filter(([, value]) => value !== undefined);
  const { DENO_DIR: _, ...given } = unit.env; // that of this machine is another
  const run = () =>
    new Deno.Command(Deno.execPath(), {
      args: unit.args,
      clearEnv: true,
      env: {
        ...given,
        ...{ BASE_URL: "https://purser.example", DATABASE_URL: own.url, PLATFORM_KEY },
        ...{ BACKUP_RECIPIENTS: recipient, BACKUP_DIR: folder },
        ...Object.fromEntries(here),
      },
    }).output();
  try {
    const { code, stdout, stderr } = await run();
    equal(code, 0, new TextDecoder().decode(stderr));
    const { heads, path, removed } = JSON.parse(new TextDecoder().decode(stdout));
    deepEqual([Object.keys(heads), removed], [[realm.id], []]);
    match(path, /\.age$/);
    deepEqual(
      await Array.fromAsync(Deno.readDir(folder), ({ name }) => `${folder}/${name}`),
      [path],
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
