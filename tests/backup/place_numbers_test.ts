/** Numbers of places, by which processes learn that a realm lives elsewhere now, after restores. @module */
import { ok } from "node:assert/strict";
import { passPlaces, settlePlace } from "../../db/backup/rebuilding.ts";
import { openDatabase } from "../../db/database.ts";
import { testDatabase } from "../support/database.ts";
import { fixture, reportOf, rowsAt } from "./fixture.ts";

const PLACE = "select place from platform.realms order by id limit 1";
const placeAt = async (url: string) => (await rowsAt<{ place: number }>(url, PLACE))[0].place;

Deno.test("no number of a place comes twice, where one backup is restored twice, or a clock was set back", async () => {
  await using its = await fixture();
  await using first = await testDatabase();
  await using second = await testDatabase();
  const { host, realm } = its;
  const { path } = await its.backUp();
  reportOf(await host.call(first.url, "restore", [path]));
  const before = await placeAt(first.url);
  ok(before > await placeAt(its.url));
  reportOf(await host.call(second.url, "restore", [path]));
  ok(await placeAt(second.url) > before);
  const database = openDatabase({
    url: second.url,
    prepare: true,
    parseJson: JSON.parse,
  });
  try {
    const { id } = realm;
    for (const at of [0, Date.now(), Date.now(), 1]) {
      const known = await placeAt(second.url);
      await database.builder.sql.begin((tx) =>
        settlePlace(tx, { id, place: 0, address: null, at })
      );
      ok(await placeAt(second.url) > known);
      await database.builder.sql.begin((tx) => passPlaces(tx, id, at));
      ok(await placeAt(second.url) > known + 1);
    }
  } finally {
    await database.close();
  }
});
