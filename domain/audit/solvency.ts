/**
 * Solvency: compares the balance at our addresses at a height with the ledger's liabilities at a
 * position.
 *
 * - `assets`: balances, as nodes report them, at the addresses of ramps and deposit accounts at the
 *   height.
 * - `pending`: seen on the chain up to the height and not credited, less credited deposits of later
 *   blocks. It belongs to its senders, and covers no other liability.
 * - An order that may have been broadcast counts once. While no chain block up to the height has
 *   it, the amount charged to its customers is in `sending` and no longer in `liabilities`. Once a
 *   chain block has it, `assets` lack the amount it took, and `liabilities` lack the amount it
 *   paid; its cost beyond that is deducted from `fees`, as it will be booked. An order that is
 *   booked and lies above the height is in `sending`.
 * - `liabilities`: balances of all accounts but system accounts, without linked value, less
 *   payments on their way. `fees`: the house's earnings; below 0, its loss.
 * - `drift = assets - pending - sending - liabilities - fees`: 0 at every step of every operation
 *   of the service. Below 0 assets are missing; above 0 there are assets that nothing explains.
 * - `solvent`: `assets - pending - sending >= liabilities` and nothing is missing. A loss of the
 *   house never counts as cover.
 *
 * Withdrawals stop while assets are missing, and when the house's losses have taken more than the
 * leeway out of the cover. The leeway is the realm's setting (`loss_max`, on a test network
 * `testnet_loss_max`), or else the greater of a hundredth of the liabilities and the cost of a
 * hundred payments. Network fees that the house bears within the leeway do not stop withdrawals;
 * they are reported at once.
 * @module
 */
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import {
  type FlightRow,
  type LedgerFigures,
  selectSolvency,
  selectVerdict,
  type SolvencyRow,
  upsertSolvency,
  type Verdict,
} from "../../db/audit/solvency.ts";
import { insertSolvencySample } from "../../db/audit/solvency_samples.ts";
import type { Actor } from "../actor.ts";
import { emit } from "../events.ts";
import { add, compare, DecimalText, fromUnits, subtract, toUnits, trim } from "../money.ts";
import { assertRealmAdmin } from "../permissions.ts";

/** A comparison as shown. */
export const SolvencyView = z.object({
  asset: z.string(),
  testnet: z.boolean(),
  assets: DecimalText.meta({ description: "At the addresses of the ramps, at the height." }),
  height: z.number().int(),
  liabilities: DecimalText.meta({
    description: "Owed to accounts up to the position, without payments on their way.",
  }),
  fees: DecimalText.meta({ description: "Earned by the house; below 0, lost. Covers nothing." }),
  position: z.string().nullable().meta({ description: "The last transaction included." }),
  pending: DecimalText.meta({ description: "On the chain and not credited yet." }),
  sending: DecimalText.meta({
    description:
      "Set aside for orders that may have been broadcast and are in no chain block up to the height.",
  }),
  drift: DecimalText.meta({
    description: "Assets less pending, sending, liabilities and fees. Below 0, something is " +
      "missing; above 0, something is there that nothing explains.",
  }),
  solvent: z.boolean().meta({
    description: "Nothing is missing, and assets less pending and sending cover the liabilities.",
  }),
  ramps: z.array(z.object({
    ramp: z.string(),
    assets: DecimalText,
    liabilities: DecimalText,
  })),
  checked_at: z.number().int(),
}).meta({ id: "Solvency" });

/** Status of an order as nodes report it; amounts in base units. */
export interface FlightStatus {
  /** The transaction in a chain block; null while there is none. */
  readonly hash: string | null;
  /** Its chain block; null while it is in none. */
  readonly height: number | null;
  /** Whether it succeeded, and so moved more than its fee. */
  readonly success: boolean;
  /** The fee that the chain took; null if the fee is in another asset. */
  readonly fee: bigint | null;
}

/** The figures of the chain and of the ledger. */
export interface Found {
  asset: string;
  testnet: boolean;
  decimals: number;
  height: number;
  figures: LedgerFigures;
  flights: readonly FlightRow[];
  /** Statuses of some of them, as nodes reported them. */
  statuses: ReadonlyMap<string, FlightStatus>;
  /** Transfer fees of a token in base units: of pending deposits, and of sweeps not booked yet. */
  kept: { pending: bigint; swept: bigint };
  /** Base units at each ramp's addresses. */
  held: ReadonlyMap<string, bigint>;
  /** Whole units owed through each ramp. */
  owed: ReadonlyMap<string, string>;
  /** Whole units that the house may lose before withdrawals stop, where the realm has set that. */
  lossMax: string | null;
}

