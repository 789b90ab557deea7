import { equal, match, ok } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import { selectInstallation } from "../../db/realms/installation.ts";
import { claimEpoch, type FenceOptions, openFence } from "../../workers/installation/fence.ts";
import { until } from "../support/eventually.ts";
import { backups } from "../support/installation.ts";
import { testRealm } from "../support/realm.ts";

const FOLDER = "/nonexistent"; // nothing is kept in files

Deno.test("a worker that was started with the next INSTALLATION_EPOCH before the reconciliation ended works by itself when it has", async () => {
  await using own = await backups();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const database = openDatabase({ url: own.url, prepare: true, parseJson: JSON.parse });
  await using _closing = { [Symbol.asyncDispose]: () => database.close() };
  const { platform } = database;
  const options = (label: string): FenceOptions => ({
    ...{ platform, label, dataDir: FOLDER, master: "one", log: () => {} },
  });
  await (await openFence({ ...options("1"), loop: false })).close();
  const early = await openFence(options("2"));
  const late = await openFence(options("1"));
  try {
    match(
      (await early.fault())!,
      /labelled 1, INSTALLATION_EPOCH is 2: .*`deno task reconcile` with it/,
    );
    equal(await late.fault(), null);
    equal(await claimEpoch({ platform, dataDir: FOLDER, label: "2" }, "new"), 2);
    await until(async () => await early.fault() === null);
    match((await late.fault())!, /labelled 2, INSTALLATION_EPOCH is 1/);
    equal((await reading(platform, selectInstallation)).halted, null);
  } finally {
    await Promise.all([early.close(), late.close()]);
  }
  ok(realm.id.length > 0);
});
