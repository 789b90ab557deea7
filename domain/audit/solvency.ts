/**
 * Solvency: what lies at our addresses at a height, against what the ledger owes at a position.
 *
 * - `assets`: what the nodes say lies at the addresses of ramps and deposit accounts at the height.
 * - `pending`: seen on the chain up to the height and not credited, less what is credited of later
 *   blocks. It belongs to whoever sent it, and covers nobody else.
 * - An order whose bytes may have left counts once. While no block up to the height has it, what its
 *   customers were charged is in `sending` and no longer in `liabilities`. Once a block has it,
 *   `assets` lack what it took, and `liabilities` lack what it paid; what it cost beyond that is
 *   taken off `fees`, as it will be booked. What is booked and lies above the height is in `sending`.
 * - `liabilities`: what all accounts but the system's are owed, linked value aside, less what is being
 *   paid. `fees`: what the house earned, or below 0 lost.
 * - `drift = assets - pending - sending - liabilities - fees`: 0 at every step of whatever the service
 *   does. Below 0 something is missing, above 0 something is there that nothing explains.
 * - `solvent`: `assets - pending - sending >= liabilities` and nothing is missing. What the house lost
 *   never counts as cover.
 *
 * Withdrawals stop while something is missing, and when the house's losses have taken more than the
 * leeway out of the cover: what the realm has set (`loss_max`,
 * on a test network `testnet_loss_max`), or else a hundredth of what is owed or
 * what a hundred payments cost, whichever is more. Fees of the network that the house bears are no reason to stop; they are told at once.
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
    description: "Owed to accounts up to the position, without what is being paid out.",
  }),
  fees: DecimalText.meta({ description: "Earned by the house; below 0, lost. Covers nothing." }),
  position: z.string().nullable().meta({ description: "The last transaction included." }),
  pending: DecimalText.meta({ description: "On the chain and not credited yet." }),
  sending: DecimalText.meta({
    description: "Set aside for what may have left and is in no block up to the height.",
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

/** What became of an order by the word of a node; amounts in base units. */
export interface FlightStatus {
  /** The transaction that a block has; null while none has. */
  readonly hash: string | null;
  /** Its block; null while it is in none. */
  readonly height: number | null;
  /** Whether it moved anything beside its fee. */
  readonly success: boolean;
  /** What the chain took; null where the fee is not of this asset. */
  readonly fee: bigint | null;
}

/** What was found on the chain and in the ledger. */
export interface Found {
  asset: string;
  testnet: boolean;
  decimals: number;
  height: number;
  figures: LedgerFigures;
  flights: readonly FlightRow[];
  /** What a node said of some of them. */
  statuses: ReadonlyMap<string, FlightStatus>;
  /** Base units that tokens kept of what is pending, and of what is swept and not booked. */
  kept: { pending: bigint; swept: bigint };
  /** Base units at each ramp's addresses. */
  held: ReadonlyMap<string, bigint>;
  /** Whole units owed through each ramp. */
  owed: ReadonlyMap<string, string>;
  /** Whole units that the house may lose before withdrawals stop, where the realm has set that. */
  lossMax: string | null;
}

/** The house may lose this part of what is owed before withdrawals stop, unless the realm has set more or less. */
const LEEWAY_PART = 100n;

/**
 * Keeps a comparison; one that says something new raises an event.
 *
 * @returns the comparison, and whether it says something new
 */
export async function concludeSolvency(
  tx: Tx,
  actor: Actor,
  found: Found,
): Promise<{ row: SolvencyRow; news: boolean }> {
  const row = compareFigures(actor, found);
  const before = await selectVerdict(tx, row);
  await upsertSolvency(tx, row);
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

/** Compares both sides; exact to the last base unit. */
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
    ramps: [...new Set([...held.keys(), ...owed.keys()])].map((ramp) => ({
      ramp,
      assets: whole(held.get(ramp) ?? 0n),
      liabilities: trim(owed.get(ramp) ?? "0"),
    })),
    checked_at: actor.at,
  };
}

/** What the house may lose before withdrawals stop, in whole units. */
function leewayOf({ lossMax, decimals, figures }: Found, liabilities: string): string {
  if (lossMax !== null) return lossMax;
  const part = toUnits(liabilities, decimals) / LEEWAY_PART;
  const least = BigInt(figures.leeway);
  return fromUnits(part > least ? part : least, decimals);
}

/** What an order on its way changes of the figures, in base units. */
interface Weight {
  /** Counted in the assets still, and no longer anybody's. */
  ahead: bigint;
  /** No longer owed. */
  paid: bigint;
  /** What the house will have earned by it; below 0, what it will have lost. */
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
  const { stopped: _, ...rest } = row;
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
