/** The move of a realm with large rows. @module */
import { ok } from "node:assert/strict";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { carryOn } from "../../workers/moves/moving.ts";
import { movingOptions, schemaOf } from "../backup/servers.ts";
import { server } from "../backup/shared_server.ts";
import { openProgress } from "../../progress.ts";
import { testRealm } from "../support/realm.ts";

const ROW_BYTES = 10 * 1024;
const ROWS = 500;

Deno.test("a move takes rows with large values in slices of few, so its memory does not grow with them", async () => {
  await using realm = await testRealm();
  const { sql } = realm.database.builder;
  await sql`
    insert into ${sql(`${schemaOf(realm)}.idempotency`)} (key, fingerprint, status, body)
    select gen_random_uuid(), gen_random_uuid(), 200, string_agg(md5(random()::text), '')
    from generate_series(1, ${ROWS}::integer) n, generate_series(1, ${ROW_BYTES / 32}::integer) m
    group by n`;
  const options = movingOptions(realm);
  const progress = openProgress({ form: "none", write() {} });
  let [most, sum] = [0, 0];
  const add = (bytes: number) => {
    most = Math.max(most, bytes);
    sum += bytes;
  };
  await carryOn(
    { ...options, progress: { ...progress, add } },
    await orderMove(options, { realm: realm.id, to: await server.database() }, Date.now()),
  );
  ok(sum >= ROWS * ROW_BYTES, `${sum}`);
  ok(most <= 150 * ROW_BYTES, `${most}`);
});
