/** The order to move a realm: begins a move, or finds the one that is under way. @module */
import type { Tx } from "../../db/database.ts";
import { insertMove, lockMove, type MoveRow, updateRunner } from "../../db/realms/moves.ts";
import { lockRealm, type RealmRow } from "../../db/realms/realms.ts";
import { locking } from "../../db/transaction.ts";
import { enterSchema } from "../../db/migrate.ts";
import { DomainError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/ids.ts";
import { notFound } from "../../domain/permissions.ts";
import { locationOf, type Migrations } from "../../domain/realms/realms.ts";
import type { Move, OrderOptions } from "./move.ts";

/** An order of the operator. */
export interface MoveOrder {
  realm: string;
  /** Address of the new database; null: that of the platform. Undefined: of the move that is under way. */
  to?: string | null;
  /** Whether the move is taken back: a newer version may do that, before it migrates the realm. */
  cancels?: boolean;
}

/**
 * Begins a move, or takes over the one that is under way.
 *
 * @throws {DomainError} realm.not_found, request.invalid
 */
export async function orderMove(
  options: OrderOptions,
  order: MoveOrder,
  at: number,
): Promise<Move> {
  return await locking(options.database.builder, async (tx) => {
    await enterSchema(tx, "platform");
    const realm = isId(order.realm) ? await lockRealm(tx, order.realm) : null;
    if (realm === null) throw notFound("realm.not_found");
    assertMovable(realm, options.migrations, order.cancels ?? false);
    const last = await lockMove(tx, realm.id);
    const runner = crypto.randomUUID();
    if (last === null || last.step === "done" || last.step === "canceled") {
      return await beginMove(tx, options, { realm, order, runner, at });
    }
    if (order.to !== undefined && addressOf(options, last, "target_encrypted") !== order.to) {
      throw refused("a move to another database is under way: carry it on, or cancel it");
    }
    if (order.cancels && last.step === "switched") {
      throw refused("the realm has its new place already: carry the move on, by `realm move <id>`");
    }
    await updateRunner(tx, last.id, runner);
    return moveOf(realm, { ...last, runner });
  });
}

/**
 * Finds the place that a realm's last move has left, and the run that ended the move.
 *
 * @throws {DomainError} realm.not_found, request.invalid
 */
export async function findOld(
  { database }: OrderOptions,
  id: string,
): Promise<Pick<Move, "source" | "runner">> {
  return await locking(database.builder, async (tx) => {
    await enterSchema(tx, "platform");
    const realm = isId(id) ? await lockRealm(tx, id) : null;
    if (realm === null) throw notFound("realm.not_found");
    const last = await lockMove(tx, realm.id);
    if (last?.step !== "done") throw refused("no move of this realm has ended");
    return moveOf(realm, last);
  });
}

async function beginMove(
  tx: Tx,
  { secrets }: OrderOptions,
  { realm, order, runner, at }: { realm: RealmRow; order: MoveOrder; runner: string; at: number },
): Promise<Move> {
  if (order.to === undefined) throw refused("no move of this realm is under way");
  const target = order.to === null ? null : secrets.encrypt("database_url", realm.id, order.to);
  const move = {
    realm: realm.id,
    id: newId(at),
    runner,
    place: realm.place + 1,
    source_encrypted: realm.database_url_encrypted,
    target_encrypted: target,
    created_at: at,
  };
  await insertMove(tx, move);
  return moveOf(realm, { ...move, step: "copying" });
}

function moveOf(
  realm: RealmRow,
  row: Pick<MoveRow, "id" | "runner" | "step" | "place" | "source_encrypted" | "target_encrypted">,
): Move {
  const here = { ...locationOf(realm), role: realm.role_name! };
  const { id, runner, step, place, source_encrypted, target_encrypted } = row;
  return {
    ...{ id, runner, step, realm: realm.id },
    source: { ...here, place: place - 1, encryptedUrl: source_encrypted },
    target: { ...here, place, encryptedUrl: target_encrypted },
  };
}

function assertMovable(realm: RealmRow, migrations: Migrations, cancels: boolean): void {
  if (realm.role_name === null) {
    throw refused("a realm without roles of its own cannot be fenced (REALM_ROLES=on)");
  }
  const { length } = migrations.realm;
  if (realm.schema_version === length || (cancels && realm.schema_version < length)) return;
  throw refused(
    "the realm is not at this version's schema: run `deno task migrate`; a move that is under way is taken back" +
      " before, with `--cancel`",
  );
}

function addressOf(
  { secrets }: OrderOptions,
  row: MoveRow,
  which: "source_encrypted" | "target_encrypted",
): string | null {
  const encrypted = row[which];
  return encrypted === null ? null : secrets.decrypt("database_url", row.realm, encrypted);
}

function refused(message: string): DomainError {
  return new DomainError("request.invalid", message);
}
