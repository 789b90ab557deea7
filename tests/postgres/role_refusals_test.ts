import { equal, rejects } from "node:assert/strict";
import { actingAs, openDatabase, type Pool, workerRole } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { superuserUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";

/** So many roles that a session is some milliseconds about its list of them. */
const ROLES = 300;

const open = (url: string, platformMax: number) =>
  openDatabase({ url, prepare: true, parseJson: parseStoredJson, platformMax });

/** Takes on the worker's role of a realm, as a read of all realms does. */
async function takeOn(shared: Pool, role: string): Promise<string> {
  const location = {
    ...{ id: crypto.randomUUID(), schema: "public", role: workerRole(role) },
    ...{ encryptedUrl: null, login: null, schemaVersion: 0, place: 0 },
  };
  const [{ who }] = await reading(
    actingAs(shared, location),
    (db) => db<{ who: string }[]>`select current_user::text as who`,
  );
  return who;
}

Deno.test("the role of a realm that was made while a session listed its login's roles is taken on over another one", async () => {
  const prefix = `made_${crypto.randomUUID().slice(0, 8)}`;
  const lister = `${prefix}_lister`;
  const made: string[] = [];
  const create = (count: number) => {
    const roles = Array.from({ length: count }, (_, i) => `${prefix}_${made.length + i}`);
    made.push(...roles);
    const text = roles.map((role) =>
      `create role ${workerRole(role)}; grant ${workerRole(role)} to ${lister};`
    );
    return { roles, text: text.join(" ") };
  };
  const url = new URL(superuserUrl());
  [url.username, url.password] = [lister, "lists"];
  const [root, other, own] = [open(superuserUrl(), 1), open(superuserUrl(), 1), open(url.href, 1)];
  try {
    await root.platform.sql.unsafe(`create role ${lister} login noinherit password 'lists'`);
    await root.platform.sql.unsafe(create(ROLES).text);
    const { sql } = own.platform;
    // Until a session kept a list without one of both: its connection was then replaced.
    await until(async () => {
      const [first, second] = [create(1), create(1)];
      const making = Promise.all([
        root.platform.sql.unsafe(first.text),
        other.platform.sql.unsafe(second.text),
      ]);
      let done = false;
      making.finally(() => done = true).catch(() => {});
      while (!done) await takeOn(own.platform, made[0]);
      await making;
      for (const role of [...first.roles, ...second.roles]) {
        equal(await takeOn(own.platform, role), workerRole(role));
      }
      return own.platform.sql !== sql;
    }, 0);
    // A role that it really may not take on stays refused.
    await root.platform.sql.unsafe(`revoke ${workerRole(made[0])} from ${lister}`);
    await rejects(takeOn(own.platform, made[0]), { code: "42501" });
  } finally {
    await own.close();
    const roles = [...made.map(workerRole), lister];
    await root.platform.sql.unsafe(`drop role if exists ${roles.join(", ")}`);
    await Promise.all([root.close(), other.close()]);
  }
});
