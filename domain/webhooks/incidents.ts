/**
 * Incidents that no single step brings about: a chain that is not followed, a withdrawal that is not
 * mined. Each is told of once, when it is found, and again after it was over.
 * @module
 */
import { type CursorRow, selectCursors } from "../../db/chains/cursors.ts";
import { replaceIncidents, selectUnmined } from "../../db/incidents.ts";
import type { Tx } from "../../db/database.ts";
import { selectWithdrawals } from "../../db/withdrawals/withdrawals.ts";
import type { Actor } from "../actor.ts";
import { emitAll } from "../events.ts";
import { viewWithdrawal } from "../withdrawals/withdrawal_views.ts";

const MINUTE_MS = 60_000;
/** A chain that was not read for so long, or of which so many blocks are unread, is behind. */
const LAG_MS = 10 * MINUTE_MS;
const LAG_BLOCKS = 600;
/** A withdrawal that is in no block for so long is stuck. */
const STUCK_MS = 120 * MINUTE_MS;
/** Stuck withdrawals that are told of at once. */
const STUCK_MAX = 500;

/** Emits `chain.lagging` for each chain that has fallen behind; gives their names. */
export async function tellLagging(tx: Tx, actor: Actor): Promise<string[]> {
  const lagging = new Map(
    (await selectCursors(tx)).filter((one) => isLagging(one, actor.at))
      .map((one) => [`${one.chain} ${one.network}`, one]),
  );
  const news = await replaceIncidents(tx, "chain.lagging", [...lagging.keys()], actor.at);
  const told = news.map((name) => {
    const { chain, network, height: scanned, head: height, scanned_at } = lagging.get(name)!;
    const lag = Math.max(0, height - scanned);
    const view = { chain, network, height, scanned, lag, scanned_at };
    return { id: actor.realm.id, owner: null, view };
  });
  await emitAll(tx, actor, "chain.lagging", told);
  return news;
}

function isLagging(cursor: CursorRow, at: number): boolean {
  if (cursor.halted !== null) return false; // told of by its own event
  return cursor.scanned_at < at - LAG_MS || cursor.head - cursor.height > LAG_BLOCKS;
}

/** Emits `withdrawal.stuck` for each withdrawal that waits too long for a block; gives their ids. */
export async function tellStuck(tx: Tx, actor: Actor): Promise<string[]> {
  const stuck = await selectUnmined(tx, actor.at - STUCK_MS, STUCK_MAX);
  const news = await replaceIncidents(tx, "withdrawal.stuck", stuck, actor.at);
  if (news.length === 0) return news;
  const rows = await selectWithdrawals(tx, news);
  const told = rows.map((row) => ({ id: row.id, owner: row.owner, view: viewWithdrawal(row) }));
  await emitAll(tx, actor, "withdrawal.stuck", told);
  return news;
}
