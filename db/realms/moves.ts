/** Statements on moves of realms, in the platform's schema. @module */
import type { Db, Tx } from "../database.ts";

/** How far a move is; see the migration for the meanings. */
export type MoveStep = "copying" | "fencing" | "fenced" | "switched" | "done" | "canceled";

/** The last move of a realm. */
export interface MoveRow {
  realm: string;
  id: string;
  step: MoveStep;
  /** The run that carries it on. */
  runner: string;
  /** Number of the new place. */
  place: number;
  source_encrypted: Uint8Array | null;
  target_encrypted: Uint8Array | null;
  pause_ms: number | null;
  error: string | null;
  updated_at: number;
  created_at: number;
}

const COLUMNS = [
  ...["realm", "id", "step", "runner", "place", "source_encrypted", "target_encrypted"],
  ...["pause_ms", "error", "updated_at", "created_at"],
] as const;

/** Reads and locks the last move of a realm; null where there was none. */
export async function lockMove(tx: Tx, realm: string): Promise<MoveRow | null> {
  const [row] = await tx<MoveRow[]>`
    select ${tx(COLUMNS)} from platform.realm_moves where realm = ${realm} for update`;
  return row ?? null;
}

/** Reads the moves that are not over, and the last one of each realm. */
export async function selectMoves(db: Db): Promise<MoveRow[]> {
  return await db<MoveRow[]>`select ${db(COLUMNS)} from platform.realm_moves order by realm`;
}

/** Begins a move, in the place of an earlier one that is over. */
export async function insertMove(
  tx: Tx,
  move: Pick<
    MoveRow,
    "realm" | "id" | "runner" | "place" | "source_encrypted" | "target_encrypted" | "created_at"
  >,
): Promise<void> {
  await tx`delete from platform.realm_moves where realm = ${move.realm}`;
  await tx`insert into platform.realm_moves ${tx({ ...move, step: "copying" })}`;
}

/** Makes another run the one that carries a move on. */
export async function updateRunner(tx: Tx, id: string, runner: string): Promise<void> {
  await tx`
    update platform.realm_moves set runner = ${runner}, updated_at = now() where id = ${id}`;
}

/** Takes a step, if this run still carries the move on and stands at one of these steps; false otherwise. */
export async function takeMoveStep(
  tx: Tx,
  move: { id: string; runner: string },
  change: { from: readonly MoveStep[]; to: MoveStep; pauseMs?: number; error?: string | null },
): Promise<boolean> {
  const rows = await tx`
    update platform.realm_moves set step = ${change.to}, error = ${change.error ?? null},
      pause_ms = coalesce(${change.pauseMs ?? null}, pause_ms), updated_at = now()
    where id = ${move.id} and runner = ${move.runner}
      and step = any (string_to_array(${change.from.join(",")}, ',')) returning id`;
  return rows.length > 0;
}

/** Gives a realm another place, where it has the one given; false where it has another. */
export async function updatePlace(
  tx: Tx,
  realm: { id: string; from: number },
  to: { place: number; database_url_encrypted: Uint8Array | null },
): Promise<boolean> {
  const rows = await tx`
    update platform.realms set ${tx(to)}, updated_at = now()
    where id = ${realm.id} and place = ${realm.from} returning id`;
  return rows.length > 0;
}

/** Changes the encrypted form of the addresses of a realm's last move. */
export async function updateMoveAddresses(
  tx: Tx,
  realm: string,
  addresses: Pick<MoveRow, "source_encrypted" | "target_encrypted">,
): Promise<void> {
  await tx`update platform.realm_moves set ${tx(addresses)} where realm = ${realm}`;
}

/** Makes a move that was lost the last one of its realm, as switched; null: none is, and one that is under way is over. */
export async function restoreMove(
  tx: Tx,
  realm: string,
  move:
    | Pick<
      MoveRow,
      "id" | "runner" | "place" | "source_encrypted" | "target_encrypted" | "created_at"
    >
    | null,
): Promise<void> {
  await tx`delete from platform.realm_moves where realm = ${realm}`;
  if (move === null) return;
  await tx`insert into platform.realm_moves ${tx({ ...move, realm, step: "switched" })}`;
}

/** Ends a move that is under way, whichever run carries it on: its realm was restored from a backup. */
export async function endMove(tx: Tx, realm: string): Promise<void> {
  await tx`
    update platform.realm_moves set step = 'canceled', runner = gen_random_uuid(),
      error = 'the realm was restored from a backup', updated_at = now()
    where realm = ${realm} and step not in ('done', 'canceled')`;
}
