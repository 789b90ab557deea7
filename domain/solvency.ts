/**
 * Proof of solvency: what lies at our addresses at a height, against what the ledger owes at a
 * position. What lies there without being owed is shown; what is owed without being there stops
 * the asset's withdrawals and raises an event.
 * @module
 */
import { z } from "zod";
import type { Db, Tx } from "../db/database.ts";
import {
  type LedgerFigures,
  selectSolvency,
  selectStopped,
  type SolvencyRow,
  upsertSolvency,
} from "../db/solvency.ts";
import type { Actor } from "./actor.ts";
import { emit } from "./events.ts";
import { add, compare, DecimalText, fromUnits, subtract, trim } from "./money.ts";
import { assertRealmAdmin } from "./permissions.ts";

/** A comparison as shown. */
export const SolvencyView = z.object({
  asset: z.string(),
  testnet: z.boolean(),
  assets: DecimalText.meta({ description: "At the addresses of the ramps, at the height." }),
  height: z.number().int(),
  liabilities: DecimalText.meta({ description: "Owed to accounts, up to the position." }),
  fees: DecimalText.meta({ description: "Earned; below 0, borne by the house." }),
  position: z.string().nullable().meta({ description: "The last transaction included." }),
  pending: DecimalText.meta({ description: "On the chain and not credited yet." }),
  sending: DecimalText.meta({ description: "The most that may have left and is not booked yet." }),
  drift: DecimalText.meta({ description: "Below 0, something is missing." }),
  solvent: z.boolean(),
  ramps: z.array(z.object({
    ramp: z.string(),
    assets: DecimalText,
    liabilities: DecimalText,
  })),
  checked_at: z.number().int(),
}).meta({ id: "Solvency" });

/** What was found on the chain and in the ledger. */
export interface Found {
  asset: string;
  testnet: boolean;
  decimals: number;
  height: number;
  figures: LedgerFigures;
  /** Base units at each ramp's addresses. */
  held: ReadonlyMap<string, bigint>;
  /** Whole units owed through each ramp. */
  owed: ReadonlyMap<string, string>;
}

/** Compares and keeps the result; a drift that is new raises an event. */
export async function concludeSolvency(
  tx: Tx,
  actor: Actor,
  found: Found,
): Promise<SolvencyRow> {
  const row = compareSides(actor, found);
  const before = await selectStopped(tx, row);
  await upsertSolvency(tx, row);
  if (row.stopped !== before) {
    const view = viewSolvency(row);
    await emit(tx, actor, "solvency.drift", { id: actor.realm.id, owner: null, view });
  }
  return row;
}

function compareSides(actor: Actor, found: Found): SolvencyRow {
  const { asset, testnet, decimals, height, figures, held, owed } = found;
  const units = [...held.values()].reduce((sum, one) => sum + one, 0n);
  const assets = fromUnits(units, decimals);
  const sending = fromUnits(BigInt(figures.sending), decimals);
  // What is only watched was credited without anything coming to us.
  const liabilities = subtract(figures.liabilities, figures.watched);
  const there = subtract(add(assets, sending), figures.pending);
  const drift = subtract(there, add(liabilities, figures.fees));
  return {
    asset,
    testnet,
    assets,
    height,
    liabilities,
    fees: figures.fees,
    position: figures.position,
    pending: figures.pending,
    sending,
    drift,
    stopped: compare(drift, "0") < 0,
    ramps: [...new Set([...held.keys(), ...owed.keys()])].map((ramp) => ({
      ramp,
      assets: fromUnits(held.get(ramp) ?? 0n, decimals),
      liabilities: trim(owed.get(ramp) ?? "0"),
    })),
    checked_at: actor.at,
  };
}

/**
 * Shows the last comparisons, of one asset or of all.
 *
 * @throws {DomainError} permission.role, permission.scope
 */
export async function findSolvency(
  db: Db,
  actor: Actor,
  asset: string | undefined,
): Promise<Record<string, unknown>[]> {
  assertRealmAdmin(actor);
  return (await selectSolvency(db, asset ?? null)).map(viewSolvency);
}

function viewSolvency(row: SolvencyRow): Record<string, unknown> {
  const { stopped, ...rest } = row;
  return {
    ...rest,
    assets: trim(row.assets),
    liabilities: trim(row.liabilities),
    fees: trim(row.fees),
    pending: trim(row.pending),
    sending: trim(row.sending),
    drift: trim(row.drift),
    solvent: !stopped,
  };
}
