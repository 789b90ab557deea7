import { equal } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { diskDatabase } from "../support/database.ts";
import { connectTo } from "../support/standby.ts";

/** A server's requests other than SCRAM: the password in clear text, or its MD5 sum with a salt. */
const QUESTIONS = {
  "clear text": [0x52, 0, 0, 0, 8, 0, 0, 0, 3],
  md5: [0x52, 0, 0, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4],
};

// The driver leaves its timers behind where it throws in the middle of a connection.
const untidy = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "a server that asks for the password in clear text, or for its MD5 sum, gets no answer",
  untidy,
  async () => {
    for (const [way, question] of Object.entries(QUESTIONS)) {
      using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const { port } = listener.addr;
      const database = openDatabase({
        url: `postgres://purser:a%20secret@127.0.0.1:${port}/purser`,
        prepare: true,
        parseJson: JSON.parse,
      });
      const refused = Promise.withResolvers<string>();
      const listen = (event: PromiseRejectionEvent) => {
        event.preventDefault();
        refused.resolve("refused");
      };
      globalThis.addEventListener("unhandledrejection", listen);
      const asked = Promise.resolve(database.platform.sql`select 1`).catch(() => "failed");
      const connection = await listener.accept();
      const bytes = new Uint8Array(1000);
      await connection.read(bytes); // the start
      await connection.write(new Uint8Array(question));
      const answered = connection.read(bytes).then((count) =>
        new TextDecoder().decode(bytes.subarray(0, count ?? 0))
      );
      equal(await Promise.race([refused.promise, answered]), "refused", way);
      connection.close();
      await answered.catch(() => {});
      listener.close();
      await database.platform.sql.end({ timeout: 0 });
      equal(await asked, "failed");
      globalThis.removeEventListener("unhandledrejection", listen);
    }
  },
);

Deno.test("the random passwords of an embedded server are not stretched, which each connection would pay for", async () => {
  await using own = await diskDatabase({ fsync: "off" });
  await using superuser = connectTo(own);
  const few = "select from pg_authid where rolpassword like 'SCRAM-SHA-256$16:%'";
  equal((await superuser.unsafe(few)).length, 2);
});
