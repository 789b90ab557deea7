/** Rows of a backup on their way into tables. @module */
import { copyIn } from "../../db/backup/copies.ts";
import {
  createIncoming,
  type OpenSchema,
  settleIncomingRealm,
  takeIncoming,
} from "../../db/backup/rebuilding.ts";
import type { Tx } from "../../db/database.ts";
import { assertColumns, refuse, type TablePart } from "../../domain/backup/manifests.ts";
import { rowsOf } from "./dump.ts";
import type { FrameReader } from "./frames.ts";

/** Gives the tables of a schema's part one by one; each is to be read, or skipped, before the next. */
async function* tablesOf(
  frames: FrameReader,
): AsyncGenerator<TablePart> {
  for (;;) {
    const part = await frames.part();
    if (part.is === "close") return;
    if (part.is !== "table") {
      refuse(`the backup is damaged: ${part.is} among tables`);
    }
    yield part;
  }
}

/** Passes over the tables of a schema. */
export async function skipTables(frames: FrameReader): Promise<void> {
  for await (const _ of tablesOf(frames)) await frames.skip();
}

/** Fills the tables of a schema, all but those that keep what the migrations wrote. */
export async function loadTables(
  tx: Tx,
  open: OpenSchema,
  frames: FrameReader,
  kept: readonly string[],
): Promise<void> {
  const shapes = new Map(
    open.tables.map(({ name, columns }) => [name, columns]),
  );
  for await (const table of tablesOf(frames)) {
    assertColumns(table, shapes.get(table.name));
    await copyIn(tx, "", table, frames.rows());
    shapes.delete(table.name); // each once
  }
  const missing = [...shapes.keys()].filter((name) => !kept.includes(name));
  if (missing.length > 0) {
    refuse(`the backup lacks tables of its schema: ${missing}`);
  }
}

/** Takes the rows of one realm from the platform's part, where the platform has none of them. */
export async function takeRealmRows(
  tx: Tx,
  realm: string,
  frames: FrameReader,
): Promise<void> {
  const wanted = rowsOf(realm);
  const taken = new Map<string, readonly string[]>();
  for await (const table of tablesOf(frames)) {
    if (!wanted.has(table.name)) {
      await frames.skip();
      continue;
    }
    const name = await createIncoming(tx, table.name, table.columns);
    await copyIn(
      tx,
      "pg_temp.",
      { name, columns: table.columns },
      frames.rows(),
    );
    taken.set(table.name, table.columns);
  }
  for (const table of wanted.keys()) {
    if (!taken.has(table)) refuse(`the backup holds no ${table} of the realm`);
  }
  await settleIncomingRealm(tx);
  for (const [table, condition] of wanted) {
    const ours = condition.replace(
      "platform.realms",
      "pg_temp.incoming_realms",
    );
    await takeIncoming(tx, table, taken.get(table)!, ours);
  }
}
