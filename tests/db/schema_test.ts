import { equal } from "node:assert/strict";
import { testDatabaseUrl } from "../support/database.ts";
import { dumpSchemas, readDumps } from "../support/schema.ts";

Deno.test("the migrations lead to the golden schemas (write them with `deno task schema`)", async () => {
  const made = await dumpSchemas(testDatabaseUrl());
  const golden = await readDumps();
  equal(made.platform, golden.platform);
  equal(made.realm, golden.realm);
});
