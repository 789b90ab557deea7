/**
 * The switch of a realm to its new place, and the way back before it. The point of no return is a commit in the place
 * that is left, not one of the directory: that may be lost, and the realm would then be opened in two places.
 * @module
 */
import {
  lockDeparture,
  recordDeparture,
  recordOpened,
  selectOpened,
} from "../../db/moves/departures.ts";
import { lowerFence } from "../../db/moves/fence.ts";
import { countMigrations } from "../../db/moves/tables.ts";
import { inspectTarget } from "../../db/moves/target.ts";
import { restateRights } from "../../db/migrate.ts";
import { takeMoveStep, updatePlace } from "../../db/realms/moves.ts";
import { selectRealm } from "../../db/realms/realms.ts";
import { building, locking, reading } from "../../db/transaction.ts";
import { DomainError } from "../../domain/errors.ts";
import { overtaken } from "./move.ts";
import { lockingAll, reach, type Run, take } from "./run.ts";

/**
 * Gives the realm its new place; gives the milliseconds since its writes were stopped, where that is known.
 *
 * @throws {DomainError} request.invalid where another run carries the move on; internal where the realm was migrated
 */
export async function switchOver(run: Run, begun: number | null): Promise<number | null> {
  const { move, database } = run;
  if (!await hasLeft(run)) await assertSameMigrations(run); // afterwards there is no way back
  await leavePlace(run);
  await reach(run, "left");
  await openPlace(run);
  await reach(run, "opened");
  const pauseMs = begun === null ? null : Math.round(performance.now() - begun);
  const { place, encryptedUrl } = move.target;
  await locking(database.builder, async (tx) => {
    const change = { from: ["fenced"], to: "switched", pauseMs: pauseMs ?? undefined } as const;
    if (!await takeMoveStep(tx, move, change)) throw overtaken();
    const to = { place, database_url_encrypted: encryptedUrl };
    if (!await updatePlace(tx, { id: move.realm, from: place - 1 }, to)) throw overtaken();
  });
  move.step = "switched";
  await reach(run, "switched");
  return pauseMs;
}

/** States in the old place that the realm has left it. From here on the move only goes on. */
async function leavePlace({ move, source }: Run): Promise<void> {
  const { id, runner, target: { place, encryptedUrl } } = move;
  const departure = { move: id, runner, place, address: encryptedUrl };
  const isLeft = await locking(
    source,
    (tx) => recordDeparture(tx, move.source.schema, departure),
  );
  if (!isLeft) throw overtaken();
}

/** States in the new place that the realm lives there, before the directory says so. @throws {DomainError} internal */
async function openPlace({ move, target }: Run): Promise<void> {
  const { id, target: { schema, place } } = move;
  await locking(target, async (tx) => {
    if ((await selectOpened(tx, schema))?.move === id) return;
    const { mark } = await inspectTarget(tx, schema);
    if (mark?.move !== id || mark.state !== "complete") {
      throw new DomainError("internal", "the realm has left its place, and the copy is not whole");
    }
    await recordOpened(tx, schema, { move: id, place });
  });
}

/**
 * A migration that ran meanwhile may have changed tables that the copy has in their old form. None runs behind the fence.
 *
 * @throws {DomainError} internal
 */
export async function assertSameMigrations(run: Run): Promise<void> {
  const { source, move, migrations, database } = run;
  const count = await building(source, (sql) => countMigrations(sql, move.source.schema));
  const row = await reading(database.platform, (db) => selectRealm(db, move.realm));
  if (count === migrations.realm.length && row?.schema_version === count) return;
  throw new DomainError("internal", "the realm was migrated meanwhile: begin again");
}

/**
 * Whether this move has left its source, by the record there.
 *
 * @throws {DomainError} request.invalid where another move has
 */
export async function hasLeft({ source, move }: Run): Promise<boolean> {
  const departure = await locking(source, (tx) => lockDeparture(tx, move.source.schema));
  if (departure === null) return false;
  if (departure.move === move.id) return true;
  throw new DomainError(
    "request.invalid",
    `the realm has left this place for place ${departure.place}, by the record there, and the directory does not say so:` +
      ` run \`deno task realm move ${move.realm} --repair\``,
  );
}

/** Refuses the way back to a place that the realm has left. @throws {DomainError} request.invalid */
export async function assertNotLeft(run: Run): Promise<void> {
  if (!await hasLeft(run)) return;
  throw new DomainError(
    "request.invalid",
    "the realm has left its old place: carry the move on, by `realm move <id>`",
  );
}

/** Refuses a copy that was opened: it may have taken writes. @throws {DomainError} request.invalid */
export async function assertNotOpened({ target, move }: Run): Promise<void> {
  const opened = await locking(target, (tx) => selectOpened(tx, move.target.schema));
  if (opened === null) return;
  throw new DomainError(
    "request.invalid",
    `the realm was opened in its new place, as place ${opened.place}, which neither the directory nor the old place` +
      ` knows: run \`deno task realm move ${move.realm} --repair --to -\` with its address`,
  );
}

/** Opens the old place again. The order matters: no run switches to the copy once the fence may be down. */
export async function takeBack(run: Run, error: unknown): Promise<void> {
  const message = error instanceof Error
    ? error.message
    : "an earlier run has ended under the fence";
  await assertNotLeft(run);
  await take(run, ["fencing", "fenced"], "copying", message);
  await reopen(run);
}

/** Takes the fence away, and gives the realm's roles their rights. @throws {DomainError} request.invalid */
export async function reopen(
  { move, source, migrations, database, tables }: Run,
): Promise<void> {
  await lockingAll(source, async (tx) => {
    if (!await lowerFence(tx, move.source.schema, tables, move.runner)) throw overtaken();
    // The rights of a newer version name tables that its migrations make: these state them, when the fence is down.
    if (await countMigrations(tx, move.source.schema) < migrations.realm.length) return;
    await restateRights(tx, migrations, move.source, database.logins);
  });
}