/**
 * The divisor of the liabilities that gives the house's leeway before withdrawals stop, unless the
 * realm has set its own.
 */
const LEEWAY_PART = 100n;

/**
 * Stores a comparison; emits an event if its verdict changed.
 *
 * @returns the comparison, and whether its verdict changed
 */
export async function concludeSolvency(
  tx: Tx,
  actor: Actor,
  found: Found,
): Promise<{ row: SolvencyRow; news: boolean }> {
  const row = compareFigures(actor, found);
  const before = await selectVerdict(tx, row);
  await upsertSolvency(tx, row);
  await insertSolvencySample(tx, row);
  const news = toneOf(row) !== (before === null ? CALM : toneOf(before));
  if (news) {
    const view = viewSolvency(row);
    await emit(tx, actor, "solvency.drift", { id: actor.realm.id, owner: null, view });
  }
  return { row, news };
}

const CALM = "0 true false";

function toneOf({ drift, solvent, stopped }: Verdict): string {
  return `${compare(drift, "0")} ${solvent} ${stopped}`;
}

/** Compares chain and ledger, exactly to the last base unit. */
export function compareFigures(actor: Pick<Actor, "at">, found: Found): SolvencyRow {
  const { asset, testnet, decimals, height, figures, held, owed, kept } = found;
  const whole = (units: bigint) => fromUnits(units, decimals);
  const flights = found.flights.map((row) => weigh(row, height, found.statuses.get(row.id)));
  const sum = (of: (one: Weight) => bigint) => flights.reduce((all, one) => all + of(one), 0n);
  const assets = whole([...held.values()].reduce((all, one) => all + one, 0n));
  const sending = whole(sum((one) => one.ahead));
  const liabilities = subtract(figures.owed, whole(sum((one) => one.paid)));
  const fees = add(figures.fees, whole(sum((one) => one.borne) - kept.swept));
  const pending = subtract(figures.pending, whole(kept.pending));
  const there = subtract(subtract(assets, pending), sending);
  const cover = subtract(there, liabilities);
  const drift = subtract(cover, fees);
  const missing = compare(drift, "0") < 0;
  return {
    asset,
    testnet,
    assets,
    height,
    liabilities,
    fees,
    position: figures.position,
    pending,
    sending,
    drift,
    solvent: !missing && compare(cover, "0") >= 0,
    stopped: missing || compare(add(cover, leewayOf(found, liabilities)), "0") < 0,
    provisional: figures.provisional,
    ramps: [...new Set([...held.keys(), ...owed.keys()])].map((ramp) => ({
      ramp,
      assets: whole(held.get(ramp) ?? 0n),
      liabilities: trim(owed.get(ramp) ?? "0"),
    })),
    checked_at: actor.at,
  };
}

/** The loss that the house may make before withdrawals stop, in whole units. */
function leewayOf({ lossMax, decimals, figures }: Found, liabilities: string): string {
  if (lossMax !== null) return lossMax;
  const part = toUnits(liabilities, decimals) / LEEWAY_PART;
  const least = BigInt(figures.leeway);
  return fromUnits(part > least ? part : least, decimals);
}

/** The amounts by which an order on its way corrects the figures, in base units. */
interface Weight {
  /** Still counted in the assets, and no longer owed. */
  ahead: bigint;
  /** No longer owed. */
  paid: bigint;
  /** The house's earnings by it; below 0, its loss. */
  borne: bigint;
}

function weigh(row: FlightRow, height: number, status: FlightStatus | undefined): Weight {
  const told = { height: row.height, success: row.state !== "failed", fee: null };
  const known = status ?? told;
  const fee = known.fee ?? BigInt(row.fee);
  const left = (known.success ? BigInt(row.amount) : 0n) + fee;
  const booked = row.state !== "sent" && row.state !== "mined";
  const charged = BigInt(row.charged);
  if (booked) return { ahead: left, paid: 0n, borne: 0n };
  if (known.height === null || known.height > height) {
    return { ahead: charged, paid: charged, borne: 0n };
  }
  const paid = charged < left ? charged : left;
  return { ahead: 0n, paid, borne: paid - left };
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
  const { stopped: _, provisional: __, ...rest } = row;
  return {
    ...rest,
    assets: trim(row.assets),
    liabilities: trim(row.liabilities),
    fees: trim(row.fees),
    pending: trim(row.pending),
    sending: trim(row.sending),
    drift: trim(row.drift),
  };
}
