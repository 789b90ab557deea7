/** The session that fills the tables of a restore. @module */
import { equal } from "node:assert/strict";
import { Socket } from "node:net";
import { copyIn } from "../../db/backup/copies.ts";
import { openDatabase } from "../../db/database.ts";
import { testDatabase } from "../support/database.ts";

Deno.test("a session that fills tables one after another waits for no confirmation between them", async () => {
  await using own = await testDatabase();
  const { setNoDelay } = Socket.prototype;
  const prompt = new Set<Socket>();
  Socket.prototype.setNoDelay = function (isSet) {
    if (isSet) prompt.add(this);
    return setNoDelay.call(this, isSet);
  };
  const database = openDatabase({ url: own.url, prepare: true, parseJson: JSON.parse });
  try {
    await database.builder.sql.begin(async (tx) => {
      await tx`create temporary table filled (one text)`;
      for (let n = 0; n < 2; n++) {
        const rows = ReadableStream.from([new TextEncoder().encode("1\n")]);
        await copyIn(tx, "pg_temp.", { name: "filled", columns: ["one"] }, rows);
      }
      const [{ count }] = await tx<{ count: bigint }[]>`select count(*) from filled`;
      equal(`${count}`, "2");
    });
    equal(prompt.size, 1);
  } finally {
    await database.close();
    Socket.prototype.setNoDelay = setNoDelay;
  }
});
