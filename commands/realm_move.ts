/** The commands `realm move` and `realm list`. @module */
import { parseArgs } from "node:util";
import { UsageError } from "../config/usages.ts";
import type { RealmRow } from "../db/realms/realms.ts";
import { selectMoves } from "../db/realms/moves.ts";
import { selectRealmSize } from "../db/moves/tables.ts";
import { allRealms } from "../db/realms/realm_pages.ts";
import { readingBriefly } from "../db/transaction.ts";
import type { OrderOptions } from "../workers/moves/move.ts";
import { orderMove } from "../workers/moves/move_orders.ts";
import { cancel, carryOn, dropOld } from "../workers/moves/moving.ts";
import { repair } from "../workers/moves/repairing.ts";
import { isId } from "../domain/ids.ts";
import { locationOf, nameServer, serverOf } from "../domain/realms/realm_locations.ts";
import type { CommandContext } from "./context.ts";
import { readAddress } from "./input.ts";

const FLAGS = {
  to: { type: "string" },
  cancel: { type: "boolean" },
  "drop-old": { type: "boolean" },
  repair: { type: "boolean" },
} as const;
const SIZE_MAX_MS = 10_000;

/** What is asked for; `to` is null for the platform's database. */
export interface MoveArguments {
  realm: string;
  to?: string | null;
  verb: "move" | "cancel" | "drop-old" | "repair";
}

/** Moves a realm to another database, carries its move on, takes it back, drops what was left behind, or repairs the directory. */
export async function moveRealm(
  context: CommandContext,
  { realm, to, verb }: MoveArguments,
): Promise<void> {
  const options = optionsOf(context);
  if (verb === "drop-old") {
    await dropOld(options, realm);
    console.log(`The old copy of realm ${realm} is dropped.`);
    return;
  }
  if (verb === "repair") {
    const { place, server, changed } = await repair(options, { realm, to }, Date.now());
    const did = changed ? "The directory was wrong, and says so now." : "The directory says so.";
    console.log(`Realm ${realm} lives at ${server}, its place ${place}. ${did}`);
    return;
  }
  const cancels = verb === "cancel";
  const move = await orderMove(options, { realm, to, cancels }, Date.now());
  if (cancels) {
    const left = await cancel(options, move);
    const copy = left === null
      ? ""
      : ` The target does not answer (${left}): drop the schema ${move.target.schema} there.`;
    console.log(`The move of realm ${realm} is canceled: the realm works where it was.${copy}`);
    return;
  }
  const { progress } = context;
  const report = await carryOn({ ...options, progress }, move);
  const { pauseMs, paused, rounds, head, isSourceLost } = report;
  progress.end();
  const pause = pauseMs === null ? "" : ` It took no writes for ${pauseMs} ms.`;
  const work = paused === null
    ? ""
    : ` Meanwhile ${paused.noted} changed rows were brought over and ${paused.read} rows read.`;
  const old = isSourceLost
    ? ` The server that it left does not answer: when that returns, drop the schema ${move.source.schema} there.`
    : "";
  console.log(
    `Realm ${realm} has moved, head ${head}, after ${rounds} rounds.${pause}${work}${old}`,
  );
}

function optionsOf({ database, migrations, provisioning }: CommandContext): OrderOptions {
  return { database, migrations, secrets: provisioning.secrets };
}

/** Reads the arguments of `realm move`. @throws {UsageError} */
export async function readMoveArguments(args: readonly string[]): Promise<MoveArguments> {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: FLAGS,
      allowPositionals: true,
    });
    const { to, cancel, repair } = values;
    const given = [to !== undefined && !repair, cancel, values["drop-old"], repair];
    if (positionals.length === 1 && given.filter(Boolean).length <= 1) {
      const [realm] = positionals;
      if (!isId(realm)) throw new TypeError(`${realm} is no id of a realm`);
      if (cancel) return { realm, verb: "cancel" };
      if (values["drop-old"]) return { realm, verb: "drop-old" };
      return { realm, to: await addressOf(to), verb: repair ? "repair" : "move" };
    }
  } catch (error) {
    throw new UsageError("realm", (error as Error).message);
  }
  throw new UsageError("realm");
}

async function addressOf(text: string | undefined): Promise<string | null | undefined> {
  if (text === undefined) return undefined;
  return text === "platform" ? null : await readAddress("--to", text);
}

/** Lists realms with their zone, place and size, a line of JSON each. */
export async function listRealms(context: CommandContext): Promise<void> {
  const { database } = context;
  const moves = await readingBriefly(database.builder, SIZE_MAX_MS, selectMoves);
  const moving = new Map(moves.map(({ realm, step }) => [realm, step]));
  for await (const row of allRealms(database.platform)) {
    const step = moving.get(row.id);
    const over = step === undefined || step === "done" || step === "canceled";
    console.log(JSON.stringify({
      id: row.id,
      name: row.name,
      zone: row.zone,
      server: serverOfRealm(context, row),
      schema_version: row.schema_version,
      ...await sizeOf(context, row),
      ...over ? {} : { moving: step },
    }));
  }
}

/** Host, port and database of a realm; never its password. */
function serverOfRealm({ provisioning, config }: CommandContext, row: RealmRow): string {
  if (row.database_url_encrypted === null) return serverOf(config.databaseUrl!);
  return nameServer(provisioning.secrets, row.id, row.database_url_encrypted);
}

async function sizeOf(
  { database }: CommandContext,
  row: RealmRow,
): Promise<{ bytes: number } | { error: string }> {
  try {
    const pool = database.realm(locationOf(row));
    return await readingBriefly(pool, SIZE_MAX_MS, (db) => selectRealmSize(db, row.schema_name));
  } catch (error) {
    return { error: (error as { code?: string }).code ?? "the database does not answer" };
  }
}
