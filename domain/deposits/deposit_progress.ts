/** Progress of deposits: the depth that each needs, and an estimate of the time until it is credited. @module */
import { type CursorRow, selectCursors } from "../../db/chains/cursors.ts";
import type { Db } from "../../db/database.ts";
import type { DepositRow } from "../../db/deposits/deposits.ts";
import { type Actor, settingsOf } from "../actor.ts";
import { type ChainId, chainInfo } from "../assets.ts";
import { depthOf } from "../chains/networks.ts";

/** What a deposit waits for. */
export interface DepositProgress {
  /** Blocks, its own included, at which it is credited. */
  needs: number;
  /** Seconds until then at the usual pace of the chain; null where nobody can say. */
  eta_s: number | null;
}

/** The parts of a deposit that decide when it is credited. */
export type UncreditedDeposit = Pick<
  DepositRow,
  "id" | "chain" | "network" | "block" | "matures_at" | "status" | "held" | "error"
>;

/** Computes the progress of deposits; nothing where the depths of the installation are not known. */
export async function progressOf(
  db: Db,
  actor: Actor,
  rows: readonly UncreditedDeposit[],
): Promise<ReadonlyMap<string, DepositProgress>> {
  const settings = settingsOf(actor);
  if (settings === null) return new Map();
  const cursors = rows.some((row) => row.status === "PENDING") ? await selectCursors(db) : [];
  return new Map(rows.map((row) => {
    const needs = depthOf(settings.chains, row.chain as ChainId, row.network !== "main");
    const cursor = cursors.find((one) => one.chain === row.chain && one.network === row.network);
    return [row.id, { needs, eta_s: cursor === undefined ? null : etaOf(row, needs, cursor) }];
  }));
}

/** Estimates the seconds until a deposit is credited. */
export function etaOf(
  row: UncreditedDeposit,
  needs: number,
  cursor: Pick<CursorRow, "head" | "finalized" | "halted" | "error">,
): number | null {
  const { block, held, error, network } = row;
  const waits = row.status === "PENDING" && held === null && error === null;
  if (!waits || block === null || cursor.halted !== null || cursor.error !== null) return null;
  const { family, blockSeconds } = chainInfo(row.chain as ChainId);
  // Blocks of these test networks keep no pace.
  if (family === "bitcoin" && network !== "main") return null;
  const { head, finalized } = cursor;
  const left = [block + needs - 1 - head];
  if (row.matures_at !== null) left.push(row.matures_at - head);
  if (family === "tron") {
    if (finalized === null) return null;
    left.push(block - finalized);
  }
  return Math.ceil(Math.max(0, ...left) * blockSeconds);
}
